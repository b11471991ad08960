// SPDX-License-Identifier: GPL-2.0-only
//! What is asked of a run, and by what it is known.

use crate::order;
use crate::perturb::{self, Perturbation};
use crate::qemu::{Accelerator, Host};
use dyntick_explain::fixes::settings_with;
use dyntick_model::{CommandLine, KernelVersion, Settings};
use dyntick_study::Case;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// What was asked of a run. Stored as `run.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// How it may be another kernel than its name meant then, where Debian could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_fallback: Option<String>,
    /// SHA-256 of the kernel.
    pub kernel_sha256: String,
    /// Ticks per second of the kernel, from its configuration.
    pub hz: u32,
    /// Options that fixes need and that the kernel is built without.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub missing_options: BTreeSet<String>,
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
    /// What is changed, where it is a perturbed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbation: Option<Perturbation>,
    /// The machine under it, on the wall clock; unknown of runs before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
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
    pub(super) fn question(&self) -> String {
        let case = what_decides(&self.case);
        // The kernel decides them, and is named by its sum.
        let missing_options = BTreeSet::new();
        let kernel_fallback = None;
        serde_json::to_string(&Self { case, missing_options, kernel_fallback, ..self.clone() })
            .unwrap_or_default()
    }

    /// What the guest was set to, as far as fixes are about it.
    pub fn settings(&self) -> Settings {
        let sysctl = |path: &str| {
            let is_of = |name: &String| path.strip_prefix("/proc/sys/") == Some(&name.replace('.', "/"));
            self.case.sysctl.iter().find(|(name, _)| is_of(name)).map(|(_, value)| value.clone())
        };
        let read = |path: &str| self.case.write.get(path).cloned().or_else(|| sysctl(path));
        settings_with(read, self.missing_options.clone())
    }

    /// The command line, and what the agent set in place of a parameter.
    pub fn in_force(&self) -> CommandLine {
        let mut line = self.command_line.clone();
        let governor = self.case.governor.iter().map(|governor| format!("cpuidle.governor={governor}"));
        governor.for_each(|parameter| line.extend(&CommandLine::parse(&parameter)));
        line
    }

    /// Texts that are shown as they are: their keys, and how many bytes each may have. A path has 4096 at most
    /// (`include/uapi/linux/limits.h`: PATH_MAX), a name of a processor or a release 64.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        const NAME: u64 = 256;
        const SOURCE: u64 = 8192;
        let hashes = [("firmware_sha256", &self.firmware_sha256), ("program_sha256", &self.program_sha256)];
        let hashes = hashes.into_iter().filter_map(|(key, hash)| Some((key, hash.as_deref()?, NAME)));
        let fallback = self.kernel_fallback.iter().map(|text| ("kernel_fallback", &**text, SOURCE));
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
        all.into_iter().chain(hashes).chain(of_host).chain(fallback)
    }

    /// The run's folder name.
    pub fn folder_name(&self) -> String {
        format!("{}.{}.{}", self.case.slug(), self.repetition, self.fingerprint())
    }
}

/// The case without what cannot change its observations.
fn what_decides(case: &Case) -> Case {
    // Of a machine only the idle states are in the guest, but energy is modelled by its watts.
    Case { title: String::new(), timeout_ns: 0, repeat: 0, perturb: 0, ..case.clone() }
}

/// Whether a run was asked what the case asks.
pub(super) fn is_of(case: &Case, asked: &Asked) -> bool {
    what_decides(case) == what_decides(&asked.case)
        && order::idle_states(case) == asked.idle_states
        && perturb::of(case.clock, asked.repetition) == asked.perturbation
}
