// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-own",
    title: "Overrun: the previous cycle had not finished",
    explanation: "The previous wake-up took so long that the next one was already due before the thread \
        slept again.",
    fixes: &[RuleFix {
        action: Fix::Advice("use a longer --interval"),
        effect: "Leaves more time between two wake-ups.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: do_nanosleep",
    names_origin: true,
};
