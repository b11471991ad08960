// SPDX-License-Identifier: GPL-2.0-only
//! What live counts are called, and the rule that explains each.

use dyntick_explain::CauseId;
use dyntick_explain::rules::{self, Fix, Rule};
use dyntick_model::{CpuList, KernelVersion, TickDependency};
use dyntick_observe::facts::Cpus;
use dyntick_observe::live::{Key, VectorKey};
use dyntick_record::{Named, Place};

/// The cause that a key stands for, as `explain` calls it; none for what has no cause of its own: a tick
/// has its dependencies, a local timer interrupt its timers.
pub fn cause(key: &Key) -> Option<CauseId> {
    let class = |class: &str| Some(CauseId::class(class));
    let member = |class: &str, member: &str| Some(CauseId::member(class, member));
    match key {
        Key::Vector { vector: VectorKey::Reschedule } => class("ipi"),
        Key::Vector { vector: VectorKey::CallFunction | VectorKey::CallFunctionSingle } => {
            class("anonymous-call")
        }
        Key::Vector { vector: VectorKey::IrqWork } => class("anonymous-irq-work"),
        Key::Vector { vector: VectorKey::LocalTimer } | Key::Tick { .. } => None,
        Key::Vector { .. } | Key::Unnamed { .. } => class("unknown"),
        Key::Hrtimer { function } => member("hrtimer", function),
        Key::EmptyTimer => class("empty-timer"),
        Key::Timer { function } => member("timer", function),
        Key::Called { function } => member("function-call", function),
        Key::Device { name, .. } => member("device", name),
        Key::Softirq { softirq } => member("softirq", softirq.kernel_name()),
        Key::Work { function } => member("workqueue", function),
        Key::KernelThread { comm, .. } => Some(CauseId::kernel_thread(comm)),
        Key::Task { .. } => class("other-task"),
        Key::PageFault { .. } => class("page-fault"),
        Key::Nmi { .. } => class("nmi"),
        Key::TickKept { dependency } => class(of_dependency(*dependency)?),
        Key::Idle | Key::TickStopped => None,
    }
}

fn of_dependency(dependency: TickDependency) -> Option<&'static str> {
    Some(match dependency {
        TickDependency::None => return None,
        TickDependency::PosixTimer => "dependency-posix-timer",
        TickDependency::PerfEvents => "dependency-perf",
        TickDependency::Sched => "dependency-sched",
        TickDependency::ClockUnstable => "dependency-clock-unstable",
        TickDependency::Rcu => "dependency-rcu",
        TickDependency::RcuExp => "dependency-rcu-exp",
    })
}

/// The rule of a cause, if there is one: some causes are counted that no rule explains yet.
pub fn rule(cause: &CauseId) -> Option<&'static Rule> {
    let rule = rules::get(cause);
    (rule.id != "unknown" || cause.as_str() == "unknown").then_some(rule)
}

/// The machine that is to be fixed.
#[derive(Clone, Copy)]
pub struct Advice<'a> {
    /// Its kernel.
    pub kernel: &'a KernelVersion,
    /// Its CPUs.
    pub cpus: &'a Cpus,
}

impl Advice<'_> {
    /// What removes a cause on a CPU, the most effective first, with the machine's CPUs in it: `quiet` are those
    /// that shall be. Where these are all that there are it is left to the user which.
    pub fn settings(&self, rule: &'static Rule, cpu: u32, quiet: &CpuList) -> Vec<String> {
        let quiet = self.cpus.nohz_full.union(&self.cpus.isolated).union(quiet);
        let others = self.cpus.online.difference(&quiet);
        let place = Place { cpu, recorded: &quiet, others: &others, named: Named::default() };
        let setting = |fix: &Fix| match others.is_empty() {
            true => fix.setting.to_string(),
            false => place.fill_in(fix).setting,
        };
        rule.fixes_for(self.kernel).map(setting).collect()
    }
}

