// SPDX-License-Identifier: GPL-2.0-only
//! Late wake-ups and why they were late: a ring of events beside the measurement, of which the parts are kept that
//! have the worst of them.

mod scene;
mod worst;

use crate::Options;
use crate::flight::{Flight, FlightRecorder};
use crate::trace::fits_into_memory;
use dyntick_explain::CauseId;
use dyntick_explain::fixes::PrintedFix;
use dyntick_explain::late::Story;
use dyntick_model::CpuList;
use scene::Scene;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use worst::{Kept, Worst};

/// How much each CPU remembers, KiB: some thousands of events.
const BUFFER_KIB: u32 = 512;

/// Parts of the ring that fit into the memory that a recording may take, in all.
const FLIGHTS: u64 = 4;

/// So many of the latest parts are kept, for the next wake-up that is told: others may have been told between when it
/// was late and now, and each had the ring read.
const RECENT: u64 = 16;

/// A wake-up that was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeUp {
    /// The number of its thread among those that measure.
    pub thread: usize,
    /// The thread's CPU, where it has one of its own.
    pub cpu: Option<u32>,
    /// The kernel's number of the thread.
    pub tid: i32,
    /// Its real-time priority; 0 under another policy.
    pub priority: u32,
    /// The number of the wake-up, from 0.
    pub cycle: u64,
    /// When it was to run, ns of CLOCK_MONOTONIC.
    pub due_ns: u64,
    /// When it ran.
    pub woke_ns: u64,
}

impl WakeUp {
    /// Its latency, ns.
    pub fn latency_ns(&self) -> u64 {
        self.woke_ns.saturating_sub(self.due_ns)
    }
}

/// A late wake-up that was explained.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LateWakeUp {
    /// The number of its thread.
    pub thread: usize,
    /// The thread's CPU.
    pub cpu: Option<u32>,
    /// The number of the wake-up, from 0.
    pub cycle: u64,
    /// When the thread was to run, ns of CLOCK_MONOTONIC.
    pub due_ns: u64,
    /// When it ran, ns of CLOCK_MONOTONIC.
    pub woke_ns: u64,
    /// How much later that was, ns.
    pub latency_ns: u64,
    /// What the CPU did from the due time on; null where the trace does not have it.
    pub story: Option<Story>,
    /// What fixes the first cause.
    pub fixes: Vec<PrintedFix>,
}

impl LateWakeUp {
    fn of(wake_up: &WakeUp, explained: Option<(Story, Vec<PrintedFix>)>) -> Self {
        let (story, fixes) = explained.map_or((None, Vec::new()), |(story, fixes)| (Some(story), fixes));
        Self {
            thread: wake_up.thread,
            cpu: wake_up.cpu,
            cycle: wake_up.cycle,
            due_ns: wake_up.due_ns,
            woke_ns: wake_up.woke_ns,
            latency_ns: wake_up.latency_ns(),
            story,
            fixes,
        }
    }

    /// The cause that has most of it; none where nothing is known, or where it is the wake-up itself that took long.
    pub fn cause(&self) -> Option<&CauseId> {
        self.story.as_ref()?.top().map(|share| &share.cause)
    }
}

/// What is known of late wake-ups at the end.
#[derive(Debug, Default)]
pub struct LateReport {
    /// The worst, in that order.
    pub worst: Vec<LateWakeUp>,
    /// Why nothing explains them, where nothing does.
    pub trouble: Option<String>,
}

