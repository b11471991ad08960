/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the time of followed threads goes: each is in one state at a time, and each change of state adds its time to
 * one kind. Runs on every CPU.
 *
 * A thread's slot is written to by one CPU at a time: the kernel changes the state of a thread only with the lock of
 * the run queue that it is in or comes to.
 */
#pragma once

#include "followed.h"

/* A wait of at most this length, after a wake-up, in which nothing ran: the CPU had to leave idle, ns. */
const volatile u64 longest_idle_exit = 0;

/* Whether any control group has a CPU quota. */
const volatile u32 sees_quotas = 0;

/* A followed thread. */
struct thread {
	u32 tid;       /* NO_THREAD if the thread has ended; of a slot that had none 0 */
	u32 state;     /* a kind, or one of those in layout.rs that are none */
	u64 since;     /* 0 while this is being changed */
	u64 woken;     /* when it was woken in this state: what came after is a wait for a CPU; 0 if it was not */
	u64 idle;      /* of a wait for a CPU: what the CPU's `idle` was when it began */
	u64 throttled; /* of the same: how long its run queue had been throttled then */
	u64 lock;      /* the lock of the kernel that it waits for; 0 for none */
	u32 cpu;       /* of a wait for a CPU */
	u8 assumed;    /* written by the reader: whether one whose begin was not seen ran */
	u8 displaced;  /* whether a thread that belongs here is in another slot, or was */
	u8 by_whom;    /* whose task `by` is, one of the numbers in layout.rs */
	u8 runs_as;    /* the state that it is in with a CPU: RAN, or RECLAIMED while it frees memory of its control group */
	u64 by[NAME / sizeof(u64)]; /* of a wait after a preemption: the name of the task that got the CPU */
	u64 ns[KINDS];
};

/* By thread number. A slot is free, then a thread's, and then the reader's, who frees it. */
struct table {
	struct thread threads[THREADS];
};

struct {
	u32 (*type)[2]; /* BPF_MAP_TYPE_ARRAY: one lookup for all threads of an event */
	u32 (*key_size)[sizeof(u32)];
	u32 (*value_size)[sizeof(struct table)];
	u32 (*max_entries)[1];
	u32 (*map_flags)[1 << 10]; /* BPF_F_MMAPABLE */
} threads SECTION(".maps");

struct sum {
	u64 count;
	u64 longest;
};

/* The waits in which tasks of one name had the CPU: those after a wake-up, and those after a preemption. */
struct rival {
	u64 name[NAME / sizeof(u64)]; /* the first word is 0 if it is free, and written last */
	struct {
		u64 ns;
		struct sum sum;
	} waits[2];
};

/* A CPU. Written to with the lock of its run queue. */
struct cpu {
	u64 idle; /* its idle time; while it is idle the time since which it would be that, with IS_IDLE */
	u64 idle_before; /* its idle time, while it is idle, without this one */
	u64 began; /* how many threads began here */
	u64 ended; /* how many ended here */
	u64 no_room; /* how many began here and found no slot */
	u64 real_time_ns; /* of waits in which nothing ran, and that are no way out of idle: those of real-time tasks */
	u64 group; /* the control group of the last such wait, or throttled one, by the number of its folder */
	u64 memory_group; /* the same of the last thread that freed memory, or was blocked for it */
	struct sum sums[KINDS];
	struct rival rivals[2 * RIVALS]; /* the second half is of tasks that are followed too: others may have their name */
};

struct {
	u32 (*type)[2]; /* BPF_MAP_TYPE_ARRAY */
	u32 (*key_size)[sizeof(u32)];
	u32 (*value_size)[sizeof(struct cpu)];
	u32 (*max_entries)[1]; /* set when it is loaded */
	u32 (*map_flags)[1 << 10]; /* BPF_F_MMAPABLE */
} cpus SECTION(".maps");

#define IS_IDLE (1ull << 63)

#define RIVAL_PROBES 4

/* The scheduler's priorities of real-time and deadline tasks are below (include/linux/sched/prio.h). */
#define FIRST_FAIR_PRIO 100

