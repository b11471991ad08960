// SPDX-License-Identifier: GPL-2.0-only
//! Each rule finds its problem on an otherwise well-configured machine, and no other rule finds anything.

use crate::good::{files, good};
use dyntick_check::{Content, Finding, Machine, Report, Severity, Snapshot, rules, sources};
use dyntick_model::Fix;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn findings(files: &Snapshot) -> Vec<Finding> {
    Report::of(&Machine::new(files, None).unwrap(), files).findings
}

/// The good machine with some files replaced: `path = text`, one per line; `-` removes the file.
fn but(changes: &str) -> Snapshot {
    let mut all = files();
    for line in changes.lines().filter(|line| !line.trim().is_empty()) {
        let (path, text) = line.trim().split_once(" =").unwrap();
        match text.trim() {
            "-" => {
                all.remove(path);
            }
            text => {
                // The fields of a task between its state and its priority: for a program, and for a kernel thread.
                let until = |flags: &str| format!("1 901 901 0 -1 {flags} {}", "0 ".repeat(30).trim_end());
                let text = text.replace("POLICY", &until("4194304")).replace("KERNEL", &until("69238848"));
                // The same for a program on CPU 3.
                let text =
                    text.replace("ON3", &format!("{} 3", until("4194304").strip_suffix(" 0").unwrap()));
                all.insert(path.to_owned(), text.replace("\\n", "\n"));
            }
        }
    }
    good(&all)
}

