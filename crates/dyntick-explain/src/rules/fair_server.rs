// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{Arrived, CauseId, Kind, Step};
use dyntick_model::Role;

pub(super) static RULE: Rule = Rule {
    id: "fair-server",
    title: "Fair server (deadline server for normal tasks) fired",
    explanation: "From 6.12 on, each CPU has a deadline server that guarantees normal tasks 50 ms of every \
        second when real-time tasks would starve them; from 7.0 on the tasks of a BPF scheduler have one, \
        too (ext_server). A CPU without a tick does not charge it, so about once a second its timer \
        (dl_task_timer, often on another CPU) enqueues it. It counts as a second runnable task: the CPU is \
        interrupted, and its tick runs until the server has been charged, then stops again. By its source, \
        6.19 charges the task that runs before it enqueues the server (dl_server_timer); on 7.2, which was \
        measured, the timer still fires, but does not disturb the CPU.",
    fixes: &[
        RuleFix::command(
            "dyntick isolate -C {quiet} -- COMMAND",
            "Turns the server of this CPU off while the command runs, and does so while a task runs there: \
                6.12 accounts wrongly when the runtime of the server is written on an idle CPU. Real-time \
                tasks that never sleep can then starve normal ones on it, kernel threads included.",
        )
        .on(Versions::between((6, 12), (7, 2))),
        RuleFix::command("chrt -f 1 COMMAND", "A real-time task alone on the CPU does not start the server.")
            .on(Versions::between((6, 12), (7, 2))),
    ],
    versions: Versions::since(6, 12),
    source: "kernel/sched/deadline.c: dl_server_timer; kernel/sched/fair.c: fair_server_init",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if matches!(case.arrival(), Some(Arrival::FairServer)) {
        let or_ext = case.context.known.bpf_scheduler && case.context.at_least(7, 0);
        let chain = [Step::FairServerEnqueued { or_ext }, case.effect(Arrived::FairServer)];
        return Finding::new(CauseId::of(&RULE), chain);
    }
    let local = *case.kind == Kind::Hrtimer
        && case.context.at_least(6, 12)
        && case.shows_wakeups()
        && case.facts.woken.is_none()
        && case.facts.newcomers.is_empty()
        && case.facts.hrtimers.iter().all(|timer| Role::of(&timer.function) == Some(Role::DeadlineTimer));
    if !local {
        return None;
    }
    Finding::new(CauseId::of(&RULE), [Step::DeadlineServerTimer { cpu: case.cpu() }])
}
