// SPDX-License-Identifier: GPL-2.0-only
//! What a guest has shown to work. The table is that of the book's page on fixes, which `make test-fixes`
//! writes; a test holds both together.

use Means::{Command, Parameter};
use dyntick_model::Fix;

/// By what something is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Means {
    /// A shell command, of the script or by choice.
    Command,
    /// The kernel's command line.
    Parameter,
}

/// By which means a guest was fixed of what a rule found. A rule that is not here was not tried: it is for
/// what no guest has (counters, frequencies and firmware of real machines), or nobody has set a guest up for
/// it.
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
    ("load-balanced", &[Parameter]),
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
    ("timers-of-others", &[Parameter]),
    ("tsc-unstable", &[Parameter]),
    ("unknown-isolcpus-flag", &[Parameter]),
    ("unknown-value", &[Parameter]),
    ("user-threads", &[Command]),
    ("vmstat", &[Command]),
    ("workqueue-cpumask", &[Command, Parameter]),
];

/// Whether a guest has shown that this fixes what the rule found. Nobody can show it of words: they count as
/// the rule's other fixes.
pub(crate) fn is_tried(rule: &str, fix: &Fix) -> bool {
    let Some((_, tried)) = TRIED.iter().find(|(id, _)| *id == rule) else { return false };
    match fix {
        Fix::Command(_) => tried.contains(&Command),
        Fix::Boot(_) | Fix::Unboot(_) => tried.contains(&Parameter),
        Fix::Advice(_) => true,
    }
}
