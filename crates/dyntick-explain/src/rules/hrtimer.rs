// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::facts::HrtimerRun;
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "hrtimer",
    title: "hrtimer (high-resolution timer) expired on this CPU",
    explanation: "A program or a part of the kernel armed a timer for a precise time. The function that ran \
        shows which one.",
    fixes: &[Fix {
        setting: Setting::Program("set the timer from a task on another CPU"),
        effect: "A timer is queued on the CPU that starts it; on nohz_full CPUs, timers that are not pinned \
            are queued on a housekeeping CPU instead.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/time/hrtimer.c: hrtimer_interrupt",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let HrtimerRun { function, set_by } = case.facts.hrtimers.first()?;
    let mut chain: Vec<String> = set_by.iter().map(|by| format!("{by} set a timer")).collect();
    chain.push(format!("hrtimer {function} expired on {}", case.cpu()));
    if let Some(task) = case.facts.woken.first() {
        chain.push(format!("it woke {task}"));
    }
    let applies = matches!(case.kind, Kind::Hrtimer | Kind::TimerWheel);
    applies.then(|| Finding::new(CauseId::member("hrtimer", function), chain)).flatten()
}
