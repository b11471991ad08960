// SPDX-License-Identifier: GPL-2.0-only
//! Events as text.

use dyntick_model::{Event, EventKind, Vector};

/// One line for an event: its time in seconds, its CPU, and what it says.
pub(crate) fn describe(event: &Event) -> String {
    let Event { ts, cpu, pid, kind } = event;
    format!("{}.{:09} CPU {cpu} pid {pid}: {}", ts / 1_000_000_000, ts % 1_000_000_000, text(kind))
}

fn text(kind: &EventKind) -> String {
    use EventKind::*;
    match kind {
        VectorEntry { vector } => format!("{}_entry", vector_name(*vector)),
        VectorExit { vector } => format!("{}_exit", vector_name(*vector)),
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
        IpiSend { target, callsite, callback } => format!("ipi_send_cpu {target} {callsite} {callback}"),
        IpiSendMask { targets, callsite, callback } => {
            format!("ipi_send_cpumask {targets} {callsite} {callback}")
        }
        CsdQueuedMask { targets, callsite, function } => {
            format!("smp_call_function_many_cond {targets} {callsite} {function}")
        }
        CsdQueued { target, callsite, function } => format!("csd_queue_cpu {target} {callsite} {function}"),
        SchedMigrate { pid, comm, from, to } => format!("sched_migrate_task {comm} [{pid}] {from} -> {to}"),
        IrqWork { function } => format!("irq_work {function}"),
        Nmi { handler, duration_ns } => format!("nmi_handler {handler} took {duration_ns} ns"),
        PageFault { user, address, ip } => {
            format!("page_fault_{} address={address:#x} ip={ip:#x}", if *user { "user" } else { "kernel" })
        }
        Itimer { which, armed } => format!("itimer_state which={which} armed={}", u8::from(*armed)),
        CsdEntry { function } => format!("csd_function_entry {function}"),
        CsdExit { function } => format!("csd_function_exit {function}"),
        SchedWaking { pid, target } => format!("sched_waking pid={pid} target={target}"),
        CpuIdle { state: Some(state) } => format!("cpu_idle state={state}"),
        CpuIdle { state: None } => "cpu_idle exit".to_owned(),
        MenuPredict { predicted_ns, used_ns, .. } => {
            format!("menu_predict predicted={predicted_ns} used={used_ns}")
        }
        CpuIdleMiss { state, below } => format!("cpu_idle_miss state={state} below={below}"),
    }
}

/// The vector as its tracepoints name it, `irq_work` of `irq_vectors:irq_work_entry`.
fn vector_name(vector: Vector) -> &'static str {
    match vector {
        Vector::LocalTimer => "local_timer",
        Vector::Reschedule => "reschedule",
        Vector::CallFunction => "call_function",
        Vector::CallFunctionSingle => "call_function_single",
        Vector::IrqWork => "irq_work",
        Vector::Thermal => "thermal_apic",
        Vector::Threshold => "threshold_apic",
        Vector::DeferredError => "deferred_error_apic",
        Vector::ApicError => "error_apic",
        Vector::Spurious => "spurious_apic",
        Vector::Platform => "x86_platform_ipi",
        Vector::Other => "other_vector",
    }
}