/// The changes that trigger each rule, and the severity of its finding.
const CASES: &[(&str, Severity, &str)] = &[
    ("refused-parameter", Severity::Error, "/proc/cmdline = GOOD nohz_full=2-8"),
    ("refused-parameter", Severity::Error, "/proc/cmdline = GOOD isolcpus=domain,2-x"),
    ("refused-parameter", Severity::Error, "/proc/cmdline = GOOD isolcpus=no-hz,2"),
    ("conflicting-isolation", Severity::Error, "/proc/cmdline = GOOD isolcpus=nohz,1"),
    (
        "not-in-effect",
        Severity::Error,
        "/sys/devices/system/cpu/isolated = 3
         /sys/fs/cgroup/quiet/cpuset.cpus.partition = isolated\\n2-3",
    ),
    (
        "unsupported-parameter",
        Severity::Error,
        "/proc/cmdline = GOOD preempt=full
         /boot/config-6.12.117-test = CONFIG_NO_HZ_FULL=y\\nCONFIG_CPU_ISOLATION=y\\nCONFIG_RCU_NOCB_CPU=y",
    ),
    ("parameter-typo", Severity::Warning, "/proc/cmdline = GOOD rcu_nocb=2-3"),
    (
        "parameter-typo",
        Severity::Error,
        "/proc/cmdline = GOOD nozh_full=2-3
         /dev/kmsg = 5,1,0,-;Unknown kernel command line parameters \"nozh_full=2-3\", will be passed to user space.",
    ),
    ("unknown-value", Severity::Error, "/proc/cmdline = GOOD mce=ignore-ce"),
    (
        "rejected-parameter",
        Severity::Error,
        "/proc/cmdline = GOOD rcutree.kthread_prio=high
         /dev/kmsg = 3,40,0,-;Booting kernel: `high' invalid for parameter `rcutree.kthread_prio'",
    ),
    (
        "rejected-parameter",
        Severity::Error,
        "/proc/cmdline = GOOD console=tty0 maxcpus=four
         /dev/kmsg = 4,9,0,-;Malformed early option 'console'\\n4,9,0,-;Malformed early option 'maxcpus'",
    ),
    (
        "rejected-parameter",
        Severity::Error,
        "/proc/cmdline = GOOD workqueue.unbound_cpus=0-x
         /dev/kmsg = 4,9,0,-;workqueue.unbound_cpus: incorrect CPU range, using default",
    ),
    (
        "rejected-parameter",
        Severity::Error,
        "/proc/cmdline = GOOD kvm.no_such=1
         /dev/kmsg = 4,900,9,-;kvm: unknown parameter 'no_such' ignored",
    ),
    (
        "rejected-parameter",
        Severity::Warning,
        "/proc/cmdline = GOOD nosoftlockup splash
         /dev/kmsg = 5,1,0,-;Unknown kernel command line parameters \"splash nosoftlockup\", will be passed to user space.",
    ),
    (
        "rejected-parameter",
        Severity::Note,
        "/proc/cmdline = GOOD ras=off nokaslr BOOT_IMAGE=/vmlinuz
         /dev/kmsg = 5,1,0,-;Unknown kernel command line parameters \"nokaslr BOOT_IMAGE=/vmlinuz ras=off\", will be passed to user space.",
    ),
    ("unknown-value", Severity::Error, "/proc/cmdline = GOOD nmi_watchdog=off"),
    ("unknown-value", Severity::Error, "/proc/cmdline = GOOD idle=mwait"),
    ("unknown-value", Severity::Error, "/proc/cmdline = GOOD preempt=lazy"),
    ("unknown-value", Severity::Error, "/proc/cmdline = GOOD tsc=reliabel"),
    (
        "unknown-value",
        Severity::Error,
        "/proc/cmdline = GOOD intel_idle.table=C6:400:100
         /proc/sys/kernel/osrelease = 7.2.13-test
         /boot/config-7.2.13-test = GOODCONFIG",
    ),
    ("unknown-isolcpus-flag", Severity::Error, "/proc/cmdline = nohz_full=2-3 isolcpus=domain,managed_iq,managed_irq,2-3 irqaffinity=0-1"),
    ("unknown-value", Severity::Error, "/proc/cmdline = GOOD amd_pstate=none"),
    ("unknown-value", Severity::Error, "/proc/cmdline = GOOD skew_tick=on"),
    ("unknown-value", Severity::Error, "/proc/cmdline = GOOD cpuidle.governor=tea"),
    (
        "not-realtime",
        Severity::Warning,
        "/proc/sys/kernel/osrelease = 6.12.117-rt45
         /boot/config-6.12.117-rt45 = GOODCONFIG",
    ),
    ("nohz-off", Severity::Error, "/proc/cmdline = GOOD nohz=off"),
    ("empty-list", Severity::Note, "/proc/cmdline = GOOD rcu_nocbs="),
    (
        "patched-kernel",
        Severity::Note,
        "/proc/cmdline = nohz_full=inverse,0-1 isolcpus=inverse,0-1 irqaffinity=0-1",
    ),
    (
        "foreign-architecture",
        Severity::Note,
        "/proc/cmdline = GOOD tsc=reliable
         /proc/cpuinfo = CPU implementer : 0x41",
    ),
    (
        "foreign-architecture",
        Severity::Note,
        "/proc/cmdline = GOOD intel_idle.max_cstate=1
         /proc/cpuinfo = vendor_id : AuthenticAMD\\nflags : constant_tsc nonstop_tsc tsc_adjust",
    ),
    ("parameter-typo", Severity::Warning, "/proc/cmdline = GOOD noht"),
    ("parameter-typo", Severity::Warning, "/proc/cmdline = GOOD workqueue.cpumask=1"),
    ("parameter-typo", Severity::Note, "/proc/cmdline = GOOD noirqbalance"),
    (
        "sched-ext",
        Severity::Warning,
        "/dev/kmsg = 4,2,9,-;sched_ext: Not compatible with \"isolcpus=\" domain isolation",
    ),
    (
        "conflicting-isolation",
        Severity::Error,
        "/proc/sys/kernel/osrelease = 5.10.0-test
         /proc/sys/kernel/sched_rt_runtime_us = -
         /proc/cmdline = nohz_full=2-3 isolcpus=domain,managed_irq,1-3 irqaffinity=0-1
         /sys/devices/system/cpu/isolated =
         /sys/fs/cgroup/quiet/cpuset.cpus.partition = isolated\\n2-3
         /boot/config-5.10.0-test = GOODCONFIG",
    ),
    ("bad-cpu-list", Severity::Error, "/proc/cmdline = nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1,9"),
    ("bad-cpu-list", Severity::Error, "/proc/cmdline = GOOD rcu_nocbs=2:3"),
    (
        "all-cpus-isolated",
        Severity::Warning,
        "/proc/cmdline = nohz_full=all irqaffinity=0
         /sys/devices/system/cpu/nohz_full = 1-3
         /sys/devices/system/cpu/isolated =
         /sys/fs/cgroup/quiet/cpuset.cpus.partition = isolated\\n1-3
         /sys/devices/virtual/workqueue/cpumask = 1
         /proc/sys/kernel/watchdog_cpumask = 0
         /proc/irq/default_smp_affinity = 1
         /proc/irq/24/effective_affinity_list = 0
         /proc/50/task/50/status = Cpus_allowed_list: 0
         /proc/900/task/900/status = Cpus_allowed_list: 0
         /sys/devices/system/cpu/cpu1/topology/thread_siblings_list = 1",
    ),
    (
        "boot-cpu-isolated",
        Severity::Warning,
        "/proc/cmdline = nohz_full=0,2-3 irqaffinity=1
         /sys/devices/system/cpu/isolated =
         /sys/fs/cgroup/quiet/cpuset.cpus.partition = isolated\\n2-3
         /sys/devices/virtual/workqueue/cpumask = 2
         /proc/sys/kernel/watchdog_cpumask = 1
         /proc/irq/default_smp_affinity = 2
         /proc/irq/24/effective_affinity_list = 1
         /proc/50/task/50/status = Cpus_allowed_list: 1
         /proc/900/task/900/status = Cpus_allowed_list: 1
         /sys/devices/system/cpu/cpu0/topology/thread_siblings_list = 0",
    ),
    ("isolated-cpu-offline", Severity::Warning, "/sys/devices/system/cpu/online = 0-2"),
    (
        "partition-invalid",
        Severity::Error,
        "/sys/fs/cgroup/rt/cpuset.cpus.partition = isolated invalid (Parent is not a partition root)\\n1",
    ),
    ("tsc-unstable", Severity::Warning, "/proc/cmdline = GOOD tsc=unstable"),
    ("tsc-unstable", Severity::Warning, "/dev/kmsg = 5,1,0,-;tsc: Marking TSC unstable due to TSCs unsynchronized"),
    (
        "tsc-unstable",
        Severity::Error,
        "/dev/kmsg = 4,2,9,-;sched_clock: Marking unstable (1346250036096440, -101921334)",
    ),
    (
        "tsc-unstable",
        Severity::Error,
        "/dev/kmsg = 5,1,0,-;tsc: Marking TSC unstable due to clocksource watchdog\\n4,2,9,-;TSC found unstable after boot",
    ),
    (
        "isolcpus-without-domain",
        Severity::Warning,
        "/proc/cmdline = nohz_full=2-3 isolcpus=managed_irq,2-3 irqaffinity=0-1
         /sys/devices/system/cpu/isolated =",
    ),
    (
        "load-balanced",
        Severity::Warning,
        "/proc/cmdline = nohz_full=2-3 irqaffinity=0-1
         /sys/devices/system/cpu/isolated =",
    ),
    ("foreign-parameter", Severity::Note, "/proc/cmdline = GOOD kthread_cpus=0-1"),
    (
        "foreign-parameter",
        Severity::Warning,
        "/proc/cmdline = isolcpus=domain,managed_irq,2-3 irqaffinity=0-1 rcu_nocbs=2-3 kthread_cpus=0-1
         /sys/devices/system/cpu/nohz_full =",
    ),
    (
        "isolcpus-nohz",
        Severity::Warning,
        "/proc/cmdline = isolcpus=nohz,domain,managed_irq,2-3 irqaffinity=0-1",
    ),
    (
        "timers-of-others",
        Severity::Warning,
        "/proc/cmdline = isolcpus=domain,managed_irq,2-3 irqaffinity=0-1 rcu_nocbs=2-3
         /sys/devices/system/cpu/nohz_full =",
    ),
    (
        "refused-parameter",
        Severity::Error,
        "/proc/cmdline = nohz_full=2-3 isolcpus=domain,0-1
         /proc/sys/kernel/osrelease = 6.19.2-test
         /boot/config-6.19.2-test = GOODCONFIG
         /sys/devices/system/cpu/isolated =
         /sys/fs/cgroup/quiet/cpuset.cpus.partition = isolated\\n2-3",
    ),
    (
        "all-cpus-isolated",
        Severity::Warning,
        "/proc/cmdline = nohz_full=0-3 maxcpus=2 irqaffinity=0
         /sys/devices/system/cpu/nohz_full = 1-3
         /sys/devices/system/cpu/online = 0-1
         /sys/devices/system/cpu/isolated =
         /sys/fs/cgroup/quiet/cpuset.cpus.partition = isolated\\n1-3
         /sys/devices/virtual/workqueue/cpumask = 1
         /proc/sys/kernel/watchdog_cpumask = 0
         /proc/irq/default_smp_affinity = 1
         /proc/irq/24/effective_affinity_list = 0
         /proc/50/task/50/status = Cpus_allowed_list: 0
         /proc/900/task/900/status = Cpus_allowed_list: 0",
    ),
    (
        "frequency-governor",
        Severity::Note,
        "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor = powersave
         /sys/devices/system/cpu/cpu3/cpufreq/energy_performance_preference = balance_performance
         /sys/devices/system/cpu/intel_pstate/status = active",
    ),
    (
        "frequency-governor",
        Severity::Warning,
        "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor = powersave
         /sys/devices/system/cpu/cpu3/cpufreq/scaling_driver = acpi-cpufreq",
    ),
    ("slow-clocksource", Severity::Warning, "/sys/devices/system/clocksource/clocksource0/current_clocksource = hyperv_clocksource_msr"),
    ("unknown-value", Severity::Error, "/proc/cmdline = GOOD intel_pstate=none"),
    ("perf-events", Severity::Warning, "/proc/900/fd = anon_inode:[perf_event]\\nanon_inode:[perf_event]"),
    ("fair-server", Severity::Warning, "/sys/kernel/debug/sched/fair_server/cpu2/runtime = 50000000"),
    ("device-irqs", Severity::Note, "/proc/irq/24/effective_affinity_list = 2"),
    (
        "device-irqs",
        Severity::Warning,
        "/proc/irq/24/effective_affinity_list = 2
         /proc/interrupts = CPU0 CPU1 CPU2 CPU3\\n 24: 5 0 7 0 IO-APIC 24-edge eth0",
    ),
    ("smt-sibling", Severity::Warning, "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list = 0,2"),
    ("kernel-threads", Severity::Warning, "/proc/50/task/50/status = Cpus_allowed_list: 0-3"),
    ("workqueue-cpumask", Severity::Warning, "/sys/devices/virtual/workqueue/cpumask = f"),
    (
        "callbacks-not-offloaded",
        Severity::Warning,
        "/proc/cmdline = isolcpus=domain,managed_irq,2-3 irqaffinity=0-1
         /sys/devices/system/cpu/nohz_full =",
    ),
    ("timer-migration", Severity::Note, "/proc/sys/kernel/timer_migration = 0"),
    (
        "vmstat",
        Severity::Warning,
        "/proc/cmdline = isolcpus=domain,managed_irq,2-3 irqaffinity=0-1 rcu_nocbs=2-3
         /sys/devices/system/cpu/nohz_full =
         /proc/sys/kernel/osrelease = 6.1.192-test
         /boot/config-6.1.192-test = CONFIG_HZ=250\\nCONFIG_RCU_NOCB_CPU=y\\nCONFIG_CPU_ISOLATION=y
         /proc/sys/kernel/sched_rt_runtime_us = -1",
    ),
    (
        "soft-watchdog",
        Severity::Warning,
        "/proc/sys/kernel/watchdog_cpumask = 0-3
         /proc/sys/kernel/nmi_watchdog = 0",
    ),
    (
        "nmi-watchdog",
        Severity::Warning,
        "/proc/sys/kernel/watchdog_cpumask = 0-3
         /proc/sys/kernel/soft_watchdog = 0",
    ),
    (
        "clocksource-watchdog",
        Severity::Warning,
        "/proc/cpuinfo = flags : constant_tsc nonstop_tsc",
    ),
    ("slow-clocksource", Severity::Warning, "/sys/devices/system/clocksource/clocksource0/current_clocksource = hpet"),
    (
        "rt-throttling",
        Severity::Warning,
        "/proc/sys/kernel/osrelease = 6.1.192-rt-test
         /boot/config-6.1.192-rt-test = GOODCONFIG\\nCONFIG_PREEMPT_RT=y",
    ),
    ("irqaffinity-overlap", Severity::Warning, "/proc/cmdline = nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-2"),
    (
        "irqbalance",
        Severity::Warning,
        "/proc/900/task/900/stat = 900 (irqbalance) S 1 900 900 0 -1 4194304 0
         /sys/devices/system/cpu/isolated = 2-3
         /sys/fs/cgroup/quiet/cpuset.cpus.partition = isolated\\n1
         /sys/devices/virtual/workqueue/cpumask = 1
         /proc/sys/kernel/watchdog_cpumask = 0
         /proc/irq/default_smp_affinity = 1
         /proc/irq/24/effective_affinity_list = 0
         /proc/cmdline = nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0 rcu_nocbs=1
         /proc/50/task/50/status = Cpus_allowed_list: 0
         /proc/900/task/900/status = Cpus_allowed_list: 0
         /sys/devices/system/cpu/cpu1/topology/thread_siblings_list = 1",
    ),
    (
        "trace-instance",
        Severity::Warning,
        "/sys/kernel/tracing/instances/dyntick-4711-0/tracing_on = 1
         /sys/kernel/tracing/instances/dyntick-4711-0/events/enable = X
         /sys/kernel/tracing/instances/dyntick-4711-0/current_tracer = nop
         /sys/kernel/tracing/instances/idle/tracing_on = 1
         /sys/kernel/tracing/instances/idle/events/enable = 0
         /sys/kernel/tracing/instances/idle/current_tracer = nop",
    ),
    (
        "trace-instance",
        Severity::Note,
        "/sys/kernel/tracing/instances/dyntick-900-0/tracing_on = 1
         /sys/kernel/tracing/instances/dyntick-900-0/current_tracer = function",
    ),
    ("highres-off", Severity::Warning, "/proc/cmdline = GOOD highres=off"),
    ("idle-poll", Severity::Warning, "/proc/cmdline = GOOD idle=poll"),
    (
        "max-cstate",
        Severity::Warning,
        "/proc/cmdline = GOOD intel_idle.max_cstate=0
         /sys/devices/system/cpu/cpuidle/current_driver = acpi_idle",
    ),
    ("max-cstate", Severity::Warning, "/proc/cmdline = GOOD processor.max_cstate=1"),
    ("deep-idle", Severity::Note, "/sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us = 0"),
    (
        "menu-stopped-tick",
        Severity::Note,
        "/sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us = 0
         /sys/devices/system/cpu/cpuidle/current_governor = menu",
    ),
    ("latency-held", Severity::Note, "/dev/cpu_dma_latency = 0"),
    ("frequency-governor", Severity::Note, "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor = schedutil"),
    (
        "tick-kept",
        Severity::Note,
        "/proc/cmdline = isolcpus=domain,managed_irq,2-3 irqaffinity=0-1 rcu_nocbs=2-3
         /sys/devices/system/cpu/nohz_full =",
    ),
    ("user-threads", Severity::Note, "/proc/900/task/900/status = Cpus_allowed_list: 0-3"),
    (
        "managed-irq-missing",
        Severity::Note,
        "/proc/cmdline = nohz_full=2-3 isolcpus=2-3 irqaffinity=0-1",
    ),
    ("irq-default", Severity::Note, "/proc/irq/default_smp_affinity = f"),
    (
        "steal",
        Severity::Warning,
        "/proc/cpuinfo = flags : constant_tsc nonstop_tsc tsc_adjust hypervisor
         /proc/stat = cpu2 1 1 1 1 1 1 1 250 0 0",
    ),
    ("steal", Severity::Note, "/proc/cpuinfo = flags : constant_tsc nonstop_tsc tsc_adjust hypervisor"),
    (
        "housekeeping-few",
        Severity::Note,
        "/proc/cmdline = nohz_full=2-33 isolcpus=domain,managed_irq,2-33 irqaffinity=0-1
         /sys/devices/system/cpu/possible = 0-33
         /sys/devices/system/cpu/online = 0-33
         /sys/devices/system/cpu/isolated = 2-33
         /sys/devices/system/cpu/nohz_full = 2-33",
    ),
    (
        "cpuset-v1",
        Severity::Note,
        "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance = 0
         /sys/fs/cgroup/cpuset/system/cpuset.cpus = 0-1
         /sys/fs/cgroup/cpuset/user/cpuset.cpus = 2-3
         /sys/fs/cgroup/cpuset/user/cpuset.sched_load_balance = 0",
    ),
    ("rcu-expedited", Severity::Warning, "/proc/cmdline = GOOD rcupdate.rcu_expedited=1"),
    (
        "rcu-expedited",
        Severity::Note,
        "/proc/cmdline = GOOD rcupdate.rcu_expedited=1
         /sys/kernel/rcu_expedited = 1
         /sys/kernel/rcu_normal = 1",
    ),
    ("irqpoll", Severity::Warning, "/proc/cmdline = GOOD irqpoll"),
    (
        "irqpoll",
        Severity::Note,
        "/proc/cmdline = GOOD irqfixup
         /boot/config-6.12.117-test = GOODCONFIG\\nCONFIG_PREEMPT_RT=y",
    ),
    ("rcu-nocb-poll", Severity::Note, NOTHING_OFFLOADED),
    ("nohz-full-patience", Severity::Note, "/proc/cmdline = GOOD rcutree.nohz_full_patience_delay=5000"),
    ("nohz-full-patience", Severity::Note, "/proc/cmdline = GOOD rcutree.nohz_full_patience_delay=0"),
    ("nohz-full-patience", Severity::Note, NOBODY_TO_SPARE),
    (
        "rt-throttling",
        Severity::Note,
        "/boot/config-6.12.117-test = GOODCONFIG\\nCONFIG_RT_GROUP_SCHED=y",
    ),
    (
        "rt-throttling",
        Severity::Warning,
        "/boot/config-6.12.117-test = GOODCONFIG\\nCONFIG_RT_GROUP_SCHED=y
         /dev/kmsg = 4,0,9,-;sched: RT throttling activated",
    ),
    ("machine-check-poll", Severity::Note, "/sys/devices/system/machinecheck/machinecheck0/check_interval = 300"),
    (
        "numa-balancing",
        Severity::Note,
        "/proc/sys/kernel/numa_balancing = 1
         /sys/devices/system/node/online = 0-1",
    ),
    (
        "cpu-quota",
        Severity::Warning,
        "/proc/901/cgroup = 0::/kubepods/pod/box
         /sys/fs/cgroup/kubepods/cpu.max = max 100000
         /sys/fs/cgroup/kubepods/pod/cpu.max = 50000 100000",
    ),
    ("cpu-time-limit", Severity::Note, "/proc/901/limits = Max cpu time              3600                 unlimited            seconds"),
    ("deadline-task", Severity::Warning, "/proc/901/task/901/stat = 901 (control) S POLICY 0 6"),
    ("sched-ext", Severity::Note, "/sys/kernel/sched_ext/state = enabled\n/sys/kernel/sched_ext/root/ops = simple"),
    (
        "shared-cpu",
        Severity::Warning,
        "/proc/901/task/901/stat = 901 (worker) R POLICY 0 0
         /proc/901/task/901/status = Cpus_allowed_list: 3
         /proc/902/task/902/stat = 902 (worker) R POLICY 0 0
         /proc/902/task/902/status = Cpus_allowed_list: 3",
    ),
    (
        "stacked-tasks",
        Severity::Warning,
        "/proc/901/task/901/stat = 901 (worker) R ON3 0 0
         /proc/901/task/902/stat = 902 (worker) R ON3 0 0
         /proc/901/task/902/status = Cpus_allowed_list: 2-3",
    ),
    (
        "stacked-tasks",
        Severity::Note,
        "/proc/901/task/901/stat = 901 (worker) S POLICY 0 0
         /proc/901/task/902/stat = 902 (worker) S POLICY 0 0
         /proc/901/task/902/status = Cpus_allowed_list: 2-3",
    ),
    (
        "starved-threads",
        Severity::Warning,
        "/boot/config-6.12.117-test = GOODCONFIG\\nCONFIG_PREEMPT_RT=y
         /proc/901/task/901/stat = 901 (poller) R POLICY 80 1
         /proc/901/task/901/status = Cpus_allowed_list: 3
         /proc/60/task/60/stat = 60 (rcuc/3) S KERNEL 1 1
         /proc/60/task/60/status = Cpus_allowed_list: 3",
    ),
    (
        "starved-threads",
        Severity::Note,
        "/proc/sys/kernel/osrelease = 6.1.192-test
         /boot/config-6.1.192-test = GOODCONFIG\\nCONFIG_PREEMPT_RT=y
         /proc/sys/kernel/sched_rt_runtime_us = -1
         /proc/901/task/901/stat = 901 (poller) R POLICY 80 1
         /proc/901/task/901/status = Cpus_allowed_list: 3
         /proc/60/task/60/stat = 60 (ksoftirqd/3) S KERNEL 0 0
         /proc/60/task/60/status = Cpus_allowed_list: 3",
    ),
    (
        "packet-steering",
        Severity::Warning,
        "/sys/class/net/eth0/queues/rx-0/rps_cpus = f
         /sys/class/net/eth1/queues/rx-0/rps_cpus = 3",
    ),
    ("packet-steering", Severity::Warning, "/proc/sys/net/core/rps_default_mask = c"),
    (
        "flow-steering",
        Severity::Note,
        "/proc/sys/net/core/rps_sock_flow_entries = 32768
         /sys/class/net/eth0/queues/rx-0/rps_flow_cnt = 0
         /sys/class/net/eth0/queues/rx-1/rps_flow_cnt = 4096",
    ),
    ("tracing", Severity::Note, "/sys/kernel/tracing/current_tracer = function"),
    ("tracing", Severity::Note, "/sys/kernel/tracing/kprobe_events = p:kprobes/x do_exit"),
    (
        "package-counters",
        Severity::Note,
        "/sys/bus/event_source/devices/uncore_imc_0/cpumask = 0,2
         /sys/bus/event_source/devices/cpu_core/cpumask = 0-3",
    ),
    (
        "uncore-frequency",
        Severity::Note,
        "/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/min_freq_khz = 800000
         /sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/max_freq_khz = 2400000",
    ),
    (
        "skew-tick",
        Severity::Note,
        "/sys/devices/system/cpu/possible = 0-17
         /sys/devices/system/cpu/present = 0-17
         /sys/devices/system/cpu/online = 0-17",
    ),
    (
        "node-without-housekeeping",
        Severity::Note,
        "/sys/devices/system/node/online = 0-1
         /sys/devices/system/node/node0/cpulist = 0-1
         /sys/devices/system/node/node1/cpulist = 2-3",
    ),
    ("compaction", Severity::Note, "/proc/sys/vm/compaction_proactiveness = 20"),
    (
        "locked-memory",
        Severity::Note,
        "/proc/sys/vm/compact_unevictable_allowed = 1
         /proc/901/task/901/status = Cpus_allowed_list: 2-3\\nVmLck:      4096 kB",
    ),
    ("ksm", Severity::Note, "/sys/kernel/mm/ksm/run = 1"),
    ("thp", Severity::Note, "/sys/kernel/mm/transparent_hugepage/enabled = [always] madvise never"),
    ("swap", Severity::Note, "/proc/swaps = Filename\\n/dev/sda2 partition 8388604 0 -2"),
    ("turbo", Severity::Note, "/sys/devices/system/cpu/intel_pstate/no_turbo = 0"),
    ("tuned", Severity::Note, "/proc/900/task/900/stat = 900 (tuned) S 1 900 900 0 -1 4194304 0"),
    ("redundant-parameter", Severity::Note, "/proc/cmdline = GOOD rcu_nocbs=2-3"),
    ("redundant-parameter", Severity::Note, "/proc/cmdline = GOOD nohz=on"),
    ("kernel-config", Severity::Note, "/boot/config-6.12.117-test = -"),
];

