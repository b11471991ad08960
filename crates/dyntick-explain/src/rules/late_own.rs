// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "late-own",
    title: "The thread was not asleep yet when its time came",
    explanation: "The wake-up before took so long that the next one was due already.",
    fixes: &[Fix {
        setting: Setting::Program("a longer --interval"),
        effect: "Leaves time between two wake-ups.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: do_nanosleep",
    names_origin: true,
    detect: None,
};
