// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "nmi",
    title: "Non-maskable interrupt (NMI)",
    explanation: "NMIs are delivered even while interrupts are disabled. perf's sampling and the \
        hard-lockup watchdog use them through the performance counters; requests for a backtrace of all \
        CPUs and hardware that reports serious errors use them, too.",
    fixes: &[
        Fix {
            setting: Setting::Sysctl("kernel.nmi_watchdog=0"),
            effect: untried!(
                "Disables the hard-lockup watchdog, which causes an NMI about every ten seconds."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("stop profilers that sample this CPU"),
            effect: "No counter overflow, no NMI.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/kernel/nmi.c: nmi_handle",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let came = |handler| format!("an NMI on {} was handled by {handler}", case.cpu());
    if let Some(handler) = &case.facts.after_nmi {
        let left = "it queued an irq_work for what may not be done in an NMI".to_owned();
        return Finding::new(CauseId::member("nmi", handler), [came(handler), left]);
    }
    let Kind::Nmi { handler } = case.kind else { return None };
    Finding::new(CauseId::member("nmi", handler), [came(handler)])
}
