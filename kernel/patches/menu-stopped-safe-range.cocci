// SPDX-License-Identifier: GPL-2.0-only
// With the tick stopped and a prediction shorter than a tick, menu takes the time to the next timer for
// the idle time. Here it does so only where that timer is farther than two ticks away, for a nearer one
// bounds the damage of a wrong prediction: the rule of menu in Linux 7.2 (menu_select(), SAFE_TIMER_RANGE_NS
// of drivers/cpuidle/governors/gov.h), and nothing else of that version.
// Files: drivers/cpuidle/governors/menu.c
// Needs: TICK_NSEC)

@@
symbol predicted_ns, TICK_NSEC;
identifier data;
@@
+	if (data->next_timer_ns > 2 * TICK_NSEC)
	predicted_ns = data->next_timer_ns;
