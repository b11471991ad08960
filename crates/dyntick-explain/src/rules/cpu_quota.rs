// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Step};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "cpu-quota",
    title: "CFS bandwidth control: the CPU quota of the task is checked in the tick",
    explanation: "The control group of the task may use only a limited CPU time in each period (cpu.max, in v1 \
        cpu.cfs_quota_us; containers with a CPU limit have it). The scheduler has to notice when the quota is used up, so from \
        6.6 on it keeps the tick even for a task that is alone.",
    fixes: &[RuleFix::command(
        "echo {quota}",
        "Removes the limit; in Kubernetes a container with exclusive CPUs (static CPU manager, no CPU limit) \
            needs none.",
    )],
    versions: Versions::since(6, 6),
    source: "kernel/sched/core.c: sched_can_stop_tick, __need_bw_check; kernel/sched/fair.c: \
        sched_fair_update_stop_tick",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if case.dependency() != Some(TickDependency::Sched) {
        return None;
    }
    let kept = case.facts.kept.as_ref().filter(|kept| case.is_alone(kept))?;
    let quota = case.context.known.quotas.get(&kept.current.pid)?.clone();
    let task = kept.current.clone();
    Finding::new(CauseId::of(&RULE), [Step::HasQuota { task, quota }, Step::KeptToCheck { cpu: case.cpu() }])
}
