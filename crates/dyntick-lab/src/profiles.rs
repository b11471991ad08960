// SPDX-License-Identifier: GPL-2.0-only
//! The profile of a run: reading what the plugin and the agent left in its folder.

use crate::names::RAW;
use crate::qemu::STREAM;
use dyntick_guest::{MAILBOX_BYTES, pieces};
use dyntick_model::CpuList;
use dyntick_profile::symbols::Symbols;
use dyntick_profile::{Kind, MOST_HELD, Phase, Profile, phases_with_calls, stream};
use dyntick_study::Case;
use dyntick_system::{InputError, ensure_solid, open_beneath, read_beneath};
use std::collections::{BTreeMap, HashMap};
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
    /// Roughly its memory, bytes.
    pub(crate) fn held(&self) -> u64 {
        let profiles = || self.phases.iter().map(|(_, phase)| &phase.profile);
        // A function's name is held once.
        let names = profiles().flat_map(Profile::functions);
        let names: HashMap<*const u8, usize> = names.map(|name| (name.as_ptr(), name.len())).collect();
        (profiles().map(Profile::held).sum::<usize>() + names.into_values().sum::<usize>()) as u64
    }

    /// The phase that figures are of: the script where there is one, else the window.
    pub fn last_phase(&self) -> Option<&Phase> {
        self.phases.last().map(|(_, phase)| phase)
    }
}

/// The kinds of spans on these CPUs together, wake-ups among them.
pub fn kinds_on(phase: &Phase, cpus: &CpuList) -> BTreeMap<String, Kind> {
    phase.profile.on(|cpu| u32::try_from(cpu).is_ok_and(|cpu| cpus.contains(cpu)))
}

/// The plugin ends a stream at 1 GiB, after what it is writing.
const LARGEST: u64 = (1 << 30) + (64 << 20);

/// Reads and cuts the profile of the run in this folder.
pub fn load(folder: &Path, case: &Case) -> Result<RunProfile, ProfileError> {
    load_within(folder, case, MOST_HELD)
}

/// The same, for a profile that takes at most this number of bytes of memory.
pub(crate) fn load_within(folder: &Path, case: &Case, most: usize) -> Result<RunProfile, ProfileError> {
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
    let cut = phases_with_calls(stream, &symbols, &case.calls, most.min(MOST_HELD))
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
