/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs use of the kernel: only the members that are read. When a program is loaded
 * their places are taken from the type information of the kernel that runs.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

/* Spreads keys: 2^64 by the golden ratio. */
#define MIX 0x9e3779b97f4a7c15ull

#define OF_KERNEL __attribute__((preserve_access_index))

struct hrtimer {
	void *function;
	u8 is_soft;
} OF_KERNEL;

struct timer_list {
	void *function;
} OF_KERNEL;

struct work_struct {
	void *func;
} OF_KERNEL;

struct irqaction {
	const char *name;
} OF_KERNEL;

struct rq {
	u64 clock;
	u64 clock_pelt;
	u64 lost_idle_time;
} OF_KERNEL;

/* With control groups a CPU has one of these for each. */
struct cfs_rq {
	struct rq *rq;
	/* Since 6.6: since when it is throttled with a task in it, itself or above; 0 if it is not. And the total before. */
	u64 throttled_clock_self;
	u64 throttled_clock_self_time;
	/* Since 5.19, by a clock that runs slower on a CPU that does. */
	u64 throttled_clock_pelt;
	u64 throttled_clock_pelt_time;
	int throttle_count;
} OF_KERNEL;

struct sched_entity {
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
} OF_KERNEL;

struct thread_info {
	u32 cpu;
	u32 status;
} OF_KERNEL;

/* A thread's registers of user mode, if it is in a system call (x86). */
struct pt_regs {
	unsigned long cx;
	unsigned long si;
	unsigned long orig_ax; /* its number */
} OF_KERNEL;

struct kernfs_node {
	u64 id;
} OF_KERNEL;

struct cgroup {
	struct kernfs_node *kn;
} OF_KERNEL;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} OF_KERNEL;

struct css_set {
	struct cgroup *dfl_cgrp;
	struct cgroup_subsys_state *subsys[1]; /* by cgroup_subsys_id */
} OF_KERNEL;

/* With CONFIG_MEMCG; the number depends on the controllers that the kernel has. */
enum cgroup_subsys_id { memory_cgrp_id = 0 };

struct task_group {
	struct cgroup_subsys_state css;
} OF_KERNEL;

struct task_struct {
	struct thread_info thread_info;
	u32 __state;
	int prio;
	struct css_set *cgroups;
	struct task_group *sched_task_group;
	unsigned long jobctl;
	u32 in_memstall : 1; /* with CONFIG_PSI */
	u8 throttled; /* since 6.18, which throttles tasks one by one */
	struct sched_entity se;
	u32 flags;
	int pid;
	int tgid;
	char comm[NAME] __attribute__((aligned(8)));
} OF_KERNEL;

/* A task's name is two numbers. */
#define first_of(task) (*(const u64 *)&(task)->comm[0])
#define second_of(task) (*(const u64 *)&(task)->comm[sizeof(u64)])

struct task_struct___before_5_14 {
	long state;
} OF_KERNEL;

struct task_struct___before_5_16 {
	u32 cpu;
} OF_KERNEL;

#define PF_WQ_WORKER 0x00000020
#define PF_KTHREAD 0x00200000

/* From 6.9 on the state of the tick is in flags, before in a bit field. */
struct tick_sched {
	struct hrtimer sched_timer;
	unsigned long flags;
} OF_KERNEL;

struct tick_sched___before_6_9 {
	u32 tick_stopped : 1;
} OF_KERNEL;

#define TS_FLAG_STOPPED 0x2

/* Helpers of the kernel by their number (include/uapi/linux/bpf.h). */
static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static u64 (*const now_ns)(void) = (void *)5;
static u32 (*const this_cpu)(void) = (void *)8;
static u64 (*const this_process_and_thread)(void) = (void *)14;
static long (*const this_comm)(void *to, u32 size) = (void *)16;
static long (*const read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const read_kernel_text)(void *to, u32 size, const void *from) = (void *)115;
static long (*const ring_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;

static struct task_struct *(*const this_task)(void) = (void *)158; /* since 5.11 */
static struct pt_regs *(*const user_registers)(struct task_struct *task) = (void *)175; /* since 5.15 */

enum bpf_func_id { BPF_FUNC_task_pt_regs = 175 };

/* Of ring_output: to wake the reader would interrupt the CPU. */
#define RING_NO_WAKEUP 1

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
/* What is rare is called, so that it takes no registers away. */
#define RARE static __attribute__((noinline))
/* The same, verified once and not for each state of each call: takes and returns numbers only, which may be any. */
#define APART __attribute__((noinline))

/* Some of the helpers are for such programs only. */
const char terms[] SECTION("license") = "GPL";

/* An address as a number to reckon with, which the verifier does not let one do with a pointer. */
INLINE u64 number(const void *pointer)
{
	u64 number = (u64)pointer;

	asm volatile("%0 = -%0\n%0 = -%0" : "+r"(number));
	return number;
}

/* The compiler would compute it for each use again. */
#define COMPUTED(value) asm volatile("" : "+r"(value))

/* What is written before is written first: an x86 CPU keeps the order of its writes, and a reader sees them in it. */
#define barrier() asm volatile("" ::: "memory")
