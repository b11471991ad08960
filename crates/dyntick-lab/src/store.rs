// SPDX-License-Identifier: GPL-2.0-only
//! Runs on disk: one folder each, whole or absent.

use crate::cache::{CacheError, write_whole};
use crate::emulator::records;
use crate::figures::{self, FileCount};
use crate::guest::pieces::{self, Unexpected};
use crate::guest::{MAILBOX_BYTES, Moment, Outcome, piece_of_file, received};
use crate::hash::Contents;
use crate::idle::{self, RunIdle};
use crate::latency::Latency;
use crate::opened::Opened;
use crate::order;
use crate::printed::Printed;
use crate::profiles::{self, ProfileError, RunProfile};
use crate::qemu::{Accelerator, Ended, Stolen};
use crate::running::RunningFolder;
use crate::seal::{self, Sealer};
use crate::study::{Case, is_id};
use dyntick_explain::{Context, Explanation, Known, explain};
use dyntick_formats::{Observation, ObservationError, qperf, write_parquet};
use dyntick_model::{Clock, CommandLine, CpuList, Event, KernelVersion};
use dyntick_observe::counters::Counters;
use dyntick_observe::interrupts::Interrupts;
use dyntick_observe::trace::{DecodeError, Recording};
use dyntick_system::read_beneath;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What was asked of a run. Stored as `run.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Which repetition, from 0.
    pub repetition: u32,
    /// What executed it.
    pub accelerator: Accelerator,
    /// QEMU's version, with its package's.
    pub qemu: String,
    /// SHA-256 of the firmware that is given to it, if one is.
    pub firmware_sha256: Option<String>,
    /// The kernel's release.
    pub release: KernelVersion,
    /// How the kernel came.
    pub kernel_source: String,
    /// SHA-256 of the kernel.
    pub kernel_sha256: String,
    /// Ticks per second of the kernel, from its configuration.
    pub hz: u32,
    /// SHA-256 of this program, which is the guest's first; unknown of runs before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_sha256: Option<String>,
    /// SHA-256 of the guest image, and so of this program, the tools and the modules.
    pub image_sha256: String,
    /// The whole kernel command line.
    pub command_line: CommandLine,
    /// What the emulator of idle states was told, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_states: Option<String>,
    /// The case.
    pub case: Case,
}

impl Asked {
    /// Names this run: the same for the same question, another for any other. What cannot change
    /// the observations, as the case's title, has no part in it.
    pub fn fingerprint(&self) -> String {
        hex::encode(&Sha256::digest(self.question())[..6])
    }

    /// All that decides the observations, as a text. Whoever writes two studies can give them one fingerprint.
    fn question(&self) -> String {
        let case = what_decides(&self.case);
        serde_json::to_string(&Self { case, ..self.clone() }).unwrap_or_default()
    }

    /// The run's folder name.
    pub fn folder_name(&self) -> String {
        format!("{}.{}.{}", self.case.slug(), self.repetition, self.fingerprint())
    }
}

/// The case without what cannot change its observations.
fn what_decides(case: &Case) -> Case {
    // Of a machine only the idle states are in the guest, but energy is modelled by its watts.
    Case { title: String::new(), timeout_ns: 0, repeat: 0, ..case.clone() }
}

/// A whole run, explained.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its folder.
    pub folder: PathBuf,
    /// Whether this user's laboratory made it, as its seal says; it may have come with the study.
    pub made_here: bool,
    /// What was asked.
    pub asked: Asked,
    /// What the agent said.
    pub outcome: Outcome,
    /// What interrupted each CPU, and why; the single interruptions without chains, functions and evidence.
    pub explanation: Explanation,
    /// Its idle states, where the guest has some.
    pub idle: Option<RunIdle>,
    /// Wake-up latencies, where a cyclictest printed them.
    pub latency: Option<Latency>,
    /// What other tools printed.
    pub printed: Printed,
    /// The executed instructions, where they were recorded.
    pub profile: Option<RunProfile>,
    /// All figures.
    pub observations: Vec<Observation>,
    /// Trace events that were lost, by CPU.
    pub lost_events: BTreeMap<u32, u64>,
    /// Trace records that were not understood.
    pub undecoded: u64,
    /// Trace events that the kernel does not have.
    pub missing_events: Vec<String>,
    /// Wall time of each stage, s.
    pub timing: BTreeMap<String, f64>,
}

/// Why a run cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file operation.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A file of the run is missing or unreadable.
    #[error("{path}: {reason}; remove the run's folder and run the study again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The guest sent what it was not asked for.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
    /// The trace.
    #[error("{path}: the run's trace cannot be decoded: {source}")]
    Decode {
        /// The run.
        path: PathBuf,
        /// Why.
        source: DecodeError,
    },
    /// The trace is whole, and too long for this machine.
    #[error(
        "{path}: the run's trace has {events} events, and this machine has memory to explain {most}: shorten \
         `measure`, or name in `trace-cpus` only the CPUs that are asked about"
    )]
    TooManyEvents {
        /// The run.
        path: PathBuf,
        /// How many there are.
        events: u64,
        /// How many could be explained.
        most: u64,
    },
    /// The table of observations.
    #[error(transparent)]
    Observations(#[from] ObservationError),
}

/// Files that a case may read; a study names a few.
const MOST_FILES: u64 = 256;

const RUN: &str = "run.toml";
const TIMING: &str = "timing.json";
/// What the host took from the guest's CPUs, on the wall clock.
const STOLEN: &str = "stolen.json";
const OBSERVATIONS: &str = "observations.parquet";
/// The folder of what the guest sent.
pub(crate) const RAW: &str = "raw";
/// The guest's serial console.
pub const CONSOLE: &str = "console.log";

/// Keeps a run under `runs`: `folder` already holds the console and becomes the run.
pub fn keep(
    runs: &Path,
    folder: RunningFolder,
    asked: &Asked,
    ended: &Ended,
    sealer: &Sealer,
) -> Result<Run, StoreError> {
    let path = folder.path();
    pieces::check(&ended.archive, &asked.case)?;
    for (name, bytes) in &ended.archive.0 {
        write_whole(&path.join(RAW).join(name), bytes)?;
    }
    let timing: BTreeMap<String, f64> = ended
        .stages
        .iter()
        .map(|(stage, time)| (format!("{stage:?}").to_lowercase(), time.as_secs_f64()))
        .collect();
    let damaged = |file: &str, reason: String| StoreError::Damaged { path: path.join(file), reason };
    let text = toml::to_string_pretty(asked).map_err(|error| damaged(RUN, error.to_string()))?;
    write_whole(&path.join(RUN), text.as_bytes())?;
    let json = serde_json::to_vec_pretty(&timing).map_err(|error| damaged(TIMING, error.to_string()))?;
    write_whole(&path.join(TIMING), &json)?;
    if asked.case.clock == Clock::Wall {
        let json =
            serde_json::to_vec_pretty(&ended.stolen).map_err(|error| damaged(STOLEN, error.to_string()))?;
        write_whole(&path.join(STOLEN), &json)?;
    }
    let run = load(path)?;
    write_whole(&path.join(OBSERVATIONS), &write_parquet(&run.observations)?)?;
    sealer.seal(path)?;
    let place = runs.join(asked.folder_name());
    if let Some(earlier) = find(runs, asked, sealer) {
        // A study beside this one was faster with the same run.
        return Ok(earlier);
    }
    set_aside(&place)?;
    Ok(Run { folder: folder.rename(&place)?, made_here: true, ..run })
}

/// What stands at a run's place and is no whole run of this user's goes out of its way, under a name that says
/// so: somebody may want to know what became of it.
fn set_aside(place: &Path) -> Result<(), CacheError> {
    // Also a link that leads nowhere stands in the way.
    if place.symlink_metadata().is_err() {
        return Ok(());
    }
    let what = if load(place).is_ok() { "another" } else { "damaged" };
    let aside = |number: u32| place.with_extension(format!("{what}-{number}"));
    let free = (1..).map(aside).find(|name| !name.exists()).unwrap_or_else(|| aside(0));
    std::fs::rename(place, free).map_err(|error| CacheError::from_io(place, error))
}

/// Reads a whole run and explains it; who made it is not asked.
pub fn load(folder: &Path) -> Result<Run, StoreError> {
    load_judged(folder, None)
}

/// Reads a whole run and says whether it was made here. Where nothing is known of seals, no run is known to be.
pub fn load_judged(folder: &Path, sealer: Option<&Sealer>) -> Result<Run, StoreError> {
    let opened = opened(folder)?;
    let run = read(folder, &opened)?;
    Ok(Run { made_here: sealer.is_some_and(|sealer| sealer.holds(&opened)), ..run })
}

fn opened(folder: &Path) -> Result<Opened, StoreError> {
    let damaged =
        |error: std::io::Error| StoreError::Damaged { path: folder.to_owned(), reason: error.to_string() };
    Opened::at(folder).map_err(damaged)
}

/// Reads the run in a folder that is open, and that users know by this path.
fn read(folder: &Path, opened: &Opened) -> Result<Run, StoreError> {
    let files = Files { folder, place: opened.place() };
    let asked = files.asked()?;
    let mut outcome = files.said(pieces::OUTCOME, |said| received::outcome(said, &asked.case))?;
    let recording = files.recording(&asked.case)?;
    let decoded = recording.decode().map_err(|error| files.undecoded(error))?;
    let interrupts = |name: &str| files.text(&format!("{RAW}/{name}")).map(|text| Interrupts::parse(&text));
    let interrupts = interrupts(pieces::INTERRUPTS_AFTER)?.since(&interrupts(pieces::INTERRUPTS_BEFORE)?);
    let read = files.read_by(&asked.case)?;
    let comms = files.said(pieces::COMMS, received::comms)?;
    let mut explanation = explain(&decoded.events, &context(&asked, &outcome, &comms));
    forget_texts(&mut explanation);
    let idle = files.idle(&asked, &outcome, &decoded.events)?;
    let output = |name: &str| files.text(&format!("{RAW}/{name}")).ok();
    let latency = Latency::of(&asked.case, &output).map_err(|error| files.damaged(RAW, error))?;
    let qperf = files.qperf_of(&asked.case)?;
    let printed = Printed::of(&asked.case, &output);
    outcome.notes.extend(printed.notes.iter().cloned());
    let profile = profile(opened.place(), &asked).map_err(|error| files.damaged(RAW, error))?;
    let mut observations = figures::of_run(&explanation, &decoded.counts, &interrupts, &read, &outcome);
    observations.extend(idle.iter().flat_map(|idle| figures::of_idle(idle, &asked.case)));
    observations.extend(latency.iter().flat_map(figures::of_latency));
    observations.extend(figures::of_qperf(&qperf));
    observations.extend(printed.observations());
    observations.extend(profile.iter().flat_map(figures::of_profile));
    observations.extend(figures::of_stolen(&files.stolen(&asked.case)?));
    Ok(Run {
        folder: folder.to_owned(),
        made_here: false,
        observations,
        idle,
        latency,
        printed,
        profile,
        timing: files.json(TIMING)?,
        lost_events: decoded.lost,
        undecoded: decoded.undecoded,
        missing_events: recording.metadata.missing_events,
        asked,
        outcome,
        explanation,
    })
}

/// A report holds all runs of its study at once, and tells of single interruptions only when they came and why;
/// chains and functions are summed up by cause.
fn forget_texts(explanation: &mut Explanation) {
    for one in &mut explanation.interruptions {
        (one.chain, one.functions, one.evidence) = (Vec::new(), Vec::new(), Vec::new());
    }
}

/// What was asked of the run in this folder.
pub fn asked(folder: &Path) -> Result<Asked, StoreError> {
    Files { folder, place: folder }.asked()
}

fn profile(folder: &Path, asked: &Asked) -> Result<Option<RunProfile>, ProfileError> {
    asked.case.profile.then(|| profiles::load(folder, asked)).transpose()
}

/// The run of this question among `runs`, if it is whole and this user's laboratory made it.
pub fn find(runs: &Path, asked: &Asked, sealer: &Sealer) -> Option<Run> {
    let folder = runs.join(asked.folder_name());
    let opened = Opened::at(&folder).ok().filter(|opened| sealer.holds(opened))?;
    let found = Files { folder: &folder, place: opened.place() }.asked().ok()?;
    // A folder's name is anybody's to choose, that of another run as well.
    let is_it = found.question() == asked.question();
    is_it.then(|| read(&folder, &opened).ok()).flatten().map(|run| Run { made_here: true, ..run })
}

/// The newest whole run of each of these cases and repetitions among `runs`, whatever machine, image and
/// kernel it had. Older ones stand there too when this program or a kernel has changed meanwhile. Where nothing is
/// known of seals, no run is known to be made here.
pub fn newest(runs: &Path, cases: &[Case], sealer: Option<&Sealer>) -> Vec<Run> {
    // By case and repetition, the latest last.
    let mut found: BTreeMap<(usize, u32), BTreeMap<SystemTime, PathBuf>> = BTreeMap::new();
    for folder in std::fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified());
        let (Ok(asked), Ok(time)) = (asked(&folder), modified(&folder.join(OBSERVATIONS))) else { continue };
        let wanted = |case: &Case| is_of(case, &asked) && asked.repetition < case.repeat;
        if let Some(number) = cases.iter().position(wanted) {
            found.entry((number, asked.repetition)).or_default().insert(time, folder);
        }
    }
    let newest = |((number, repetition), folders): (&(usize, u32), &BTreeMap<SystemTime, PathBuf>)| {
        // A damaged one does not hide an older that is whole.
        let mut runs = folders.values().rev().filter_map(|folder| load_judged(folder, sealer).ok());
        // What stood at the path when it was chosen need not be what was read.
        runs.find(|run| is_of(&cases[*number], &run.asked) && run.asked.repetition == *repetition)
    };
    found.iter().filter_map(newest).collect()
}

/// Whether a run was asked what the case asks.
fn is_of(case: &Case, asked: &Asked) -> bool {
    what_decides(case) == what_decides(&asked.case) && order::idle_states(case) == asked.idle_states
}

/// All files of a run together: a profile has up to 1 GiB and what was being written then, all else fits into
/// the mailbox.
const LARGEST_RUN: u64 = 2 << 30;

/// The files of a run that must be the same in every repetition in virtual time: all but the timing, and the seal,
/// which is of who made it.
pub fn comparable_files(folder: &Path) -> std::io::Result<BTreeMap<String, Contents>> {
    let mut files = BTreeMap::new();
    let mut left = LARGEST_RUN;
    for place in [PathBuf::new(), PathBuf::from(RAW)] {
        let within = folder.join(&place);
        if !within.symlink_metadata()?.is_dir() {
            return Err(std::io::Error::other(format!("{} is no folder", within.display())));
        }
        for entry in std::fs::read_dir(within)? {
            let path = entry?.path();
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            // A stranger's run may hold links to what has no end; a run has none.
            if path.symlink_metadata()?.is_file() && ![TIMING, seal::FILE].contains(&name.as_str()) {
                let contents = Contents::of(&path, left).map_err(std::io::Error::other)?;
                left -= contents.bytes;
                files.insert(name, contents);
            }
        }
    }
    Ok(files)
}

fn context(asked: &Asked, outcome: &Outcome, comms: &BTreeMap<i32, String>) -> Context {
    // What the kernel would refuse was refused before the boot (study::check).
    let line = &asked.command_line;
    let count = asked.case.cpus;
    let nohz_full = line.adaptive_tick_cpus(count).unwrap_or_default();
    let offloaded = line.cpus("rcu_nocbs", count).and_then(Result::ok).unwrap_or_default();
    Context {
        hz: asked.hz,
        // The CPUs of nohz_full= are offloaded too (kernel/rcu/tree_nocb.h: rcu_init_nohz).
        rcu_nocbs: offloaded.union(&nohz_full),
        isolated: line.isolation(count).unwrap_or_default().domain,
        nohz_full,
        cpus: CpuList::first(count),
        kernel: asked.release.clone(),
        window: outcome.window_ns,
        timekeeper: None,
        comms: comms.iter().map(|(pid, comm)| (*pid, comm.as_str().into())).collect(),
        known: Known::default(),
    }
}

struct Files<'a> {
    /// The run's folder as users know it.
    folder: &'a Path,
    /// The path by which its files are opened.
    place: &'a Path,
}

impl Files<'_> {
    fn damaged(&self, name: &str, reason: impl std::fmt::Display) -> StoreError {
        StoreError::Damaged { path: self.folder.join(name), reason: reason.to_string() }
    }

    fn undecoded(&self, error: DecodeError) -> StoreError {
        let path = self.folder.to_owned();
        match error {
            DecodeError::TooMany { events, most } => StoreError::TooManyEvents { path, events, most },
            source => StoreError::Decode { path, source },
        }
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        // Many links to one large file would be a small run that takes any memory.
        read_beneath(self.place, Path::new(name), MAILBOX_BYTES).map_err(|error| self.damaged(name, error))
    }

    fn text(&self, name: &str) -> Result<String, StoreError> {
        self.bytes(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, StoreError> {
        serde_json::from_slice(&self.bytes(name)?).map_err(|error| self.damaged(name, error))
    }

    fn toml<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, StoreError> {
        /// Each byte of it takes up to a hundred of memory.
        const LARGEST: u64 = 1 << 20;
        let bytes = read_beneath(self.place, Path::new(name), LARGEST);
        let bytes = bytes.map_err(|error| self.damaged(name, error))?;
        toml::from_str(&String::from_utf8_lossy(&bytes)).map_err(|error| self.damaged(name, error))
    }

    /// What was asked; a run may be a stranger's, and its case has never been read as a study.
    fn asked(&self) -> Result<Asked, StoreError> {
        let asked: Asked = self.toml(RUN)?;
        let within = |key: &str, number: u64, range: std::ops::RangeInclusive<u64>| {
            let problem = || format!("{key}: {number} is not from {} to {}", range.start(), range.end());
            if range.contains(&number) { Ok(()) } else { Err(self.damaged(RUN, problem())) }
        };
        within("case.cpus", asked.case.cpus.into(), 1..=Case::MOST_CPUS.into())?;
        // A kernel that does not tell its HZ has 0 here.
        within("hz", asked.hz.into(), 0..=10_000)?;
        within("packages of case", asked.case.packages.len() as u64, 0..=Case::MOST_PACKAGES as u64)?;
        within("tasks of case", asked.case.tasks.len() as u64, 0..=Case::MOST_TASKS as u64)?;
        within("calls of case", asked.case.calls.len() as u64, 0..=Case::MOST_CALLS as u64)?;
        within("figures of case", asked.case.figures.len() as u64, 0..=Case::MOST_FIGURES as u64)?;
        if !is_id(&asked.case.id) || !is_id(&asked.case.name) {
            return Err(self.damaged(RUN, "case: its id and name must be one line each"));
        }
        within("files of case.read", asked.case.read.len() as u64, 0..=MOST_FILES)?;
        Ok(asked)
    }

    /// A piece that the guest sent, as far as it can be true.
    fn said<T: serde::de::DeserializeOwned>(
        &self,
        piece: &str,
        accept: impl FnOnce(T) -> Result<T, String>,
    ) -> Result<T, StoreError> {
        let name = format!("{RAW}/{piece}");
        accept(self.json(&name)?).map_err(|reason| self.damaged(&name, reason))
    }

    /// How the numbers in the files that the case reads grew over the window.
    fn read_by(&self, case: &Case) -> Result<Vec<FileCount>, StoreError> {
        let mut counts = Vec::new();
        for path in case.read.iter().filter(|path| !records::is_file(path)) {
            let at = |moment| self.text(&format!("{RAW}/{}", piece_of_file(path, moment)));
            let (before, after) = (at(Moment::Before)?, at(Moment::After)?);
            let grown = Counters::parse(&after).since(&Counters::parse(&before));
            let of_file = |(name, cpu, grown): (String, Option<u32>, i64)| FileCount {
                key: figures::file_key(path, &name),
                cpu,
                grown,
            };
            counts.extend(grown.into_iter().map(of_file));
        }
        Ok(counts)
    }

    /// What the host took from the guest's CPUs; nothing is known of runs before that was kept.
    fn stolen(&self, case: &Case) -> Result<Stolen, StoreError> {
        if case.clock != Clock::Wall || !self.place.join(STOLEN).exists() {
            return Ok(Stolen::new());
        }
        let stolen: Stolen = self.json(STOLEN)?;
        match stolen.keys().find(|cpu| **cpu >= case.cpus) {
            Some(cpu) => Err(self.damaged(STOLEN, format!("CPU {cpu}, and the guest has {}", case.cpus))),
            None => Ok(stolen),
        }
    }

    /// The tests of the qperf that is the case's script.
    fn qperf_of(&self, case: &Case) -> Result<BTreeMap<String, qperf::Values>, StoreError> {
        let program = case.script.as_ref().and_then(|script| script.run.first()?.rsplit('/').next());
        if program != Some("qperf") {
            return Ok(BTreeMap::new());
        }
        let output = format!("{RAW}/{}", pieces::SCRIPT_OUT);
        qperf::parse(&self.text(&output)?).map_err(|error| self.damaged(&output, error))
    }

    /// What the trace and the kernel's accounts tell of idle states, where the run has accounts.
    fn idle(
        &self,
        asked: &Asked,
        outcome: &Outcome,
        events: &[Event],
    ) -> Result<Option<RunIdle>, StoreError> {
        let piece = |name: &str| format!("{RAW}/{name}");
        if !self.place.join(piece(idle::BEFORE)).exists() {
            return Ok(None);
        }
        let accounts = |name: &str| self.said(name, |said| received::idle(said, &asked.case));
        let (before, after) = (accounts(idle::BEFORE)?, accounts(idle::AFTER)?);
        let (case, hz, window) = (&asked.case, asked.hz, outcome.window_ns);
        Ok(idle::of_run(events, &idle::Setting { case, hz, window, before: &before, after: &after }))
    }

    fn recording(&self, case: &Case) -> Result<Recording, StoreError> {
        let metadata = self.said(pieces::TRACE, |said| received::trace(said, case))?;
        let mut recording = Recording { metadata, ..Recording::default() };
        let mut left = MAILBOX_BYTES;
        for cpu in recording.metadata.stats.keys() {
            let raw = self.bytes(&format!("{RAW}/{}", pieces::trace_of_cpu(*cpu)))?;
            left = left
                .checked_sub(raw.len() as u64)
                .ok_or_else(|| self.damaged(RAW, "the traces are larger than what a guest can send"))?;
            recording.raw.insert(*cpu, raw);
        }
        Ok(recording)
    }
}
