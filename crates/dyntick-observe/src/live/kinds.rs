// SPDX-License-Identifier: GPL-2.0-only
//! The kinds of causes that may be counted, and their tracepoints.

use dyntick_model::Interrupt;
use dyntick_trace::events::of_interrupt;
use serde::{Deserialize, Serialize};

/// A group of causes that is counted together or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Local timer interrupts, the hrtimers in them, and the timers of the wheel.
    Timers,
    /// The decisions to stop or to keep the tick.
    Ticks,
    /// Interrupts from other CPUs and from the CPU itself, with the functions that they call.
    Ipis,
    /// Interrupts of devices, and the rare vectors of the processor.
    Devices,
    /// Softirqs.
    Softirqs,
    /// Work items of workqueues.
    Works,
    /// Time slices of kernel threads and user tasks.
    Tasks,
    /// Page faults; counted only, without durations.
    Faults,
    /// Non-maskable interrupts.
    Nmis,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 9] = [
        Kind::Timers,
        Kind::Ticks,
        Kind::Ipis,
        Kind::Devices,
        Kind::Softirqs,
        Kind::Works,
        Kind::Tasks,
        Kind::Faults,
        Kind::Nmis,
    ];

    /// The name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Timers => "timers",
            Kind::Ticks => "ticks",
            Kind::Ipis => "ipis",
            Kind::Devices => "devices",
            Kind::Softirqs => "softirqs",
            Kind::Works => "works",
            Kind::Tasks => "tasks",
            Kind::Faults => "faults",
            Kind::Nmis => "nmis",
        }
    }

    /// The kernel's tracepoints that count this kind, each with a program of the same name, as
    /// `system:name`.
    pub fn tracepoints(self) -> Vec<String> {
        let of_interrupts = self.interrupts().iter().flat_map(|source| of_interrupt(*source));
        of_interrupts.chain(self.events().iter().map(|name| (*name).to_owned())).collect()
    }

    /// The interrupts of this kind that no device sends.
    fn interrupts(self) -> &'static [Interrupt] {
        match self {
            Kind::Timers => &[Interrupt::Timer],
            Kind::Ipis => &[
                Interrupt::Reschedule,
                Interrupt::FunctionCall,
                Interrupt::FunctionCallSingle,
                Interrupt::IrqWork,
            ],
            Kind::Devices => &[
                Interrupt::Platform,
                Interrupt::Thermal,
                Interrupt::Threshold,
                Interrupt::DeferredError,
                Interrupt::Controller,
                Interrupt::Spurious,
            ],
            _ => &[],
        }
    }

    /// The other tracepoints of this kind.
    fn events(self) -> &'static [&'static str] {
        match self {
            Kind::Timers => &[
                "timer:hrtimer_expire_entry",
                "timer:hrtimer_expire_exit",
                "timer:timer_expire_entry",
                "timer:timer_expire_exit",
            ],
            Kind::Ticks => &["timer:tick_stop"],
            Kind::Ipis => &["csd:csd_function_entry", "csd:csd_function_exit"],
            Kind::Devices => &["irq:irq_handler_entry", "irq:irq_handler_exit"],
            Kind::Softirqs => &["irq:softirq_entry", "irq:softirq_exit"],
            Kind::Works => &["workqueue:workqueue_execute_start", "workqueue:workqueue_execute_end"],
            Kind::Tasks => &["sched:sched_switch", "task:task_rename"],
            Kind::Faults => &["exceptions:page_fault_user", "exceptions:page_fault_kernel"],
            Kind::Nmis => &["nmi:nmi_handler"],
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Kind::ALL.map(Kind::name).join(", ");
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| format!("'{text}' is not a kind of interruption; known are {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_trace::events::{EVENTS, of_interrupts};

    #[test]
    fn each_counted_event_is_known() {
        for name in Kind::ALL.iter().flat_map(|kind| kind.tracepoints()) {
            let is_known = EVENTS.iter().any(|event| event.name == name);
            assert!(is_known || of_interrupts().any(|event| event == name), "{name}");
        }
    }
}
