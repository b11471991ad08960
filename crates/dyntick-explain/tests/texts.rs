// SPDX-License-Identifier: GPL-2.0-only
//! What some rules must say, or must not, whatever the wording: each was once said wrongly.

use dyntick_explain::CauseId;
use dyntick_explain::rules::{self, Rule, Setting};

fn rule(id: &str) -> &'static Rule {
    let found = rules::all().iter().copied().find(|rule| rule.id == id);
    found.unwrap_or_else(|| panic!("no rule {id}"))
}

/// Everything that a rule says.
fn text(id: &str) -> String {
    let rule = rule(id);
    let fixes = rule.fixes.iter().map(|fix| format!("{} {}", fix.setting, fix.effect));
    [rule.title.to_owned(), rule.explanation.to_owned()]
        .into_iter()
        .chain(fixes)
        .collect::<Vec<_>>()
        .join(" ")
}

fn settings(id: &str, kernel: &str) -> Vec<Setting> {
    rule(id).fixes_for(&kernel.parse().unwrap()).map(|fix| fix.setting).collect()
}

#[test]
fn several_fifo_tasks_need_no_tick() {
    assert!(text("dependency-sched").contains("SCHED_FIFO tasks, however many"));
}

#[test]
fn a_membarrier_may_be_of_another_program() {
    assert!(!rule("function-call:ipi_mb").title.contains("same program"));
    assert!(text("function-call:ipi_mb").contains("MEMBARRIER_CMD_GLOBAL_EXPEDITED"));
    assert!(text("function-call:ipi_rseq").contains("RSEQ"));
}

/// User mode is an answer to RCU only where context is tracked.
#[test]
fn an_isolated_cpu_without_nohz_full_is_asked_by_rcu_in_user_mode_too() {
    assert_eq!(settings("function-call:rcu_exp_handler", "6.12.117")[0], Setting::Boot("nohz_full=N"));
}

#[test]
fn what_has_a_rule_is_found_by_its_name() {
    let found = |class: &str, member: &str| rules::get(&CauseId::member(class, member)).id.to_owned();
    assert_eq!(found("function-call", "ipi_rseq"), "function-call:ipi_rseq");
}
