// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-rcu-exp",
    title: "Tick dependency RCU_EXP: an expedited grace period waited for this CPU",
    explanation: "An expedited grace period was requested: by a change of mounts, the removal of network \
        devices and namespaces (with containers) or of disks, or through /sys/kernel/rcu_expedited. A CPU \
        that has not reported a quiescent state after one tick period gets its tick until it does.",
    fixes: &[
        Fix {
            setting: Setting::Boot("rcupdate.rcu_normal=1"),
            effect: not_tried!(
                "Expedited grace periods become normal ones: slower for the caller, but less urgent for \
                this CPU."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Command("echo 1 > /sys/kernel/rcu_normal"),
            effect: not_tried!("The same at run time."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/rcu/tree_exp.h: synchronize_rcu_expedited_wait",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let applies = case.dependency() == Some(TickDependency::RcuExp) && !case.idle();
    let chain = [format!(
        "an expedited grace period still waits for {}; the tick of {} is kept until it reports",
        case.kept_by(),
        case.cpu()
    )];
    applies.then(|| Finding::new(CauseId::class("dependency-rcu-exp"), chain)).flatten()
}
