// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a governor on the decisions in shared memory: `governor INPUT BYTES OUTPUT BYTES LIMIT`, with two file
 * descriptors and a latency limit in ns. Before the governor's first function is called, the process gives up all system
 * calls but exit.
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

static const struct dyntick_input *input;
static const struct dyntick_decision *decisions, *now_decision;
static struct dyntick_output *output;
static struct cpuidle_driver driver = { .name = "dyntick" };
static struct cpuidle_device devices[DYNTICK_CPUS];
static struct cpuidle_governor *governor;
static u64 since_ns[DYNTICK_CPUS];
static int now_cpu;
static u64 now_ns, seen_decision;
static s64 limit_ns, now_latency_ns, now_sleep_length_ns, now_delta_tick_ns;
static bool now_stopped, now_asked, got_tick;

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

int smp_processor_id(void) { return now_cpu; }
u64 dyntick_now(void) { return now_ns; }
bool tick_nohz_tick_stopped(void) { return now_stopped; }
bool tick_nohz_tick_stopped_cpu(int cpu) { return cpu == now_cpu && now_stopped; }
unsigned int nr_iowait_cpu(int cpu) { return cpu == now_cpu ? now_decision->iowaiters : 0; }
unsigned long sched_cpu_util(int cpu) { return cpu == now_cpu ? now_decision->utilisation : 0; }
s64 cpuidle_governor_latency_req(unsigned int cpu) { (void)cpu; return now_latency_ns; }
ktime_t tick_nohz_get_next_hrtimer(void) { return (ktime_t)now_ns + now_sleep_length_ns; }

ktime_t tick_nohz_get_sleep_length(ktime_t *delta_next)
{
	now_asked = true;
	*delta_next = now_delta_tick_ns;
	return now_sleep_length_ns;
}

bool tick_nohz_idle_got_tick(void)
{
	bool got = got_tick;

	got_tick = false;
	return got;
}

int cpuidle_register_governor(struct cpuidle_governor *one)
{
	if (!governor)
		governor = one;
	return 0;
}

static void *map(const char *descriptor, const char *bytes, int protection)
{
	void *at = mmap(NULL, strtoull(bytes, NULL, 10), protection, MAP_SHARED, atoi(descriptor), 0);

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
		IF_NOT(THIS_ARCH, 4),
		LOAD(nr),
		IF(SYS_exit, 3),
		IF(SYS_exit_group, 2),
		IF(SYS_rt_sigreturn, 1),
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
	}
}

static void prepare_device(struct cpuidle_device *device, const struct dyntick_decision *decision)
{
	if (device->enabled)
		return;
	device->registered = device->enabled = 1;
	device->cpu = decision->cpu;
	int error = governor->enable ? governor->enable(&driver, device) : 0;
	if (error)
		fail(DYNTICK_NOT_ENABLED, error);
}

static int select_state(struct cpuidle_device *device, u32 number)
{
	bool stop_tick = true;

	now_asked = false;
	int state = governor->select(&driver, device, &stop_tick);
	if (state < 0 || state >= driver.state_count)
		fail(DYNTICK_BAD_STATE, state);
	struct dyntick_part *part = (struct dyntick_part *)((char *)output + DYNTICK_OUTPUT_BYTES) + output->parts;
	part->select_ns = now_ns;
	part->decision = number;
	part->state = state;
	part->flags = (stop_tick ? DYNTICK_STOP_TICK : 0) | (now_asked ? DYNTICK_ASKED : 0);
	output->parts++;
	return state;
}

static void reflect(struct cpuidle_device *device, int state, u64 residency_ns, bool with_tick, bool timed_out)
{
	device->last_residency_ns = residency_ns;
	now_ns += residency_ns;
	got_tick = with_tick;
	if (driver.states[state].flags & CPUIDLE_FLAG_POLLING)
		device->poll_time_limit = timed_out;
	device->states_usage[state].usage++;
	device->states_usage[state].time_ns += residency_ns;
	if (governor->reflect)
		governor->reflect(device, state);
	got_tick = false;
}

/* The time limit of polling: `cpuidle_poll_time` in 6.1 to 7.2. */
static u64 poll_limit(const struct cpuidle_device *device)
{
	return device->poll_limit_ns ? device->poll_limit_ns : input->poll_limit_ns;
}

/* What an interrupt and the way back to idle take at most: a sleep until the tick is not cut by it. */
#define TICK_SLACK_NS 50000
#define POLL_SLACK_NS 10000

/*
 * The sleep of a part that ends before the wake-up: at a tick that goes on, or at the limit of polling; else 0. Where the
 * tick went on in the record too, the wake-up is what followed from that.
 */
