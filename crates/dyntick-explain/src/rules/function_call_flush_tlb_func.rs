// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:flush_tlb_func",
    title: "TLB shootdown: the address space of a process was changed",
    explanation: "munmap, mprotect, madvise, page migration, swapping and the like flush old translations on every \
        CPU that may hold them: on those that run a thread of the process, and from 6.14 on also on those on which it \
        ran before and that run another process by now. The sender may also change the memory of another process, as a \
        debugger, a reader of /proc/PID/clear_refs, KSM and compaction do. The chain names the sender, and says \
        where it is of another process than the one that was interrupted.",
    fixes: &[
        RuleFix {
            action: Fix::Advice(
                "where the sender is a thread of the interrupted process: do not map, unmap or protect memory while the \
                quiet threads run (keep freed memory: M_TRIM_THRESHOLD, M_MMAP_THRESHOLD)",
            ),
            effect: "No shootdown is needed.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice(
                "where it is a process that ran on this CPU before: keep it off the CPU from its start (taskset, AllowedCPUs=)",
            ),
            effect: "Where it has never run it has nothing to flush.",
            versions: Versions::since(6, 14),
        },
        RuleFix {
            action: Fix::Advice(
                "where it changes the memory of the interrupted process: record with --stacks, which shows how the sender came to it",
            ),
            effect: "The system call shows what it does to the memory, and so what to leave out.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("sysctl -w kernel.numa_balancing=0"),
            effect: untried!("Pages are no longer unmapped to sample which node uses them."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("echo never > /sys/kernel/mm/transparent_hugepage/enabled"),
            effect: not_tried!("No merging of pages in the background."),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice("pin memory (mlockall)"),
            effect: "No swapping or reclaim of its pages. Compaction moves locked pages all the same, unless \
                vm.compact_unevictable_allowed is 0, which is the default on PREEMPT_RT alone.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("sysctl -w vm.compact_unevictable_allowed=0"),
            effect: not_tried!("Compaction leaves locked pages where they are."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/mm/tlb.c: flush_tlb_func",
    names_origin: true,
};
