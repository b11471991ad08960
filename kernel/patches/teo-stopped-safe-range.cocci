// SPDX-License-Identifier: GPL-2.0-only
// With the tick stopped, teo of 6.12 does not let its prediction choose a state whose target residency is shorter than
// a tick. Here the prediction is free, the next timer is always asked for, and only where that is farther than two
// ticks away is the deepest state taken that fits into the time until then: the rule of Linux 7.1 (106a2662e655, the
// other half of menu-stopped-safe-range), as far as teo of 6.12 has what it changes.
// Files: drivers/cpuidle/governors/teo.c
// Needs: teo_deepest_within(drv, prev_intercept_idx true;

@@
identifier i, drv, teo_state_ok;
typedef bool;
@@
bool teo_state_ok(int i, struct cpuidle_driver *drv)
{
-	return ...;
+	return true;
}
+
+static int teo_deepest_within(struct cpuidle_driver *drv, struct cpuidle_device *dev, int idx, int limit, s64 time_ns)
+{
+	int i;
+
+	for (i = limit; i > idx; i--)
+		if (!dev->states_usage[i].disable && drv->states[i].target_residency_ns <= time_ns)
+			return i;
+	return idx;
+}

@@
symbol idx, prev_intercept_idx;
statement S;
@@
-if (!idx && prev_intercept_idx)
+if (!idx && prev_intercept_idx && !tick_nohz_tick_stopped())
S

@@
identifier drv, cpu_data, delta_tick;
symbol dev, idx, constraint_idx, duration_ns, out_tick;
@@
-if (!idx)
+if (!idx && !tick_nohz_tick_stopped())
	goto out_tick;
-if ((drv->states[0].flags & CPUIDLE_FLAG_POLLING) && drv->states[idx].target_residency_ns < RESIDENCY_THRESHOLD_NS)
+if (!tick_nohz_tick_stopped() && (drv->states[0].flags & CPUIDLE_FLAG_POLLING) &&
+    drv->states[idx].target_residency_ns < RESIDENCY_THRESHOLD_NS)
	goto out_tick;
duration_ns = tick_nohz_get_sleep_length(&delta_tick);
cpu_data->sleep_length_ns = duration_ns;
+if (tick_nohz_tick_stopped() && duration_ns > 2 * TICK_NSEC && drv->states[idx].target_residency_ns < TICK_NSEC)
+	return teo_deepest_within(drv, dev, idx, constraint_idx, duration_ns);
+if (!idx)
+	goto out_tick;
