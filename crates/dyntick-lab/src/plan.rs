// SPDX-License-Identifier: GPL-2.0-only
//! The plan of a run: all that decides its observations, with the name that follows from it and the agent's job; and
//! the irrelevant changes of perturbed runs.
//!
//! Runs of virtual time are equal to the bit, so one run of a case does not show how much its figures depend on
//! irrelevant details: addresses in memory, and the phase of the tick at which the window begins. Mytkowicz, Diwan,
//! Hauswirth and Sweeney, *Producing Wrong Data Without Doing Anything Obviously Wrong!* (ASPLOS 2009), found that such
//! changes alone may be larger than the effect in question, and vary them at random.

use crate::emulator;
use crate::image::{self, ImageError};
use crate::qemu::{Accelerator, Host};
use dyntick_explain::fixes::settings_with;
use dyntick_guest::names::{INIT, OWN_NAME};
use dyntick_guest::{Job, Script, Task, Work};
use dyntick_kernels::build::Built;
use dyntick_kernels::find::Kernel;
use dyntick_model::{Clock, CommandLine, KernelVersion, Settings};
use dyntick_study::Case;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The plan of one run, which another machine could execute. Stored as `run.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The repetition, from 0.
    pub repetition: u32,
    /// The executor of the guest's instructions.
    pub accelerator: Accelerator,
    /// The version of QEMU, with that of its package.
    pub qemu: String,
    /// The SHA-256 of the firmware that QEMU is given, if any.
    pub firmware_sha256: Option<String>,
    /// The kernel's release.
    pub release: KernelVersion,
    /// The origin of the kernel, e.g. a Debian package.
    pub kernel_source: String,
    /// The index that named the kernel if Debian's mirror could not be asked: its name may mean another one by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_fallback: Option<String>,
    /// The SHA-256 of the kernel.
    pub kernel_sha256: String,
    /// The kernel's ticks per second, from its configuration.
    pub hz: u32,
    /// The options that fixes need and that the kernel is built without.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub missing_options: BTreeSet<String>,
    /// The SHA-256 of this program, which is the guest's `/init`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_sha256: Option<String>,
    /// The SHA-256 of the guest image, and so of this program, the tools and the modules.
    pub image_sha256: String,
    /// The complete kernel command line.
    pub command_line: CommandLine,
    /// The parameters of the emulator of idle states, if the case has a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_states: Option<String>,
    /// The irrelevant change of a perturbed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbation: Option<Perturbation>,
    /// The fragments and patches of a kernel that was built here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_parts: Option<KernelParts>,
    /// The machine that executes the guest, on the wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// The case.
    pub case: Case,
}

/// The parts of a kernel that was built here, in addition to its source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelParts {
    /// The key of the kernel.
    pub key: String,
    /// The source.
    pub source: String,
    /// The fragments of its configuration, by name or path.
    pub config: Vec<String>,
    /// The patches, in their order.
    pub patches: Vec<KernelPatch>,
}

/// A patch of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelPatch {
    /// The name or path.
    pub name: String,
    /// The number of files that it changes; none for a semantic patch, and for kernels from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
    /// The SHA-256 of its text; none for kernels from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl KernelParts {
    /// The parts that a record names.
    pub fn of(built: &Built) -> Self {
        let patch = |(place, name): (usize, &String)| KernelPatch {
            name: name.clone(),
            files: built.patch_files.get(place).copied().filter(|files| *files > 0),
            sha256: built.patch_sha256.get(place).cloned(),
        };
        Self {
            key: built.key.clone(),
            source: built.source.clone(),
            config: built.config.clone(),
            patches: built.patches.iter().enumerate().map(patch).collect(),
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let names = self.patches.iter().map(|patch| &patch.name);
        let hashes = self.patches.iter().filter_map(|patch| patch.sha256.as_ref());
        let all = [&self.key, &self.source].into_iter().chain(&self.config).chain(names).chain(hashes);
        all.map(String::as_str)
    }
}

impl Plan {
    /// The hash of all that decides the observations. Settings that cannot change them, e.g. the case's title, are left
    /// out.
    pub fn fingerprint(&self) -> String {
        hex::encode(&Sha256::digest(self.question())[..6])
    }

    /// All that decides the observations, as text. Unlike the fingerprint it cannot be forged.
    pub(crate) fn question(&self) -> String {
        let case = what_decides(&self.case);
        // The kernel decides them, and is named by its sum.
        let missing_options = BTreeSet::new();
        let (kernel_fallback, kernel_parts) = (None, None);
        let question = Self { case, missing_options, kernel_fallback, kernel_parts, ..self.clone() };
        serde_json::to_string(&question).expect("plain data")
    }

    /// The guest's settings that fixes are about.
    pub fn settings(&self) -> Settings {
        let sysctl = |path: &str| {
            let is_of = |name: &String| path.strip_prefix("/proc/sys/") == Some(&name.replace('.', "/"));
            self.case.sysctl.iter().find(|(name, _)| is_of(name)).map(|(_, value)| value.clone())
        };
        let read = |path: &str| self.case.write.get(path).cloned().or_else(|| sysctl(path));
        settings_with(read, self.missing_options.clone())
    }

    /// The command line with the parameters that the agent sets in another way.
    pub fn in_force(&self) -> CommandLine {
        let mut line = self.command_line.clone();
        if let Some(governor) = &self.case.governor {
            line.extend(&CommandLine::parse(&format!("cpuidle.governor={governor}")));
        }
        line
    }

    /// The texts that are shown as they are, each with its key and its limit in bytes. A path has at most 4096 bytes
    /// (`include/uapi/linux/limits.h`: PATH_MAX), a release or the name of a processor 64.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        const NAME: u64 = 256;
        const SOURCE: u64 = 8192;
        let hashes = [("firmware_sha256", &self.firmware_sha256), ("program_sha256", &self.program_sha256)];
        let hashes = hashes.into_iter().filter_map(|(key, hash)| Some((key, hash.as_deref()?, NAME)));
        let fallback = self.kernel_fallback.iter().map(|text| ("kernel_fallback", &**text, SOURCE));
        let parts =
            self.kernel_parts.iter().flat_map(KernelParts::texts).map(|text| ("kernel_parts", text, NAME));
        let all = [
            ("qemu", &*self.qemu, NAME),
            ("release", &*self.release.release, NAME),
            ("kernel_sha256", &*self.kernel_sha256, NAME),
            ("image_sha256", &*self.image_sha256, NAME),
            ("kernel_source", &*self.kernel_source, SOURCE),
        ];
        let host = self.host.iter();
        let of_host = host.flat_map(|host| {
            [("host.processor", &*host.processor, NAME), ("host.release", &*host.release, NAME)]
        });
        all.into_iter().chain(hashes).chain(of_host).chain(fallback).chain(parts)
    }

    /// Returns true if this is a plan of a run of the case.
    pub(crate) fn is_of(&self, case: &Case) -> bool {
        what_decides(case) == what_decides(&self.case)
            && idle_states(case) == self.idle_states
            && perturbation_of(case.clock, self.repetition) == self.perturbation
    }

    /// The run's folder name.
    pub fn folder_name(&self) -> String {
        format!("{}.{}.{}", self.case.slug(), self.repetition, self.fingerprint())
    }
}

/// The case without the settings that cannot change its observations.
fn what_decides(case: &Case) -> Case {
    // The guest has only the machine's idle states, but energy is modelled by its watts.
    Case { title: String::new(), timeout_ns: 0, repeat: 0, perturb: 0, ..case.clone() }
}

/// The parameters of the emulator of idle states, if the case has a machine.
pub fn idle_states(case: &Case) -> Option<String> {
    case.machine.as_ref().map(|machine| emulator::parameters(&machine.idle, case))
}

/// The modules that its guest loads: those of its disk, and its own.
pub fn modules(case: &Case, kernel: &Kernel) -> Vec<String> {
    let of_disk = case.disk.map(|_| image::disk_modules(kernel)).unwrap_or_default();
    of_disk.into_iter().chain(case.modules.iter().cloned()).collect()
}

/// The agent's job, with the paths of the tools in the guest.
pub fn job(case: &Case, perturbation: Option<Perturbation>) -> Result<Job, ImageError> {
    let placed = |words: &[String]| -> Result<Vec<String>, ImageError> {
        let Some((program, arguments)) = words.split_first() else { return Ok(Vec::new()) };
        let path = if program == OWN_NAME {
            INIT.to_owned()
        } else {
            image::find_tool(program)?.to_string_lossy().into_owned()
        };
        Ok([path].into_iter().chain(arguments.iter().cloned()).collect())
    };
    let task = |task: &Task| {
        let work = match &task.work {
            Work::Tool(words) => Work::Tool(placed(words)?),
            builtin => builtin.clone(),
        };
        Ok(Task { work, ..task.clone() })
    };
    let script = |script: &Script| -> Result<Script, ImageError> {
        Ok(Script { run: placed(&script.run)?, ..script.clone() })
    };
    Ok(Job {
        measured_cpus: case.measured_cpus.clone(),
        sysctl: case.sysctl.clone(),
        module_parameters: idle_states(case)
            .map(|message| (emulator::NAME.to_owned(), message))
            .into_iter()
            .collect(),
        idle_driver: case.machine.as_ref().map(|_| emulator::NAME.to_owned()),
        governor: case.governor.clone(),
        write: case.write.clone(),
        disk: case.disk.is_some(),
        read: case.read.clone(),
        settle_ns: case.settle_ns,
        settle_limit_ns: case.settle_limit_ns,
        shift_ns: perturbation.map_or(0, |perturbation| perturbation.shift_ns),
        measure_ns: case.measure_ns,
        profile: case.profile,
        events: case.recorded_events(),
        trace_cpus: case.trace_cpus.clone(),
        buffer_kib: (case.trace_buffer >> 10) as u32,
        tasks: case.tasks.iter().map(task).collect::<Result<_, ImageError>>()?,
        script: case.script.as_ref().map(script).transpose()?,
        shell: None,
    })
}

/// The change of one perturbed run. Recorded in its `run.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Perturbation {
    /// Bytes of a file that the guest image has before all others, and that nothing reads.
    pub padding: u32,
    /// The delay of the window after the start of the tasks, ns.
    pub shift_ns: u64,
}

