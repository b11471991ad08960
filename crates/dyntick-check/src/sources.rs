// SPDX-License-Identifier: GPL-2.0-only
//! The files that the rules read: the input of a check, and the content of a support bundle.

/// The form in which a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The text.
    Text,
    /// The text, decompressed by gzip.
    Gzip,
    /// The kernel's command line. Bundles leave out the words after `--`, which are for init.
    CommandLine,
    /// The number, the flags and the date of the kernel's build, without the builder and the host.
    Build,
    /// The configuration of the running kernel, out of several kernels' configurations.
    OwnConfig,
    /// A native 32-bit number, written in decimal.
    Number,
    /// The lines that begin with one of these words, each once, and no others.
    Lines(&'static [&'static str]),
    /// The lines that contain one of these texts, and no others.
    Mentions(&'static [&'static str]),
    /// The same of the kernel's log, and without its text the first record since the boot, if it is still there.
    Log(&'static [&'static str]),
    /// A folder of links: the targets among these, one per line, and no others.
    Links(&'static [&'static str]),
    /// The state of a control group's partition with its CPUs; groups without a partition are left out.
    Partition,
}

/// A pattern of paths, and the form of the files that match it.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The paths; `*` matches any part of one name.
    pub pattern: &'static str,
    /// The form of the files.
    pub read: Read,
    /// The privilege that a reader needs; empty if every user may read it.
    pub needs: &'static str,
    /// The version below which a kernel's file is read; `None` for all. Reading must change nothing.
    pub before: Option<(u32, u32)>,
}

/// Expands to a file of each control group below a folder, one pattern per level.
macro_rules! levels {
    ($folder:literal, $file:literal) => {
        [
            concat!($folder, "/*/", $file),
            concat!($folder, "/*/*/", $file),
            concat!($folder, "/*/*/*/", $file),
            concat!($folder, "/*/*/*/*/", $file),
            concat!($folder, "/*/*/*/*/*/", $file),
            concat!($folder, "/*/*/*/*/*/*/", $file),
        ]
    };
}

/// Expands to a file of each cpuset of control groups v1.
macro_rules! cpusets {
    ($file:literal) => {
        [
            concat!("/sys/fs/cgroup/cpuset/*/cpuset.", $file),
            concat!("/sys/fs/cgroup/cpuset/*/*/cpuset.", $file),
            concat!("/sys/fs/cgroup/cpuset/*/*/*/cpuset.", $file),
            concat!("/dev/cpuset/*/cpuset.", $file),
            concat!("/dev/cpuset/*/*/cpuset.", $file),
            concat!("/dev/cpuset/*/*/*/cpuset.", $file),
            concat!("/dev/cpuset/*/", $file),
            concat!("/dev/cpuset/*/*/", $file),
            concat!("/dev/cpuset/*/*/*/", $file),
        ]
    };
}

