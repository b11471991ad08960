// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long an exit takes: always the same, or drawn from a distribution. What is drawn is a fixed
 * sequence on each CPU, so that virtual time repeats to the bit.
 */
#include "emulator.h"

#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/string.h>

/* A share of all exits is given in millionths. */
#define ALL 1000000

/* The generator's step and its first state on CPU 0 (Weyl sequence of SplitMix64). */
#define STEP 0x9e3779b97f4a7c15ULL

void em_exit_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(em_cpus, cpu).random = (cpu + 1) * STEP;
}

/* SplitMix64 (Steele, Lea, Flood 2014), its upper half. */
static __always_inline u32 draw(u64 *state)
{
	u64 z = *state += STEP;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
}

/* Between two points the time grows with the share. */
noinstr u64 em_exit_cycles(struct em_cpu *cpu, const struct em_state *state)
{
	const struct em_quantile *above = state->quantile, *below;
	u64 share;

	if (!state->quantiles)
		return state->exit;
	share = draw(&cpu->random);
	/* The first point has the share 0 and the last one more than can be drawn. */
	do {
		below = above++;
	} while (above->share <= share);
	return below->cycles + (above->cycles - below->cycles) * (share - below->share) / (above->share - below->share);
}

static int parse_quantile(struct em_quantile *point, char *rest)
{
	const char *millionths = strsep(&rest, "@");
	u32 share;
	u64 ns;

	if (!rest || kstrtou32(millionths, 10, &share) || share > ALL || kstrtou64(rest, 10, &ns) || ns > NSEC_PER_SEC)
		return -EINVAL;
	point->share = ((u64)share << 32) / ALL;
	point->cycles = em_cycles(ns);
	return 0;
}

/* "0@87000/500000@96800/1000000@153000": millionths of all exits, and the ns that they are not above. */
int em_parse_quantiles(struct em_state *state, char *rest)
{
	unsigned int count = 0;
	char *entry;

	while ((entry = strsep(&rest, "/"))) {
		struct em_quantile *point = &state->quantile[count];

		if (count == EM_QUANTILES || parse_quantile(point, entry))
			return -EINVAL;
		if (count && (point->share <= point[-1].share || point->cycles < point[-1].cycles))
			return -EINVAL;
		count++;
	}
	if (count < 2 || state->quantile[0].share || state->quantile[count - 1].share != 1ULL << 32)
		return -EINVAL;
	state->quantiles = count;
	return 0;
}