/* include/linux/sched.h, the same from 5.10 to 7.x; RTLOCK and FROZEN are new in 5.15 and 6.1. */
#define TASK_INTERRUPTIBLE 0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED 0x0004
#define TASK_TRACED 0x0008
#define TASK_DEAD 0x0080
#define TASK_NOLOAD 0x0400
#define TASK_RTLOCK_WAIT 0x1000
#define TASK_FROZEN 0x8000

/* The state of a task: a member that has another name from 5.14 on. */
INLINE u64 raw_state(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;

	return __builtin_preserve_field_info(task->__state, 2) ? task->__state : (u64)old->state;
}

/* The CPU of a task: in another place from 5.16 on. */
INLINE u32 number_of_cpu(struct task_struct *task)
{
	struct task_struct___before_5_16 *old = (void *)task;

	u32 cpu;

	if (!__builtin_preserve_field_info(task->thread_info.cpu, 2))
		return old->cpu;
	cpu = task->thread_info.cpu;
	/* Else the compiler computes an address of either. */
	COMPUTED(cpu);
	return cpu;
}

INLINE struct cpu *cpu_of(u32 number)
{
	return map_lookup(&cpus, &number);
}

/* The key of the only value. */
static const u32 only = 0;

INLINE struct table *all_threads(void)
{
	return map_lookup(&threads, &only);
}

INLINE struct thread *thread_at(struct table *table, u32 place)
{
	return &table->threads[place & (THREADS - 1)];
}

/* How far from where it belongs the slot of a thread is that is not there; 0 if it has none. */
APART u32 search_thread(u32 tid)
{
	struct table *table = all_threads();

	if (!table)
		return 0;
	for (u32 probe = 1; probe < THREAD_PROBES; probe++)
		if (thread_at(table, tid + probe)->tid == tid)
			return probe;
	return 0;
}

/* The slot of a thread, if it is followed. The idle task's number is 0, which no slot has that it could have. */
INLINE struct thread *thread_of(struct table *table, u32 tid)
{
	struct thread *thread = thread_at(table, tid);
	u32 away;

	COMPUTED(thread);
	if (thread->tid == tid)
		return thread;
	away = thread->displaced ? search_thread(tid) : 0;
	return away ? thread_at(table, tid + away) : 0;
}

/* The idle time of a CPU at a time at which its `idle` was this. */
INLINE u64 idle_at(u64 idle, u64 time)
{
	return idle & IS_IDLE ? time - (idle & ~IS_IDLE) : idle;
}

/* Clocks of CPUs may differ a little. */
INLINE u64 not_negative(u64 difference)
{
	return (s64)difference < 0 ? 0 : difference;
}

/* Begins the change of a thread's state; returns since when it was in it. */
INLINE u64 leave(struct thread *thread)
{
	u64 since = thread->since;

	thread->since = 0;
	barrier();
	return since;
}

/* Ends the change. */
INLINE void become(struct thread *thread, u32 state, u64 now)
{
	thread->state = state;
	barrier();
	thread->since = now;
	/* Else the compiler makes one store of several, by an address that each has to compute. */
	barrier();
}

/* More than any run queue was ever throttled. */
#define NOT_THROTTLED (1ull << 62)

/*
 * How long the run queue of a task has been throttled until now, with a task in it, ns. Read with the lock of the CPU's
 * queue, whose clock is as of this event.
 */
INLINE u64 throttled_until_now(struct task_struct *task)
{
	struct cfs_rq *queue;

	if (!__builtin_preserve_field_info(task->se.cfs_rq, 2))
		return 0;
	queue = task->se.cfs_rq;
	if (__builtin_preserve_field_info(queue->throttled_clock_self_time, 2)) {
		u64 since = queue->throttled_clock_self, before = queue->throttled_clock_self_time;

		return since ? before + not_negative(queue->rq->clock - since) : before;
	}
	barrier();
	if (__builtin_preserve_field_info(queue->throttled_clock_pelt_time, 2)) {
		u64 before = queue->throttled_clock_pelt_time;

		if (!queue->throttle_count)
			return before;
		return before + not_negative(queue->rq->clock_pelt - queue->rq->lost_idle_time -
					     queue->throttled_clock_pelt);
	}
	return 0;
}

