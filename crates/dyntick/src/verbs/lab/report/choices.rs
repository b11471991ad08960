// SPDX-License-Identifier: GPL-2.0-only
//! The chosen idle states, the right ones, and the latency limit of both.

use super::idling::{Idling, quantile};
use crate::few::few;
use dyntick_lab::idle::RunIdle;
use dyntick_lab::limits::{InForce, Limits};
use dyntick_model::CpuList;
use dyntick_report::{Cell, Column, Table, row};

/// The number of runs with the same limit that are named.
const MOST_NAMED: usize = 6;

/// The state that would have been right for each chosen one, and the information at the time of the choice.
pub fn table(runs: &[Idling<'_>]) -> Table {
    let mut names: Vec<String> = Vec::new();
    for state in runs.iter().flat_map(|run| &run.idle().states.0) {
        if !names.contains(&state.name) {
            names.push(state.name.clone());
        }
    }
    let mut columns = vec![Column::text("case"), Column::text("chosen")];
    columns.extend(names.iter().map(|name| Column::figure(&format!("right: {name}"), "")));
    columns.extend([Column::figure("tick stopped", ""), Column::figure("next timer", "median")]);
    Table {
        caption: "Chosen states, and those that were right for the idle time until the wake-up.".into(),
        columns,
        rows: runs.iter().flat_map(|run| rows_of(run, &names)).collect(),
        notes: vec![
            "right: the deepest state whose target residency the idle time reached and whose exit latency is within \
             the latency limit. next timer: the time until the CPU's next hrtimer when the state was entered, as the \
             trace shows it."
                .into(),
            limits(runs.iter().map(|run| (run.title(), limit(run.idle(), run.measured()))).collect()),
        ],
    }
}

fn rows_of(run: &Idling<'_>, names: &[String]) -> Vec<Vec<Cell>> {
    let idle = run.idle();
    let mut rows = Vec::new();
    for (state, chosen) in idle.states.0.iter().zip(&idle.choices) {
        let count = chosen.count();
        if count == 0 {
            continue;
        }
        let right = |name: &String| {
            let counts = idle.states.0.iter().zip(&chosen.right);
            Cell::Count(counts.filter(|(state, _)| state.name == *name).map(|(_, count)| count).sum())
        };
        let title = if rows.is_empty() { run.title() } else { String::new() };
        let mut row = row![title, state.name.clone()];
        row.extend(names.iter().map(right));
        row.extend([
            Cell::Share(chosen.tick_stopped as f64 / count as f64),
            quantile(&chosen.next_timer_ns, 0.5),
        ]);
        rows.push(row);
    }
    rows
}

/// The words for no limit.
pub const NO_LIMIT: &str = "none";

/// The latency limit of these CPUs in words, and by whom it was asked for.
pub fn limit(idle: &RunIdle, cpus: &CpuList) -> String {
    let mut different: Vec<(InForce, CpuList)> = Vec::new();
    for cpu in cpus.iter() {
        let limit = idle.limit(cpu);
        match different.iter_mut().find(|(other, _)| *other == limit) {
            Some((_, cpus)) => *cpus = cpus.iter().chain([cpu]).collect(),
            None => different.push((limit, CpuList::from_iter([cpu]))),
        }
    }
    let several = different.len() > 1;
    let message = |(limit, cpus): &(InForce, CpuList)| {
        let words = in_words(*limit, idle.limits.as_ref());
        if several { format!("{words} on CPU {cpus}") } else { words }
    };
    different.iter().map(message).collect::<Vec<_>>().join(" and ")
}

fn in_words(limit: InForce, limits: Option<&Limits>) -> String {
    let us = |us: Option<u32>| us.map_or(NO_LIMIT.to_owned(), |us| format!("{us} µs"));
    match limit {
        InForce::NotRecorded => "not recorded by the dyntick that ran it, and not judged by".to_owned(),
        InForce::Changed(before, after) => {
            format!("{} before the window, {} after it, and not judged by", us(before), us(after))
        }
        InForce::Always(None) => NO_LIMIT.to_owned(),
        InForce::Always(Some(limit)) => format!("{limit} µs{}", by_whom(limit, limits)),
    }
}

/// The processes that requested the limit: for all CPUs, or for one.
fn by_whom(limit: u32, limits: Option<&Limits>) -> String {
    let Some(Limits { before, .. }) = limits else { return String::new() };
    let holders: Vec<String> = before.held_by.iter().cloned().collect();
    match before.of_all_us == Some(limit) {
        true if holders.is_empty() => String::new(),
        true => format!(", held by {}", few(holders.into_iter(), MOST_NAMED).join(", ")),
        false => ", of pm_qos_resume_latency_us".to_owned(),
    }
}

/// The limits of all runs in a sentence, each with the runs that had it, where they differ.
fn limits(of_runs: Vec<(String, String)>) -> String {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (title, limit) in of_runs {
        match all.iter_mut().find(|(other, _)| *other == limit) {
            Some((_, titles)) => titles.push(title),
            None => all.push((limit, vec![title])),
        }
    }
    let named = |(limit, titles): (String, Vec<String>)| {
        format!("{limit} ({})", few(titles.into_iter(), MOST_NAMED).join("; "))
    };
    let message = match &all[..] {
        [(limit, _)] => limit.clone(),
        _ => all.into_iter().map(named).collect::<Vec<_>>().join("; "),
    };
    format!("latency limit (PM QoS): {message}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::LatencyLimits;

    fn held(of_all_us: Option<u32>) -> LatencyLimits {
        let held_by = of_all_us.map(|_| "cyclictest".to_owned()).into_iter().collect();
        LatencyLimits { of_all_us, held_by, of_cpus_us: [(1, 20)].into() }
    }

    #[test]
    fn a_limit_with_its_holder_and_an_unknown_one_as_such() {
        let both = |before, after| Limits { before: held(before), after: held(after) };
        let message = |limits: &Limits, us| in_words(InForce::Always(us), Some(limits));
        assert_eq!(message(&both(Some(0), Some(0)), Some(0)), "0 µs, held by cyclictest");
        assert_eq!(message(&both(Some(50), Some(50)), Some(20)), "20 µs, of pm_qos_resume_latency_us");
        assert_eq!(message(&both(None, None), None), "none");
        let changed = in_words(InForce::Changed(Some(0), None), Some(&both(Some(0), None)));
        assert_eq!(changed, "0 µs before the window, none after it, and not judged by");
        assert!(in_words(InForce::NotRecorded, None).starts_with("not recorded"));
    }

    #[test]
    fn runs_are_named_where_their_limits_differ() {
        let message = |all: &[(&str, &str)]| {
            limits(all.iter().map(|(title, limit)| ((*title).to_owned(), (*limit).to_owned())).collect())
        };
        assert_eq!(message(&[("a", "none"), ("b", "none")]), "latency limit (PM QoS): none.");
        let differ = message(&[("a", "none"), ("b", "0 µs"), ("c", "none")]);
        assert_eq!(differ, "latency limit (PM QoS): none (a; c); 0 µs (b).");
    }
}
