// SPDX-License-Identifier: GPL-2.0-only
// With the tick stopped and a prediction shorter than a tick, menu takes the time to the next timer for
// the idle time. Here it takes its prediction and a quarter of it as a margin, but not more than that time: the rule
// that was proposed in 2026. The proposal was written for menu before 80606f4eb8d7 (6.12.75), and this lies on top
// of it: the two differ only where the typical interval is at most 15 us.
// Files: drivers/cpuidle/governors/menu.c
// Needs: min(predicted_ns

@@
symbol predicted_ns;
identifier data;
@@
-	predicted_ns = data->next_timer_ns;
+	predicted_ns = min(predicted_ns + predicted_ns / 4, data->next_timer_ns);
