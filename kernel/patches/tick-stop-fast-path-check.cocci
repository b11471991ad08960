// SPDX-License-Identifier: GPL-2.0-only
// Goes on top of tick-stop-fast-path, with or without tick-stop-fast-path-busy: each decision is made
// both ways, by the fast path and by the four checks, and compared. The four checks decide, so the
// kernel behaves as an unpatched one. Counted by CPU, in /sys/kernel/debug/tick_stop_fast_path:
//   decisions      calls of can_stop_full_tick()
//   idle           of these, by the idle task
//   yes            of these, the four checks found nothing that needs the tick
//   hits, misses   whether the fast path would have answered
//   changed        the fast path said yes and the checks no, but another CPU set a bit in between:
//                  the fast path, asked again, says no
//   disagreements  the fast path said yes, the checks said no, and the fast path still says yes
// An answer that the fast path leaves to the checks cannot differ from theirs.
// Files: kernel/time/tick-sched.c
// Needs: disagreements; counts->disagreements) tick_stop_four_checks counts->decisions++;

@@
typedef u64;
@@
struct tick_stop_counts {
	u64 hits;
	u64 misses;
+	u64 decisions;
+	u64 idle;
+	u64 yes;
+	u64 changed;
+	u64 disagreements;
};

@@
expression m;
@@
-seq_puts(m, "cpu hits misses\n")
+seq_puts(m, "cpu hits misses decisions idle yes changed disagreements\n")

@@
expression m, cpu, counts;
@@
-seq_printf(m, "%d %llu %llu\n", cpu, counts->hits, counts->misses)
+seq_printf(m, "%d %llu %llu %llu %llu %llu %llu %llu\n", cpu, counts->hits, counts->misses,
+	   counts->decisions, counts->idle, counts->yes, counts->changed, counts->disagreements)

@@
identifier cpu, ts;
typedef bool;
@@
-can_stop_full_tick
+tick_stop_four_checks
 (int cpu, struct tick_sched *ts)
{
...
-	if (tick_stop_fast_path(ts)) {
-		__this_cpu_inc(tick_stop_counts.hits);
-		return true;
-	}
-	__this_cpu_inc(tick_stop_counts.misses);
...
}
+
+static bool can_stop_full_tick(int cpu, struct tick_sched *ts)
+{
+	struct tick_stop_counts *counts = this_cpu_ptr(&tick_stop_counts);
+	bool fast = cpu_online(cpu) && tick_stop_fast_path(ts);
+	bool checks = tick_stop_four_checks(cpu, ts);
+
+	counts->decisions++;
+	counts->idle += is_idle_task(current);
+	counts->yes += checks;
+	if (!fast) {
+		counts->misses++;
+		return checks;
+	}
+	counts->hits++;
+	if (!checks) {
+		if (tick_stop_fast_path(ts))
+			counts->disagreements++;
+		else
+			counts->changed++;
+	}
+	return checks;
+}
