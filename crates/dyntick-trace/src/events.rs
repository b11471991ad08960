// SPDX-License-Identifier: GPL-2.0-only
//! The trace events that dyntick reads: their fields and what is made of them, who records them, since which
//! kernel they are there, and what is not known without them. Those of interrupts that no device sends
//! are in `arch/`.

use super::Format;
use super::arch::x86;
use super::fields::Fields;
use super::{COMPAT_CALL, FAULT_END, IRQ_WORKS, RCU_TASKS_TRACE, RWSEM_WRITE, THROTTLED_THREAD};
use Guests::*;
use Place::*;
use dyntick_model::EventKind::*;
use dyntick_model::{EventKind, Interrupt, TICK_KICK, TickDependency};

/// Makes an event of the fields of its record, in the order in which they are named.
pub(super) type OfFields = fn(&mut Fields) -> Option<EventKind>;

/// A trace event.
pub struct TraceEvent {
    /// Its name, `system:name`.
    pub name: &'static str,
    /// The fields that are read. Their names are the same in 6.1, 6.12 and 7.2.
    pub fields: &'static [&'static str],
    pub(super) make: OfFields,
    /// The CPUs on which a recording of a live machine has it; none if it is recorded on request.
    pub place: Option<Place>,
    /// The guests that record it.
    pub guests: Guests,
    /// The first kernel that has it, if that is newer than 6.1.
    pub since: Option<(u32, u32)>,
    /// The consequence if it is missing, in words; may be empty.
    pub without: &'static str,
}

/// The CPUs on which an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Only the recorded CPUs.
    Here,
    /// Every CPU: the event shows the activity of another CPU when it acted on a recorded one.
    All,
    /// The recorded CPUs, and others if this field names a recorded one.
    Target(&'static str),
    /// Like `Target`, with two fields.
    Either(&'static str, &'static str),
}

/// The guests of the laboratory that record an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guests {
    /// All guests.
    Always,
    /// Guests with a machine's idle states.
    WithStates,
    /// Guests whose case names the event.
    OnRequest,
}

/// The state that `power:cpu_idle` reports when a CPU leaves its state (`include/trace/events/power.h`).
const PWR_EVENT_EXIT: u32 = u32::MAX;

