// SPDX-License-Identifier: GPL-2.0-only
//! The job of a guest, and its answer.

use dyntick_model::{Clock, CpuList};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All that the agent in the guest must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The CPUs that the study is about. The agent keeps off them.
    pub measured_cpus: CpuList,
    /// Settings under `/proc/sys`, by sysctl name.
    pub sysctl: BTreeMap<String, String>,
    /// The parameters of modules, by their names.
    #[serde(default)]
    pub module_parameters: BTreeMap<String, String>,
    /// The driver of idle states that must be in force.
    #[serde(default)]
    pub idle_driver: Option<String>,
    /// The idle governor that is put in force.
    #[serde(default)]
    pub governor: Option<String>,
    /// Other files of the kernel to write, by path.
    pub write: BTreeMap<String, String>,
    /// True if there is a disk, which is mounted on [`crate::names::DISK_FOLDER`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disk: bool,
    /// Files of the kernel that are read before and after the window.
    #[serde(default)]
    pub read: Vec<String>,
    /// The other CPUs must have been idle this long (ns) before the measurement …
    pub settle_ns: u64,
    /// … for which the agent waits at most so long (ns).
    pub settle_limit_ns: u64,
    /// The delay of the window after the start of the tasks, in addition to the usual one (ns).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shift_ns: u64,
    /// The length of the observation window (ns).
    pub measure_ns: u64,
    /// Trace events, `system:name`.
    pub events: Vec<String>,
    /// Trace buffer of each CPU, KiB.
    pub buffer_kib: u32,
    /// The CPUs whose events are recorded; all where it is none.
    #[serde(default)]
    pub trace_cpus: Option<CpuList>,
    /// True if every executed block is recorded, in the window and while the script runs.
    #[serde(default)]
    pub profile: bool,
    /// The tasks of the window.
    pub tasks: Vec<Task>,
    /// A fixed piece of work, timed after the window without tracing, or in it.
    pub script: Option<Script>,
    /// Start a shell on the console instead of measuring.
    pub shell: Option<Shell>,
}

/// A command on the guest's console, which is the user's terminal or is shown there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shell {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Further variables of its environment.
    pub environment: BTreeMap<String, String>,
    /// Rows and columns of the user's terminal, where there is one.
    pub size: Option<(u16, u16)>,
    /// The clock of the guest, which its programs find in [`Clock::FILE`].
    #[serde(default)]
    pub clock: Clock,
    /// True if the console sends each byte as it is, a newline without a carriage return: it goes to no terminal.
    pub plain: bool,
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// Something that runs during the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its CPUs.
    pub cpus: CpuList,
    /// Its scheduling policy.
    #[serde(default, skip_serializing_if = "Policy::is_other")]
    pub policy: Policy,
    /// Give it its CPUs as a cpuset partition of this kind, and not by its affinity alone.
    pub partition: Option<Partition>,
    /// It ends by itself, after the window, and must end well; else it is ended with the window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_its_end: bool,
    /// Its work.
    pub work: Work,
}

/// A scheduling policy (`sched(7)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// SCHED_OTHER.
    #[default]
    Other,
    /// SCHED_FIFO with this priority, 1 to 99.
    Fifo(u32),
    /// SCHED_DEADLINE: so long in every period, which is the deadline too.
    Deadline {
        /// ns.
        runtime_ns: u64,
        /// ns.
        period_ns: u64,
    },
}

impl Policy {
    fn is_other(&self) -> bool {
        *self == Policy::Other
    }
}

/// A kind of cpuset partition (`Documentation/admin-guide/cgroup-v2.rst`, cpuset.cpus.partition).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Partition {
    /// The CPUs are taken from all others and balanced among themselves.
    Root,
    /// And the scheduler balances nothing onto or among them.
    Isolated,
}

impl Partition {
    /// The kernel's word for it.
    pub fn kernel_name(self) -> &'static str {
        match self {
            Partition::Root => "root",
            Partition::Isolated => "isolated",
        }
    }
}

/// The work of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// CPU-bound user code without system calls.
    Spin,
    /// Creates and removes files in memory; the kernel frees their inodes and directory
    /// entries through RCU (`fs/dcache.c: dentry_free`, `fs/inode.c: destroy_inode`).
    RcuFree,
    /// A cheap system call in a loop.
    SyscallLoop,
    /// A real tool with its arguments.
    Tool(Vec<String>),
}

impl Work {
    /// A name for it: the study's word for a built-in task, the program of a tool.
    pub fn name(&self) -> &str {
        match self {
            Work::Spin => "spin",
            Work::RcuFree => "rcu-free",
            Work::SyscallLoop => "syscall-loop",
            Work::Tool(words) => words.first().map_or("", String::as_str),
        }
    }
}

/// A fixed piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Script {
    /// The CPU that it runs on.
    pub cpus: CpuList,
    /// Program and arguments.
    pub run: Vec<String>,
    /// It runs together with the tasks while all is recorded, and the window is as long as it.
    #[serde(default)]
    pub in_window: bool,
}

/// The piece of the agent's archive that holds the exit status of [`Job::shell`].
pub const SHELL_STATUS: &str = "shell.status";

/// The agent's result of a finished job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// True if the other CPUs came to rest before the measurement.
    pub settled: Settled,
    /// The window, ns of CLOCK_MONOTONIC.
    pub window_ns: (u64, u64),
    /// CPU time that each task had during the window with all its children (ns of user and of
    /// system time).
    pub task_cpu_ns: Vec<(u64, u64)>,
    /// The timed script, if there was one.
    pub script: Option<ScriptResult>,
    /// Notes on parts that failed: an event that this kernel lacks, a sysctl that it refused.
    pub notes: Vec<String>,
}

impl Outcome {
    /// The note that a task which was to run until the window closes had ended by itself.
    pub fn note_of_early_end(task: usize, status: impl std::fmt::Display) -> String {
        format!("{}({status})", early_end(task))
    }

    /// True if there is such a note of a task.
    pub fn has_ended_early(&self, task: usize) -> bool {
        self.notes.iter().any(|note| note.starts_with(&early_end(task)))
    }
}

fn early_end(task: usize) -> String {
    format!("task {task} ended before the window closed ")
}

/// The result of the settling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// The time that the agent waited, ns.
    pub waited_ns: u64,
    /// The CPUs that were still busy when the limit was reached; empty where all came to rest.
    pub restless: CpuList,
}

/// The timed script's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptResult {
    /// From start to end, ns.
    pub elapsed_ns: u64,
    /// User time, ns, as the kernel accounts it.
    pub user_ns: u64,
    /// System time, ns, as the kernel accounts it.
    pub system_ns: u64,
    /// Exit status.
    pub status: i32,
}