/* The thread wants this CPU from now on. */
INLINE void want(struct thread *thread, const struct cpu *cpu, u32 number, struct task_struct *task)
{
	thread->cpu = number;
	thread->idle = cpu->idle;
	if (!sees_quotas)
		return;
	/* From 6.18 on one that is in the kernel runs on in a queue that is throttled. */
	if (__builtin_preserve_field_info(task->throttled, 2) && !task->throttled)
		thread->throttled = NOT_THROTTLED;
	else
		thread->throttled = throttled_until_now(task);
}

/* Counts a piece of time. */
INLINE void count(struct sum *sum, u64 ns)
{
	sum->count++;
	if (ns > sum->longest) {
		sum->longest = ns;
		/* Else the compiler makes one store of several, by an address that each has to compute. */
		barrier();
	}
}

INLINE void add(struct cpu *cpu, struct thread *thread, u32 kind, u64 ns)
{
	if (kind >= KINDS)
		return;
	thread->ns[kind] += ns;
	count(&cpu->sums[kind], ns);
}

INLINE int is(const struct rival *rival, u64 first, u64 second)
{
	return rival->name[0] == first && rival->name[1] == second;
}

/* The place of a rival that is not where it belongs, or not there at all yet; 2 * RIVALS if there is no room. */
APART u32 search_rival(u64 first, u64 second, u64 place)
{
	struct cpu *cpu = cpu_of(this_cpu());

	if (!cpu)
		return 2 * RIVALS;
	for (u32 probe = 0; probe < RIVAL_PROBES; probe++) {
		u64 at = (place & RIVALS) | ((place + probe) & (RIVALS - 1));
		struct rival *rival;

		/* The verifier of 6.1 knows no limit of two numbers together, and the compiler would leave the mask out. */
		COMPUTED(at);
		at &= 2 * RIVALS - 1;
		rival = &cpu->rivals[at];

		if (!rival->name[0]) {
			rival->name[1] = second;
			barrier();
			rival->name[0] = first;
		}
		if (is(rival, first, second))
			return at;
	}
	return 2 * RIVALS;
}

/* The waits in which tasks of this name had the CPU; none if there is no room. */
INLINE struct rival *rival_of(struct cpu *cpu, u64 first, u64 second, u32 whose)
{
	u64 place = ((first ^ second) * MIX >> 58) ^ whose;
	struct rival *rival;

	if (!first)
		return 0;
	COMPUTED(place);
	rival = &cpu->rivals[place & (2 * RIVALS - 1)];
	if (is(rival, first, second))
		return rival;
	place = search_rival(first, second, place);
	/* The verifier wants the mask, too. */
	return place < 2 * RIVALS ? &cpu->rivals[place & (2 * RIVALS - 1)] : 0;
}

/* Nothing ran, and not since the CPU had to leave idle: the thread was throttled, perhaps. */
RARE int kept_off(struct cpu *cpu, struct task_struct *task, u64 ns)
{
	if (!cpu)
		return 0;
	if (task->prio < FIRST_FAIR_PRIO)
		cpu->real_time_ns += ns;
	if (__builtin_preserve_field_info(task->sched_task_group, 2))
		cpu->group = task->sched_task_group->css.cgroup->kn->id;
	else if (__builtin_preserve_field_info(task->cgroups, 2))
		cpu->group = task->cgroups->dfl_cgrp->kn->id;
	return 0;
}

/* How long of the wait of a thread that `task` is its run queue was throttled. */
RARE u64 throttled_since(struct cpu *cpu, struct thread *thread, struct task_struct *task, u64 began, u64 now)
{
	u64 ns = not_negative(now - began), throttled;

	if (!cpu || !thread || task->prio < FIRST_FAIR_PRIO)
		return 0;
	throttled = not_negative(throttled_until_now(task) - thread->throttled);
	if (throttled > ns)
		throttled = ns;
	if (throttled)
		kept_off(cpu, task, throttled);
	return throttled;
}

