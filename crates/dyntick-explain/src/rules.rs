// SPDX-License-Identifier: GPL-2.0-only
//! The causes that are known: one file each.
//!
//! To add one, write its file beside the others and name it twice in this file: as a module, and in one of the two
//! lists. A rule that describes a single function (`timer:mce_timer_fn`) needs words only; it is found by its name.

/// The effect of a fix for what no guest shows, so that nobody has seen it work here: firmware, devices,
/// counters and registers of real machines.
macro_rules! untried {
    ($effect:literal) => {
        concat!($effect, " Not tried here: no guest shows it.")
    };
}

/// The effect of a fix that a guest might show, and none has yet.
macro_rules! not_tried {
    ($effect:literal) => {
        concat!($effect, " Not tried here.")
    };
}

/// The effect of `nohz_full=`, with its price: the instructions were counted on 6.12 (`docs/src/context-tracking.md`).
macro_rules! with_nohz_full {
    ($effect:literal) => {
        concat!(
            $effect,
            " Its price: each kernel entry takes some 300 instructions more, and each wake-up some 600, so it is for \
             work that stays in user mode, and not for work that sleeps between its periods. From 6.12 until 7.2 the CPU \
             then has the fair server (fair-server), which has a separate fix."
        )
    };
}

mod anonymous_call;
mod anonymous_irq_work;
mod clock_distrusted;
mod command_task;
mod command_tick;
mod command_wakeup;
mod cpu_quota;
mod dependency_clock_unstable;
mod dependency_deadline;
mod dependency_perf;
mod dependency_posix_timer;
mod dependency_rcu;
mod dependency_rcu_exp;
mod dependency_sched;
mod dependency_sched_ext;
mod device;
mod empty_timer;
mod fair_server;
mod function_call;
mod function_call_blk_mq_complete_request_remote;
mod function_call_cfsb_csd_unthrottle;
mod function_call_do_flush_tlb_all;
mod function_call_do_kernel_range_flush;
mod function_call_do_sync_core;
mod function_call_flush_tlb_func;
mod function_call_invalidate_bh_lru;
mod function_call_ipi_mb;
mod function_call_ipi_rseq;
mod function_call_ipi_sync_core;
mod function_call_ipi_sync_rq_state;
mod function_call_mce_cpu_restart;
mod function_call_nohz_csd_func;
mod function_call_perf_event_read;
mod function_call_rcu_barrier_handler;
mod function_call_rcu_exp_handler;
mod function_call_rdmsr_on_cpu;
mod function_call_rdmsr_safe_on_cpu;
mod function_call_remote_function;
mod function_call_retrigger_next_event;
mod function_call_rps_trigger_softirq;
mod function_call_tlb_remove_table_smp_sync;
mod function_call_watchdog_check_skew_remote;
mod hrtimer;
mod hrtimer_dl_task_timer;
mod hrtimer_hrtick;
mod hrtimer_hrtimer_wakeup;
mod hrtimer_it_real_fn;
mod hrtimer_perf_mux_hrtimer_handler;
mod hrtimer_perf_swevent_hrtimer;
mod hrtimer_posix_timer_fn;
mod hrtimer_rapl_hrtimer_handle;
mod hrtimer_sched_cfs_period_timer;
mod hrtimer_sched_rt_period_timer;
mod hrtimer_timerfd_tmrproc;
mod hrtimer_uncore_pmu_hrtimer;
mod hrtimer_watchdog_timer_fn;
mod hypervisor_steal;
mod idle_not_stopped;
mod ipi;
mod ipi_cgroup_freeze_task;
mod ipi_wake_up_if_idle;
mod irq_work;
mod irq_work_nohz_full_kick_func;
mod irq_work_perf_pending_irq;
mod irq_work_wake_up_klogd_work_func;
mod kernel_thread;
mod kernel_thread_iou_sqp;
mod kernel_thread_iou_wrk;
mod kernel_thread_irq;
mod kernel_thread_kcompactd;
mod kernel_thread_khugepaged;
mod kernel_thread_ksmd;
mod kernel_thread_ksoftirqd;
mod kernel_thread_kswapd;
mod kernel_thread_ktimers;
mod kernel_thread_kworker;
mod kernel_thread_migration;
mod kernel_thread_rcuc;
mod kernel_thread_rcuop;
mod late_idle;
mod late_interrupts_off;
mod late_own;
mod late_path;
mod late_preemption_off;
mod late_unseen;
mod nmi;
mod not_adaptive;
mod other_task;
mod page_fault;
mod remote_timer;
mod signal;
mod smi;
mod softirq;
mod softirq_block;
mod softirq_net_rx;
mod softirq_rcu;
mod timekeeper;
mod timer;
mod timer_clocksource_watchdog;
mod timer_mce_timer_fn;
mod timer_process_timeout;
mod timer_tsc_sync_check_timer_fn;
mod unknown;
mod until_first_check;
mod vector;
mod wakeup;
mod wheel_empty;
mod workqueue;
mod workqueue_blk_mq_run_work_fn;
mod workqueue_cqm_handle_limbo;
mod workqueue_drain_local_stock;
mod workqueue_flush_backlog;
mod workqueue_flush_cpu_slab;
mod workqueue_flush_to_ldisc;
mod workqueue_kernfs_notify_workfn;
mod workqueue_lru_add_drain_per_cpu;
mod workqueue_mbm_handle_overflow;
mod workqueue_psi_avgs_work;
mod workqueue_refresh_vm_stats;
mod workqueue_update_pages_handler;
mod workqueue_vmpressure_work_fn;
mod workqueue_vmstat_update;
mod workqueue_wb_workfn;

