// SPDX-License-Identifier: GPL-2.0-only
//! Traces of real Debian kernels (6.1.192, 6.12.117), recorded in emulated guests with two CPUs in
//! virtual time; CPU 1 is the one that is watched. The load is in each fixture's name.

use crate::both;
use crate::trace;

use dyntick_explain::{Context, Explanation, Kind, Known, Summary, rules};
use dyntick_model::Symbol;
use std::collections::BTreeMap;
use std::fmt::Write;

fn context(name: &str, window: (u64, u64), comms: BTreeMap<i32, Symbol>) -> Context {
    let adaptive = if name.contains("nohz_full") { "1" } else { "" };
    let kernel = if name.starts_with("6.1-") { "6.1.192-amd64" } else { "6.12.117+deb12-amd64" };
    Context {
        hz: 250,
        nohz_full: adaptive.parse().unwrap(),
        isolated: adaptive.parse().unwrap(),
        rcu_nocbs: adaptive.parse().unwrap(),
        cpus: "0-1".parse().unwrap(),
        kernel: kernel.parse().unwrap(),
        window,
        timekeeper: None,
        comms,

        known: Known::default(),
    }
}

fn explained(name: &str) -> (Explanation, Context) {
    let (events, comms) = trace::read(name);
    let window = (events.first().unwrap().ts, events.last().unwrap().ts + 1);
    let context = context(name, window, comms);
    (both::explained(&events, &context), context)
}

/// A summary as text, with the chain of each cause.
fn render(summary: &Summary) -> String {
    let mut out = String::new();
    let s = summary;
    writeln!(
        out,
        "CPU {}: {:.3} s, {} ticks ({:.1}/s, {:.1} % of HZ), {} local timer interrupts",
        s.cpu,
        s.seconds,
        s.ticks,
        s.ticks_per_second,
        100.0 * s.share_of_hz,
        s.local_timer
    )
    .unwrap();
    writeln!(out, "kinds {:?}, {} switches", s.by_kind, s.context_switches).unwrap();
    for stop in &s.tick_stops {
        writeln!(out, "tick_stop success={} {}: {}", stop.success, stop.dependency, stop.count).unwrap();
    }
    for cause in &s.by_cause {
        let (name, count, ticks, ns) = (&cause.cause, cause.count, cause.ticks, cause.total_ns);
        writeln!(out, "{name}: {count}, {ticks} ticks, {ns} ns, longest {} ns", cause.longest_ns).unwrap();
        writeln!(out, "  functions {:?}", cause.functions).unwrap();
        cause.chain.texts().iter().for_each(|link| writeln!(out, "  - {link}").unwrap());
    }
    writeln!(out, "unattributed {} ({:.3})", s.unattributed, s.unattributed_share).unwrap();
    out
}

/// The causes of a CPU's ticks.
fn tick_causes(explanation: &Explanation, cpu: u32) -> Vec<String> {
    let ticks = explanation.interruptions.iter().filter(|i| i.cpu == cpu && i.kind == Kind::Tick);
    let mut causes: Vec<String> = ticks.map(|i| i.cause.to_string()).collect();
    causes.sort_unstable();
    causes.dedup();
    causes
}

/// The causes of all interruptions of CPU 1, with their numbers.
fn causes(explanation: &Explanation) -> Vec<(String, u64)> {
    explanation.per_cpu[1].by_cause.iter().map(|cause| (cause.cause.to_string(), cause.count)).collect()
}

fn counted(cause: &str, count: u64) -> [(String, u64); 1] {
    [(cause.to_owned(), count)]
}

/// Checks a fixture: its summaries against the snapshot, its ticks on CPU 1 against their causes.
fn check(name: &str, expected: &[&str]) -> (Explanation, Context) {
    let (explanation, context) = explained(name);
    assert_eq!(tick_causes(&explanation, 1), expected, "causes of the ticks on CPU 1");
    let text: Vec<String> = explanation.per_cpu.iter().map(render).collect();
    insta::assert_snapshot!(name, text.join("\n"));
    (explanation, context)
}

#[test]
fn busy_cpu_that_is_not_adaptive_ticks_at_hz() {
    let (explanation, _) = check("6.12-ticking-busy", &["not-adaptive"]);
    assert!((explanation.per_cpu[1].share_of_hz - 1.0).abs() < 0.02);
}

#[test]
fn fair_server_costs_three_interrupts_and_one_tick_a_second() {
    let (explanation, context) = check("6.12-nohz_full-busy", &["fair-server"]);
    assert_eq!(causes(&explanation), counted("fair-server", 6));
    assert_eq!(explanation.per_cpu[1].ticks, 2);
    let rule = rules::get(&explanation.per_cpu[1].by_cause[0].cause);
    let fix = rule.fixes_for(&context.kernel).next().unwrap().action.unfilled().to_string();
    assert_eq!(fix, "dyntick isolate -C N -- COMMAND", "not the bare write, which is wrong on an idle CPU");
}

#[test]
fn nothing_is_left_without_the_fair_server() {
    let (explanation, _) = check("6.12-nohz_full-fair-server-off", &[]);
    assert_eq!(explanation.per_cpu[1].interruptions, 0);
    assert_eq!(explanation.per_cpu[1].unattributed_share, 0.0);
}

