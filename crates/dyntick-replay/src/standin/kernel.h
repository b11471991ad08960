/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands in for the kernel's headers while an idle governor of a kernel tree is compiled as a part of a program. Each
 * header that the governor includes is empty, and this one is included before all else.
 */
#ifndef DYNTICK_KERNEL_H
#define DYNTICK_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64, ktime_t;
#ifndef DYNTICK_RUNNER
typedef u8 __u8, uint8_t;
typedef u16 __u16, uint16_t;
typedef u32 __u32, uint32_t, uint;
typedef u64 __u64, uint64_t;
typedef s8 int8_t;
typedef s16 int16_t;
typedef s32 int32_t;
typedef s64 __s64, int64_t;
typedef unsigned long size_t;
#define __always_inline inline __attribute__((always_inline))
#endif
typedef struct { int counter; } atomic_t;
struct list_head { struct list_head *next, *prev; };
struct cpumask;
struct module;

#ifndef __STDBOOL_H
typedef _Bool bool;
#define true 1
#define false 0
#endif
#ifndef NULL
#define NULL ((void *)0)
#endif

#define U8_MAX ((u8)~0U)
#define U16_MAX ((u16)~0U)
#define U32_MAX (~0U)
#define S32_MAX ((s32)(U32_MAX >> 1))
#define U64_MAX (~0ULL)
#define S64_MAX ((s64)(U64_MAX >> 1))
#define S64_MIN (-S64_MAX - 1)
#ifndef UINT_MAX
#define UINT_MAX (~0U)
#define INT_MAX ((int)(UINT_MAX >> 1))
#define INT_MIN (-INT_MAX - 1)
#define ULONG_MAX (~0UL)
#define LONG_MAX ((long)(ULONG_MAX >> 1))
#endif
#define KTIME_MAX S64_MAX
#define EINVAL 22
#define ENODEV 19
#define EBUSY 16

#define MSEC_PER_SEC 1000L
#define USEC_PER_SEC 1000000L
#define USEC_PER_MSEC 1000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define TICK_NSEC ((NSEC_PER_SEC + HZ / 2) / HZ)
#define TICK_USEC ((USEC_PER_SEC + HZ / 2) / HZ)

#define __init
#define __exit
#define __initdata
#define __read_mostly
#define __cpuidle
#define noinline __attribute__((noinline))
#define __maybe_unused __attribute__((unused))
#define __percpu
#define __rcu
#define fallthrough __attribute__((fallthrough))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define GENMASK(h, l) ((~0UL << (l)) & (~0UL >> (63 - (h))))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))
#define barrier() __asm__ __volatile__("" : : : "memory")
#define BUILD_BUG_ON(x) _Static_assert(!(x), #x)
#define WARN_ON(x) (!!(x))
#define WARN_ON_ONCE(x) (!!(x))
#define BUG_ON(x) do { if (x) __builtin_trap(); } while (0)
#define IS_ENABLED(option) 0
#define printk(...) ((void)0)
#define pr_debug(...) ((void)0)
#define pr_info(...) ((void)0)
#define pr_warn(...) ((void)0)
#define pr_err(...) ((void)0)
#define trace_printk(...) ((void)0)
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - __builtin_offsetof(type, member)))