static u64 cut(const struct cpuidle_device *device, const struct dyntick_decision *decision, int state, bool stop_tick)
{
	u64 left = decision->wake_ns > now_ns ? decision->wake_ns - now_ns : 0;
	bool ticks = !stop_tick && !now_stopped && decision->flags & DYNTICK_WAS_OFF && now_delta_tick_ns > 0;
	u64 tick_ns = ticks ? (u64)now_delta_tick_ns : U64_MAX / 2;

	if (driver.states[state].flags & CPUIDLE_FLAG_POLLING && poll_limit(device) < tick_ns)
		return left > poll_limit(device) + POLL_SLACK_NS ? poll_limit(device) : 0;
	return left > tick_ns + TICK_SLACK_NS ? tick_ns : 0;
}

static struct dyntick_part *last_part(void)
{
	return (struct dyntick_part *)((char *)output + DYNTICK_OUTPUT_BYTES) + output->parts - 1;
}

static void select_step(const struct dyntick_decision *decision, u32 number, u8 *states)
{
	struct cpuidle_device *device = &devices[decision->cpu];

	output->decision = (u64)number + 1;
	now_decision = decision;
	now_cpu = decision->cpu;
	now_ns = decision->select_ns;
	now_latency_ns = min(decision->latency_ns, limit_ns);
	now_sleep_length_ns = decision->sleep_length_ns;
	now_delta_tick_ns = decision->delta_tick_ns;
	now_stopped = decision->flags & DYNTICK_STOPPED;
	prepare_device(device, decision);
	for (int i = 0; i < driver.state_count; i++)
		device->states_usage[i].disable = decision->disabled >> i & 1;
	int state = select_state(device, number);
	for (int cuts = 0; cuts < DYNTICK_MOST_CUTS; cuts++) {
		u64 short_ns = cut(device, decision, state, last_part()->flags & DYNTICK_STOP_TICK);
		if (!short_ns)
			break;
		bool polled = driver.states[state].flags & CPUIDLE_FLAG_POLLING && short_ns == poll_limit(device);
		now_stopped |= last_part()->flags & DYNTICK_STOP_TICK;
		last_part()->flags |= DYNTICK_CUT;
		now_sleep_length_ns -= short_ns;
		now_delta_tick_ns -= short_ns;
		if (now_delta_tick_ns <= 0)
			now_delta_tick_ns += TICK_NSEC;
		reflect(device, state, short_ns, !polled, polled);
		state = select_state(device, number);
	}
	states[number] = state;
}

static void reflect_step(const struct dyntick_decision *decision, u32 number, const u8 *states)
{
	struct cpuidle_device *device = &devices[decision->cpu];
	u8 state = states[number];
	u64 residency_ns = decision->residency_ns;

	output->decision = (u64)number + 1;
	now_decision = decision;
	now_cpu = decision->cpu;
	now_stopped = decision->flags & DYNTICK_STOPPED;
	/* The begin of the last part. */
	now_ns = since_ns[decision->cpu];
	if (state != decision->chosen || now_ns != decision->select_ns)
		residency_ns = (decision->wake_ns > now_ns ? decision->wake_ns - now_ns : 0) + input->state[state].leaving_ns;
	reflect(device, state, residency_ns, decision->flags & DYNTICK_GOT_TICK,
		residency_ns >= poll_limit(device));
}

int main(int count, char **arguments)
{
	if (count != 6)
		return 2;
	limit_ns = strtoll(arguments[5], NULL, 10);
	input = map(arguments[1], arguments[2], PROT_READ);
	output = map(arguments[3], arguments[4], PROT_READ | PROT_WRITE);
	if (input->magic != DYNTICK_MAGIC)
		return 2;
	decisions = (const void *)((const char *)input + DYNTICK_INPUT_BYTES);
	const u32 *steps = (const void *)(decisions + input->decisions);
	u8 *states = malloc(input->decisions + 1);
	if (!states)
		return 2;
	confine();
	prepare_driver();
	dyntick_init();
	if (!governor)
		fail(DYNTICK_NOT_REGISTERED, 0);
	if (!governor->select)
		fail(DYNTICK_NO_SELECT, 0);
	for (u64 i = 0; i < input->steps; i++) {
		u32 number = steps[i] >> 1;
		const struct dyntick_decision *decision = &decisions[number];

		if (steps[i] & 1) {
			reflect_step(decision, number, states);
		} else {
			select_step(decision, number, states);
			since_ns[decision->cpu] = now_ns;
		}
	}
	leave(0);
}
