// SPDX-License-Identifier: GPL-2.0-only
//! The label `cause` of an interruption: one for each group of `dyntick-count`, and few of them. Kernel threads are one
//! cause whatever their names, and so are the functions of timers, calls and work items; `dyntick explain` has those.

use dyntick_count::Group;
use dyntick_model::text::clean_line;
use dyntick_model::{Interrupt, Softirq, Symbol};
use std::fmt;

/// How many devices of one CPU have a label of their own; those that come later are counted together. With managed
/// interrupts an isolated CPU has one for each multi-queue device.
pub const MOST_DEVICES: usize = 16;

/// What interrupted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// An interrupt vector, but for those of function calls.
    Interrupt(Interrupt),
    /// Function calls from other CPUs.
    FunctionCalls,
    /// A softirq.
    Softirq(Softirq),
    /// Non-maskable interrupts.
    Nmi,
    /// Time slices of kernel threads.
    KernelThreads,
    /// A device, by the name that its driver gave, fit for a terminal.
    Device(Symbol),
    /// Devices beyond the first [`MOST_DEVICES`] of a CPU.
    OtherDevices,
    /// What found the name table full.
    Unnamed,
}

impl Cause {
    /// Of a group; none of one that is no interruption.
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

    /// Those that every CPU has from the begin on, so that the first interruption is an increase and not a new series.
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

/// The kernel's names, as of tracepoints and of `/proc/softirqs`.
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
