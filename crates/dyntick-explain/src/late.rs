// SPDX-License-Identifier: GPL-2.0-only
//! The causes of a late wake-up. The time from its due time until the thread ran is divided by the activities of the
//! CPU. Pure.

mod scan;

use crate::rules::Rule;
use crate::rules::named::*;
use crate::waking::LONGEST_IDLE_EXIT_NS;
use crate::{CauseId, Chain, Interruption, Kind, Step, Task, names, rules};
use dyntick_model::{Event, EventKind, Symbol};
use scan::{Doing, Phase, Scan};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A late wake-up that is to be explained.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The CPU of the thread.
    pub cpu: u32,
    /// The thread.
    pub tid: i32,
    /// Its real-time priority; 0 under another policy.
    pub priority: u32,
    /// The time at which it was due, ns on the events' clock.
    pub due_ns: u64,
    /// The time at which it ran.
    pub woke_ns: u64,
    /// The events of all CPUs, in order of time.
    pub events: &'a [Event],
    /// The interruptions of the CPU meanwhile.
    pub interruptions: &'a [Interruption],
    /// The CPU's idle states: name and exit latency, us.
    pub idle_states: &'a [(String, u64)],
    /// The known facts of other threads.
    pub threads: &'a BTreeMap<i32, Other>,
    /// The control groups whose CPU quota limits the thread, by the numbers of their folders.
    pub limits: &'a [u64],
    /// True if the kernel is known not to throttle real-time tasks.
    pub no_real_time_limit: bool,
    /// True if the kernel throttles each thread ([`crate::throttles_threads`]).
    pub throttles_threads: bool,
}

/// Another thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// Its name.
    pub comm: Symbol,
    /// Its real-time priority; 0 under another policy.
    pub priority: u32,
}

/// The explanation of a late wake-up.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Story {
    /// The activities of the CPU, without gaps, from the due time to the wake-up.
    #[serde(rename = "steps")]
    pub spans: Vec<Span>,
    /// The same by cause, the longest first; the wake-up's own part is the last.
    pub causes: Vec<Share>,
}

/// One activity of the CPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Span {
    /// The begin, ns after the due time.
    pub at_ns: u64,
    /// The duration, ns.
    pub ns: u64,
    /// The name of the activity.
    pub text: String,
    /// The cause.
    pub cause: CauseId,
}

/// The share of one cause in the latency.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Share {
    /// The cause: its title and fixes are those of its rule.
    pub cause: CauseId,
    /// Its time, ns.
    pub ns: u64,
    /// The chain of causation, if events show it.
    pub chain: Chain,
    /// True if the cause names the use of the time; if not, it counts as unattributed.
    pub attributed: bool,
}

/// The longest time, ns, in which an interrupt or a switch on its way has no event. Beyond it nothing of the kernel
/// ran.
const LONGEST_STEP_NS: u64 = 200_000;

/// The same for an idle CPU whose state has no exit latency, ns.
const LONGEST_WAY_NS: u64 = 50_000;

/// The factor by which an idle state may take longer than the exit latency that the kernel knows.
const EXIT_MARGIN: u64 = 2;

/// The function of the timer at which throttled real-time tasks may run again (`kernel/sched/rt.c`).
const REAL_TIME_PERIOD: &str = "sched_rt_period_timer";

/// The longest time, ns, for which the interrupted task goes on before the switch to the woken thread that still counts
/// as part of the switch: the return from the interrupt and the scheduler.
const SWITCH_NS: u64 = 10_000;

impl Story {
    /// Explains a late wake-up; `None` if the CPU's events of that time were overwritten.
    pub fn of(question: &Question<'_>) -> Option<Self> {
        let mut scan = Scan::new(question);
        let waking = Scan::waking(question);
        let slack_until = Scan::expires(question);
        let (spans, chains) = (Vec::new(), BTreeMap::new());
        let mut story = Writer { question, waking, slack_until, spans, chains };
        let mut seen = false;
        let mut from = question.due_ns;
        for event in question.events.iter().take_while(|event| event.ts < question.woke_ns) {
            let to = event.ts.clamp(question.due_ns, question.woke_ns);
            if event.cpu == question.cpu || scan.wakes(event) || scan.is_throttled_by(event) {
                from = story.slack(from, to, &scan);
                seen |= event.ts >= question.due_ns;
                // An NMI, whose event comes at its end.
                let nmi = scan::nmi_before(event).min(to - from);
                if scan.is_switch(event) && to - from <= SWITCH_NS {
                    story.add(from, to, &Doing::Switch, scan.phase)
                } else {
                    story.add(from, to - nmi, &scan.doing(), scan.phase)
                }
                story.add(to - nmi, to, &Doing::Nmi, scan.phase);
                from = to;
            }
            scan.take(event);
        }
        from = story.slack(from, question.woke_ns, &scan);
        story.add(from, question.woke_ns, &scan.doing(), scan.phase);
        seen.then(|| story.end())
    }

    /// The cause with the largest share.
    pub fn top(&self) -> Option<&Share> {
        // Of equal ones the first, which is not the wake-up itself.
        self.causes.iter().rev().max_by_key(|share| share.ns)
    }

