// SPDX-License-Identifier: GPL-2.0-only
//! The idle states in an output of turbostat, whose counts are means of its intervals.

use anyhow::{Result, bail};
use dyntick_contract::idle::Idle;
use dyntick_formats::turbostat;
use dyntick_idle::usage::{CpuUse, StateUse};
use dyntick_model::CpuList;
use std::path::PathBuf;

/// Reads the states.
///
/// # Errors
/// An output without the states of these CPUs.
pub fn idle(text: &str, files: Vec<PathBuf>, cpus: Option<&CpuList>) -> Result<Idle> {
    let seconds = turbostat::interval(text);
    let mut of_cpus = turbostat::idle_states(text)?;
    of_cpus.retain(|cpu, _| cpus.is_none_or(|cpus| cpus.contains(*cpu)));
    if of_cpus.is_empty() {
        bail!("it has none of these CPUs");
    }
    let rounded = |count: f64| count.max(0.0).round() as u64;
    let state = |state: turbostat::IdleState| StateUse {
        name: state.name,
        entries: rounded(state.entries),
        time_us: state.share.zip(seconds).map(|(share, seconds)| rounded(share * seconds * 1e6)),
        too_deep: state.too_deep.map(rounded),
        too_shallow: state.too_shallow.map(rounded),
        ..StateUse::default()
    };
    let of_cpu = |(cpu, states): (u32, turbostat::IdleStates)| CpuUse {
        cpu,
        states: states.into_iter().map(state).collect(),
    };
    let used: Vec<CpuUse> = of_cpus.into_iter().map(of_cpu).collect();
    Ok(Idle { seconds, of_interval: true, ..Idle::of_counters(files, used) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::idle::page;
    use dyntick_idle::usage::Ruling;

    #[test]
    fn intervals_of_turbostat_are_judged() {
        let text = include_str!("../../../../dyntick-formats/tests/fixtures/turbostat.txt");
        let of = |cpus: Option<&str>| idle(text, Vec::new(), cpus.map(|cpus| cpus.parse().unwrap()).as_ref());
        let document = page::document(&of(None).unwrap(), false);
        insta::assert_snapshot!(dyntick_report::terminal(&document, 100, false));
        assert_eq!(of(Some("3")).unwrap().cpus.len(), 1);
        assert_eq!(of(Some("9")).unwrap_err().to_string(), "it has none of these CPUs");
    }

    #[test]
    fn wrong_sleeps_of_all_states_are_judged() {
        let text = "2.000 sec\nCPU\tBusy%\tPOLL\tC1\tC6\tPOLL+\tC1+\tC1-\tC6-\tPOLL%\tC1%\tC6%\n\
            -\t2\t3\t50\t400\t0\t5\t1\t90\t0.1\t3.0\t90.0\n1\t2\t3\t50\t400\t0\t5\t1\t90\t0.1\t3.0\t90.0\n";
        let judged = idle(text, Vec::new(), None).unwrap();
        let sums = &judged.judged;
        assert_eq!((sums.entries, sums.too_deep, sums.too_shallow), (453, Some(91), Some(5)));
        assert_eq!((sums.ruling, judged.seconds), (Ruling::TooDeep, Some(2.0)));
        assert_eq!(judged.cpus[0].states[2].time_us, Some(1_800_000));
    }
}
