// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a governor on decisions: `governor INPUT BYTES OUTPUT BYTES DECISIONS LIMIT FEEDBACK`, with two file descriptors,
 * a latency limit in ns, and 1 if a choice delays what follows it. Before the governor's first function is called, the process gives up all system calls but exit
 * and the one by which it lets go of the parts of both files that are done: it takes no more memory for a long trace.
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
static u16 disabled[DYNTICK_CPUS];
static struct asleep asleep[DYNTICK_CPUS];
static struct cpuidle_governor *governor;
static u64 seen_decision;
static s64 limit_ns;
static u32 allowed, polling;
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
		if (from->exit_latency_ns <= limit_ns)
			allowed |= 1u << i;
		if (from->flags & CPUIDLE_FLAG_POLLING)
			polling |= 1u << i;
	}
}

static noinline void prepare_device(struct cpuidle_device *device, u32 cpu)
{
	device->registered = device->enabled = 1;
	device->cpu = cpu;
	int error = governor->enable ? governor->enable(&driver, device) : 0;
	if (error)
		fail(DYNTICK_NOT_ENABLED, error);
}

static noinline void disable_states(struct cpuidle_device *device, u16 states)
{
	disabled[device->cpu] = states;
	for (int i = 0; i < driver.state_count; i++)
		device->states_usage[i].disable = states >> i & 1;
}

/* A state with DYNTICK_STOP_TICK and DYNTICK_ASKED. */
static inline u32 choose(struct cpuidle_device *device)
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

static inline void reflect(struct cpuidle_device *device, int state, u64 residency_ns, bool with_tick, bool timed_out)
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
static inline u64 poll_limit(const struct cpuidle_device *device)
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
static inline u64 left_ns(const struct dyntick_record *record)
{
	u64 wake_ns = record->select_ns + record->idle_ns;

	if (unlikely(feedback))
		wake_ns += waker_late_ns(record);

	return wake_ns > now.now_ns ? wake_ns - now.now_ns : 0;
}

/*
 * The sleep of a part that ends before the wake-up: at a tick that goes on, or at the limit of polling; else 0. Where the
 * tick went on in the record too, the wake-up is what followed from that.
 */
static u64 cut(const struct cpuidle_device *device, const struct dyntick_record *record, u32 choice)
{
	u64 left = left_ns(record);
	bool ticks = !(choice & DYNTICK_STOP_TICK) && !now.stopped && record->flags & DYNTICK_WAS_OFF &&
		     now.delta_tick_ns > 0;
	u64 tick_ns = ticks ? (u64)now.delta_tick_ns : U64_MAX / 2;

	if (polling >> state_of(choice) & 1 && poll_limit(device) < tick_ns)
		return left > poll_limit(device) + POLL_SLACK_NS ? poll_limit(device) : 0;
	return left > tick_ns + TICK_SLACK_NS ? tick_ns : 0;
}