/// Longest padding: a few pages more than the allocators of a kernel keep at hand for one CPU.
const MOST_PADDING: u32 = 256 << 10;

/// Longest shift: beyond two ticks of the slowest kernel (HZ=100), so that every phase of every tick is met.
const MOST_SHIFT_NS: u64 = 23_000_000;

/// Periods of ticks: HZ=1000, which those of 250 and 100 are multiples of, and HZ=300.
const TICKS_NS: [u64; 2] = [1_000_000, 1_000_000_000 / 300];

/// The least distance of a shift from a multiple of any tick.
const FROM_TICK_NS: u64 = 50_000;

/// The change of this repetition of a case: none for the first, and none on the wall clock, where runs differ anyway.
/// The same number means the same change in every case.
pub fn perturbation_of(clock: Clock, repetition: u32) -> Option<Perturbation> {
    (clock == Clock::Virtual && repetition > 0).then(|| drawn(repetition))
}

/// The number of a perturbed run is its seed.
fn drawn(number: u32) -> Perturbation {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(number.into());
    let padding = random.random_range(1..=MOST_PADDING);
    let shift_ns = std::iter::repeat_with(|| random.random_range(FROM_TICK_NS..=MOST_SHIFT_NS));
    // Nine of ten pass.
    let off_ticks = |shift: &u64| TICKS_NS.iter().all(|tick| is_off(*shift, *tick));
    Perturbation { padding, shift_ns: shift_ns.take(1000).find(off_ticks).unwrap_or(FROM_TICK_NS) }
}