#define min(a, b) ({ __auto_type _a = (a); __auto_type _b = (b); _a < _b ? _a : _b; })
#define max(a, b) ({ __auto_type _c = (a); __auto_type _d = (b); _c > _d ? _c : _d; })
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define min3(a, b, c) min(min(a, b), c)
#define clamp(x, low, high) min(max(x, low), high)
#define clamp_t(type, x, low, high) clamp((type)(x), (type)(low), (type)(high))
#define clamp_val(x, low, high) clamp_t(__typeof__(x), x, low, high)
#define swap(a, b) do { __auto_type _s = (a); (a) = (b); (b) = _s; } while (0)
#define abs(x) ({ __auto_type _x = (x); _x < 0 ? -_x : _x; })
#define do_div(n, base) ({ u32 _by = (base); u32 _rest = (n) % _by; (n) /= _by; _rest; })
#define DIV_ROUND_UP(n, by) (((n) + (by) - 1) / (by))
#define DIV_ROUND_CLOSEST_ULL(n, by) (((u64)(n) + (by) / 2) / (by))
static inline u64 div_u64(u64 n, u32 by) { return n / by; }
static inline s64 div_s64(s64 n, s32 by) { return n / by; }
static inline u64 div64_u64(u64 n, u64 by) { return n / by; }
static inline s64 div64_s64(s64 n, s64 by) { return n / by; }
static inline u64 div64_ul(u64 n, unsigned long by) { return n / by; }
static inline int fls(unsigned int x) { return x ? 32 - __builtin_clz(x) : 0; }
static inline int fls64(u64 x) { return x ? 64 - __builtin_clzll(x) : 0; }
static inline int ilog2(u64 x) { return fls64(x) - 1; }
static inline unsigned long int_sqrt(unsigned long x)
{
	unsigned long root = 0, bit = 1UL << 62;

	for (; bit; bit >>= 2) {
		unsigned long next = root + bit;

		root >>= 1;
		if (x >= next) {
			x -= next;
			root += bit;
		}
	}
	return root;
}
#define memset __builtin_memset
#define memcpy __builtin_memcpy
#define memmove __builtin_memmove
#define strcmp __builtin_strcmp
#define strlen __builtin_strlen

/* Data of a CPU is an element of an array. */
#define DYNTICK_CPUS 8192
#define NR_CPUS DYNTICK_CPUS
#define DEFINE_PER_CPU(type, name) __typeof__(type) name[DYNTICK_CPUS]
#define DEFINE_PER_CPU_ALIGNED DEFINE_PER_CPU
#define DEFINE_PER_CPU_SHARED_ALIGNED DEFINE_PER_CPU
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) name[DYNTICK_CPUS]
#define per_cpu(name, cpu) ((name)[cpu])
#define per_cpu_ptr(pointer, cpu) (&(*(pointer))[cpu])
#define this_cpu_ptr(pointer) per_cpu_ptr(pointer, smp_processor_id())
#define raw_cpu_ptr this_cpu_ptr
#define this_cpu_read(name) per_cpu(name, smp_processor_id())
#define this_cpu_write(name, value) (per_cpu(name, smp_processor_id()) = (value))
#define this_cpu_inc(name) (per_cpu(name, smp_processor_id())++)
#define this_cpu_add(name, value) (per_cpu(name, smp_processor_id()) += (value))
#define __this_cpu_read this_cpu_read
#define __this_cpu_write this_cpu_write
#define get_cpu() smp_processor_id()
#define put_cpu() ((void)0)
#define raw_smp_processor_id() smp_processor_id()

#define CPUIDLE_STATE_MAX 10
#define CPUIDLE_NAME_LEN 16
#define CPUIDLE_DESC_LEN 32
#define CPUIDLE_FLAG_NONE 0
#define CPUIDLE_FLAG_POLLING BIT(0)
#define CPUIDLE_FLAG_COUPLED BIT(1)
#define CPUIDLE_FLAG_TIMER_STOP BIT(2)
#define CPUIDLE_FLAG_UNUSABLE BIT(3)
#define CPUIDLE_FLAG_OFF BIT(4)
#define CPUIDLE_STATE_DISABLED_BY_USER BIT(0)
#define CPUIDLE_STATE_DISABLED_BY_DRIVER BIT(1)

struct cpuidle_state_usage {
	u64 disable, usage, time_ns, above, below, rejected;
};
struct cpuidle_state {
	char name[CPUIDLE_NAME_LEN], desc[CPUIDLE_DESC_LEN];
	s64 exit_latency_ns, target_residency_ns;
	unsigned int flags, exit_latency;
	int power_usage;
	unsigned int target_residency;
};
struct cpuidle_device {
	unsigned int registered : 1, enabled : 1, poll_time_limit : 1, cpu;
	ktime_t next_hrtimer;
	int last_state_idx;
	u64 last_residency_ns, poll_limit_ns, forced_idle_latency_limit_ns;
	struct cpuidle_state_usage states_usage[CPUIDLE_STATE_MAX];
};
struct cpuidle_driver {
	const char *name;
	struct module *owner;
	struct cpuidle_state states[CPUIDLE_STATE_MAX];
	int state_count, safe_state_index;
	struct cpumask *cpumask;
	const char *governor;
};
struct cpuidle_governor {
	char name[CPUIDLE_NAME_LEN];
	struct list_head governor_list;
	unsigned int rating;
	int (*enable)(struct cpuidle_driver *, struct cpuidle_device *);
	void (*disable)(struct cpuidle_driver *, struct cpuidle_device *);
	int (*select)(struct cpuidle_driver *, struct cpuidle_device *, bool *);
	void (*reflect)(struct cpuidle_device *, int);
};
int cpuidle_register_governor(struct cpuidle_governor *);

