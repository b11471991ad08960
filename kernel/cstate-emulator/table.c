// SPDX-License-Identifier: GPL-2.0-only
/* Reading the table of idle states, a module parameter. */
#include "emulator.h"

#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringify.h>

struct em_state em_states[CPUIDLE_STATE_MAX];

/* Far beyond any machine, and within what the timer can wait at once. */
#define LONGEST_NS (1000 * 1000 * 1000ULL)

static const struct {
	const char *name;
	unsigned int flag;
} flags[] = {
	{ "tlb", CPUIDLE_FLAG_TLB_FLUSHED },
	{ "timer-stop", CPUIDLE_FLAG_TIMER_STOP },
	{ "off", CPUIDLE_FLAG_OFF },
	{ "unusable", CPUIDLE_FLAG_UNUSABLE },
};

static int refuse(const char *entry, const char *why)
{
	pr_err("states: '%s': %s\n", entry, why);
	return -EINVAL;
}

static int parse_ns(const char *text, u64 *ns)
{
	int error = text ? kstrtou64(text, 10, ns) : -EINVAL;

	return error ?: *ns > LONGEST_NS ? -ERANGE : 0;
}

/* "NAME=NS" of this name. */
static bool is_time(const char *word, const char *name, u64 *ns)
{
	size_t length = strlen(name);

	return !strncmp(word, name, length) && !parse_ns(word + length, ns);
}

/* One word after the two times. */
static int parse_option(struct cpuidle_state *state, struct em_state *em, char *word)
{
	unsigned int i;
	u64 ns;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		if (!strcmp(word, flags[i].name)) {
			state->flags |= flags[i].flag;
			return 0;
		}
	}
	if (!strcmp(word, "irq-enable")) {
		em->irq_enable = true;
		return 0;
	}
	if (str_has_prefix(word, "exits="))
		return em_parse_quantiles(em, word + strlen("exits="));
	if (is_time(word, "exit=", &ns)) {
		em->exit = em_cycles(ns);
		return 0;
	}
	if (!is_time(word, "entry=", &ns) || ns > state->exit_latency_ns)
		return -EINVAL;
	em->entry = em_cycles(ns);
	em->exit = em_cycles(state->exit_latency_ns - ns);
	return 0;
}

static int parse_times(struct cpuidle_state *state, char **rest)
{
	u64 latency, residency;

	if (parse_ns(strsep(rest, ":"), &latency) || parse_ns(strsep(rest, ":"), &residency))
		return -EINVAL;
	/* Only the fields in ns: a field in us that is set would replace them. */
	state->exit_latency_ns = latency;
	state->target_residency_ns = residency;
	return 0;
}

static int parse_state(struct cpuidle_driver *drv, int index, const char *entry, char *rest)
{
	struct cpuidle_state *state = &drv->states[index], *before = index ? state - 1 : NULL;
	struct em_state *em = &em_states[index];
	const char *name = strsep(&rest, ":");
	char *word;
	int i;

	if (!*name || strlen(name) >= CPUIDLE_NAME_LEN)
		return refuse(entry, "a state's name has 1 to 15 characters");
	for (i = 0; i < index; i++)
		if (!strcmp(drv->states[i].name, name))
			return refuse(entry, "there are two states of this name");
	if (parse_times(state, &rest))
		return refuse(entry, "a state is NAME:LATENCY:RESIDENCY, times in ns and at most 1000000000");
	if (before && (state->exit_latency_ns < before->exit_latency_ns ||
		       state->target_residency_ns < before->target_residency_ns))
		return refuse(entry, "a deeper state has no shorter latency or residency than the one before it");
	em->exit = em_cycles(state->exit_latency_ns);
	while ((word = strsep(&rest, ":")))
		if (parse_option(state, em, word))
			return refuse(entry, "options are tlb, timer-stop, off, unusable, irq-enable, exit=NS, exits=MILLIONTHS@NS/... that rise from 0 to 1000000, and entry=NS, at most the latency");
	strscpy(state->name, name, sizeof(state->name));
	snprintf(state->desc, sizeof(state->desc), "emulated, %llu ns", (u64)state->exit_latency_ns);
	state->enter = em_enter;
	return 0;
}

/* Fills the driver's states from "POLL,C1:1000:1000,C6:290000:800000:tlb". */
int em_parse_states(struct cpuidle_driver *drv, const char *text)
{
	char *copy, *rest, *entry;
	int error = 0;

	copy = rest = kstrdup(text, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	drv->state_count = 0;
	while (!error && (entry = strsep(&rest, ","))) {
		int index = drv->state_count++;
		char *whole;

		if (index >= CPUIDLE_STATE_MAX) {
			error = refuse(entry, "the kernel has room for " __stringify(CPUIDLE_STATE_MAX) " states");
			break;
		}
		if (!index && !strcmp(entry, "POLL")) {
			cpuidle_poll_state_init(drv);
			continue;
		}
		whole = kstrdup(entry, GFP_KERNEL);
		error = whole ? parse_state(drv, index, whole, entry) : -ENOMEM;
		kfree(whole);
	}
	if (!error && drv->state_count < 2)
		error = refuse(text, "a governor needs two states to choose from");
	kfree(copy);
	return error;
}
