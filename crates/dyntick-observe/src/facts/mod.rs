// SPDX-License-Identifier: GPL-2.0-only
//! The facts about a machine that explain its interruptions, in addition to its trace.

mod counters;
mod cpus;
mod irqs;
mod machine;
mod mappings;
mod memory_limits;
mod owners;
mod probe_links;
mod quotas;
mod read;
mod tasks;

pub use counters::Counts;
pub use cpus::Cpus;
pub use irqs::{Irq, fixed_irqs, irqs};
pub use machine::{Clocksource, Machine, SchedExt, clock};
pub use mappings::{Mapping, mappings};
pub use memory_limits::{MemoryLimit, MemoryLimits};
pub use owners::Owners;
pub use quotas::{Quota, Quotas, Throttled};
pub use read::FactsError;
pub use tasks::{Policy, Runnable, Thread, runnable, state_of, threads, threads_of};
