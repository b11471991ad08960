// SPDX-License-Identifier: GPL-2.0-only
//! The evidence behind a verdict on one screen: the causes that took most, each with its chain and its best fix.

use super::{chain, of_cpu, of_threads};
use crate::occurrences;
use dyntick_explain::fixes::PrintedFix;
use dyntick_explain::rules::remark;
use dyntick_model::Fix;
use dyntick_record::{CauseFindings, CpuFindings, Findings, Section};
use dyntick_report::{Block, Finding, numbers};
use std::cmp::Reverse;

/// The number of causes that are shown.
const FOREMOST: usize = 3;

/// The number of names in a line about other programs.
const NAMED: usize = 3;

/// The number of CPUs that are shown besides the one that was interrupted most.
const OTHERS: usize = 4;

/// The causes of the threads that were asked for, or of the CPU that was interrupted longest. Others have a line each.
/// With `turns` of other CPUs in its durations, no longest one is named.
pub fn blocks(findings: &Findings, turns: bool) -> Vec<Block> {
    if let Some(threads) = &findings.threads {
        return section(of_threads(threads), &threads.section, turns);
    }
    let mut cpus: Vec<&CpuFindings> = findings.cpus.iter().collect();
    cpus.sort_by_key(|cpu| (Reverse(cpu.section.interrupted_ns), cpu.cpu));
    let Some((first, others)) = cpus.split_first() else { return Vec::new() };
    let mut blocks = section(of_cpu(first), &first.section, turns);
    blocks.extend(others.iter().take(OTHERS).map(|cpu| Block::Paragraph(of_cpu(cpu))));
    if others.len() > OTHERS {
        let rest = numbers::counted((others.len() - OTHERS) as u64, "other CPU");
        blocks.push(Block::Paragraph(format!("{rest} were interrupted for less; --full shows them.")));
    }
    blocks
}

fn section(heading: String, section: &Section, turns: bool) -> Vec<Block> {
    let (tasks, causes): (Vec<&CauseFindings>, Vec<&CauseFindings>) =
        section.causes.iter().partition(|cause| cause.is_task());
    let shown: Vec<Finding> = causes.iter().take(FOREMOST).map(|cause| finding(cause, turns)).collect();
    let mut blocks = vec![Block::Heading(heading)];
    if !shown.is_empty() {
        blocks.push(Block::Findings(shown));
    }
    let more = causes.len().saturating_sub(FOREMOST);
    let more =
        (more > 0).then(|| format!("{}: --full explains each.", numbers::counted(more as u64, "more cause")));
    let rest: Vec<String> = more.into_iter().chain(programs(&tasks)).chain(unnamed(section)).collect();
    if !rest.is_empty() {
        blocks.push(Block::Paragraph(rest.join(" ")));
    }
    blocks
}

/// The other programs that had the CPU, in a sentence.
fn programs(tasks: &[&CauseFindings]) -> Option<String> {
    let part = |task: &&CauseFindings| {
        let name = task.title.rsplit(": ").next().unwrap_or(&task.title);
        let time = task.total_ns.map_or(String::new(), |ns| format!(" {}", numbers::duration(ns as f64)));
        format!("{name}{time}")
    };
    let named: Vec<String> = tasks.iter().take(NAMED).map(part).collect();
    let more = tasks.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("Other programs had the CPU: {}{more}.", named.join(", ")))
}

/// The interruptions without a cause, if there are any.
fn unnamed(section: &Section) -> Option<String> {
    let unnamed = &section.unattributed;
    let text = || {
        let count = numbers::counted(unnamed.count, "interruption");
        format!("{count} without a known cause, {}.", numbers::duration(unnamed.total_ns as f64))
    };
    (unnamed.count > 0).then(text)
}

/// A cause in a few lines: how often, the commonest chain, and the best fix.
fn finding(cause: &CauseFindings, turns: bool) -> Finding {
    let count = cause.count.map(|count| occurrences::of_cause(&cause.cause, count, cause.interruptions));
    let time = cause.total_ns.map(|ns| numbers::duration(ns as f64));
    let longest = cause
        .durations_ns
        .filter(|_| !turns)
        .map(|of| format!("the longest {}", numbers::duration(of.max as f64)));
    let occurrence = count.into_iter().chain(time).chain(longest).collect::<Vec<_>>().join(", ");
    let steps = cause.chains.first().map_or(0, |first| first.steps.texts().len());
    Finding {
        title: format!("{}: {occurrence}", cause.title),
        chain: (steps > 0).then(|| chain(cause)[..steps].join(" → ")).into_iter().collect(),
        fixes: cause.fixes.iter().take(1).map(in_brief).collect(),
        ..Finding::default()
    }
}

/// A fix with the remark on its trials. Words are not copied, so they have it behind them.
fn in_brief(fix: &PrintedFix) -> (Fix, String) {
    let remark = remark(&fix.effect);
    match &fix.action {
        Fix::Advice(words) if !remark.is_empty() => {
            (Fix::Advice(format!("{words}. {remark}")), String::new())
        }
        action => (action.clone(), remark.to_owned()),
    }
}