/// On a machine without isolation only the command line is judged.
const NOTHING_OFFLOADED: &str = "/proc/cmdline = rcu_nocb_poll
    /sys/devices/system/cpu/nohz_full =
    /sys/devices/system/cpu/isolated =";

const NOBODY_TO_SPARE: &str = "/proc/cmdline = rcutree.nohz_full_patience_delay=1000
    /sys/devices/system/cpu/nohz_full =
    /sys/devices/system/cpu/isolated =";

#[test]
fn good_machine_has_no_finding() {
    assert_eq!(findings(&good(&files())), []);
}

proptest! {
    /// No content of a file breaks a rule, and the command line is still judged.
    #[test]
    fn any_content_is_accepted(number in 0usize..1000, text in "(\\PC|[-0-9,:/\n]){0,60}") {
        let mut all = files();
        let path = all.keys().nth(number % all.len()).unwrap().clone();
        all.insert(path, text);
        let files = good(&all);
        if let Ok(machine) = Machine::new(&files, None) {
            Report::of(&machine, &files);
        }
    }
}

/// The findings that always accompany another.
fn companions(rule: &str) -> &'static [&'static str] {
    match rule {
        "menu-stopped-tick" => &["deep-idle"],
        "all-cpus-isolated" => &["isolated-cpu-offline"],
        "vmstat" => &["tick-kept"],
        "callbacks-not-offloaded" | "foreign-parameter" | "tick-kept" | "timers-of-others" | "irqbalance" => {
            &["tick-kept", "timers-of-others"]
        }
        "isolcpus-without-domain" => &[],
        _ => &[],
    }
}

