// SPDX-License-Identifier: GPL-2.0-only
//! Which events are recorded, and where.

use Place::*;
use dyntick_model::CpuList;
use dyntick_observe::trace::{SessionError, TraceSession};
use dyntick_trace::events::{EVENTS, Place, of_interrupts};
use dyntick_trace::{IRQ_WORKS, SENDERS};

/// A session that is ready to start, with `more` events of the recorded CPUs.
pub(crate) fn session(
    cpus: &CpuList,
    online: &CpuList,
    buffer_kib: u32,
    more: &[&str],
) -> Result<TraceSession, SessionError> {
    let known = EVENTS.iter().filter_map(|event| Some((event.name.to_owned(), event.place?)));
    let mut events: Vec<(String, Place)> = of_interrupts()
        .map(|event| (event, Here))
        .chain(known)
        .chain(more.iter().map(|event| ((*event).to_owned(), Here)))
        .collect();
    let names: Vec<String> = events.iter().map(|(event, _)| event.clone()).collect();
    let mut session = TraceSession::new(&names, buffer_kib)?;
    if session.lacks("ipi:ipi_send_cpu") {
        SENDERS.into_iter().chain(IRQ_WORKS).for_each(|probe| _ = session.probe(probe));
    }
    if cpus == online {
        return Ok(session);
    }
    events.extend(IRQ_WORKS.map(|probe| (format!("probe:{}", probe.name), Here)));
    for (event, place) in &events {
        if let Some(filter) = filter(cpus, *place, none_of(&session, event, *place)?) {
            session.filter(event, &filter)?;
        }
    }
    Ok(session)
}

/// With these somebody causes an interruption: sends an interrupt, sets a timer, queues work, wakes or moves a task.
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

/// Has it recorded where those were who cause interruptions. The kernel has stacks of programs for all events only.
pub(crate) fn stacks(
    session: &mut TraceSession,
    cpus: &CpuList,
    online: &CpuList,
) -> Result<(), SessionError> {
    session.user_stacks()?;
    // The kernel takes some itself while it follows the frame pointers of programs that have none.
    session.leave_out("exceptions:page_fault_kernel")?;
    for event in EVENTS.iter().filter(|event| CAUSING.contains(&event.name)) {
        // What the event's own filter keeps out has a stack all the same, if that has none.
        let place = event.place.filter(|_| cpus != online);
        let none = place.map_or(Ok(SIGNED), |place| none_of(session, event.name, place))?;
        let filter = place.and_then(|place| filter(cpus, place, none));
        session.kernel_stacks(event.name, filter.as_deref())?;
    }
    SENDERS.iter().try_for_each(|probe| session.kernel_stacks(&format!("probe:{}", probe.name), None))
}

/// How a filter writes that an event's target is no CPU: the field is a signed number in Linux 6.1 and an unsigned one
/// in 5.10, whose filters take no negative number for it.
fn none_of(session: &TraceSession, event: &str, place: Place) -> Result<&'static str, SessionError> {
    let TargetOrNone(field) = place else { return Ok(SIGNED) };
    Ok(if session.is_unsigned(event, field)? { UNSIGNED } else { SIGNED })
}

const SIGNED: &str = "-1";
const UNSIGNED: &str = "0xffffffff";

/// What passes, in the language of the kernel's filters; `CPU` is where the event happened, and `none` how the number
/// of no CPU is written.
fn filter(cpus: &CpuList, place: Place, none: &str) -> Option<String> {
    let fields: &[&str] = match place {
        All => return None,
        Here => &["CPU"],
        Target(field) | TargetOrNone(field) => &["CPU", field],
        Either(one, other) => &["CPU", one, other],
    };
    let terms = fields.iter().flat_map(|field| ranges(cpus).into_iter().map(move |range| term(field, range)));
    let none = match place {
        TargetOrNone(field) => Some(format!("{field} == {none}")),
        _ => None,
    };
    Some(terms.chain(none).collect::<Vec<_>>().join(" || "))
}

fn term(field: &str, (first, last): (u32, u32)) -> String {
    match first == last {
        true => format!("{field} == {first}"),
        false => format!("({field} >= {first} && {field} <= {last})"),
    }
}

/// The runs of neighbours in a list.
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
    fn filters_as_the_kernel_reads_them() {
        let cpus: CpuList = "1,4-7".parse().unwrap();
        assert_eq!(filter(&cpus, All, SIGNED), None);
        assert_eq!(filter(&cpus, Here, SIGNED).unwrap(), "CPU == 1 || (CPU >= 4 && CPU <= 7)");
        let one: CpuList = "3".parse().unwrap();
        assert_eq!(filter(&one, TargetOrNone("cpu"), SIGNED).unwrap(), "CPU == 3 || cpu == 3 || cpu == -1");
        assert_eq!(filter(&one, Target("target_cpu"), SIGNED).unwrap(), "CPU == 3 || target_cpu == 3");
    }
}
