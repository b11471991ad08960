// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "empty-timer",
    title: "The timer interrupt came, and nothing was due",
    explanation: "The hardware had been set for a timer that was cancelled or moved before it fired. \
        Resetting the hardware each time would cost more than an interrupt now and then.",
    fixes: &[],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: hrtimer_interrupt",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let chain = [format!("the timer hardware of {} fired for a timer that was gone", case.cpu())];
    (*case.kind == Kind::EmptyTimer).then(|| Finding::new(CauseId::class("empty-timer"), chain)).flatten()
}
