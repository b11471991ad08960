// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{Arrived, CauseId, Kind, Step};
use dyntick_model::Role;

pub(super) static RULE: Rule = Rule {
    id: "workqueue",
    title: "Work item (workqueue) ran on this CPU",
    explanation: "Kernel code queued a function for a worker thread of this CPU. The worker is a second \
        runnable task: it preempts the running one, and on a nohz_full CPU the tick runs again for a while. \
        A worker kworker/N:M runs what was queued for its CPU N, which no setting moves; one with a u \
        (kworker/uN:M) runs unbound work, which follows the masks of workqueues.",
    fixes: &[
        RuleFix::advice(
            "find out what queues it: dyntick explain names the task, or the timer and what set it",
            "Work that was queued for this CPU goes only with what queues it.",
        ),
        RuleFix::command(
            "echo {mask} > /sys/devices/virtual/workqueue/cpumask",
            not_tried!(
                "Keeps unbound work, that of kworker/uN:M, on the CPUs in the mask. Work that was queued for \
                    this CPU is not moved."
            ),
        ),
        RuleFix::boot("isolcpus=domain,{quiet}", not_tried!("Keeps unbound work away from the CPU.")),
    ],
    source: "kernel/workqueue.c: __queue_work, process_one_work",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if *case.kind == Kind::TimerWheel {
        return delayed(case);
    }
    let Some(Arrival::Work { work, worker }) = case.arrival() else { return None };
    let function = &work.function;
    let queued = work.queued_by.as_ref().map(|by| Step::QueuedWork {
        by: by.into(),
        function: function.clone(),
        cpu: case.cpu(),
    });
    let runnable = Step::WorkerRunnable { worker: worker.clone(), function: function.clone() };
    let effect = case.effect(Arrived::task(worker));
    Finding::new(CauseId::member(&RULE, function.clone()), queued.into_iter().chain([runnable, effect]))
}

/// Detects that the timer of a delayed work item woke a CPU whose tick was stopped.
fn delayed(case: &Case<'_>) -> Option<Finding> {
    let timer = case.due_timer().filter(|timer| Role::of(&timer.function) == Some(Role::DelayedWork))?;
    let function = case.facts.queued.as_ref()?;
    let chain = [
        Step::WorkDelayEnded { function: function.clone(), cpu: case.cpu() },
        Step::InterruptedToQueue { timer: timer.function.clone(), victim: case.facts.victim.clone() },
    ];
    Finding::new(CauseId::member(&RULE, function.clone()), chain)
}

