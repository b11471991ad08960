// SPDX-License-Identifier: GPL-2.0-only
// menu of 6.12.64 to 6.12.74, before "Always check timers with tick stopped" (80606f4eb8d7, the patch of
// 20 January 2026, backported to 6.12.75): where the typical interval is at most 15 us, the next timer is not looked
// up, also with the tick stopped, and then counts as infinitely far.
// Files: drivers/cpuidle/governors/menu.c
// Needs: RESIDENCY_THRESHOLD_NS) data->next_timer_ns;

@@
symbol predicted_ns, RESIDENCY_THRESHOLD_NS, TICK_NSEC;
identifier data;
statement early;
@@
-if (predicted_ns > RESIDENCY_THRESHOLD_NS || tick_nohz_tick_stopped()) {
+if (predicted_ns > RESIDENCY_THRESHOLD_NS) {
	...
-	if (tick_nohz_tick_stopped() && predicted_ns < TICK_NSEC)
-		predicted_ns = data->next_timer_ns;
} else { ... }
if (...) early
+if (tick_nohz_tick_stopped() && predicted_ns < TICK_NSEC)
+	predicted_ns = data->next_timer_ns;
