// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Step};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-perf",
    title: "Tick dependency PERF_EVENTS: perf adjusts its sampling period",
    explanation: "A perf event with a sampling frequency (perf record -F, perf top) exists somewhere on the \
        machine. Its period is adjusted in the tick, and one such event keeps the tick on all nohz_full \
        CPUs. An event that was throttled does so, too.",
    fixes: &[
        RuleFix::advice(
            "sample with a period instead of a frequency (perf record -c COUNT), or only count (perf stat)",
            "No adjustment, no tick.",
        ),
        RuleFix::advice(
            "stop profilers that run all the time",
            "Look for perf, and for agents of monitoring systems.",
        ),
    ],
    source: "kernel/events/core.c: account_freq_event_nohz, __perf_event_account_interrupt",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if case.dependency() != Some(TickDependency::PerfEvents) || case.idle() {
        return None;
    }
    let openers = case.context.known.perf_events.clone();
    let opened = (!openers.is_empty()).then_some(Step::PerfEventsOpen { openers });
    let kept = Step::KeptForPerf { task: case.kept_by().clone(), cpu: case.cpu() };
    Finding::new(CauseId::of(&RULE), opened.into_iter().chain([kept]))
}