pub(crate) const CMDLINE: &str = "/proc/cmdline";
/// `uname -r`.
pub const RELEASE: &str = "/proc/sys/kernel/osrelease";
/// The number, flags and date of the running kernel's build, whatever its configuration.
pub(crate) const VERSION: &str = "/proc/version";
/// A file of the real-time patches, present on PREEMPT_RT only.
pub(crate) const REALTIME: &str = "/sys/kernel/realtime";
pub(crate) const CONFIG_GZ: &str = "/proc/config.gz";
pub(crate) const BOOT_CONFIG: &str = "/boot/config-*";
/// The configuration's path in Fedora, and in Debian since 7.2.
pub(crate) const MODULES_CONFIG: &str = "/usr/lib/modules/*/config";
pub(crate) const KERNEL_LOG: &str = "/dev/kmsg";
pub(crate) const CPUINFO: &str = "/proc/cpuinfo";
pub(crate) const STAT: &str = "/proc/stat";
pub(crate) const INTERRUPTS: &str = "/proc/interrupts";
pub(crate) const SWAPS: &str = "/proc/swaps";
pub(crate) const POSSIBLE: &str = "/sys/devices/system/cpu/possible";
pub(crate) const PRESENT: &str = "/sys/devices/system/cpu/present";
pub(crate) const ONLINE: &str = "/sys/devices/system/cpu/online";
pub(crate) const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
pub(crate) const NOHZ_FULL: &str = "/sys/devices/system/cpu/nohz_full";
pub(crate) const NODES: &str = "/sys/devices/system/node/online";
pub(crate) const NODE_CPUS: &str = "/sys/devices/system/node/node*/cpulist";
pub(crate) const CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";
pub(crate) const PARTITION: &str = "/sys/fs/cgroup/*/cpuset.cpus.partition";
pub(crate) const PARTITION_2: &str = "/sys/fs/cgroup/*/*/cpuset.cpus.partition";
pub(crate) const PARTITION_3: &str = "/sys/fs/cgroup/*/*/*/cpuset.cpus.partition";
pub(crate) const SIBLINGS: &str = "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list";
pub(crate) const PACKAGE: &str = "/sys/devices/system/cpu/cpu*/topology/physical_package_id";
pub(crate) const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
pub(crate) const CLOCKSOURCES: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
pub(crate) const STAT_INTERVAL: &str = "/proc/sys/vm/stat_interval";
pub(crate) const WATCHDOG_CPUMASK: &str = "/proc/sys/kernel/watchdog_cpumask";
pub(crate) const SOFT_WATCHDOG: &str = "/proc/sys/kernel/soft_watchdog";
pub(crate) const NMI_WATCHDOG: &str = "/proc/sys/kernel/nmi_watchdog";
pub(crate) const WATCHDOG_THRESH: &str = "/proc/sys/kernel/watchdog_thresh";
pub(crate) const TIMER_MIGRATION: &str = "/proc/sys/kernel/timer_migration";
/// The time that real-time tasks may use of each period, µs; -1 for all of it.
pub const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
pub(crate) const RT_PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
pub(crate) const NUMA_BALANCING: &str = "/proc/sys/kernel/numa_balancing";
pub(crate) const IRQ_AFFINITY: &str = "/proc/irq/*/smp_affinity_list";
pub(crate) const IRQ_EFFECTIVE: &str = "/proc/irq/*/effective_affinity_list";
pub(crate) const IRQ_ACTIONS: &str = "/sys/kernel/irq/*/actions";
pub(crate) const IRQ_DEFAULT: &str = "/proc/irq/default_smp_affinity";
pub(crate) const WORKQUEUE_CPUMASK: &str = "/sys/devices/virtual/workqueue/cpumask";
pub(crate) const WORKQUEUE_MASKS: &str = "/sys/devices/virtual/workqueue/*/cpumask";
pub(crate) const TASK_STAT: &str = "/proc/*/task/*/stat";
pub(crate) const TASK_STATUS: &str = "/proc/*/task/*/status";
pub(crate) const TASK_FILES: &str = "/proc/*/fd";
pub(crate) const TASK_CGROUP: &str = "/proc/*/cgroup";
pub(crate) const TASK_LIMITS: &str = "/proc/*/limits";
pub(crate) const CPU_MAX: [&str; 6] = levels!("/sys/fs/cgroup", "cpu.max");
/// The quota files of control groups v1, whose controllers name the folder; most distributions mount both in one.
pub(crate) const CPU_QUOTA: [&str; 6] = levels!("/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us");
pub(crate) const CPU_QUOTA_ALONE: [&str; 6] = levels!("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us");
/// The cpusets of control groups v1: the root's, then three levels. If mounted alone, their files may have no prefix.
pub(crate) const BALANCE_ROOT: [&str; 3] = [
    "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance",
    "/dev/cpuset/cpuset.sched_load_balance",
    "/dev/cpuset/sched_load_balance",
];
pub(crate) const BALANCE: [&str; 9] = cpusets!("sched_load_balance");
pub(crate) const CPUSET_CPUS: [&str; 9] = cpusets!("cpus");
pub(crate) const SCHED_EXT: &str = "/sys/kernel/sched_ext/state";
pub(crate) const SCHED_EXT_OPS: &str = "/sys/kernel/sched_ext/root/ops";
/// Set if a BPF scheduler has all normal tasks, and not only those that ask for it.
pub(crate) const SCHED_EXT_ALL: &str = "/sys/kernel/sched_ext/switch_all";
pub(crate) const COUNTER_CPUS: &str = "/sys/bus/event_source/devices/*/cpumask";
pub(crate) const RPS_CPUS: &str = "/sys/class/net/*/queues/*/rps_cpus";
pub(crate) const RPS_DEFAULT: &str = "/proc/sys/net/core/rps_default_mask";
pub(crate) const RFS_QUEUE: &str = "/sys/class/net/*/queues/*/rps_flow_cnt";
pub(crate) const RFS_FLOWS: &str = "/proc/sys/net/core/rps_sock_flow_entries";
pub(crate) const COMPACTION: &str = "/proc/sys/vm/compaction_proactiveness";
pub(crate) const COMPACT_LOCKED: &str = "/proc/sys/vm/compact_unevictable_allowed";
pub(crate) const CPU_DMA_LATENCY: &str = "/dev/cpu_dma_latency";
pub(crate) const RESUME_LATENCY: &str = "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us";
pub(crate) const IDLE_DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";
pub(crate) const IDLE_GOVERNOR: &str = "/sys/devices/system/cpu/cpuidle/current_governor";
pub(crate) const IDLE_NAME: &str = "/sys/devices/system/cpu/cpu*/cpuidle/state*/name";
pub(crate) const IDLE_LATENCY: &str = "/sys/devices/system/cpu/cpu*/cpuidle/state*/latency";
pub(crate) const IDLE_DISABLE: &str = "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable";
pub(crate) const FREQ_DRIVER: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_driver";
pub(crate) const FREQ_GOVERNOR: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
pub(crate) const FREQ_PREFERENCE: &str = "/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference";
pub(crate) const INTEL_PSTATE: &str = "/sys/devices/system/cpu/intel_pstate/status";
pub(crate) const AMD_PSTATE: &str = "/sys/devices/system/cpu/amd_pstate/status";
pub(crate) const UNCORE_MIN: &str = "/sys/devices/system/cpu/intel_uncore_frequency/*/min_freq_khz";
pub(crate) const UNCORE_MAX: &str = "/sys/devices/system/cpu/intel_uncore_frequency/*/max_freq_khz";
pub(crate) const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
pub(crate) const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
pub(crate) const FAIR_SERVER: &str = "/sys/kernel/debug/sched/fair_server/cpu*/runtime";
/// The deadline server of a BPF scheduler's tasks, since 7.0.
pub(crate) const EXT_SERVER: &str = "/sys/kernel/debug/sched/ext_server/cpu*/runtime";
pub(crate) const MCE_INTERVAL: &str = "/sys/devices/system/machinecheck/machinecheck0/check_interval";
/// Set if all grace periods are expedited; `rcu_normal` (none is) takes precedence.
pub(crate) const RCU_EXPEDITED: &str = "/sys/kernel/rcu_expedited";
pub(crate) const RCU_NORMAL: &str = "/sys/kernel/rcu_normal";
pub(crate) const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
pub(crate) const KSM: &str = "/sys/kernel/mm/ksm/run";
pub(crate) const TRACING_ON: &str = "/sys/kernel/tracing/instances/*/tracing_on";
pub(crate) const TRACED_EVENTS: &str = "/sys/kernel/tracing/instances/*/events/enable";
pub(crate) const TRACER: &str = "/sys/kernel/tracing/instances/*/current_tracer";
pub(crate) const MAIN_TRACING_ON: &str = "/sys/kernel/tracing/tracing_on";
pub(crate) const MAIN_EVENTS: &str = "/sys/kernel/tracing/events/enable";
pub(crate) const MAIN_TRACER: &str = "/sys/kernel/tracing/current_tracer";
pub(crate) const KPROBES: &str = "/sys/kernel/tracing/kprobe_events";
/// The environment of irqbalance's service: Debian's file, and that of Red Hat and others.
pub(crate) const IRQBALANCE: &str = "/etc/default/irqbalance";
pub(crate) const IRQBALANCE_RH: &str = "/etc/sysconfig/irqbalance";
pub(crate) const TUNED_PROFILE: &str = "/etc/tuned/active_profile";

