// SPDX-License-Identifier: GPL-2.0-only
//! The interruptions and idle periods of the recorded CPUs, each with its begin and end, and their sums by chain: for
//! the pictures of other tools.

use crate::About;
use crate::explained::Watch;
use dyntick_explain::{CauseId, Chain, Interruption, Kind, Sent};
use dyntick_model::{CpuList, Event, EventKind, Map};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The maximum number of slices, some 500 MB in memory. Viewers open files of a tenth of that.
const MOST: usize = 1 << 23;

/// The maximum number of chains. Interruptions with others are without chain: an untrusted trace may name any number.
const MOST_CHAINS: usize = 1 << 16;

/// The kind, the cause and the chain of interruptions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct What {
    /// The entry point into the kernel ([`Kind::name`]).
    pub kind: &'static str,
    /// The cause.
    pub cause: CauseId,
    /// The chain of causation.
    pub chain: Chain,
}

/// An interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The CPU.
    pub cpu: u32,
    /// Its begin, ns on the events' clock.
    pub begin_ns: u64,
    /// Its end, after the interruptions within it.
    pub end_ns: u64,
    /// The index of its kind, cause and chain.
    pub what: u32,
    /// The action that led to it.
    pub sent: Option<Sent>,
}

/// A time in which a CPU was idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The CPU.
    pub cpu: u32,
    /// Its begin, ns on the events' clock.
    pub begin_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// The idle state, by its number.
    pub state: u32,
}

/// There are more interruptions and idle periods than are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// The interruptions without page faults, and the idle periods.
#[derive(Clone, Debug)]
pub struct Slices {
    /// The kinds, causes and chains.
    pub whats: Vec<What>,
    /// The time by CPU and by the index of kind, cause and chain, ns.
    pub sums: BTreeMap<(u32, u32), u64>,
    slices: Vec<Slice>,
    idle: Vec<Idle>,
    places: Map<What, u32>,
    /// The recorded CPUs.
    cpus: CpuList,
    /// The begin and the state of the idle period of each CPU that is idle.
    idle_since: BTreeMap<u32, (u64, u32)>,
    /// The recorded time.
    window_ns: (u64, u64),
    /// True if each slice is kept, and not only their sums.
    keeps: bool,
    /// True if some were left out.
    left_out: bool,
}

impl Slices {
    /// Creates the slices of a record, or only their sums.
    pub fn new(about: &About, keeps: bool) -> Self {
        Self {
            whats: Vec::new(),
            sums: BTreeMap::new(),
            slices: Vec::new(),
            idle: Vec::new(),
            places: Map::default(),
            cpus: about.cpus.clone(),
            idle_since: BTreeMap::new(),
            window_ns: about.window_ns,
            keeps,
            left_out: false,
        }
    }

    /// The interruptions and the idle periods of the recorded time, by CPU and begin; of those that begin together the
    /// longest is the first. An idle period that lasts ends with the recording.
    ///
    /// # Errors
    /// More than are kept.
    pub fn in_order(&mut self) -> Result<(&[Slice], &[Idle]), TooMany> {
        for (cpu, (begin_ns, state)) in std::mem::take(&mut self.idle_since) {
            let end_ns = self.window_ns.1.max(begin_ns);
            self.idle.push(Idle { cpu, begin_ns, end_ns, state });
        }
        if self.left_out {
            return Err(TooMany);
        }
        self.slices.sort_by_key(|slice| (slice.cpu, slice.begin_ns, Reverse(slice.end_ns)));
        self.idle.sort_by_key(|idle| (idle.cpu, idle.begin_ns));
        Ok((&self.slices, &self.idle))
    }

    /// The index of the kind, the cause and the chain.
    fn place(&mut self, one: &Interruption) -> u32 {
        let mut what = What { kind: one.kind.name(), cause: one.cause.clone(), chain: one.chain.clone() };
        if !self.places.contains_key(&what) && self.whats.len() >= MOST_CHAINS {
            what.chain = Chain::default();
        }
        let next = self.whats.len() as u32;
        *self.places.entry(what.clone()).or_insert_with(|| {
            self.whats.push(what);
            next
        })
    }