/* Answered from the trace: what it says of the moment. */
struct dyntick_moment {
	u64 now_ns;
	s64 sleep_length_ns, delta_tick_ns, latency_ns;
	u32 cpu;
	bool stopped, asked, got_tick;
};
extern struct dyntick_moment dyntick_moment;
static inline int smp_processor_id(void) { return dyntick_moment.cpu; }
static inline u64 dyntick_now(void) { return dyntick_moment.now_ns; }
static inline s64 cpuidle_governor_latency_req(unsigned int cpu) { (void)cpu; return dyntick_moment.latency_ns; }
static inline bool tick_nohz_tick_stopped(void) { return dyntick_moment.stopped; }
static inline bool tick_nohz_tick_stopped_cpu(int cpu) { return cpu == smp_processor_id() && dyntick_moment.stopped; }
static inline unsigned int nr_iowait_cpu(int cpu) { (void)cpu; return 0; }
static inline unsigned long sched_cpu_util(int cpu) { (void)cpu; return 0; }
static inline ktime_t tick_nohz_get_next_hrtimer(void)
{
	return (ktime_t)dyntick_moment.now_ns + dyntick_moment.sleep_length_ns;
}
static inline ktime_t tick_nohz_get_sleep_length(ktime_t *delta_next)
{
	dyntick_moment.asked = true;
	*delta_next = dyntick_moment.delta_tick_ns;
	return dyntick_moment.sleep_length_ns;
}
static inline bool tick_nohz_idle_got_tick(void)
{
	bool got = dyntick_moment.got_tick;

	dyntick_moment.got_tick = false;
	return got;
}
#define local_clock dyntick_now
#define sched_clock dyntick_now
#define ktime_get_ns dyntick_now
#define ktime_get() ((ktime_t)dyntick_now())
#define jiffies ((unsigned long)(dyntick_now() / TICK_NSEC))
#define ktime_to_us(t) ((s64)(t) / NSEC_PER_USEC)
#define ktime_to_ns(t) ((s64)(t))
#define ktime_to_ms(t) ((s64)(t) / NSEC_PER_MSEC)
#define ktime_sub(a, b) ((a) - (b))
#define ktime_add(a, b) ((a) + (b))
#define ktime_us_delta(a, b) ktime_to_us((a) - (b))
#define ns_to_ktime(ns) ((ktime_t)(ns))
#define us_to_ktime(us) ((ktime_t)(us) * NSEC_PER_USEC)
#define arch_scale_cpu_capacity(cpu) 1024UL
#define kvm_para_available() true
#define kvm_arch_para_hints() 0
#define need_resched() false
#define tick_nohz_enabled true
#define trace_guest_halt_poll_ns_grow(...) ((void)0)
#define trace_guest_halt_poll_ns_shrink(...) ((void)0)

#define dyntick_initcall(function) int dyntick_init(void); int dyntick_init(void) { return function(); }
#define postcore_initcall dyntick_initcall
#define core_initcall dyntick_initcall
#define subsys_initcall dyntick_initcall
#define device_initcall dyntick_initcall
#define late_initcall dyntick_initcall
#define module_init dyntick_initcall
#define module_exit(function)
#define module_param(name, type, mode)
#define module_param_named(name, value, type, mode)
#define MODULE_PARM_DESC(name, text)
#define MODULE_LICENSE(text)
#define MODULE_AUTHOR(text)
#define MODULE_DESCRIPTION(text)
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)
#define THIS_MODULE NULL

#endif