#[test]
fn each_rule_alone_finds_its_problem() {
    for (rule, severity, changes) in CASES {
        let found = findings(&but(changes));
        let severities: Vec<Severity> =
            found.iter().filter(|f| f.rule == *rule).map(|f| f.severity).collect();
        assert_eq!(severities, [*severity], "{rule}: {found:#?}");
        let others = found.iter().filter(|f| f.rule != *rule && !companions(rule).contains(&f.rule));
        assert_eq!(others.collect::<Vec<_>>(), Vec::<&Finding>::new(), "in addition to {rule}");
    }
}

#[test]
fn patience_of_a_second_is_accepted() {
    let with =
        |ms: &str| findings(&but(&format!("/proc/cmdline = GOOD rcutree.nohz_full_patience_delay={ms}")));
    assert_eq!(with("1000"), []);
    assert_eq!(with("1"), []);
    assert_eq!(with("1001").len(), 1);
}

#[test]
fn each_rule_has_a_case() {
    let tested: BTreeSet<&str> =
        CASES.iter().map(|(rule, ..)| *rule).chain(["not-isolated", "boot-cpu-named"]).collect();
    let all: BTreeSet<&str> = rules::all().iter().map(|rule| rule.id).collect();
    assert_eq!(all.len(), rules::all().len(), "each rule has its own id");
    assert_eq!(all, tested);
}

