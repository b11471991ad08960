// SPDX-License-Identifier: GPL-2.0-only
//! The steps that a chain can have. Their words are in `text.rs` in the same folder.

use super::part::{Actor, Arrived, CpuTimer};
use crate::{Class, PerfOpener, Task};
use dyntick_model::{CpuList, Interrupt, Softirq, Symbol};
use std::sync::Arc;

/// One step: an action of the kernel, a task or a device, or a condition that leads to the next step. `cpu` is the CPU
/// that was acted on, or on which the action took place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the fields are named after what they hold
pub enum Step {
    // Interrupts from other CPUs, and from the CPU itself.
    /// An interrupt was sent from this place in the kernel.
    Sent {
        by: Actor,
        callsite: Symbol,
    },
    /// The interrupt brought a signal.
    Signalled {
        by: Actor,
        victim: Task,
        callsite: Symbol,
        /// Its number, if the event was recorded.
        signal: Option<u32>,
    },
    Interrupted {
        cpu: u32,
    },
    /// The sender of the step before is of another process than the task that it interrupts.
    OfAnotherProcess {
        sender: Task,
        victim: Task,
    },
    /// A function ran that another CPU had requested.
    CalledFunction {
        function: Symbol,
        cpu: u32,
    },
    /// The same with an unknown function.
    CalledSomeFunction {
        cpu: u32,
    },
    QueuedIrqWork {
        by: Actor,
        function: Symbol,
        callsite: Symbol,
    },
    /// An irq_work ran: `kicked` by another CPU, or else by a self-IPI.
    RanIrqWork {
        function: Symbol,
        cpu: u32,
        kicked: bool,
    },
    RanSomeIrqWork {
        cpu: u32,
    },

    // Tasks and work items on their way to a CPU.
    QueuedWork {
        by: Actor,
        function: Symbol,
        cpu: u32,
    },
    WorkerRunnable {
        worker: Task,
        function: Symbol,
    },
    MadeRunnable {
        by: Actor,
        task: Task,
        cpu: u32,
    },
    Woke {
        by: Actor,
        task: Task,
    },
    /// A task has a callback wait for a grace period of RCU Tasks Trace.
    CalledRcuTasksTrace {
        by: Actor,
    },
    /// The load balancer may move tasks here.
    LoadBalanced {
        cpu: u32,
    },
    /// The timer of the deadline server of the fair class enqueued it, or `or_ext` that of a BPF scheduler's tasks.
    FairServerEnqueued {
        or_ext: bool,
    },
    /// Such a timer expired, and nothing became runnable.
    DeadlineServerTimer {
        cpu: u32,
    },
    /// The tick runs for a newcomer while this task runs.
    KeptTickFor {
        arrived: Arrived,
        current: Task,
        cpu: u32,
    },
    RanInIdle {
        arrived: Arrived,
        cpu: u32,
    },
    RanInsteadOf {
        arrived: Arrived,
        victim: Task,
        cpu: u32,
    },
    InterruptedFor {
        arrived: Arrived,
        cpu: u32,
        restarted_tick: bool,
    },

    // Timers.
    SetTimer {
        by: Actor,
    },
    TimerDue {
        function: Symbol,
        cpu: u32,
    },
    /// A timer of another CPU's wheel.
    TimerOfOtherDue {
        function: Symbol,
        base: u32,
    },
    TimerDueInTick {
        function: Symbol,
    },
    HrtimerExpired {
        function: Symbol,
        cpu: u32,
    },
    /// The timer of the step before woke a task.
    TimerWoke {
        task: Task,
    },
    NothingExpired {
        cpu: u32,
    },
    /// The expired timers were left to a softirq.
    LeftToSoftirq {
        cpu: u32,
    },
    WorkDelayEnded {
        function: Symbol,
        cpu: u32,
    },
    InterruptedToQueue {
        timer: Symbol,
        victim: Task,
    },
    /// The wheel's timers had already run in this interruption.
    RanBefore {
        by: Actor,
    },
    WokenForEmptyWheel {
        cpu: u32,
    },

    // The tick and its dependencies.
    NotAdaptive {
        cpu: u32,
    },
    NoAdaptiveTicks,
    TickedAtHz {
        victim: Task,
        hz: u32,
    },
    TicksInIsolation {
        cpu: u32,
    },
    AdaptiveCpus {
        cpus: CpuList,
    },
    Timekeeper {
        cpu: u32,
    },
    RcuNotOffloaded {
        cpu: u32,
    },
    IdleWithTick {
        cpu: u32,
    },
    RanWithTick {
        victim: Task,
        cpu: u32,
    },
    NoDependencyLeft,
    HasQuota {
        task: Task,
        quota: Symbol,
    },
    ArmedCpuTimer {
        task: Task,
        timer: CpuTimer,
    },
    /// The tick is kept to check the timer or quota of the step before.
    KeptToCheck {
        cpu: u32,
    },
    ClockUnstable {
        clocksource: Option<Symbol>,
    },
    KeptForClock {
        task: Task,
        cpu: u32,
    },
    ScheduledBy {
        task: Task,
        class: Class,
    },
    KeptWithoutOther {
        cpu: u32,
    },
    PerfEventsOpen {
        openers: Arc<[PerfOpener]>,
    },
    KeptForPerf {
        task: Task,
        cpu: u32,
    },
    KeptForRcu {
        task: Task,
        cpu: u32,
    },
    KeptForExpeditedRcu {
        task: Task,
        cpu: u32,
    },

    // Other entries into the kernel.
    Device {
        irq: u32,
        name: Symbol,
        cpu: u32,
    },
    Vector {
        vector: Interrupt,
        cpu: u32,
    },
    Nmi {
        handler: Symbol,
        cpu: u32,
    },
    /// The NMI of the previous step queued an irq_work.
    NmiQueuedIrqWork,
    PageFault {
        victim: Task,
        user: bool,
    },
    SoftirqRan {
        softirq: Softirq,
        in_task: Task,
        cpu: u32,
    },

    // The reasons for late wake-ups.
    HadCpu {
        task: Task,
    },
    /// Neither the woken thread nor the one that had the CPU has a real-time priority.
    HadCpuOfEqual {
        task: Task,
    },
    ScheduledFirst {
        task: Task,
    },
    HasPriority {
        task: Task,
        priority: u32,
        own: u32,
    },

    // Facts that only counters and the command line show.
    Stolen {
        cpu: u32,
        ms: u64,
    },
    ClockDistrusted {
        parameter: Symbol,
    },
    SlowClocksource {
        clocksource: Symbol,
    },

    /// A step of a stored chain: only its words are stored.
    Stored {
        words: Symbol,
    },
}

impl Step {
    /// The actor of the step, if it has one.
    pub(crate) fn by(&self) -> Option<&Actor> {
        match self {
            Step::Sent { by, .. }
            | Step::Signalled { by, .. }
            | Step::QueuedIrqWork { by, .. }
            | Step::QueuedWork { by, .. }
            | Step::MadeRunnable { by, .. }
            | Step::Woke { by, .. }
            | Step::SetTimer { by } => Some(by),
            _ => None,
        }
    }
}
