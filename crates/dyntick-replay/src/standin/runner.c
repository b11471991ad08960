// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a governor on decisions: `governor INPUT BYTES OUTPUT BYTES DECISIONS LIMIT FEEDBACK`. INPUT and OUTPUT are file
 * descriptors, LIMIT a latency limit in ns, and FEEDBACK is 1 if a choice delays what follows it.
 *
 * Before the governor's first function is called, the process gives up all system calls but exit and madvise. By the
 * latter it lets go of the parts of both files that are done, so that a long trace takes no more memory.
 */
#define DYNTICK_RUNNER
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include "kernel.h"
#include "protocol.h"

int dyntick_init(void);

/* A CPU that sleeps: its decision, the begin of the last part, and the choice for that. */
struct asleep {
	const struct dyntick_record *record;
	u64 since_ns;
	u32 number, choice;
};

struct dyntick_moment dyntick_moment;
#define now dyntick_moment
static const struct dyntick_input *input;
static struct dyntick_output *output;
static u8 *choices;
static struct dyntick_part *parts;
static struct cpuidle_driver driver = { .name = "dyntick" };
static struct cpuidle_device devices[DYNTICK_CPUS];
static struct asleep asleep[DYNTICK_CPUS];
static struct cpuidle_governor *governor;
static u64 seen_decision;
static s64 limit_ns;
static u32 polling;
/* The CPU that now is about, with its states that are enabled and within the limits, one bit each. */
static struct cpuidle_device *device;
static u32 usable;
/* With feedback: how much later each CPU does what it did than in the record. */
static s64 late_ns[DYNTICK_CPUS];
static bool feedback;

static __attribute__((noreturn)) void leave(int status)
{
	for (;;)
		syscall(SYS_exit, status);
}

static __attribute__((noreturn)) void fail(int why, s64 value)
{
	output->failure = why;
	output->value = value;
	leave(1);
}

/* The governor made no decision since the last signal, for a second of CPU time. */
static void look(int signal)
{
	(void)signal;
	if (output->decision == seen_decision)
		fail(DYNTICK_LOOP, 0);
	seen_decision = output->decision;
}

int cpuidle_register_governor(struct cpuidle_governor *one)
{
	if (!governor)
		governor = one;
	return 0;
}

static void *map(const char *descriptor, const char *bytes, int protection)
{
	size_t length = strtoull(bytes, NULL, 10);
	void *at = mmap(NULL, length, protection, MAP_SHARED, atoi(descriptor), 0);

	if (at == MAP_FAILED)
		_exit(2);
	return at;
}

