// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "empty-timer",
    title: "Timer interrupt, but no timer had expired",
    explanation: "The timer hardware had been programmed for a timer that was cancelled or moved before it \
        fired. Reprogramming the hardware each time would cost more than an occasional interrupt. On a CPU \
        without high resolution timers (highres=off, or shortly after boot, while no clocksource is trusted) \
        every tick looks like this.",
    fixes: &[],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: hrtimer_interrupt",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if *case.kind != Kind::EmptyTimer {
        return None;
    }
    Finding::new(CauseId::of(&RULE), [Step::NothingExpired { cpu: case.cpu() }])
}
