// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Arrival, Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "fair-server",
    title: "Fair server (deadline server for normal tasks) fired",
    explanation: "From 6.12 on, each CPU has a deadline server that guarantees normal tasks 50 ms of every \
        second when real-time tasks would starve them. A CPU without a tick does not charge it, so about \
        once a second its timer (dl_task_timer, often on another CPU) enqueues it. It counts as a second \
        runnable task: the CPU is interrupted, and its tick runs until the server has been charged, then \
        stops again. In 7.2 the timer still fires, but no longer disturbs the CPU.",
    fixes: &[
        Fix {
            setting: Setting::Command("dyntick isolate -C N -- COMMAND"),
            effect: "Turns the server of this CPU off while the command runs, and does so while a task runs \
                there: 6.12 accounts wrongly when the runtime of the server is written on an idle CPU. \
                Real-time tasks that never sleep can then starve normal ones on it, kernel threads \
                included.",
            versions: Versions::since(6, 12),
        },
        Fix {
            setting: Setting::Command("chrt -f 1 COMMAND"),
            effect: "A real-time task alone on the CPU does not start the server.",
            versions: Versions::since(6, 12),
        },
    ],
    versions: Versions::since(6, 12),
    source: "kernel/sched/deadline.c: dl_server_timer; kernel/sched/fair.c: fair_server_init",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let local = *case.kind == Kind::Hrtimer
        && case.context.at_least(6, 12)
        && case.facts.woken.is_empty()
        && case.facts.newcomers.is_empty()
        && case.facts.hrtimers.iter().all(|timer| &*timer.function == "dl_task_timer");
    let arrived = matches!(case.arrival(), Some(Arrival::FairServer));
    let chain = match local {
        true => vec![format!("dl_task_timer of a deadline server expired on {}", case.cpu())],
        false => vec![
            "dl_task_timer enqueued the deadline server of the fair class".to_owned(),
            case.effect("the server as a second runnable entity"),
        ],
    };
    (local || arrived).then(|| Finding::new(CauseId::class("fair-server"), chain)).flatten()
}
