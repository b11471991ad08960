// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:iou-sqp",
    title: "io_uring SQPOLL thread polled for submissions",
    explanation: "A process has set up a ring with IORING_SETUP_SQPOLL. A kernel thread then polls for \
        submissions continuously; after an idle period without any it sleeps until it is woken.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "set sq_thread_cpu to a CPU that need not be quiet (IORING_SETUP_SQ_AFF), or submit without SQPOLL",
            ),
            effect: "The thread runs on that CPU, or does not exist.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("taskset -apc {housekeeping} {task}"),
            effect: "Moves all threads of the process whose PID is in the thread's name, including the \
                SQPOLL thread.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "io_uring/sqpoll.c: io_sq_thread",
    names_origin: true,
};
