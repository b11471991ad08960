// SPDX-License-Identifier: GPL-2.0-only
//! The profile of a run: reading what the plugin and the agent left in its folder.

use crate::names::RAW;
use crate::qemu::STREAM;
use dyntick_guest::{MAILBOX_BYTES, pieces};
use dyntick_model::CpuList;
use dyntick_profile::symbols::Symbols;
use dyntick_profile::{Kind, MOST_HELD, Phase, Sums, phases_with_calls, stream};
use dyntick_stats::Histogram;
use dyntick_study::Case;
use dyntick_system::{InputError, ensure_solid, open_beneath, read_beneath};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// The reason for which a run has no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The run was not profiled.
    #[error("{0} was run without a profile: set `profile = true` in its case and run the study again")]
    NotRecorded(PathBuf),
    /// A file is missing or unreadable.
    #[error(transparent)]
    Read(#[from] InputError),
    /// The profile reached its limit.
    #[error("{0} reached its limit of 1 GiB before the end: shorten `measure`, or let the script do less")]
    Cut(PathBuf),
    /// The stream.
    #[error("{path}: {source}")]
    Stream {
        /// The file.
        path: PathBuf,
        /// The error.
        source: stream::Error,
    },
}

/// The profile of one run.
#[derive(Clone, Debug)]
pub struct RunProfile {
    /// The case.
    pub case: String,
    /// The number of its guest's CPUs.
    pub cpus: u32,
    /// The CPUs that its study is about.
    pub measured_cpus: CpuList,
    /// The recorded phases: the window, and after it the script, if there is one.
    pub phases: Vec<(&'static str, Phase)>,
}

impl RunProfile {
    /// The phase that figures are of: the script where there is one, else the window.
    pub fn last_phase(&self) -> Option<&Phase> {
        self.phases.last().map(|(_, phase)| phase)
    }
}

/// The sums of a profile's last phase, which reports show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spans {
    /// The kinds of spans on the measured CPUs together.
    pub kinds: BTreeMap<String, Sums>,
    /// The calls of the functions that the case names.
    pub calls: Vec<Calls>,
}

/// The calls of a function on one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// The CPU.
    pub cpu: u64,
    /// The function's name with `()`.
    pub function: String,
    /// The number of calls.
    pub count: u64,
    /// The mean number of instructions.
    pub mean: f64,
    /// The number of calls by their instructions, in powers of two.
    pub octaves: Histogram,
}

impl Spans {
    /// The sums of a profile.
    pub fn of(profile: &RunProfile) -> Self {
        let Some(phase) = profile.last_phase() else { return Self::default() };
        let kinds = kinds_on(phase, &profile.measured_cpus);
        let kinds = kinds.into_iter().map(|(name, kind)| (name, kind.sums())).collect();
        let calls = phase.profile.calls.iter().map(|(key, kind)| Calls {
            cpu: key.cpu,
            function: key.kind.clone(),
            count: kind.spans.len() as u64,
            mean: kind.per_span(kind.instructions()),
            octaves: kind.spans.iter().map(|span| (*span, 1)).collect::<Histogram>().octaves(),
        });
        Self { kinds, calls: calls.collect() }
    }
}

/// The kinds of spans on these CPUs together, wake-ups among them.
pub fn kinds_on(phase: &Phase, cpus: &CpuList) -> BTreeMap<String, Kind> {
    phase.profile.on(|cpu| u32::try_from(cpu).is_ok_and(|cpu| cpus.contains(cpu)))
}

/// The plugin ends a stream at 1 GiB, after what it is writing.
const LARGEST: u64 = (1 << 30) + (64 << 20);

/// The share of the machine's memory that a profile may take.
const SHARE: u64 = 6;

/// Reads and cuts the profile of the run in this folder.
pub fn load(folder: &Path, case: &Case) -> Result<RunProfile, ProfileError> {
    if !case.profile {
        return Err(ProfileError::NotRecorded(folder.to_owned()));
    }
    let symbols = read_beneath(folder, &Path::new(RAW).join(pieces::SYMBOLS), MAILBOX_BYTES)?;
    let symbols = Symbols::parse(&String::from_utf8_lossy(&symbols));
    let path = folder.join(STREAM);
    let stream = open_beneath(folder, Path::new(STREAM));
    let stream = stream.map_err(|source| InputError::Io { path: path.clone(), source })?;
    // A zero byte is a complete block of the stream.
    ensure_solid(&stream, &path)?;
    let stream = BufReader::with_capacity(1 << 20, stream.take(LARGEST));
    let most =
        usize::try_from(dyntick_system::memory() / SHARE).map_or(MOST_HELD, |most| most.min(MOST_HELD));
    let cut = phases_with_calls(stream, &symbols, &case.calls, most)
        .map_err(|source| ProfileError::Stream { path, source })?;
    // A script that makes the window has no phase of its own.
    let names: &[_] = if case.script.as_ref().is_some_and(|script| !script.in_window) {
        &["window", "script"]
    } else {
        &["window"]
    };
    if cut.iter().any(|phase| phase.cut) || cut.len() < names.len() {
        return Err(ProfileError::Cut(folder.join(STREAM)));
    }
    Ok(RunProfile {
        case: case.id.clone(),
        cpus: case.cpus,
        measured_cpus: case.measured_cpus.clone(),
        phases: names.iter().copied().zip(cut).collect(),
    })
}
