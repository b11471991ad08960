/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time of a work item: while its kworker ran, so that it is a part of the kworker's. Where the kworker goes on
 * on another CPU, as one of an unbound workqueue may, the rest is not in the work item's time.
 */
#pragma once

#include "account.h"

/*
 * Whether the turn is known that a task of this CPU is in. Else the work item is counted without its time, which
 * would be more than the kworker's.
 */
INLINE int is_in_a_turn(struct row *row, u32 thread)
{
	if (!sees_switches)
		return 1;
	return row->task.start ? row->task.what == thread : row->busy != 0;
}

INLINE void begin_work(struct row *row, u32 place, u64 what)
{
	u32 thread = (u32)this_process_and_thread();

	begin(row, &row->work, place, what);
	row->worker = thread;
	row->work_began = row->work.start;
	row->work_ran = 0;
	if (!is_in_a_turn(row, thread))
		row->work.start = 0;
}

INLINE void end_work(struct row *row)
{
	struct slot *slot = slot_at(row, row->work.slot);
	u64 ran = row->work_ran, ns;

	if (!row->work.start)
		return;
	ns = ran + lasted(row, &row->work, now_ns());
	row->work.start = 0;
	took_at_last(slot, ns, ran);
	if (ns > details_over)
		tell(row->work.slot, row->work_began, ns);
}

INLINE struct paused *paused_of(struct row *row, u32 worker)
{
	return &row->paused[worker & (PAUSED - 1)];
}

/* The kworker is switched out. */
RARE int pause_work(struct row *row, struct task_struct *worker, u64 now)
{
	struct paused *paused;
	u64 ns;

	if (!row || row->worker != (u32)worker->pid)
		return 0;
	paused = paused_of(row, worker->pid);
	ns = lasted(row, &row->work, now);
	row->work.start = 0;
	slot_at(row, row->work.slot)->ns += ns;
	row->pauses += !paused->thread;
	paused->began = row->work_began;
	paused->ran = row->work_ran + ns;
	paused->what = row->work.what;
	paused->runtime = worker->se.sum_exec_runtime;
	paused->slot = row->work.slot;
	paused->thread = worker->pid;
	return 0;
}

/* A kworker in the middle of a work item is switched to. */
RARE int resume_work(struct row *row, struct task_struct *worker, u64 now)
{
	struct paused *paused;

	/* A place without one has 0 for a thread. */
	if (!row || !worker->pid)
		return 0;
	paused = paused_of(row, worker->pid);
	row->pauses--;
	paused->thread = 0;
	if (paused->runtime != worker->se.sum_exec_runtime)
		return 0;
	row->work_began = paused->began;
	row->work_ran = paused->ran;
	row->worker = (u32)worker->pid;
	row->work.what = paused->what;
	row->work.slot = paused->slot;
	row->work.stolen = row->stolen;
	row->work.start = now;
	return 0;
}
