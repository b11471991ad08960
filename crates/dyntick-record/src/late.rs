// SPDX-License-Identifier: GPL-2.0-only
//! Late wake-ups and their causes. A ring of events is recorded during the measurement, and the parts of it are kept
//! that have the worst wake-ups.

mod scene;
mod worst;

use crate::Options;
use crate::counted_causes::steal_between;
use crate::flight::{Flight, FlightRecorder};
use crate::trace::fits_into_memory;
use dyntick_explain::CauseId;
use dyntick_explain::fixes::PrintedFix;
use dyntick_explain::late::Story;
use dyntick_model::CpuList;
use dyntick_observe::facts::Counts;
use scene::Scene;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use worst::{Kept, Worst};

/// The size of each CPU's ring, KiB: some thousands of events.
const BUFFER_KIB: u32 = 512;

/// The number of flights that memory is reserved for, each of the maximum size of a recording in memory.
const FLIGHTS: u64 = 4;

/// The number of the latest flights that are kept for the next late wake-up. Other late wake-ups may be reported before
/// it, and the ring is read for each.
const RECENT: u64 = 16;

/// A late wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeUp {
    /// The number of its thread among the measuring threads.
    pub thread: usize,
    /// The thread's CPU, if it has its own.
    pub cpu: Option<u32>,
    /// The thread's TID.
    pub tid: i32,
    /// The thread's real-time priority; 0 under another policy.
    pub priority: u32,
    /// The number of the wake-up, from 0.
    pub cycle: u64,
    /// The time at which it was due, ns of CLOCK_MONOTONIC.
    pub due_ns: u64,
    /// The time at which it ran.
    pub woke_ns: u64,
}

impl WakeUp {
    /// Its latency, ns.
    pub fn latency_ns(&self) -> u64 {
        self.woke_ns.saturating_sub(self.due_ns)
    }
}

/// An explained late wake-up.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LateWakeUp {
    /// The number of its thread.
    pub thread: usize,
    /// The thread's CPU.
    pub cpu: Option<u32>,
    /// The number of the wake-up, from 0.
    pub cycle: u64,
    /// The time at which the thread was due to run, ns of CLOCK_MONOTONIC.
    pub due_ns: u64,
    /// The time at which it ran, ns of CLOCK_MONOTONIC.
    pub woke_ns: u64,
    /// The delay between them, ns.
    pub latency_ns: u64,
    /// The activity of the CPU from the due time on; null if the trace does not have it.
    pub story: Option<Story>,
    /// The fixes of the first cause.
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

    /// The cause of the largest part; `None` if it is unknown, or if the wake-up itself took long.
    pub fn cause(&self) -> Option<&CauseId> {
        self.story.as_ref()?.top().map(|share| &share.cause)
    }
}

/// The result about late wake-ups at the end.
#[derive(Debug, Default)]
pub struct LateReport {
    /// The worst late wake-ups, the worst first.
    pub worst: Vec<LateWakeUp>,
    /// The reason for which they are not explained, if they are not.
    pub trouble: Option<String>,
    /// The time for which the hypervisor ran something else on the measured CPUs meanwhile, ns, of those with any. No
    /// event shows when.
    pub stolen_ns: BTreeMap<u32, u64>,
}

/// The late wake-ups by cause, the worst of each first; the groups in the order of their latencies together.
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
    groups.sort_by_key(|group| std::cmp::Reverse(group.iter().map(|one| one.latency_ns).sum::<u64>()));
    groups
}

/// The settings of a measurement that are in force only while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meanwhile {
    /// True if it holds `/dev/cpu_dma_latency` at 0.
    pub idle_polls: bool,
    /// True if it counts system management interrupts.
    pub counts_smi: bool,
}

/// A recorder that explains the worst late wake-ups of a measurement. It runs only after a wake-up that is among the
/// worst so far.
pub struct LateRecorder {
    recorder: Option<FlightRecorder>,
    /// The flights that are needed, by number.
    flights: BTreeMap<u64, Flight>,
    next: u64,
    worst: Worst,
    /// The maximum size of all kept flights, bytes.
    most_bytes: u64,
    meanwhile: Meanwhile,
    cpus: CpuList,
    /// The steal time at the start.
    stolen: BTreeMap<u32, u64>,
    trouble: Option<String>,
}

impl LateRecorder {
    /// Starts recording these CPUs, to explain `most` late wake-ups. If that fails, [`LateRecorder::trouble`] has the
    /// reason, and the worst are kept without an explanation.
    pub fn start(cpus: CpuList, most: usize, meanwhile: Meanwhile) -> Self {
        let options = Options { buffer_kib: BUFFER_KIB, ..Options::new(cpus.clone()) };
        let stolen = Counts::stolen();
        let (recorder, trouble) = match FlightRecorder::start(options) {
            Ok(recorder) => (Some(recorder), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let (flights, worst, most_bytes) = (BTreeMap::new(), Worst::new(most), FLIGHTS * fits_into_memory());
        Self { recorder, flights, next: 0, worst, most_bytes, meanwhile, cpus, stolen, trouble }
    }

    /// The reason for which nothing is recorded, if so.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Adds the late wake-ups since the last call. The ring is read if one of them is among the worst so far, or if it
    /// is `asked` for, in which case it is always explained.
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

    /// The number of the first flight that is needed for a wake-up due at this time: the one before the flight that has
    /// it, for the events that were still open.
    fn first_flight(&self, due_ns: u64) -> u64 {
        let after = self.flights.iter().find(|(_, flight)| flight.end_ns() >= due_ns);
        after.map_or(self.next, |(number, _)| *number).saturating_sub(1)
    }

    /// Reads the ring, and returns the number of the flight.
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

    /// Drops flights, except for those that the worst need and the latest ones, which the next may need. If they exceed
    /// the memory, it drops all but one of the latest, then those of the mildest.
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

    /// Drops flights, except for those that the worst need and the `latest` last ones.
    fn leave(&mut self, latest: u64) {
        let (worst, next) = (&self.worst, self.next);
        self.flights.retain(|number, _| number + latest >= next || worst.needs(*number));
    }

    /// Ends recording, and explains the worst late wake-ups.
    pub fn finish(mut self) -> LateReport {
        let after = Counts::stolen();
        let stolen = self.cpus.iter().map(|cpu| (cpu, steal_between(cpu, &self.stolen, &after)));
        let stolen_ns = stolen.filter(|(_, ns)| *ns > 0).collect();
        let explained = match self.recorder.take().map(|recorder| recorder.finish(self.flights.values())) {
            None => BTreeMap::new(),
            Some(Ok(records)) => {
                let of = |(first, last)| records.record(self.flights.range(first..=last).map(|(_, one)| one));
                explain(&self.worst, self.meanwhile, of)
            }
            Some(Err(error)) => {
                self.trouble = Some(error.to_string());
                BTreeMap::new()
            }
        };
        LateReport { worst: in_order(&self.worst, explained), trouble: self.trouble, stolen_ns }
    }
}

type Explained = BTreeMap<(usize, u64), (Story, Vec<PrintedFix>)>;

/// Explains the wake-ups flight by flight, so that only their events are decoded at a time.
fn explain(
    worst: &Worst,
    meanwhile: Meanwhile,
    record: impl Fn((u64, u64)) -> Option<crate::Record>,
) -> Explained {
    let mut explained = Explained::new();
    for (flights, wake_ups) in worst.by_flights() {
        let Some(mut record) = record(flights) else { continue };
        let settings = &mut record.about.machine.settings;
        (settings.idle_polls, settings.counts_smi) = (meanwhile.idle_polls, meanwhile.counts_smi);
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