#[test]
fn older_kernel_has_no_fair_server() {
    let (explanation, _) = check("6.1-nohz_full-busy", &[]);
    assert_eq!(explanation.per_cpu[1].interruptions, 0);
}

#[test]
fn work_item_restarts_the_tick() {
    check("6.12-nohz_full-refresh_vm_stats", &["fair-server", "workqueue:refresh_vm_stats"]);
    check("6.12-rt-nohz_full-refresh_vm_stats", &["fair-server", "workqueue:refresh_vm_stats"]);
}

#[test]
fn work_item_is_named_and_not_the_one_before_it() {
    let (explanation, _) =
        check("6.1-nohz_full-refresh_vm_stats", &["workqueue:refresh_vm_stats", "workqueue:vmstat_update"]);
    let vmstat = explanation.per_cpu[1].cause("workqueue:vmstat_update").unwrap();
    assert!(vmstat.chain.texts()[0].starts_with("delayed_work_timer_fn on CPU 1 queued vmstat_update"));
}

#[test]
fn second_task_keeps_the_tick() {
    let (explanation, _) = check("6.12-nohz_full-second-task", &["dependency-sched"]);
    let tick = explanation.per_cpu[1].cause("dependency-sched").unwrap();
    assert!(tick.chain.texts().last().unwrap().contains("kept by SCHED: noise"));
}

#[test]
fn limit_on_cpu_time_keeps_the_tick() {
    check("6.12-nohz_full-rlimit-cpu", &["dependency-posix-timer"]);
}

#[test]
fn perf_event_with_a_frequency_keeps_the_tick() {
    check("6.12-nohz_full-perf", &["dependency-perf"]);
}

#[test]
fn calls_from_other_cpus_are_named_if_the_kernel_names_them() {
    let (explanation, _) = check("6.12-nohz_full-membarrier", &[]);
    assert_eq!(causes(&explanation), counted("function-call:ipi_mb", 14));
    let (explanation, _) = check("6.12-nohz_full-tlb", &[]);
    assert_eq!(causes(&explanation), counted("function-call:flush_tlb_func", 28));
}

#[test]
fn calls_that_the_kernel_does_not_name_count_as_unattributed() {
    let (explanation, _) = check("6.1-nohz_full-membarrier", &[]);
    assert_eq!(causes(&explanation), counted("anonymous-call", 9));
    assert_eq!(explanation.per_cpu[1].unattributed_share, 1.0);
}

#[test]
fn sleeper_is_woken_by_a_timer_on_another_cpu() {
    let (explanation, _) = check("6.12-nohz_full-sleeper", &[]);
    let wakeup = &explanation.per_cpu[1].by_cause[0];
    assert_eq!(wakeup.cause, "wakeup:noise");
    assert!(wakeup.chain.texts()[0].starts_with("hrtimer_wakeup on CPU 0 made noise"));
}

#[test]
fn idle_cpus_are_woken_by_the_wheel_and_by_threads() {
    check("6.1-idle", &["idle-not-stopped"]);
    let (explanation, _) = check("6.12-idle", &["idle-not-stopped"]);
    assert!(explanation.interruptions.iter().any(|i| i.kind == Kind::TimerWheel));
}

#[test]
fn vmstat_runs_on_a_busy_ticking_cpu() {
    let (explanation, _) = check("6.1-ticking-faults", &["not-adaptive"]);
    assert!(explanation.per_cpu[1].cause("workqueue:vmstat_update").is_some());
}

#[test]
fn sleeper_on_a_ticking_cpu_has_its_timer_there() {
    let (explanation, _) = check("6.1-ticking-sleeper", &["idle-not-stopped"]);
    assert!(explanation.per_cpu[1].cause("hrtimer:hrtimer_wakeup").is_some());
}

/// No deferrable timer may be a cause, because it waits for a tick that comes anyway.
#[test]
fn deferrable_timers_are_never_blamed() {
    for name in ["6.12-idle", "6.1-idle", "6.12-nohz_full-busy"] {
        let (explanation, _) = explained(name);
        let blamed = |i: &&dyntick_explain::Interruption| i.cause.to_string().contains("tcp_orphan_update");
        assert!(explanation.per_cpu.iter().any(|s| s.timers.contains_key("tcp_orphan_update")), "{name}");
        assert!(!explanation.interruptions.iter().any(|i| blamed(&i)), "{name}");
    }
}

/// Each local timer interrupt of the trace is one interruption.
#[test]
fn every_timer_interrupt_is_one_interruption() {
    for name in ["6.12-idle", "6.1-idle", "6.12-nohz_full-busy", "6.12-nohz_full-second-task"] {
        let (explanation, _) = explained(name);
        for summary in &explanation.per_cpu {
            let own = explanation.interruptions.iter().filter(|i| i.cpu == summary.cpu);
            let timers = own.filter(|i| i.kind.is_local_timer()).count() as u64;
            assert_eq!(timers, summary.local_timer, "{name}, CPU {}", summary.cpu);
        }
    }
}
