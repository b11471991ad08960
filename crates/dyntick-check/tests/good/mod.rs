// SPDX-License-Identifier: GPL-2.0-only
//! A server on 6.12 with four CPUs, two of them properly isolated.

use dyntick_check::{Content, Snapshot};
use std::collections::BTreeMap;

const CMDLINE: &str = "nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1";

const CONFIG: &str = "CONFIG_HZ=250\nCONFIG_NO_HZ_COMMON=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\n\
    CONFIG_CPU_ISOLATION=y\nCONFIG_PREEMPT_DYNAMIC=y\nCONFIG_TRANSPARENT_HUGEPAGE=y";

const FILES: &[(&str, &str)] = &[
    ("/proc/cmdline", CMDLINE),
    ("/proc/sys/kernel/osrelease", "6.12.117-test"),
    ("/boot/config-6.12.117-test", CONFIG),
    ("/proc/cpuinfo", "flags : constant_tsc nonstop_tsc tsc_adjust"),
    ("/proc/swaps", "Filename Type Size Used Priority"),
    ("/sys/devices/system/cpu/possible", "0-3"),
    ("/sys/devices/system/cpu/present", "0-3"),
    ("/sys/devices/system/cpu/online", "0-3"),
    ("/sys/devices/system/cpu/isolated", "2-3"),
    ("/sys/devices/system/cpu/nohz_full", "2-3"),
    ("/sys/devices/system/node/online", "0"),
    ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids"),
    ("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2-3"),
    ("/sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "2-3"),
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
    ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm"),
    ("/proc/sys/vm/stat_interval", "1"),
    ("/proc/sys/kernel/watchdog_cpumask", "0-1"),
    ("/proc/sys/kernel/soft_watchdog", "1"),
    ("/proc/sys/kernel/nmi_watchdog", "1"),
    ("/proc/sys/kernel/watchdog_thresh", "10"),
    ("/proc/sys/kernel/timer_migration", "1"),
    ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
    ("/proc/sys/kernel/sched_rt_period_us", "1000000"),
    ("/proc/sys/kernel/numa_balancing", "0"),
    ("/proc/irq/24/smp_affinity_list", "0-3"),
    ("/proc/irq/24/effective_affinity_list", "1"),
    ("/sys/kernel/irq/24/actions", "eth0"),
    ("/proc/irq/default_smp_affinity", "3"),
    ("/sys/devices/virtual/workqueue/cpumask", "3"),
    ("/proc/50/task/50/stat", "50 (kswapd0) S 2 0 0 0 -1 2107392 0"),
    ("/proc/50/task/50/status", "Cpus_allowed_list: 0-1"),
    ("/proc/51/task/51/stat", "51 (migration/2) S 2 0 0 0 -1 69238848 0"),
    ("/proc/51/task/51/status", "Cpus_allowed_list: 2"),
    ("/proc/900/task/900/stat", "900 (sshd) S 1 900 900 0 -1 4194304 0"),
    ("/proc/900/task/900/status", "Cpus_allowed_list: 0-1"),
    ("/proc/901/task/901/stat", "901 (worker) R 1 901 901 0 -1 4194304 0"),
    ("/proc/901/task/901/status", "Cpus_allowed_list: 2-3"),
    ("/dev/cpu_dma_latency", "2000000000"),
    ("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle"),
    ("/sys/devices/system/cpu/cpuidle/current_governor", "teo"),
    ("/sys/devices/system/cpu/cpu2/cpuidle/state0/name", "POLL"),
    ("/sys/devices/system/cpu/cpu2/cpuidle/state0/latency", "0"),
    ("/sys/devices/system/cpu/cpu2/cpuidle/state1/name", "C6"),
    ("/sys/devices/system/cpu/cpu2/cpuidle/state1/latency", "133"),
    ("/sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us", "10"),
    ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance"),
    ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_driver", "intel_pstate"),
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
    ("/sys/kernel/debug/sched/fair_server/cpu2/runtime", "0"),
    ("/sys/kernel/debug/sched/fair_server/cpu3/runtime", "0"),
    ("/sys/devices/system/machinecheck/machinecheck0/check_interval", "0"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
    ("/sys/kernel/mm/ksm/run", "0"),
];

/// The files by path.
pub fn files() -> BTreeMap<String, String> {
    FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Files as a snapshot; `GOOD` is replaced by this machine's command line, `GOODCONFIG` by its configuration.
pub fn good(files: &BTreeMap<String, String>) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (path, text) in files {
        let text = text.replace("GOODCONFIG", CONFIG).replace("GOOD", CMDLINE);
        snapshot.insert(path.clone(), Content::Text(format!("{text}\n")));
    }
    snapshot
}
