// SPDX-License-Identifier: GPL-2.0-only
//! The causes that are known: one file each.
//!
//! To add one, write its file beside the others and name it in the two lists of this file. A rule that
//! describes a single function (`timer:mce_timer_fn`) needs words only; it is found by its name.

/// What the effect of a fix says that nobody has seen work in a guest.
pub const UNTRIED: &str = "Not tried here";

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

mod anonymous_call;
mod anonymous_irq_work;
mod clock_distrusted;
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
mod kernel_thread_migration;
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
mod workqueue_refresh_vm_stats;
mod workqueue_update_pages_handler;
mod workqueue_vmstat_update;
mod workqueue_wb_workfn;

use crate::CauseId;
use crate::case::{Case, Finding};
use dyntick_model::KernelVersion;
use std::borrow::Cow;

/// One cause, in words, and what removes it.
#[derive(Debug)]
pub struct Rule {
    /// `class` or `class:member`, as in [`CauseId`].
    pub id: &'static str,
    /// What happened: the kernel's term first, then plain English.
    pub title: &'static str,
    /// How it comes about, in two or three sentences.
    pub explanation: &'static str,
    /// What removes it or makes it rarer, the most effective first. Empty where nothing does.
    pub fixes: &'static [Fix],
    /// The kernels that have this cause.
    pub versions: Versions,
    /// The kernel's file and function behind it.
    pub source: &'static str,
    /// Whether it names the origin. If not, its interruptions count as unattributed.
    pub names_origin: bool,
    /// Tells whether an interruption has this cause. A rule for a single function has none: it is
    /// found by its name.
    pub(crate) detect: Option<fn(&Case<'_>) -> Option<Finding>>,
}

/// One way to remove a cause.
#[derive(Debug)]
pub struct Fix {
    /// The exact setting.
    pub setting: Setting,
    /// What it does and costs.
    pub effect: &'static str,
    /// The kernels on which it helps.
    pub versions: Versions,
}

/// A change that a user can make. `N` stands for the CPU, upper-case words for what only the user
/// can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A parameter of the kernel's command line; takes a reboot.
    Boot(&'static str),
    /// `sysctl -w` of this.
    Sysctl(&'static str),
    /// A shell command, as root.
    Command(&'static str),
    /// A change of the program that runs.
    Program(&'static str),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Boot(parameter) => write!(f, "boot with {parameter}"),
            Setting::Sysctl(setting) => write!(f, "sysctl -w {setting}"),
            Setting::Command(command) => f.write_str(command),
            Setting::Program(change) => f.write_str(change),
        }
    }
}

/// A range of kernels, `(major, minor)` at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The first that is in it; `None` for all from 6.1, the oldest that is supported.
    pub since: Option<(u32, u32)>,
    /// The first that is no longer in it.
    pub until: Option<(u32, u32)>,
}

impl Versions {
    /// Every kernel.
    pub const ALL: Self = Self { since: None, until: None };

    /// From this kernel on.
    pub const fn since(major: u32, minor: u32) -> Self {
        Self { since: Some((major, minor)), until: None }
    }

    /// Before this kernel.
    pub const fn before(major: u32, minor: u32) -> Self {
        Self { since: None, until: Some((major, minor)) }
    }

    /// From a kernel on until another that no longer has it.
    pub const fn between(since: (u32, u32), until: (u32, u32)) -> Self {
        Self { since: Some(since), until: Some(until) }
    }

    /// Whether a kernel is in the range.
    pub fn contains(self, kernel: &KernelVersion) -> bool {
        let kernel = (kernel.major, kernel.minor);
        self.since.is_none_or(|since| kernel >= since) && self.until.is_none_or(|until| kernel < until)
    }
}

impl Fix {
    /// What it does and costs, and where no guest has shown it, that it was not tried. Words cannot be tried as
    /// they stand.
    pub fn told(&self) -> Cow<'static, str> {
        match self.setting {
            Setting::Program(_) if !self.effect.contains(UNTRIED) => {
                format!("{} {UNTRIED}: no command does it.", self.effect).into()
            }
            _ => self.effect.into(),
        }
    }
}

