// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::facts::Newcomer;
use crate::{Arrived, CauseId, Kind, Step, names};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread",
    title: "Kernel thread ran on this CPU",
    explanation: "The kernel does part of its work in threads. Per-CPU threads cannot be moved; the others \
        can. Before 7.0, nohz_full= excludes CPUs from their affinity from the start, while isolcpus=domain \
        only keeps the scheduler from placing threads there: they still may run there, and a thread that was \
        there before or is pinned there does. From 7.0 on isolcpus=domain excludes the CPUs from their \
        affinity, and each change of an isolated cpuset partition sets the affinity of unbound threads anew, \
        over what taskset had set.",
    fixes: &[
        RuleFix::boot(
            "isolcpus=domain,{quiet}",
            not_tried!(
                "Threads that are not bound to the CPU stay away; before 7.0 because the CPU is in no \
                    scheduling domain, not by their affinity, so dyntick check still lists them."
            ),
        ),
        RuleFix::command(
            "taskset -pc {housekeeping} {task}",
            not_tried!(
                "Moves a thread that is not bound; the chain names it. From 7.0 on the next change of an \
                    isolated partition undoes it."
            ),
        ),
    ],
    source: "kernel/kthread.c: kthread",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let (woke, task) = match (case.kind, case.arrival()) {
        (Kind::KernelThread | Kind::WorkItem, _) => {
            let task = case.facts.turn()?;
            // The stopper acts for the one that woke it; other threads have a cause of their own for that.
            let woke = case.facts.turn_by.as_ref().filter(|_| names::is_stopper(&task.comm));
            (woke.map(|by| Step::Woke { by: by.into(), task: task.clone() }), task)
        }
        (_, Some(Arrival::KernelThread(Newcomer { task, woken_by }))) => {
            (woken_by.as_ref().map(|by| Step::Woke { by: by.into(), task: task.clone() }), task)
        }
        _ => return None,
    };
    let set = case.setter().map(|by| Step::SetTimer { by: by.into() });
    let effect = case.effect(Arrived::task(task));
    Finding::new(CauseId::kernel_thread(&task.comm), woke.into_iter().chain(set).chain([effect]))
}

