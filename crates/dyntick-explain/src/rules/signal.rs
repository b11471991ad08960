// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};

/// Where the kernel interrupts the CPU of a task that has got a signal, or work to do on its way to user
/// code: one function is inlined into another as the compiler likes.
const PLACES: [&str; 6] = [
    "kick_process",
    "signal_wake_up_state",
    "__send_signal_locked",
    "complete_signal",
    "send_signal_locked",
    "task_work_add",
];

pub(super) static RULE: Rule = Rule {
    id: "signal",
    title: "A signal, or other work, was sent to the task that runs here",
    explanation: "A task that computes does not look for signals; so that it takes one soon its CPU is \
        interrupted. The same is done for work that is left to a task (io_uring, timers on CPU time).",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "do not signal the thread: have a thread on another CPU take signals (sigmask), \
                or tell by memory that is polled",
            ),
            effect: "No interrupt. Garbage collectors and debuggers that stop threads by signals need another way.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "with io_uring: IORING_SETUP_COOP_TASKRUN or IORING_SETUP_DEFER_TASKRUN",
            ),
            effect: "Completions wait until the task enters the kernel by itself.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/sched/core.c: kick_process; kernel/signal.c: signal_wake_up_state",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let send = case.facts.senders.last()?;
    let chain = [format!("{} signalled {} ({})", send.origin, case.facts.victim, send.callsite)];
    PLACES.contains(&&*send.callsite).then(|| Finding::new(CauseId::class("signal"), chain)).flatten()
}