/// What a key is called in a table.
pub fn name(key: &Key) -> String {
    match key {
        Key::Vector { vector } => vector_name(*vector).to_owned(),
        Key::Tick { stopped: false } => "tick".to_owned(),
        Key::Tick { stopped: true } => "timer wheel, while the tick is stopped".to_owned(),
        Key::Hrtimer { function } => format!("hrtimer {function}"),
        Key::EmptyTimer => "no timer expired".to_owned(),
        Key::Timer { function } => format!("timer {function}"),
        Key::Called { function } => function.to_string(),
        Key::Device { irq, name } if name.is_empty() => format!("device IRQ {irq}"),
        Key::Device { irq, name } => format!("device {name} (IRQ {irq})"),
        Key::Softirq { softirq } => format!("softirq {}", softirq.kernel_name()),
        Key::Work { function } => format!("work item {function}"),
        Key::KernelThread { comm, .. } | Key::Task { comm, .. } => comm.to_string(),
        Key::Idle => "idle".to_owned(),
        Key::PageFault { user: true } => "page faults of user code".to_owned(),
        Key::PageFault { user: false } => "page faults of the kernel".to_owned(),
        Key::Nmi { function } => format!("NMI {function}"),
        Key::TickStopped => "tick stopped".to_owned(),
        Key::TickKept { dependency } => format!("tick kept: {}", kept_because(*dependency)),
        Key::Unnamed { family } => format!("{family}: name table full"),
    }
}

/// Why a tick is kept, in words.
pub fn kept_because(dependency: TickDependency) -> &'static str {
    match dependency {
        TickDependency::None => "no dependency",
        TickDependency::PosixTimer => "a POSIX CPU-time timer is armed",
        TickDependency::PerfEvents => "a perf event needs it",
        TickDependency::Sched => "more than one task is runnable",
        TickDependency::ClockUnstable => "the scheduler clock is unstable",
        TickDependency::Rcu => "RCU waits for the CPU, or runs callbacks on it",
        TickDependency::RcuExp => "an expedited RCU grace period waits for the CPU",
    }
}

/// A vector with its row in `/proc/interrupts`.
fn vector_name(vector: VectorKey) -> &'static str {
    match vector {
        VectorKey::LocalTimer => "local timer interrupts (LOC)",
        VectorKey::Reschedule => "rescheduling interrupts (RES)",
        VectorKey::CallFunction => "function call interrupts to several CPUs (CAL)",
        VectorKey::CallFunctionSingle => "function call interrupts to this CPU (CAL)",
        VectorKey::IrqWork => "IRQ work interrupts (IWI)",
        VectorKey::PlatformIpi => "platform interrupts (PLT)",
        VectorKey::Thermal => "thermal event interrupts (TRM)",
        VectorKey::Threshold => "threshold APIC interrupts (THR)",
        VectorKey::DeferredError => "deferred error APIC interrupts (DFR)",
        VectorKey::Error => "APIC errors (ERR)",
        VectorKey::Spurious => "spurious interrupts (SPU)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dependency_has_a_rule_of_its_own() {
        use TickDependency::*;
        for dependency in [PosixTimer, PerfEvents, Sched, ClockUnstable, Rcu, RcuExp] {
            let cause = cause(&Key::TickKept { dependency }).unwrap();
            assert_eq!(rule(&cause).map(|rule| rule.id), Some(cause.as_str()));
        }
    }

    #[test]
    fn the_classes_are_known() {
        let function = || "any".into();
        for key in [
            Key::Vector { vector: VectorKey::Reschedule },
            Key::Vector { vector: VectorKey::CallFunction },
            Key::Vector { vector: VectorKey::IrqWork },
            Key::Hrtimer { function: function() },
            Key::EmptyTimer,
            Key::Timer { function: function() },
            Key::Called { function: function() },
            Key::Device { irq: 4, name: "ttyS0".into() },
            Key::Work { function: function() },
            Key::KernelThread { pid: 2, comm: "migration/1".into() },
            Key::Task { pid: 3, comm: "sh".into() },
        ] {
            assert!(cause(&key).is_some_and(|cause| rule(&cause).is_some()), "{key:?}");
        }
    }
}
