// SPDX-License-Identifier: GPL-2.0-only
//! The settings of a machine and the options of its kernel, as far as fixes depend on them.

use crate::parameters::option_of;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The settings that fixes are compared with. If it is empty nothing is known, and each fix is advised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The contents of the files that fixes write to, by path.
    pub files: BTreeMap<String, String>,
    /// The options that fixes need and that the kernel is built without.
    pub without: BTreeSet<String>,
    /// True for a virtual machine (x86: CPUID leaf 1, ECX bit 31) whose hypervisor has counted steal time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub virtual_machine: bool,
    /// True if no driver offers idle states: the kernel halts idle CPUs, and nothing chooses or limits how deep.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_idle_states: bool,
    /// True if the CPU is known to have no counter of system management interrupts: only Intel's have one
    /// (`MSR_SMI_COUNT`), and a hypervisor does not show it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_smi_counter: bool,
    /// The boot parameters in force that the command line does not have, e.g. by the kernel's defaults.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub in_force: BTreeSet<String>,
    /// True if the kernel is a PREEMPT_RT one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub realtime: bool,
    /// The interrupt lines whose affinity user space cannot change, the managed ones among them, as the kernel shows it
    /// from 6.12 on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub fixed_irqs: BTreeSet<u32>,
    /// True if idle CPUs only poll, because `/dev/cpu_dma_latency` is held at 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle_polls: bool,
    /// True if the kernel is known not to throttle real-time tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_real_time_limit: bool,
    /// True if system management interrupts are counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts_smi: bool,
}

impl Settings {
    /// Returns true if the kernel is built without the option that a parameter needs.
    pub fn lacks(&self, parameter: &str) -> bool {
        option_of(parameter).is_some_and(|option| self.without.contains(option))
    }
}
