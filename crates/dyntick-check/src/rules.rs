// SPDX-License-Identifier: GPL-2.0-only
//! The rules, one file each.
//!
//! To add one, write its file next to the others and add it to the list below. Its files must be among the sources, and
//! its claims must hold for each kernel that it names: read the kernel's source.

use crate::finding::{Evidence, Finding, Severity};
use crate::machine::{Machine, said};
use crate::shell;
use crate::sources::*;
use dyntick_model::boot::{self, Wanted};
use dyntick_model::parameters::boolean;
use dyntick_model::{CommandLine, CpuList, Fix, Isolation, Outcome, text};

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// The id, for `--json`, SARIF and the book.
    pub id: &'static str,
    /// The problem that it looks for, in one sentence without a full stop.
    pub title: &'static str,
    /// The worst severity that it reports.
    pub severity: Severity,
    /// The files that it reads.
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

    /// Makes a finding that lists names; `say` gets the number of names that fit.
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

/// Requests nothing more, to have present parameters rewritten validly.
fn nothing() -> Wanted {
    Wanted::default()
}

/// The tick, without that of the boot CPU, which is always kept (`tick_nohz_init`).
fn tick(cpus: &CpuList) -> Wanted {
    Wanted { tick: cpus.difference(&CpuList::first(1)), ..nothing() }
}

/// The removal from load balancing, and whatever such a CPU still lacks then: its callbacks, if it keeps
/// its tick.
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

/// The removal of interrupts from all judged CPUs.
fn interrupts(machine: &Machine<'_>) -> Wanted {
    Wanted { interrupts: machine.target.clone(), ..nothing() }
}

/// The isolation that a parameter would ask for if it were written this way.
pub(crate) fn asks(machine: &Machine<'_>, parameter: &str) -> Wanted {
    let line = CommandLine::parse(parameter);
    let asked: Isolation = machine.replayed(&line);
    let offloaded = line.cpus("rcu_nocbs", machine.possible).and_then(Result::ok).unwrap_or_default();
    let more = domain(machine, &asked.domain).and(&callbacks(&offloaded));
    tick(&asked.tick).and(&managed_irq(&asked.managed_irq)).and(&more)
}

/// Formats as `CPU 3`, `CPUs 2-3`.
fn cpus(list: &CpuList) -> String {
    format!("CPU{} {list}", if list.len() == 1 { "" } else { "s" })
}

/// Formats as `CPU 3 is`, `CPUs 2-3 are`.
fn cpus_are(list: &CpuList) -> String {
    format!("{} {}", cpus(list), if list.len() == 1 { "is" } else { "are" })
}

/// Adds a command that moves something to the remaining CPUs, if there are any.
fn moved(finding: Finding, machine: &Machine<'_>, command: impl FnOnce(&CpuList) -> String) -> Finding {
    let rest = machine.housekeeping();
    if rest.is_empty() {
        finding.advice("leave at least one CPU out, for housekeeping")
    } else {
        finding.command(command(&rest))
    }
}

/// Marks a fix that no guest can prove: firmware, devices, counters and registers exist only on real
/// machines.
fn untried(fix: impl std::fmt::Display) -> String {
    format!("{fix} (not tried here: no guest has it)")
}

/// Formats as `kswapd0, ksmd and 3 more`.
fn names<'a>(all: impl Iterator<Item = &'a str>, shown: usize) -> String {
    let mut all: Vec<&str> = all.collect();
    all.sort_unstable();
    all.dedup();
    in_order(all, shown)
}

/// Does the same for names that are already sorted.
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

// In the order in which findings of one severity are shown: the most important first.
rules! {
    refused_parameter,
    empty_list,
    conflicting_isolation,
    not_in_effect,
    patched_kernel,
    unsupported_parameter,
    parameter_typo,
    unknown_value,
    rejected_parameter,
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

/// Applies all rules. A parameter that this kernel would ignore is not offered.
pub(crate) fn findings(machine: &Machine<'_>) -> Vec<Finding> {
    RULES
        .iter()
        .flat_map(|rule| (rule.find)(machine))
        .map(|finding| without_refused(machine, finding))
        .collect()
}

fn without_refused(machine: &Machine<'_>, mut finding: Finding) -> Finding {
    let refused = |fix: &Fix| match fix {
        Fix::Boot(text) => text.split(' ').find_map(|word| Some((word.to_owned(), machine.refuses(word)?))),
        _ => None,
    };
    let Some((word, why)) = finding.fixes.iter().find_map(refused) else { return finding };
    finding.fixes.retain(|fix| refused(fix).is_none());
    if finding.fixes.is_empty() {
        finding.advice(format!("'{word}' would help, and this kernel ignores it: {why}"))
    } else {
        finding
    }
}

/// Returns all rules.
pub fn all() -> &'static [&'static Rule] {
    RULES
}