#[test]
fn findings_are_complete() {
    for (rule, _, changes) in CASES {
        for finding in findings(&but(changes)) {
            let rule = rules::all().iter().find(|known| known.id == *rule).unwrap();
            assert!(!finding.evidence.is_empty(), "{finding:?}");
            assert!(!finding.fixes.is_empty() && finding.effect.ends_with('.'), "{finding:?}");
            assert!(!finding.message.ends_with('.') && !finding.message.contains("  "), "{finding:?}");
            assert!(!rule.title.ends_with('.') && !rule.source.is_empty());
            let known = rules::all().iter().find(|known| known.id == finding.rule).unwrap();
            assert!(
                finding.severity <= known.severity,
                "a finding is never worse than its rule says: {finding:?}"
            );
        }
    }
}

#[test]
fn sources_are_exactly_the_files_that_rules_read() {
    let read: BTreeSet<&str> = sources::SOURCES.iter().map(|source| source.pattern).collect();
    let used: BTreeSet<&str> = rules::all().iter().flat_map(|rule| rule.reads.iter().copied()).collect();
    assert_eq!(read.difference(&used).collect::<Vec<_>>(), Vec::<&&str>::new(), "no rule reads it");
    assert_eq!(
        used.difference(&read).collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "it is not among the sources"
    );
}

