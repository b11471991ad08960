// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, Versions};
use crate::case::{Case, Finding, sent_by};
use crate::facts::{Call, Place, Send};
use crate::{CauseId, Step, Task};
use dyntick_model::Role;

pub(super) static RULE: Rule = Rule {
    id: "function-call",
    title: "Function-call IPI from another CPU",
    explanation: "Some changes must be made by every CPU itself, so the kernel interrupts them \
        (smp_call_function). The function that ran shows which change it was.",
    fixes: &[RuleFix::advice(
        "find out which task on the sending CPU asked for it",
        "The chain names the sender's task and the kernel function.",
    )],
    source: "kernel/smp.c: __flush_smp_call_function_queue",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let wakes = |call: &&Call| Role::of(&call.function) == Some(Role::QueuedWakeups);
    let call = case.facts.called.iter().find(|call| !wakes(call))?;
    let function = call.function.clone();
    let send = call.by.as_ref().or(case.facts.senders.last());
    let sent = send.map(sent_by);
    let foreign = send.filter(|_| &*function == FLUSH_TLB).and_then(|send| of_another_process(case, send));
    let ran = Step::CalledFunction { function: function.clone(), cpu: case.cpu() };
    Finding::new(CauseId::member(&RULE, function), sent.into_iter().chain(foreign).chain([ran]))
}

/// The function that flushes the TLB entries of one process.
const FLUSH_TLB: &str = "flush_tlb_func";

/// The step for a sender from another process than the interrupted task; `None` if either process is unknown.
fn of_another_process(case: &Case<'_>, send: &Send) -> Option<Step> {
    let (sender, victim) = (&send.origin.task, &case.facts.victim);
    let process = |task: &Task| case.context.known.processes.get(&task.pid).copied();
    let (of_sender, of_victim) = (process(sender)?, process(victim)?);
    let is_foreign = send.origin.place == Place::Task && victim.pid != 0 && of_sender != of_victim;
    is_foreign.then(|| Step::OfAnotherProcess { sender: sender.clone(), victim: victim.clone() })
}

/// The fix for every private membarrier command.
const SEPARATE_PROCESS: RuleFix = RuleFix::advice(
    "run the threads that call membarrier in a separate process",
    "Only CPUs that run a thread of the same process are interrupted.",
);

/// The fix for every reader of MSRs.
const STOP_READERS: RuleFix = RuleFix::advice(
    "stop monitoring tools while the CPU must be quiet, or exclude the CPU from monitoring",
    "One interrupt per read.",
);

