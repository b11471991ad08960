// SPDX-License-Identifier: GPL-2.0-only
//! The causes of interruptions with their fixes, and the calls of the functions that a case lists.

use super::measured;
use super::titles::Titled;
use crate::few::few;
use crate::occurrences;
use dyntick_explain::fixes::{Host, Named, Target, with_rules};
use dyntick_explain::rules::{self, Rule, RuleFix};
use dyntick_explain::{CauseCount, CauseId};
use dyntick_lab::plan::Plan;
use dyntick_lab::profiles::Calls;
use dyntick_model::{CpuList, Fix};
use dyntick_report::{Block, Cell, Column, Finding, Table, numbers, row};
use dyntick_study::Case;
use dyntick_study::claims::DIGITS;
use std::collections::{BTreeMap, BTreeSet};

/// The number of causes that are shown, each with half a page; a machine has some tens.
const MOST_CAUSES: usize = 100;
/// The number of functions that are shown for each cause.
const MOST_FUNCTIONS: usize = 32;

/// The runs and CPUs in which a cause was counted.
type Cases<'a> = Vec<(&'a Titled<'a>, u32, &'a CauseCount)>;

/// Ticks and interruptions of a cause in all cases.
fn weight(cases: &Cases<'_>) -> (u64, u64) {
    (cases.iter().map(|(.., c)| c.ticks).sum(), cases.iter().map(|(.., c)| c.count).sum())
}