fn is_off(shift_ns: u64, tick_ns: u64) -> bool {
    let phase = shift_ns % tick_ns;
    phase.min(tick_ns - phase) >= FROM_TICK_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_number_is_a_change_and_always_the_same() {
        assert_eq!(perturbation_of(Clock::Virtual, 0), None, "the run itself");
        assert_eq!(perturbation_of(Clock::Wall, 3), None, "a repetition");
        // Runs are kept under what was changed: a number must mean the same in every version.
        assert_eq!(
            perturbation_of(Clock::Virtual, 1),
            Some(Perturbation { padding: 212_760, shift_ns: 17_196_053 })
        );
        assert_eq!(
            perturbation_of(Clock::Virtual, 2),
            Some(Perturbation { padding: 200_602, shift_ns: 12_377_884 })
        );
    }

    #[test]
    fn changes_differ_and_no_shift_is_a_number_of_ticks() {
        let all: Vec<Perturbation> = (1..=100).map(drawn).collect();
        let different = |of: fn(&Perturbation) -> u64| all.iter().map(of).collect::<BTreeSet<u64>>().len();
        assert_eq!((different(|one| one.padding.into()), different(|one| one.shift_ns)), (100, 100));
        for Perturbation { padding, shift_ns } in all {
            assert!((1..=MOST_PADDING).contains(&padding) && shift_ns <= MOST_SHIFT_NS);
            for hz in [100, 250, 300, 1000] {
                assert!(is_off(shift_ns, 1_000_000_000 / hz), "{shift_ns} at HZ={hz}");
            }
        }
    }
}
