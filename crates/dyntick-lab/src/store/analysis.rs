// SPDX-License-Identifier: GPL-2.0-only
//! The analysis of a run: from its files to its figures.

use super::files::{Files, OF_NUMBER};
use super::{Run, StoreError};
use crate::budget::Budget;
use crate::figures;
use crate::idle::RunIdle;
use crate::latency::Latency;
use crate::names::RAW;
use crate::opened::Opened;
use crate::plan::Plan;
use crate::printed::Printed;
use dyntick_explain::{Context, Explanation, Known, explain};
use dyntick_guest::{Outcome, pieces, received};
use dyntick_model::{CpuList, Dialect, Isolation, Reader};
use dyntick_observe::interrupts::Interrupts;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads the run in a folder that is open, and that users know by this path.
pub(super) fn read(folder: &Path, opened: &Opened, budget: &Budget) -> Result<Run, StoreError> {
    let files = Files { folder, place: opened.place(), budget };
    let before = budget.left();
    let plan = files.plan()?;
    // What is small first: a run that is damaged there costs no time.
    let (timing, stolen) = (files.timing()?, files.stolen(&plan.case)?);
    let mut outcome = files.said(pieces::OUTCOME, |said| received::outcome(said, plan.case.guest()))?;
    let recording = files.recording(&plan.case)?;
    let decoded = files.decoded(&recording)?;
    let interrupts = |name: &str| files.text(&format!("{RAW}/{name}")).map(|text| Interrupts::parse(&text));
    let interrupts = interrupts(pieces::INTERRUPTS_AFTER)?.since(&interrupts(pieces::INTERRUPTS_BEFORE)?);
    files.take_held((interrupts.len() * OF_NUMBER) as u64)?;
    let read = files.read_by(&plan.case)?;
    let comms = files.said(pieces::COMMS, received::comms)?;
    let mut explanation = explain(&decoded.events, &context(&plan, &outcome, &comms));
    forget(&mut explanation, &plan.case.measured_cpus);
    files.take_held(held_of(&explanation))?;
    let idle = files.idle(&plan, &outcome, &decoded.events)?;
    files.take_held(idle.as_ref().map_or(0, RunIdle::held))?;
    let too_much = RefCell::new(None);
    // A program that printed nothing has no file; what is more than may be read is no such.
    let output = |name: &str| match files.text(&format!("{RAW}/{name}")) {
        Err(error @ StoreError::Spent { .. }) => {
            *too_much.borrow_mut() = Some(error);
            None
        }
        text => text.ok(),
    };
    let latency = Latency::of(&plan.case, &output).map_err(|error| files.damaged(RAW, error))?;
    let qperf = files.qperf_of(&plan.case)?;
    let printed = Printed::of(&plan.case, &output);
    if let Some(error) = too_much.take() {
        return Err(error);
    }
    outcome.notes.extend(printed.notes.iter().cloned());
    let profile = files.profile(&plan)?;
    let mut observations = figures::of_run(&explanation, &decoded.counts, &interrupts, &read, &outcome);
    observations.extend(idle.iter().flat_map(|idle| figures::of_idle(idle, &plan.case)));
    observations.extend(latency.iter().flat_map(figures::of_latency));
    observations.extend(figures::of_qperf(&qperf));
    observations.extend(printed.observations());
    observations.extend(profile.iter().flat_map(figures::of_profile));
    observations.extend(figures::of_stolen(&stolen));
    Ok(Run {
        folder: folder.to_owned(),
        made_here: false,
        observations: observations.into(),
        idle,
        latency,
        printed,
        profile,
        timing,
        takes: before.without(budget.left()),
        lost_events: decoded.lost,
        undecoded: decoded.undecoded,
        missing_events: recording.metadata.missing_events,
        plan,
        outcome,
        explanation,
    })
}

/// A report holds all runs of its study at once, and shows of single interruptions only when timers
/// interrupted the measured CPUs, and why; all others are in the sums by cause.
fn forget(explanation: &mut Explanation, measured: &CpuList) {
    explanation.interruptions.retain(|one| measured.contains(one.cpu) && one.kind.is_local_timer());
    for one in &mut explanation.interruptions {
        (one.chain, one.functions) = Default::default();
    }
    explanation.evidence.clear();
    explanation.interruptions.shrink_to_fit();
}

/// The memory of what is left of it, bytes. Of the sums it is their text, with the lists and maps around it.
fn held_of(explanation: &Explanation) -> u64 {
    const TIMES: usize = 4;
    let sums = serde_json::to_vec(&explanation.per_cpu).expect("plain data").len();
    (size_of_val(&*explanation.interruptions) + TIMES * sums) as u64
}

fn context(plan: &Plan, outcome: &Outcome, comms: &BTreeMap<i32, String>) -> Context {
    // What the kernel would refuse was refused before the boot (study::check).
    let line = &plan.command_line;
    let count = plan.case.cpus;
    let all = CpuList::first(count);
    let reader = Reader { possible: count, present: &all, dialect: Dialect::of(&plan.release) };
    let Isolation { tick: nohz_full, domain: isolated, .. } = Isolation::replay(line, reader);
    let offloaded = line.cpus("rcu_nocbs", count).and_then(Result::ok).unwrap_or_default();
    Context {
        hz: plan.hz,
        // The CPUs of nohz_full= are offloaded too (kernel/rcu/tree_nocb.h: rcu_init_nohz).
        rcu_nocbs: offloaded.union(&nohz_full),
        isolated,
        nohz_full,
        cpus: all,
        kernel: plan.release.clone(),
        window: outcome.window_ns,
        timekeeper: None,
        comms: comms.iter().map(|(pid, comm)| (*pid, comm.as_str().into())).collect(),
        known: Known::default(),
    }
}
