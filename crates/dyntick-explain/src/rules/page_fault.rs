// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "page-fault",
    title: "Page fault of the task",
    explanation: "Memory is allocated only on first access, and is unmapped or write-protected on many \
        occasions: after fork, by swapping, by KSM, NUMA balancing and writeback of file pages. Each first \
        access, or first write, then enters the kernel.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "mlockall(MCL_CURRENT | MCL_FUTURE), and touch all memory and stacks at the start",
            ),
            effect: "Memory is mapped before it is needed, and stays mapped.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice(
                "use huge pages (MAP_HUGETLB, madvise MADV_HUGEPAGE) and do not return memory to the kernel \
                (M_TRIM_THRESHOLD, MADV_DONTNEED)",
            ),
            effect: "One fault for 2 MiB instead of 512, and no further ones.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("sysctl -w kernel.numa_balancing=0"),
            effect: untried!("The kernel no longer unmaps pages to sample which node uses them."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/mm/fault.c: exc_page_fault, handle_page_fault",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let Kind::PageFault { user } = *case.kind else { return None };
    Finding::new(CauseId::of(&RULE), [Step::PageFault { victim: case.facts.victim.clone(), user }])
}
