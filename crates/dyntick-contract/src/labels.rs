// SPDX-License-Identifier: GPL-2.0-only
//! The printed names of counts.

use dyntick_count::{CountedAs, CountedBy, Group, Part, What};
use dyntick_model::{Interrupt, TickDependency};
use dyntick_observe::live::Key;

/// The name of the row that counts a key.
pub fn of_key(key: &Key) -> String {
    match CountedAs::of(key) {
        CountedAs::Group(group) => of_group(&group),
        CountedAs::Within(_, part) | CountedAs::AddsTo(_, part) => of_part(&part),
        CountedAs::Nothing => match key {
            Key::TickStopped => "tick stopped".to_owned(),
            Key::TickKept { dependency } => format!("tick kept: {}", kept_because(*dependency)),
            _ => "idle".to_owned(),
        },
    }
}

/// The name of a row.
pub fn of(what: &What) -> String {
    match what {
        What::Group(group) => of_group(group),
        What::Part(part) => of_part(part),
    }
}

fn of_group(group: &Group) -> String {
    match group {
        Group::Interrupt(vector) => of_vector(*vector).to_owned(),
        Group::FunctionCalls => "function call interrupts (CAL)".to_owned(),
        Group::Device(irq, name) if name.is_empty() => format!("device IRQ {irq}"),
        Group::Device(irq, name) => format!("device {name} (IRQ {irq})"),
        Group::Softirq(softirq) => format!("softirq {}", softirq.kernel_name()),
        Group::Nmi(function) => format!("NMI {function}"),
        Group::KernelThreads => "kernel threads".to_owned(),
        Group::Unnamed(family) => unnamed(family),
        Group::UserTasks => "other user tasks".to_owned(),
        Group::PageFaults { user: true } => "page faults of user code".to_owned(),
        Group::PageFaults { user: false } => "page faults of the kernel".to_owned(),
    }
}

fn of_part(part: &Part) -> String {
    match part {
        Part::Tick { stopped: false } => "tick".to_owned(),
        Part::Tick { stopped: true } => "timer wheel, while the tick is stopped".to_owned(),
        Part::Hrtimer(function) => format!("hrtimer {function}"),
        Part::EmptyTimer => "no timer expired".to_owned(),
        Part::Timer(function) => format!("timer {function}"),
        Part::Called(function) => function.to_string(),
        Part::Work(function) => format!("work item {function}"),
        Part::KernelThread(comm) | Part::Task(comm) => comm.to_string(),
        Part::OtherKernelThreads => "other kernel threads".to_owned(),
        Part::OtherTasks => "other programs".to_owned(),
        Part::Unnamed(family) => unnamed(family),
    }
}

fn unnamed(family: &str) -> String {
    format!("{family}: name table full")
}

/// The reason why a tick is kept, in words.
pub fn kept_because(dependency: TickDependency) -> &'static str {
    match dependency {
        TickDependency::None => "no dependency",
        TickDependency::PosixTimer => "a POSIX CPU-time timer is armed",
        TickDependency::PerfEvents => "a perf event needs it",
        TickDependency::Sched => "another task is runnable, or the fair server is active",
        TickDependency::ClockUnstable => "the scheduler clock is unstable",
        TickDependency::Rcu => "RCU waits for the CPU, or runs callbacks on it",
        TickDependency::RcuExp => "an expedited RCU grace period waits for the CPU",
    }
}

/// The name of an interrupt source, with its row in `/proc/interrupts`.
fn of_vector(vector: Interrupt) -> &'static str {
    match vector {
        Interrupt::Timer => "local timer interrupts (LOC)",
        Interrupt::Reschedule => "rescheduling interrupts (RES)",
        Interrupt::FunctionCall | Interrupt::FunctionCallSingle => "function call interrupts (CAL)",
        Interrupt::IrqWork => "IRQ work interrupts (IWI)",
        Interrupt::Platform => "platform interrupts (PLT)",
        Interrupt::Thermal => "thermal event interrupts (TRM)",
        Interrupt::Threshold => "threshold APIC interrupts (THR)",
        Interrupt::DeferredError => "deferred error APIC interrupts (DFR)",
        Interrupt::Controller => "APIC errors (ERR)",
        Interrupt::Spurious => "spurious interrupts (SPU)",
        Interrupt::Other => "other interrupts",
    }
}

/// The note about counting by trace events; `None` if eBPF counts.
pub fn note(counted: &CountedBy) -> Option<String> {
    let CountedBy::Tracefs { because } = counted else { return None };
    let why = match because {
        None => "as requested".to_owned(),
        Some(error) => format!("since eBPF cannot be used: {error}"),
    };
    Some(format!(
        "Counted from trace events (tracefs), which costs the measured CPUs more than eBPF does; {why}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_events_are_noted_with_the_reason() {
        let because = |because: Option<&str>| {
            note(&CountedBy::Tracefs { because: because.map(str::to_owned) }).unwrap()
        };
        assert!(because(None).ends_with("; as requested."));
        assert!(because(Some("no bpf")).contains("since eBPF cannot be used: no bpf"));
        assert_eq!(note(&CountedBy::Bpf), None);
    }
}