/// Late wake-ups of the same cause, the worst first; the group that has the worst of all comes first.
pub fn alike(worst: &[LateWakeUp]) -> Vec<Vec<&LateWakeUp>> {
    let mut groups: Vec<Vec<&LateWakeUp>> = Vec::new();
    for one in worst {
        let same =
            |first: &LateWakeUp| (first.cause(), first.story.is_some()) == (one.cause(), one.story.is_some());
        match groups.iter_mut().find(|group| same(group[0])) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// Records beside a measurement, and explains the worst of its late wake-ups. Nothing of it runs but after a wake-up
/// that is among the worst so far.
pub struct LateRecorder {
    recorder: Option<FlightRecorder>,
    /// What was taken out of the ring, by number, as far as it is needed.
    flights: BTreeMap<u64, Flight>,
    next: u64,
    worst: Worst,
    /// How much of the ring is kept in all, bytes.
    most_bytes: u64,
    trouble: Option<String>,
}

impl LateRecorder {
    /// Records these CPUs, to explain `most` late wake-ups. Where that is refused [`LateRecorder::trouble`] says why,
    /// and the worst are kept all the same.
    pub fn start(cpus: CpuList, most: usize) -> Self {
        let options = Options { buffer_kib: BUFFER_KIB, ..Options::new(cpus) };
        let (recorder, trouble) = match FlightRecorder::start(options) {
            Ok(recorder) => (Some(recorder), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (flights, worst, most_bytes) = (BTreeMap::new(), Worst::new(most), FLIGHTS * fits_into_memory());
        Self { recorder, flights, next: 0, worst, most_bytes, trouble }
    }

    /// Why nothing is recorded.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Takes note of wake-ups that were late since the last time. The ring is read if one of them is among the worst
    /// so far, or is `asked` for: then it is explained in any case.
    pub fn note(&mut self, wake_ups: &[WakeUp], asked: bool) {
        let admitted = |one: &&WakeUp| asked || self.worst.admits(one);
        let new: Vec<WakeUp> = wake_ups.iter().filter(admitted).copied().collect();
        if new.is_empty() {
            return;
        }
        let taken = self.take();
        for wake_up in new {
            let flights = taken.map(|last| (self.first_flight(wake_up.due_ns), last));
            self.worst.add(Kept { wake_up, flights, asked });
        }
        self.make_room();
    }

    /// The number of the first flight that has to do with what was due then: the one before that in which it was, for
    /// what was going on.
    fn first_flight(&self, due_ns: u64) -> u64 {
        let after = self.flights.iter().find(|(_, flight)| flight.end_ns() >= due_ns);
        after.map_or(self.next, |(number, _)| *number).saturating_sub(1)
    }

    /// Reads the ring, and returns under which number that is kept.
    fn take(&mut self) -> Option<u64> {
        match self.recorder.as_mut()?.take() {
            Ok(flight) => {
                self.flights.insert(self.next, flight);
                self.next += 1;
                Some(self.next - 1)
            }
            Err(error) => {
                (self.trouble, self.recorder) = (Some(error.to_string()), None);
                None
            }
        }
    }

    /// Leaves what the worst need, and the latest flights, which the next may need. What does not fit into memory goes:
    /// of the latest all but one, then of the mildest first.
    fn make_room(&mut self) {
        self.leave(RECENT);
        while self.flights.values().map(Flight::bytes).sum::<u64>() > self.most_bytes {
            self.leave(1);
            let bytes: u64 = self.flights.values().map(Flight::bytes).sum();
            if bytes > self.most_bytes && !self.worst.release_mildest() {
                return;
            }
        }
    }

    /// Leaves what the worst need, and so many of the latest.
    fn leave(&mut self, latest: u64) {
        let (worst, next) = (&self.worst, self.next);
        self.flights.retain(|number, _| number + latest >= next || worst.needs(*number));
    }

    /// Ends recording, and explains the worst.
    pub fn finish(mut self) -> LateReport {
        let explained = match self.recorder.take().map(|recorder| recorder.finish(self.flights.values())) {
            None => BTreeMap::new(),
            Some(Ok(records)) => {
                let of = |(first, last)| records.record(self.flights.range(first..=last).map(|(_, one)| one));
                explain(&self.worst, of)
            }
            Some(Err(error)) => {
                self.trouble = Some(error.to_string());
                BTreeMap::new()
            }
        };
        LateReport { worst: in_order(&self.worst, explained), trouble: self.trouble }
    }
}

type Explained = BTreeMap<(usize, u64), (Story, Vec<PrintedFix>)>;

/// Explains those of some flights after the others: only they are decoded at a time.
fn explain(worst: &Worst, record: impl Fn((u64, u64)) -> Option<crate::Record>) -> Explained {
    let mut explained = Explained::new();
    for (flights, wake_ups) in worst.by_flights() {
        let Some(record) = record(flights) else { continue };
        let Some(scene) = Scene::of(&record) else { continue };
        let stories = wake_ups.into_iter().filter_map(|one| Some((one.key(), scene.explain(one)?)));
        explained.extend(stories);
    }
    explained
}

fn in_order(worst: &Worst, mut explained: Explained) -> Vec<LateWakeUp> {
    worst.wake_ups().map(|one| LateWakeUp::of(one, explained.remove(&one.key()))).collect()
}

#[cfg(test)]
mod tests;
