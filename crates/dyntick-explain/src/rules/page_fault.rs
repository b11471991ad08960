// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "page-fault",
    title: "The task touched memory that the kernel had to provide first",
    explanation: "Memory is given only when it is first touched, and taken back or write-protected on many \
        occasions: after fork, by swapping, by KSM, NUMA balancing and the flush of file pages. Each \
        first touch, or first write, then enters the kernel.",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "mlockall(MCL_CURRENT | MCL_FUTURE), and touch all memory and stacks at the start",
            ),
            effect: "Memory is there before it is needed, and stays.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "use huge pages (MAP_HUGETLB, madvise MADV_HUGEPAGE) and do not give memory \
                back (M_TRIM_THRESHOLD, MADV_DONTNEED)",
            ),
            effect: "One fault for 2 MiB instead of 512, and none again.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Sysctl("kernel.numa_balancing=0"),
            effect: untried!("The kernel no longer unmaps pages to see who uses them."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/mm/fault.c: exc_page_fault, handle_page_fault",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let Kind::PageFault { user } = case.kind else { return None };
    let how = if *user { "in its own code" } else { "in a system call, for the kernel" };
    let chain = [format!("{} touched memory {how}", case.facts.victim)];
    Finding::new(CauseId::class("page-fault"), chain)
}
