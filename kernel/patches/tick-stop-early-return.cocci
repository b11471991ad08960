// SPDX-License-Identifier: GPL-2.0-only
// check_tick_dependency() asks for each dependency by itself, since timer:tick_stop reports which one it found. While that event is
// off nobody wants to know, and whether any bit is set is the answer: what mainline took in place of a fast path in
// can_stop_full_tick() (56534673cea7, in 7.2; kernel/time/tick-sched.c).
// Files: kernel/time/tick-sched.c
// Needs: tracepoint_enabled(tick_stop)

@@
typedef atomic_t;
identifier dep, val;
@@
check_tick_dependency(atomic_t *dep)
{
int val = atomic_read(dep);
+
+	if (likely(!tracepoint_enabled(tick_stop)))
+		return !!val;
...
}
