// SPDX-License-Identifier: GPL-2.0-only
//! The groups that are counted together, and their class: interruption or not. This is the one definition of
//! *interruption* for counts; `dyntick_explain::Kind::is_interruption` is the same for records.

use dyntick_model::{Interrupt, Softirq, Symbol};
use dyntick_observe::live::Key;

/// A group that has its own row, with its parts below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// An interrupt vector, but for those of function calls.
    Interrupt(Interrupt),
    /// The vectors of function calls from other CPUs, and what they called.
    FunctionCalls,
    /// A device, by the number of its interrupt and the name that its driver gave.
    Device(u32, Symbol),
    /// A softirq.
    Softirq(Softirq),
    /// A non-maskable interrupt, by the handler that took it.
    Nmi(Symbol),
    /// The time slices of kernel threads, and the work items in them.
    KernelThreads,
    /// Interruptions whose family alone is known, since the name table was full.
    Unnamed(&'static str),
    /// The time slices of user tasks other than the command's and dyntick's.
    UserTasks,
    /// Page faults, of user code or of the kernel.
    PageFaults {
        /// True for faults of user code, false for those of the kernel.
        user: bool,
    },
}

/// A part of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The tick's own timer.
    Tick {
        /// True if the tick was stopped, and this a single interrupt for the timer wheel.
        stopped: bool,
    },
    /// Another high-resolution timer, by its function.
    Hrtimer(Symbol),
    /// A local timer interrupt in which no timer was due.
    EmptyTimer,
    /// A timer of the timer wheel, by its function.
    Timer(Symbol),
    /// A function that another CPU called.
    Called(Symbol),
    /// A work item, by its function.
    Work(Symbol),
    /// A kernel thread, by its name.
    KernelThread(Symbol),
    /// Kernel threads for whose names there was no room.
    OtherKernelThreads,
    /// User tasks of one name.
    Task(Symbol),
    /// User tasks for whose names there was no room.
    OtherTasks,
    /// Causes without a name, since the name table was full, by their family.
    Unnamed(&'static str),
}

/// The subject of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// A group.
    Group(Group),
    /// A part of one.
    Part(Part),
}

/// The class of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The kernel took the CPU from what ran there, unasked: an interrupt, a non-maskable interrupt, a softirq, or a
    /// time slice of a kernel thread. Nothing else is an interruption.
    Interruption,
    /// Time slices of user tasks. Which of them belong on the CPU only the user knows, so none is an interruption.
    UserTasks,
    /// Exceptions of the running task itself: its own access to memory that was not there yet. They are counted,
    /// and have no duration.
    PageFaults,
}

/// The place where a key is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountedAs {
    /// It is a group.
    Group(Group),
    /// It is a part whose count and time the group has already.
    Within(Group, Part),
    /// It is a part, and the group is the sum of these.
    AddsTo(Group, Part),
    /// No row: idle time and decisions on the tick.
    Nothing,
}

impl Group {
    /// Returns the class of the group.
    pub fn class(&self) -> Class {
        match self {
            Group::UserTasks => Class::UserTasks,
            Group::PageFaults { .. } => Class::PageFaults,
            Group::Interrupt(_)
            | Group::FunctionCalls
            | Group::Device(..)
            | Group::Softirq(_)
            | Group::Nmi(_)
            | Group::KernelThreads
            | Group::Unnamed(_) => Class::Interruption,
        }
    }
}

impl CountedAs {
    /// Returns the place of a key.
    pub fn of(key: &Key) -> Self {
        match key {
            Key::Interrupt { source: Interrupt::FunctionCall | Interrupt::FunctionCallSingle } => {
                CountedAs::Group(Group::FunctionCalls)
            }
            Key::Interrupt { source } => CountedAs::Group(Group::Interrupt(*source)),
            Key::Device { irq, name } => CountedAs::Group(Group::Device(*irq, name.clone())),
            Key::Softirq { softirq } => CountedAs::Group(Group::Softirq(*softirq)),
            Key::Nmi { function } => CountedAs::Group(Group::Nmi(function.clone())),
            Key::PageFault { user } => CountedAs::Group(Group::PageFaults { user: *user }),
            Key::Tick { stopped } => in_local_timer(Part::Tick { stopped: *stopped }),
            Key::Hrtimer { function } => in_local_timer(Part::Hrtimer(function.clone())),
            Key::EmptyTimer => in_local_timer(Part::EmptyTimer),
            Key::Timer { function } => in_timer_softirq(Part::Timer(function.clone())),
            Key::Called { function } => {
                CountedAs::Within(Group::FunctionCalls, Part::Called(function.clone()))
            }
            Key::Work { function } => CountedAs::Within(Group::KernelThreads, Part::Work(function.clone())),
            Key::KernelThread { comm } => {
                let part = comm.clone().map_or(Part::OtherKernelThreads, Part::KernelThread);
                CountedAs::AddsTo(Group::KernelThreads, part)
            }
            Key::Task { comm, .. } => {
                let part = comm.clone().map_or(Part::OtherTasks, Part::Task);
                CountedAs::AddsTo(Group::UserTasks, part)
            }
            Key::Unnamed { family } => unnamed(family),
            Key::Idle | Key::TickStopped | Key::TickKept { .. } => CountedAs::Nothing,
        }
    }
}

fn in_local_timer(part: Part) -> CountedAs {
    CountedAs::Within(Group::Interrupt(Interrupt::Timer), part)
}

fn in_timer_softirq(part: Part) -> CountedAs {
    CountedAs::Within(Group::Softirq(Softirq::Timer), part)
}

/// Causes without room for a name are counted with the named ones of their family.
fn unnamed(family: &'static str) -> CountedAs {
    let part = Part::Unnamed(family);
    match family {
        "hrtimer" => in_local_timer(part),
        "timer" => in_timer_softirq(part),
        "called" => CountedAs::Within(Group::FunctionCalls, part),
        "work" => CountedAs::Within(Group::KernelThreads, part),
        "tick-kept" => CountedAs::Nothing,
        _ => CountedAs::Group(Group::Unnamed(family)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_observe::live::Whose;

    #[test]
    fn only_the_kernel_interrupts() {
        let class = |key: Key| match CountedAs::of(&key) {
            CountedAs::Group(group) | CountedAs::Within(group, _) | CountedAs::AddsTo(group, _) => {
                Some(group.class())
            }
            CountedAs::Nothing => None,
        };
        let function = || "any".into();
        assert_eq!(class(Key::Interrupt { source: Interrupt::Reschedule }), Some(Class::Interruption));
        assert_eq!(class(Key::KernelThread { comm: Some(function()) }), Some(Class::Interruption));
        assert_eq!(class(Key::Nmi { function: function() }), Some(Class::Interruption));
        let whose = Whose::Other;
        assert_eq!(class(Key::Task { comm: Some(function()), whose }), Some(Class::UserTasks));
        assert_eq!(class(Key::Task { comm: None, whose }), Some(Class::UserTasks));
        assert_eq!(class(Key::PageFault { user: true }), Some(Class::PageFaults));
        assert_eq!((class(Key::Idle), class(Key::TickStopped)), (None, None));
    }
}