/// The causes on the measured CPUs, those that most ticks go back to first.
pub fn findings(runs: &[Titled<'_>]) -> Vec<Block> {
    let mut by_cause: BTreeMap<&CauseId, Cases<'_>> = BTreeMap::new();
    for run in runs {
        for summary in measured(run) {
            for cause in &summary.by_cause {
                by_cause.entry(&cause.cause).or_default().push((run, summary.cpu, cause));
            }
        }
    }
    let mut causes: Vec<Cases<'_>> = by_cause.into_values().collect();
    causes.sort_by_key(|cases| std::cmp::Reverse(weight(cases)));
    let all = runs.iter().map(Titled::title_of_all).collect::<BTreeSet<_>>().len();
    let message = causes.iter().take(MOST_CAUSES).map(|cases| finding(cases, all)).collect();
    let mut blocks = vec![Block::Paragraph(attributed(runs)), Block::Findings(message)];
    blocks.extend(others(causes.get(MOST_CAUSES..).unwrap_or_default()).map(Block::Paragraph));
    blocks
}

/// The causes that are not listed one by one.
fn others(causes: &[Cases<'_>]) -> Option<String> {
    let (ticks, count) = causes.iter().map(weight).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (!causes.is_empty()).then(|| {
        format!(
            "{} other causes, none of them larger than the last one above: {} ticks, {} interruptions together.",
            numbers::count(causes.len() as u64),
            numbers::count(ticks),
            numbers::count(count)
        )
    })
}

/// The number of interruptions without a cause.
fn attributed(runs: &[Titled<'_>]) -> String {
    let unattributed: u64 =
        runs.iter().flat_map(|run| measured(run)).map(|summary| summary.unattributed).sum();
    let all: u64 = runs.iter().flat_map(|run| measured(run)).map(|summary| summary.interruptions).sum();
    let share = if all == 0 { 0.0 } else { unattributed as f64 / all as f64 };
    format!(
        "Of {} interruptions of the measured CPUs in all runs, {} ({}) could not be attributed to a cause.",
        numbers::count(all),
        numbers::count(unattributed),
        numbers::percent(share)
    )
}

/// The number of cases that are named with the occurrences of a cause.
const MOST_NAMED: usize = 3;

/// The occurrences of a cause in one case, or in all together.
#[derive(Clone, Copy, Default)]
struct Sum {
    ticks: u64,
    count: u64,
    interruptions: u64,
}

impl Sum {
    fn add(&mut self, cause: &CauseCount) {
        self.ticks += cause.ticks;
        self.count += cause.count;
        self.interruptions += cause.interruptions;
    }

    /// `3 ticks, 5 interruptions`; what there is none of is left out.
    fn in_words(self, cause: &CauseId) -> String {
        let ticks = (self.ticks > 0).then(|| numbers::counted(self.ticks, "tick"));
        let rest = (self.ticks != self.count || self.count == 0)
            .then(|| occurrences::of_cause(cause, self.count, self.interruptions));
        ticks.into_iter().chain(rest).collect::<Vec<_>>().join(", ")
    }
}

/// The occurrences of a cause in each case, all its CPUs and runs together; of more than three cases the sum of all,
/// and those of the case with most. `all` is the number of all cases.
fn occurrence(cases: &Cases<'_>, all: usize) -> String {
    let mut by_case: Vec<(&str, Sum)> = Vec::new();
    let mut total = Sum::default();
    for (run, _, cause) in cases {
        total.add(cause);
        match by_case.iter_mut().find(|(title, _)| *title == run.title_of_all()) {
            Some((_, sum)) => sum.add(cause),
            None => {
                let mut sum = Sum::default();
                sum.add(cause);
                by_case.push((run.title_of_all(), sum));
            }
        }
    }
    let cause = &cases[0].2.cause;
    in_words(&by_case, total, all, |sum| sum.in_words(cause))
}

fn in_words(by_case: &[(&str, Sum)], total: Sum, all: usize, words: impl Fn(Sum) -> String) -> String {
    let one = |(title, sum): &(&str, Sum)| format!("{title}: {}", words(*sum));
    if by_case.len() <= MOST_NAMED {
        return by_case.iter().map(one).collect::<Vec<_>>().join("; ");
    }
    let which =
        if by_case.len() == all { format!("all {all}") } else { format!("{} of {all}", by_case.len()) };
    let most = by_case.iter().max_by_key(|(_, sum)| (sum.ticks, sum.count)).map(one).unwrap_or_default();
    format!("{which} cases: {}; most in {most}", words(total))
}

fn finding(cases: &Cases<'_>, all: usize) -> Finding {
    let mut by_weight: Cases<'_> = cases.clone();
    by_weight.sort_by_key(|(.., cause)| std::cmp::Reverse((cause.ticks, cause.count)));
    let (run, _, most) = by_weight[0];
    let rule = rules::get(&most.cause);
    let mut functions: Vec<(&str, u64)> =
        most.functions.iter().map(|(name, count)| (&**name, *count)).collect();
    functions.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    Finding {
        level: None,
        class: most.cause.to_string(),
        title: rules::title(&most.cause),
        occurrence: occurrence(cases, all),
        explanation: rule.explanation.to_owned(),
        chain: most.chain.texts(),
        functions: few(functions.iter().map(|(name, count)| format!("{name} ×{count}")), MOST_FUNCTIONS),
        fixes: fixes(rule, by_weight.iter().map(|(run, cpu, _)| (&run.plan, *cpu, run.title()))),
        source: format!("{} (as seen on {})", rule.source, run.plan.release),
    }
}

/// The fixes for any of these runs, each with its CPU and its title, and with the numbers of the first run that it
/// fixes. Runs in which it is applied already, or whose kernel is built without it, are named.
fn fixes<'a>(rule: &Rule, runs: impl Iterator<Item = (&'a Plan, u32, &'a str)>) -> Vec<(Fix, String)> {
    let mut offers: Vec<Offer<'a>> = Vec::new();
    let mut titles = Vec::new();
    for (plan, cpu, title) in runs {
        titles.push(title);
        let (line, settings) = (plan.in_force(), plan.settings());
        let online = CpuList::first(plan.case.cpus.min(Case::MOST_CPUS));
        let bpf_scheduler = false; // no case loads one
        let host =
            Host { kernel: &plan.release, line: &line, online: &online, settings: &settings, bpf_scheduler };
        let target = Target { cpu, quiet: &plan.case.measured_cpus, named: &Named::default() };
        for (of_rule, fix) in with_rules(rule, host, target) {
            match offers.iter_mut().find(|offer| std::ptr::eq(offer.of_rule, of_rule)) {
                Some(offer) => offer.runs.push(title),
                None => {
                    let effect = fix.effect.into_owned();
                    offers.push(Offer { of_rule, action: fix.action, effect, runs: vec![title] });
                }
            }
        }
    }
    offers.into_iter().map(|offer| offer.but_for(&titles)).collect()
}

/// A fix, and the runs in which it would help.
struct Offer<'a> {
    of_rule: &'static RuleFix,
    action: Fix,
    effect: String,
    runs: Vec<&'a str>,
}

impl Offer<'_> {
    fn but_for(self, all: &[&str]) -> (Fix, String) {
        let others: BTreeSet<&str> = all.iter().filter(|title| !self.runs.contains(title)).copied().collect();
        let others = few(others.into_iter().map(str::to_owned), MOST_OTHERS).join("; ");
        if others.is_empty() {
            (self.action, self.effect)
        } else {
            let effect =
                format!("{} Does not help with {others}: already in force, or not possible.", self.effect);
            (self.action, effect)
        }
    }
}

