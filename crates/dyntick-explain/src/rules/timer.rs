// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "timer",
    title: "Timer (timer wheel) expired on this CPU",
    explanation: "Kernel code armed a timer that expired on this CPU. If the tick was stopped, the CPU was \
        woken or interrupted for it; if it was due within one period, the tick was kept for it. A \
        deferrable timer never does either. From 6.9 on it may be the timer of another CPU that is idle; \
        before 6.19, isolated CPUs whose tick runs also run such timers (remote-timer).",
    fixes: &[
        RuleFix {
            action: Fix::Boot("nohz_full={quiet}"),
            effect: with_nohz_full!(
                "Timers that are not bound to the CPU are left to housekeeping CPUs. Not tried here."
            ),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice(
                "find out which driver or subsystem the function belongs to, and whether it can be unloaded \
                or moved",
            ),
            effect: "The name of the function mostly shows it.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/timer.c: __run_timers, get_next_timer_interrupt",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let kept_for_it =
        *case.kind == Kind::Tick && case.adaptive() && !case.idle() && case.facts.kept.is_none();
    let timer = case.due_timer().filter(|_| kept_for_it || *case.kind == Kind::TimerWheel)?;
    let set = timer.set_by.iter().map(|by| Step::SetTimer { by: by.into() });
    let due = Step::TimerDue { function: timer.function.clone(), cpu: case.cpu() };
    let woke = case.facts.woken.as_ref().map(|task| Step::TimerWoke { task: task.clone() });
    Finding::new(CauseId::member(&RULE, timer.function.clone()), set.chain([due]).chain(woke))
}
