// SPDX-License-Identifier: GPL-2.0-only
// can_stop_full_tick() asks four dependency masks in turn. On an idle CPU, read all four at once
// and say yes if none is set: written after the description of the patch of 2026 to
// kernel/time/tick-sched.c. Whether it has any effect is what a study asks.
// Files: kernel/time/tick-sched.c

@@
identifier cpu, ts;
@@
can_stop_full_tick(int cpu, struct tick_sched *ts)
{
...
+	__builtin_prefetch(&ts->tick_dep_mask);
+	if (is_idle_task(current) &&
+	    !(atomic_read(&tick_dep_mask) | atomic_read(&ts->tick_dep_mask) |
+	      atomic_read(&current->tick_dep_mask) |
+	      atomic_read(&current->signal->tick_dep_mask)))
+		return true;
if (check_tick_dependency(&tick_dep_mask)) return false;
...
}
