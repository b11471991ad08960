// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-perf",
    title: "Tick dependency PERF_EVENTS: perf adjusts its sampling period",
    explanation: "A perf event with a sampling frequency (perf record -F, perf top) exists somewhere on the \
        machine. Its period is adjusted in the tick, and one such event keeps the tick on all nohz_full \
        CPUs. An event that was throttled does so, too.",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "sample with a period instead of a frequency (perf record -c COUNT), or only count \
                (perf stat)",
            ),
            effect: "No adjustment, no tick.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("stop profilers that run all the time"),
            effect: "Look for perf, and for agents of monitoring systems.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/events/core.c: account_freq_event_nohz, __perf_event_account_interrupt",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let applies = case.dependency() == Some(TickDependency::PerfEvents) && !case.idle();
    let openers = &case.context.known.perf_events;
    let opened = (!openers.is_empty()).then(|| format!("perf events are open in {}", openers.join(", ")));
    let kept = format!(
        "a perf event in frequency mode exists, or one was throttled, while {} ran; the tick of {} is kept \
            to adjust it",
        case.kept_by(),
        case.cpu()
    );
    let chain = opened.into_iter().chain([kept]);
    applies.then(|| Finding::new(CauseId::class("dependency-perf"), chain)).flatten()
}
