// SPDX-License-Identifier: GPL-2.0-only
//! The words of steps.

use super::{Actor, Arrived, CpuTimer, Source, Step, Unseen};
use crate::{Class, PerfOpener};
use dyntick_model::{Interrupt, signal_name};
use std::fmt::{Display, Formatter, Result};

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        use Step::*;
        match self {
            Sent { by, callsite } => write!(f, "{by} sent the interrupt ({callsite})"),
            Signalled { by, victim, callsite, signal: Some(signal) } => {
                write!(f, "{by} sent {} to {victim} ({callsite})", signal_name(*signal))
            }
            Signalled { by, victim, callsite, signal: None } => {
                write!(f, "{by} signalled {victim} ({callsite})")
            }
            Interrupted { cpu } => write!(f, "CPU {cpu} was interrupted"),
            OfAnotherProcess { sender, victim } => {
                write!(f, "{sender} is of another process than {victim}, which had the CPU")
            }
            CalledFunction { function, cpu } => write!(f, "CPU {cpu} ran {function}"),
            CalledSomeFunction { cpu } => write!(f, "CPU {cpu} was interrupted to call a function"),
            QueuedIrqWork { by, function, callsite } => write!(f, "{by} queued {function} ({callsite})"),
            RanIrqWork { function, cpu, kicked: true } => {
                write!(f, "CPU {cpu} was interrupted to run {function}")
            }
            RanIrqWork { function, cpu, kicked: false } => {
                write!(f, "CPU {cpu} sent itself an IPI to run {function}")
            }
            RanSomeIrqWork { cpu } => write!(f, "CPU {cpu} ran an irq_work"),

            QueuedWork { by, function, cpu } => write!(f, "{by} queued {function} for CPU {cpu}"),
            WorkerRunnable { worker, function } => write!(f, "{worker} became runnable to run {function}"),
            MadeRunnable { by, task, cpu } => write!(f, "{by} made {task} runnable on CPU {cpu}"),
            Woke { by, task } => write!(f, "{by} woke {task}"),
            CalledRcuTasksTrace { by } => write!(f, "{by} called call_rcu_tasks_trace"),
            LoadBalanced { cpu } => write!(
                f,
                "CPU {cpu} takes part in load balancing: it is not isolated (isolcpus=domain or a cpuset \
                 partition)"
            ),
            FairServerEnqueued { or_ext: false } => {
                f.write_str("dl_task_timer enqueued the deadline server of the fair class")
            }
            FairServerEnqueued { or_ext: true } => f.write_str(
                "dl_task_timer enqueued a deadline server, that of the fair class or that of the BPF scheduler's tasks",
            ),
            DeadlineServerTimer { cpu } => {
                write!(f, "dl_task_timer of a deadline server expired on CPU {cpu}")
            }
            KeptTickFor { arrived, current, cpu } => {
                write!(f, "tick of CPU {cpu} kept by SCHED: {arrived} in addition to {current}")
            }
            RanInIdle { arrived, cpu } => write!(f, "{arrived} ran on CPU {cpu}, which was idle"),
            RanInsteadOf { arrived, victim, cpu } => {
                write!(f, "{arrived} ran on CPU {cpu} instead of {victim}")
            }
            InterruptedFor { arrived, cpu, restarted_tick: true } => {
                write!(f, "CPU {cpu} was interrupted for {arrived} and restarted its tick")
            }
            InterruptedFor { arrived, cpu, restarted_tick: false } => {
                write!(f, "CPU {cpu} was interrupted for {arrived}")
            }

            SetTimer { by } => write!(f, "{by} set a timer"),
            TimerDue { function, cpu } => write!(f, "timer {function} was due on CPU {cpu}"),
            TimerOfOtherDue { function, base } => write!(f, "timer {function} of CPU {base} was due"),
            TimerDueInTick { function } => write!(f, "timer {function} was due in it"),
            HrtimerExpired { function, cpu } => write!(f, "hrtimer {function} expired on CPU {cpu}"),
            TimerWoke { task } => write!(f, "it woke {task}"),
            NothingExpired { cpu } => {
                write!(f, "the timer hardware of CPU {cpu} fired, and no hrtimer ran in the interrupt")
            }
            LeftToSoftirq { cpu } => {
                write!(f, "the interrupt left the timers that had expired on CPU {cpu} to the HRTIMER softirq")
            }
            WorkDelayEnded { function, cpu } => {
                write!(f, "the delay of work item {function} ended on CPU {cpu}")
            }
            InterruptedToQueue { timer, victim } => write!(f, "{timer} interrupted {victim} to queue it"),
            RanBefore { by } => write!(f, "{by} had run a moment before"),
            WokenForEmptyWheel { cpu } => {
                write!(f, "CPU {cpu} was woken for the timer wheel, and no timer was left for it")
            }

            NoAdaptiveTicks => f.write_str(
                "this kernel has no CONFIG_NO_HZ_FULL: none of its CPUs may stop its tick while it is busy",
            ),
            NotAdaptive { cpu } => write!(f, "CPU {cpu} is not in nohz_full"),
            TickedAtHz { victim, hz: 0 } => write!(f, "it was busy with {victim}, so its tick ran HZ times a second"),
            TickedAtHz { victim, hz } => write!(f, "it was busy with {victim}, so its tick ran at HZ={hz}"),
            TicksInIsolation { cpu } => write!(f, "CPU {cpu} is isolated and ticks, and ran it"),
            AdaptiveCpus { cpus } => write!(f, "nohz_full={cpus} is in use"),
            Timekeeper { cpu } => {
                write!(f, "CPU {cpu} is the timekeeping CPU and may not stop its tick in idle")
            }
            RcuNotOffloaded { cpu } => write!(f, "RCU had work on CPU {cpu}, which is not in rcu_nocbs"),
            IdleWithTick { cpu } => write!(f, "CPU {cpu} was idle with its tick still running"),
            RanWithTick { victim, cpu } => write!(f, "{victim} ran on CPU {cpu} with the tick still running"),
            NoDependencyLeft => f.write_str(
                "no tick dependency was left, and the end of this tick was the first point where it could be \
                 stopped",
            ),
            HasQuota { task, quota } => write!(f, "{task} has a quota of {quota}"),
            ArmedCpuTimer { task, timer } => write!(f, "{task} has armed {timer}"),
            KeptToCheck { cpu } => write!(f, "the tick of CPU {cpu} is kept to check it"),
            ClockUnstable { clocksource: None } => f.write_str("sched_clock() is unstable"),
            ClockUnstable { clocksource: Some(source) } => {
                write!(f, "sched_clock() is unstable; the clocksource in use is {source}")
            }
            KeptForClock { task, cpu } => {
                write!(f, "with {task} running, the tick of CPU {cpu} is kept to correct the clock")
            }
            ScheduledBy { task, class } => write!(f, "{task} is scheduled by {}", class_name(*class)),
            KeptWithoutOther { cpu } => {
                write!(f, "tick of CPU {cpu} kept by SCHED, with no other task seen")
            }
            PerfEventsOpen { openers } => {
                f.write_str("perf events are open in ")?;
                list(f, openers.iter())
            }
            KeptForPerf { task, cpu } => write!(
                f,
                "a perf event in frequency mode exists, or one was throttled, while {task} ran; the tick of \
                 CPU {cpu} is kept to adjust it"
            ),
            KeptForRcu { task, cpu } => write!(
                f,
                "RCU needs {task} to pass a quiescent state, or runs callbacks in it; the tick of CPU {cpu} \
                 is kept for that"
            ),
            KeptForExpeditedRcu { task, cpu } => write!(
                f,
                "an expedited grace period still waits for {task}; the tick of CPU {cpu} is kept until it \
                 reports"
            ),

            Device { irq, name, cpu } => write!(f, "interrupt {irq} of {name} was delivered to CPU {cpu}"),
            Vector { vector, cpu } => {
                let name = vector_name(*vector).unwrap_or(vector.name());
                write!(f, "the interrupt '{name}' was delivered to CPU {cpu}")
            }
            Nmi { handler, cpu } => write!(f, "an NMI on CPU {cpu} was handled by {handler}"),
            NmiQueuedIrqWork => f.write_str("it queued an irq_work for what may not be done in an NMI"),
            PageFault { victim, user: true } => write!(f, "{victim} accessed memory in user mode"),
            PageFault { victim, user: false } => {
                write!(f, "{victim} accessed memory in kernel mode (system call)")
            }
            SoftirqRan { softirq, in_task, cpu } => {
                write!(f, "softirq {} ran in {in_task} on CPU {cpu}", softirq.kernel_name())
            }

            HadCpu { task } => write!(f, "{task} had the CPU when the thread was woken"),
            HadCpuOfEqual { task } => {
                write!(f, "{task} had the CPU, and the thread has no real-time priority")
            }
            ScheduledFirst { task } => write!(f, "{task} was scheduled first"),
            HasPriority { task, priority, own } => {
                write!(f, "{task} has priority {priority}, the thread {own}")
            }

            Stolen { cpu, ms } => write!(f, "the hypervisor did not run CPU {cpu} for {ms} ms"),
            ClockDistrusted { parameter } => write!(f, "the kernel command line has {parameter}"),
            SlowClocksource { clocksource } => {
                write!(f, "the clocksource is {clocksource}, which is slower to read")
            }

            Stored { words } => f.write_str(words),
        }
    }
}