/* How long the CPU that a thread wanted since `began` was idle since then. */
INLINE u64 idle_since(struct thread *thread, u64 began, u64 now)
{
	struct cpu *wanted = cpu_of(thread->cpu);
	u64 idle;

	if (!wanted)
		return 0;
	idle = idle_at(wanted->idle, now) - idle_at(thread->idle, began);
	/* Negative if it was thought to be idle and was not. */
	return not_negative(idle);
}

/* Counts the parts of a wait in which the CPU was idle, or the thread throttled; returns the time of the rest. */
RARE u64 rest_of_wait(struct cpu *cpu, struct thread *thread, struct task_struct *task, u64 began, u64 now)
{
	u64 ns = not_negative(now - began), idle, throttled = 0;
	u32 kind;

	if (!cpu || !thread)
		return 0;
	kind = thread->woken || thread->state == WOKEN ? WOKEN : PREEMPTED;
	idle = idle_since(thread, began, now);
	/* One that was moved has another queue, whose time says nothing of this wait. */
	if (sees_quotas && thread->cpu == this_cpu())
		throttled = throttled_since(cpu, thread, task, began, now);
	if (throttled) {
		add(cpu, thread, kind + 2, throttled);
		ns -= throttled;
		/* An idle CPU that ran nothing else meanwhile. */
		idle = not_negative(idle - throttled);
	}
	if (idle > ns)
		idle = ns;
	if (!idle)
		return ns;
	if (kind == WOKEN && idle <= longest_idle_exit) {
		add(cpu, thread, WAKING, idle);
	} else {
		add(cpu, thread, kind + 1, idle);
		kept_off(cpu, task, idle);
	}
	return ns - idle;
}

/*
 * Names the task that had the CPU at the end of a wait, if it is known: a thread of the kernel, which got it at the
 * begin, is soon done.
 */
RARE int name_last(struct thread *thread, struct task_struct *prev, int is_own)
{
	if (!thread)
		return 0;
	if (prev) {
		thread->by[0] = first_of(prev);
		thread->by[1] = second_of(prev);
		thread->by_whom = is_own ? BY_OWN : BY_OTHER;
	} else if (thread->by_whom == BY_NONE) {
		thread->by[0] = 0;
	}
	return 0;
}

/* A wait of a kind has ended on a CPU that `prev` had until now. */
INLINE void waited(struct cpu *cpu, const u32 *here, struct thread *thread, u32 kind, const struct thread *left,
		   struct task_struct *prev, u32 out, struct task_struct *task, u64 began, u64 now)
{
	u64 ns = not_negative(now - began);
	struct rival *rival = 0;

	if (thread->cpu != *here || thread->idle != cpu->idle || sees_quotas) {
		ns = rest_of_wait(cpu, thread, task, began, now);
		if (!ns)
			return;
	}
	thread->ns[kind] += ns;
	if (kind == PREEMPTED) {
		if (thread->by_whom <= BY_KERNEL)
			name_last(thread, out && thread->cpu == *here ? prev : 0, left != 0);
		rival = rival_of(cpu, thread->by[0], thread->by[1], thread->by_whom);
	} else if (out && thread->cpu == *here) {
		rival = rival_of(cpu, first_of(prev), second_of(prev), left ? BY_OWN : BY_OTHER);
	}
	if (rival) {
		rival->waits[kind != WOKEN].ns += ns;
		count(&rival->waits[kind != WOKEN].sum, ns);
	} else {
		count(&cpu->sums[kind], ns);
	}
}

/* include/linux/sched/jobctl.h, 5.10 to 7.2 */
#define JOBCTL_TRAP_FREEZE (1ull << 23)

/* arch/x86/include/asm/thread_info.h; arch/x86/entry/syscalls/; include/uapi/asm-generic/fcntl.h: 5.10 to 7.2 */
#define TS_COMPAT 0x2
#define FLOCK 73
#define FCNTL 72
#define FLOCK_IA32 143
#define FCNTL_IA32 55
#define FCNTL64_IA32 221
#define F_SETLKW 7
#define F_SETLKW64 14
#define F_OFD_SETLKW 38

