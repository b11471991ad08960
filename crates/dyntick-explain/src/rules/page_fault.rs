// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "page-fault",
    title: "Page fault of the task",
    explanation: "Memory is allocated only on first access, and is unmapped or write-protected on many \
        occasions: after fork, by swapping, by KSM, NUMA balancing and writeback of file pages. Each first \
        access, or first write, then enters the kernel.",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "mlockall(MCL_CURRENT | MCL_FUTURE), and touch all memory and stacks at the start",
            ),
            effect: "Memory is mapped before it is needed, and stays mapped.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "use huge pages (MAP_HUGETLB, madvise MADV_HUGEPAGE) and do not return memory to the kernel \
                (M_TRIM_THRESHOLD, MADV_DONTNEED)",
            ),
            effect: "One fault for 2 MiB instead of 512, and no further ones.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Sysctl("kernel.numa_balancing=0"),
            effect: untried!("The kernel no longer unmaps pages to sample which node uses them."),
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
    let how = if *user { "in user mode" } else { "in kernel mode (system call)" };
    let chain = [format!("{} accessed memory {how}", case.facts.victim)];
    Finding::new(CauseId::class("page-fault"), chain)
}
