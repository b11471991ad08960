// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts what interrupts a CPU (count.c) and accounts for the time of followed threads (waits.h). A switch enters one
 * program for both.
 */
#define SWITCH_ELSEWHERE
#include "count.c"
#include "waits.h"

SECTION("tp_btf/sched_switch")
int sched_switch(u64 *args)
{
	struct task_struct *prev = (void *)args[1], *next = (void *)args[2];
	u32 out = prev->pid, in = next->pid, here = this_cpu();
	struct table *table = all_threads();
	struct row *row = in_row_of(here, &rows);
	struct thread *left, *came;
	u64 now;

	if (!table)
		return 0;
	left = thread_of(table, out);
	came = thread_of(table, in);
	if (row) {
		now = now_ns();
		next_turn(row, prev, out, next, in, came != 0, now);
	} else if (left || came || !out || !in) {
		now = now_ns();
	} else {
		return 0;
	}
	if (came)
		to_followed(&here, left, came, prev, out, next, in, args, now);
	else if (left || !out || !in)
		to_other(&here, left, prev, out, next, in, args, now);
	return 0;
}
