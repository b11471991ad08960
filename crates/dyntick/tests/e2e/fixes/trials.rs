// SPDX-License-Identifier: GPL-2.0-only
//! The trials: disturbances, and the causes whose fixes are tried against them. A fix that is marked as untried is
//! skipped. Remove its mark to try it.

use super::guests::{Group, Trial};
use super::starts::{NEW, NEWEST, OLD};

const ADAPTIVE: &str = "nohz_full=1 isolcpus=domain,1";
/// Interrupts of devices come to the CPU.
const INTERRUPTS_THERE: &str = "nohz_full=1 isolcpus=domain,1 irqaffinity=1";

/// The length of a recording in which a frequent cause comes often enough, ms.
const OFTEN: u64 = 300;
/// The same for a cause that comes about twice a second.
const SELDOM: u64 = 6_000;

/// Commands and boot parameters.
fn trial(disturbance: &'static str, causes: &'static [&'static str], ms: u64) -> Trial {
    Trial { disturbance, commands: causes, boots: causes, ms }
}

/// Commands alone.
fn typed(disturbance: &'static str, commands: &'static [&'static str], ms: u64) -> Trial {
    Trial { disturbance, commands, boots: &[], ms }
}

/// Boot parameters alone.
fn booted(disturbance: &'static str, boots: &'static [&'static str], ms: u64) -> Trial {
    Trial { disturbance, commands: &[], boots, ms }
}

/// All that is tried. Guests with the same line are two, so that two can run at a time.
pub fn all() -> Vec<Group> {
    let group = |line, trials| Group { kernel: NEW, line, trials };
    let mut all = on_any(NEW);
    all.extend([
        group("watchdog_thresh=1", vec![booted("ticking", &["hrtimer:watchdog_timer_fn"], SELDOM)]),
        group(
            "nohz_full=1 isolcpus=domain,1 tsc=noirqtime tsc_early_khz=1030000",
            vec![booted("unstable-clock", &["dependency-clock-unstable"], 3_250)],
        ),
        group(
            "nohz_full=1 isolcpus=domain,1 tsc=unstable",
            vec![booted("ticking", &["clock-distrusted"], OFTEN)],
        ),
        group(
            "nohz_full=1 isolcpus=domain,1 tsc=noirqtime",
            vec![booted("ticking", &["timer:clocksource_watchdog"], 25_000)],
        ),
        group("nohz_full=1", vec![booted("crowd", &["dependency-sched"], OFTEN)]),
    ]);
    all.extend([OLD, NEWEST].into_iter().flat_map(on_any));
    all
}

/// The trials on each kernel.
fn on_any(kernel: &'static str) -> Vec<Group> {
    let group = |line, trials| Group { kernel, line, trials };
    vec![
        group(ADAPTIVE, slow(kernel)),
        group(ADAPTIVE, quick(kernel)),
        group(
            "",
            vec![
                typed("receive-steering", &["function-call:rps_trigger_softirq", "softirq:NET_RX"], 1500),
                trial("rcu-callbacks", &["softirq:RCU"], OFTEN),
                trial("ticking", &["not-adaptive"], OFTEN),
            ],
        ),
        group("isolcpus=domain,1", vec![booted("mounts", &["function-call:rcu_exp_handler"], OFTEN)]),
        group(
            "nohz_full=1 isolcpus=domain,1 threadirqs",
            vec![typed("device", &["kernel-thread:irq"], OFTEN)],
        ),
        group(INTERRUPTS_THERE, vec![booted("serial-port", &["device:ttyS0"], OFTEN)]),
    ]
}

/// The trials of causes that need a long recording to come often enough.
fn slow(kernel: &str) -> Vec<Trial> {
    let mut trials = vec![
        trial("machine-check", &["timer:mce_timer_fn"], 11_500),
        // The disturbance switches the watchdog on, whatever was booted with.
        typed("watchdog", &["hrtimer:watchdog_timer_fn"], SELDOM),
    ];
    // Since 6.14 kcompactd keeps to the housekeeping CPUs by itself.
    if kernel != NEWEST {
        trials.push(trial("proactive-compaction", &["kernel-thread:kcompactd"], SELDOM));
    }
    // 6.1 has no fair server, and that of 7.2 leaves a lone task alone.
    if kernel == NEW {
        trials.push(typed("computing", &["fair-server"], 12_000));
    }
    trials.push(typed("rcu-threads", &["kernel-thread:rcuop"], 2000));
    trials
}

fn quick(kernel: &str) -> Vec<Trial> {
    // On 6.1 the timer of a quota is a cause of its own; on 6.12 it runs on another CPU.
    let quota: &[&str] = match kernel {
        OLD => &["hrtimer:sched_cfs_period_timer"],
        _ => &["cpu-quota", "function-call:__cfsb_csd_unthrottle"],
    };
    vec![
        trial("second-task", &["other-task:victim", "dependency-sched"], OFTEN),
        trial("woken-task", &["wakeup:woken"], OFTEN),
        trial("ksm", &["kernel-thread:ksmd"], OFTEN),
        trial("khugepaged", &["kernel-thread:khugepaged"], 1500),
        trial("huge-pages", &["function-call:tlb_remove_table_smp_sync"], 1500),
        trial("writeback", &["workqueue:wb_workfn"], OFTEN),
        typed("device", &["device:ttyS0"], OFTEN),
        trial("io-uring", &["kernel-thread:iou-sqp"], OFTEN),
        trial("hrtick", &["hrtimer:hrtick"], OFTEN),
        trial("quota", quota, OFTEN),
        // The last one: expedited grace periods stay normal ones.
        trial("expedited-rcu", &["function-call:rcu_exp_handler"], OFTEN),
    ]
}

/// A few of them, for every run of the tests.
pub fn representative() -> Vec<Group> {
    let adaptive = vec![
        typed("second-task", &["other-task:victim"], OFTEN),
        typed("ksm", &["kernel-thread:ksmd"], OFTEN),
    ];
    let serial_port = vec![booted("serial-port", &["device:ttyS0"], OFTEN)];
    vec![
        Group { kernel: NEW, line: ADAPTIVE, trials: adaptive },
        Group { kernel: NEW, line: INTERRUPTS_THERE, trials: serial_port },
    ]
}
