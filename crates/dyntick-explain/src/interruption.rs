// SPDX-License-Identifier: GPL-2.0-only
//! One entry into the kernel that the running task did not request.

use crate::{CauseId, Chain, Stack, Task};
use dyntick_model::{Interrupt, Softirq, Symbol};
use std::sync::Arc;

/// One entry into the kernel, or one time slice of another task, caused from outside of the task that had the CPU.
/// [`Kind::is_interruption`] distinguishes interruptions. It is complete in itself, but shares memory with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// The interrupted CPU.
    pub cpu: u32,
    /// The begin, ns on the events' clock.
    pub start_ns: u64,
    /// The duration, ns: of an interrupt until its last softirq and its decision on the tick, of a time slice without
    /// the interrupts in it, which are counted separately. It is measured from event to event, so it omits the entry
    /// code before the first event.
    pub duration_ns: u64,
    /// The time of interruptions within it, ns, which are counted separately.
    pub nested_ns: u64,
    /// The entry point into the kernel.
    pub kind: Kind,
    /// The cause, whose words and fixes `rules::get` has.
    pub cause: CauseId,
    /// The chain of causation.
    pub chain: Chain,
    /// The kernel functions that ran in it: timers, work items, called functions, in order.
    pub functions: Arc<[Symbol]>,
    /// The interrupted task.
    pub victim: Task,
    /// The other task, which came to the CPU or was woken by a timer.
    pub other: Option<Task>,
    /// The call stack that caused it, if stacks are recorded.
    pub stack: Option<Stack>,
    /// The action that led to it, if it was seen: an interrupt was sent, a timer set, a work item queued or a task
    /// woken.
    pub sent: Option<Sent>,
}

/// An action that led to an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The CPU on which it was done.
    pub cpu: u32,
    /// The time, ns on the events' clock.
    pub at_ns: u64,
}

impl Interruption {
    /// The end, ns on the events' clock, after all interruptions within it.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns).saturating_add(self.nested_ns)
    }
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
    /// A timer interrupt without a due timer, because the timer was cancelled.
    EmptyTimer,
    /// An IPI that requests the scheduler.
    Reschedule,
    /// An IPI that requests a function call.
    FunctionCall,
    /// An irq_work that this CPU, or another one for it, had queued.
    IrqWork,
    /// A device interrupt.
    #[allow(missing_docs)]
    Device { irq: u32, name: Symbol },
    /// Any other interrupt vector.
    #[allow(missing_docs)]
    OtherVector { vector: Interrupt },
    /// A non-maskable interrupt.
    #[allow(missing_docs)]
    Nmi { handler: Symbol },
    /// A page fault. No event marks its end, so it has no duration.
    PageFault {
        /// True if user code caused it.
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

    /// Its index in the names.
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

    /// A short name for tables.
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.place()]
    }

    /// Returns true if the kernel took the CPU from the running task without a request; only that counts as an
    /// interruption. A page fault is the task's own, and only the user knows which user tasks belong on a CPU.
    pub fn is_interruption(&self) -> bool {
        !matches!(self, Kind::PageFault { .. } | Kind::OtherTask | Kind::CommandTask)
    }

    /// Returns true if the entry point was the local timer interrupt.
    pub fn is_local_timer(&self) -> bool {
        matches!(self, Kind::Tick | Kind::TimerWheel | Kind::Hrtimer | Kind::EmptyTimer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_has_the_name_of_each_kind() {
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
