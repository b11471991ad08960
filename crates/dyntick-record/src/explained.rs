// SPDX-License-Identifier: GPL-2.0-only
//! From a record to the interruptions of its CPUs and their causes.

use crate::ledger::Subject;
use crate::others::Parents;
use crate::sums::Sums;
use crate::threads::{Followed, Following, Of, Selected};
use crate::timeline::Marks;
use crate::{About, Record, context};
use dyntick_explain::CommandThreads;
use dyntick_explain::ledger::{Ledger, ThreadAccount};
use dyntick_explain::{
    Context, Evidence, Explanation, Foreknown, Interruption, Kind, Stream, Summary, Survey, explain,
};
use dyntick_model::{CpuList, Event, EventKind};
use dyntick_trace::{DecodeError, Decoded};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// An explained record, from which findings are made.
#[derive(Debug)]
pub struct Explained<'a> {
    /// The facts of the record in addition to its trace.
    pub about: &'a About,
    /// The trace events that the kernel lacks.
    pub missing_events: &'a [String],
    /// The figures of each recorded CPU.
    pub per_cpu: Vec<Summary>,
    /// The times of the interruptions with their causes.
    pub marks: Marks,
    pub(crate) sums: Sums,
    pub(crate) parents: Parents,
    /// The threads of `--of`, if it is given. `sums` is then empty, and `marks` has only their interruptions.
    pub(crate) followed: Option<Followed>,
    /// The accounts of the threads of the command or of `--of`, and the number of threads without one.
    pub(crate) accounts: Option<(Vec<ThreadAccount>, u64)>,
    pub(crate) evidence: BTreeMap<u32, Vec<Evidence>>,
    /// The number of lost events by CPU, without zeros. Counts may then be too low, and a missing event may be the
    /// cause of another one.
    pub lost: BTreeMap<u32, u64>,
    /// The number of records of the trace that could not be decoded.
    pub undecoded: u64,
}

/// A reader of an explanation as it goes on.
pub trait Watch {
    /// Takes an event of the record, in the order of time.
    fn event(&mut self, event: &Event);

    /// Takes an interruption of a recorded CPU, or of the threads of `--of`, as soon as its cause is known.
    fn interruption(&mut self, one: &Interruption);
}

/// Reads nothing.
impl Watch for () {
    fn event(&mut self, _: &Event) {}

    fn interruption(&mut self, _: &Interruption) {}
}

impl Record {
    /// The context of the explanation.
    pub fn context(&self) -> Context {
        context::of(&self.about)
    }