const fn event(name: &'static str, fields: &'static [&'static str], make: OfFields) -> TraceEvent {
    TraceEvent { name, fields, make, place: None, guests: OnRequest, since: None, without: "" }
}

/// The events of a task that frees memory of a control group: begin and end.
pub const RECLAIMS: [&str; 2] =
    ["vmscan:mm_vmscan_memcg_reclaim_begin", "vmscan:mm_vmscan_memcg_reclaim_end"];

/// All but those of interrupts that no device sends.
pub static EVENTS: &[TraceEvent] = &[
    TraceEvent {
        place: Some(All),
        guests: Always,
        ..event("irq:irq_handler_entry", &["irq", "name"], |f| {
            Some(IrqEntry { irq: f.number()? as u32, name: f.text()? })
        })
    },
    TraceEvent {
        place: Some(All),
        guests: Always,
        ..event("irq:irq_handler_exit", &["irq"], |f| Some(IrqExit { irq: f.number()? as u32 }))
    },
    TraceEvent {
        place: Some(Here),
        guests: Always,
        ..event("irq:softirq_raise", &["vec"], |f| Some(SoftirqRaise { softirq: f.softirq()? }))
    },
    TraceEvent {
        place: Some(Here),
        guests: Always,
        ..event("irq:softirq_entry", &["vec"], |f| Some(SoftirqEntry { softirq: f.softirq()? }))
    },
    TraceEvent {
        place: Some(Here),
        guests: Always,
        ..event("irq:softirq_exit", &["vec"], |f| Some(SoftirqExit { softirq: f.softirq()? }))
    },
    TraceEvent {
        place: Some(Here),
        guests: Always,
        without: "this kernel has no timer:tick_stop: tick dependencies are not known",
        ..event("timer:tick_stop", &["success", "dependency"], |f| {
            Some(TickStop {
                success: f.number()? != 0,
                dependency: TickDependency::from_mask(f.number()? as u32).ok()?,
            })
        })
    },
    TraceEvent {
        place: Some(Here),
        guests: Always,
        ..event("timer:hrtimer_start", &["hrtimer", "function", "expires", "softexpires"], |f| {
            Some(HrtimerStart {
                timer: f.number()?,
                function: f.function()?,
                expires: f.number()? as i64,
                soft: f.number()? as i64,
            })
        })
    },
    TraceEvent {
        place: Some(Here),
        guests: Always,
        ..event("timer:hrtimer_cancel", &["hrtimer"], |f| Some(HrtimerCancel { timer: f.number()? }))
    },
    // A timer that has expired already is taken off again as soon as it is started (7.2: hrtimer_start_range_ns_user).
    TraceEvent {
        place: Some(Here),
        guests: Always,
        since: Some((7, 2)),
        ..event("timer:hrtimer_start_expired", &["hrtimer"], |f| Some(HrtimerCancel { timer: f.number()? }))
    },
    TraceEvent {
        place: Some(All),
        guests: Always,
        ..event("timer:hrtimer_expire_entry", &["hrtimer", "function", "now"], |f| {
            Some(HrtimerEntry { timer: f.number()?, function: f.function()?, now: f.number()? as i64 })
        })
    },
    TraceEvent {
        place: Some(All),
        guests: Always,
        ..event("timer:hrtimer_expire_exit", &["hrtimer"], |f| Some(HrtimerExit { timer: f.number()? }))
    },
    TraceEvent {
        place: Some(Here),
        guests: Always,
        ..event("timer:timer_start", &["timer", "function", "expires", "flags"], |f| {
            Some(TimerStart {
                timer: f.number()?,
                function: f.function()?,
                expires: f.number()?,
                flags: f.number()? as u32,
            })
        })
    },
    TraceEvent {
        place: Some(All),
        guests: Always,
        ..event("timer:timer_expire_entry", &["timer", "function"], |f| {
            Some(TimerEntry { timer: f.number()?, function: f.function()? })
        })
    },
    TraceEvent {
        place: Some(All),
        guests: Always,
        ..event("timer:timer_expire_exit", &["timer"], |f| Some(TimerExit { timer: f.number()? }))
    },
    TraceEvent {
        // Work on another CPU may be what interrupts a recorded one.
        place: Some(All),
        guests: Always,
        ..event("workqueue:workqueue_queue_work", &["work", "function", "cpu"], |f| {
            Some(WorkQueued { work: f.number()?, function: f.function()?, target: f.number()? as u32 })
        })
    },
    TraceEvent {
        place: Some(All),
        guests: Always,
        ..event("workqueue:workqueue_execute_start", &["work", "function"], |f| {
            Some(WorkStart { work: f.number()?, function: f.function()? })
        })
    },
    TraceEvent {
        place: Some(All),
        guests: Always,
        ..event("workqueue:workqueue_execute_end", &["work"], |f| Some(WorkEnd { work: f.number()? }))
    },
    TraceEvent {
        place: Some(All),
        ..event("sched:sched_kthread_work_queue_work", &["work", "function"], |f| {
            Some(WorkQueued { work: f.number()?, function: f.function()?, target: u32::MAX })
        })
    },
    TraceEvent {
        place: Some(All),
        ..event("sched:sched_kthread_work_execute_start", &["work", "function"], |f| {
            Some(WorkStart { work: f.number()?, function: f.function()? })
        })
    },
    TraceEvent {
        place: Some(All),
        ..event("sched:sched_kthread_work_execute_end", &["work"], |f| Some(WorkEnd { work: f.number()? }))
    },
    TraceEvent {
        place: Some(Here),
        guests: Always,
        ..event(
            "sched:sched_switch",
            &["prev_pid", "prev_comm", "prev_state", "next_pid", "next_comm"],
            |f| {
                Some(SchedSwitch {
                    prev: f.number()? as i32,
                    prev_comm: f.text()?,
                    prev_state: f.number()?,
                    next: f.number()? as i32,
                    next_comm: f.text()?,
                })
            },
        )
    },
    TraceEvent {
        // A command's descendants are started on any CPU.
        place: Some(All),
        ..event("sched:sched_process_fork", &["parent_pid", "child_pid"], |f| {
            Some(SchedFork { parent: f.number()? as i32, child: f.number()? as i32 })
        })
    },
    TraceEvent {
        // The name of a task that acts on a recorded CPU from another one and ends soon, e.g. of kill.
        place: Some(All),
        ..event("task:task_rename", &["pid", "newcomm"], |f| {
            Some(TaskRename { pid: f.number()? as i32, comm: f.text()? })
        })
    },
    TraceEvent {
        place: Some(Target("target_cpu")),
        guests: Always,
        ..event("sched:sched_wakeup", &["pid", "comm", "target_cpu"], |f| {
            Some(SchedWakeup { pid: f.number()? as i32, comm: f.text()?, target: f.number()? as u32 })
        })
    },
    TraceEvent {
        place: Some(Target("target_cpu")),
        guests: Always,
        ..event("sched:sched_wakeup_new", &["pid", "comm", "target_cpu"], |f| {
            Some(SchedWakeup { pid: f.number()? as i32, comm: f.text()?, target: f.number()? as u32 })
        })
    },
    TraceEvent {
        // The field is the CPU on which the thread ran last.
        place: Some(Target("target_cpu")),
        guests: WithStates,
        ..event("sched:sched_waking", &["pid", "target_cpu"], |f| {
            Some(SchedWaking { pid: f.number()? as i32, target: f.number()? as u32 })
        })
    },
    event("raw_syscalls:sys_enter", &["id"], |f| Some(CallEntry { number: f.number()? as u32 })),
    event("raw_syscalls:sys_exit", &["id"], |f| Some(CallExit { number: f.number()? as u32 })),
    TraceEvent {
        guests: WithStates,
        ..event("power:cpu_idle", &["state"], |f| {
            let state = f.number()? as u32;
            Some(CpuIdle { state: (state != PWR_EVENT_EXIT).then_some(state) })
        })
    },
    event("power:menu_predict", &["predicted_ns", "used_ns", "next_timer_ns", "tick_stopped"], |f| {
        Some(MenuPredict {
            predicted_ns: f.number()?,
            used_ns: f.number()?,
            next_timer_ns: f.number()?,
            tick_stopped: f.number()? != 0,
        })
    }),
    TraceEvent {
        guests: WithStates,
        ..event("power:cpu_idle_miss", &["state", "below"], |f| {
            Some(CpuIdleMiss { state: f.number()? as u32, below: f.number()? != 0 })
        })
    },
    TraceEvent {
        place: Some(Target("cpu")),
        guests: Always,
        since: Some((6, 4)),
        without: "this kernel (before 6.5) has no ipi:* and csd:* events: the sender of an interrupt from another \
         CPU, and the function that it calls, are known from kprobes only, where these could be set",
        ..event("ipi:ipi_send_cpu", &["cpu", "callsite", "callback"], |f| {
            Some(IpiSend { target: f.number()? as u32, callsite: f.function()?, callback: f.callback()? })
        })
    },
    TraceEvent {
        place: Some(All),
        since: Some((6, 4)),
        ..event("ipi:ipi_send_cpumask", &["cpumask", "callsite", "callback"], |f| {
            Some(IpiSendMask { targets: f.cpus()?, callsite: f.function()?, callback: f.callback()? })
        })
    },
    TraceEvent {
        place: Some(Target("cpu")),
        since: Some((6, 5)),
        ..event("csd:csd_queue_cpu", &["cpu", "callsite", "func"], |f| {
            Some(CsdQueued { target: f.number()? as u32, callsite: f.function()?, function: f.function()? })
        })
    },
    TraceEvent {
        place: Some(Here),
        guests: Always,
        since: Some((6, 5)),
        ..event("csd:csd_function_entry", &["func"], |f| Some(CsdEntry { function: f.function()? }))
    },
    TraceEvent {
        place: Some(Here),
        guests: Always,
        since: Some((6, 5)),
        ..event("csd:csd_function_exit", &["func"], |f| Some(CsdExit { function: f.function()? }))
    },
    TraceEvent {
        place: Some(Either("orig_cpu", "dest_cpu")),
        ..event("sched:sched_migrate_task", &["pid", "comm", "orig_cpu", "dest_cpu"], |f| {
            Some(SchedMigrate {
                pid: f.number()? as i32,
                comm: f.text()?,
                from: f.number()? as u32,
                to: f.number()? as u32,
            })
        })
    },
    TraceEvent {
        place: Some(Here),
        without: "this kernel has no nmi:nmi_handler: NMIs are counted in /proc/interrupts only",
        ..event("nmi:nmi_handler", &["handler", "delta_ns"], |f| {
            Some(Nmi { handler: f.function()?, duration_ns: (f.number()? as i64).max(0) as u64 })
        })
    },
    TraceEvent {
        place: Some(Here),
        without: "this kernel has no exceptions:page_fault_*: page faults are missing",
        ..event("exceptions:page_fault_user", &["address", "ip", "error_code"], |f| {
            Some(PageFault { user: true, address: f.number()?, ip: f.number()?, error: f.number()? })
        })
    },
    TraceEvent {
        place: Some(Here),
        ..event("exceptions:page_fault_kernel", &["address", "ip", "error_code"], |f| {
            Some(PageFault { user: false, address: f.number()?, ip: f.number()?, error: f.number()? })
        })
    },
    TraceEvent {
        place: Some(Here),
        since: Some((5, 19)),
        ..event("lock:contention_begin", &["lock_addr"], |f| Some(LockWait { lock: f.number()? }))
    },
    TraceEvent {
        place: Some(Here),
        since: Some((5, 19)),
        ..event("lock:contention_end", &["lock_addr"], |f| Some(LockWaitEnd { lock: Some(f.number()?) }))
    },
    TraceEvent {
        place: Some(All),
        ..event("signal:signal_generate", &["sig", "pid"], |f| {
            Some(SignalSent { signal: f.number()? as u32, pid: f.number()? as i32 })
        })
    },
    event(RECLAIMS[0], &[], |_| Some(ReclaimBegin)),
    event(RECLAIMS[1], &[], |_| Some(ReclaimEnd)),
    event("timer:itimer_state", &["which", "value_sec", "value_nsec"], |f| {
        Some(Itimer { which: f.number()? as u32, armed: f.number()? != 0 || f.number()? != 0 })
    }),
];

/// The events of the kprobes that replace missing events ([`super::SENDERS`]).
static PROBES: &[TraceEvent] = &[
    event("probe:call_many", &["targets", "callsite", "func"], |f| {
        let mask = f.number()?;
        let targets = (0..u64::BITS).filter(|bit| mask >> bit & 1 == 1).collect();
        Some(CsdQueuedMask { targets, callsite: f.function()?, function: f.function()? })
    }),
    event("probe:call_single", &["cpu", "callsite", "func"], |f| {
        Some(CsdQueued { target: f.number()? as u32, callsite: f.function()?, function: f.function()? })
    }),
    event("probe:kick", &["cpu", "callsite"], |f| {
        let (target, callsite) = (f.number()? as u32, f.function()?);
        Some(CsdQueued { target, callsite, function: TICK_KICK.into() })
    }),
    event("probe:throttle", &["queue", "group", "cpu"], |f| {
        Some(Throttle { queue: f.number()?, group: f.number()?, cpu: f.number()? as u32 })
    }),
    event("probe:throttle_end", &["done"], |f| Some(ThrottleEnd { done: f.number()? != 0 })),
    event("probe:rwsem_write", &["lock"], |f| Some(LockWait { lock: f.number()? })),
    event("probe:unthrottle", &["queue"], |f| Some(Unthrottle { queue: f.number()? })),
    event("probe:reschedule", &["cpu", "callsite"], |f| {
        let (target, callsite) = (f.number()? as u32, f.function()?);
        Some(IpiSend { target, callsite, callback: None })
    }),
];

/// The call stack at the event before (`TraceSession::kernel_stacks` of dyntick-observe). `size` is the number
/// of frames; a stack of a program has as many as fit, then zeros.
static STACKS: &[TraceEvent] = &[
    event(KERNEL_STACK, &["size", "caller"], |f| {
        let count = f.number()? as usize;
        Some(KernelStack { frames: f.functions(count)? })
    }),
    event(USER_STACK, &["tgid", "caller"], |f| {
        Some(UserStack { process: f.number()? as i32, frames: f.addresses()? })
    }),
];

/// The event of a call stack of the kernel.
pub const KERNEL_STACK: &str = "ftrace:kernel_stack";
/// The event of a call stack of a program.
pub const USER_STACK: &str = "ftrace:user_stack";

/// The consequence if a kernel has no events of the interrupt vectors, which are x86's.
const WITHOUT_VECTORS: (&str, &str) = (
    "irq_vectors:local_timer_entry",
    "this kernel has no irq_vectors:*: interrupts are known by their handlers only",
);

/// The events of the interrupts that no device sends: begin and end of each.
pub fn of_interrupts() -> impl Iterator<Item = String> {
    x86::events()
}

/// The events of one source.
pub fn of_interrupt(source: Interrupt) -> impl Iterator<Item = String> {
    x86::events_of(source)
}

/// Describes the consequences of these missing events.
pub fn consequences(missing: &[String]) -> Vec<String> {
    let all = EVENTS.iter().map(|event| (event.name, event.without)).chain([WITHOUT_VECTORS]);
    let of = all.filter(|(event, words)| !words.is_empty() && missing.iter().any(|name| name == event));
    of.map(|(_, words)| words.to_owned()).collect()
}

/// Returns true if events of this name are read and not only counted.
pub fn is_read(name: &str) -> bool {
    by_name_alone(name).is_some() || read_as(name).is_some()
}

/// Returns true if an event of this name can be read by its format.
pub fn is_readable(name: &str, format: &Format) -> bool {
    let has = |field: &&str| format.field(field).is_some();
    let own = read_as(name).map_or(&[][..], |known| known.fields);
    is_read(name) && has(&"common_pid") && own.iter().all(has)
}

/// Returns the way to read an event; none if it is only counted.
pub(super) fn read_as(name: &str) -> Option<&'static TraceEvent> {
    EVENTS.iter().chain(PROBES).chain(STACKS).find(|event| event.name == name)
}

