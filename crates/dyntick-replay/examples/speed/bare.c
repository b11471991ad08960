// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same governor in a bare loop over decisions in memory, for comparison: `bare FILE`. It is driven, and nothing is
 * scored, cut, written or confined. Prints the nanoseconds of the loop, and the choices of each state.
 */
#define DYNTICK_RUNNER
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "kernel.h"

struct decision {
	u64 select_ns, idle_ns;
	s64 sleep_length_ns, delta_tick_ns;
	u64 got_tick;
};

int dyntick_init(void);

struct dyntick_moment dyntick_moment;
#define now dyntick_moment
static struct cpuidle_governor *governor;

int cpuidle_register_governor(struct cpuidle_governor *one)
{
	governor = one;
	return 0;
}

static u64 clock_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000ULL + at.tv_nsec;
}

/* Sapphire Rapids. */
static struct cpuidle_driver driver = {
	.state_count = 4,
	.states = {
		{ .name = "POLL", .flags = CPUIDLE_FLAG_POLLING },
		{ .name = "C1", .exit_latency_ns = 1000, .target_residency_ns = 1000, .exit_latency = 1, .target_residency = 1 },
		{ .name = "C1E", .exit_latency_ns = 2000, .target_residency_ns = 4000, .exit_latency = 2, .target_residency = 4 },
		{ .name = "C6", .exit_latency_ns = 290000, .target_residency_ns = 800000, .exit_latency = 290,
		  .target_residency = 800 },
	},
};

int main(int argc, char **arguments)
{
	static struct cpuidle_device device = { .registered = 1, .enabled = 1 };
	u64 counts[CPUIDLE_STATE_MAX] = { 0 };
	FILE *file = argc == 2 ? fopen(arguments[1], "rb") : NULL;

	if (!file || fseek(file, 0, SEEK_END))
		return 2;
	size_t count = ftell(file) / sizeof(struct decision);
	struct decision *decisions = malloc(count * sizeof(*decisions));
	rewind(file);
	if (!decisions || fread(decisions, sizeof(*decisions), count, file) != count)
		return 2;
	dyntick_init();
	if (governor->enable)
		governor->enable(&driver, &device);
	now.latency_ns = 2000000000000;
	u64 begin_ns = clock_ns();
	for (const struct decision *one = decisions; one < decisions + count; one++) {
		bool stop_tick = true;

		now.now_ns = one->select_ns;
		now.sleep_length_ns = one->sleep_length_ns;
		now.delta_tick_ns = one->delta_tick_ns;
		int state = governor->select(&driver, &device, &stop_tick);
		u64 residency_ns = one->idle_ns + driver.states[state].exit_latency_ns;
		counts[state]++;
		now.now_ns += residency_ns;
		now.got_tick = one->got_tick;
		device.last_residency_ns = residency_ns;
		if (governor->reflect)
			governor->reflect(&device, state);
	}
	printf("%llu", clock_ns() - begin_ns);
	for (int state = 0; state < driver.state_count; state++)
		printf(" %llu", counts[state]);
	putchar('\n');
	return 0;
}
