// SPDX-License-Identifier: GPL-2.0-only
//! Which events are recorded, and where.

use dyntick_model::CpuList;
use dyntick_observe::trace::{IRQ_WORKS, SENDERS, SessionError, TraceSession};

/// Where an event matters.
#[derive(Clone, Copy)]
enum Where {
    /// Only on the recorded CPUs.
    Here,
    /// On every CPU: it tells what another CPU was doing when it did something to a recorded one.
    All,
    /// On the recorded CPUs, and elsewhere where this field names one of them.
    Target(&'static str),
    /// The same, and where it names none: unbound work runs on any.
    TargetOrNone(&'static str),
    /// As `Target` with two fields.
    Either(&'static str, &'static str),
}

use Where::*;

/// Vectors of `irq_vectors` come in pairs of entry and exit.
const VECTORS: &[&str] = &[
    "local_timer",
    "reschedule",
    "call_function",
    "call_function_single",
    "irq_work",
    "x86_platform_ipi",
    "spurious_apic",
    "error_apic",
    "thermal_apic",
    "threshold_apic",
    "deferred_error_apic",
];

const EVENTS: &[(&str, Where)] = &[
    ("irq:irq_handler_entry", All),
    ("irq:irq_handler_exit", All),
    ("irq:softirq_raise", Here),
    ("irq:softirq_entry", Here),
    ("irq:softirq_exit", Here),
    ("timer:tick_stop", Here),
    ("timer:hrtimer_start", Here),
    ("timer:hrtimer_cancel", Here),
    ("timer:hrtimer_expire_entry", All),
    ("timer:hrtimer_expire_exit", All),
    ("timer:timer_start", Here),
    ("timer:timer_expire_entry", All),
    ("timer:timer_expire_exit", All),
    ("workqueue:workqueue_queue_work", TargetOrNone("cpu")),
    ("workqueue:workqueue_execute_start", All),
    ("workqueue:workqueue_execute_end", All),
    ("sched:sched_switch", Here),
    ("sched:sched_wakeup", Target("target_cpu")),
    ("sched:sched_wakeup_new", Target("target_cpu")),
    ("sched:sched_migrate_task", Either("orig_cpu", "dest_cpu")),
    ("ipi:ipi_send_cpu", Target("cpu")),
    ("ipi:ipi_send_cpumask", All),
    ("csd:csd_queue_cpu", Target("cpu")),
    ("csd:csd_function_entry", Here),
    ("csd:csd_function_exit", Here),
    ("nmi:nmi_handler", Here),
    ("exceptions:page_fault_user", Here),
    ("exceptions:page_fault_kernel", Here),
];

/// A session that is ready to start, with `more` events of the recorded CPUs.
pub(crate) fn session(
    cpus: &CpuList,
    online: &CpuList,
    buffer_kib: u32,
    more: &[&str],
) -> Result<TraceSession, SessionError> {
    let vectors =
        VECTORS.iter().flat_map(|vector| ["entry", "exit"].map(|end| format!("irq_vectors:{vector}_{end}")));
    let mut events: Vec<(String, Where)> = vectors
        .map(|event| (event, Here))
        .chain(EVENTS.iter().map(|(event, place)| ((*event).to_owned(), *place)))
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
    events.extend(IRQ_WORKS.map(|(function, _)| (format!("probe:{function}"), Here)));
    for (event, place) in &events {
        if let Some(filter) = filter(cpus, *place) {
            session.filter(event, &filter)?;
        }
    }
    Ok(session)
}

/// What passes, in the language of the kernel's filters; `CPU` is where the event happened.
fn filter(cpus: &CpuList, place: Where) -> Option<String> {
    let fields: &[&str] = match place {
        All => return None,
        Here => &["CPU"],
        Target(field) | TargetOrNone(field) => &["CPU", field],
        Either(one, other) => &["CPU", one, other],
    };
    let terms = fields.iter().flat_map(|field| ranges(cpus).into_iter().map(move |range| term(field, range)));
    let none = match place {
        TargetOrNone(field) => Some(format!("{field} == -1")),
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
        assert_eq!(filter(&cpus, All), None);
        assert_eq!(filter(&cpus, Here).unwrap(), "CPU == 1 || (CPU >= 4 && CPU <= 7)");
        let one: CpuList = "3".parse().unwrap();
        assert_eq!(filter(&one, TargetOrNone("cpu")).unwrap(), "CPU == 3 || cpu == 3 || cpu == -1");
        assert_eq!(filter(&one, Target("target_cpu")).unwrap(), "CPU == 3 || target_cpu == 3");
    }
}
