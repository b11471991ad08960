// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:vmstat_update",
    title: "vmstat_update: memory statistics folded into the global counters",
    explanation: "Each CPU collects changes of the memory statistics on its own. Every vm.stat_interval \
        seconds vmstat_shepherd checks which CPUs have changes and queues vmstat_update there. From 6.5 on it skips isolated CPUs: those of \
        isolcpus=domain and isolated cpuset partitions, and before 7.0 also those of nohz_full=.",
    fixes: &[
        RuleFix {
            action: Fix::Command("sysctl -w vm.stat_interval=60"),
            effect: not_tried!("Once a minute instead of once a second; /proc/vmstat lags by as much."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("isolcpus=domain,{quiet}"),
            effect: not_tried!(
                "vmstat_shepherd skips isolated CPUs; their last changes are then missing in /proc/vmstat."
            ),
            versions: Versions::since(6, 5),
        },
        RuleFix {
            action: Fix::Advice("allocate and touch all memory before the quiet phase (mlockall)"),
            effect: "Without page faults and allocations there is nothing to fold.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "mm/vmstat.c: vmstat_shepherd, vmstat_update",
    names_origin: true,
};