/// The kernel's messages about parameters that it refuses, about the clock, and about throttled real-time tasks.
const LOG_TEXTS: &[&str] = &[
    "Unknown kernel command line parameters",
    // 5.14 only.
    "Unknown command line parameters",
    "Malformed early option",
    "invalid for parameter `",
    "too large for parameter `",
    " is obsolete, ignored",
    ": unknown parameter '",
    "workqueue.unbound_cpus: incorrect CPU range",
    "RT throttling activated",
    "nohz unsupported",
    "sched_ext: ",
    "Housekeeping: ",
    "isolcpus: ",
    // Before 4.15.
    "all isolcpus= values",
    "NO_HZ: ",
    "NOHZ: ",
    "rcu_nocbs= bad CPU range",
    "Marking TSC unstable",
    "Marking clocksource",
    "marking tsc unstable",
    "TSC warp",
    "TSC found unstable after boot",
    "sched_clock: Marking unstable",
];

/// The variables that name the CPUs for irqbalance to spare.
const BANNED: &[&str] = &["IRQBALANCE_BANNED_CPU"];

/// The group of control groups v2, and that of the controller `cpu` of v1.
const GROUPS: &[&str] = &["0::/", ":cpu,cpuacct:/", ":cpu:/"];

pub(crate) const PERF_EVENT: &str = "anon_inode:[perf_event]";

