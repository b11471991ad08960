// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:posix_timer_fn",
    title: "A timer of a program (timer_create) expired",
    explanation: "A program has armed a POSIX timer on a clock of real time. It fires on the CPU where it \
        was armed; from nohz_full CPUs it moves to a housekeeping CPU.",
    fixes: &[Fix {
        setting: Setting::Program("arm it from a thread on a housekeeping CPU, or use a longer interval"),
        effect: "The interrupt goes where the timer was armed.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/time/posix-timers.c: posix_timer_fn",
    names_origin: true,
    detect: None,
};
