// SPDX-License-Identifier: GPL-2.0-only
//! The cause of what is counted, and the rule that explains it.

use dyntick_explain::CauseId;
use dyntick_explain::rules::named::*;
use dyntick_explain::rules::{self, Rule};
use dyntick_model::{Interrupt, KernelVersion, Symbol, TickDependency};
use dyntick_observe::live::Key;

/// The cause that a key stands for, as `explain` calls it; none for what has no cause of its own: a tick
/// has its dependencies, a local timer interrupt its timers.
pub fn cause(key: &Key) -> Option<CauseId> {
    let class = |rule| Some(CauseId::of(rule));
    let member = |class, member: &Symbol| Some(CauseId::member(class, member.clone()));
    match key {
        Key::Interrupt { source: Interrupt::Reschedule } => class(IPI),
        Key::Interrupt { source: Interrupt::FunctionCall | Interrupt::FunctionCallSingle } => {
            class(ANONYMOUS_CALL)
        }
        Key::Interrupt { source: Interrupt::IrqWork } => class(ANONYMOUS_IRQ_WORK),
        Key::Interrupt { source: Interrupt::Timer } | Key::Tick { .. } => None,
        Key::Interrupt { .. } | Key::Unnamed { .. } => class(UNKNOWN),
        Key::Hrtimer { function } => member(HRTIMER, function),
        Key::EmptyTimer => class(EMPTY_TIMER),
        Key::Timer { function } => member(TIMER, function),
        Key::Called { function } => member(FUNCTION_CALL, function),
        Key::Device { name, .. } => member(DEVICE, name),
        Key::Softirq { softirq } => Some(CauseId::member(SOFTIRQ, softirq.kernel_name())),
        Key::Work { function } => member(WORKQUEUE, function),
        Key::KernelThread { comm: Some(comm) } => Some(CauseId::kernel_thread(comm)),
        Key::KernelThread { comm: None } => class(UNKNOWN),
        Key::Task { .. } => class(OTHER_TASK),
        Key::PageFault { .. } => class(PAGE_FAULT),
        Key::Nmi { .. } => class(NMI),
        Key::TickKept { dependency } => class(of_dependency(*dependency)?),
        Key::Idle | Key::TickStopped => None,
    }
}

fn of_dependency(dependency: TickDependency) -> Option<&'static Rule> {
    Some(match dependency {
        TickDependency::None => return None,
        TickDependency::PosixTimer => DEPENDENCY_POSIX_TIMER,
        TickDependency::PerfEvents => DEPENDENCY_PERF,
        TickDependency::Sched => DEPENDENCY_SCHED,
        TickDependency::ClockUnstable => DEPENDENCY_CLOCK_UNSTABLE,
        TickDependency::Rcu => DEPENDENCY_RCU,
        TickDependency::RcuExp => DEPENDENCY_RCU_EXP,
    })
}

/// The rule of a cause.
pub fn rule(cause: &CauseId) -> &'static Rule {
    rules::get(cause)
}

/// Returns true if the scheduler may have kept a tick for the fair server and not for a task: counts do not show it,
/// and its fix is another.
pub fn may_be_the_fair_server(cause: &CauseId, kernel: &KernelVersion) -> bool {
    *cause == CauseId::of(DEPENDENCY_SCHED) && FAIR_SERVER.versions.contains(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_observe::live::Whose;

    #[test]
    fn each_dependency_has_a_rule_of_its_own() {
        use TickDependency::*;
        for dependency in [PosixTimer, PerfEvents, Sched, ClockUnstable, Rcu, RcuExp] {
            let cause = cause(&Key::TickKept { dependency }).unwrap();
            assert_eq!(rule(&cause).id, cause.to_string());
        }
    }

    /// Only the function of sleepers is a sleep: other timers are called as what they are.
    #[test]
    fn no_other_timer_is_a_timed_sleep() {
        let id = |function: &str| rule(&cause(&Key::Hrtimer { function: function.into() }).unwrap()).id;
        assert_eq!(id("hrtimer_wakeup"), "hrtimer:hrtimer_wakeup");
        for function in ["pm_suspend_timer_fn", "posix_timer_fn", "alarmtimer_fired", "tcp_pace_kick"] {
            assert_ne!(id(function), "hrtimer:hrtimer_wakeup", "{function}");
        }
        let title = dyntick_explain::rules::title(
            &cause(&Key::Hrtimer { function: "pm_suspend_timer_fn".into() }).unwrap(),
        );
        assert!(title.ends_with(": pm_suspend_timer_fn"), "{title}");
    }

    #[test]
    fn the_classes_are_known() {
        let function = || "any".into();
        for key in [
            Key::Interrupt { source: Interrupt::Reschedule },
            Key::Interrupt { source: Interrupt::FunctionCall },
            Key::Interrupt { source: Interrupt::IrqWork },
            Key::Hrtimer { function: function() },
            Key::EmptyTimer,
            Key::Timer { function: function() },
            Key::Called { function: function() },
            Key::Device { irq: 4, name: "ttyS0".into() },
            Key::Work { function: function() },
            Key::KernelThread { comm: Some("migration/1".into()) },
            Key::Task { comm: Some("sh".into()), whose: Whose::Other },
            Key::Task { comm: None, whose: Whose::Other },
        ] {
            assert!(cause(&key).is_some_and(|cause| rule(&cause).id != "unknown"), "{key:?}");
        }
    }
}
