// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::CauseId;
use crate::case::{Case, Finding};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-posix-timer",
    title: "Tick dependency POSIX_TIMER: CPU-time timer or RLIMIT_CPU",
    explanation: "A task has armed a timer on its CPU time: timer_create on a CPU-time clock, \
        setitimer(ITIMER_PROF or ITIMER_VIRTUAL), or a limit on CPU time (ulimit -t). The kernel \
        checks these in the tick, so it keeps it while the task runs.",
    fixes: &[
        Fix {
            setting: Setting::Program("start the program without a limit on CPU time (ulimit -t unlimited)"),
            effect: "A limit keeps the tick even when it is far off, and removing it later does not disarm \
                its timer.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "use CLOCK_MONOTONIC timers instead of CPU-time timers and gprof-style profiling",
            ),
            effect: "They are hrtimers and need no tick.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/time/posix-cpu-timers.c: arm_timer",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let applies = case.dependency() == Some(TickDependency::PosixTimer) && !case.idle();
    let task = case.kept_by();
    let known = case.context.known.cpu_timers.get(&task.pid).cloned();
    let armed = known.or_else(|| case.log.itimer(task.pid).map(|which| format!("{which} by setitimer")));
    let what = armed.unwrap_or_else(|| "a CPU-time timer or limit".to_owned());
    let chain =
        [format!("{task} has armed {what}"), format!("the tick of {} is kept to check it", case.cpu())];
    applies.then(|| Finding::new(CauseId::class("dependency-posix-timer"), chain)).flatten()
}
