// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:iou-wrk",
    title: "io_uring worker (io-wq) ran a request",
    explanation: "Requests that would block (above all buffered file reads and writes) are left to threads \
        that the kernel creates for the process, on the CPUs that the process may use.",
    fixes: &[RuleFix {
        action: Fix::Advice("give the workers other CPUs (io_uring_register with IORING_REGISTER_IOWQ_AFF)"),
        effect: "They run on those CPUs.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "io_uring/io-wq.c: io_wq_worker (6.1: io_wqe_worker)",
    names_origin: true,
};
