// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};
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
        RuleFix {
            action: Fix::Boot("rcupdate.rcu_normal=1"),
            effect: not_tried!(
                "Expedited grace periods become normal ones: slower for the caller, but less urgent for \
                this CPU."
            ),
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Command("echo 1 > /sys/kernel/rcu_normal"),
            effect: not_tried!("The same at run time."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/rcu/tree_exp.h: synchronize_rcu_expedited_wait",
    names_origin: true,
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if case.dependency() != Some(TickDependency::RcuExp) || case.idle() {
        return None;
    }
    let kept = Step::KeptForExpeditedRcu { task: case.kept_by().clone(), cpu: case.cpu() };
    Finding::new(CauseId::of(&RULE), [kept])
}
