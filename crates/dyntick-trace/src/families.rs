// SPDX-License-Identifier: GPL-2.0-only
//! The kinds of events that an explanation rests on, and what is not known without each. A foreign trace may lack any.

/// Events of one kind.
struct Family {
    /// Its name for a reader.
    name: &'static str,
    /// Its events; one of them is enough.
    events: &'static [&'static str],
    /// The unknown if the trace has none of them, in words.
    unknown: &'static str,
}

static FAMILIES: [Family; 11] = [
    Family {
        name: "sched:sched_switch",
        events: &["sched:sched_switch"],
        unknown: "time slices of other tasks and of kernel threads",
    },
    Family {
        name: "sched:sched_wakeup",
        events: &["sched:sched_wakeup", "sched:sched_wakeup_new"],
        unknown: "wakers of tasks",
    },
    Family {
        name: "irq_vectors:local_timer_*",
        events: &["irq_vectors:local_timer_entry"],
        unknown: "interrupts of the timer",
    },
    Family {
        name: "timer:hrtimer_expire_*",
        events: &["timer:hrtimer_expire_entry"],
        unknown: "ticks and other high-resolution timers",
    },
    Family {
        name: "timer:tick_stop",
        events: &["timer:tick_stop"],
        unknown: "reasons for which a tick is kept, and the CPUs of nohz_full=",
    },
    Family {
        name: "timer:timer_expire_*",
        events: &["timer:timer_expire_entry"],
        unknown: "timers of the wheel",
    },
    Family { name: "irq:softirq_*", events: &["irq:softirq_entry"], unknown: "softirqs" },
    Family {
        name: "irq:irq_handler_*",
        events: &["irq:irq_handler_entry"],
        unknown: "interrupts of devices",
    },
    Family {
        name: "workqueue:*",
        events: &["workqueue:workqueue_execute_start"],
        unknown: "work items of kernel workers",
    },
    Family {
        name: "ipi:*",
        events: &["ipi:ipi_send_cpu", "ipi:ipi_send_cpumask", "csd:csd_queue_cpu"],
        unknown: "senders of interrupts from other CPUs",
    },
    Family {
        name: "csd:*",
        events: &["csd:csd_function_entry"],
        unknown: "functions that other CPUs had called",
    },
];

/// The kinds of events of which a trace has none, in words: their names, and what is not known without them. `has`
/// returns true for an event of which it has one.
pub fn lacking(has: impl Fn(&str) -> bool) -> Option<(String, String)> {
    let lacks = |family: &&Family| !family.events.iter().any(|event| has(event));
    let lacking: Vec<&Family> = FAMILIES.iter().filter(lacks).collect();
    let joined = |of: fn(&Family) -> &'static str| {
        lacking.iter().map(|family| of(family)).collect::<Vec<_>>().join(", ")
    };
    (!lacking.is_empty()).then(|| (joined(|family| family.name), joined(|family| family.unknown)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::is_read;

    #[test]
    fn families_are_of_events_that_are_read() {
        assert!(FAMILIES.iter().flat_map(|family| family.events).all(|event| is_read(event)));
    }

    #[test]
    fn lacking_kinds_are_named_with_the_unknown() {
        assert_eq!(lacking(|_| true), None);
        let (names, unknown) = lacking(|event| !event.starts_with("irq:")).unwrap();
        assert_eq!(
            (names.as_str(), unknown.as_str()),
            ("irq:softirq_*, irq:irq_handler_*", "softirqs, interrupts of devices")
        );
    }
}
