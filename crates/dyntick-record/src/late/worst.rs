// SPDX-License-Identifier: GPL-2.0-only
//! The worst late wake-ups so far, with the numbers of the flights that have their events. Pure.

use super::WakeUp;
use std::collections::BTreeMap;

/// A late wake-up that is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub wake_up: WakeUp,
    /// The numbers of the first and the last flight that have its events; `None` if nothing was recorded, or if they
    /// were dropped.
    pub flights: Option<(u64, u64)>,
    /// True if it is kept even if others are worse.
    pub asked: bool,
}

impl WakeUp {
    /// The unique key of a late wake-up.
    pub(super) fn key(&self) -> (usize, u64) {
        (self.thread, self.cycle)
    }
}

/// The list of the worst, at most `most`, the worst first.
#[derive(Debug)]
pub(super) struct Worst {
    most: usize,
    kept: Vec<Kept>,
}

impl Worst {
    pub fn new(most: usize) -> Self {
        Self { most, kept: Vec::new() }
    }

    /// Returns true if this latency would be among the worst.
    pub fn admits(&self, wake_up: &WakeUp) -> bool {
        let is_worse = |least: &Kept| wake_up.latency_ns() > least.wake_up.latency_ns();
        self.most > self.kept.len() || self.least().is_some_and(|at| is_worse(&self.kept[at]))
    }

    /// Adds one; drops the mildest if there are too many.
    pub fn add(&mut self, new: Kept) {
        if let Some(known) = self.kept.iter_mut().find(|known| known.wake_up.key() == new.wake_up.key()) {
            known.asked |= new.asked;
            return;
        }
        let latency = new.wake_up.latency_ns();
        let at = self.kept.partition_point(|known| known.wake_up.latency_ns() >= latency);
        self.kept.insert(at, new);
        if let Some(least) = self.least().filter(|_| self.kept.len() > self.most) {
            self.kept.remove(least);
        }
    }

    /// The mildest that may be dropped.
    fn least(&self) -> Option<usize> {
        self.kept.iter().rposition(|kept| !kept.asked)
    }

    /// Returns true if a flight has events of one of them.
    pub fn needs(&self, flight: u64) -> bool {
        let has = |(first, last): (u64, u64)| (first..=last).contains(&flight);
        self.kept.iter().any(|kept| kept.flights.is_some_and(has))
    }

    /// Drops the flights of the mildest, if more than one has any.
    pub fn release_mildest(&mut self) -> bool {
        let mut with = self.kept.iter_mut().rev().filter(|kept| kept.flights.is_some());
        let (mildest, others) = (with.next(), with.next().is_some());
        match mildest.filter(|_| others) {
            Some(mildest) => {
                mildest.flights = None;
                true
            }
            None => false,
        }
    }

    /// All late wake-ups, the worst first.
    pub fn wake_ups(&self) -> impl Iterator<Item = &WakeUp> {
        self.kept.iter().map(|kept| &kept.wake_up)
    }

    /// The wake-ups that have flights, by their numbers.
    pub fn by_flights(&self) -> BTreeMap<(u64, u64), Vec<&WakeUp>> {
        let mut found: BTreeMap<(u64, u64), Vec<&WakeUp>> = BTreeMap::new();
        for (flights, kept) in self.kept.iter().filter_map(|kept| Some((kept.flights?, kept))) {
            found.entry(flights).or_default().push(&kept.wake_up);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(cycle: u64, latency: u64) -> Kept {
        let wake_up = WakeUp {
            thread: 0,
            cpu: Some(1),
            tid: 9,
            priority: 95,
            cycle,
            due_ns: 1000,
            woke_ns: 1000 + latency,
        };
        Kept { wake_up, flights: Some((cycle - 1, cycle)), asked: false }
    }

    fn latencies(worst: &Worst) -> Vec<u64> {
        worst.wake_ups().map(WakeUp::latency_ns).collect()
    }

    proptest! {
        #[test]
        fn the_worst_are_kept_and_not_the_first(all in prop::collection::vec(0u64..1000, 0..60), most in 0usize..12) {
            let mut worst = Worst::new(most);
            for (cycle, latency) in (1..).zip(&all) {
                let new = kept(cycle, *latency);
                if worst.admits(&new.wake_up) {
                    worst.add(new);
                }
            }
            let mut expected = all.clone();
            expected.sort_by_key(|latency| std::cmp::Reverse(*latency));
            expected.truncate(most);
            prop_assert_eq!(latencies(&worst), expected);
        }
    }

    #[test]
    fn requested_wakeup_stays() {
        let mut worst = Worst::new(1);
        worst.add(kept(3, 500));
        worst.add(Kept { asked: true, ..kept(1, 10) });
        assert_eq!(latencies(&worst), [10]);
        assert!(!worst.admits(&kept(2, 900).wake_up), "there is no space for another one");
    }

    #[test]
    fn same_wakeup_is_kept_once() {
        let mut worst = Worst::new(3);
        worst.add(kept(4, 500));
        worst.add(Kept { asked: true, ..kept(4, 500) });
        assert_eq!(latencies(&worst), [500]);
        assert!(worst.kept[0].asked);
    }

    #[test]
    fn flights_of_the_mildest_are_dropped_first() {
        let mut worst = Worst::new(3);
        [kept(2, 500), kept(5, 900)].into_iter().for_each(|one| worst.add(one));
        let needed = |worst: &Worst| (0..7).filter(|flight| worst.needs(*flight)).collect::<Vec<_>>();
        assert_eq!(needed(&worst), [1, 2, 4, 5]);
        assert!(worst.release_mildest());
        assert_eq!(needed(&worst), [4, 5]);
        assert!(!worst.release_mildest(), "the worst of all keeps its own");
        assert_eq!(latencies(&worst), [900, 500], "and both are listed");
    }
}