pub use crate::rule::{Rule, RuleFix, UNTRIED, Versions};

use crate::case::{Case, Finding};
use crate::{CauseId, names};
use dyntick_model::{Fix, Map, Symbol};
use std::sync::LazyLock;

/// Tells whether an interruption has a cause.
type Detect = fn(&Case<'_>) -> Option<Finding>;

/// The rules that detect. The first one wins, so the order counts: what is certain and what lies deeper in the
/// chain of causation stands above.
static DETECTING: &[(&Rule, Detect)] = &[
    (&remote_timer::RULE, remote_timer::detect),
    (&not_adaptive::RULE, not_adaptive::detect),
    (&timekeeper::RULE, timekeeper::detect),
    (&idle_not_stopped::RULE, idle_not_stopped::detect),
    (&fair_server::RULE, fair_server::detect),
    (&workqueue::RULE, workqueue::detect),
    (&function_call::RULE, function_call::detect),
    (&dependency_posix_timer::RULE, dependency_posix_timer::detect),
    (&dependency_perf::RULE, dependency_perf::detect),
    (&dependency_clock_unstable::RULE, dependency_clock_unstable::detect),
    (&dependency_rcu::RULE, dependency_rcu::detect),
    (&dependency_rcu_exp::RULE, dependency_rcu_exp::detect),
    (&softirq::RULE, softirq::detect),
    (&kernel_thread::RULE, kernel_thread::detect),
    (&dependency_deadline::RULE, dependency_deadline::detect),
    (&dependency_sched_ext::RULE, dependency_sched_ext::detect),
    (&cpu_quota::RULE, cpu_quota::detect),
    (&command_tick::RULE, command_tick::detect),
    (&dependency_sched::RULE, dependency_sched::detect),
    (&command_wakeup::RULE, command_wakeup::detect),
    (&wakeup::RULE, wakeup::detect),
    (&timer::RULE, timer::detect),
    (&until_first_check::RULE, until_first_check::detect),
    (&hrtimer::RULE, hrtimer::detect),
    (&wheel_empty::RULE, wheel_empty::detect),
    (&empty_timer::RULE, empty_timer::detect),
    (&signal::RULE, signal::detect),
    (&nmi::RULE, nmi::detect),
    (&irq_work::RULE, irq_work::detect),
    (&ipi::RULE, ipi::detect),
    (&anonymous_call::RULE, anonymous_call::detect),
    (&anonymous_irq_work::RULE, anonymous_irq_work::detect),
    (&command_task::RULE, command_task::detect),
    (&other_task::RULE, other_task::detect),
    (&device::RULE, device::detect),
    (&page_fault::RULE, page_fault::detect),
    (&vector::RULE, vector::detect),
];

/// The rules that are found by their names: of members of a class and of late wake-ups, in alphabetical order, then
/// what is known from counters and not from events.
static NAMED: &[&Rule] = &[
    &function_call_blk_mq_complete_request_remote::RULE,
    &function_call_cfsb_csd_unthrottle::RULE,
    &function_call_do_flush_tlb_all::RULE,
    &function_call_do_kernel_range_flush::RULE,
    &function_call_do_sync_core::RULE,
    &function_call_flush_tlb_func::RULE,
    &function_call_invalidate_bh_lru::RULE,
    &function_call_ipi_mb::RULE,
    &function_call_ipi_rseq::RULE,
    &function_call_ipi_sync_core::RULE,
    &function_call_ipi_sync_rq_state::RULE,
    &function_call_mce_cpu_restart::RULE,
    &function_call_nohz_csd_func::RULE,
    &function_call_perf_event_read::RULE,
    &function_call_rcu_barrier_handler::RULE,
    &function_call_rcu_exp_handler::RULE,
    &function_call_rdmsr_on_cpu::RULE,
    &function_call_rdmsr_safe_on_cpu::RULE,
    &function_call_remote_function::RULE,
    &function_call_retrigger_next_event::RULE,
    &function_call_rps_trigger_softirq::RULE,
    &function_call_tlb_remove_table_smp_sync::RULE,
    &function_call_watchdog_check_skew_remote::RULE,
    &hrtimer_dl_task_timer::RULE,
    &hrtimer_hrtick::RULE,
    &hrtimer_hrtimer_wakeup::RULE,
    &hrtimer_it_real_fn::RULE,
    &hrtimer_perf_mux_hrtimer_handler::RULE,
    &hrtimer_perf_swevent_hrtimer::RULE,
    &hrtimer_posix_timer_fn::RULE,
    &hrtimer_rapl_hrtimer_handle::RULE,
    &hrtimer_sched_cfs_period_timer::RULE,
    &hrtimer_sched_rt_period_timer::RULE,
    &hrtimer_timerfd_tmrproc::RULE,
    &hrtimer_uncore_pmu_hrtimer::RULE,
    &hrtimer_watchdog_timer_fn::RULE,
    &ipi_cgroup_freeze_task::RULE,
    &ipi_wake_up_if_idle::RULE,
    &irq_work_nohz_full_kick_func::RULE,
    &irq_work_perf_pending_irq::RULE,
    &irq_work_wake_up_klogd_work_func::RULE,
    &kernel_thread_iou_sqp::RULE,
    &kernel_thread_iou_wrk::RULE,
    &kernel_thread_irq::RULE,
    &kernel_thread_kcompactd::RULE,
    &kernel_thread_khugepaged::RULE,
    &kernel_thread_ksmd::RULE,
    &kernel_thread_ksoftirqd::RULE,
    &kernel_thread_kswapd::RULE,
    &kernel_thread_ktimers::RULE,
    &kernel_thread_kworker::RULE,
    &kernel_thread_migration::RULE,
    &kernel_thread_rcuc::RULE,
    &kernel_thread_rcuop::RULE,
    &late_idle::RULE,
    &late_interrupts_off::RULE,
    &late_own::RULE,
    &late_path::RULE,
    &late_preemption_off::RULE,
    &late_unseen::RULE,
    &softirq_block::RULE,
    &softirq_net_rx::RULE,
    &softirq_rcu::RULE,
    &timer_clocksource_watchdog::RULE,
    &timer_mce_timer_fn::RULE,
    &timer_process_timeout::RULE,
    &timer_tsc_sync_check_timer_fn::RULE,
    &workqueue_blk_mq_run_work_fn::RULE,
    &workqueue_cqm_handle_limbo::RULE,
    &workqueue_drain_local_stock::RULE,
    &workqueue_flush_backlog::RULE,
    &workqueue_flush_cpu_slab::RULE,
    &workqueue_flush_to_ldisc::RULE,
    &workqueue_kernfs_notify_workfn::RULE,
    &workqueue_lru_add_drain_per_cpu::RULE,
    &workqueue_mbm_handle_overflow::RULE,
    &workqueue_psi_avgs_work::RULE,
    &workqueue_refresh_vm_stats::RULE,
    &workqueue_update_pages_handler::RULE,
    &workqueue_vmpressure_work_fn::RULE,
    &workqueue_vmstat_update::RULE,
    &workqueue_wb_workfn::RULE,
    &clock_distrusted::RULE,
    &hypervisor_steal::RULE,
    &smi::RULE,
    &unknown::RULE,
];

/// All rules.
pub fn all() -> &'static [&'static Rule] {
    static ALL: LazyLock<Vec<&Rule>> =
        LazyLock::new(|| DETECTING.iter().map(|(rule, _)| *rule).chain(NAMED.iter().copied()).collect());
    &ALL
}