const fn text(pattern: &'static str) -> Source {
    Source { pattern, read: Read::Text, needs: "", before: None }
}

const fn as_root(pattern: &'static str, read: Read, needs: &'static str) -> Source {
    Source { pattern, read, needs, before: None }
}

/// The files that may be read only until 6.12. On 6.12.117 (`kernel/sched/rt.c: sched_rt_handler`) even a read rebuilds
/// the scheduling domains and loses the deadline bandwidth account; from then on no fair server can be changed.
const fn until_6_12(pattern: &'static str) -> Source {
    Source { before: Some((6, 12)), ..text(pattern) }
}

/// Returns true if reading a file would change a machine with this kernel: readers of settings skip these files.
pub fn is_changed_by_reading(path: &str, kernel: (u32, u32)) -> bool {
    SOURCES
        .iter()
        .any(|source| source.pattern == path && source.before.is_some_and(|before| kernel >= before))
}

/// The files that any rule reads.
pub const SOURCES: &[Source] = &[
    Source { pattern: CMDLINE, read: Read::CommandLine, needs: "", before: None },
    text(RELEASE),
    Source { pattern: VERSION, read: Read::Build, needs: "", before: None },
    text(REALTIME),
    Source { pattern: CONFIG_GZ, read: Read::Gzip, needs: "", before: None },
    // Readable by root alone on some distributions.
    as_root(BOOT_CONFIG, Read::OwnConfig, "root, or CAP_DAC_READ_SEARCH"),
    as_root(MODULES_CONFIG, Read::OwnConfig, "root, or CAP_DAC_READ_SEARCH"),
    as_root(KERNEL_LOG, Read::Log(LOG_TEXTS), "root, or CAP_SYSLOG"),
    Source {
        pattern: CPUINFO,
        read: Read::Lines(&["vendor_id", "model name", "flags", "CPU implementer", "CPU architecture"]),
        needs: "",
        before: None,
    },
    Source { pattern: STAT, read: Read::Lines(&["cpu"]), needs: "", before: None },
    text(INTERRUPTS),
    text(SWAPS),
    text(POSSIBLE),
    text(PRESENT),
    text(ONLINE),
    text(ISOLATED),
    text(NOHZ_FULL),
    text(NODES),
    text(NODE_CPUS),
    text(CONTROLLERS),
    Source { pattern: PARTITION, read: Read::Partition, needs: "", before: None },
    Source { pattern: PARTITION_2, read: Read::Partition, needs: "", before: None },
    Source { pattern: PARTITION_3, read: Read::Partition, needs: "", before: None },
    text(SIBLINGS),
    text(PACKAGE),
    text(CLOCKSOURCE),
    text(CLOCKSOURCES),
    as_root(STAT_INTERVAL, Read::Text, "root"),
    text(WATCHDOG_CPUMASK),
    text(SOFT_WATCHDOG),
    text(NMI_WATCHDOG),
    text(WATCHDOG_THRESH),
    text(TIMER_MIGRATION),
    until_6_12(RT_RUNTIME),
    until_6_12(RT_PERIOD),
    text(NUMA_BALANCING),
    text(IRQ_AFFINITY),
    text(IRQ_EFFECTIVE),
    text(IRQ_ACTIONS),
    text(IRQ_DEFAULT),
    text(WORKQUEUE_CPUMASK),
    text(WORKQUEUE_MASKS),
    text(TASK_STAT),
    Source {
        pattern: TASK_STATUS,
        read: Read::Lines(&["Cpus_allowed_list:", "VmLck:"]),
        needs: "",
        before: None,
    },
    as_root(TASK_FILES, Read::Links(&[PERF_EVENT, CPU_DMA_LATENCY]), "root, or CAP_SYS_PTRACE"),
    Source { pattern: TASK_CGROUP, read: Read::Mentions(GROUPS), needs: "", before: None },
    Source { pattern: TASK_LIMITS, read: Read::Lines(&["Max cpu time"]), needs: "", before: None },
    text(CPU_MAX[0]),
    text(CPU_MAX[1]),
    text(CPU_MAX[2]),
    text(CPU_MAX[3]),
    text(CPU_MAX[4]),
    text(CPU_MAX[5]),
    text(CPU_QUOTA[0]),
    text(CPU_QUOTA[1]),
    text(CPU_QUOTA[2]),
    text(CPU_QUOTA[3]),
    text(CPU_QUOTA[4]),
    text(CPU_QUOTA[5]),
    text(CPU_QUOTA_ALONE[0]),
    text(CPU_QUOTA_ALONE[1]),
    text(CPU_QUOTA_ALONE[2]),
    text(CPU_QUOTA_ALONE[3]),
    text(CPU_QUOTA_ALONE[4]),
    text(CPU_QUOTA_ALONE[5]),
    text(BALANCE_ROOT[0]),
    text(BALANCE_ROOT[1]),
    text(BALANCE_ROOT[2]),
    text(BALANCE[0]),
    text(CPUSET_CPUS[0]),
    text(BALANCE[1]),
    text(CPUSET_CPUS[1]),
    text(BALANCE[2]),
    text(CPUSET_CPUS[2]),
    text(BALANCE[3]),
    text(CPUSET_CPUS[3]),
    text(BALANCE[4]),
    text(CPUSET_CPUS[4]),
    text(BALANCE[5]),
    text(CPUSET_CPUS[5]),
    text(BALANCE[6]),
    text(CPUSET_CPUS[6]),
    text(BALANCE[7]),
    text(CPUSET_CPUS[7]),
    text(BALANCE[8]),
    text(CPUSET_CPUS[8]),
    text(SCHED_EXT),
    text(SCHED_EXT_OPS),
    text(SCHED_EXT_ALL),
    text(COUNTER_CPUS),
    text(RPS_CPUS),
    text(RPS_DEFAULT),
    text(RFS_QUEUE),
    text(RFS_FLOWS),
    text(COMPACTION),
    text(COMPACT_LOCKED),
    as_root(CPU_DMA_LATENCY, Read::Number, "root, or CAP_DAC_READ_SEARCH"),
    text(RESUME_LATENCY),
    text(IDLE_DRIVER),
    text(IDLE_GOVERNOR),
    text(IDLE_NAME),
    text(IDLE_LATENCY),
    text(IDLE_DISABLE),
    text(FREQ_DRIVER),
    text(FREQ_GOVERNOR),
    text(FREQ_PREFERENCE),
    text(INTEL_PSTATE),
    text(AMD_PSTATE),
    text(UNCORE_MIN),
    text(UNCORE_MAX),
    text(NO_TURBO),
    text(BOOST),
    as_root(FAIR_SERVER, Read::Text, "root, or CAP_DAC_READ_SEARCH; debugfs mounted"),
    as_root(EXT_SERVER, Read::Text, "root, or CAP_DAC_READ_SEARCH; debugfs mounted"),
    as_root(MCE_INTERVAL, Read::Text, "root"),
    text(RCU_EXPEDITED),
    text(RCU_NORMAL),
    text(THP),
    text(KSM),
    as_root(TRACING_ON, Read::Text, "root, or CAP_DAC_READ_SEARCH"),
    as_root(TRACED_EVENTS, Read::Text, "root, or CAP_DAC_READ_SEARCH"),
    as_root(TRACER, Read::Text, "root, or CAP_DAC_READ_SEARCH"),
    as_root(MAIN_TRACING_ON, Read::Text, "root, or CAP_DAC_READ_SEARCH"),
    as_root(MAIN_EVENTS, Read::Text, "root, or CAP_DAC_READ_SEARCH"),
    as_root(MAIN_TRACER, Read::Text, "root, or CAP_DAC_READ_SEARCH"),
    as_root(KPROBES, Read::Text, "root, or CAP_DAC_READ_SEARCH"),
    Source { pattern: IRQBALANCE, read: Read::Lines(BANNED), needs: "", before: None },
    Source { pattern: IRQBALANCE_RH, read: Read::Lines(BANNED), needs: "", before: None },
    text(TUNED_PROFILE),
];
