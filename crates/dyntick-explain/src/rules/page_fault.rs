// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "page-fault",
    title: "Page fault of the task",
    explanation: "Memory is allocated only on first access, and is unmapped or write-protected on many \
        occasions: after fork, by swapping, by KSM, NUMA balancing and writeback of file pages. Each first \
        access, or first write, then enters the kernel.",
    fixes: &[
        RuleFix::advice(
            "mlockall(MCL_CURRENT | MCL_FUTURE), and touch all memory and stacks at the start",
            "Memory is mapped before it is needed, and stays mapped.",
        ),
        RuleFix::advice(
            "use huge pages (MAP_HUGETLB, madvise MADV_HUGEPAGE) and do not return memory to the kernel \
                (M_TRIM_THRESHOLD, MADV_DONTNEED)",
            "One fault for 2 MiB instead of 512, and no further ones.",
        ),
        RuleFix::command(
            "sysctl -w kernel.numa_balancing=0",
            untried!("The kernel no longer unmaps pages to sample which node uses them."),
        ),
    ],
    source: "arch/x86/mm/fault.c: exc_page_fault, handle_page_fault",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let Kind::PageFault { user } = *case.kind else { return None };
    Finding::new(CauseId::of(&RULE), [Step::PageFault { victim: case.facts.victim.clone(), user }])
}
