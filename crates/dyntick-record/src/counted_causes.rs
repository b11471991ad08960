// SPDX-License-Identifier: GPL-2.0-only
//! The causes that only counters show: time taken from below the kernel, and interrupts without an event.

use crate::findings::{CauseFindings, ChainCount};
use crate::{About, fixes};
use dyntick_explain::fixes::Named;
use dyntick_explain::rules::named::{CLOCK_DISTRUSTED, HYPERVISOR_STEAL, SMI};
use dyntick_explain::rules::{self, Rule};
use dyntick_explain::{CauseId, Step, Summary};
use dyntick_model::{CommandLine, CpuList};
use dyntick_observe::arch::x86::ROWS;
use dyntick_observe::interrupts::Interrupts;
use std::collections::BTreeMap;

/// The length, ns, of a unit in `/proc/stat` (`USER_HZ`, 100 on every architecture that Linux still supports).
const STAT_NS: u64 = 10_000_000;

/// The growth of a counter of one CPU; `None` if it did not grow.
fn growth(cpu: u32, before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> Option<u64> {
    Some(after.get(&cpu)?.saturating_sub(*before.get(&cpu)?)).filter(|growth| *growth > 0)
}

/// The time for which the hypervisor ran something else on a CPU, ns.
pub(crate) fn stolen_ns(about: &About, cpu: u32) -> u64 {
    let (before, after) = &about.counts;
    steal_between(cpu, &before.steal, &after.steal)
}

/// The same between two readings of `/proc/stat`.
pub(crate) fn steal_between(cpu: u32, before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> u64 {
    growth(cpu, before, after).unwrap_or(0).saturating_mul(STAT_NS)
}

/// The causes that only counters show: steal time and system management interrupts.
pub(crate) fn counted(about: &About, summary: &Summary) -> Vec<CauseFindings> {
    let (before, after) = &about.counts;
    let cpu = summary.cpu;
    let steal = growth(cpu, &before.steal, &after.steal).map(|ticks| {
        let ns = stolen_ns(about, cpu);
        let mut cause = cause(about, summary, HYPERVISOR_STEAL);
        cause.total_ns = Some(ns);
        let stolen = Step::Stolen { cpu, ms: ns / 1_000_000 };
        cause.chains = vec![ChainCount { steps: vec![stolen].into(), count: ticks }];
        cause
    });
    let smis = growth(cpu, &before.smis, &after.smis).map(|count| {
        let mut cause = cause(about, summary, SMI);
        cause.count = Some(count);
        cause.interruptions = count;
        cause
    });
    steal.into_iter().chain(smis).collect()
}

/// The findings about a cause without interruptions in the trace.
fn cause(about: &About, summary: &Summary, rule: &'static Rule) -> CauseFindings {
    let id = CauseId::of(rule);
    CauseFindings {
        title: rules::title(&id),
        explanation: rule.explanation,
        count: None,
        interruptions: 0,
        ticks: 0,
        count_share: 0.0,
        total_ns: None,
        time_share: 0.0,
        durations_ns: None,
        chains: Vec::new(),
        more_chains: 0,
        stacks: Vec::new(),
        functions: Vec::new(),
        fixes: fixes(about, summary.cpu, &id, &Named::default()),
        source: rule.source,
        attributed: rule.names_origin,
        cause: id,
    }
}

/// The excess that is ignored, because the counters are read just before and just after the recording.
const TOLERATED: u64 = 3;

/// The growth of the rows of `/proc/interrupts` that [`untraced`] compares, by CPU.
pub(crate) type Grown = BTreeMap<u32, Vec<(&'static str, u64)>>;

/// The growth of function-call interrupts of some CPUs between two readings of `/proc/interrupts`.
pub(crate) fn calls(before: &str, after: &str, cpus: &CpuList) -> u64 {
    const CALLS: &str = "CAL";
    let [before, after] = [before, after].map(|text| Interrupts::parse(&compared(text)));
    let of_cpus =
        after.since(&before).into_iter().filter(|(row, cpu, _)| *row == CALLS && cpus.contains(*cpu));
    of_cpus.map(|(_, _, count)| count).sum()
}

/// Computes the growth, once for all CPUs.
pub(crate) fn grown(about: &About) -> Grown {
    let (before, after) = &about.counts;
    let mut grown = Grown::new();
    let [before, after] = [before, after].map(|counts| Interrupts::parse(&compared(&counts.interrupts)));
    for (row, cpu, count) in after.since(&before) {
        if let Some(known) = ROWS.iter().find(|known| known.name == row && count > 0) {
            grown.entry(cpu).or_default().push((known.name, count));
        }
    }
    grown
}

/// The head of `/proc/interrupts` and the rows that are compared, which are a small part of the table of a large
/// machine.
fn compared(interrupts: &str) -> String {
    let lines = interrupts.lines().enumerate();
    lines.filter(|(at, line)| *at == 0 || is_compared(line)).map(|(_, line)| format!("{line}\n")).collect()
}

fn is_compared(line: &str) -> bool {
    line.split(':').next().is_some_and(|row| ROWS.iter().any(|known| known.name == row.trim()))
}

/// The rows that grew by more than the trace shows.
pub(crate) fn untraced(grown: &Grown, summary: &Summary) -> Vec<(String, u64)> {
    let own = grown.get(&summary.cpu).into_iter().flatten();
    let beyond = own.filter_map(|&(row, count)| {
        let sources = ROWS.iter().find(|known| known.name == row)?.sources;
        let seen: u64 = sources.iter().filter_map(|source| summary.vectors.get(source)).sum();
        let tolerated = if sources.is_empty() { 0 } else { TOLERATED + seen / 50 };
        (count > seen + tolerated).then(|| (row.to_owned(), count))
    });
    beyond.collect()
}

/// The finding about a clock that is distrusted from boot on. It has no interruptions, because such a clock keeps no
/// tick; it slows down each program that reads the time.
pub(crate) fn clock(about: &About, summary: &Summary) -> Option<CauseFindings> {
    let machine = &about.machine;
    let line = CommandLine::parse(&machine.command_line);
    let parameter = line.iter().find(|word| ["tsc=unstable", "notsc"].contains(word))?;
    let source = &machine.clocksource.current;
    let steps = vec![
        Step::ClockDistrusted { parameter: parameter.into() },
        Step::SlowClocksource { clocksource: source.as_str().into() },
    ];
    let mut cause = cause(about, summary, CLOCK_DISTRUSTED);
    cause.chains = vec![ChainCount { steps: steps.into(), count: 1 }];
    Some(cause)
}

/// The limits of the findings on this machine, in words. SMIs are rare and long, but only their number is known. A note
/// names them, because they come late in a list that is sorted by time.
pub(crate) fn limits(about: &About) -> Vec<String> {
    let (before, after) = &about.counts;
    if about.foreign.is_some() {
        return Vec::new();
    }
    if before.smis.is_empty() {
        return vec![
            "SMIs are not counted, which needs an Intel CPU, `modprobe msr` and CAP_SYS_RAWIO".to_owned(),
        ];
    }
    let grown = before.smis.iter().filter_map(|(cpu, count)| {
        let grown = after.smis.get(cpu)?.saturating_sub(*count);
        (grown > 0 && about.cpus.contains(*cpu)).then_some((cpu, grown))
    });
    grown.map(|(cpu, count)| note(*cpu, count)).collect()
}

fn note(cpu: u32, count: u64) -> String {
    format!(
        "CPU {cpu} took {count} system management interrupts (SMIs): their duration is unknown, so they \
         follow the causes with a known time; `dyntick latency` shows what they delay"
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use dyntick_observe::facts::{Clocksource, Counts, Cpus, Machine, Owners};

    /// A record of CPU 3, with these counters before and after and this command line.
    pub(crate) fn record(before: Counts, after: Counts, line: &str) -> About {
        let machine = Machine {
            kernel: "6.12.95".parse().unwrap(),
            architecture: String::new(),
            command_line: line.to_owned(),
            hz: 250,
            cpus: Cpus::default(),
            sched_ext: Default::default(),
            clocksource: Clocksource { current: "acpi_pm".to_owned(), available: Vec::new() },
            clock: Default::default(),
            irqs: BTreeMap::new(),
            settings: Default::default(),
        };
        About {
            cpus: "3".parse().unwrap(),
            window_ns: (0, 1_000_000_000),
            command: Vec::new(),
            process: None,
            recorder: None,
            machine,
            idle: None,
            threads: BTreeMap::new(),
            owners: Owners::default(),
            counts: (before, after),
            offline: CpuList::default(),
            notes: Vec::new(),
            ended: None,
            mappings: BTreeMap::new(),
            trigger: None,
            foreign: None,
        }
    }

    pub(crate) fn counts(steal: u64, smis: Option<u64>) -> Counts {
        let smis = smis.map(|count| (3, count)).into_iter().collect();
        Counts { steal: [(3, steal), (4, 7 * steal)].into(), smis, ..Counts::default() }
    }

    fn summary() -> Summary {
        Summary { cpu: 3, interruptions: 10, interrupted_ns: 30_000_000, ..Summary::default() }
    }

    #[test]
    fn steal_and_smis_are_causes_if_they_grew() {
        let grown = counted(&record(counts(5, Some(100)), counts(8, Some(102)), ""), &summary());
        let found: Vec<(String, Option<u64>, Option<u64>)> =
            grown.iter().map(|cause| (cause.cause.to_string(), cause.count, cause.total_ns)).collect();
        let expected = [("hypervisor-steal", None, Some(30_000_000)), ("smi", Some(2), None)];
        assert_eq!(found, expected.map(|(cause, count, ns)| (cause.to_owned(), count, ns)));
        assert_eq!(grown[0].chains[0].steps.texts(), ["the hypervisor did not run CPU 3 for 30 ms"]);
        assert!(counted(&record(counts(5, Some(100)), counts(5, Some(100)), ""), &summary()).is_empty());
    }

    #[test]
    fn only_compared_rows_are_read() {
        let text = "  CPU0 CPU3\n 24: 1 2 device\nLOC: 5 9 Local timer\nERR: 0\n";
        assert_eq!(compared(text), "  CPU0 CPU3\nLOC: 5 9 Local timer\n");
        let interrupts = |text: &str| Counts { interrupts: text.to_owned(), ..Counts::default() };
        let grown = grown(&record(interrupts(text), interrupts(&text.replace('9', "509")), ""));
        assert_eq!(grown, [(3, vec![("LOC", 500)])].into());
    }

    #[test]
    fn impossible_counts_do_not_overflow() {
        let found =
            counted(&record(counts(0, Some(0)), counts(u64::MAX / 7, Some(u64::MAX)), ""), &summary());
        assert_eq!((found[0].total_ns, found[1].count), (Some(u64::MAX), Some(u64::MAX)));
    }

    #[test]
    fn uncountable_smis_are_noted() {
        let blind = record(counts(5, None), counts(5, None), "");
        assert!(counted(&blind, &summary()).is_empty());
        assert!(limits(&blind)[0].contains("modprobe msr"));
        assert!(limits(&record(counts(5, Some(1)), counts(5, Some(1)), "")).is_empty());
        let found = limits(&record(counts(5, Some(1)), counts(5, Some(4)), ""));
        assert!(found[0].starts_with("CPU 3 took 3 system management interrupts"), "{found:?}");
    }

    #[test]
    fn clock_distrusted_by_a_parameter_is_a_cause() {
        let cause = |line| clock(&record(counts(0, None), counts(0, None), line), &summary());
        let steps = |line| cause(line).map(|cause| cause.chains[0].steps.texts().join("; "));
        let found =
            "the kernel command line has tsc=unstable; the clocksource is acpi_pm, which is slower to read";
        assert_eq!(steps("tsc=reliable nohz_full=3 tsc=unstable").as_deref(), Some(found));
        assert_eq!(steps("tsc=reliable"), None);
    }
}
