// SPDX-License-Identifier: GPL-2.0-only
//! The fixes that a guest has shown to work. The table is the same as on the book's page on fixes, which
//! `make test-fixes` writes; a test compares both.

use Means::{Command, Parameter};
use dyntick_model::Fix;

/// The means of a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Means {
    /// A shell command, in the script or by choice.
    Command,
    /// The kernel's command line.
    Parameter,
}

/// The means by which a guest was fixed of each rule's finding. A rule that is not listed was not tried: no guest has
/// the object of the rule (counters, frequencies and firmware of real machines), or no guest has been set up for it.
pub const TRIED: &[(&str, &[Means])] = &[
    ("all-cpus-isolated", &[Parameter]),
    ("boot-cpu-isolated", &[Parameter]),
    ("callbacks-not-offloaded", &[Parameter]),
    ("compaction", &[Command]),
    ("device-irqs", &[Command]),
    ("fair-server", &[Command]),
    ("foreign-parameter", &[Parameter]),
    ("highres-off", &[Parameter]),
    ("idle-poll", &[Parameter]),
    ("irq-default", &[Command]),
    ("irqaffinity-overlap", &[Parameter]),
    ("isolcpus-nohz", &[Parameter]),
    ("isolcpus-without-domain", &[Parameter]),
    ("kernel-threads", &[Command]),
    ("ksm", &[Command]),
    ("load-balanced", &[Command, Parameter]),
    ("machine-check-poll", &[Command]),
    ("managed-irq-missing", &[Parameter]),
    ("nohz-full-patience", &[Parameter]),
    ("nohz-off", &[Parameter]),
    ("not-isolated", &[Command, Parameter]),
    ("packet-steering", &[Command]),
    ("parameter-typo", &[Parameter]),
    ("redundant-parameter", &[Parameter]),
    ("refused-parameter", &[Parameter]),
    ("soft-watchdog", &[Command]),
    ("tick-kept", &[Parameter]),
    ("timer-migration", &[Command]),
    ("tsc-unstable", &[Parameter]),
    ("unknown-isolcpus-flag", &[Parameter]),
    ("unknown-value", &[Parameter]),
    ("user-threads", &[Command]),
    ("vmstat", &[Command]),
    ("workqueue-cpumask", &[Command, Parameter]),
];

/// Returns true if a guest has shown that this fixes the rule's finding. Advice in words cannot be shown: it counts
/// as the rule's other fixes do.
pub(crate) fn is_tried(rule: &str, fix: &Fix) -> bool {
    let Some((_, tried)) = TRIED.iter().find(|(id, _)| *id == rule) else { return false };
    match fix {
        Fix::Command(_) => tried.contains(&Command),
        Fix::Boot(_) | Fix::Unboot(_) => tried.contains(&Parameter),
        Fix::Advice(_) => true,
    }
}