/* The state that suits the sleep: the deepest enabled one whose residency and latency do. */
static inline bool is_right(const struct dyntick_record *record, int state)
{
	u32 fits = record->fits & allowed;

	if (unlikely(!fits))
		return state == __builtin_ctz(~(u32)record->disabled);
	return fits >> state == 1;
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
static noinline u32 cut_sleep(struct cpuidle_device *device, const struct dyntick_record *record, u32 number, u32 choice)
{
	bool was_cut = false;

	for (int cuts = 0; cuts < DYNTICK_MOST_CUTS; cuts++) {
		int state = state_of(choice);
		u64 short_ns = cut(device, record, choice);

		if (!short_ns)
			break;
		was_cut = true;
		bool polled = polling >> state & 1 && short_ns == poll_limit(device);
		now.stopped |= (choice & DYNTICK_STOP_TICK) != 0;
		put_part(number, choice, short_ns, DYNTICK_CUT);
		now.sleep_length_ns -= short_ns;
		now.delta_tick_ns -= short_ns;
		if (now.delta_tick_ns <= 0)
			now.delta_tick_ns += input->tick_ns;
		reflect(device, state, short_ns, !polled, polled);
		choice = choose(device);
	}
	if (!was_cut || feedback)
		return choice;
	int state = state_of(choice);
	put_part(number, choice, left_ns(record) + input->state[state].leaving_ns,
		 is_right(record, state) * DYNTICK_RIGHT | goes_on(record, choice) * DYNTICK_GOES_ON);
	return choice | DYNTICK_WAS_CUT;
}

static inline void count(const struct dyntick_record *record, u32 choice)
{
	int state = state_of(choice);
	u32 verdict = (record->misses >> 2 * state & DYNTICK_MISS) | is_right(record, state) * DYNTICK_VERDICT_RIGHT |
		      (record->chosen == state) * DYNTICK_VERDICT_SAME |
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

static inline u32 select_step(struct cpuidle_device *device, const struct dyntick_record *record, u32 number)
{
	now.cpu = record->cpu;
	now.now_ns = record->select_ns;
	now.latency_ns = min((s64)record->latency_us * NSEC_PER_USEC, limit_ns);
	now.sleep_length_ns = record->sleep_length_ns;
	now.delta_tick_ns = record->delta_tick_ns;
	now.stopped = record->flags & DYNTICK_STOPPED;
	now.got_tick = false;
	if (unlikely(feedback))
		be_late(late_ns[record->cpu]);
	if (unlikely(!device->enabled))
		prepare_device(device, record->cpu);
	if (unlikely(disabled[record->cpu] != record->disabled))
		disable_states(device, record->disabled);
	u32 choice = choose(device);
	bool may_tick = !(choice & DYNTICK_STOP_TICK) && record->flags & DYNTICK_WAS_OFF;
	if (unlikely(may_tick || polling >> state_of(choice) & 1))
		choice = cut_sleep(device, record, number, choice);
	if (likely(!feedback)) {
		if (likely(!(choice & DYNTICK_WAS_CUT)))
			count(record, choice);
		choices[number] = choice;
	}
	return choice;
}

/* Now is the begin of the last part. */
static inline void reflect_step(struct cpuidle_device *device, const struct dyntick_record *record, int state, bool was_cut)
{
	u64 residency_ns = record->residency_ns;

	now.stopped = record->flags & DYNTICK_STOPPED;
	if (state != record->chosen || was_cut)
		residency_ns = left_ns(record) + input->state[state].leaving_ns;
	reflect(device, state, residency_ns, record->flags & DYNTICK_GOT_TICK, residency_ns >= poll_limit(device));
}

/* The state that suits a sleep of this length, where the record is of another one. */
static bool is_right_for(const struct dyntick_record *record, u64 idle_ns, int state)
{
	u32 enabled = allowed & ~record->disabled & ((1u << driver.state_count) - 1);

	for (int i = driver.state_count - 1; i >= 0; i--)
		if (enabled >> i & 1 && driver.states[i].target_residency_ns <= idle_ns &&
		    driver.states[i].exit_latency_ns <= (s64)record->latency_us * NSEC_PER_USEC)
			return state == i;
	return state == __builtin_ctz(~(u32)record->disabled);
}

/*
 * The end of a sleep with feedback: its wake-up is as late as the CPU that caused it, and what follows is later by what
 * leaving this state takes more than the recorded one. Each sleep is scored as a part, since it has another length.
 */
static noinline void wake_late(struct cpuidle_device *device, const struct asleep *cpu)
{
	const struct dyntick_record *record = cpu->record;
	int state = state_of(cpu->choice);
	bool same = state == record->chosen;
	u64 left = left_ns(record), begin_ns = record->select_ns + late_ns[record->cpu];
	u64 wake_ns = now.now_ns + left;
	s64 recorded_ns = record->residency_ns - record->idle_ns;
	s64 leaving_ns = same && recorded_ns > 0 ? recorded_ns : input->state[state].leaving_ns;
	s64 chosen_leaving_ns = record->chosen < input->states ? input->state[record->chosen].leaving_ns : leaving_ns;

	put_part(cpu->number, cpu->choice, left + leaving_ns,
		 is_right_for(record, wake_ns - begin_ns, state) * DYNTICK_RIGHT |
			 goes_on(record, cpu->choice) * DYNTICK_GOES_ON | same * DYNTICK_SAME);
	choices[cpu->number] = cpu->choice | DYNTICK_WAS_CUT;
	now.stopped = record->flags & DYNTICK_STOPPED;
	reflect(device, state, left + leaving_ns, record->flags & DYNTICK_GOT_TICK,
		left + leaving_ns >= poll_limit(device));
	late_ns[record->cpu] = (s64)(wake_ns - record->select_ns - record->idle_ns) +
			       (same ? 0 : input->state[state].leaving_ns - chosen_leaving_ns);
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

	now.cpu = number;
	now.now_ns = cpu->since_ns;
	if (feedback)
		wake_late(&devices[number], cpu);
	else
		reflect_step(&devices[number], cpu->record, state_of(cpu->choice), cpu->choice & DYNTICK_WAS_CUT);
}

/* Lets go of the pages between both; where the next one begins. */
static char *forget(char *from, const void *to)
{
	size_t bytes = ((const char *)to - from) & ~4095UL;

	if (bytes)
		syscall(SYS_madvise, from, bytes, MADV_DONTNEED);
	return from + bytes;
}

/* Replays some records, of which the first decision has this number; the number after the last one. */
static u32 replay(const struct dyntick_record *record, const struct dyntick_record *end, u32 number)
{
	for (; record < end; record++) {
		struct cpuidle_device *device = &devices[record->cpu];

		if (unlikely(record->flags & DYNTICK_END)) {
			wake_up(record->cpu);
			continue;
		}
		output->decision = (u64)number + 1;
		u32 choice = select_step(device, record, number);
		if (likely(record->flags & DYNTICK_ENDS && !feedback)) {
			reflect_step(device, record, state_of(choice), choice & DYNTICK_WAS_CUT);
		} else {
			fall_asleep(record, number, choice);
			if (record->flags & DYNTICK_ENDS)
				wake_up(record->cpu);
		}
		number++;
	}
	return number;
}

/* The records between which pages are let go: 4 MiB. */
#define AT_ONCE 65536

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
	const struct dyntick_record *record = (const void *)((const char *)input + DYNTICK_INPUT_BYTES);
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

		number = replay(record, next, number);
		record = next;
		read_to = forget(read_to, record);
		chosen_to = forget(chosen_to, choices + number);
		cut_to = forget(cut_to, parts + output->parts);
	}
	leave(0);
}
