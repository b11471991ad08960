// SPDX-License-Identifier: GPL-2.0-only
// With the tick stopped and a prediction shorter than a tick, menu takes the time to the next timer for
// the idle time. Here it does so only where that timer is farther than two ticks away, for a nearer one
// bounds the damage of a wrong prediction: menu's half of the change of Linux 7.1 (e57c2bf2e89d; menu_select(),
// SAFE_TIMER_RANGE_NS of drivers/cpuidle/governors/gov.h). Its other half, which limits teo by the same range
// (106a2662e655), is a patch by itself: teo-stopped-safe-range.cocci.
// Files: drivers/cpuidle/governors/menu.c
// Needs: TICK_NSEC)

@@
symbol predicted_ns, TICK_NSEC;
identifier data;
@@
+	if (data->next_timer_ns > 2 * TICK_NSEC)
	predicted_ns = data->next_timer_ns;