impl Display for Actor {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Actor::Function { function, cpu } => write!(f, "{function} on CPU {cpu}"),
            Actor::Task { task, cpu } => write!(f, "{task} on CPU {cpu}"),
            Actor::Softirq { softirq: Some(softirq), cpu } => {
                write!(f, "the {} softirq on CPU {cpu}", softirq.kernel_name())
            }
            Actor::Softirq { softirq: None, cpu } => write!(f, "a softirq on CPU {cpu}"),
            Actor::Interrupt { source: Some(source), cpu } => {
                write!(f, "the interrupt {source} on CPU {cpu}")
            }
            Actor::Interrupt { source: None, cpu } => write!(f, "an interrupt on CPU {cpu}"),
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Source::Device(name) => f.write_str(name),
            Source::Vector(vector) => f.write_str(vector.name()),
        }
    }
}

impl Display for Arrived {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Arrived::Task(task) => task.fmt(f),
            Arrived::Tasks(tasks) => list(f, tasks.iter()),
            Arrived::FairServer => f.write_str("the server as a second runnable entity"),
            Arrived::Unseen(unseen) => unseen.fmt(f),
        }
    }
}

impl Display for Unseen {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(if self.unrecorded {
            "something that the trace has no events of (a second task"
        } else {
            "something that no event shows (a task from before the recording"
        })?;
        let possible = [
            (self.quota, "the CPU quota of a cgroup"),
            (self.deadline, "SCHED_DEADLINE, also for a single task"),
            (self.sched_ext, "a time slice of sched_ext, also for a single task"),
        ];
        for (_, what) in possible.iter().filter(|(is_possible, _)| *is_possible) {
            write!(f, "; {what}")?;
        }
        f.write_str(")")
    }
}

