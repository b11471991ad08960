// SPDX-License-Identifier: GPL-2.0-only
//! The guests that are wrong before `check` says how to fix them.

use super::closed::Start;

/// A line that is wrong in many ways. CPUs 4 and 5 do not exist, so that the kernel refuses all of the first list.
const BAD_LINE: &str = "nohz_full=1-5 nohz_full=2-3 isolcpu=2 isolcpus=managed_irq,2-3 rcu_nocbs=3 nmi_watchdog=off \
                        irqaffinity=0-3 kthread_cpus=0 nohz=off highres=off rcu_nocb_poll";

/// Wrong as well, and set while the guest runs.
const BAD_SETTINGS: &str = "sysctl -w kernel.timer_migration=0 kernel.watchdog_cpumask=0-3 >/dev/null
    echo f > /sys/devices/virtual/workqueue/cpumask
    echo 1 > /sys/kernel/mm/ksm/run
    taskset f sleep 1000000 &";

/// Packets are handed to all CPUs, where the kernel lets them.
const STEERED: &str = "echo f > /sys/class/net/lo/queues/rx-0/rps_cpus; echo 1 > /sys/kernel/mm/ksm/run";

const fn line(kernel: &'static str, line: &'static str) -> Start {
    Start { kernel, line, named: None, alternatives: true, settings: "" }
}

const fn bad(kernel: &'static str) -> Start {
    Start { kernel, line: BAD_LINE, named: None, alternatives: false, settings: BAD_SETTINGS }
}

/// Nothing is isolated, and some CPUs are to be.
const fn unprepared(kernel: &'static str) -> Start {
    Start { kernel, line: "", named: Some("2-3"), alternatives: true, settings: STEERED }
}

/// Without their ticks, and each with a task that is pinned to it.
const fn tickless(kernel: &'static str) -> Start {
    Start { settings: PINNED, ..line(kernel, "nohz_full=2-3") }
}

const PINNED: &str = "for c in 2 3; do taskset -c $c sleep 1000000 & done";

/// Debian 13's kernel.
pub const NEW: &str = "debian:6.12";
/// Debian 12's.
pub const OLD: &str = "debian:6.1";
/// Debian's newest.
pub const NEWEST: &str = "debian:sid";

/// The one that is wrong in most ways, for every run of the tests.
pub const WORST: &[Start] = &[bad(NEW)];

/// Some of the rules that it breaks, each with its fix.
pub const WORST_RULES: &[(&str, &str)] = &[
    ("refused-parameter", "the composed line"),
    ("parameter-typo", "the composed line"),
    ("unknown-value", "the composed line"),
    ("isolcpus-without-domain", "the composed line"),
    ("irqaffinity-overlap", "the composed line"),
    ("nohz-off", "the composed line"),
    ("highres-off", "the composed line"),
    ("fair-server", "the script"),
    ("device-irqs", "the script"),
    ("kernel-threads", "the script"),
    ("workqueue-cpumask", "the script"),
    ("soft-watchdog", "the script"),
    ("timer-migration", "its command, by choice"),
    ("ksm", "its command, by choice"),
    ("foreign-parameter", "its parameter, by choice"),
];

/// All.
pub const ALL: &[Start] = &[
    bad(NEW),
    bad(OLD),
    bad(NEWEST),
    unprepared(NEW),
    unprepared(OLD),
    unprepared(NEWEST),
    line(NEW, "isolcpus=2-3"),
    line(OLD, "isolcpus=2-3"),
    line(NEW, BALANCED),
    line(OLD, BALANCED),
    tickless(NEW),
    tickless(OLD),
    tickless(NEWEST),
    line(NEW, FLAGGED),
    line(OLD, FLAGGED),
    line(NEW, BOOT_CPU),
    line(OLD, ALL_CPUS),
];

/// Isolated in halves.
const BALANCED: &str = "nohz_full=2-3 isolcpus=domain,2 idle=poll nohz=on";
/// Isolated by flags, one of which there is not.
const FLAGGED: &str =
    "isolcpus=nohz,managed_irq,domian,2-3 isolcpus=nohz,managed_irq,2-3 tsc=reliable tsc=unstable";
/// The boot CPU, too.
const BOOT_CPU: &str =
    "nohz_full=0,2-3 isolcpus=domain,managed_irq,2-3 rcutree.nohz_full_patience_delay=5000";
/// All of them, which the kernel takes the boot CPU out of.
const ALL_CPUS: &str = "nohz_full=0-3 nohz_full=1-3 isolcpus=domain,managed_irq,1-3 nohz=off";