    /// Finds the cause of each interruption of the recorded CPUs. The trace is read up to the first tick event, then
    /// completely; if the machine has nohz_full CPUs, a complete pass in between finds their timekeeper.
    ///
    /// # Errors
    /// A damaged trace.
    pub fn explain(&self) -> Result<Explained<'_>, DecodeError> {
        self.explain_to(None, &mut ())
    }

    /// The same for the interruptions of these threads only, on whichever CPU they ran.
    ///
    /// # Errors
    /// A damaged trace.
    pub fn explain_of(&self, of: Of) -> Result<Explained<'_>, DecodeError> {
        self.explain_to(Some(of), &mut ())
    }

    /// The same of all interruptions, or of those of these threads, for a reader of each.
    ///
    /// # Errors
    /// A damaged trace.
    pub fn explain_to(&self, of: Option<Of>, watch: &mut dyn Watch) -> Result<Explained<'_>, DecodeError> {
        self.explain_with(of.map(|of| Following::new(of, &self.about)), watch)
    }

    /// The threads of a choice that were there at the begin.
    pub fn threads_of(&self, of: &Of) -> Vec<i32> {
        let selected = Selected::new(of.clone(), &self.about);
        let threads = self.about.threads.iter();
        threads.filter(|(tid, thread)| selected.is_one(**tid, &thread.comm)).map(|(tid, _)| *tid).collect()
    }

    fn explain_with<'a>(
        &'a self,
        following: Option<Following<'a>>,
        watch: &mut dyn Watch,
    ) -> Result<Explained<'a>, DecodeError> {
        let (context, cpus) = (self.context(), self.trace.metadata.stats.keys().copied().collect());
        let mut stream = Stream::new(&context, &cpus, self.foreknown(&context, &cpus)?);
        let command = &context.known.command;
        let subject = match &following {
            Some(following) => Some(Subject::Of(following.selected().clone())),
            None => command.process.map(|_| Subject::Command(CommandThreads::of(command))),
        };
        // Without switches a thread would run for ever, and without wake-ups sleep until it runs.
        let recorded = &context.known.recorded;
        let subject = subject.filter(|_| recorded.has_switches() && recorded.has_wakeups());
        let ledger = subject.map(|subject| Ledger::new(&context, subject));
        let (sums, marks) = (Sums::default(), Marks::default());
        let mut adding = Adding { about: &self.about, following, ledger, sums, marks, watch };
        let mut parents = Parents::default();
        let missing = self.trace.events(|event| {
            parents.event(event);
            adding.watch.event(event);
            adding.following.iter_mut().for_each(|following| following.event(event));
            adding.ledger.iter_mut().for_each(|ledger| ledger.event(event));
            if !self.is_switch_elsewhere(event) {
                stream.event(event, &mut |one| adding.add(one));
            }
            ControlFlow::Continue(())
        })?;
        let Explanation { per_cpu, evidence, .. } = stream.finish(&mut |one| adding.add(one));
        Ok(Explained {
            about: &self.about,
            missing_events: &self.trace.metadata.missing_events,
            per_cpu,
            marks: adding.marks.in_order(),
            sums: adding.sums,
            parents,
            followed: adding.following.map(Following::finish),
            accounts: adding.ledger.map(Ledger::finish),
            evidence,
            lost: missing.lost.into_iter().filter(|(_, count)| *count > 0).collect(),
            undecoded: missing.undecoded,
        })
    }

    /// Returns true for a switch on a CPU that is not recorded. Only some of these are known, and a ledger alone uses
    /// them.
    fn is_switch_elsewhere(&self, event: &Event) -> bool {
        matches!(event.kind, EventKind::SchedSwitch { .. }) && !self.about.cpus.contains(event.cpu)
    }

    fn foreknown(&self, context: &Context, cpus: &CpuList) -> Result<Foreknown, DecodeError> {
        let mut starts_recorded = false;
        self.trace.events(|event| {
            starts_recorded = Foreknown::tells_starts(event);
            if starts_recorded { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if !Survey::is_needed(context) {
            return Ok(Survey::unneeded(context, starts_recorded));
        }
        let mut survey = Survey::new(context, cpus, starts_recorded);
        self.trace.events(|event| {
            if !self.is_switch_elsewhere(event) {
                survey.event(event);
            }
            ControlFlow::Continue(())
        })?;
        Ok(survey.finish())
    }

    /// Every interruption of the recorded CPUs with its cause, from events that the caller has decoded.
    pub fn interruptions(&self, decoded: &Decoded) -> Vec<Interruption> {
        let mut interruptions = explain(&decoded.events, &self.context()).interruptions;
        interruptions.retain(|interruption| self.about.cpus.contains(interruption.cpu));
        interruptions
    }
}

impl Explained<'_> {
    /// The number of marks of each CPU, in order: interruptions, page faults and time slices of other user tasks. With
    /// `--of` they are those of the threads on each CPU on which they ran.
    pub fn marked(&self) -> Vec<(u32, u64)> {
        match &self.followed {
            Some(followed) => followed.cpus.iter().map(|(cpu, count)| (*cpu, *count)).collect(),
            None => self
                .per_cpu
                .iter()
                .map(|summary| (summary.cpu, summary.listed() - summary.page_faults))
                .collect(),
        }
    }
}

/// The sums of the interruptions of the recorded CPUs, or of threads there.
struct Adding<'a, 'w> {
    about: &'a About,
    following: Option<Following<'a>>,
    ledger: Option<Ledger<'a, Subject>>,
    sums: Sums,
    marks: Marks,
    watch: &'w mut dyn Watch,
}

impl Adding<'_, '_> {
    fn add(&mut self, one: &Interruption) {
        self.ledger.iter_mut().for_each(|ledger| ledger.interruption(one));
        if !self.about.cpus.contains(one.cpu) {
            return;
        }
        match &mut self.following {
            Some(following) => {
                if !following.add(one) {
                    return;
                }
            }
            None => self.sums.add(one),
        }
        self.watch.interruption(one);
        // Page faults are no interruptions, and would hide those.
        if !matches!(one.kind, Kind::PageFault { .. }) {
            self.marks.add(one);
        }
    }
}
