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
    title: "Signal or task_work sent to the running task",
    explanation: "A task in user mode handles signals only when it enters the kernel, so its CPU is \
        interrupted. The same is done for task_work that is queued to a task (io_uring, CPU-time timers).",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "do not signal the thread: handle signals in a thread on another CPU (sigmask), or signal \
                through polled memory",
            ),
            effect: "No interrupt. Garbage collectors and debuggers that stop threads by signals need \
                another method.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "with io_uring: IORING_SETUP_COOP_TASKRUN or IORING_SETUP_DEFER_TASKRUN",
            ),
            effect: "Completions wait until the task itself enters the kernel.",
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