impl Rule {
    /// The fixes that help on one kernel.
    pub fn fixes_for(&self, kernel: &KernelVersion) -> impl Iterator<Item = &'static Fix> {
        self.fixes.iter().filter(|fix| fix.versions.contains(kernel))
    }
}

/// The table of all rules. Of those that detect a case the first one wins, so the order counts:
/// what is certain and what lies deeper in the chain of causation stands above.
static RULES: &[&Rule] = &[
    &remote_timer::RULE,
    &not_adaptive::RULE,
    &timekeeper::RULE,
    &idle_not_stopped::RULE,
    &fair_server::RULE,
    &workqueue::RULE,
    &function_call::RULE,
    &dependency_posix_timer::RULE,
    &dependency_perf::RULE,
    &dependency_clock_unstable::RULE,
    &dependency_rcu::RULE,
    &dependency_rcu_exp::RULE,
    &softirq::RULE,
    &kernel_thread::RULE,
    &dependency_deadline::RULE,
    &dependency_sched_ext::RULE,
    &cpu_quota::RULE,
    &dependency_sched::RULE,
    &wakeup::RULE,
    &timer::RULE,
    &until_first_check::RULE,
    &hrtimer::RULE,
    &wheel_empty::RULE,
    &empty_timer::RULE,
    &signal::RULE,
    &nmi::RULE,
    &irq_work::RULE,
    &ipi::RULE,
    &anonymous_call::RULE,
    &anonymous_irq_work::RULE,
    &other_task::RULE,
    &device::RULE,
    &page_fault::RULE,
    &vector::RULE,
    // Found by their names; in alphabetical order.
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
    &kernel_thread_migration::RULE,
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
    &workqueue_refresh_vm_stats::RULE,
    &workqueue_update_pages_handler::RULE,
    &workqueue_vmstat_update::RULE,
    &workqueue_wb_workfn::RULE,
    // Known from counters and not from events.
    &clock_distrusted::RULE,
    &hypervisor_steal::RULE,
    &smi::RULE,
    &unknown::RULE,
];

/// All rules.
pub fn all() -> &'static [&'static Rule] {
    RULES
}

/// The rule of a cause: its own, else that of its class, else `unknown`.
pub fn get(cause: &CauseId) -> &'static Rule {
    let find = |id: &str| RULES.iter().copied().find(|rule| rule.id == id);
    find(cause.as_str()).or_else(|| find(cause.class_name())).unwrap_or(&unknown::RULE)
}

/// A cause in a few words. Where the rule is one for a whole class the member is named behind.
pub fn title(cause: &CauseId) -> String {
    let rule = get(cause);
    match cause.as_str().split_once(':').filter(|_| rule.id != cause.as_str()) {
        Some((_, member)) => format!("{}: {member}", rule.title),
        None => rule.title.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_rule_has_its_own_id() {
        let ids: BTreeSet<&str> = all().iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), all().len());
    }

    /// A rule that detects nothing must be found by its name, so its class must be one that some
    /// other rule gives to what it detects.
    #[test]
    fn rules_for_one_function_belong_to_a_class() {
        for rule in all().iter().filter(|rule| rule.detect.is_none() && rule.id.contains(':')) {
            let class = rule.id.split_once(':').map(|(class, _)| class);
            let class = all().iter().find(|other| Some(other.id) == class);
            assert!(class.is_some_and(|class| class.detect.is_some()), "{}", rule.id);
        }
    }

    #[test]
    fn the_most_special_rule_answers() {
        let id = |class: &str, member: &str| get(&CauseId::member(class, member)).id;
        assert_eq!(id("workqueue", "vmstat_update"), "workqueue:vmstat_update");
        assert_eq!(id("workqueue", "something_new"), "workqueue");
        assert_eq!(id("nobody", "knows"), "unknown");
    }

    #[test]
    fn fixes_depend_on_the_kernel() {
        let settings = |kernel: &str| {
            let kernel = kernel.parse().unwrap();
            let rule = get(&CauseId::member("workqueue", "vmstat_update"));
            rule.fixes_for(&kernel).map(|fix| fix.setting).collect::<Vec<_>>()
        };
        let isolated = Setting::Boot("isolcpus=domain,N");
        assert!(settings("6.12.95").contains(&isolated));
        assert!(!settings("6.1.0-56").contains(&isolated));
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
