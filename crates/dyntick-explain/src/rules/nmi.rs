// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "nmi",
    title: "Non-maskable interrupt (NMI)",
    explanation: "NMIs are delivered even while interrupts are disabled. perf's sampling and the hard-lockup \
        watchdog use them through the performance counters; requests for a backtrace of all CPUs and \
        hardware that reports serious errors use them, too.",
    fixes: &[
        RuleFix::command(
            "sysctl -w kernel.nmi_watchdog=0",
            untried!("Disables the hard-lockup watchdog, which causes an NMI about every ten seconds."),
        ),
        RuleFix::advice("stop profilers that sample this CPU", "No counter overflow, no NMI."),
    ],
    source: "arch/x86/kernel/nmi.c: nmi_handle",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let before = case.facts.after_nmi.as_ref();
    let own = match case.kind {
        Kind::Nmi { handler } => Some(handler),
        _ => None,
    };
    let handler = before.or(own)?;
    let came = Step::Nmi { handler: handler.clone(), cpu: case.cpu() };
    let left = before.map(|_| Step::NmiQueuedIrqWork);
    Finding::new(CauseId::member(&RULE, handler.clone()), [came].into_iter().chain(left))
}
