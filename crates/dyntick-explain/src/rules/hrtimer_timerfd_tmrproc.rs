// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer:timerfd_tmrproc",
    title: "A timer file descriptor of a program expired",
    explanation: "A program, often an event loop, has armed a timerfd. It fires on the CPU where it was \
        armed; from nohz_full CPUs it moves to a housekeeping CPU.",
    fixes: &[Fix {
        setting: Setting::Program("arm it from a thread on a housekeeping CPU"),
        effect: "The interrupt goes where the timer was armed.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "fs/timerfd.c: timerfd_tmrproc",
    names_origin: true,
    detect: None,
};
