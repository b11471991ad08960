// SPDX-License-Identifier: GPL-2.0-only
use super::Rule;
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "wheel-empty",
    title: "Timer-wheel wake-up, but no timer was left to run",
    explanation: "While the tick is stopped, its hrtimer is programmed to the next timer of the timer wheel. \
        When it fires, no timer is left to run if that timer was moved or deleted, was known only at the \
        coarse granularity of the wheel, or, from 6.9 on, was run a moment before by another CPU: timer \
        migration has active CPUs run the unbound timers of idle ones.",
    source: "kernel/time/timer.c: timer_base_try_to_set_idle (6.1: get_next_timer_interrupt)",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let shows_timers = case.context.known.recorded.has_wheel_timers();
    if *case.kind != Kind::TimerWheel || !case.facts.hrtimers.is_empty() || !shows_timers {
        return None;
    }
    let (start, period) = (case.facts.start_ns, case.context.tick_ns());
    let elsewhere = case.log.timer_elsewhere(case.cpu(), start, period);
    let taken = elsewhere.map(|origin| Step::RanBefore { by: origin.into() });
    let woken = Step::WokenForEmptyWheel { cpu: case.cpu() };
    Finding::new(CauseId::of(&RULE), taken.into_iter().chain([woken]))
}
