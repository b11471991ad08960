// SPDX-License-Identifier: GPL-2.0-only
//! One entry into the kernel that the running task did not ask for.

use crate::{CauseId, Chain, Stack, Task};
use dyntick_model::{Interrupt, Softirq, Symbol};
use std::sync::Arc;

/// One entry into the kernel, or one turn of another task, caused from outside of the task that
/// had the CPU; which of them count as interruptions, [`Kind::is_interruption`] says. It is complete
/// in itself, and what many have in common they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// The CPU that was interrupted.
    pub cpu: u32,
    /// When it began, ns on the events' clock.
    pub start_ns: u64,
    /// How long it took, ns: for an interrupt until its last softirq and its decision on the tick;
    /// for the turn of a task without the interrupts that it suffered itself, which are counted
    /// on their own. From event to event, so the entry code before the first is not in it.
    pub duration_ns: u64,
    /// The way into the kernel.
    pub kind: Kind,
    /// Why it happened: `rules::get` has the words and the fix.
    pub cause: CauseId,
    /// How it came about.
    pub chain: Chain,
    /// Kernel functions that ran inside: timers, work items, called functions, in order.
    pub functions: Arc<[Symbol]>,
    /// The task that was interrupted.
    pub victim: Task,
    /// The task that came to the CPU beside it, or that a timer woke.
    pub other: Option<Task>,
    /// Where the one was who caused it, where stacks are recorded.
    pub stack: Option<Stack>,
}

/// The way in which a CPU was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// The periodic tick.
    Tick,
    /// The tick's timer fired once for the timer wheel while the periodic tick was stopped.
    TimerWheel,
    /// The timer interrupt for a high-resolution timer other than the tick's.
    Hrtimer,
    /// A timer interrupt in which nothing was due: what it had been set for was cancelled.
    EmptyTimer,
    /// Another CPU asked for the scheduler.
    Reschedule,
    /// Another CPU asked for a function call.
    FunctionCall,
    /// Work that this CPU, or another by way of it, had queued for interrupt context.
    IrqWork,
    /// A device.
    #[allow(missing_docs)]
    Device { irq: u32, name: Symbol },
    /// Any other interrupt vector.
    #[allow(missing_docs)]
    OtherVector { vector: Interrupt },
    /// A non-maskable interrupt.
    #[allow(missing_docs)]
    Nmi { handler: Symbol },
    /// Memory that was not there, or not there in that way, was touched. No event tells when the kernel
    /// is done with it, so it has no duration.
    PageFault {
        /// Whether by user code.
        user: bool,
    },
    /// Softirqs outside of an interrupt: in the context of the running task.
    #[allow(missing_docs)]
    Softirq { softirq: Softirq },
    /// A kernel worker ran one or more work items.
    WorkItem,
    /// Another kernel thread ran.
    KernelThread,
    /// A user task that is not of the recorded command ran while the victim still wanted the CPU.
    OtherTask,
    /// A task of the recorded command ran while another one of it still wanted the CPU.
    CommandTask,
}

impl Kind {
    /// The names of all kinds.
    pub const NAMES: [&str; 16] = [
        "tick",
        "timer-wheel",
        "hrtimer",
        "empty-timer",
        "reschedule",
        "function-call",
        "irq-work",
        "device",
        "other-vector",
        "nmi",
        "page-fault",
        "softirq",
        "work-item",
        "kernel-thread",
        "other-task",
        "command-task",
    ];

    /// Its place among the names.
    pub(crate) fn place(&self) -> usize {
        match self {
            Kind::Tick => 0,
            Kind::TimerWheel => 1,
            Kind::Hrtimer => 2,
            Kind::EmptyTimer => 3,
            Kind::Reschedule => 4,
            Kind::FunctionCall => 5,
            Kind::IrqWork => 6,
            Kind::Device { .. } => 7,
            Kind::OtherVector { .. } => 8,
            Kind::Nmi { .. } => 9,
            Kind::PageFault { .. } => 10,
            Kind::Softirq { .. } => 11,
            Kind::WorkItem => 12,
            Kind::KernelThread => 13,
            Kind::OtherTask => 14,
            Kind::CommandTask => 15,
        }
    }

    /// A short name, as used in tables.
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.place()]
    }

    /// Whether the kernel took the CPU from what ran there, unasked: nothing else is counted as an interruption. A page
    /// fault is the running task's own, and which of the user tasks belong on a CPU only the user knows.
    pub fn is_interruption(&self) -> bool {
        !matches!(self, Kind::PageFault { .. } | Kind::OtherTask | Kind::CommandTask)
    }

    /// Whether the local timer interrupt was the way in.
    pub fn is_local_timer(&self) -> bool {
        matches!(self, Kind::Tick | Kind::TimerWheel | Kind::Hrtimer | Kind::EmptyTimer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_name_in_the_list() {
        let (irq, name, handler) = (4, "ttyS0".into(), "perf".into());
        let kinds = [
            Kind::Tick,
            Kind::TimerWheel,
            Kind::Hrtimer,
            Kind::EmptyTimer,
            Kind::Reschedule,
            Kind::FunctionCall,
            Kind::IrqWork,
            Kind::Device { irq, name },
            Kind::OtherVector { vector: Interrupt::Other },
            Kind::Nmi { handler },
            Kind::PageFault { user: true },
            Kind::Softirq { softirq: Softirq::Rcu },
            Kind::WorkItem,
            Kind::KernelThread,
            Kind::OtherTask,
            Kind::CommandTask,
        ];
        assert_eq!(kinds.each_ref().map(Kind::name), Kind::NAMES);
        let others = kinds.iter().filter(|kind| !kind.is_interruption()).map(Kind::name);
        assert_eq!(others.collect::<Vec<_>>(), ["page-fault", "other-task", "command-task"]);
    }
}