/* Whether the task that runs is in a system call that waits for a lock on a file. */
INLINE int is_in_file_lock(struct task_struct *task)
{
	struct pt_regs *regs;
	u64 call, command;

	if (!__builtin_preserve_enum_value(*(enum bpf_func_id *)BPF_FUNC_task_pt_regs, 0))
		return 0;
	regs = user_registers(task);
	call = regs->orig_ax;
	command = regs->si;
	if (task->thread_info.status & TS_COMPAT) {
		if (call != FLOCK_IA32 && call != FCNTL_IA32 && call != FCNTL64_IA32)
			return 0;
		call = call == FLOCK_IA32 ? FLOCK : FCNTL;
		command = regs->cx;
	}
	if (call != FCNTL)
		return call == FLOCK;
	return command == F_SETLKW || command == F_SETLKW64 || command == F_OFD_SETLKW;
}

/*
 * Whether a thread that sleeps interruptibly does not do so by its own will: for a lock of the kernel or on a file, or
 * as its control group is frozen. The same as `Place::is_forced` of dyntick-explain, which knows it by call stacks.
 */
INLINE int is_forced(const struct thread *thread, struct task_struct *task)
{
	return thread->lock || (task->jobctl & JOBCTL_TRAP_FREEZE) || is_in_file_lock(task);
}

/* Whether a task waits until memory is freed or read back (mm/, psi_memstall_enter). */
INLINE int is_for_memory(struct task_struct *task)
{
	u64 value;

	if (!__builtin_preserve_field_info(task->in_memstall, 2))
		return 0;
	value = *(const volatile u32 *)((const char *)task + __builtin_preserve_field_info(task->in_memstall, 0));
	value <<= __builtin_preserve_field_info(task->in_memstall, 4);
	return value >> __builtin_preserve_field_info(task->in_memstall, 5) != 0;
}

