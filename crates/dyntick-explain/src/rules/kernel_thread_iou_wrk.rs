// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:iou-wrk",
    title: "A request of io_uring was worked on by a thread here",
    explanation: "What cannot be done without waiting (buffered file reads and writes above all) is left to \
        threads that the kernel makes for the program, on the CPUs that the program may use.",
    fixes: &[Fix {
        setting: Setting::Program(
            "give the workers other CPUs (io_uring_register with IORING_REGISTER_IOWQ_AFF)",
        ),
        effect: "They run there.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "io_uring/io-wq.c: io_wq_worker (6.1: io_wqe_worker)",
    names_origin: true,
    detect: None,
};
