// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "nmi",
    title: "A non-maskable interrupt came",
    explanation: "NMIs come even where interrupts are off. perf's sampling and the hard-lockup watchdog use \
        them by way of the performance counters; so do requests for a backtrace of all CPUs, and \
        hardware that has something grave to report.",
    fixes: &[
        Fix {
            setting: Setting::Sysctl("kernel.nmi_watchdog=0"),
            effect: untried!(
                "Switches the hard-lockup watchdog off, which takes an NMI every ten seconds or so."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program("stop profilers that sample this CPU"),
            effect: "No overflow of a counter, no NMI.",
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
        let left = "it left work, which may not be done in an NMI, for an interrupt".to_owned();
        return Finding::new(CauseId::member("nmi", handler), [came(handler), left]);
    }
    let Kind::Nmi { handler } = case.kind else { return None };
    Finding::new(CauseId::member("nmi", handler), [came(handler)])
}
