// SPDX-License-Identifier: GPL-2.0-only
//! The events that are recorded, and the CPUs on which they are.

use Place::*;
use dyntick_model::{CpuList, Interrupt, KernelVersion};
use dyntick_observe::arch::x86::may_come;
use dyntick_observe::facts::{Counts, MemoryLimits, Quotas};
use dyntick_observe::trace::{SessionError, TraceSession};
use dyntick_trace::events::{EVENTS, Place, RECLAIMS, of_interrupt};
use dyntick_trace::{COUNTED, FAULT_END, IRQ_WORKS, RCU_TASKS_TRACE, RWSEM_WRITE, SENDERS};

/// Opens a session that is ready to start, with `more` events of the recorded CPUs.
pub(crate) fn session(
    cpus: &CpuList,
    online: &CpuList,
    buffer_kib: u32,
    more: &[&str],
) -> Result<TraceSession, SessionError> {
    let known = EVENTS.iter().filter_map(|event| Some((event.name.to_owned(), event.place?)));
    let interrupts = Counts::interrupts();
    let reclaims: &[&str] = if MemoryLimits::read().any() { &RECLAIMS } else { &[] };
    // Each event that is switched on interrupts every CPU a dozen times.
    let mut events: Vec<(String, Place)> = Interrupt::ALL
        .into_iter()
        .filter(|source| may_come(*source, &interrupts))
        .flat_map(of_interrupt)
        .map(|event| (event, Here))
        .chain(known)
        .chain(more.iter().chain(reclaims).map(|event| ((*event).to_owned(), Here)))
        .collect();
    let names: Vec<String> = events.iter().map(|(event, _)| event.clone()).collect();
    let mut session = TraceSession::new(&names, buffer_kib)?;
    if session.lacks("ipi:ipi_send_cpu") {
        SENDERS.into_iter().chain(IRQ_WORKS).for_each(|probe| _ = session.probe(probe));
    }
    session.probe(RCU_TASKS_TRACE);
    if Quotas::read().any() {
        session.probe_quotas();
    }
    if cpus == online {
        return Ok(session);
    }
    events.extend(IRQ_WORKS.map(|probe| (format!("probe:{}", probe.name), Here)));
    for (event, place) in &events {
        if let Some(filter) = filter(cpus, *place) {
            session.filter(event, &filter)?;
        }
    }
    Ok(session)
}

/// The events that a record of any machine has, with system calls and idle states or without, for another tool: those
/// that are chosen by `wanted`.
pub fn events_of_record(system_calls: bool, idle: bool, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let known = EVENTS.iter().filter(|event| event.place.is_some()).map(|event| event.name.to_owned());
    let calls: &[&str] = if system_calls { &CALLS } else { &[] };
    let idle: &[&str] = if idle { &crate::idle::EVENTS } else { &[] };
    let calls = calls.iter().chain(idle).map(|event| (*event).to_owned());
    let of_interrupts = Interrupt::ALL.into_iter().flat_map(of_interrupt);
    of_interrupts.chain(known).chain(calls).filter(|event| wanted(event)).collect()
}

/// The events of system calls.
pub(crate) const CALLS: [&str; 2] = ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit"];

/// The events in which a task causes an interruption: it sends an interrupt, sets a timer, queues work, or wakes or
/// moves a task.
const CAUSING: [&str; 9] = [
    "sched:sched_wakeup",
    "sched:sched_wakeup_new",
    "sched:sched_migrate_task",
    "workqueue:workqueue_queue_work",
    "timer:timer_start",
    "timer:hrtimer_start",
    "ipi:ipi_send_cpu",
    "ipi:ipi_send_cpumask",
    "csd:csd_queue_cpu",
];

/// Enables the stacks of those that cause interruptions. The kernel has user stacks for all events only.
pub(crate) fn stacks(
    session: &mut TraceSession,
    cpus: &CpuList,
    online: &CpuList,
) -> Result<(), SessionError> {
    session.user_stacks()?;
    // The kernel causes page faults itself while it follows the frame pointers of programs that have none.
    session.leave_out("exceptions:page_fault_kernel")?;
    for event in EVENTS.iter().filter(|event| CAUSING.contains(&event.name)) {
        // Without this filter, events that the event's own filter rejects would still have a stack.
        let filter = event.place.filter(|_| cpus != online).and_then(|place| filter(cpus, place));
        session.kernel_stacks(event.name, filter.as_deref())?;
    }
    SENDERS.iter().try_for_each(|probe| session.kernel_stacks(&format!("probe:{}", probe.name), None))
}

