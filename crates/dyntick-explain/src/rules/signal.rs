// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Step};

/// The functions that interrupt the CPU of a task with a signal or with task_work. There are several, because the
/// compiler decides which function is inlined into which.
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
        RuleFix::advice(
            "if it is SIGURG within a program in Go: GODEBUG=asyncpreemptoff=1, or a thread that runs no Go code",
            not_tried!("The runtime no longer preempts its own threads by signals."),
        ),
        RuleFix::advice(
            "do not signal the thread: handle signals in a thread on another CPU (sigmask), or signal \
                through polled memory",
            "No interrupt. Garbage collectors and debuggers that stop threads by signals need another \
                method.",
        ),
        RuleFix::advice(
            "with io_uring: IORING_SETUP_COOP_TASKRUN or IORING_SETUP_DEFER_TASKRUN",
            "Completions wait until the task itself enters the kernel.",
        ),
    ],
    source: "kernel/sched/core.c: kick_process; kernel/signal.c: signal_wake_up_state",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let send = case.facts.senders.last().filter(|send| PLACES.contains(&&*send.callsite))?;
    let signalled = Step::Signalled {
        by: (&send.origin).into(),
        victim: case.facts.victim.clone(),
        callsite: send.callsite.clone(),
        signal: case.log.signal_of(send.origin.task.pid),
    };
    Finding::new(CauseId::of(&RULE), [signalled])
}
