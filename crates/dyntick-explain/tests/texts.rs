// SPDX-License-Identifier: GPL-2.0-only
//! Facts that some rules must state, or must not, whatever the wording: each was once wrong.

use dyntick_explain::CauseId;
use dyntick_explain::rules::{self, Rule};
use dyntick_model::{Fix, Template};

fn rule(id: &str) -> &'static Rule {
    let found = rules::all().iter().copied().find(|rule| rule.id == id);
    found.unwrap_or_else(|| panic!("no rule {id}"))
}

/// The complete text of a rule.
fn text(id: &str) -> String {
    let rule = rule(id);
    let fixes = rule.fixes.iter().map(|fix| format!("{} {}", fix.action.unfilled(), fix.effect));
    [rule.title.to_owned(), rule.explanation.to_owned()]
        .into_iter()
        .chain(fixes)
        .collect::<Vec<_>>()
        .join(" ")
}

fn settings(id: &str, kernel: &str) -> Vec<Template> {
    rule(id).fixes_for(&kernel.parse().unwrap()).map(|fix| fix.action).collect()
}

#[test]
fn several_fifo_tasks_need_no_tick() {
    assert!(text("dependency-sched").contains("SCHED_FIFO tasks, however many"));
}

#[test]
fn membarrier_may_come_from_another_program() {
    assert!(!rule("function-call:ipi_mb").title.contains("same program"));
    assert!(text("function-call:ipi_mb").contains("MEMBARRIER_CMD_GLOBAL_EXPEDITED"));
    assert!(text("function-call:ipi_rseq").contains("RSEQ"));
}

/// User mode counts as a quiescent state only with context tracking.
#[test]
fn rcu_interrupts_user_mode_of_isolated_cpus_without_nohz_full() {
    assert_eq!(settings("function-call:rcu_exp_handler", "6.12.117")[0], Fix::Boot("nohz_full={quiet}"));
}

#[test]
fn members_with_a_rule_are_found_by_name() {
    let found = |class: &str, member: &str| rules::get(&CauseId::member(rule(class), member)).id.to_owned();
    for (class, members) in [
        (
            "function-call",
            &[
                "ipi_rseq",
                "invalidate_bh_lru",
                "__blk_mq_complete_request_remote",
                "watchdog_check_skew_remote",
            ][..],
        ),
        (
            "workqueue",
            &[
                "flush_cpu_slab",
                "drain_local_stock",
                "flush_backlog",
                "mbm_handle_overflow",
                "cqm_handle_limbo",
            ],
        ),
        ("hrtimer", &["uncore_pmu_hrtimer", "rapl_hrtimer_handle"]),
    ] {
        for member in members {
            assert_eq!(found(class, member), format!("{class}:{member}"));
            assert!(!rule(&format!("{class}:{member}")).fixes.is_empty(), "{member}");
        }
    }
    assert!(text("kernel-thread:migration").contains("multi_cpu_stop"));
}

/// Firmware, resctrl, uncore counters: no guest can show these fixes.
#[test]
fn fixes_that_no_guest_can_show_are_marked_as_untried() {
    let real =
        ["smi", "hrtimer:uncore_pmu_hrtimer", "hrtimer:rapl_hrtimer_handle", "workqueue:mbm_handle_overflow"];
    for id in real {
        assert!(rule(id).fixes.iter().all(|fix| fix.effect.contains("Not tried here")), "{id}");
    }
}

#[test]
fn quota_keeps_the_tick_from_6_6_on() {
    let has = |kernel: &str| rule("cpu-quota").versions.contains(&kernel.parse().unwrap());
    assert!(!has("6.5.13") && has("6.6.1"));
}

#[test]
fn single_look_at_the_log_is_no_waiting_reader() {
    let settings = settings("irq-work:wake_up_klogd_work_func", "6.12.117");
    assert!(settings.iter().all(|setting| matches!(setting, Fix::Advice(_))), "{settings:?}");
    assert!(text("irq-work:wake_up_klogd_work_func").contains("not with --follow"));
}

#[test]
fn unexpected_ways_are_explained() {
    assert!(text("function-call:__rdmsr_safe_on_cpu").contains("other-task:turbostat"));
    assert!(text("timer:clocksource_watchdog").contains("watchdog_check_skew_remote"));
    assert!(text("workqueue").contains("which no setting moves"));
    assert!(text("kernel-thread").contains("not by their affinity"));
    assert!(text("softirq:RCU").contains("rcuc/N"));
}
