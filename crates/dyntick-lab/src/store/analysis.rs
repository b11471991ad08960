// SPDX-License-Identifier: GPL-2.0-only
//! The analysis of a run, from its files to its figures, and the file that it is stored in. That file is read only as
//! this user's laboratory wrote it with this very program; without it the run is analysed again.

use super::files::Files;
use super::{Run, StoreError};
use crate::figures;
use crate::idle::RunIdle;
use crate::latency::Latency;
use crate::names::{ANALYSIS, RAW};
use crate::observations::Observations;
use crate::plan::Plan;
use crate::printed::Printed;
use crate::profiles::Spans;
use crate::running::RunningFolder;
use crate::seal::Sealer;
use dyntick_explain::{CauseId, Class, Context, Explanation, Known, Summary, explain};
use dyntick_guest::{Outcome, Policy, pieces, received};
use dyntick_kernels::cache::{CacheError, write_whole};
use dyntick_model::{CpuList, Dialect, Isolation, Reader};
use dyntick_observe::interrupts::Interrupts;
use dyntick_system::read_beneath;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Everything that reports, claims and comparisons need of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// The agent's report.
    pub outcome: Outcome,
    /// The interruptions of each CPU and their causes.
    pub cpus: Vec<Summary>,
    /// The begins of the timer interrupts of the measured CPUs, ns, in order of time.
    pub timer_interrupts: BTreeMap<CauseId, Vec<u64>>,
    /// The idle states, if the guest has any.
    pub idle: Option<RunIdle>,
    /// Wake-up latencies, if a cyclictest printed them.
    pub latency: Option<Latency>,
    /// The output of other tools.
    pub printed: Printed,
    /// The executed instructions, if they were recorded.
    pub spans: Option<Spans>,
    /// All figures.
    pub observations: Observations,
    /// Trace events that were lost, by CPU.
    pub lost_events: BTreeMap<u32, u64>,
    /// Trace records that were not understood.
    pub undecoded: u64,
    /// Trace events that the kernel does not have.
    pub missing_events: Vec<String>,
}

/// Analyses the run of this plan from the guest's own files.
pub(super) fn analyse(files: &Files<'_>, plan: &Plan) -> Result<Analysis, StoreError> {
    // Small files first: a run that is damaged there costs no time.
    let stolen = files.stolen(&plan.case)?;
    let mut outcome = files.said(pieces::OUTCOME, |said| received::outcome(said, plan.case.guest()))?;
    let recording = files.recording(&plan.case)?;
    let decoded = files.decoded(&recording)?;
    let interrupts = |name: &str| files.text(&format!("{RAW}/{name}")).map(|text| Interrupts::parse(&text));
    let interrupts = interrupts(pieces::INTERRUPTS_AFTER)?.since(&interrupts(pieces::INTERRUPTS_BEFORE)?);
    let read = files.read_by(&plan.case)?;
    let comms = files.said(pieces::COMMS, received::comms)?;
    let explanation = explain(&decoded.events, &context(plan, &outcome, &comms));
    let timer_interrupts = timer_interrupts(&explanation, &plan.case.measured_cpus);
    let cpus = explanation.per_cpu;
    let idle = files.idle(plan, &outcome, &decoded.events)?;
    // A program that printed nothing has no file.
    let output = |name: &str| files.text(&format!("{RAW}/{name}")).ok();
    let latency = Latency::of(&plan.case, &output).map_err(|error| files.damaged(RAW, error))?;
    let qperf = files.qperf_of(&plan.case)?;
    let printed = Printed::of(&plan.case, &output);
    outcome.notes.extend(printed.notes.iter().cloned());
    let profile = files.profile(plan)?;
    let mut observations = figures::of_run(&cpus, &decoded.counts, &interrupts, &read, &outcome);
    observations.extend(idle.iter().flat_map(|idle| figures::of_idle(idle, &plan.case)));
    observations.extend(latency.iter().flat_map(figures::of_latency));
    observations.extend(figures::of_qperf(&qperf));
    observations.extend(printed.observations());
    observations.extend(profile.iter().flat_map(figures::of_profile));
    observations.extend(figures::of_stolen(&stolen));
    Ok(Analysis {
        outcome,
        cpus,
        timer_interrupts,
        idle,
        latency,
        printed,
        spans: profile.as_ref().map(Spans::of),
        observations: observations.into(),
        lost_events: decoded.lost,
        undecoded: decoded.undecoded,
        missing_events: recording.metadata.missing_events,
    })
}