/// The members of this class that have their own rule.
pub(super) static MEMBERS: &[Rule] = &[
    Rule {
        id: "workqueue:pm_runtime_work",
        title: "Power management of a device at run time",
        explanation: "A device that was idle is suspended, or one that is needed is resumed. In a virtual machine it is mostly the serial console.",
        fixes: &[RuleFix::advice(
            "keep the device awake: echo on > /sys/devices/…/power/control, or do not print to a serial console",
            "The device is not suspended any more.",
        )],
        source: "drivers/base/power/runtime.c: pm_runtime_work",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:tsc_refine_calibration_work",
        title: "The TSC's frequency is measured again after the boot",
        explanation: "Once after the boot the kernel compares the TSC with another clock for a second.",
        fixes: &[RuleFix::advice("begin the quiet phase a few seconds after the boot", "It runs once.")],
        source: "arch/x86/kernel/tsc.c: tsc_refine_calibration_work",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:sched_tick_remote",
        title: "The tick of a nohz_full CPU, done by another CPU",
        explanation: "For each busy nohz_full CPU a work item on a housekeeping CPU does once a second what its tick would do for the scheduler.",
        fixes: &[RuleFix::advice(
            "none is needed on a housekeeping CPU: that is how nohz_full works",
            "It runs on housekeeping CPUs only.",
        )],
        source: "kernel/sched/core.c: sched_tick_remote",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:blk_mq_run_work_fn",
        title: "blk-mq: deferred block requests dispatched (worker)",
        explanation: "Deferred requests are dispatched to the device by a worker on the CPU of their queue.",
        fixes: &[RuleFix::advice(
            "do not read and write files from this CPU",
            "Each CPU has its own queues.",
        )],
        source: "block/blk-mq.c: blk_mq_run_work_fn",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:cqm_handle_limbo",
        title: "resctrl: cache occupancy of a removed monitoring group checked (RMID limbo)",
        explanation: "After a monitoring group of resctrl is removed, its RMID cannot be used again until \
            its data have left the cache. One CPU of each cache checks once a second.",
        fixes: &[
            RuleFix::advice(
                "remove monitoring groups of resctrl before the quiet phase",
                untried!("The checks end when the cache holds little of their data."),
            ),
            RuleFix::boot("rdt=!cmt", untried!("resctrl without cache occupancy monitoring.")),
        ],
        source: "fs/resctrl/monitor.c: cqm_handle_limbo (before 6.16 arch/x86/kernel/cpu/resctrl/monitor.c)",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:drain_local_stock",
        title: "memcg: charge stock of this CPU drained",
        explanation: "Each CPU charges pages to control groups in advance. When a group reaches its limit, \
            or is removed, all CPUs return what they hold. 6.12 skips isolated CPUs, 6.1 does not.",
        fixes: &[
            RuleFix::boot("isolcpus=domain,{quiet}", not_tried!("Isolated CPUs keep what they hold."))
                .on(Versions::since(6, 12)),
            RuleFix::advice(
                "remove the limit of the control group that reaches it (memory.max, memory.high)",
                "No limit, so no stock is drained to stay below it.",
            ),
            RuleFix::advice(
                "create and remove control groups before the quiet phase",
                "The stock is drained when a group is removed.",
            ),
        ],
        source: "mm/memcontrol.c: drain_all_stock",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:flush_backlog",
        title: "Network device removed: packet backlog of this CPU flushed",
        explanation: "Before a network device is removed (containers that end, VPNs, unloaded drivers), each \
            CPU whose backlog may hold its packets drops them, in a work item.",
        fixes: &[
            RuleFix::advice(
                "create and remove network devices, and containers with them, before the quiet phase",
                "No device is removed.",
            ),
            RuleFix::command(
                "for f in /sys/class/net/*/queues/rx-*/rps_cpus; do echo {mask} > $f; done",
                not_tried!(
                    "Packets are not handed to the CPU (RPS), so its backlog is empty and it is skipped."
                ),
            ),
        ],
        source: "net/core/dev.c: flush_all_backlogs, flush_required",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:flush_cpu_slab",
        title: "SLUB: free objects of this CPU flushed",
        explanation: "The slab allocator keeps free objects per CPU. When a cache is shrunk or destroyed (a \
            module is unloaded, a memory block goes offline, /sys/kernel/slab/*/shrink is written), a work \
            item is queued on each CPU that holds some.",
        fixes: &[RuleFix::advice(
            "unload modules and shrink caches before the quiet phase",
            "The objects are not flushed.",
        )],
        source: "mm/slub.c: flush_all_cpus_locked, flush_cpu_slab",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:flush_to_ldisc",
        title: "TTY input passed to the line discipline (worker)",
        explanation: "Input of a terminal or serial port is passed to the line discipline, and so to its \
            reader, by a worker.",
        fixes: &[RuleFix::command(
            "echo {housekeeping} > /proc/irq/{irq}/smp_affinity_list",
            not_tried!(but_managed!("Moves the interrupt of the port, and the worker with it.")),
        )],
        source: "drivers/tty/tty_buffer.c: flush_to_ldisc",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:kernfs_notify_workfn",
        title: "kernfs/cgroup file change notification (worker)",
        explanation: "A control group became empty, was frozen or thawed, or reached a limit, by a task on \
            this CPU; pollers of cgroup.events or memory.events are notified by a work item.",
        fixes: &[
            RuleFix::advice(
                "if the group reaches a limit (memory.events counts it): raise memory.high or memory.max, \
                    or use less memory",
                "The work only reports the pressure; without pressure there is no report.",
            ),
            RuleFix::advice(
                "freeze, thaw and end programs on the CPU outside of the quiet phase",
                "No change, no work item.",
            ),
        ],
        source: "fs/kernfs/file.c: kernfs_notify, kernfs_notify_workfn",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:lru_add_drain_per_cpu",
        title: "lru_add_drain_all(): per-CPU page lists drained",
        explanation: "Page migration, memory hot-unplug, fadvise and mlockall wait until every CPU has \
            drained its per-CPU lists of pages (folio batches), by a work item on each CPU that has some.",
        fixes: &[
            RuleFix::advice(
                "avoid mlockall, POSIX_FADV_DONTNEED and page migration (compaction, NUMA balancing) on \
                    other CPUs while this CPU must be quiet",
                "No drain is requested.",
            ),
            RuleFix::command(
                "sysctl -w vm.compaction_proactiveness=0",
                not_tried!("Less migration of pages in the background."),
            ),
        ],
        source: "mm/swap.c: lru_add_drain_all",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:mbm_handle_overflow",
        title: "resctrl: memory bandwidth counters (MBM) read before they overflow",
        explanation: "resctrl counts memory bandwidth and cache occupancy in narrow counters, so one CPU of \
            each cache or package reads them once a second as long as resctrl is mounted. 6.12 prefers a CPU \
            without nohz_full for it, if the package has one.",
        fixes: &[
            RuleFix::command(
                "umount /sys/fs/resctrl",
                untried!("Nothing is counted or read, but the cache allocation is gone, too."),
            ),
            RuleFix::boot(
                "rdt=!mbmtotal,!mbmlocal",
                untried!("resctrl without memory bandwidth monitoring."),
            ),
            RuleFix::advice(
                "keep one CPU of each package out of the isolated CPUs",
                untried!("From 6.12 on that CPU reads the counters."),
            ),
        ],
        source: "fs/resctrl/monitor.c: mbm_handle_overflow (before 6.16 \
            arch/x86/kernel/cpu/resctrl/monitor.c)",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:psi_avgs_work",
        title: "PSI: averages of the pressure of a control group computed (worker)",
        explanation: "Pressure stall information (PSI) is averaged every two seconds, for each control group \
            whose tasks ran, by a work item on the CPU on which one of them woke it. It reports how long \
            tasks waited for CPU, memory and I/O.",
        fixes: &[
            RuleFix::boot(
                "psi=0",
                not_tried!("No PSI: /proc/pressure and what reads it (systemd-oomd) are gone."),
            ),
            RuleFix::advice(
                "if the group need not be watched: write 0 into its cgroup.pressure",
                "No PSI for that group; those above it still have theirs.",
            ),
        ],
        source: "kernel/sched/psi.c: psi_task_change, psi_avgs_work",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:refresh_vm_stats",
        title: "vm.stat_refresh read or written: memory statistics folded on all CPUs",
        explanation: "An access to /proc/sys/vm/stat_refresh folds the memory statistics of all CPUs at \
            once, by a work item on each of them, isolated or not.",
        fixes: &[RuleFix::advice(
            "stop the program that uses /proc/sys/vm/stat_refresh",
            "The chain names the task that queued the work.",
        )],
        source: "mm/vmstat.c: vmstat_refresh",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:update_pages_handler",
        title: "Trace ring buffer of this CPU resized",
        explanation: "Each CPU resizes its own part of the trace ring buffer, in a work item. Tracers do so \
            when they start.",
        fixes: &[RuleFix::advice(
            "start and stop tracing outside of the quiet phase",
            "No buffer is resized.",
        )],
        source: "kernel/trace/ring_buffer.c: update_pages_handler",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:vmpressure_work_fn",
        title: "vmpressure: pressure on the memory of a control group reported (worker)",
        explanation: "Tasks of a control group reclaim memory, because the group is at its limit \
            (memory.high, memory.max) or the machine is short of memory. A work item on the CPU of the one \
            that reclaims notifies listeners and sockets.",
        fixes: &[RuleFix::advice(
            "raise the limit of the group (memory.high, memory.max), or use less memory in it",
            "The work only reports the pressure. While there is pressure, reclaim itself takes far longer.",
        )],
        source: "mm/vmpressure.c: vmpressure, vmpressure_work_fn",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:vmstat_update",
        title: "vmstat_update: memory statistics folded into the global counters",
        explanation: "Each CPU collects changes of the memory statistics on its own. Every vm.stat_interval \
            seconds vmstat_shepherd checks which CPUs have changes and queues vmstat_update there. From 6.5 \
            on it skips isolated CPUs: those of isolcpus=domain and isolated cpuset partitions, and before \
            7.0 also those of nohz_full=.",
        fixes: &[
            RuleFix::command(
                "sysctl -w vm.stat_interval=60",
                not_tried!("Once a minute instead of once a second; /proc/vmstat lags by as much."),
            ),
            RuleFix::boot(
                "isolcpus=domain,{quiet}",
                not_tried!(
                    "vmstat_shepherd skips isolated CPUs; their last changes are then missing in \
                        /proc/vmstat."
                ),
            )
            .on(Versions::since(6, 5)),
            RuleFix::advice(
                "allocate and touch all memory before the quiet phase (mlockall)",
                "Without page faults and allocations there is nothing to fold.",
            ),
        ],
        source: "mm/vmstat.c: vmstat_shepherd, vmstat_update",
        ..Rule::DEFAULT
    },
    Rule {
        id: "workqueue:wb_workfn",
        title: "Writeback of dirty file data (worker)",
        explanation: "Data that programs wrote to files goes to the disk later, by a worker that may run on \
            any CPU in the cpumask of its workqueue.",
        fixes: &[
            RuleFix::command(
                "echo {mask} > /sys/devices/virtual/workqueue/writeback/cpumask",
                "Keeps writeback on the other CPUs.",
            ),
            RuleFix::command(
                "sysctl -w vm.dirty_writeback_centisecs=6000",
                "Old data is looked for once a minute; more is lost on a power failure.",
            ),
        ],
        source: "fs/fs-writeback.c: wb_workfn",
        ..Rule::DEFAULT
    },
];
