// SPDX-License-Identifier: GPL-2.0-only
//! What must be known of a machine, beside its trace, to explain what interrupts its CPUs.

mod cpus;
mod irqs;
mod machine;
mod tasks;

pub use cpus::Cpus;
pub use irqs::{Irq, irqs};
pub use machine::{FactsError, Machine};
pub use tasks::{Policy, Thread, threads};