/// The cause of an interruption by the first rule that detects one.
pub(crate) fn detect(case: &Case<'_>) -> Option<Finding> {
    DETECTING.iter().find_map(|(_, detect)| detect(case))
}

/// The rules that other code names causes by: each is called as its file.
#[allow(missing_docs)]
pub mod named {
    use super::*;

    pub static ANONYMOUS_CALL: &Rule = &anonymous_call::RULE;
    pub static ANONYMOUS_IRQ_WORK: &Rule = &anonymous_irq_work::RULE;
    pub static CLOCK_DISTRUSTED: &Rule = &clock_distrusted::RULE;
    pub static COMMAND_TASK: &Rule = &command_task::RULE;
    pub static DEPENDENCY_CLOCK_UNSTABLE: &Rule = &dependency_clock_unstable::RULE;
    pub static DEPENDENCY_PERF: &Rule = &dependency_perf::RULE;
    pub static DEPENDENCY_POSIX_TIMER: &Rule = &dependency_posix_timer::RULE;
    pub static DEPENDENCY_RCU: &Rule = &dependency_rcu::RULE;
    pub static DEPENDENCY_RCU_EXP: &Rule = &dependency_rcu_exp::RULE;
    pub static DEPENDENCY_SCHED: &Rule = &dependency_sched::RULE;
    pub static DEVICE: &Rule = &device::RULE;
    pub static EMPTY_TIMER: &Rule = &empty_timer::RULE;
    pub static FAIR_SERVER: &Rule = &fair_server::RULE;
    pub static FUNCTION_CALL: &Rule = &function_call::RULE;
    pub static HRTIMER: &Rule = &hrtimer::RULE;
    pub static HYPERVISOR_STEAL: &Rule = &hypervisor_steal::RULE;
    pub static IPI: &Rule = &ipi::RULE;
    pub static KERNEL_THREAD: &Rule = &kernel_thread::RULE;
    pub static LATE_IDLE: &Rule = &late_idle::RULE;
    pub static LATE_INTERRUPTS_OFF: &Rule = &late_interrupts_off::RULE;
    pub static LATE_OWN: &Rule = &late_own::RULE;
    pub static LATE_PATH: &Rule = &late_path::RULE;
    pub static LATE_PREEMPTION_OFF: &Rule = &late_preemption_off::RULE;
    pub static LATE_UNSEEN: &Rule = &late_unseen::RULE;
    pub static NOT_ADAPTIVE: &Rule = &not_adaptive::RULE;
    pub static NMI: &Rule = &nmi::RULE;
    pub static OTHER_TASK: &Rule = &other_task::RULE;
    pub static PAGE_FAULT: &Rule = &page_fault::RULE;
    pub static SMI: &Rule = &smi::RULE;
    pub static SOFTIRQ: &Rule = &softirq::RULE;
    pub static TIMER: &Rule = &timer::RULE;
    pub static UNKNOWN: &Rule = &unknown::RULE;
    pub static VECTOR: &Rule = &vector::RULE;
    pub static WORKQUEUE: &Rule = &workqueue::RULE;
}

