// SPDX-License-Identifier: GPL-2.0-only
//! What is looked for: one file per rule.
//!
//! To add one, write its file beside the others and name it in the list below. What it reads must be
//! among the sources, and what it says must hold for each kernel that it says it of: read the source.

use crate::finding::{Evidence, Finding, Severity};
use crate::machine::{Machine, said};
use crate::shell;
use crate::sources::*;
use dyntick_model::boot::{self, Wanted};
use dyntick_model::parameters::boolean;
use dyntick_model::{CommandLine, CpuList, Fix, Isolation, Outcome, text};

/// One thing that is looked for.
#[derive(Debug)]
pub struct Rule {
    /// Its name, for `--json`, SARIF and the book.
    pub id: &'static str,
    /// What it looks for, in one sentence without a full stop.
    pub title: &'static str,
    /// The worst that it can be.
    pub severity: Severity,
    /// The files that it judges by.
    pub reads: &'static [&'static str],
    /// The kernel's file and function behind it, or other public material.
    pub source: &'static str,
    pub(crate) find: fn(&Machine<'_>) -> Vec<Finding>,
}

impl Rule {
    fn finding(&self, severity: Severity, message: impl Into<String>) -> Finding {
        let message = message.into();
        Finding {
            rule: self.id,
            severity,
            full_message: message.clone(),
            message,
            cpus: CpuList::default(),
            evidence: Vec::new(),
            effect: String::new(),
            fixes: Vec::new(),
        }
    }

    /// A finding that names things, of which there may be many: `say` is given how many names there is room for.
    fn naming(&self, severity: Severity, say: impl Fn(usize) -> String) -> Finding {
        const SHORT: usize = 4;
        Finding { full_message: say(usize::MAX), ..self.finding(severity, say(SHORT)) }
    }

    fn error(&self, message: impl Into<String>) -> Finding {
        self.finding(Severity::Error, message)
    }

    fn warning(&self, message: impl Into<String>) -> Finding {
        self.finding(Severity::Warning, message)
    }

    fn note(&self, message: impl Into<String>) -> Finding {
        self.finding(Severity::Note, message)
    }
}

/// Nothing is missing: for what becomes valid when it is written anew.
fn nothing() -> Wanted {
    Wanted::default()
}

/// Without the boot CPU, which keeps its tick whatever is asked (`tick_nohz_init`).
fn tick(cpus: &CpuList) -> Wanted {
    Wanted { tick: cpus.difference(&CpuList::first(1)), ..nothing() }
}

/// Out of load balancing, with what such a CPU then still lacks: its callbacks are its own, if no tick
/// goes with it.
fn domain(machine: &Machine<'_>, cpus: &CpuList) -> Wanted {
    let own = cpus.difference(&callbacks_not_offloaded::offloaded(machine));
    let kept = if machine.has("RCU_NOCB_CPU") == Some(false) { CpuList::default() } else { own };
    Wanted { domain: cpus.clone(), ..callbacks(&kept) }
}

fn managed_irq(cpus: &CpuList) -> Wanted {
    Wanted { managed_irq: cpus.clone(), ..nothing() }
}

fn callbacks(cpus: &CpuList) -> Wanted {
    Wanted { callbacks: cpus.clone(), ..nothing() }
}

/// Off all CPUs that are judged.
fn interrupts(machine: &Machine<'_>) -> Wanted {
    Wanted { interrupts: machine.target.clone(), ..nothing() }
}

/// What a parameter would ask for if it were written so.
pub(crate) fn asks(machine: &Machine<'_>, parameter: &str) -> Wanted {
    let line = CommandLine::parse(parameter);
    let asked: Isolation = machine.replayed(&line);
    let offloaded = line.cpus("rcu_nocbs", machine.possible).and_then(Result::ok).unwrap_or_default();
    let more = domain(machine, &asked.domain).and(&callbacks(&offloaded));
    tick(&asked.tick).and(&managed_irq(&asked.managed_irq)).and(&more)
}