    /// The time of causes that do not name its use, ns.
    pub fn unattributed_ns(&self) -> u64 {
        self.causes.iter().filter(|share| !share.attributed).map(|share| share.ns).sum()
    }
}

struct Writer<'a> {
    question: &'a Question<'a>,
    /// The begin of the interruption that woke the thread.
    waking: Vec<u64>,
    /// The time for which the thread's timer was set, if that is after the due time.
    slack_until: Option<u64>,
    spans: Vec<Span>,
    chains: BTreeMap<CauseId, Chain>,
}

impl Writer<'_> {
    /// Adds the part of a time that is the timer slack: before the timer was to expire, without an interrupt. Returns
    /// the begin of the rest.
    fn slack(&mut self, from: u64, to: u64, scan: &Scan) -> u64 {
        let is_waiting =
            scan.phase == Phase::Asleep && matches!(scan.doing(), Doing::Idle(_) | Doing::Task(_));
        let until =
            self.slack_until.filter(|until| is_waiting && *until > from).map_or(from, |until| until.min(to));
        if until > from {
            let (at_ns, cause) = (from - self.question.due_ns, CauseId::of(LATE_SLACK));
            let text = "timer slack: the timer was set for later".to_owned();
            self.spans.push(Span { at_ns, ns: until - from, text, cause });
        }
        until
    }

    fn add(&mut self, from: u64, to: u64, doing: &Doing, phase: Phase) {
        if to <= from {
            return;
        }
        let mut text = self.text(doing, phase);
        let (cause, chain) = match self.nothing(from, to, doing, phase) {
            Some(rule) => {
                text.push_str(", and no event for so long");
                (CauseId::of(rule), Chain::default())
            }
            None => self.cause(from, doing, phase),
        };
        if !chain.is_empty() {
            self.chains.insert(cause.clone(), chain);
        }
        match self.spans.last_mut() {
            Some(last) if last.text == text && last.cause == cause => last.ns += to - from,
            _ => self.spans.push(Span { at_ns: from - self.question.due_ns, ns: to - from, text, cause }),
        }
    }

    /// The reason for a time without an event that is too long for this activity.
    fn nothing(&self, from: u64, to: u64, doing: &Doing, phase: Phase) -> Option<&'static Rule> {
        let longest_ns = match doing {
            Doing::Idle(state) => LONGEST_WAY_NS.max(self.exit_ns(*state) * EXIT_MARGIN),
            Doing::In(frame) if frame.is_way() => LONGEST_STEP_NS,
            _ => return None,
        };
        let ns = to - from;
        if ns <= longest_ns {
            return None;
        }
        let is_idle = matches!(doing, Doing::Idle(_));
        let is_held = is_idle && phase != Phase::Asleep && ns > LONGEST_IDLE_EXIT_NS;
        match self.question {
            Question { priority: 0, limits: [_, ..], .. } if is_held => Some(LATE_THROTTLED),
            Question { priority: 1.., no_real_time_limit: false, .. }
                if is_held && self.begins_period(from) =>
            {
                Some(LATE_REAL_TIME_LIMIT)
            }
            _ => Some(LATE_NOTHING),
        }
    }

    /// The exit latency of an idle state, as the kernel knows it, ns.
    fn exit_ns(&self, state: Option<u32>) -> u64 {
        let known = state.and_then(|state| self.question.idle_states.get(state as usize));
        known.map_or(0, |(_, us)| us * 1000)
    }

    /// True if a new period of the real-time tasks' share began after this time, before the thread ran.
    fn begins_period(&self, from: u64) -> bool {
        let meanwhile =
            self.question.events.iter().filter(|event| event.ts >= from && event.ts < self.question.woke_ns);
        meanwhile.map(|event| &event.kind).any(|kind| {
            matches!(kind, EventKind::HrtimerEntry { function, .. } if &**function == REAL_TIME_PERIOD)
        })
    }

    fn share(&self, cause: CauseId, ns: u64) -> Share {
        let chain = self.chains.get(&cause).cloned().unwrap_or_default();
        Share { attributed: rules::get(&cause).names_origin, chain, cause, ns }
    }

    fn end(self) -> Story {
        let mut sums: BTreeMap<CauseId, u64> = BTreeMap::new();
        self.spans.iter().for_each(|span| *sums.entry(span.cause.clone()).or_default() += span.ns);
        let mut causes: Vec<Share> = sums.into_iter().map(|(cause, ns)| self.share(cause, ns)).collect();
        causes.sort_by_key(|share| (is_path(&share.cause), std::cmp::Reverse(share.ns)));
        Story { spans: self.spans, causes }
    }

    fn task(&self, pid: i32) -> Task {
        let comm = self.question.threads.get(&pid).map(|other| other.comm.clone());
        Task { pid, comm: comm.unwrap_or_else(|| "?".into()) }
    }

    fn text(&self, doing: &Doing, phase: Phase) -> String {
        match doing {
            Doing::Unseen => "not in the trace".to_owned(),
            Doing::Switch => "switch to the thread".to_owned(),
            Doing::Throttled => "throttled: the CPU quota of its control group was used up".to_owned(),
            Doing::Nmi => "NMI".to_owned(),
            Doing::In(frame) if self.waking.contains(&frame.since) => {
                "timer interrupt: wakes the thread".to_owned()
            }
            Doing::In(frame) => frame.text(),
            Doing::Idle(_) if phase != Phase::Asleep => "idle exit, switch to the thread".to_owned(),
            Doing::Idle(state) => self.idle(*state),
            Doing::Task(pid) if *pid == self.question.tid => match phase {
                Phase::Asleep => "the thread itself, not yet asleep".to_owned(),
                _ => "back to the thread".to_owned(),
            },
            Doing::Task(pid) => match phase {
                Phase::Asleep => format!("{} ran, no interrupt taken", self.task(*pid)),
                _ => format!("{} ran", self.task(*pid)),
            },
            Doing::Work(pid, function) => format!("{} ran work item {function}", self.task(*pid)),
        }
    }

    fn idle(&self, state: Option<u32>) -> String {
        let known = state.and_then(|state| self.question.idle_states.get(state as usize));
        match (known, state) {
            (Some((name, us)), _) => format!("idle in {name} (exit latency {us} µs)"),
            (None, Some(state)) => format!("idle in state {state}"),
            (None, None) => "idle".to_owned(),
        }
    }

    fn cause(&self, from: u64, doing: &Doing, phase: Phase) -> (CauseId, Chain) {
        let own = |rule| (CauseId::of(rule), Chain::default());
        match doing {
            Doing::Unseen => own(LATE_UNSEEN),
            Doing::Switch => own(LATE_PATH),
            Doing::Throttled => own(LATE_THROTTLED),
            Doing::Nmi => own(NMI),
            Doing::In(frame) if self.waking.contains(&frame.since) => own(LATE_PATH),
            Doing::In(frame) => self
                .interruption(frame.since, |i| !is_turn(i))
                .unwrap_or_else(|| (frame.cause(), Chain::default())),
            Doing::Idle(_) if phase == Phase::Asleep => own(LATE_IDLE),
            Doing::Idle(_) => own(LATE_PATH),
            Doing::Task(pid) if *pid == self.question.tid => {
                own(if phase == Phase::Asleep { LATE_OWN } else { LATE_PATH })
            }
            Doing::Task(pid) | Doing::Work(pid, _) => self.cause_of_task(*pid, from, doing, phase),
        }
    }

    /// The cause for which another task had the CPU.
    fn cause_of_task(&self, pid: i32, from: u64, doing: &Doing, phase: Phase) -> (CauseId, Chain) {
        let preferred = self.question.threads.get(&pid);
        let above = preferred
            .is_some_and(|o| o.priority >= self.question.priority.max(1) || names::is_stopper(&o.comm));
        match phase {
            Phase::Asleep => (CauseId::of(LATE_INTERRUPTS_OFF), Chain::default()),
            Phase::Woken if !above && self.question.priority > 0 => {
                let chain = vec![Step::HadCpu { task: self.task(pid) }];
                (CauseId::of(LATE_PREEMPTION_OFF), chain.into())
            }
            // The cause of a worker or a kernel thread explains more than its higher priority.
            _ => self.interruption(from, is_kernels_turn).unwrap_or_else(|| {
                let (task, own) = (self.task(pid), self.question.priority);
                let first = match preferred.map_or(0, |other| other.priority) {
                    0 if own == 0 => Step::HadCpuOfEqual { task },
                    0 => Step::ScheduledFirst { task },
                    priority => Step::HasPriority { task, priority, own },
                };
                let cause = match (doing, preferred) {
                    (Doing::Work(_, function), _) => CauseId::member(WORKQUEUE, function.clone()),
                    (_, Some(other)) => CauseId::member(OTHER_TASK, other.comm.clone()),
                    _ => CauseId::of(OTHER_TASK),
                };
                (cause, vec![first].into())
            }),
        }
    }

    /// The innermost interruption of a kind that was open then.
    fn interruption(&self, at: u64, kind: impl Fn(&Interruption) -> bool) -> Option<(CauseId, Chain)> {
        let open = |i: &&Interruption| {
            i.cpu == self.question.cpu && i.start_ns <= at && at <= i.start_ns + i.duration_ns && kind(i)
        };
        let found = self.question.interruptions.iter().filter(open).max_by_key(|i| i.start_ns)?;
        Some((found.cause.clone(), found.chain.clone()))
    }
}

/// The cause of the part that every wake-up has.
fn is_path(cause: &CauseId) -> bool {
    *cause == CauseId::of(LATE_PATH)
}

fn is_turn(interruption: &Interruption) -> bool {
    is_kernels_turn(interruption) || matches!(interruption.kind, Kind::OtherTask | Kind::CommandTask)
}

fn is_kernels_turn(interruption: &Interruption) -> bool {
    matches!(interruption.kind, Kind::WorkItem | Kind::KernelThread)
}

#[cfg(test)]
mod tests;
