// SPDX-License-Identifier: GPL-2.0-only
//! The activity of a CPU at each moment, from its events.

use super::Question;
use crate::CauseId;
use crate::rules::named::*;
use crate::throttles::Throttles;
use dyntick_model::{Event, EventKind, Interrupt, Map, Softirq, Symbol};

/// The progress of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The thread has not been woken.
    Asleep,
    /// It waits for the CPU.
    Woken,
    /// It waits, and the scheduler has given the CPU to another task.
    PassedOver,
    /// It has the CPU.
    Running,
}

/// The activity of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// No event has shown it yet.
    Unseen,
    Nmi,
    /// The kernel gives the CPU to the woken thread.
    Switch,
    /// Anything, while the control group of the woken thread had used up its CPU quota there.
    Throttled,
    In(Frame),
    Idle(Option<u32>),
    Task(i32),
    Work(i32, Symbol),
}

/// An interrupt or softirq that runs on top of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub kind: FrameKind,
    pub since: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Vector(Interrupt),
    Irq(u32, Symbol),
    Softirq(Softirq),
    Hrtimer(Symbol),
    Timer(Symbol),
    Call(Symbol),
}

impl Frame {
    pub fn text(&self) -> String {
        match &self.kind {
            FrameKind::Vector(vector) => match vector {
                Interrupt::Timer => "timer interrupt".to_owned(),
                Interrupt::Reschedule => "reschedule interrupt".to_owned(),
                Interrupt::FunctionCall | Interrupt::FunctionCallSingle => {
                    "function-call interrupt".to_owned()
                }
                Interrupt::IrqWork => "irq_work interrupt".to_owned(),
                Interrupt::Thermal => "thermal interrupt".to_owned(),
                Interrupt::Threshold => "threshold APIC interrupt".to_owned(),
                Interrupt::DeferredError => "deferred error APIC interrupt".to_owned(),
                Interrupt::Controller => "local APIC error interrupt".to_owned(),
                Interrupt::Spurious => "spurious interrupt".to_owned(),
                Interrupt::Platform => "platform interrupt".to_owned(),
                Interrupt::Other => "interrupt".to_owned(),
            },
            FrameKind::Irq(irq, name) => format!("interrupt {irq} ({name})"),
            FrameKind::Softirq(softirq) => format!("softirq {}", softirq.kernel_name()),
            FrameKind::Hrtimer(function) => format!("timer interrupt: {function}"),
            FrameKind::Timer(function) => format!("softirq TIMER: {function}"),
            FrameKind::Call(function) => format!("function call: {function}"),
        }
    }

    /// Returns true for an interrupt in which all work has events: without them it only begins or ends.
    pub fn is_way(&self) -> bool {
        matches!(self.kind, FrameKind::Vector(Interrupt::Timer | Interrupt::Reschedule))
    }

    /// The cause, if no interruption has one.
    pub fn cause(&self) -> CauseId {
        match &self.kind {
            FrameKind::Vector(_) => CauseId::of(VECTOR),
            FrameKind::Irq(_, name) => CauseId::member(DEVICE, name.clone()),
            FrameKind::Softirq(softirq) => CauseId::member(SOFTIRQ, softirq.kernel_name()),
            FrameKind::Hrtimer(function) => CauseId::member(HRTIMER, function.clone()),
            FrameKind::Timer(function) => CauseId::member(TIMER, function.clone()),
            FrameKind::Call(function) => CauseId::member(FUNCTION_CALL, function.clone()),
        }
    }
}

/// The time from the begin of an NMI to this event at its end, ns.
pub(super) fn nmi_before(event: &Event) -> u64 {
    match event.kind {
        EventKind::Nmi { duration_ns, .. } => duration_ns,
        _ => 0,
    }
}

/// The state of one CPU.
pub(super) struct Scan<'a> {
    cpu: u32,
    limits: &'a [u64],
    throttles: Throttles,
    tid: i32,
    due_ns: u64,
    pub phase: Phase,
    task: Option<i32>,
    idle: Option<u32>,
    frames: Vec<Frame>,
    works: Map<i32, Symbol>,
}

impl<'a> Scan<'a> {
    pub fn new(question: &Question<'a>) -> Self {
        let Question { cpu, tid, due_ns, limits, throttles_threads, .. } = *question;
        let (frames, works, throttles) = (Vec::new(), Map::default(), Throttles::new(throttles_threads));
        let (phase, task, idle) = (Phase::Asleep, None, None);
        Self { cpu, limits, throttles, tid, due_ns, phase, task, idle, frames, works }
    }

    /// The begins of the open entries when the thread was woken on this CPU: of the timer interrupt that is part of
    /// every wake-up.
    pub fn waking(question: &Question<'a>) -> Vec<u64> {
        let mut scan = Self::new(question);
        for event in question.events.iter().take_while(|event| event.ts < question.woke_ns) {
            scan.take(event);
            if scan.phase == Phase::Woken && event.cpu == question.cpu {
                return scan.frames.iter().map(|frame| frame.since).collect();
            }
            if scan.phase != Phase::Asleep {
                break;
            }
        }
        Vec::new()
    }