/// The members of this class that have their own rule.
pub(super) static MEMBERS: &[Rule] = &[
    Rule {
        id: "function-call:trc_read_check_handler",
        title: "RCU Tasks Trace: a program that may sleep was removed",
        explanation: "A BPF program that may sleep, or a uprobe with BPF, was unloaded. Before 7.0 a thread then asks each CPU whose task it cannot look at by an interrupt; rcu_tasks_trace_kthread sends it for whatever unloaded the program.",
        fixes: &[RuleFix::advice(
            "do not load and unload such programs while the CPU must be quiet; explain --stacks and the audit log (bpf) show which program does it",
            "No grace period of that kind, no interrupt.",
        )],
        source: "kernel/rcu/tasks.h: trc_read_check_handler",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:__cpa_flush_tlb",
        title: "Page attributes of kernel memory changed: TLB flush on all CPUs",
        explanation: "The kernel changed the protection of kernel memory: a module or BPF program was loaded or unloaded, or a driver changed the caching of memory.",
        fixes: &[RuleFix::advice(
            "load modules and BPF programs before the quiet phase; explain --stacks shows which function asked for it",
            "No change of attributes, no flush.",
        )],
        source: "arch/x86/mm/pat/set_memory.c: cpa_flush",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:__blk_mq_complete_request_remote",
        title: "blk-mq: remote completion of a block request (IPI)",
        explanation: "The interrupt of the device was handled by another CPU, which handed the completion \
            back to the CPU that had submitted the request (or to one that shares its cache).",
        fixes: &[
            RuleFix::command(
                "for f in /sys/block/*/queue/rq_affinity; do echo 0 > $f; done",
                untried!("Requests are completed on the CPU that takes the interrupt."),
            ),
            RuleFix::advice(
                "read and write files on housekeeping CPUs only",
                "Completions go to the CPU that submitted the request.",
            ),
        ],
        source: "block/blk-mq.c: blk_mq_complete_request_remote",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:__cfsb_csd_unthrottle",
        title: "CFS bandwidth control: control group unthrottled (IPI)",
        explanation: "A group that has used up its quota (cpu.max; v1: cpu.cfs_quota_us) is throttled on each CPU until the period \
            ends. The timer of the period, on whichever CPU it runs, then interrupts the others to \
            unthrottle it.",
        fixes: &[RuleFix::command("echo {quota}", "Removes the limit.")],
        versions: Versions::since(6, 3),
        source: "kernel/sched/fair.c: __unthrottle_cfs_rq_async, __cfsb_csd_unthrottle",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:do_flush_tlb_all",
        title: "Full TLB flush on all CPUs",
        explanation: "Every CPU has to flush its TLB when the kernel takes back or changes much of its own \
            address space: when it purges vmalloc areas that were freed (modules, BPF programs, stacks of \
            tasks that ended, large buffers), changes the attributes of many pages, changes the pool of huge \
            pages (vm.nr_hugepages), or plugs memory. Linux 6.15 and newer needs no interrupts for it on processors \
            of AMD with INVLPGB.",
        fixes: &[
            FIND_THE_SENDER,
            RuleFix::advice(
                "load and unload modules and BPF programs, and set vm.nr_hugepages, before the quiet phase",
                "No kernel mapping is removed.",
            ),
        ],
        source: "arch/x86/mm/tlb.c: flush_tlb_all",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:do_kernel_range_flush",
        title: "Kernel TLB range flush on all CPUs",
        explanation: "When the kernel changes its own mappings, every CPU has to flush that range from its \
            TLB: vmalloc areas that were freed (modules, BPF programs, stacks of tasks that ended, large \
            buffers), attributes of pages, the memory map of huge pages.",
        fixes: &[
            FIND_THE_SENDER,
            RuleFix::advice(
                "load and unload modules and BPF programs before the quiet phase",
                "No kernel mapping changes.",
            ),
        ],
        source: "arch/x86/mm/tlb.c: flush_tlb_kernel_range",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:do_sync_core",
        title: "Kernel text patching: sync-core IPI",
        explanation: "The kernel patched its own instructions in place, and every CPU is interrupted to \
            serialise (sync_core): a trace event, a kprobe or ftrace was switched, a BPF program attached, a \
            module loaded, or a static key changed. Many parts of the kernel have static keys, which their \
            first user switches on and their last one off, as sockets with time stamps (SO_TIMESTAMP), \
            schedulers of control groups and perf events.",
        fixes: &[
            RuleFix::advice(
                "make that change before the quiet phase and keep it: attach tracers, load modules, hold one \
                    user of a static key open (e.g. a socket with time stamps)",
                "Each change costs up to three interrupts of all CPUs; with one user left a static key is \
                    not switched.",
            ),
            RuleFix::advice(
                "record with --stacks, which shows how the sender came to it",
                "Several parts of the kernel patch its text, and the sender's function or stack shows which \
                    one did.",
            ),
        ],
        source: "arch/x86/kernel/alternative.c: text_poke_sync (7.x: smp_text_poke_sync_each_cpu)",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:flush_tlb_func",
        title: "TLB shootdown: the address space of a process was changed",
        explanation: "munmap, mprotect, madvise, page migration, swapping and the like flush old \
            translations on every CPU that may hold them: on those that run a thread of the process, and \
            from 6.14 on also on those on which it ran before and that run another process by now. The \
            sender may also change the memory of another process, as a debugger, a reader of \
            /proc/PID/clear_refs, KSM and compaction do. The chain names the sender, and says if it is of \
            another process than the one that was interrupted. On processors of AMD with INVLPGB, Linux 6.15 and \
            newer flushes a process that runs on four CPUs or more without interrupts; one on fewer CPUs still \
            interrupts them.",
        fixes: &[
            RuleFix::advice(
                "if the sender is a thread of the interrupted process: do not map, unmap or protect \
                    memory while the quiet threads run (keep freed memory: M_TRIM_THRESHOLD, \
                    M_MMAP_THRESHOLD)",
                "No shootdown is needed.",
            ),
            RuleFix::advice(
                "if it is a process that ran on this CPU before: keep it off the CPU from its start \
                    (taskset, AllowedCPUs=)",
                "Where it has never run it has nothing to flush.",
            )
            .on(Versions::since(6, 14)),
            RuleFix::advice(
                "if it changes the memory of the interrupted process: record with --stacks, which shows \
                    how the sender came to it",
                "The system call shows what it does to the memory, and so what to leave out.",
            ),
            RuleFix::command(
                "sysctl -w kernel.numa_balancing=0",
                untried!("Pages are no longer unmapped to sample which node uses them."),
            ),
            RuleFix::command(
                "echo never > /sys/kernel/mm/transparent_hugepage/enabled",
                not_tried!("No merging of pages in the background."),
            ),
            RuleFix::advice(
                "pin memory (mlockall)",
                "No swapping or reclaim of its pages. Compaction moves locked pages all the same, unless \
                    vm.compact_unevictable_allowed is 0, which is the default on PREEMPT_RT alone.",
            ),
            RuleFix::command(
                "sysctl -w vm.compact_unevictable_allowed=0",
                not_tried!("Compaction leaves locked pages where they are."),
            ),
        ],
        source: "arch/x86/mm/tlb.c: flush_tlb_func",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:invalidate_bh_lru",
        title: "Buffer-head LRU invalidated (umount, last close of a block device)",
        explanation: "Each CPU keeps the few buffer heads of block devices that it used last (bh_lru). \
            umount, the last close of a block device, page migration and changes of a partition table \
            interrupt every CPU that holds some, to release them. On 6.12 isolated CPUs hold none, on 6.1 \
            they do.",
        fixes: &[
            RuleFix::boot("isolcpus=domain,{quiet}", not_tried!("Isolated CPUs hold no buffer heads."))
                .on(Versions::since(6, 12)),
            RuleFix::advice(
                "mount, unmount and partition before the quiet phase",
                "The buffer heads are not invalidated.",
            ),
            RuleFix::advice(
                "read and write files and block devices on housekeeping CPUs only",
                "A CPU that holds no buffer heads is not interrupted.",
            ),
        ],
        source: "fs/buffer.c: invalidate_bh_lrus, has_bh_in_lru",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:ipi_mb",
        title: "membarrier(): memory-barrier IPI",
        explanation: "membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) interrupts every CPU that runs a thread \
            of the caller's process; garbage collectors, JIT compilers and user-space RCU libraries use it. \
            MEMBARRIER_CMD_GLOBAL_EXPEDITED runs the same function, on the CPUs of all processes that \
            registered for it: then the caller may be any other process. The chain names the sender, if \
            the kernel reports it.",
        fixes: &[
            RuleFix::advice(
                "use memory fences on both sides instead",
                "No interrupt; each reader pays for its fences.",
            ),
            RuleFix::advice(
                "if the caller is a thread of the same process: run the threads that call membarrier in a \
                    separate process",
                "A private membarrier interrupts only CPUs that run the caller's process.",
            ),
            RuleFix::advice(
                "if the caller is another process: do not register for it \
                    (MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) in the process that must not be interrupted",
                "A global membarrier skips processes that have not registered; those that use it together \
                    with others need the registration, however.",
            ),
        ],
        source: "kernel/sched/membarrier.c: membarrier_private_expedited, membarrier_global_expedited",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:ipi_rseq",
        title: "membarrier(): rseq restart IPI from a thread of the same process",
        explanation: "membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) interrupts the CPUs that run a \
            thread of the process, or the one CPU given in the call, so that a restartable sequence (rseq) \
            is restarted. Allocators with per-CPU caches use it, for example to take memory back from \
            another CPU's cache.",
        fixes: &[SEPARATE_PROCESS],
        source: "kernel/sched/membarrier.c: membarrier_private_expedited, ipi_rseq",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:ipi_sync_core",
        title: "membarrier(): sync-core IPI from a thread of the same process",
        explanation: "membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) interrupts every CPU that runs \
            a thread of the process, so that none executes old instructions. JIT compilers and debuggers use \
            it.",
        fixes: &[
            RuleFix::advice(
                "compile code before the quiet phase (a warm-up of the JIT compiler)",
                "No code changes, no call.",
            ),
            SEPARATE_PROCESS,
        ],
        source: "kernel/sched/membarrier.c: membarrier_private_expedited",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:ipi_sync_rq_state",
        title: "membarrier() registration: IPI to the CPUs of the process",
        explanation: "On registration each CPU that runs a thread of the process is interrupted once to \
            update the state in its runqueue.",
        fixes: &[RuleFix::advice(
            "register, or load the libraries that do, before the quiet phase",
            "It happens once per process.",
        )],
        source: "kernel/sched/membarrier.c: sync_runqueues_membarrier_state",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:mce_cpu_restart",
        title: "Machine-check (MCE) settings changed",
        explanation: "Each CPU restarts its own polling for corrected hardware errors when a file of \
            /sys/devices/system/machinecheck is written.",
        fixes: &[RuleFix::advice(
            "change these settings before the quiet phase",
            "One interrupt per change.",
        )],
        source: "arch/x86/kernel/cpu/mce/core.c: mce_restart, mce_cpu_restart",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:nohz_csd_func",
        title: "NOHZ idle load balancing: this idle CPU was kicked",
        explanation: "A busy CPU found that tasks could be balanced better, or that the load statistics of \
            idle CPUs are out of date. One idle CPU is then interrupted to balance on behalf of all idle \
            CPUs.",
        fixes: &[RuleFix::boot(
            "isolcpus=domain,{quiet}",
            not_tried!("The CPU takes no part in load balancing."),
        )],
        source: "kernel/sched/core.c: nohz_csd_func; kernel/sched/fair.c: kick_ilb",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:__perf_event_read",
        title: "perf event of this CPU read from another CPU",
        explanation: "A counter that is active on another CPU is read by an IPI to that CPU. perf stat -I \
            and monitoring agents read once per interval.",
        fixes: &[RuleFix::advice(
            "read counters less often, or leave this CPU out (perf stat -C)",
            "One interrupt per read.",
        )],
        source: "kernel/events/core.c: perf_event_read",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:rcu_barrier_handler",
        title: "rcu_barrier(): a task waited for all RCU callbacks",
        explanation: "Deleting a network device (the end of a container does so), unloading a module or \
            destroying a slab cache calls rcu_barrier(), which interrupts each CPU that holds callbacks to \
            queue one more after them.",
        fixes: &[RuleFix::advice(
            "end containers and unload modules before the quiet phase",
            "rcu_barrier() is not called.",
        )],
        source: "kernel/rcu/tree.c: rcu_barrier, rcu_barrier_handler",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:rcu_exp_handler",
        title: "Expedited RCU grace period: IPI to this CPU",
        explanation: "An expedited grace period was requested, and each CPU is interrupted that RCU does not \
            know to be in an extended quiescent state (idle or user mode). User mode counts only on \
            nohz_full CPUs: on all others, including isolated ones, a program is interrupted although it \
            never enters the kernel.",
        fixes: &[
            RuleFix::boot(
                "nohz_full={quiet}",
                with_nohz_full!(
                    "User mode then counts as a quiescent state (context tracking), so only a CPU that is in \
                        the kernel is interrupted."
                ),
            ),
            RuleFix::boot("rcupdate.rcu_normal=1", "Expedited grace periods become normal ones."),
            RuleFix::command("echo 1 > /sys/kernel/rcu_normal", "The same at run time."),
        ],
        source: "kernel/rcu/tree_exp.h: sync_rcu_exp_select_node_cpus, rcu_exp_handler",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:__rdmsr_on_cpu",
        title: "Remote MSR read by the kernel",
        explanation: "Model-specific registers (MSRs) can be read only by the CPU itself. Drivers of the \
            kernel (frequency, power and temperature) read them when their files in /sys are read.",
        fixes: &[STOP_READERS],
        source: "arch/x86/lib/msr-smp.c: rdmsr_on_cpu",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:__rdmsr_safe_on_cpu",
        title: "Remote MSR read through /dev/cpu/N/msr",
        explanation: "Model-specific registers (MSRs) can be read only by the CPU itself. rdmsr and \
            monitoring agents read them from any CPU through /dev/cpu/N/msr. turbostat mostly moves itself \
            onto each CPU before it reads: it is reported as other-task:turbostat, with the migration \
            thread, and not as this call.",
        fixes: &[STOP_READERS],
        source: "arch/x86/lib/msr-smp.c: rdmsr_safe_on_cpu; arch/x86/kernel/msr.c: msr_read",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:remote_function",
        title: "perf event opened, switched or closed from another CPU",
        explanation: "perf events of a CPU are changed by that CPU itself, so a request from another CPU \
            interrupts it. Profilers and monitoring tools that multiplex or read events do so repeatedly.",
        fixes: &[RuleFix::advice(
            "stop profilers and monitoring tools that watch this CPU, or exclude the CPU from them (perf -C)",
            "No change of its events, no call.",
        )],
        source: "kernel/events/core.c: cpu_function_call, remote_function",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:retrigger_next_event",
        title: "hrtimers reprogrammed: the clock was set, or a CPU went offline",
        explanation: "When the time of day is set (clock_settime, date, an NTP client that steps) or a CPU \
            goes offline, CPUs with timers that may be affected are interrupted to reprogram them.",
        fixes: &[
            RuleFix::advice(
                "slew the clock instead of stepping it (chrony without makestep), and set it before the \
                    quiet phase",
                "Slewing interrupts no CPU.",
            ),
            RuleFix::advice(
                "arm timers on CLOCK_MONOTONIC in the quiet program",
                "Only CPUs with timers on the clocks that were set are interrupted.",
            ),
        ],
        source: "kernel/time/hrtimer.c: clock_was_set, hrtimers_cpu_dying, retrigger_next_event",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:rps_trigger_softirq",
        title: "Receive packet steering (RPS): packets queued to this CPU",
        explanation: "Receive packet steering distributes packets over CPUs by their flow, and interrupts \
            the chosen CPU.",
        fixes: &[RuleFix::command(
            "for f in /sys/class/net/*/queues/rx-*/rps_cpus; do echo {mask} > $f; done",
            "Steers packets to the other CPUs only.",
        )],
        source: "net/core/dev.c: net_rps_send_ipi, rps_trigger_softirq",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:tlb_remove_table_smp_sync",
        title: "IPI to all CPUs before freeing page tables",
        explanation: "On another CPU, pages were collapsed into huge pages or a process unmapped memory. \
            Before a page table is freed, every CPU is interrupted once, so that none still walks it.",
        fixes: &[
            RuleFix::command(
                "echo never > /sys/kernel/mm/transparent_hugepage/enabled",
                "No transparent huge pages, not even if a program asks for them.",
            ),
            RuleFix::advice("map memory once and keep it", "No page tables are freed."),
        ],
        source: "mm/mmu_gather.c: tlb_remove_table_sync_one, tlb_remove_table_smp_sync",
        ..Rule::DEFAULT
    },
    Rule {
        id: "function-call:watchdog_check_skew_remote",
        title: "Clocksource watchdog: TSC skew check between CPUs",
        explanation: "Where the time stamp counter (TSC) is not known to be reliable, a timer on one CPU has \
            the others, one after the other, read their counters together with it. The check of the \
            frequency stays on the CPU of the timer.",
        fixes: &[
            RuleFix::boot(
                "tsc=reliable",
                not_tried!(
                    "No comparison. Only right if the TSC really has a constant rate and is synchronised \
                        on all CPUs."
                ),
            ),
            RuleFix::boot(
                "tsc=nowatchdog",
                not_tried!("The same, but the TSC may still be checked at boot."),
            ),
        ],
        versions: Versions::since(7, 1),
        source: "kernel/time/clocksource.c: watchdog_check_skew_remote",
        ..Rule::DEFAULT
    },
];

/// The advice about a function that several parts of the kernel call.
const FIND_THE_SENDER: RuleFix = RuleFix::advice(
    "record with --stacks, which shows how the sender came to it",
    "Several parts of the kernel have this function called, and the sender's stack shows which one did.",
);
