// SPDX-License-Identifier: GPL-2.0-only
//! What a step of a chain can be. Its words are in `text.rs`, beside this file.

use super::part::{Actor, Arrived, CpuTimer};
use crate::{Class, PerfOpener, Task};
use dyntick_model::{CpuList, Interrupt, Softirq, Symbol};
use std::sync::Arc;

/// One step: what the kernel, a task or a device did, or what is so and lets it come to the next step. `cpu` is
/// the CPU that it was done to, or on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the fields are named after what they hold
pub enum Step {
    // Interrupts from other CPUs, and from the CPU itself.
    /// An interrupt was sent from this place in the kernel.
    Sent {
        by: Actor,
        callsite: Symbol,
    },
    /// It brought a signal.
    Signalled {
        by: Actor,
        victim: Task,
        callsite: Symbol,
    },
    Interrupted {
        cpu: u32,
    },
    /// The sender of the step before is of another process than the task that it interrupts.
    OfAnotherProcess {
        sender: Task,
        victim: Task,
    },
    /// A function that another CPU had asked for ran.
    CalledFunction {
        function: Symbol,
        cpu: u32,
    },
    /// The same, and which function is not known.
    CalledSomeFunction {
        cpu: u32,
    },
    QueuedIrqWork {
        by: Actor,
        function: Symbol,
        callsite: Symbol,
    },
    /// `kicked`: by another CPU; else by an IPI to itself.
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
    /// The tick runs for what arrived beside this task.
    KeptTickFor {
        arrived: Arrived,
        beside: Task,
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
    /// The timers that had expired are those of a softirq.
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
    /// The wheel's timers had been run by this one.
    RanBefore {
        by: Actor,
    },
    WokenForEmptyWheel {
        cpu: u32,
    },

    // The tick, and what it depends on.
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

    // What came to a CPU otherwise.
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
    /// The NMI of the step before left work for interrupt context.
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

    // Why a wake-up was late.
    HadCpu {
        task: Task,
    },
    /// The woken thread has no real-time priority, and neither has the one that had the CPU.
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

    // What only counters and the command line show.
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
}
