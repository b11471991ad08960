// SPDX-License-Identifier: GPL-2.0-only
// With the tick stopped and a prediction shorter than a tick, menu takes the time to the next timer for
// the idle time. Here it takes the lesser of the two. Since the prediction is that time, or a typical
// interval if shorter, times a factor of at most one, that is the prediction: the rule is gone. As with the
// margins, it lies on top of 80606f4eb8d7 (6.12.75).
// Files: drivers/cpuidle/governors/menu.c
// Needs: min(predicted_ns

@@
symbol predicted_ns;
identifier data;
@@
-	predicted_ns = data->next_timer_ns;
+	predicted_ns = min(predicted_ns, data->next_timer_ns);
