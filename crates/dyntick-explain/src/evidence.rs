// SPDX-License-Identifier: GPL-2.0-only
//! The raw events of interruptions whose origin could not be named, and the texts of events.

use crate::Kind;
use crate::facts::Facts;
use dyntick_model::{Event, EventKind, Interrupt, NANOS_PER_SEC, Symbol};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The number of interruptions of a CPU whose events are kept: the longest.
const MOST: usize = 3;

/// A recorded interruption whose origin could not be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The begin, ns on the events' clock.
    pub start_ns: u64,
    /// The duration, ns.
    pub duration_ns: u64,
    /// The entry point into the kernel.
    pub kind: Kind,
    /// The first few of its events.
    pub events: Vec<Event>,
}

impl Evidence {
    /// A line for each event: its time in seconds, its CPU, and its text.
    pub fn lines(&self) -> Vec<String> {
        self.events.iter().map(describe).collect()
    }
}

/// The longest interruptions without a named origin, by CPU, the longest first.
#[derive(Default)]
pub(crate) struct Longest(BTreeMap<u32, Vec<Evidence>>);

impl Longest {
    /// Adds an interruption. Of equally long ones it keeps the earliest, in whatever order they come.
    pub fn offer(&mut self, facts: &Facts, kind: &Kind) {
        let own = self.0.entry(facts.cpu).or_default();
        let rank = (Reverse(facts.duration_ns), facts.start_ns);
        let place = own.partition_point(|kept| (Reverse(kept.duration_ns), kept.start_ns) <= rank);
        if place == MOST {
            return;
        }
        own.truncate(MOST - 1);
        let evidence = Evidence {
            start_ns: facts.start_ns,
            duration_ns: facts.duration_ns,
            kind: kind.clone(),
            events: facts.events.clone(),
        };
        own.insert(place, evidence);
    }

    pub fn into_inner(self) -> BTreeMap<u32, Vec<Evidence>> {
        self.0
    }
}

fn describe(event: &Event) -> String {
    let Event { ts, cpu, pid, kind, .. } = event;
    format!("{}.{:09} CPU {cpu} pid {pid}: {}", ts / NANOS_PER_SEC, ts % NANOS_PER_SEC, text(kind))
}