/// The members of this class that have their own rule.
pub(super) static MEMBERS: &[Rule] = &[
    Rule {
        id: "kernel-thread:iou-sqp",
        title: "io_uring SQPOLL thread polled for submissions",
        explanation: "A process has set up a ring with IORING_SETUP_SQPOLL. A kernel thread then polls for \
            submissions continuously; after an idle period without any it sleeps until it is woken.",
        fixes: &[
            RuleFix::advice(
                "set sq_thread_cpu to a CPU that need not be quiet (IORING_SETUP_SQ_AFF), or submit without \
                    SQPOLL",
                "The thread runs on that CPU, or does not exist.",
            ),
            RuleFix::command(
                "taskset -apc {housekeeping} {task}",
                "Moves all threads of the process whose PID is in the thread's name, including the SQPOLL \
                    thread.",
            ),
        ],
        source: "io_uring/sqpoll.c: io_sq_thread",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:iou-wrk",
        title: "io_uring worker (io-wq) ran a request",
        explanation: "Requests that would block (above all buffered file reads and writes) are left to \
            threads that the kernel creates for the process, on the CPUs that the process may use.",
        fixes: &[RuleFix::advice(
            "give the workers other CPUs (io_uring_register with IORING_REGISTER_IOWQ_AFF)",
            "They run on those CPUs.",
        )],
        source: "io_uring/io-wq.c: io_wq_worker (6.1: io_wqe_worker)",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:irq",
        title: "Threaded interrupt handler of a device",
        explanation: "An interrupt handler may run as a thread, always so with PREEMPT_RT or threadirqs. It \
            follows the affinity of its interrupt.",
        fixes: &[
            RuleFix::command(
                "echo {housekeeping} > /proc/irq/{irq}/smp_affinity_list",
                but_managed!("Moves the interrupt and its thread."),
            ),
            RuleFix::boot(
                "isolcpus=managed_irq,domain,{quiet}",
                untried!(
                    "Keeps managed interrupts and their threads away from the CPU, as far as other CPUs can serve the queue."
                ),
            ),
        ],
        source: "kernel/irq/manage.c: irq_thread",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:kcompactd",
        title: "kcompactd: memory compaction",
        explanation: "The thread kcompactd of each memory node moves pages so that free memory becomes \
            contiguous, when a large allocation failed or vm.compaction_proactiveness asks for it.",
        fixes: &[
            RuleFix::command("sysctl -w vm.compaction_proactiveness=0", "No proactive compaction.")
                .on(Versions::before(6, 14)),
            RuleFix::command(
                "for p in $(pgrep kcompactd); do taskset -pc {housekeeping} $p; done",
                "Keeps it on other CPUs.",
            )
            .on(Versions::before(6, 14)),
            RuleFix::command(
                "sysctl -w vm.compaction_proactiveness=0",
                not_tried!("No proactive compaction."),
            )
            .on(Versions::since(6, 14)),
        ],
        source: "mm/compaction.c: kcompactd; since 6.14 kernel/kthread.c: kthread_affine_node",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:khugepaged",
        title: "khugepaged: pages collapsed into huge pages",
        explanation: "The thread khugepaged collapses small pages into huge ones, and briefly stops the \
            processes that own them.",
        fixes: &[
            RuleFix::command(
                "echo never > /sys/kernel/mm/transparent_hugepage/enabled",
                "No transparent huge pages, not even if a program asks for them.",
            ),
            RuleFix::command("taskset -pc {housekeeping} $(pgrep khugepaged)", "Keeps it on other CPUs."),
        ],
        source: "mm/khugepaged.c: khugepaged",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:ksmd",
        title: "ksmd: scan for identical pages to merge (KSM)",
        explanation: "The thread ksmd compares memory that processes marked as mergeable, above all virtual \
            machines. It costs time wherever it runs, and merged pages fault when they are written.",
        fixes: &[
            RuleFix::command("echo 0 > /sys/kernel/mm/ksm/run", "Stops it."),
            RuleFix::command("taskset -pc {housekeeping} $(pgrep ksmd)", "Keeps it on other CPUs."),
        ],
        source: "mm/ksm.c: ksm_scan_thread",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:ksoftirqd",
        title: "ksoftirqd: softirqs that took too long ran in a thread",
        explanation: "After two milliseconds, or ten rounds, of softirqs in a row, the rest is left to \
            ksoftirqd. On PREEMPT_RT it runs those that were raised outside of a threaded interrupt.",
        fixes: &[
            RuleFix::command(
                "echo {housekeeping} > /proc/irq/{irq}/smp_affinity_list",
                untried!(but_managed!("Moves the device interrupts, and with them their softirqs.")),
            ),
            RuleFix::boot("rcu_nocbs={quiet}", not_tried!("Takes the callbacks of RCU out of softirqs.")),
        ],
        source: "kernel/softirq.c: run_ksoftirqd",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:kswapd",
        title: "kswapd: page reclaim",
        explanation: "The thread kswapd of each memory node writes back, drops or swaps out pages when free \
            memory is short.",
        fixes: &[
            RuleFix::advice(
                "leave more memory free: smaller caches, fewer programs, or limits for them (memory.high)",
                "No memory has to be reclaimed.",
            ),
            RuleFix::command(
                "for p in $(pgrep kswapd); do taskset -pc {housekeeping} $p; done",
                not_tried!("Keeps it on other CPUs."),
            ),
        ],
        source: "mm/vmscan.c: kswapd",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:ktimers",
        title: "ktimers/N: timers ran in a thread (PREEMPT_RT)",
        explanation: "On PREEMPT_RT this thread of each CPU runs the timers of the timer wheel, and the \
            hrtimers of tasks without a real-time policy, as their sleeps (hrtimer_wakeup). It is bound to \
            its CPU.",
        fixes: &[
            RuleFix::command(
                "taskset -pc {housekeeping} {task}",
                not_tried!("Moves the task that set most of these timers; the chain names it."),
            ),
            RuleFix::advice(
                "move the tasks whose timers these are off the CPU, or let them sleep less often",
                "The functions that ran show the kind of timer, and the chains name the tasks.",
            ),
            RuleFix::boot(
                "nohz_full={quiet}",
                with_nohz_full!(
                    "Timers that are not bound to the CPU are left to housekeeping CPUs. Not tried here."
                ),
            ),
        ],
        source: "kernel/softirq.c: run_ktimerd",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:kworker",
        title: "A kernel worker ran on this CPU",
        explanation: "A worker of the kernel's workqueues ran. Its affinity cannot be set \
            (PF_NO_SETAFFINITY): one with a CPU in its name (kworker/N:M) runs work that was queued for that \
            CPU, one with a u (kworker/uN:M) follows the cpumask of its workqueue.",
        fixes: &[RuleFix::advice(
            "see what it was given to do (dyntick explain), and what queues that",
            "Work that is queued for a CPU goes only with what queues it; unbound work follows \
                /sys/devices/virtual/workqueue/cpumask.",
        )],
        source: "kernel/workqueue.c: create_worker",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:migration",
        title: "Stopper thread (migration/N) ran",
        explanation: "The migration thread (stop class) has the highest priority of all. It moves a running \
            task to another CPU (sched_setaffinity, exec, load balancing), halts all CPUs together \
            (stop_machine, whose function is multi_cpu_stop) to hot-plug a CPU, to change MTRRs, to load \
            microcode or to patch code if there is no other way, or shows the soft-lockup watchdog that \
            the CPU still schedules.",
        fixes: &[
            RuleFix::advice("set affinities before the quiet phase", "No running task must be moved."),
            RuleFix::boot("isolcpus=domain,{quiet}", not_tried!("No load balancing on the CPU.")),
        ],
        source: "kernel/stop_machine.c: cpu_stopper_thread",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:rcuc",
        title: "rcuc/N: RCU core and callbacks ran in a thread",
        explanation: "On PREEMPT_RT, or with rcutree.use_softirq=0, this thread of each CPU does what the \
            RCU softirq does elsewhere: it reports quiescent states and runs callbacks that are not \
            offloaded. It is bound to its CPU.",
        fixes: &[
            RuleFix::boot(
                "rcu_nocbs={quiet}",
                not_tried!("Moves the callbacks to other threads, which can be moved; nohz_full implies it."),
            ),
            RuleFix::advice(
                "open and close fewer files, and map and unmap less memory, on this CPU",
                "Fewer callbacks to run.",
            ),
        ],
        source: "kernel/rcu/tree.c: rcu_cpu_kthread",
        ..Rule::DEFAULT
    },
    Rule {
        id: "kernel-thread:rcuop",
        title: "rcuop: offloaded RCU callbacks ran on this CPU",
        explanation: "The callbacks of nohz_full and rcu_nocbs CPUs run in separate threads (rcuog, rcuop), \
            which the scheduler may place on any CPU in their affinity mask.",
        fixes: &[RuleFix::command(
            "for p in $(pgrep rcuo); do taskset -pc {housekeeping} $p; done",
            "Keeps all of them on other CPUs.",
        )],
        source: "kernel/rcu/tree_nocb.h: rcu_nocb_cb_kthread",
        ..Rule::DEFAULT
    },
];
