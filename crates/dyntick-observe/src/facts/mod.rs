// SPDX-License-Identifier: GPL-2.0-only
//! What must be known of a machine, beside its trace, to explain what interrupts its CPUs.

mod counters;
mod cpus;
mod irqs;
mod machine;
mod owners;
mod tasks;

pub use counters::Counts;
pub use cpus::Cpus;
pub use irqs::{Irq, irqs};
pub use machine::{Clocksource, FactsError, Machine, SchedExt};
pub use owners::Owners;
pub use tasks::{Policy, Thread, threads};
