// SPDX-License-Identifier: GPL-2.0-only
//! The counts of a thread. The thread writes and others read, at any time and without a lock.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicU64};

/// The number of the last latencies that are kept individually.
const VALUES: usize = 16384;

/// The figures of one thread. All memory is allocated at the start.
#[derive(Debug)]
#[repr(align(128))] // so that two threads never write to the same line of the cache
pub struct Counts {
    pub(crate) tid: AtomicI32,
    unit_ns: u64,
    cycles: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    last: AtomicU64,
    sum: AtomicU64,
    smi: AtomicU64,
    overflows: AtomicU64,
    bins: Box<[AtomicU64]>,
    overflow_cycles: Box<[AtomicU64]>,
    values: Box<[AtomicU64]>,
}

/// Adds to a counter. Only the thread itself writes, so this need not be atomic.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

fn zeros(length: usize) -> Box<[AtomicU64]> {
    (0..length).map(|_| AtomicU64::new(0)).collect()
}

impl Counts {
    /// Creates the figures with a histogram of `bins` bins of `unit_ns`, and with the last latencies if they are kept.
    pub(crate) fn new(bins: usize, unit_ns: u64, values: bool) -> Self {
        Self {
            tid: AtomicI32::new(0),
            unit_ns: unit_ns.max(1),
            cycles: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
            last: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            smi: AtomicU64::new(0),
            overflows: AtomicU64::new(0),
            bins: zeros(bins),
            // cyclictest keeps the same number.
            overflow_cycles: zeros(bins),
            values: zeros(if values { VALUES } else { 0 }),
        }
    }

    /// Records a wake-up: its latency, ns, and the system management interrupts before it.
    pub(crate) fn add(&self, latency_ns: u64, smi: u64) {
        let cycle = self.cycles.load(Relaxed);
        if latency_ns < self.min.load(Relaxed) {
            self.min.store(latency_ns, Relaxed);
        }
        if latency_ns > self.max.load(Relaxed) {
            self.max.store(latency_ns, Relaxed);
        }
        self.last.store(latency_ns, Relaxed);
        add(&self.sum, latency_ns);
        add(&self.smi, smi);
        if !self.bins.is_empty() {
            self.bin(latency_ns, cycle);
        }
        if !self.values.is_empty() {
            self.values[cycle as usize % VALUES].store(latency_ns, Relaxed);
        }
        // Released last: a reader that sees the number sees the value, too.
        self.cycles.store(cycle + 1, std::sync::atomic::Ordering::Release);
    }

    fn bin(&self, latency_ns: u64, cycle: u64) {
        match self.bins.get((latency_ns / self.unit_ns) as usize) {
            Some(bin) => add(bin, 1),
            None => {
                let overflows = self.overflows.load(Relaxed);
                if let Some(place) = self.overflow_cycles.get(overflows as usize) {
                    place.store(cycle, Relaxed);
                }
                self.overflows.store(overflows + 1, Relaxed);
            }
        }
    }

    /// The thread's TID; 0 before it runs.
    pub fn tid(&self) -> i32 {
        self.tid.load(Relaxed)
    }

    /// The number of wake-ups.
    pub fn cycles(&self) -> u64 {
        self.cycles.load(std::sync::atomic::Ordering::Acquire)
    }

    /// The smallest latency, ns; `None` before the first.
    pub fn min(&self) -> Option<u64> {
        Some(self.min.load(Relaxed)).filter(|min| *min != u64::MAX)
    }

    /// The largest latency, ns.
    pub fn max(&self) -> u64 {
        self.max.load(Relaxed)
    }

    /// The last latency, ns.
    pub fn last(&self) -> u64 {
        self.last.load(Relaxed)
    }

    /// The sum of all latencies, ns.
    pub fn sum(&self) -> u64 {
        self.sum.load(Relaxed)
    }

    /// The mean latency, ns; 0 before the first.
    pub fn mean(&self) -> f64 {
        match self.cycles() {
            0 => 0.0,
            cycles => self.sum() as f64 / cycles as f64,
        }
    }

    /// The system management interrupts of its CPU.
    pub fn smi(&self) -> u64 {
        self.smi.load(Relaxed)
    }

    /// The number of latencies in each bin of one unit; empty without a histogram.
    pub fn bins(&self) -> Vec<u64> {
        self.bins.iter().map(|bin| bin.load(Relaxed)).collect()
    }

    /// The number of latencies beyond the last bin.
    pub fn overflows(&self) -> u64 {
        self.overflows.load(Relaxed)
    }

    /// The numbers of their wake-ups, from 0: of the first ones, at most as many as there are bins.
    pub fn overflow_cycles(&self) -> Vec<u64> {
        let known = self.overflows() as usize;
        self.overflow_cycles.iter().take(known).map(|cycle| cycle.load(Relaxed)).collect()
    }

    /// The latencies, ns, of the wake-ups from `from` on with their numbers. Overwritten ones are missing.
    pub fn values(&self, from: u64) -> Vec<(u64, u64)> {
        let to = self.cycles();
        let first = from.max(to.saturating_sub(self.values.len() as u64));
        let value = |cycle: u64| (cycle, self.values[cycle as usize % VALUES].load(Relaxed));
        (first..to).filter(|_| !self.values.is_empty()).map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn new_counts_are_empty() {
        let counts = Counts::new(0, 1, false);
        assert_eq!((counts.cycles(), counts.min(), counts.mean()), (0, None, 0.0));
        counts.add(5, 0);
        assert!(counts.bins().is_empty() && counts.values(0).is_empty() && counts.overflows() == 0);
    }

    #[test]
    fn old_values_are_overwritten() {
        let counts = Counts::new(0, 1, true);
        (0..VALUES as u64 + 3).for_each(|value| counts.add(value, 0));
        let values = counts.values(0);
        assert_eq!((values.len(), values[0]), (VALUES, (3, 3)));
        assert_eq!(counts.values(VALUES as u64 + 2), [(VALUES as u64 + 2, VALUES as u64 + 2)]);
    }

    proptest! {
        #[test]
        fn every_latency_is_in_one_bin_or_an_overflow(
            latencies in prop::collection::vec(0u64..5000, 1..200), bins in 1usize..50, unit in prop::sample::select(vec![1u64, 100]),
        ) {
            let counts = Counts::new(bins, unit, true);
            latencies.iter().for_each(|latency| counts.add(*latency, 1));
            for (bin, count) in counts.bins().into_iter().enumerate() {
                let expected = latencies.iter().filter(|latency| (*latency / unit) as usize == bin).count();
                prop_assert_eq!(count, expected as u64);
            }
            let beyond: Vec<u64> = (0u64..).zip(&latencies).filter(|(_, l)| (*l / unit) as usize >= bins).map(|(c, _)| c).collect();
            prop_assert_eq!(counts.overflows(), beyond.len() as u64);
            prop_assert_eq!(counts.overflow_cycles(), beyond.into_iter().take(bins).collect::<Vec<_>>());
            prop_assert_eq!(counts.min(), latencies.iter().min().copied());
            prop_assert_eq!(counts.max(), *latencies.iter().max().unwrap());
            prop_assert_eq!(counts.sum(), latencies.iter().sum::<u64>());
            prop_assert_eq!(counts.smi(), latencies.len() as u64);
            prop_assert_eq!(counts.values(0).into_iter().map(|(_, value)| value).collect::<Vec<_>>(), latencies);
        }
    }
}
