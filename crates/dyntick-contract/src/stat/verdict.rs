// SPDX-License-Identifier: GPL-2.0-only
//! The verdict on a measurement, and its figures for a gate.

use super::ledger;
use crate::adviser::Adviser;
use crate::gate::{Counted, Figures, OF_FUNCTIONS};
use crate::labels;
use dyntick_check::shell;
use dyntick_count::{Class, CpuCounts, GroupRows, Measured, Row, missing, per_cpu, rule};
use dyntick_model::CpuList;
use dyntick_observe::live::Missing;
use dyntick_record::verdict::{Case, Cause, Kind, Loss, Verdict, isolate};
use std::collections::BTreeSet;

/// The largest losses, and the change that pays; `None` if nothing was counted.
pub fn verdict(measured: &Measured, command: &[String], adviser: &Adviser) -> Option<Verdict> {
    measured.counts.as_ref()?;
    let ledger = ledger(measured);
    let counts = per_cpu(measured);
    let threads = ledger.as_ref().map_or(0, |ledger| ledger.threads);
    let case = Case {
        ledger: ledger.as_ref(),
        causes: counts.iter().flat_map(|cpu| causes(cpu, &measured.cpus, adviser)).collect(),
        cpus_ns: counts.iter().map(|cpu| cpu.time.ns).sum(),
        quiet: adviser.cpus.are_quiet(&measured.cpus),
        all_cpus: adviser.cpus.online.is_subset(&measured.cpus),
        turns: adviser.turns,
        isolate: isolate(&adviser.cpus, &measured.cpus, threads, command),
        explain: (!command.is_empty())
            .then(|| format!("dyntick explain -C {} -- {}", measured.cpus, shell::command(command))),
    };
    Some(case.verdict())
}

/// The causes that were counted on a CPU. A group with parts has no cause of its own.
fn causes(cpu: &CpuCounts, cpus: &CpuList, adviser: &Adviser) -> Vec<Cause> {
    let rows = |group: &'_ GroupRows| -> Vec<(Row, bool)> {
        let is_task = group.class() == Some(Class::UserTasks);
        leaves(group).iter().filter(|row| !row.is_counted_only()).map(|row| (row.clone(), is_task)).collect()
    };
    let number = cpu.cpus.iter().next().unwrap_or_default();
    let cause = |(row, is_task): (Row, bool)| {
        let rule = rule(&adviser.cause_of(&row)?);
        let loss = Loss {
            part: "",
            what: labels::of(&row.what),
            ns: Some(row.count.ns),
            count: row.count.count,
            longest_ns: row.count.longest_ns,
            tick: row.is_tick(),
            fix: adviser.fixes(rule, number, cpus, row.irq()).into_iter().next(),
            ..Loss::default()
        };
        Some(Cause { loss, kind: if is_task { Kind::Task } else { Kind::Interruption } })
    };
    cpu.groups.iter().flat_map(rows).filter_map(cause).collect()
}

/// The parts of a group, or the group if it has none.
fn leaves(group: &GroupRows) -> &[Row] {
    if group.parts.is_empty() { std::slice::from_ref(&group.row) } else { &group.parts }
}

/// The figures of each CPU and of the command's threads, for a gate; none of them if nothing was counted.
pub fn figures(measured: &Measured, adviser: &Adviser) -> Vec<Figures> {
    let Some(counts) = &measured.counts else { return Figures::uncounted(&measured.cpus) };
    let missed = counts.lost.events();
    let of_cpu = |cpu: CpuCounts| {
        let interruptions = Counted {
            count: cpu.interruptions(),
            ticks: measured.with_ticks.then_some(cpu.ticks),
            ns: Some(cpu.time.interruptions_ns),
            longest_ns: longest(cpu.of_class(Class::Interruption)),
            ..Counted::default()
        };
        Figures {
            cpu: cpu.cpus.iter().next(),
            seconds: measured.seconds(),
            interruptions: Some(interruptions),
            causes: cpu
                .groups
                .iter()
                .flat_map(|group| counted(group, adviser, measured.with_ticks))
                .collect(),
            unnamed: unnamed(measured),
            lost: None,
            missed,
            is_partial: cpu.cpus.iter().any(|cpu| measured.offline.contains(cpu)),
            unrecorded: BTreeSet::new(),
        }
    };
    let of_command = ledger(measured).map(|ledger| Figures::of_ledger(&ledger, measured.seconds()));
    per_cpu(measured).into_iter().map(of_cpu).chain(of_command).collect()
}

/// The longest of these; 0 if there was none, and `None` if that of one is not known.
fn longest<'a>(groups: impl Iterator<Item = &'a GroupRows>) -> Option<u64> {
    let had = groups.filter(|group| group.row.count.count > 0);
    let each: Option<Vec<u64>> = had.map(|group| group.row.count.longest_ns).collect();
    each.map(|each| each.into_iter().max().unwrap_or(0))
}

/// The classes of causes whose functions have no names here.
fn unnamed(measured: &Measured) -> BTreeSet<&'static str> {
    match nameless(measured) {
        Some(missing) if missing.what == missing::NAMES => OF_FUNCTIONS.into(),
        Some(_) => ["function-call"].into(),
        None => BTreeSet::new(),
    }
}

/// The needs of the names of functions, if not all are known: no limit on one of those can be judged.
pub fn nameless(measured: &Measured) -> Option<&Missing> {
    let find = |what: &str| measured.missing.iter().find(|missing| missing.what == what);
    find(missing::NAMES).or_else(|| find(missing::CALLED))
}

/// The rows of a group under the names of their causes. Rows without one, e.g. sums, have the printed name.
fn counted(group: &GroupRows, adviser: &Adviser, with_ticks: bool) -> Vec<Counted> {
    let interrupts = group.class() == Some(Class::Interruption);
    let counted = |row: &Row| Counted {
        name: adviser.cause_of(row).map_or_else(|| labels::of(&row.what), |cause| cause.to_string()),
        count: row.count.count,
        interrupts,
        ticks: with_ticks.then_some(if row.is_tick() { row.count.count } else { 0 }),
        ns: Some(row.count.ns),
        longest_ns: row.count.longest_ns,
    };
    leaves(group).iter().map(counted).collect()
}
