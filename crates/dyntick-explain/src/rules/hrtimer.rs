// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::facts::HrtimerRun;
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer",
    title: "hrtimer (high-resolution timer) expired on this CPU",
    explanation: "A program or a part of the kernel armed a timer for a precise time. The function that ran \
        shows which one.",
    fixes: &[RuleFix {
        action: Fix::Advice("set the timer from a task on another CPU"),
        effect: "A timer is queued on the CPU that starts it; on nohz_full CPUs, timers that are not pinned \
            are queued on a housekeeping CPU instead.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: hrtimer_interrupt",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let HrtimerRun { function, set_by } = case.facts.hrtimers.first()?;
    if !matches!(case.kind, Kind::Hrtimer | Kind::TimerWheel) {
        return None;
    }
    let set = set_by.iter().map(|by| Step::SetTimer { by: by.into() });
    let expired = Step::HrtimerExpired { function: function.clone(), cpu: case.cpu() };
    let woke = case.facts.woken.as_ref().map(|task| Step::TimerWoke { task: task.clone() });
    Finding::new(CauseId::member(&RULE, function.clone()), set.chain([expired]).chain(woke))
}
