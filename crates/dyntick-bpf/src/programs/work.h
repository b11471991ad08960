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
	row->works = row->pauses + 1;
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
	row->works = row->pauses;
	took_at_last(slot, ns, ran);
	if (ns > details_over)
		tell(row->work.slot, row->work_began, ns);
}

INLINE struct paused *paused_of(struct row *row, u32 worker)
{
	return &row->paused[worker & (PAUSED - 1)];
}

/* The kworker is switched out. */
INLINE void pause_work(struct row *row, struct task_struct *worker, u64 now)
{
	struct paused *paused;
	u64 ns;

	if (row->worker != (u32)worker->pid)
		return;
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
}

/* A kworker in the middle of a work item is switched to. */
INLINE void resume_work(struct row *row, struct task_struct *worker, u64 now)
{
	struct paused *paused;

	/* A place without one has 0 for a thread. */
	if (!worker->pid)
		return;
	paused = paused_of(row, worker->pid);
	if (paused->thread != (u32)worker->pid)
		return;
	row->pauses--;
	paused->thread = 0;
	if (paused->runtime != worker->se.sum_exec_runtime)
		return;
	row->work_began = paused->began;
	row->work_ran = paused->ran;
	row->worker = (u32)worker->pid;
	row->work.what = paused->what;
	row->work.slot = paused->slot;
	row->work.stolen = row->stolen;
	row->work.start = now;
}

/* A CPU with work items that have begun switches between two tasks. */
RARE int switch_work(struct row *row, struct task_struct *prev, struct task_struct *next, u64 now)
{
	if (!row)
		return 0;
	if (row->work.start)
		pause_work(row, prev, now);
	if (row->pauses)
		resume_work(row, next, now);
	row->works = row->pauses + (row->work.start != 0);
	return 0;
}
