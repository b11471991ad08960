// SPDX-License-Identifier: GPL-2.0-only
// With the tick stopped and a prediction shorter than a tick, menu takes the time to the next timer for
// the idle time. Here it takes its prediction and a margin of 50 % on top of it, but not more than that time.
// Files: drivers/cpuidle/governors/menu.c
// Needs: min(predicted_ns

@@
symbol predicted_ns;
identifier data;
@@
-	predicted_ns = data->next_timer_ns;
+	predicted_ns = min(predicted_ns + predicted_ns / 2, data->next_timer_ns);