/// `CPU 3`, `CPUs 2-3`.
fn cpus(list: &CpuList) -> String {
    format!("CPU{} {list}", if list.len() == 1 { "" } else { "s" })
}

/// `CPU 3 is`, `CPUs 2-3 are`.
fn cpus_are(list: &CpuList) -> String {
    format!("{} {}", cpus(list), if list.len() == 1 { "is" } else { "are" })
}

/// With a command that moves something to the CPUs that are left for it, where there are any.
fn moved(finding: Finding, machine: &Machine<'_>, command: impl FnOnce(&CpuList) -> String) -> Finding {
    let rest = machine.housekeeping();
    match rest.is_empty() {
        true => finding.advice("leave at least one CPU out, for housekeeping"),
        false => finding.command(command(&rest)),
    }
}

/// A fix for what no guest has, so that nobody has seen it work here: firmware, devices, counters and
/// registers of real machines.
fn untried(fix: impl std::fmt::Display) -> String {
    format!("{fix} (not tried here: no guest has it)")
}

/// `kswapd0, ksmd and 3 more`.
fn names<'a>(all: impl Iterator<Item = &'a str>, shown: usize) -> String {
    let mut all: Vec<&str> = all.collect();
    all.sort_unstable();
    all.dedup();
    in_order(all, shown)
}

/// The same of names that are in order.
fn in_order(mut all: Vec<&str>, shown: usize) -> String {
    let more = all.len().saturating_sub(shown);
    all.truncate(shown);
    let text = all.join(", ");
    if more == 0 { text } else { format!("{text} and {more} more") }
}

macro_rules! rules {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        static RULES: &[&Rule] = &[$(&$name::RULE),*];
    };
}

// In the order in which findings of one severity are shown: what decides most stands first.
rules! {
    refused_parameter,
    empty_list,
    conflicting_isolation,
    not_in_effect,
    patched_kernel,
    unsupported_parameter,
    parameter_typo,
    unknown_value,
    foreign_architecture,
    unknown_isolcpus_flag,
    not_realtime,
    nohz_off,
    bad_cpu_list,
    all_cpus_isolated,
    boot_cpu_isolated,
    isolated_cpu_offline,
    partition_invalid,
    tsc_unstable,
    boot_cpu_named,
    not_isolated,
    isolcpus_without_domain,
    load_balanced,
    cpuset_v1,
    isolcpus_nohz,
    timers_of_others,
    foreign_parameter,
    perf_events,
    cpu_quota,
    deadline_task,
    shared_cpu,
    stacked_tasks,
    starved_threads,
    packet_steering,
    flow_steering,
    trace_instance,
    fair_server,
    device_irqs,
    smt_sibling,
    kernel_threads,
    workqueue_cpumask,
    callbacks_not_offloaded,
    vmstat,
    soft_watchdog,
    nmi_watchdog,
    clocksource_watchdog,
    slow_clocksource,
    rt_throttling,
    irqaffinity_overlap,
    irqbalance,
    irqpoll,
    highres_off,
    idle_poll,
    max_cstate,
    deep_idle,
    menu_stopped_tick,
    latency_held,
    frequency_governor,
    timer_migration,
    tick_kept,
    user_threads,
    managed_irq_missing,
    irq_default,
    steal,
    housekeeping_few,
    node_without_housekeeping,
    rcu_expedited,
    rcu_nocb_poll,
    nohz_full_patience,
    machine_check_poll,
    cpu_time_limit,
    sched_ext,
    tracing,
    package_counters,
    uncore_frequency,
    skew_tick,
    compaction,
    locked_memory,
    numa_balancing,
    ksm,
    thp,
    swap,
    turbo,
    tuned,
    redundant_parameter,
    kernel_config,
}

/// The rule whose parameters isolate other CPUs than the line does.
pub(crate) const IN_PLACE: &str = "smt-sibling";

/// All rules.
pub fn all() -> &'static [&'static Rule] {
    RULES
}