/* The state of a task that gives its CPU up by itself. */
INLINE u32 state_of(const struct thread *thread, struct task_struct *task, u64 state)
{
	if (state == TASK_INTERRUPTIBLE)
		return is_forced(thread, task) ? BLOCKED : SLEPT;
	if (state & TASK_DEAD)
		return ENDED;
	if (state & TASK_STOPPED)
		return STOPPED;
	if (state & TASK_TRACED)
		return TRACED;
	if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
		return BLOCKED;
	if ((state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE)
		return is_for_memory(task) ? BLOCKED_MEMORY : BLOCKED;
	return is_forced(thread, task) ? BLOCKED : SLEPT;
}

/* Notes the control group of a thread that needs memory. */
RARE int needs_memory(struct cpu *cpu, struct task_struct *task)
{
	struct cgroup_subsys_state **states;

	if (!cpu || !__builtin_preserve_field_info(task->cgroups, 2) ||
	    !__builtin_preserve_enum_value(*(enum cgroup_subsys_id *)memory_cgrp_id, 0))
		return 0;
	states = task->cgroups->subsys;
	/* Of the controller's own hierarchy, which is that of v1 if it is mounted there. */
	cpu->memory_group =
		states[__builtin_preserve_enum_value(*(enum cgroup_subsys_id *)memory_cgrp_id, 1)]->cgroup->kn->id;
	return 0;
}

/* From now on the slot is the reader's. */
INLINE void ends(struct cpu *cpu, struct thread *thread, u64 now)
{
	thread->tid = NO_THREAD;
	cpu->ended++;
	become(thread, ENDED, now);
}

/* Whether a switch takes the CPU away from a task, in whatever state that is. */
INLINE int is_preemption(const u64 *args)
{
	return (u8)args[0] != 0;
}

INLINE void gives_up(struct cpu *cpu, const u32 *here, struct thread *thread, struct thread *came,
		     struct task_struct *prev, struct task_struct *next, u32 in, const u64 *args, u64 now)
{
	u64 raw, ns = not_negative(now - leave(thread));
	u32 kind = thread->state, state;

	if (kind == RAN || kind == UNSEEN) {
		add(cpu, thread, RAN, ns);
	} else {
		/* The switch to it was not traced. */
		thread->woken = 0;
		add(cpu, thread, kind, ns);
	}
	/*
	 * Read here and not taken from the event's last argument (5.18), which calls one asleep that does not go to sleep
	 * as a signal is pending. One that another CPU wakes up already is TASK_WAKING: asleep, and not for long.
	 */
	raw = raw_state(prev);
	if (!raw || is_preemption(args)) {
		want(thread, cpu, *here, prev);
		thread->by[0] = first_of(next);
		thread->by[1] = second_of(next);
		if (came)
			thread->by_whom = BY_OWN;
		else if (in)
			thread->by_whom = next->flags & PF_KTHREAD ? BY_KERNEL : BY_OTHER;
		else
			thread->by_whom = BY_NONE;
		return become(thread, PREEMPTED, now);
	}
	state = state_of(thread, prev, raw);
	if (state == BLOCKED_MEMORY)
		needs_memory(cpu, prev);
	else if (state == ENDED)
		return ends(cpu, thread, now);
	become(thread, state, now);
}

INLINE void gets(struct cpu *cpu, const u32 *here, struct thread *thread, struct thread *left,
		 struct task_struct *prev, u32 out, struct task_struct *next, u64 now)
{
	u32 kind = thread->state;
	u64 since = leave(thread), woken;

	if (kind == UNSEEN)
		kind = thread->assumed ? RAN : PREEMPTED;
	if (kind == PREEMPTED) {
		waited(cpu, here, thread, PREEMPTED, left, prev, out, next, since, now);
	} else if ((woken = thread->woken) || kind == WOKEN) {
		if (woken) {
			u64 ns = not_negative(woken - since);

			/* Constants make short programs of these. */
			if (kind == SLEPT)
				add(cpu, thread, SLEPT, ns);
			else
				add(cpu, thread, kind, ns);
			since = woken;
		}
		waited(cpu, here, thread, WOKEN, left, prev, out, next, since, now);
		thread->woken = 0;
	} else {
		add(cpu, thread, kind, not_negative(now - since));
	}
	become(thread, thread->runs_as, now);
}

/* The CPU that switches from a task; one that was idle is not any more. */
INLINE struct cpu *cpu_after(u32 out, const u32 *here, u64 now)
{
	struct cpu *cpu = map_lookup(&cpus, here);

	/* Some kernels of virtual machines trace no switch when a CPU leaves idle. */
	if (cpu && cpu->idle & IS_IDLE)
		cpu->idle = out ? cpu->idle_before : idle_at(cpu->idle, now);
	return cpu;
}

/* A CPU switches to a thread that is followed. */
INLINE void to_followed(const u32 *here, struct thread *left, struct thread *came, struct task_struct *prev, u32 out,
			struct task_struct *next, u32 in, const u64 *args, u64 now)
{
	struct cpu *cpu = cpu_after(out, here, now);

	if (!cpu)
		return;
	if (left)
		gives_up(cpu, here, left, came, prev, next, in, args, now);
	gets(cpu, here, came, left, prev, out, next, now);
}

/* A CPU switches to another task, or the idle task, from one that is followed or the idle task. */
INLINE void to_other(const u32 *here, struct thread *left, struct task_struct *prev, u32 out, struct task_struct *next,
		     u32 in, const u64 *args, u64 now)
{
	struct cpu *cpu = cpu_after(out, here, now);

	if (!cpu)
		return;
	if (!in) {
		cpu->idle_before = cpu->idle;
		cpu->idle = IS_IDLE | (now - cpu->idle);
	}
	if (left)
		gives_up(cpu, here, left, 0, prev, next, in, args, now);
}

/* The thread that runs, if it is followed. */
INLINE struct thread *this_thread(void)
{
	struct table *table = all_threads();

	return table ? thread_of(table, (u32)this_process_and_thread()) : 0;
}

/* Waits for locks of the kernel, of any sort: include/trace/events/lock.h. Those of interrupts end before they do. */
SECTION("tp_btf/contention_begin")
int contention_begin(u64 *args)
{
	struct thread *thread = this_thread();

	if (thread)
		thread->lock = args[0];
	return 0;
}

SECTION("tp_btf/contention_end")
int contention_end(u64 *args)
{
	struct thread *thread = this_thread();

	if (thread && thread->lock == args[0])
		thread->lock = 0;
	return 0;
}

/*
 * The thread that runs begins or ends to free memory of its control group. `since` is never 0 meanwhile: where tracing
 * does not keep the thread on its CPU a switch may come between.
 */
INLINE void reclaims(struct thread *thread, u32 from, u32 to)
{
	struct cpu *cpu = cpu_of(this_cpu());
	u64 now;

	if (!cpu || thread->state != from)
		return;
	now = now_ns();
	add(cpu, thread, from == RECLAIMED ? RECLAIMED : RAN, not_negative(now - thread->since));
	thread->state = to;
	thread->since = now;
}

/* Memory of a control group is freed as it has reached a limit: include/trace/events/vmscan.h. */
SECTION("tp_btf/mm_vmscan_memcg_reclaim_begin")
int mm_vmscan_memcg_reclaim_begin(u64 *args)
{
	struct thread *thread = this_thread();

	if (!thread)
		return 0;
	thread->runs_as = RECLAIMED;
	reclaims(thread, RAN, RECLAIMED);
	return 0;
}

SECTION("tp_btf/mm_vmscan_memcg_reclaim_end")
int mm_vmscan_memcg_reclaim_end(u64 *args)
{
	struct thread *thread = this_thread();

	if (!thread || thread->runs_as != RECLAIMED)
		return 0;
	thread->runs_as = RAN;
	reclaims(thread, RECLAIMED, RAN);
	needs_memory(cpu_of(this_cpu()), this_task());
	return 0;
}

/* A task is put into the queue of a CPU. */
SECTION("tp_btf/sched_wakeup")
int sched_wakeup(u64 *args)
{
	struct task_struct *task = (void *)args[0];
	struct table *table = all_threads();
	struct thread *thread;
	struct cpu *cpu;
	u32 there;

	if (!table)
		return 0;
	thread = thread_of(table, task->pid);
	/* One that has not given its CPU up yet, or is in a queue, goes on as it is. */
	if (!thread || thread->state < BLOCKED || thread->state > SLEPT || thread->woken)
		return 0;
	there = number_of_cpu(task);
	cpu = cpu_of(there);
	if (!cpu)
		return 0;
	want(thread, cpu, there, task);
	barrier();
	thread->woken = now_ns();
	return 0;
}

/* Gives a free slot to a thread. */
RARE int claim(struct task_struct *task, u32 state)
{
	u32 tid = task->pid, there = number_of_cpu(task);
	struct table *table = all_threads();
	struct cpu *cpu = cpu_of(there);

	if (!cpu || !table)
		return 0;
	for (u32 probe = 0; probe < THREAD_PROBES; probe++) {
		struct thread *thread = thread_at(table, tid + probe);
		u64 now = now_ns();

		if (thread->state)
			continue;
		if (probe)
			thread_at(table, tid)->displaced = 1;
		thread->tid = tid;
		thread->runs_as = RAN;
		want(thread, cpu, there, task);
		become(thread, state, now);
		cpu->began++;
		return 0;
	}
	cpu->no_room++;
	return 0;
}

SECTION("tp_btf/sched_wakeup_new")
int sched_wakeup_new(u64 *args)
{
	struct task_struct *task = (void *)args[0];

	return is_followed(task->pid) ? claim(task, WOKEN) : 0;
}

/* A thread that executes a program takes the number of its process, whose first thread has ended. */
SECTION("tp_btf/sched_process_exec")
int sched_process_exec(u64 *args)
{
	struct task_struct *task = (void *)args[0];
	u32 before = args[1];
	struct table *table = all_threads();
	struct cpu *cpu = cpu_of(this_cpu());
	struct thread *thread;
	u64 now;

	if (!table || !cpu || before == (u32)task->pid)
		return 0;
	thread = thread_of(table, before);
	if (!thread)
		return 0;
	now = now_ns();
	add(cpu, thread, RAN, not_negative(now - leave(thread)));
	ends(cpu, thread, now);
	return claim(task, RAN);
}
