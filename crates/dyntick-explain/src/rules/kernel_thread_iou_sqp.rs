// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:iou-sqp",
    title: "io_uring polled for submissions here",
    explanation: "A program has set up a ring with IORING_SETUP_SQPOLL. A thread of the kernel then looks \
        for submissions all the time, and sleeps after a while without any until it is woken.",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "set sq_thread_cpu to a CPU that need not be quiet (IORING_SETUP_SQ_AFF), or submit without SQPOLL",
            ),
            effect: "The thread runs there, or there is none.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Command("taskset -apc OTHER-CPUS PID"),
            effect: "Moves all threads of the program that stands in the thread's name, the poller among them.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "io_uring/sqpoll.c: io_sq_thread",
    names_origin: true,
    detect: None,
};
