// SPDX-License-Identifier: GPL-2.0-only
// Goes on top of tick-stop-fast-path, and does what the patch of 2026 leaves to the future: the fast
// path also for a busy CPU with one task. single_task_running() (kernel/sched/core.c) reads nr_running
// of this CPU's run queue without its lock: a task that comes meanwhile sets TICK_DEP_BIT_SCHED and
// kicks the CPU, as it does today.
// Files: kernel/time/tick-sched.c

@@
@@
tick_stop_fast_path(...)
{
-	if (!is_idle_task(current))
+	if (!is_idle_task(current) && !single_task_running())
		return false;
	...
}
