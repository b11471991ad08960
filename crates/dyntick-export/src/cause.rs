// SPDX-License-Identifier: GPL-2.0-only
//! The label `cause` of an interruption: one for each group of `dyntick-count`, and few of them. Kernel threads are one
//! cause whatever their names, and so are the functions of timers, calls and work items; `dyntick explain` has them.

use dyntick_count::Group;
use dyntick_model::text::clean_line;
use dyntick_model::{Interrupt, Softirq, Symbol};
use std::fmt;

/// The number of devices per CPU with their own label; later ones are counted together. With managed interrupts an
/// isolated CPU has one for each multi-queue device.
pub const MOST_DEVICES: usize = 16;

/// The cause of an interruption.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// An interrupt source, except those of function calls.
    Interrupt(Interrupt),
    /// Function calls from other CPUs.
    FunctionCalls,
    /// A softirq.
    Softirq(Softirq),
    /// Non-maskable interrupts.
    Nmi,
    /// Time slices of kernel threads.
    KernelThreads,
    /// A device, by the name that its driver gave, safe for a terminal.
    Device(Symbol),
    /// Devices beyond the first [`MOST_DEVICES`] of a CPU.
    OtherDevices,
    /// Events without a name, because the name table was full.
    Unnamed,
}

impl Cause {
    /// The cause of a group; `None` if the group is no interruption.
    pub fn of(group: &Group) -> Option<Self> {
        Some(match group {
            Group::Interrupt(vector) => Cause::Interrupt(*vector),
            Group::FunctionCalls => Cause::FunctionCalls,
            Group::Softirq(softirq) => Cause::Softirq(*softirq),
            Group::Nmi(_) => Cause::Nmi,
            Group::KernelThreads => Cause::KernelThreads,
            Group::Device(irq, name) if name.is_empty() => Cause::Device(format!("irq {irq}").into()),
            Group::Device(_, name) => Cause::Device(clean_line(name).into()),
            Group::Unnamed(_) => Cause::Unnamed,
            Group::UserTasks | Group::PageFaults { .. } => return None,
        })
    }

    /// The causes that every CPU has from the start, so that the first interruption is an increase and not a new
    /// series.
    pub(crate) fn known() -> impl Iterator<Item = Self> {
        let sources = Interrupt::ALL.into_iter().filter(|source| !source.is_function_call());
        let softirqs = (0..Softirq::COUNT as u32).filter_map(Softirq::from_number);
        sources.map(Cause::Interrupt).chain(softirqs.map(Cause::Softirq)).chain([
            Cause::FunctionCalls,
            Cause::Nmi,
            Cause::KernelThreads,
        ])
    }
}

/// Formats the kernel's names, as in tracepoints and in `/proc/softirqs`.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Interrupt(vector) => f.write_str(vector.name()),
            Cause::FunctionCalls => f.write_str("call_function"),
            Cause::Softirq(softirq) => write!(f, "softirq:{}", softirq.kernel_name()),
            Cause::Nmi => f.write_str("nmi"),
            Cause::KernelThreads => f.write_str("kernel_threads"),
            Cause::Device(name) => write!(f, "device:{name}"),
            Cause::OtherDevices => f.write_str("other_devices"),
            Cause::Unnamed => f.write_str("unnamed"),
        }
    }
}