#[test]
fn named_cpu_is_judged_although_it_is_not_isolated() {
    let files = but(NOTHING_OFFLOADED);
    let one = "1".parse().unwrap();
    let machine = Machine::new(&files, Some(&one)).unwrap();
    let report = Report::of(&machine, &files);
    let finding = report.findings.iter().find(|finding| finding.rule == "not-isolated").unwrap();
    assert_eq!(
        finding.fixes[0],
        Fix::Boot("nohz_full=1 isolcpus=domain,managed_irq,1 irqaffinity=0,2-3".into())
    );
    let error = Machine::new(&files, Some(&"2-4".parse().unwrap())).unwrap_err();
    assert_eq!(error.to_string(), "CPU 4 is not online; online: 0-3");
}

/// `cset shield` makes such cpusets; a cpuset file system mounted alone names its files this way.
#[test]
fn cpusets_v1_isolate_unless_a_balanced_one_has_their_cpus() {
    let isolated = |changes: &str| {
        let files = but(&format!("{NOTHING_OFFLOADED}\n{changes}"));
        let machine = Machine::new(&files, None).unwrap();
        (machine.isolated.to_string(), machine.target.to_string())
    };
    let shield = "/dev/cpuset/sched_load_balance = 0
        /dev/cpuset/system/cpus = 0-1
        /dev/cpuset/user/cpus = 2-3
        /dev/cpuset/user/sched_load_balance = 0";
    assert_eq!(isolated(shield), ("2-3".to_owned(), "2-3".to_owned()));
    let inner = format!("{shield}\n/dev/cpuset/user/a/cpus = 3");
    assert_eq!(isolated(&inner).0, "2", "balanced by the one below it");
    let root = shield.replace("/dev/cpuset/sched_load_balance = 0", "/dev/cpuset/sched_load_balance = 1");
    assert_eq!(isolated(&root).0, "");
    let found = findings(&but(&format!("{NOTHING_OFFLOADED}\n{root}")));
    let found = found.iter().find(|finding| finding.rule == "cpuset-v1").unwrap();
    assert!(found.message.contains("CPUs 2-3 are in a cpuset without load balancing, but"), "{found:?}");
    let on = shield.replace("user/sched_load_balance = 0", "user/sched_load_balance = 1");
    assert_eq!(isolated(&on).0, "");
}

/// The fixes of a rule on the good machine with some changes, one per line.
fn fixes(rule: &str, changes: &str, named: Option<&str>) -> Vec<Fix> {
    let files = but(changes);
    let named = named.map(|named| named.parse().unwrap());
    let findings = Report::of(&Machine::new(&files, named.as_ref()).unwrap(), &files).findings;
    let finding = findings.iter().find(|finding| finding.rule == rule);
    finding.unwrap_or_else(|| panic!("{rule}: {findings:#?}")).fixes.clone()
}

/// The commonest mistake: the second thread of each core is isolated, and the first one does the housekeeping.
#[test]
fn complete_cores_are_isolated_and_housekeeping_stays_online() {
    let siblings: String = (0..8)
        .map(|cpu| {
            format!(
                "/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list = {},{}\n",
                cpu % 4,
                cpu % 4 + 4
            )
        })
        .collect();
    let changes = format!(
        "{siblings}/proc/cmdline = nohz_full=4-7 isolcpus=domain,managed_irq,4-7
         /sys/devices/system/cpu/possible = 0-7
         /sys/devices/system/cpu/present = 0-7
         /sys/devices/system/cpu/online = 0-7
         /sys/devices/system/cpu/nohz_full = 4-7
         /sys/devices/system/cpu/isolated = 4-7"
    );
    let fixes = fixes("smt-sibling", &changes, None);
    assert_eq!(fixes[0], Fix::Boot("nohz_full=1-2,5-6 isolcpus=domain,managed_irq,1-2,5-6".into()));
    assert!(fixes.iter().all(|fix| !matches!(fix, Fix::Command(_))), "{fixes:?}");
    assert!(fixes[1].to_string().contains("dyntick isolate -C 1-2,5-6"), "{fixes:?}");
}

#[test]
fn irqbalance_variable_lists_all_isolated_cpus() {
    let runs = "/proc/900/task/900/stat = 900 (irqbalance) S 1 900 900 0 -1 4194304 0\n";
    let reported =
        |changes: &str, named| fixes("irqbalance", &format!("{runs}{changes}"), named)[0].to_string();
    assert!(
        reported("", Some("1,3")).contains("IRQBALANCE_BANNED_CPULIST=1-3 in"),
        "{}",
        reported("", Some("1,3"))
    );
    // Once it is set it replaces the kernel's isolation.
    let set = "/etc/default/irqbalance = IRQBALANCE_BANNED_CPULIST=3";
    assert!(reported(set, None).contains("IRQBALANCE_BANNED_CPULIST=2-3 in"));
    let mask = "/etc/sysconfig/irqbalance = IRQBALANCE_BANNED_CPUS=\"00000009\"";
    assert!(reported(mask, None).contains("IRQBALANCE_BANNED_CPULIST=0,2-3 in"));
    let found = findings(&but(&format!("{runs}/etc/default/irqbalance = IRQBALANCE_BANNED_CPULIST=2,3")));
    assert!(found.iter().all(|finding| finding.rule != "irqbalance"), "{found:?}");
    // A variable without CPUs counts too, unless it is empty.
    let message = |set: &str| {
        let found = findings(&but(&format!("{runs}/etc/default/irqbalance = {set}")));
        let finding = found.iter().find(|finding| finding.rule == "irqbalance");
        finding.map(|finding| finding.message.clone()).unwrap_or_default()
    };
    for none in ["IRQBALANCE_BANNED_CPUS=0", "IRQBALANCE_BANNED_CPULIST=-", "IRQBALANCE_BANNED_CPULIST=x,2-3"]
    {
        let expected = format!("may move interrupts to CPUs 2-3: {none} spares no CPU");
        assert!(message(none).contains(&expected), "{}", message(none));
    }
    assert!(
        message("IRQBALANCE_BANNED_CPULIST=0").contains("CPUs 2-3: IRQBALANCE_BANNED_CPULIST=0 spares CPU 0")
    );
    assert!(message("IRQBALANCE_BANNED_CPULIST=2,3x").contains("to CPU 3: "), "up to the error");
    assert_eq!(message("IRQBALANCE_BANNED_CPUS=") + &message("IRQBALANCE_BANNED_CPULIST=''"), "");
    let both = "IRQBALANCE_BANNED_CPULIST=2-3\\nIRQBALANCE_BANNED_CPUS=4";
    assert!(message(both).contains("to CPU 3: IRQBALANCE_BANNED_CPUS=4"), "{}", message(both));
}