/// Records where threads of these CPUs go to sleep, and with `faults` when their page faults end. A kernel before 5.15
/// writes such stacks into the machine's own trace and not into the instance's (tried on 5.14.2), so it has none.
pub(crate) fn sleeps(
    session: &mut TraceSession,
    cpus: &CpuList,
    online: &CpuList,
    kernel: &KernelVersion,
    faults: bool,
) -> Result<(), SessionError> {
    let here = filter(cpus, Here).filter(|_| cpus != online);
    if (kernel.major, kernel.minor) >= (5, 15) {
        // 0xff: the states of sleep; a preempted thread has none of them.
        let asleep = "prev_state & 0xff".to_owned();
        let filter = here.iter().fold(asleep, |asleep, here| format!("{asleep} && ({here})"));
        session.kernel_stacks("sched:sched_switch", Some(&filter))?;
        session.kernel_stacks("lock:contention_begin", here.as_deref())?;
        rwsems(session, here.as_deref())?;
    }
    if !faults {
        return Ok(());
    }
    if session.probe(FAULT_END) {
        here.map_or(Ok(()), |here| session.filter("probe:fault_end", &here))?;
    }
    COUNTED.iter().for_each(|probe| _ = session.count(*probe));
    Ok(())
}

/// Records how long threads spin before they sleep for a semaphore, and where.
fn rwsems(session: &mut TraceSession, here: Option<&str>) -> Result<(), SessionError> {
    for probe in RWSEM_WRITE {
        let event = format!("probe:{}", probe.name);
        if session.probe(probe) {
            here.map_or(Ok(()), |here| session.filter(&event, here))?;
        }
    }
    session.kernel_stacks(&format!("probe:{}", RWSEM_WRITE[0].name), here)
}

/// Records on the other CPUs which real-time tasks take a CPU from a task, and give it back: a thread of the command
/// may wait for that task. Real-time tasks have a priority below 100 (`include/linux/sched/prio.h`).
pub(crate) fn inversions(
    session: &mut TraceSession,
    cpus: &CpuList,
    online: &CpuList,
) -> Result<(), SessionError> {
    const REAL_TIME: &str = "(next_prio < 100 && prev_pid != 0) || (prev_prio < 100 && next_pid != 0)";
    match filter(cpus, Here).filter(|_| cpus != online) {
        Some(here) => session.filter("sched:sched_switch", &format!("{here} || {REAL_TIME}")),
        None => Ok(()),
    }
}

/// The filters, in the kernel's language. `CPU` is the CPU of the event.
fn filter(cpus: &CpuList, place: Place) -> Option<String> {
    let fields: &[&str] = match place {
        All => return None,
        Here => &["CPU"],
        Target(field) => &["CPU", field],
        Either(one, other) => &["CPU", one, other],
    };
    let terms = fields.iter().flat_map(|field| ranges(cpus).into_iter().map(move |range| term(field, range)));
    Some(terms.collect::<Vec<_>>().join(" || "))
}

fn term(field: &str, (first, last): (u32, u32)) -> String {
    if first == last {
        format!("{field} == {first}")
    } else {
        format!("({field} >= {first} && {field} <= {last})")
    }
}

/// The runs of consecutive CPUs in a list.
fn ranges(cpus: &CpuList) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus.iter() {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_have_the_kernels_syntax() {
        let cpus: CpuList = "1,4-7".parse().unwrap();
        assert_eq!(filter(&cpus, All), None);
        assert_eq!(filter(&cpus, Here).unwrap(), "CPU == 1 || (CPU >= 4 && CPU <= 7)");
        let one: CpuList = "3".parse().unwrap();
        assert_eq!(filter(&one, Target("target_cpu")).unwrap(), "CPU == 3 || target_cpu == 3");
    }
}