    /// The time for which the kernel set the thread's timer, if that is after the due time: the last timer that the
    /// thread set before.
    pub fn expires(question: &Question<'_>) -> Option<u64> {
        let set = question.events.iter().take_while(|event| event.ts < question.due_ns).filter_map(|event| {
            let EventKind::HrtimerStart { function, expires, soft, .. } = &event.kind else { return None };
            (event.pid == question.tid && &**function == "hrtimer_wakeup").then_some((*expires, *soft))
        });
        let (expires, soft) = set.last()?;
        let (expires, soft) = (u64::try_from(expires).ok()?, u64::try_from(soft).ok()?);
        // It may expire before, in the interrupt of another timer; one whose time had not come did not wake the thread.
        (soft < question.woke_ns && question.due_ns < expires).then_some(expires)
    }

    pub fn doing(&self) -> Doing {
        let waits = matches!(self.phase, Phase::Woken | Phase::PassedOver);
        if waits && self.throttles.of(self.cpu, self.limits, self.tid).is_some() {
            return Doing::Throttled;
        }
        if let Some(frame) = self.frames.last() {
            return Doing::In(frame.clone());
        }
        match self.task {
            None => Doing::Unseen,
            Some(0) => Doing::Idle(self.idle),
            Some(pid) => match self.works.get(&pid) {
                Some(function) => Doing::Work(pid, function.clone()),
                None => Doing::Task(pid),
            },
        }
    }

    /// Returns true if this event switches from a task that is not interrupted to the thread.
    pub fn is_switch(&self, event: &Event) -> bool {
        let to_it = matches!(event.kind, EventKind::SchedSwitch { next, .. } if next == self.tid);
        let waits = matches!(self.phase, Phase::Woken | Phase::PassedOver);
        to_it && waits && self.frames.is_empty()
    }

    /// Returns true if an event of any CPU wakes the thread.
    pub fn wakes(&self, event: &Event) -> bool {
        let wakes = match &event.kind {
            EventKind::SchedWaking { pid, .. } | EventKind::SchedWakeup { pid, .. } => *pid == self.tid,
            _ => false,
        };
        wakes && event.ts >= self.due_ns && self.phase == Phase::Asleep
    }

    /// Returns true if an event of any CPU throttles a group here, or ends that.
    pub fn is_throttled_by(&self, event: &Event) -> bool {
        self.throttles.changes(event) == Some(self.cpu)
    }

    /// Applies an event of any CPU.
    pub fn take(&mut self, event: &Event) {
        use EventKind::*;
        if self.wakes(event) {
            self.phase = Phase::Woken;
        }
        self.throttles.event(event);
        if event.cpu != self.cpu {
            return;
        }
        self.task = Some(event.pid);
        match &event.kind {
            InterruptEntry { source: vector } => self.enter(event.ts, FrameKind::Vector(*vector)),
            IrqEntry { irq, name } => self.enter(event.ts, FrameKind::Irq(*irq, name.clone())),
            SoftirqEntry { softirq } => self.enter(event.ts, FrameKind::Softirq(*softirq)),
            HrtimerEntry { function, .. } => self.enter(event.ts, FrameKind::Hrtimer(function.clone())),
            TimerEntry { function, .. } => self.enter(event.ts, FrameKind::Timer(function.clone())),
            CsdEntry { function } => self.enter(event.ts, FrameKind::Call(function.clone())),
            InterruptExit { .. } => self.leave(|kind| matches!(kind, FrameKind::Vector(_))),
            IrqExit { .. } => self.leave(|kind| matches!(kind, FrameKind::Irq(..))),
            SoftirqExit { .. } => self.leave(|kind| matches!(kind, FrameKind::Softirq(_))),
            HrtimerExit { .. } => self.leave(|kind| matches!(kind, FrameKind::Hrtimer(_))),
            TimerExit { .. } => self.leave(|kind| matches!(kind, FrameKind::Timer(_))),
            CsdExit { .. } => self.leave(|kind| matches!(kind, FrameKind::Call(_))),
            WorkStart { function, .. } => _ = self.works.insert(event.pid, function.clone()),
            WorkEnd { .. } => _ = self.works.remove(&event.pid),
            CpuIdle { state } => self.idle = *state,
            SchedSwitch { prev, next, .. } => self.switch(event.ts, *prev, *next),
            _ => {}
        }
    }

    fn switch(&mut self, ts: u64, prev: i32, next: i32) {
        self.frames.clear();
        self.task = Some(next);
        self.phase = match self.phase {
            _ if next == self.tid && ts >= self.due_ns => Phase::Running,
            Phase::Woken if next != 0 => Phase::PassedOver,
            Phase::Running if prev == self.tid => Phase::PassedOver,
            other => other,
        };
    }

    fn enter(&mut self, since: u64, kind: FrameKind) {
        self.frames.push(Frame { kind, since });
    }

    /// Ends the innermost entry of that kind, and the entries that were left open within it.
    fn leave(&mut self, kind: impl Fn(&FrameKind) -> bool) {
        if let Some(place) = self.frames.iter().rposition(|frame| kind(&frame.kind)) {
            self.frames.truncate(place);
        }
    }
}