impl Display for CpuTimer {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            CpuTimer::Known(timer) => f.write_str(timer),
            CpuTimer::Interval(which) => write!(f, "{which} by setitimer"),
            CpuTimer::Unknown => f.write_str("a CPU-time timer or limit"),
        }
    }
}

impl Display for PerfOpener {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} [{}] ({})", self.comm, self.process, self.events)
    }
}

fn list(f: &mut Formatter<'_>, all: impl Iterator<Item = impl Display>) -> Result {
    for (position, one) in all.enumerate() {
        let comma = if position == 0 { "" } else { ", " };
        write!(f, "{comma}{one}")?;
    }
    Ok(())
}

/// The name of the class in `sched(7)` and in the kernel's documentation.
fn class_name(class: Class) -> &'static str {
    match class {
        Class::Fair => "SCHED_OTHER",
        Class::RealTime => "SCHED_FIFO or SCHED_RR",
        Class::Deadline => "SCHED_DEADLINE",
        Class::Ext => "sched_ext",
    }
}

/// The name of a vector in the cause `vector`; `None` if the vector is not such a cause.
pub(crate) fn vector_name(vector: Interrupt) -> Option<&'static str> {
    Some(match vector {
        Interrupt::Thermal => "thermal",
        Interrupt::Threshold => "threshold",
        Interrupt::DeferredError => "deferred-error",
        Interrupt::Controller => "apic-error",
        Interrupt::Spurious => "spurious",
        Interrupt::Platform => "platform",
        _ => return None,
    })
}