    fn has_room(&mut self) -> bool {
        let has_room = self.slices.len() + self.idle.len() < MOST;
        self.left_out |= !has_room;
        has_room
    }

    fn idle(&mut self, event: &Event, state: Option<u32>) {
        let before = match state {
            Some(state) => self.idle_since.insert(event.cpu, (event.ts, state)),
            None => self.idle_since.remove(&event.cpu),
        };
        let Some((begin_ns, state)) = before.filter(|_| self.has_room()) else { return };
        self.idle.push(Idle { cpu: event.cpu, begin_ns, end_ns: event.ts, state });
    }
}

impl Watch for Slices {
    fn event(&mut self, event: &Event) {
        if let EventKind::CpuIdle { state } = event.kind {
            let (begin, end) = self.window_ns;
            if self.keeps && self.cpus.contains(event.cpu) && (begin..end).contains(&event.ts) {
                self.idle(event, state);
            }
        }
    }

    fn interruption(&mut self, one: &Interruption) {
        if matches!(one.kind, Kind::PageFault { .. }) {
            return;
        }
        let what = self.place(one);
        let sum = self.sums.entry((one.cpu, what)).or_default();
        *sum = sum.saturating_add(one.duration_ns);
        if self.keeps && self.has_room() {
            let (cpu, begin_ns, end_ns, sent) = (one.cpu, one.start_ns, one.end_ns(), one.sent);
            self.slices.push(Slice { cpu, begin_ns, end_ns, what, sent });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_explain::{Task, rules};

    fn slices(keeps: bool) -> Slices {
        let about = crate::stored::tests::about();
        Slices::new(&About { cpus: "1".parse().unwrap(), window_ns: (100, 1100), ..about }, keeps)
    }

    fn idle(ts: u64, cpu: u32, state: Option<u32>) -> Event {
        Event { ts, cpu, pid: 0, within: Default::default(), kind: EventKind::CpuIdle { state } }
    }

    #[test]
    fn idle_periods_end_with_their_exit_the_next_entry_or_the_record() {
        let mut slices = slices(true);
        let events = [
            idle(50, 1, Some(1)), // before the window
            idle(200, 1, Some(1)),
            idle(210, 2, Some(1)), // a CPU that was not recorded
            idle(300, 1, None),
            idle(310, 1, None),
            idle(400, 1, Some(2)),
            idle(500, 1, Some(0)),
        ];
        events.iter().for_each(|event| slices.event(event));
        let of = |begin_ns, end_ns, state| Idle { cpu: 1, begin_ns, end_ns, state };
        let (_, found) = slices.in_order().unwrap();
        assert_eq!(found, [of(200, 300, 1), of(400, 500, 2), of(500, 1100, 0)]);
    }

    #[test]
    fn chains_share_an_entry_and_have_a_sum() {
        let one = |start_ns, kind| Interruption {
            cpu: 1,
            start_ns,
            duration_ns: 7,
            nested_ns: 3,
            kind,
            cause: CauseId::of(rules::named::UNKNOWN),
            chain: Default::default(),
            functions: [].into(),
            victim: Task { pid: 1, comm: "x".into() },
            other: None,
            stack: None,
            sent: Some(Sent { cpu: 0, at_ns: 5 }),
        };
        for keeps in [true, false] {
            let mut slices = slices(keeps);
            let kinds = [Kind::Tick, Kind::Tick, Kind::Hrtimer, Kind::PageFault { user: true }];
            kinds
                .into_iter()
                .zip([200, 300, 400, 500])
                .for_each(|(kind, at)| slices.interruption(&one(at, kind)));
            assert_eq!(slices.sums, [((1, 0), 14), ((1, 1), 7)].into());
            let (found, _) = slices.in_order().unwrap();
            let ends: Vec<u64> = found.iter().map(|slice| slice.end_ns).collect();
            assert_eq!(ends, if keeps { vec![210, 310, 410] } else { vec![] });
        }
    }
}
