// SPDX-License-Identifier: GPL-2.0-only
//! A change of the machine, as plain data: all that is needed to make it and to undo it.

use dyntick_model::CpuList;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How a file of the kernel writes its value. Two texts of the same value may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// As it stands, but for white space at its ends.
    Text,
    /// A cpulist, as `0-2`.
    List,
    /// A mask of CPUs, as `00000007`.
    Mask,
}

impl Format {
    /// Whether two texts say the same.
    pub fn same(self, one: &str, other: &str) -> bool {
        let cpus = |text: &str| self.cpus(text);
        match (cpus(one), cpus(other)) {
            (Some(one), Some(other)) => one == other,
            _ => one.trim() == other.trim(),
        }
    }

    /// The CPUs that a text names; none where the format is not one of CPUs, or the text is damaged.
    pub fn cpus(self, text: &str) -> Option<CpuList> {
        match self {
            Format::Text => None,
            Format::List => text.parse().ok(),
            Format::Mask => CpuList::from_mask(text).ok(),
        }
    }

    /// The text for these CPUs.
    pub fn of(self, cpus: &CpuList) -> String {
        match self {
            Format::Mask => cpus.to_mask(),
            Format::List | Format::Text => cpus.to_string(),
        }
    }
}

/// The file of a control group that makes it a cpuset partition.
pub(crate) const PARTITION_FILE: &str = "cpuset.cpus.partition";

/// The folder of the fair servers' parameters, a folder a CPU.
pub(crate) const FAIR_SERVERS: &str = "/sys/kernel/debug/sched/fair_server";

/// The same of the deadline servers for the tasks of a BPF scheduler, from 7.0 on.
pub(crate) const EXT_SERVERS: &str = "/sys/kernel/debug/sched/ext_server";

/// The kind of a cpuset partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartitionKind {
    /// The scheduler balances nothing within it.
    Isolated,
    /// The scheduler balances load among its CPUs.
    Root,
}

impl PartitionKind {
    /// The kernel's word for it.
    pub fn kernel_name(self) -> &'static str {
        match self {
            PartitionKind::Isolated => "isolated",
            PartitionKind::Root => "root",
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// A file that holds one value.
    Setting {
        /// The file.
        path: PathBuf,
        /// How it writes its value.
        format: Format,
        /// Its value before.
        old: String,
        /// Its value while the CPUs are isolated. The same as `old` where only the way back matters.
        new: String,
        /// A value to write before `old` on the way back, for what the kernel keeps behind the value:
        /// the CPU that an interrupt goes to, the workers of a queue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<String>,
    },
    /// The affinity of a thread.
    Affinity {
        /// Its number.
        tid: i32,
        /// When it started, clock ticks since boot: together with the number it names one thread.
        start: u64,
        /// Its name.
        comm: String,
        /// Its CPUs before.
        old: CpuList,
        /// Its CPUs while the CPUs are isolated. The same as `old` where only the kernel might change it.
        new: CpuList,
        /// Whether it is an interrupt's, and goes where the kernel sends that: not to be moved, but put
        /// back where a partition has widened it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        follows: bool,
    },
    /// The cpuset controller, made available to the children of a control group.
    Controller {
        /// The group's `cgroup.subtree_control`.
        path: PathBuf,
    },
    /// A control group that is a cpuset partition.
    Partition {
        /// Its folder.
        folder: PathBuf,
        /// Its CPUs.
        cpus: CpuList,
        /// Its kind.
        kind: PartitionKind,
        /// The group from which the command comes, and to which goes what is left of it.
        origin: PathBuf,
    },
    /// Folders that someone else makes and fills, and that are removed: instances of tracefs.
    Folders {
        /// With what their paths begin.
        prefix: PathBuf,
    },
}

impl Change {
    /// What is changed, in a few words.
    pub fn target(&self) -> String {
        match self {
            Change::Setting { path, .. } | Change::Controller { path } => path.display().to_string(),
            Change::Folders { prefix } => prefix.display().to_string(),
            Change::Partition { folder, .. } => folder.display().to_string(),
            Change::Affinity { tid, comm, .. } => format!("{comm} [{tid}]"),
        }
    }
}
