/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPUs are counted. */
#pragma once

#include "kernel.h"

/* Which row a CPU has; written before the programs are loaded. */
const volatile u32 row_of_cpu[MAX_CPUS] = {};

/* The value of a CPU in a map by rows; none if it is not counted, as no map has a row NOT_COUNTED. */
INLINE void *in_row_of(u32 cpu, void *map)
{
	return map_lookup(map, (const void *)&row_of_cpu[cpu & (MAX_CPUS - 1)]);
}
