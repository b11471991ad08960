// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Step};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-rcu-exp",
    title: "Tick dependency RCU_EXP: an expedited grace period waited for this CPU",
    explanation: "An expedited grace period was requested: by a change of mounts, the removal of network \
        devices and namespaces (with containers) or of disks, or through /sys/kernel/rcu_expedited. A CPU \
        that has not reported a quiescent state after one tick period gets its tick until it does.",
    fixes: &[
        RuleFix::boot(
            "rcupdate.rcu_normal=1",
            not_tried!(
                "Expedited grace periods become normal ones: slower for the caller, but less urgent for this \
                    CPU."
            ),
        ),
        RuleFix::command("echo 1 > /sys/kernel/rcu_normal", not_tried!("The same at run time.")),
    ],
    source: "kernel/rcu/tree_exp.h: synchronize_rcu_expedited_wait",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if case.dependency() != Some(TickDependency::RcuExp) || case.idle() {
        return None;
    }
    let kept = Step::KeptForExpeditedRcu { task: case.kept_by().clone(), cpu: case.cpu() };
    Finding::new(CauseId::of(&RULE), [kept])
}