#ifdef __x86_64__
#define THIS_ARCH AUDIT_ARCH_X86_64
#else
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_NOT(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define IF(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, skipped, 0)

static void confine(void)
{
	struct sock_filter filter[] = {
		LOAD(arch),
		IF_NOT(THIS_ARCH, 7),
		LOAD(nr),
		IF(SYS_exit, 6),
		IF(SYS_exit_group, 5),
		IF(SYS_rt_sigreturn, 4),
		IF_NOT(SYS_madvise, 2),
		LOAD(args[2]),
		IF(MADV_DONTNEED, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	struct itimerval often = { { 1, 0 }, { 1, 0 } };
	struct sigaction action = { .sa_handler = look };

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int descriptor = 0; descriptor < 64; descriptor++)
		close(descriptor);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(2);
}

static void prepare_driver(void)
{
	driver.state_count = input->states;
	for (u32 i = 0; i < input->states; i++) {
		const struct dyntick_state *from = &input->state[i];
		struct cpuidle_state *to = &driver.states[i];

		memcpy(to->name, from->name, sizeof(to->name));
		to->flags = from->flags;
		to->exit_latency_ns = from->exit_latency_ns;
		to->target_residency_ns = from->target_residency_ns;
		to->exit_latency = from->exit_latency_ns / NSEC_PER_USEC;
		to->target_residency = from->target_residency_ns / NSEC_PER_USEC;
		if (from->flags & CPUIDLE_FLAG_POLLING)
			polling |= 1u << i;
	}
}

static const struct dyntick_setting *setting_of(u32 cpu)
{
	return (const struct dyntick_setting *)((const char *)input + DYNTICK_SETTINGS_AT) + cpu;
}

static noinline void prepare_device(u32 cpu)
{
	const struct dyntick_setting *setting = setting_of(cpu);

	device->registered = device->enabled = 1;
	device->cpu = cpu;
	for (int i = 0; i < driver.state_count; i++)
		device->states_usage[i].disable = setting->disabled >> i & 1;
	int error = governor->enable ? governor->enable(&driver, device) : 0;
	if (error)
		fail(DYNTICK_NOT_ENABLED, error);
}

/* What is the same for all decisions of a CPU. */
static noinline void switch_to(u32 cpu)
{
	const struct dyntick_setting *setting = setting_of(cpu);

	device = &devices[cpu];
	now.cpu = cpu;
	now.latency_ns = min((s64)setting->latency_us * NSEC_PER_USEC, limit_ns);
	usable = 0;
	for (int i = 0; i < driver.state_count; i++)
		if (driver.states[i].exit_latency_ns <= now.latency_ns && !(setting->disabled >> i & 1))
			usable |= 1u << i;
	if (!device->enabled)
		prepare_device(cpu);
}

static inline void be_on(u32 cpu)
{
	if (unlikely(!device || cpu != now.cpu))
		switch_to(cpu);
}

/* A state with DYNTICK_STOP_TICK and DYNTICK_ASKED. */
static inline u32 choose(void)
{
	bool stop_tick = true;

	now.asked = false;
	int state = governor->select(&driver, device, &stop_tick);
	if (unlikely(state < 0 || state >= driver.state_count))
		fail(DYNTICK_BAD_STATE, state);
	return state | stop_tick * DYNTICK_STOP_TICK | now.asked * DYNTICK_ASKED;
}

static inline int state_of(u32 choice)
{
	return choice & 15;
}

static inline void reflect(int state, u64 residency_ns, bool with_tick, bool timed_out)
{
	device->last_residency_ns = residency_ns;
	now.now_ns += residency_ns;
	now.got_tick = with_tick;
	if (polling >> state & 1)
		device->poll_time_limit = timed_out;
	device->states_usage[state].usage++;
	device->states_usage[state].time_ns += residency_ns;
	if (governor->reflect)
		governor->reflect(device, state);
}

/* The time limit of polling: `cpuidle_poll_time` in 6.1 to 7.2. */
static inline u64 poll_limit(void)
{
	return device->poll_limit_ns ? device->poll_limit_ns : input->poll_limit_ns;
}

/* What an interrupt and the way back to idle take at most: a sleep until the tick is not cut by it. */
#define TICK_SLACK_NS 50000
#define POLL_SLACK_NS 10000

/* The CPU that wakes another one does so later if it is late itself; timers and devices are not. */
static inline s64 waker_late_ns(const struct dyntick_record *record)
{
	return record->waker < DYNTICK_CPUS ? late_ns[record->waker] : 0;
}

/* The wake-up event is this long after now. */
static inline u64 left_ns(const struct dyntick_record *record, u64 idle_ns)
{
	u64 wake_ns = record->select_ns + idle_ns;

	if (unlikely(feedback))
		wake_ns += waker_late_ns(record);
	return wake_ns > now.now_ns ? wake_ns - now.now_ns : 0;
}

/*
 * The sleep of a part that ends before the wake-up: at a tick that goes on, or at the limit of polling; else 0. If the
 * tick went on in the record too, the wake-up follows from that.
 */
static u64 cut(const struct dyntick_record *record, u64 idle_ns, u32 choice)
{
	u64 left = left_ns(record, idle_ns);
	bool ticks = !(choice & DYNTICK_STOP_TICK) && !now.stopped && record->flags & DYNTICK_WAS_OFF &&
		     now.delta_tick_ns > 0;
	u64 tick_ns = ticks ? (u64)now.delta_tick_ns : U64_MAX / 2;

	if (polling >> state_of(choice) & 1 && poll_limit() < tick_ns)
		return left > poll_limit() + POLL_SLACK_NS ? poll_limit() : 0;
	return left > tick_ns + TICK_SLACK_NS ? tick_ns : 0;
}

/* The deepest usable state that a sleep is long enough for, of the first ones. */
static inline bool is_deepest(u32 reach, int state)
{
	u32 fits = usable & ((1u << reach) - 1);

	if (unlikely(!fits))
		return state == __builtin_ctz(~(u32)setting_of(now.cpu)->disabled);
	return fits >> state == 1;
}

static u32 reach_of(u64 idle_ns)
{
	u32 reach = driver.state_count;

	while (reach && (u64)driver.states[reach - 1].target_residency_ns > idle_ns)
		reach--;
	return reach;
}

static inline bool goes_on(const struct dyntick_record *record, u32 choice)
{
	u32 flags = record->flags & (DYNTICK_GOT_TICK | DYNTICK_WAS_OFF);

	return flags == DYNTICK_GOT_TICK && choice & DYNTICK_STOP_TICK;
}

static void put_part(u32 number, u32 choice, u64 duration_ns, int flags)
{
	struct dyntick_part *part = &parts[output->parts++];

	part->duration_ns = duration_ns;
	part->decision = number;
	part->state = choice & ~DYNTICK_WAS_CUT;
	part->flags = flags;
}

/* The choices for a sleep that a tick or the limit of polling may cut; the last one. */
static noinline u32 cut_sleep(const struct dyntick_record *record, u64 idle_ns, u32 number, u32 choice)
{
	bool was_cut = false;

	for (int cuts = 0; cuts < DYNTICK_MOST_CUTS; cuts++) {
		int state = state_of(choice);
		u64 short_ns = cut(record, idle_ns, choice);

		if (!short_ns)
			break;
		was_cut = true;
		bool polled = polling >> state & 1 && short_ns == poll_limit();
		now.stopped |= (choice & DYNTICK_STOP_TICK) != 0;
		put_part(number, choice, short_ns, DYNTICK_CUT);
		now.sleep_length_ns -= short_ns;
		now.delta_tick_ns -= short_ns;
		if (now.delta_tick_ns <= 0)
			now.delta_tick_ns += input->tick_ns;
		reflect(state, short_ns, !polled, polled);
		choice = choose();
	}
	if (!was_cut || feedback)
		return choice;
	int state = state_of(choice);
	put_part(number, choice, left_ns(record, idle_ns) + input->state[state].leaving_ns,
		 is_deepest(record->reach, state) * DYNTICK_RIGHT | goes_on(record, choice) * DYNTICK_GOES_ON);
	return choice | DYNTICK_WAS_CUT;
}

static inline void count(const struct dyntick_record *record, u32 choice)
{
	int state = state_of(choice);
	u32 verdict = (record->misses >> 2 * state & DYNTICK_MISS) |
		      is_deepest(record->reach, state) * DYNTICK_VERDICT_RIGHT |
		      ((int)record->chosen == state) * DYNTICK_VERDICT_SAME |
		      goes_on(record, choice) * DYNTICK_VERDICT_GOES_ON;

	output->counts[state][verdict]++;
}

/* What the CPU did before was late, and its timers are not. */
static noinline void be_late(s64 ns)
{
	now.now_ns += ns;
	now.sleep_length_ns -= ns;
	now.delta_tick_ns -= ns;
	if (now.sleep_length_ns < 0)
		now.sleep_length_ns = 0;
	while (now.delta_tick_ns < 0)
		now.delta_tick_ns += input->tick_ns;
	now.delta_tick_ns = min(now.delta_tick_ns, now.sleep_length_ns);
}

/*
 * The times of a decision; those that do not fit into a record are in the next one. They are handed on one by one: a
 * structure in memory would be written in halves and read in one piece, for which the processor waits.
 */
static inline struct dyntick_times times_of(const struct dyntick_record *record)
{
	if (unlikely(record->flags & DYNTICK_LONG))
		return *(const struct dyntick_times *)(record + 1);
	s64 never_ns = KTIME_MAX - (s64)record->select_ns;
	return (struct dyntick_times){
		.idle_ns = record->idle_ns,
		.residency_ns = record->residency_ns,
		.sleep_length_ns = record->sleep_length_ns == DYNTICK_NO_TIMER ? never_ns : record->sleep_length_ns,
		.delta_tick_ns = record->delta_tick_ns == DYNTICK_NO_TIMER ? never_ns : record->delta_tick_ns,
	};
}

static inline u32 select_step(const struct dyntick_record *record, struct dyntick_times times, u32 number)
{
	now.now_ns = record->select_ns;
	now.sleep_length_ns = times.sleep_length_ns;
	now.delta_tick_ns = times.delta_tick_ns;
	now.stopped = record->flags & DYNTICK_STOPPED;
	now.got_tick = false;
	if (unlikely(feedback))
		be_late(late_ns[record->cpu]);
	u32 choice = choose();
	bool may_tick = !(choice & DYNTICK_STOP_TICK) && record->flags & DYNTICK_WAS_OFF;
	if (unlikely(may_tick || polling >> state_of(choice) & 1))
		choice = cut_sleep(record, times.idle_ns, number, choice);
	if (likely(!feedback)) {
		if (likely(!(choice & DYNTICK_WAS_CUT)))
			count(record, choice);
		choices[number] = choice;
	}
	return choice;
}

/* Now is the begin of the last part. */
static inline void reflect_step(const struct dyntick_record *record, struct dyntick_times times, u32 choice)
{
	int state = state_of(choice);
	u64 residency_ns = times.residency_ns;

	now.stopped = record->flags & DYNTICK_STOPPED;
	if (state != (int)record->chosen || choice & DYNTICK_WAS_CUT)
		residency_ns = left_ns(record, times.idle_ns) + input->state[state].leaving_ns;
	reflect(state, residency_ns, record->flags & DYNTICK_GOT_TICK, residency_ns >= poll_limit());
}

/*
 * The end of a sleep with feedback: its wake-up is as late as the CPU that caused it, and what follows is later by what
 * leaving this state takes more than the recorded one. Each sleep is scored as a part, since it has another length.
 */
static noinline void wake_late(const struct asleep *cpu)
{
	const struct dyntick_record *record = cpu->record;
	struct dyntick_times times = times_of(record);
	int state = state_of(cpu->choice), chosen = record->chosen;
	u64 left = left_ns(record, times.idle_ns), begin_ns = record->select_ns + late_ns[record->cpu];
	u64 wake_ns = now.now_ns + left;
	s64 recorded_ns = times.residency_ns - times.idle_ns;
	s64 leaving_ns = state == chosen && recorded_ns > 0 ? recorded_ns : input->state[state].leaving_ns;
	s64 more_ns = chosen < driver.state_count ? input->state[state].leaving_ns - input->state[chosen].leaving_ns : 0;
	u64 slept_ns = left + leaving_ns;

	put_part(cpu->number, cpu->choice, slept_ns,
		 is_deepest(reach_of(wake_ns - begin_ns), state) * DYNTICK_RIGHT |
			 goes_on(record, cpu->choice) * DYNTICK_GOES_ON | (state == chosen) * DYNTICK_SAME);
	choices[cpu->number] = cpu->choice | DYNTICK_WAS_CUT;
	now.stopped = record->flags & DYNTICK_STOPPED;
	reflect(state, slept_ns, record->flags & DYNTICK_GOT_TICK, slept_ns >= poll_limit());
	late_ns[record->cpu] = (s64)(wake_ns - record->select_ns - times.idle_ns) + more_ns;
}

static noinline void fall_asleep(const struct dyntick_record *record, u32 number, u32 choice)
{
	struct asleep *cpu = &asleep[record->cpu];

	cpu->record = record;
	cpu->since_ns = now.now_ns;
	cpu->number = number;
	cpu->choice = choice;
}

static noinline void wake_up(u32 number)
{
	const struct asleep *cpu = &asleep[number];

	be_on(number);
	now.now_ns = cpu->since_ns;
	if (feedback)
		wake_late(cpu);
	else
		reflect_step(cpu->record, times_of(cpu->record), cpu->choice);
}

/* Lets go of the pages between both; where the next one begins. */
static char *forget(char *from, const void *to)
{
	size_t bytes = ((const char *)to - from) & ~4095UL;

	if (bytes)
		syscall(SYS_madvise, from, bytes, MADV_DONTNEED);
	return from + bytes;
}

/* Replays some records, of which the first decision has this number; where the next records begin. */
static const struct dyntick_record *replay(const struct dyntick_record *record, const struct dyntick_record *end,
					   u32 *first)
{
	u32 number = *first;

	while (record < end) {
		if (unlikely(record->flags & DYNTICK_END)) {
			wake_up(record->cpu);
			record++;
			continue;
		}
		struct dyntick_times times = times_of(record);

		output->decision = (u64)number + 1;
		be_on(record->cpu);
		u32 choice = select_step(record, times, number);
		if (likely(record->flags & DYNTICK_ENDS && !feedback)) {
			reflect_step(record, times, choice);
		} else {
			fall_asleep(record, number, choice);
			if (record->flags & DYNTICK_ENDS)
				wake_up(record->cpu);
		}
		number++;
		record += record->flags & DYNTICK_LONG ? 2 : 1;
	}
	*first = number;
	return record;
}

/* The records between which pages are let go: 4 MiB. */
#define AT_ONCE 131072

int main(int argc, char **arguments)
{
	if (argc != 8)
		return 2;
	u64 decisions = strtoull(arguments[5], NULL, 10);
	limit_ns = strtoll(arguments[6], NULL, 10);
	feedback = atoi(arguments[7]);
	input = map(arguments[1], arguments[2], PROT_READ);
	output = map(arguments[3], arguments[4], PROT_READ | PROT_WRITE);
	if (input->magic != DYNTICK_MAGIC)
		return 2;
	const struct dyntick_record *record = (const void *)((const char *)input + DYNTICK_RECORDS_AT);
	const struct dyntick_record *end = record + input->records;
	choices = (u8 *)output + DYNTICK_OUTPUT_BYTES;
	parts = (void *)(choices + (decisions + 4095) / 4096 * 4096);
	char *read_to = (char *)record, *chosen_to = (char *)choices, *cut_to = (char *)parts;
	confine();
	prepare_driver();
	dyntick_init();
	if (!governor)
		fail(DYNTICK_NOT_REGISTERED, 0);
	if (!governor->select)
		fail(DYNTICK_NO_SELECT, 0);
	for (u32 number = 0; record < end;) {
		const struct dyntick_record *next = end - record > AT_ONCE ? record + AT_ONCE : end;

		record = replay(record, next, &number);
		read_to = forget(read_to, record);
		chosen_to = forget(chosen_to, choices + number);
		cut_to = forget(cut_to, parts + output->parts);
	}
	leave(0);
}
