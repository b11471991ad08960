// SPDX-License-Identifier: GPL-2.0-only
//! The plan of a run: all that decides its observations, and the name that follows from it.

use crate::order;
use crate::perturb::{self, Perturbation};
use crate::qemu::{Accelerator, Host};
use dyntick_explain::fixes::settings_with;
use dyntick_kernels::build::Built;
use dyntick_model::{CommandLine, KernelVersion, Settings};
use dyntick_study::Case;
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
            && order::idle_states(case) == self.idle_states
            && perturb::of(case.clock, self.repetition) == self.perturbation
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