/// 6.12 warns and miscounts if the server of a CPU without an ordinary task is stopped.
#[test]
fn fair_server_is_stopped_while_it_runs_and_kept_if_needed() {
    let armed = "/sys/kernel/debug/sched/fair_server/cpu3/runtime = 50000000\n";
    let command = fixes("fair-server", armed, None)[0].to_string();
    assert_eq!(
        command,
        "for c in 3; do taskset -c $c sh -c 'while :; do :; done' & sleep 1; \
         echo 0 > /sys/kernel/debug/sched/fair_server/cpu$c/runtime; kill $!; done"
    );
    let policy = "0 ".repeat(31) + "1";
    let realtime = format!(
        "{armed}/proc/901/task/901/stat = 901 (poller) R 1 901 901 0 -1 4194304 {policy}
         /proc/901/task/901/status = Cpus_allowed_list: 3"
    );
    let fixes = fixes("fair-server", &realtime, None);
    assert!(
        matches!(&fixes[..], [Fix::Advice(advice)] if advice.starts_with("keep it: poller")),
        "{fixes:?}"
    );
}

/// A limit below C1's exit latency leaves only polling, which keeps the tick.
#[test]
fn first_real_state_is_allowed_instead_of_polling() {
    let fixes = fixes("idle-poll", "/proc/cmdline = GOOD idle=poll", None);
    let advice = fixes[1].to_string();
    assert!(advice.contains("for c in 2 3; do cat cpu$c/cpuidle/state1/latency >"), "{advice}");
    assert!(!advice.contains("echo 1"), "{advice}");
}

#[test]
fn throttling_is_not_switched_off_without_a_warning() {
    let rt = "/proc/sys/kernel/osrelease = 6.1.192-rt-test
              /boot/config-6.1.192-rt-test = GOODCONFIG\\nCONFIG_PREEMPT_RT=y";
    let fixes = fixes("rt-throttling", rt, None);
    assert!(matches!(&fixes[..], [Fix::Advice(advice)] if advice.contains("starves them")), "{fixes:?}");
}

#[test]
fn throttling_stays_if_a_task_depends_on_it() {
    let stat = |pid: u32, name: &str, rest: &str| {
        format!(
            "\n/proc/{pid}/task/{pid}/stat = {pid} ({name}) R 1 0 0 0 -1 {rest}
             /proc/{pid}/task/{pid}/status = Cpus_allowed_list: 2"
        )
    };
    let zeros = "0 ".repeat(30);
    let spins = stat(910, "spins", &format!("4194304 {zeros}95 1"));
    let waits = stat(911, "ksoftirqd/2", &format!("69238848 {zeros}0 0"));
    let old = "/proc/sys/kernel/osrelease = 5.15.0-test
               /boot/config-5.15.0-test = GOODCONFIG";
    let fixes = fixes("rt-throttling", &format!("{old}{spins}{waits}"), None);
    let kept = |fix: &Fix| fix.to_string().starts_with("keep it: ksoftirqd/2 runs on CPU 2");
    assert!(matches!(&fixes[..], [fix] if kept(fix)), "{fixes:?}");
}

#[test]
fn unmovable_interrupt_is_described_by_the_kernels_error() {
    let there = "/proc/irq/24/effective_affinity_list = 3\n";
    let advice = fixes("device-irqs", there, None)[1].to_string();
    assert!(advice.contains("(Operation not permitted)") && advice.contains("IRQF_NOBALANCING"), "{advice}");
    assert!(!advice.contains("boot with"), "{advice}: managed_irq is in force");
    let without = format!("{there}/proc/cmdline = nohz_full=2-3 isolcpus=domain,2-3 irqaffinity=0-1");
    let advice = fixes("device-irqs", &without, None)[1].to_string();
    assert!(
        advice.contains("boot with nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1"),
        "{advice}"
    );
    let older = format!(
        "{there}/proc/sys/kernel/osrelease = 6.1.192-test\n/boot/config-6.1.192-test = GOODCONFIG\n\
         /proc/sys/kernel/sched_rt_runtime_us = -1"
    );
    assert!(fixes("device-irqs", &older, None)[1].to_string().contains("(Input/output error)"));
    let unknown =
        without + "\n/proc/sys/kernel/osrelease = 5.4.0-test\n/proc/sys/kernel/sched_rt_runtime_us = -1";
    let advice = fixes("device-irqs", &unknown, None)[1].to_string();
    assert!(!advice.contains("managed_irq"), "{advice}: 5.4 drops isolcpus= for it");
}

#[test]
fn unreadable_file_is_reported_with_its_rules() {
    let mut files = good(&files());
    files.insert("/proc/*/fd", Content::Denied);
    let report = Report::of(&Machine::new(&files, None).unwrap(), &files);
    assert_eq!(report.findings, []);
    assert_eq!(report.unread.len(), 1);
    assert_eq!(report.unread[0].rules, ["perf-events", "latency-held"]);
    assert!(report.unread[0].needs.contains("CAP_SYS_PTRACE"));
}

/// A privilege helps only if permission was denied.
#[test]
fn read_that_the_kernel_refuses_names_no_privilege() {
    let mut files = good(&files());
    files.insert("/dev/kmsg", Content::Failed("the kernel refuses it even to root".to_owned()));
    let report = Report::of(&Machine::new(&files, None).unwrap(), &files);
    assert_eq!(
        (report.unread[0].reason.as_str(), report.unread[0].needs),
        ("the kernel refuses it even to root", "")
    );
}

/// The log lists its unknown parameters at the boot: they are not known if newer messages have overwritten that.
#[test]
fn log_that_has_lost_the_boot_is_reported() {
    let unread = |log: &str| {
        let files = but(&format!("/dev/kmsg = {log}"));
        let report = Report::of(&Machine::new(&files, None).unwrap(), &files);
        report.unread.iter().map(|one| (one.file.clone(), one.reason.clone())).collect::<Vec<_>>()
    };
    let lost = unread("5,4711,0,-;tsc: Marking TSC unstable due to TSCs unsynchronized");
    assert!(lost[0].0 == "/dev/kmsg" && lost[0].1.contains("overwritten"), "{lost:?}");
    assert_eq!(unread("5,0,0,-;"), [], "the first record is there");
    let listed = "5,12,0,-;Unknown kernel command line parameters \"splash\", will be passed to user space.";
    assert_eq!(unread(listed), []);
}

/// A kernel that has listed its unknown parameters knows the others, however they look.
#[test]
fn parameter_that_the_log_does_not_list_is_known() {
    let found =
        |log: &str| findings(&but(&format!("/proc/cmdline = GOOD rcu_nocb=2-3\n/dev/kmsg = {log}"))).len();
    assert_eq!((found("5,0,0,-;"), found("5,4711,0,-;x")), (0, 1));
}