fn text(kind: &EventKind) -> String {
    use EventKind::*;
    match kind {
        InterruptEntry { source: vector } => format!("{}_entry", vector_name(*vector)),
        InterruptExit { source: vector } => format!("{}_exit", vector_name(*vector)),
        IrqEntry { irq, name } => format!("irq_handler_entry {irq} {name}"),
        IrqExit { irq } => format!("irq_handler_exit {irq}"),
        SoftirqRaise { softirq } => format!("softirq_raise {}", softirq.kernel_name()),
        SoftirqEntry { softirq } => format!("softirq_entry {}", softirq.kernel_name()),
        SoftirqExit { softirq } => format!("softirq_exit {}", softirq.kernel_name()),
        TickStop { success, dependency } => {
            format!("tick_stop success={} dependency={dependency}", u8::from(*success))
        }
        HrtimerStart { function, expires, .. } => format!("hrtimer_start {function} expires={expires}"),
        HrtimerCancel { timer } => format!("hrtimer_cancel {timer:#x}"),
        HrtimerEntry { function, .. } => format!("hrtimer_expire_entry {function}"),
        HrtimerExit { timer } => format!("hrtimer_expire_exit {timer:#x}"),
        TimerStart { function, expires, .. } => format!("timer_start {function} expires={expires}"),
        TimerEntry { function, .. } => format!("timer_expire_entry {function}"),
        TimerExit { timer } => format!("timer_expire_exit {timer:#x}"),
        WorkQueued { function, target, .. } => format!("workqueue_queue_work {function} cpu={target}"),
        WorkStart { function, .. } => format!("workqueue_execute_start {function}"),
        WorkEnd { work } => format!("workqueue_execute_end {work:#x}"),
        SchedSwitch { prev, prev_comm, prev_state, next, next_comm } => {
            format!("sched_switch {prev_comm} [{prev}] state={prev_state:#x} -> {next_comm} [{next}]")
        }
        SchedFork { parent, child } => format!("sched_process_fork pid={parent} child={child}"),
        TaskRename { pid, comm } => format!("task_rename pid={pid} {comm}"),
        SchedWakeup { pid, comm, target } => format!("sched_wakeup {comm} [{pid}] cpu={target}"),
        IpiSend { target, callsite, callback } => {
            format!("ipi_send_cpu {target} {callsite} {}", callback_name(callback))
        }
        IpiSendMask { targets, callsite, callback } => {
            format!("ipi_send_cpumask {targets} {callsite} {}", callback_name(callback))
        }
        CsdQueuedMask { targets, callsite, function } => {
            format!("smp_call_function_many_cond {targets} {callsite} {function}")
        }
        CsdQueued { target, callsite, function } => format!("csd_queue_cpu {target} {callsite} {function}"),
        SchedMigrate { pid, comm, from, to } => format!("sched_migrate_task {comm} [{pid}] {from} -> {to}"),
        IrqWork { function } => format!("irq_work {function}"),
        Nmi { handler, duration_ns } => format!("nmi_handler {handler} took {duration_ns} ns"),
        PageFault { user, address, ip, error } => {
            let mode = if *user { "user" } else { "kernel" };
            format!("page_fault_{mode} address={address:#x} ip={ip:#x} error_code={error:#x}")
        }
        LockWait { lock } => format!("contention_begin lock={lock:#x}"),
        LockWaitEnd { lock: Some(lock) } => format!("contention_end lock={lock:#x}"),
        LockWaitEnd { lock: None } => "rwsem_down_write_slowpath returns".to_owned(),
        CallEntry { number } => format!("sys_enter {number}"),
        CallExit { number } => format!("sys_exit {number}"),
        RcuTasksTrace => "call_rcu_tasks_trace".to_owned(),
        Throttle { queue, group, cpu } => {
            format!("throttle_cfs_rq queue={queue:#x} group={group} cpu={cpu}")
        }
        ThrottleEnd { done } => format!("throttle_cfs_rq returns {}", u8::from(*done)),
        ThrottleThread => "throttle_cfs_rq_work".to_owned(),
        CompatCall => "ia32_sys_call".to_owned(),
        Unthrottle { queue } => format!("unthrottle_cfs_rq queue={queue:#x}"),
        PageFaultEnd => "handle_mm_fault returns".to_owned(),
        ReclaimBegin => "mm_vmscan_memcg_reclaim_begin".to_owned(),
        ReclaimEnd => "mm_vmscan_memcg_reclaim_end".to_owned(),
        SignalSent { signal, pid } => format!("signal_generate sig={signal} pid={pid}"),
        Itimer { which, armed } => format!("itimer_state which={which} armed={}", u8::from(*armed)),
        CsdEntry { function } => format!("csd_function_entry {function}"),
        CsdExit { function } => format!("csd_function_exit {function}"),
        SchedWaking { pid, target } => format!("sched_waking pid={pid} target={target}"),
        CpuIdle { state: Some(state) } => format!("cpu_idle state={state}"),
        CpuIdle { state: None } => "cpu_idle exit".to_owned(),
        MenuPredict { predicted_ns, used_ns, .. } => {
            format!("menu_predict predicted={predicted_ns} used={used_ns}")
        }
        KernelStack { frames } => format!("kernel_stack of {} frames", frames.len()),
        UserStack { process, frames } => format!("user_stack tgid={process} of {} frames", frames.len()),
        CpuIdleMiss { state, below } => format!("cpu_idle_miss state={state} below={below}"),
    }
}

/// The kernel's text for a callback that is NULL.
fn callback_name(callback: &Option<Symbol>) -> &str {
    callback.as_deref().unwrap_or("0x0")
}

/// The name of the vector in its tracepoints, e.g. `irq_work` in `irq_vectors:irq_work_entry`.
fn vector_name(vector: Interrupt) -> &'static str {
    match vector {
        Interrupt::Other => "other_vector",
        vector => vector.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;
    use crate::facts::Entry;

    #[test]
    fn longest_are_kept_and_the_earliest_of_equal_ones() {
        let mut longest = Longest::default();
        for (start_ns, duration_ns) in [(1, 5), (2, 9), (3, 5), (4, 7), (5, 5), (6, 7)] {
            let victim = Task { pid: 7, comm: "app".into() };
            let facts = Facts::new(0, start_ns, Entry::PageFault { user: true }, victim, None);
            longest.offer(&Facts { duration_ns, ..facts }, &Kind::PageFault { user: true });
        }
        let kept: Vec<u64> = longest.into_inner()[&0].iter().map(|one| one.start_ns).collect();
        assert_eq!(kept, [2, 4, 6]);
    }
}