/// The rule of a cause: that of the member, where it has its own, else that of its class.
pub fn get(cause: &CauseId) -> &'static Rule {
    static MEMBERS: LazyLock<Map<(&str, &str), &Rule>> =
        LazyLock::new(|| NAMED.iter().filter_map(|rule| Some((rule.id.split_once(':')?, *rule))).collect());
    let own = cause.member_name().and_then(|member| MEMBERS.get(&(cause.class().id, &**member)));
    own.copied().unwrap_or(cause.class())
}

/// A cause in a few words. Where the rule is one for a whole class the member is named behind.
pub fn title(cause: &CauseId) -> String {
    let rule = get(cause);
    match cause.member_name().filter(|_| rule.id == cause.class().id) {
        Some(member) => format!("{}: {member}", rule.title),
        None => rule.title.to_owned(),
    }
}

impl CauseId {
    /// The cause of a kernel thread's turn: `kernel-thread` and the thread's name, without the number of the
    /// CPU, the memory node or the process that the thread belongs to.
    pub fn kernel_thread(comm: &Symbol) -> Self {
        let member = match names::thread_family(comm) {
            family if family.len() < comm.len() => family.into(),
            _ => comm.clone(),
        };
        Self::member(named::KERNEL_THREAD, member)
    }

    /// From its text; none where there is no such class.
    pub fn parse(text: &str) -> Option<Self> {
        let with_id = |id: &str| all().iter().copied().find(|rule| rule.id == id);
        match text.split_once(':') {
            Some((class, member)) => Some(Self::member(with_id(class)?, member)),
            None => Some(Self::of(with_id(text)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::named::*;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_rule_has_its_own_id() {
        let ids: BTreeSet<&str> = all().iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), all().len());
    }

    /// A rule that is found by the name of a member must belong to a class that is detected.
    #[test]
    fn rules_for_one_function_belong_to_a_class() {
        for rule in NAMED.iter().filter(|rule| rule.id.contains(':')) {
            let class = rule.id.split_once(':').map(|(class, _)| class);
            assert!(DETECTING.iter().any(|(other, _)| Some(other.id) == class), "{}", rule.id);
        }
        assert!(DETECTING.iter().all(|(rule, _)| !rule.id.contains(':')));
    }

    #[test]
    fn causes_from_their_texts() {
        let parse = |text: &str| CauseId::parse(text).map(|cause| (cause.to_string(), get(&cause).id));
        let own = ("workqueue:vmstat_update".to_owned(), "workqueue:vmstat_update");
        assert_eq!(parse("workqueue:vmstat_update"), Some(own));
        assert_eq!(parse("workqueue:new").unwrap().1, "workqueue");
        assert_eq!(parse("fair-server").unwrap().1, "fair-server");
        assert_eq!(parse("no-such-class:x"), None);
    }

    #[test]
    fn the_most_special_rule_answers() {
        let id = |member: &str| get(&CauseId::member(named::WORKQUEUE, member)).id;
        assert_eq!(id("vmstat_update"), "workqueue:vmstat_update");
        assert_eq!(id("something_new"), "workqueue");
    }

    #[test]
    fn fixes_depend_on_the_kernel() {
        let settings = |kernel: &str| {
            let kernel = kernel.parse().unwrap();
            let rule = get(&CauseId::member(named::WORKQUEUE, "vmstat_update"));
            rule.fixes_for(&kernel).map(|fix| fix.action).collect::<Vec<_>>()
        };
        let isolated = Fix::Boot("isolcpus=domain,{quiet}");
        assert!(settings("6.12.95").contains(&isolated));
        assert!(!settings("6.1.0-56").contains(&isolated));
    }

    /// No events are kept as evidence for the turn of a task.
    #[test]
    fn what_a_turn_comes_from_is_named() {
        let possible = [COMMAND_TASK, FUNCTION_CALL, KERNEL_THREAD, OTHER_TASK, SOFTIRQ, WORKQUEUE];
        assert!(possible.iter().all(|rule| rule.names_origin));
    }

    #[test]
    fn texts_are_whole() {
        for rule in all() {
            assert!(!rule.title.ends_with('.') && rule.explanation.ends_with('.'), "{}", rule.id);
            assert!(rule.fixes.iter().all(|fix| fix.effect.ends_with('.')), "{}", rule.id);
            assert!(!rule.explanation.contains("  "), "{}", rule.id);
        }
    }
}