/// The number of runs that a fix does not help and that are named.
const MOST_OTHERS: usize = 3;

/// A table for each function; nothing where no case names one.
pub fn calls_blocks(runs: &[Titled<'_>]) -> Vec<Block> {
    let named: BTreeSet<&str> =
        runs.iter().flat_map(|run| &run.plan.case.calls).map(String::as_str).collect();
    let tables: Vec<Block> =
        named.into_iter().filter_map(|name| calls_table(name, runs)).map(Block::Table).collect();
    if tables.is_empty() {
        Vec::new()
    } else {
        [Block::Heading("Calls of functions".into())].into_iter().chain(tables).collect()
    }
}

fn calls_table(name: &str, runs: &[Titled<'_>]) -> Option<Table> {
    let all: Vec<(&str, &Calls)> = runs.iter().flat_map(|run| calls(name, run)).collect();
    let octaves: BTreeSet<u64> =
        all.iter().flat_map(|(_, calls)| calls.octaves.iter().map(|(from, _)| from)).collect();
    let range = |from: u64| match from {
        1 => "0-1".to_owned(),
        _ => format!("{from}-{}", 2 * from - 1),
    };
    let row = |(title, calls): &(&str, &Calls)| -> Vec<Cell> {
        let share = |from: &u64| {
            let found = calls.octaves.iter().find(|(octave, _)| octave == from);
            Cell::known(found.map(|(_, count)| Cell::Share(count as f64 / calls.count as f64)))
        };
        let first =
            row![*title, calls.cpu.to_string(), Cell::Count(calls.count), Cell::Rounded(calls.mean, DIGITS)];
        first.into_iter().chain(octaves.iter().map(share)).collect()
    };
    let rows: Vec<Vec<Cell>> = all.iter().filter(|(_, calls)| calls.count > 0).map(row).collect();
    let first = [
        Column::text("case"),
        Column::figure("CPU", ""),
        Column::figure("calls", ""),
        Column::figure("mean", "instructions"),
    ];
    (!rows.is_empty()).then(|| Table {
        caption: format!("{name}(): instructions from its first until the return to its caller, without interrupts in between"),
        columns: first.into_iter().chain(octaves.iter().map(|from| Column::figure(&range(*from), ""))).collect(),
        rows,
        notes: Vec::new(),
    })
}

/// The calls on each CPU of a run.
fn calls<'r>(name: &str, run: &'r Titled<'_>) -> impl Iterator<Item = (&'r str, &'r Calls)> {
    let function = format!("{name}()");
    let all = run.analysis.spans.iter().flat_map(|spans| &spans.calls);
    all.filter(move |calls| calls.function == function).map(|calls| (run.title(), calls))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_explain::fixes::missing_options;
    use dyntick_lab::qemu::Accelerator;
    use dyntick_model::{CommandLine, KernelConfig};

    /// A run of a case with two CPUs, of which CPU 1 is measured.
    fn asked(append: &str, change: impl FnOnce(&mut Case)) -> Plan {
        let mut case = Case::new("c", "debian:6.12");
        (case.cpus, case.measured_cpus) = (2, "1".parse().unwrap());
        change(&mut case);
        let options = ["NO_HZ_FULL", "RCU_NOCB_CPU", "CPU_ISOLATION", "CPU_IDLE_GOV_MENU"];
        let config = KernelConfig::parse(&options.map(|option| format!("CONFIG_{option}=y\n")).concat());
        Plan {
            repetition: 0,
            accelerator: Accelerator::Icount,
            qemu: String::new(),
            firmware_sha256: None,
            release: "6.12.95".parse().unwrap(),
            kernel_source: String::new(),
            kernel_fallback: None,
            kernel_parts: None,
            kernel_sha256: String::new(),
            hz: 250,
            missing_options: missing_options(&config),
            program_sha256: None,
            image_sha256: String::new(),
            command_line: CommandLine::parse(append),
            idle_states: None,
            perturbation: None,
            host: None,
            case,
        }
    }

    fn advised(cause: &str, runs: &[Plan]) -> Vec<String> {
        let rule = rules::all().iter().find(|rule| rule.id == cause).unwrap();
        fixes(rule, runs.iter().map(|asked| (asked, 1, "case")))
            .iter()
            .map(|(fix, _)| fix.to_string())
            .collect()
    }

    #[test]
    fn what_the_kernel_is_built_without_is_no_fix() {
        let fixes = advised("idle-not-stopped", &[asked("", |_| {})]);
        assert!(!fixes.is_empty() && fixes.iter().all(|fix| !fix.contains("teo")), "{fixes:?}");
    }

    #[test]
    fn what_the_case_has_set_is_no_fix_there() {
        let interval = "sysctl -w vm.stat_interval=60".to_owned();
        let set = || asked("", |case| drop(case.sysctl.insert("vm.stat_interval".into(), "60".into())));
        assert!(!advised("workqueue:vmstat_update", &[set()]).contains(&interval));
        let both = [set(), asked("", |_| {})];
        assert!(advised("workqueue:vmstat_update", &both).contains(&interval), "it helps in the other case");
    }

    #[test]
    fn a_fix_names_the_runs_in_which_it_is_in_force() {
        let rule = rules::all().iter().find(|rule| rule.id == "workqueue:vmstat_update").unwrap();
        let set = asked("", |case| drop(case.sysctl.insert("vm.stat_interval".into(), "60".into())));
        let plain = asked("", |_| {});
        let effect = |runs: &[(&Plan, u32, &str)]| {
            let found = fixes(rule, runs.iter().copied());
            found.into_iter().find(|(fix, _)| fix.to_string().contains("vm.stat_interval=60")).unwrap().1
        };
        let both = effect(&[(&plain, 1, "before"), (&set, 1, "after")]);
        assert!(both.ends_with(" Does not help with after: already in force, or not possible."), "{both}");
        assert!(!effect(&[(&plain, 1, "before"), (&plain, 1, "again")]).contains("Does not help"));
    }

    #[test]
    fn occurrences_are_summed_by_case_and_of_many_cases_together() {
        let sum = |ticks, count| Sum { ticks, count, interruptions: count };
        let cause = CauseId::of(rules::all().iter().find(|rule| rule.id == "fair-server").unwrap());
        let told =
            |by_case: &[(&str, Sum)], total, all| in_words(by_case, total, all, |sum| sum.in_words(&cause));
        let few = [("idle, 6.1", sum(0, 2)), ("idle, 6.12", sum(3, 3))];
        assert_eq!(told(&few, sum(3, 5), 2), "idle, 6.1: 2 interruptions; idle, 6.12: 3 ticks");
        let many: Vec<(&str, Sum)> =
            ["a", "b", "c", "d"].into_iter().zip((1..).map(|count| sum(0, count))).collect();
        let all = told(&many, sum(0, 10), 4);
        assert_eq!(all, "all 4 cases: 10 interruptions; most in d: 4 interruptions");
        assert!(told(&many, sum(0, 10), 8).starts_with("4 of 8 cases: "));
    }

    #[test]
    fn what_it_was_booted_with_is_no_fix_and_numbers_are_in_place() {
        let fix = "boot with nohz_full=1".to_owned();
        let of = |append: &str| advised("not-adaptive", &[asked(append, |_| {})]);
        assert!(of("quiet").iter().any(|said| said.starts_with(&fix)), "{:?}", of("quiet"));
        assert!(!of("nohz_full=1 isolcpus=managed_irq,1").contains(&fix));
    }
}
