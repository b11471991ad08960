/* SPDX-License-Identifier: GPL-2.0-only */
/* Which CPUs are counted. */
#pragma once

#include "kernel.h"

/* Which row a CPU has; written before the programs are loaded. */
const volatile u16 row_of_cpu[MAX_CPUS] = {};

/* The row of this CPU, or NOT_COUNTED. */
INLINE u32 row_number(void)
{
	return row_of_cpu[this_cpu() & (MAX_CPUS - 1)];
}