/// Returns the meaning of an event whose name shows all.
pub(super) fn by_name_alone(name: &str) -> Option<EventKind> {
    x86::kind_of(name).or_else(|| of_irq_work(name)).or_else(|| of_function(name))
}

/// The probes of functions.
fn of_function(event: &str) -> Option<EventKind> {
    let name = event.strip_prefix("probe:")?;
    match name {
        _ if name == FAULT_END.name => Some(EventKind::PageFaultEnd),
        _ if name == RWSEM_WRITE[1].name => Some(EventKind::LockWaitEnd { lock: None }),
        _ if name == RCU_TASKS_TRACE.name => Some(EventKind::RcuTasksTrace),
        _ if name == THROTTLED_THREAD.name => Some(EventKind::ThrottleThread),
        _ if name == COMPAT_CALL.name => Some(EventKind::CompatCall),
        _ => None,
    }
}

/// The probe of a function that was queued for interrupt context has its name.
fn of_irq_work(event: &str) -> Option<EventKind> {
    let name = event.strip_prefix("probe:")?;
    let known = IRQ_WORKS.iter().any(|probe| probe.name == name);
    known.then(|| EventKind::IrqWork { function: name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_is_listed_once_and_each_begin_has_an_end() {
        let names: Vec<&str> = EVENTS.iter().map(|event| event.name).collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
            let end = name.replace("_entry", "_exit").replace("execute_start", "execute_end");
            let of = |name: &str| read_as(name).map(|event| (event.place, event.guests));
            assert_eq!(of(name), of(&end), "{name} and {end}");
        }
        assert!(of_interrupts().all(|name| by_name_alone(&name).is_some()));
        assert_eq!(of_interrupts().count(), 22);
    }

    #[test]
    fn missing_events_are_reported_once() {
        let missing = ["ipi:ipi_send_cpu", "ipi:ipi_send_cpumask", "no_such:event"].map(str::to_owned);
        assert_eq!(consequences(&missing).len(), 1);
    }
}
