// SPDX-License-Identifier: GPL-2.0-only
// can_stop_full_tick() asks four dependency masks in turn. On an idle CPU, read all four at once and
// say yes if none is set: written after the description of the patch of 2026 to
// kernel/time/tick-sched.c, with the counters that it names as future work, by CPU, in
// /sys/kernel/debug/tick_stop_fast_path. Whether it has any effect is what a study asks.
//
// Why it may be done. Interrupts are off (the function asserts it), so `current`, its masks and the
// CPU stay what they are, and a plain increment is enough for a counter. current->signal is never
// null: each idle task has a signal_struct (copy_signal() without CLONE_THREAD; that of CPU 0 is
// init_signals), and a task's is freed with its task_struct. The order of the four reads does not
// matter, nor that together they are no snapshot: who sets the first bit of a mask does so with a
// full barrier and then kicks the CPU (tick_nohz_dep_set_all() and its like), and the end of that
// interrupt is another decision. Only nohz_full CPUs get here. One that idles does so when it leaves
// idle (tick_nohz_idle_exit()); the ends of its interrupts do not ask (tick_nohz_irq_exit()).
// Files: kernel/time/tick-sched.c
// Needs: linux/debugfs.h late_initcall(tick_stop_fast_path_init); __this_cpu_inc(tick_stop_counts.misses);

@@
@@
 #include <linux/module.h>
+#include <linux/debugfs.h>
+#include <linux/prefetch.h>
+#include <linux/seq_file.h>

@@
identifier cpu, ts;
typedef bool, u64;
declarer name DEFINE_PER_CPU, DEFINE_SHOW_ATTRIBUTE, late_initcall;
iterator name for_each_online_cpu;
@@
+struct tick_stop_counts {
+	u64 hits;
+	u64 misses;
+};
+static DEFINE_PER_CPU(struct tick_stop_counts, tick_stop_counts);
+
+static int tick_stop_fast_path_show(struct seq_file *m, void *v)
+{
+	int cpu;
+
+	seq_puts(m, "cpu hits misses\n");
+	for_each_online_cpu(cpu) {
+		struct tick_stop_counts *counts = per_cpu_ptr(&tick_stop_counts, cpu);
+
+		seq_printf(m, "%d %llu %llu\n", cpu, counts->hits, counts->misses);
+	}
+	return 0;
+}
+DEFINE_SHOW_ATTRIBUTE(tick_stop_fast_path);
+
+static int __init tick_stop_fast_path_init(void)
+{
+	debugfs_create_file("tick_stop_fast_path", 0444, NULL, NULL, &tick_stop_fast_path_fops);
+	return 0;
+}
+late_initcall(tick_stop_fast_path_init);
+
+static bool tick_stop_fast_path(struct tick_sched *ts)
+{
+	if (!is_idle_task(current))
+		return false;
+	return !(atomic_read(&tick_dep_mask) | atomic_read(&ts->tick_dep_mask) |
+		 atomic_read(&current->tick_dep_mask) |
+		 atomic_read(&current->signal->tick_dep_mask));
+}
+
can_stop_full_tick(int cpu, struct tick_sched *ts)
{
...
+	prefetch(&tick_dep_mask);
+	prefetch(&ts->tick_dep_mask);
+	prefetch(&current->tick_dep_mask);
+	prefetch(&current->signal->tick_dep_mask);
+	if (tick_stop_fast_path(ts)) {
+		__this_cpu_inc(tick_stop_counts.hits);
+		return true;
+	}
+	__this_cpu_inc(tick_stop_counts.misses);
+
if (check_tick_dependency(&tick_dep_mask)) return false;
...
}
