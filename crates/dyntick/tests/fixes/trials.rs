// SPDX-License-Identifier: GPL-2.0-only
//! What is tried: disturbances, and the causes whose fixes are tried against them. A fix that is marked as untried
//! is passed over: take its mark away to try it.

use crate::guests::{Group, Trial};

const ADAPTIVE: &str = "nohz_full=1 isolcpus=domain,1";
const NEW: &str = "debian:6.12";
const OLD: &str = "debian:6.1";

/// What comes often enough in a recording of this length, ms.
const OFTEN: u64 = 300;
/// What comes about twice a second.
const SELDOM: u64 = 6_000;

/// Commands and boot parameters.
const fn trial(disturbance: &'static str, causes: &'static [&'static str], ms: u64) -> Trial {
    Trial { disturbance, commands: causes, boots: causes, ms }
}

/// Commands alone.
const fn typed(disturbance: &'static str, commands: &'static [&'static str], ms: u64) -> Trial {
    Trial { disturbance, commands, boots: &[], ms }
}

/// Boot parameters alone.
const fn booted(disturbance: &'static str, boots: &'static [&'static str], ms: u64) -> Trial {
    Trial { disturbance, commands: &[], boots, ms }
}

/// All that is tried. Guests with the same line are two, so that two can run at a time.
pub const ALL: &[Group] = &[
    Group {
        kernel: NEW,
        line: ADAPTIVE,
        trials: &[
            trial("machine-check", &["timer:mce_timer_fn"], 11_500),
            // The disturbance switches the watchdog on, whatever was booted with.
            typed("watchdog", &["hrtimer:watchdog_timer_fn"], SELDOM),
            trial("proactive-compaction", &["kernel-thread:kcompactd"], SELDOM),
            typed("computing", &["fair-server"], 12_000),
            typed("rcu-threads", &["kernel-thread:rcuop"], 2000),
        ],
    },
    Group {
        kernel: NEW,
        line: ADAPTIVE,
        trials: &[
            trial("second-task", &["other-task:victim", "dependency-sched"], OFTEN),
            trial("woken-task", &["wakeup:woken"], OFTEN),
            trial("ksm", &["kernel-thread:ksmd"], OFTEN),
            trial("khugepaged", &["kernel-thread:khugepaged"], 1500),
            trial("huge-pages", &["function-call:tlb_remove_table_smp_sync"], 1500),
            trial("writeback", &["workqueue:wb_workfn"], OFTEN),
            typed("device", &["device:ttyS0"], OFTEN),
            trial("io-uring", &["kernel-thread:iou-sqp"], OFTEN),
            trial("hrtick", &["hrtimer:hrtick"], OFTEN),
            trial("quota", QUOTA, OFTEN),
            // The last one: expedited grace periods stay normal ones.
            trial("expedited-rcu", &["function-call:rcu_exp_handler"], OFTEN),
        ],
    },
    Group {
        kernel: NEW,
        line: "",
        trials: &[
            typed("receive-steering", &["function-call:rps_trigger_softirq", "softirq:NET_RX"], 1500),
            trial("rcu-callbacks", &["softirq:RCU"], OFTEN),
            trial("ticking", &["not-adaptive"], OFTEN),
        ],
    },
    Group {
        kernel: NEW,
        line: "watchdog_thresh=1",
        trials: &[booted("ticking", &["hrtimer:watchdog_timer_fn"], SELDOM)],
    },
    Group {
        kernel: NEW,
        line: "isolcpus=domain,1",
        trials: &[booted("mounts", &["function-call:rcu_exp_handler"], OFTEN)],
    },
    Group {
        kernel: NEW,
        line: "nohz_full=1 isolcpus=domain,1 tsc=noirqtime tsc_early_khz=1030000",
        trials: &[booted("unstable-clock", &["dependency-clock-unstable"], 13_000)],
    },
    Group {
        kernel: NEW,
        line: "nohz_full=1 isolcpus=domain,1 tsc=unstable",
        trials: &[booted("ticking", &["clock-distrusted"], OFTEN)],
    },
    Group {
        kernel: NEW,
        line: "nohz_full=1 isolcpus=domain,1 tsc=noirqtime",
        trials: &[booted("ticking", &["timer:clocksource_watchdog"], 25_000)],
    },
    Group {
        kernel: NEW,
        line: "nohz_full=1 isolcpus=domain,1 threadirqs",
        trials: &[typed("device", &["kernel-thread:irq"], OFTEN)],
    },
    Group {
        kernel: NEW,
        line: "nohz_full=1 isolcpus=domain,1 irqaffinity=1",
        trials: &[booted("serial-port", &["device:ttyS0"], OFTEN)],
    },
    Group { kernel: NEW, line: "nohz_full=1", trials: &[booted("crowd", &["dependency-sched"], OFTEN)] },
    Group {
        kernel: OLD,
        line: ADAPTIVE,
        trials: &[
            trial("machine-check", &["timer:mce_timer_fn"], 11_500),
            typed("watchdog", &["hrtimer:watchdog_timer_fn"], SELDOM),
            trial("proactive-compaction", &["kernel-thread:kcompactd"], SELDOM),
            typed("rcu-threads", &["kernel-thread:rcuop"], 2000),
        ],
    },
    Group {
        kernel: OLD,
        line: ADAPTIVE,
        trials: &[
            trial("second-task", &["other-task:victim", "dependency-sched"], OFTEN),
            trial("woken-task", &["wakeup:woken"], OFTEN),
            trial("ksm", &["kernel-thread:ksmd"], OFTEN),
            trial("khugepaged", &["kernel-thread:khugepaged"], 1500),
            trial("huge-pages", &["function-call:tlb_remove_table_smp_sync"], 1500),
            trial("writeback", &["workqueue:wb_workfn"], OFTEN),
            typed("device", &["device:ttyS0"], OFTEN),
            trial("io-uring", &["kernel-thread:iou-sqp"], OFTEN),
            trial("hrtick", &["hrtimer:hrtick"], OFTEN),
            trial("quota", &["hrtimer:sched_cfs_period_timer"], OFTEN),
            trial("expedited-rcu", &["function-call:rcu_exp_handler"], OFTEN),
        ],
    },
    Group {
        kernel: OLD,
        line: "",
        trials: &[
            typed("receive-steering", &["function-call:rps_trigger_softirq", "softirq:NET_RX"], 1500),
            trial("rcu-callbacks", &["softirq:RCU"], OFTEN),
            trial("ticking", &["not-adaptive"], OFTEN),
        ],
    },
    Group {
        kernel: OLD,
        line: "isolcpus=domain,1",
        trials: &[booted("mounts", &["function-call:rcu_exp_handler"], OFTEN)],
    },
    Group {
        kernel: OLD,
        line: "nohz_full=1 isolcpus=domain,1 threadirqs",
        trials: &[typed("device", &["kernel-thread:irq"], OFTEN)],
    },
    Group {
        kernel: OLD,
        line: "nohz_full=1 isolcpus=domain,1 irqaffinity=1",
        trials: &[booted("serial-port", &["device:ttyS0"], OFTEN)],
    },
];

// Their timer runs on another CPU; on 6.1 there is no other cause.
const QUOTA: &[&str] = &["cpu-quota", "function-call:__cfsb_csd_unthrottle"];

/// A few of them, for every run of the tests.
pub const REPRESENTATIVE: &[Group] = &[
    Group {
        kernel: NEW,
        line: ADAPTIVE,
        trials: &[
            typed("second-task", &["other-task:victim"], OFTEN),
            typed("woken-task", &["wakeup:woken"], OFTEN),
            typed("ksm", &["kernel-thread:ksmd"], OFTEN),
        ],
    },
    Group {
        kernel: NEW,
        line: "nohz_full=1 isolcpus=domain,1 irqaffinity=1",
        trials: &[booted("serial-port", &["device:ttyS0"], OFTEN)],
    },
];
