// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:timerfd_tmrproc",
    title: "timerfd expired",
    explanation: "A process, often an event loop, has armed a timerfd. It expires on the CPU where it was \
        armed; on nohz_full CPUs it is queued on a housekeeping CPU instead.",
    fixes: &[RuleFix {
        action: Fix::Advice("arm it from a thread on a housekeeping CPU"),
        effect: "The interrupt occurs on the CPU where the timer was armed.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "fs/timerfd.c: timerfd_tmrproc",
    names_origin: true,
};