#[test]
fn parameter_that_this_kernel_ignores_is_not_offered() {
    let unknown = "nosoftlokup nosoftlockup";
    let offered = |changes: &str, rule: &str| {
        let found = findings(&but(changes));
        let fixes =
            found.iter().filter(|finding| finding.rule == rule).flat_map(|finding| finding.fixes.clone());
        fixes.map(|fix| fix.to_string()).collect::<Vec<_>>().join("; ")
    };
    let typo = format!(
        "/proc/cmdline = GOOD {unknown}
         /dev/kmsg = 5,1,0,-;Unknown kernel command line parameters \"{unknown}\", will be passed to user space."
    );
    let fixes = offered(&typo, "parameter-typo");
    assert_eq!(fixes, "boot without nosoftlokup");
    // PREEMPT_RT has no transparent huge pages (mm/Kconfig), whatever their value.
    let rt = "/proc/cmdline = GOOD transparent_hugepage=off
              /boot/config-6.12.117-test = CONFIG_NO_HZ_FULL=y\\nCONFIG_CPU_ISOLATION=y\\nCONFIG_PREEMPT_RT=y
              /sys/kernel/mm/transparent_hugepage/enabled = -";
    assert_eq!(offered(rt, "unknown-value"), "");
    assert!(offered(rt, "unsupported-parameter").contains("remove the parameter"));
    // Where there are none, never is so anyway.
    let never = rt.replace("transparent_hugepage=off", "transparent_hugepage=never");
    assert_eq!(offered(&never, "unsupported-parameter"), "boot without transparent_hugepage=never");
    let severity = |changes: &str| findings(&but(changes)).iter().map(|finding| finding.severity).max();
    assert_eq!((severity(&never), severity(rt)), (Some(Severity::Note), Some(Severity::Error)));
}

/// A refused or misspelt list beside one that the kernel follows adds no CPU to those of the machine.
#[test]
fn boot_line_has_the_machines_cpus() {
    for (line, without) in [
        ("nohz_full=1-9 GOOD", "nohz_full=1-9"),
        ("GOOD isolcpus=domain,1-9", "isolcpus=domain,1-9"),
        ("GOOD nozh_full=1", "nozh_full=1"),
        ("GOOD isolcpu=1", "isolcpu=1"),
    ] {
        let files = but(&format!("/proc/cmdline = {line}"));
        let report = Report::of(&Machine::new(&files, None).unwrap(), &files);
        let fixes: Vec<String> =
            report.findings.iter().flat_map(|finding| &finding.fixes).map(Fix::to_string).collect();
        assert_eq!(fixes, [format!("boot without {without}")], "{line}");
        let good = "nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1";
        assert_eq!(report.reboot.unwrap().line, good, "{line}");
    }
}

#[test]
fn each_of_many_threads_and_interrupts_is_evidence() {
    let threads = (100..120).map(|tid| {
        format!(
            "/proc/{tid}/task/{tid}/stat = {tid} (thread{tid}) S 2 0 0 0 -1 2129984 {}\n\
             /proc/{tid}/task/{tid}/status = Cpus_allowed_list: 0-3\n",
            "0 ".repeat(43).trim_end()
        )
    });
    let interrupts = (60..72).map(|number| {
        format!(
            "/proc/irq/{number}/smp_affinity_list = 0-3\n/proc/irq/{number}/effective_affinity_list = 2\n\
             /sys/kernel/irq/{number}/actions = device{number}\n"
        )
    });
    let changes: String = threads.chain(interrupts).collect();
    let findings = findings(&but(&changes));
    let of = |rule: &str| findings.iter().find(|finding| finding.rule == rule).unwrap();
    for (rule, count, first, last) in
        [("kernel-threads", 20, "thread100", "thread119"), ("device-irqs", 12, "60 device60", "71 device71")]
    {
        let finding = of(rule);
        assert_eq!(finding.evidence.len(), count, "{finding:?}");
        assert!(finding.message.ends_with(&format!(" and {} more", count - 4)), "{}", finding.message);
        let full = &finding.full_message;
        assert!(full.contains(first) && full.contains(last) && !full.contains(" more"), "{full}");
    }
    let evidence = &of("kernel-threads").evidence;
    assert!(evidence.iter().any(|one| one.value.ends_with("(thread119)")), "evidence names its thread");
}

#[test]
fn busiest_device_is_named_first_with_its_count() {
    let interrupts = (60..63).map(|number| {
        format!(
            "/proc/irq/{number}/smp_affinity_list = 0-3\n/proc/irq/{number}/effective_affinity_list = 2\n\
             /sys/kernel/irq/{number}/actions = device{number}\n"
        )
    });
    let counts = "/proc/interrupts = CPU0 CPU1 CPU2 CPU3\\n60: 0 0 5 0\\n61: 9 9 0 9\\n62: 0 0 700 4\n";
    let changes: String = interrupts.chain([counts.to_owned()]).collect();
    let findings = findings(&but(&changes));
    let finding = findings.iter().find(|finding| finding.rule == "device-irqs").unwrap();
    let named = "IRQ 62 device62 (×704), 61 device61 (×9), 60 device60 (×5)";
    assert!(finding.full_message.ends_with(named), "{}", finding.full_message);
}

/// A bundle may contain any number of them.
#[test]
fn unread_files_of_one_kind_are_limited() {
    let mut files = good(&files());
    (0..1000).for_each(|task| files.insert(format!("/proc/{task}/fd"), Content::Denied));
    let report = Report::of(&Machine::new(&files, None).unwrap(), &files);
    assert_eq!(report.unread.len(), 21);
    let last = report.unread.last().unwrap();
    assert_eq!((last.file.as_str(), last.reason.as_str()), ("/proc/*/fd", "and more files of this kind"));
}

#[test]
fn missing_required_file_is_an_error() {
    let empty = Snapshot::default();
    let error = Machine::new(&empty, None).unwrap_err().to_string();
    assert!(error.contains("/proc/sys/kernel/osrelease is missing"), "{error}");
}

/// The book's table of all rules matches the code.
#[test]
fn book_lists_every_rule() {
    let book = include_str!("../../../docs/src/check.md");
    let row = |rule: &&&rules::Rule| {
        format!("| `{}` | {} | {} | {} |", rule.id, rule.severity.word(), rule.title, rule.source)
    };
    let expected: Vec<String> = rules::all().iter().map(|rule| row(&rule)).collect();
    let rows: Vec<&str> = book.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows, expected, "docs/src/check.md should have:\n{}", expected.join("\n"));
}
