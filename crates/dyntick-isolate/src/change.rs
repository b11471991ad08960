// SPDX-License-Identifier: GPL-2.0-only
//! A change of the machine, as plain data: everything that is needed to make and to undo it.

use dyntick_model::CpuList;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The format of a value in a kernel file. Two texts of the same value may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The text itself, without white space at its ends.
    Text,
    /// A cpulist, e.g. `0-2`.
    List,
    /// A mask of CPUs, e.g. `00000007`.
    Mask,
}

impl Format {
    /// Returns true if two texts have the same value.
    pub fn same(self, one: &str, other: &str) -> bool {
        let cpus = |text: &str| self.cpus(text);
        match (cpus(one), cpus(other)) {
            (Some(one), Some(other)) => one == other,
            _ => one.trim() == other.trim(),
        }
    }

    /// The CPUs that a text names; `None` if the format has no CPUs, or the text is damaged.
    pub fn cpus(self, text: &str) -> Option<CpuList> {
        match self {
            Format::Text => None,
            Format::List => text.parse().ok(),
            Format::Mask => CpuList::from_mask(text).ok(),
        }
    }

    /// Formats these CPUs.
    pub fn of(self, cpus: &CpuList) -> String {
        match self {
            Format::Mask => cpus.to_mask(),
            Format::List | Format::Text => cpus.to_string(),
        }
    }
}

/// The file of a control group that makes it a cpuset partition.
pub(crate) const PARTITION_FILE: &str = "cpuset.cpus.partition";

/// The folder of the fair servers' parameters, one folder per CPU.
pub(crate) const FAIR_SERVERS: &str = "/sys/kernel/debug/sched/fair_server";

/// The same for the deadline servers of a BPF scheduler's tasks, since 7.0.
pub(crate) const EXT_SERVERS: &str = "/sys/kernel/debug/sched/ext_server";

/// The kind of a cpuset partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartitionKind {
    /// A partition without load balancing.
    Isolated,
    /// A partition with load balancing among its CPUs.
    Root,
}

impl PartitionKind {
    /// The kernel's word for the kind.
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
    /// A file with one value.
    Setting {
        /// The file.
        path: PathBuf,
        /// The format of its value.
        format: Format,
        /// Its value before.
        old: String,
        /// Its value during the isolation; the same as `old` if only the restoration matters.
        new: String,
        /// A value to write before `old` when restoring, for hidden state of the kernel: the CPU that an interrupt goes
        /// to, the workers of a queue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<String>,
    },
    /// The affinity of a thread.
    Affinity {
        /// Its thread ID.
        tid: i32,
        /// Its start, in clock ticks since boot; together with the ID it identifies one thread.
        start: u64,
        /// Its name.
        comm: String,
        /// Its CPUs before.
        old: CpuList,
        /// Its CPUs during the isolation; the same as `old` if only the kernel might change it.
        new: CpuList,
        /// True for an interrupt thread, which follows its interrupt: it is not moved, but restored if a partition has
        /// widened it.
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
        /// The group of the command, which also receives its remaining processes.
        origin: PathBuf,
    },
    /// Folders that another program makes and fills, and that are removed: instances of tracefs.
    Folders {
        /// The common beginning of their paths.
        prefix: PathBuf,
    },
}

impl Change {
    /// A short description of the changed object.
    pub fn target(&self) -> String {
        match self {
            Change::Setting { path, .. } | Change::Controller { path } => path.display().to_string(),
            Change::Folders { prefix } => prefix.display().to_string(),
            Change::Partition { folder, .. } => folder.display().to_string(),
            Change::Affinity { tid, comm, .. } => format!("{comm} [{tid}]"),
        }
    }
}
