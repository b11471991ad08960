// SPDX-License-Identifier: GPL-2.0-only
use super::Rule;
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};
use dyntick_model::Softirq;

pub(super) static RULE: Rule = Rule {
    id: "empty-timer",
    title: "Timer interrupt in which no timer ran",
    explanation: "No hrtimer ran in the interrupt. The timer hardware had been programmed for a timer that \
        was cancelled or moved before it fired: reprogramming the hardware each time would cost more than an \
        occasional interrupt. Or the timers that had expired are run by a softirq, as on PREEMPT_RT those of \
        tasks without a real-time policy, in the thread ktimers/N: then the chain says so. On a CPU without \
        high resolution timers (highres=off, or shortly after boot, while no clocksource is trusted) every \
        tick looks like this.",
    source: "kernel/time/hrtimer.c: hrtimer_interrupt",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if *case.kind != Kind::EmptyTimer || !case.context.known.recorded.has_hrtimers() {
        return None;
    }
    let cpu = case.cpu();
    let step = if case.facts.raised.contains(&Softirq::Hrtimer) {
        Step::LeftToSoftirq { cpu }
    } else {
        Step::NothingExpired { cpu }
    };
    Finding::new(CauseId::of(&RULE), [step])
}