fn timer_interrupts(explanation: &Explanation, measured: &CpuList) -> BTreeMap<CauseId, Vec<u64>> {
    let mut begins: BTreeMap<CauseId, Vec<u64>> = BTreeMap::new();
    for one in &explanation.interruptions {
        if measured.contains(one.cpu) && one.kind.is_local_timer() {
            begins.entry(one.cause.clone()).or_default().push(one.start_ns);
        }
    }
    begins
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
        known: Known { classes: deadline_tasks(plan, comms), ..Known::default() },
    }
}

/// The tasks that the case runs under SCHED_DEADLINE, by their names; none whose name another task of the case has.
fn deadline_tasks(plan: &Plan, comms: &BTreeMap<i32, String>) -> BTreeMap<i32, Class> {
    let is_deadline = |comm: &str| {
        let mut named = plan.case.tasks.iter().filter(|task| task.work.name() == comm).peekable();
        named.peek().is_some() && named.all(|task| matches!(task.policy, Policy::Deadline { .. }))
    };
    comms.iter().filter(|(_, comm)| is_deadline(comm)).map(|(pid, _)| (*pid, Class::Deadline)).collect()
}

/// A run with a larger analysis is analysed for each reader, bytes.
const LARGEST: u64 = 256 << 20;

/// The analysis with its size in bytes.
pub(super) struct Sized {
    pub(super) analysis: Analysis,
    pub(super) bytes: u64,
}

/// The stored analysis of a run that this user sealed.
pub(super) fn read_stored(place: &Path, sealer: &Sealer) -> Option<Sized> {
    let file = read_beneath(place, Path::new(ANALYSIS), LARGEST).ok()?;
    let newline = file.iter().position(|byte| *byte == b'\n')?;
    let (seal, json) = (&file[..newline], &file[newline + 1..]);
    if !sealer.holds_analysis(place, seal, json) {
        return None;
    }
    let analysis = serde_json::from_slice(json).ok()?;
    Some(Sized { analysis, bytes: json.len() as u64 })
}

/// The text of an analysis.
pub(super) fn text_of(analysis: &Analysis) -> Vec<u8> {
    serde_json::to_vec(analysis).expect("plain data")
}

/// Stores the text of an analysis in the folder of its run, which no other process reads yet.
pub(super) fn write_analysis(place: &Path, sealer: &Sealer, json: &[u8]) -> Result<(), CacheError> {
    write_to(place, place, sealer, json).map(drop)
}

/// Replaces the analysis of a stored run. The new file is made beside the run's folder: in it the seal of the run would
/// not hold meanwhile.
pub(super) fn replace_analysis(place: &Path, sealer: &Sealer, json: &[u8]) -> Result<(), CacheError> {
    let beside = RunningFolder::new(&place.join(".."))?;
    if !write_to(beside.path(), place, sealer, json)? {
        return Ok(());
    }
    let file = place.join(ANALYSIS);
    std::fs::rename(beside.path().join(ANALYSIS), &file).map_err(|error| CacheError::from_io(&file, error))
}

/// Returns false if it is not stored: no reader would take it, or the program's own file cannot be read.
fn write_to(folder: &Path, place: &Path, sealer: &Sealer, json: &[u8]) -> Result<bool, CacheError> {
    let Some(seal) = sealer.seal_analysis(place, json) else { return Ok(false) };
    let file = [seal.as_bytes(), b"\n", json].concat();
    if file.len() as u64 > LARGEST {
        return Ok(false);
    }
    write_whole(&folder.join(ANALYSIS), &file).map(|()| true)
}

/// The share of the machine's memory that the texts of all analyses may have. In memory they take a few times as much.
const SHARE: u64 = 16;

/// The memory that is left for further runs.
#[derive(Debug)]
pub struct Held {
    left: u64,
}

impl Held {
    /// No run yet, and the limit of this machine.
    pub fn on_this_machine() -> Self {
        Self::within(dyntick_system::memory() / SHARE)
    }

    /// A limit for analyses of this number of bytes.
    pub(super) fn within(left: u64) -> Self {
        Self { left }
    }

    /// Holds a run next to those before it.
    ///
    /// # Errors
    /// [`StoreError::Full`] if no memory is left for it.
    pub fn hold(&mut self, run: Run) -> Result<Run, StoreError> {
        match self.left.checked_sub(run.bytes) {
            Some(left) => self.left = left,
            None => return Err(StoreError::Full { path: run.folder, bytes: run.bytes, left: self.left }),
        }
        Ok(run)
    }
}
