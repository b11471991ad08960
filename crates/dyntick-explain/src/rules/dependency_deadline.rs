// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Class, Kind, Step};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-deadline",
    title: "SCHED_DEADLINE task: needs the tick even when it runs alone",
    explanation: "The scheduler keeps the tick as long as a SCHED_DEADLINE task is runnable, even when no \
        other task is. Before 7.1 the tick charges the task's runtime, which is how the kernel notices that \
        it is used up. From 7.1 on a timer ends it (HRTICK_DL, on by default), and the tick is kept all the \
        same.",
    fixes: &[RuleFix::advice(
        "run it under SCHED_FIFO (chrt --fifo), or as a normal task",
        "A task alone on the CPU then does not need the tick. SCHED_FIFO guarantees no runtime and sets no \
            limit: a task that never sleeps starves all others on the CPU.",
    )],
    source: "kernel/sched/core.c: sched_can_stop_tick (dl_nr_running); kernel/sched/deadline.c: task_tick_dl",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    Finding::new(CauseId::of(&RULE), alone_in(case, Class::Deadline)?)
}

/// The chain of a tick that is kept for a task of this class, if no other task wants the CPU.
pub(super) fn alone_in(case: &Case<'_>, class: Class) -> Option<[Step; 2]> {
    let keeps = *case.kind == Kind::Tick || case.arrival().is_none();
    let applies = case.dependency() == Some(TickDependency::Sched) && keeps && case.class() == Some(class);
    let kept = case.facts.kept.as_ref().filter(|kept| applies && case.is_alone(kept))?;
    let task = kept.current.clone();
    Some([Step::ScheduledBy { task, class }, Step::KeptWithoutOther { cpu: case.cpu() }])
}
