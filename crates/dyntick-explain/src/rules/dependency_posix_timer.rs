// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, CpuTimer, Step};
use dyntick_model::TickDependency;

pub(super) static RULE: Rule = Rule {
    id: "dependency-posix-timer",
    title: "Tick dependency POSIX_TIMER: CPU-time timer or RLIMIT_CPU",
    explanation: "A task has armed a timer on its CPU time: timer_create on a CPU-time clock, \
        setitimer(ITIMER_PROF or ITIMER_VIRTUAL), or a limit on CPU time (ulimit -t). The kernel checks \
        these in the tick, so it keeps it while the task runs.",
    fixes: &[
        RuleFix::advice(
            "start the program without a limit on CPU time (ulimit -t unlimited)",
            "A limit keeps the tick even when it is far off, and removing it later does not disarm its \
                timer.",
        ),
        RuleFix::advice(
            "use CLOCK_MONOTONIC timers instead of CPU-time timers and gprof-style profiling",
            "They are hrtimers and need no tick.",
        ),
    ],
    source: "kernel/time/posix-cpu-timers.c: arm_timer",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if case.dependency() != Some(TickDependency::PosixTimer) || case.idle() {
        return None;
    }
    let task = case.kept_by().clone();
    let known = case.context.known.cpu_timers.get(&task.pid).cloned().map(CpuTimer::Known);
    let armed = known.or_else(|| case.log.itimer(task.pid).map(CpuTimer::Interval));
    let timer = armed.unwrap_or(CpuTimer::Unknown);
    Finding::new(
        CauseId::of(&RULE),
        [Step::ArmedCpuTimer { task, timer }, Step::KeptToCheck { cpu: case.cpu() }],
    )
}
