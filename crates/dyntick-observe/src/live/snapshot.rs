// SPDX-License-Identifier: GPL-2.0-only
//! Counts at one moment, and what came between two.

use super::Key;
use dyntick_bpf::layout::{BUCKETS, FIRST_BUCKET_BITS};
use serde::Serialize;
use std::collections::BTreeMap;

/// What was counted until one moment, or between two ([`Snapshot::since`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// When it was taken, ns on CLOCK_MONOTONIC; of a difference, how long it lasted.
    pub ns: u64,
    /// By CPU and what was counted. A CPU that nothing happened on has an empty entry.
    pub cpus: BTreeMap<u32, BTreeMap<Key, Count>>,
    /// What could not be counted.
    pub lost: Lost,
}

/// How often something happened on one CPU, and how long it took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Count {
    /// How often it began.
    pub count: u64,
    /// Total duration of those that ended, ns, without the interrupts that came in between; 0 for what is
    /// counted only ([`Key`] tells). From event to event: entry code before the first is not in it.
    pub ns: u64,
    /// The longest, ns. Of a difference it is known only if it is longer than all before.
    pub longest_ns: Option<u64>,
    /// How many ended in each bucket of durations, the shortest first; see [`bucket_end_ns`].
    pub histogram: [u64; BUCKETS],
}

/// Events that were not counted, or not in full. All 0 means that nothing was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Events that came while their own program ran on the same CPU, which the kernel then skips
    /// (`recursion_misses` of `struct bpf_prog_info`).
    pub recursion: u64,
    /// Trace events that a full buffer did not keep until they were read (`overrun`, `commit overrun` and
    /// `dropped events` of `per_cpu/cpuN/stats` in tracefs).
    pub overrun: u64,
    /// Trace events whose record is not understood.
    pub undecoded: u64,
    /// Counted, but without their name: the table of the CPU was full ([`Key::Unnamed`]).
    pub unnamed: u64,
}

impl Lost {
    /// Events that were not counted at all.
    pub fn events(&self) -> u64 {
        self.recursion + self.overrun + self.undecoded
    }

    /// All members with their names, also of those that were counted without their name.
    pub fn by_reason(&self) -> [(&'static str, u64); 4] {
        [
            ("recursion", self.recursion),
            ("overrun", self.overrun),
            ("undecoded", self.undecoded),
            ("unnamed", self.unnamed),
        ]
    }

    fn since(&self, earlier: &Lost) -> Lost {
        Lost {
            recursion: self.recursion.saturating_sub(earlier.recursion),
            overrun: self.overrun.saturating_sub(earlier.overrun),
            undecoded: self.undecoded.saturating_sub(earlier.undecoded),
            unnamed: self.unnamed.saturating_sub(earlier.unnamed),
        }
    }

    fn add(&mut self, other: &Lost) {
        self.recursion += other.recursion;
        self.overrun += other.overrun;
        self.undecoded += other.undecoded;
        self.unnamed += other.unnamed;
    }
}

/// The bucket of a duration.
fn bucket_of(ns: u64) -> usize {
    let bits = (ns >> FIRST_BUCKET_BITS).checked_ilog2().map_or(0, |bits| bits as usize + 1);
    bits.min(BUCKETS - 1)
}

/// The duration, ns, below which all in a bucket are. The last bucket has no end.
pub fn bucket_end_ns(bucket: usize) -> Option<u64> {
    (bucket + 1 < BUCKETS).then(|| 1 << (FIRST_BUCKET_BITS as usize + bucket))
}

impl Snapshot {
    /// These counts, and of what was lost all but the unnamed, which are among the counts.
    pub(super) fn new(ns: u64, cpus: BTreeMap<u32, BTreeMap<Key, Count>>, lost: Lost) -> Self {
        let all = cpus.values().flatten();
        let unnamed = all.filter(|(key, _)| matches!(key, Key::Unnamed { .. })).map(|(_, count)| count.count);
        let lost = Lost { unnamed: unnamed.sum(), ..lost };
        Self { ns, cpus, lost }
    }

    /// What came after `earlier`, which must be of the same counters. What did not happen is left out.
    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        let none = BTreeMap::new();
        let cpu = |(cpu, now): (&u32, &BTreeMap<Key, Count>)| {
            let then = earlier.cpus.get(cpu).unwrap_or(&none);
            let grown = now.iter().map(|(key, count)| (key.clone(), count.since(then.get(key))));
            (*cpu, grown.filter(|(_, count)| count.count > 0 || count.ns > 0).collect())
        };
        Snapshot {
            ns: self.ns.saturating_sub(earlier.ns),
            cpus: self.cpus.iter().map(cpu).collect(),
            lost: self.lost.since(&earlier.lost),
        }
    }
}

impl Snapshot {
    /// Adds what another one counted, as of a second run.
    pub fn add(&mut self, other: &Snapshot) {
        self.ns += other.ns;
        for (cpu, counts) in &other.cpus {
            let sum = self.cpus.entry(*cpu).or_default();
            for (key, count) in counts {
                sum.entry(key.clone()).or_default().add(count);
            }
        }
        self.lost.add(&other.lost);
    }
}

impl Count {
    fn since(&self, earlier: Option<&Count>) -> Count {
        let Some(earlier) = earlier else { return self.clone() };
        let mut histogram = self.histogram;
        for (now, then) in histogram.iter_mut().zip(earlier.histogram) {
            *now = now.saturating_sub(then);
        }
        Count {
            count: self.count.saturating_sub(earlier.count),
            ns: self.ns.saturating_sub(earlier.ns),
            longest_ns: self
                .longest_ns
                .filter(|longest| earlier.longest_ns.is_none_or(|then| *longest > then)),
            histogram,
        }
    }

    /// Adds a duration.
    pub(super) fn took(&mut self, ns: u64) {
        self.ns += ns;
        self.longest_ns = self.longest_ns.max(Some(ns).filter(|ns| *ns > 0));
        self.histogram[bucket_of(ns)] += 1;
    }

    /// Adds what another counted.
    pub fn add(&mut self, other: &Count) {
        self.count += other.count;
        self.ns += other.ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        for (sum, more) in self.histogram.iter_mut().zip(other.histogram) {
            *sum += more;
        }
    }

    /// How many ended, which all have a duration.
    pub fn ended(&self) -> u64 {
        self.histogram.iter().sum()
    }

    /// The mean duration, ns, of those that ended; none if none did.
    pub fn mean_ns(&self) -> Option<f64> {
        let ended = self.ended();
        (ended > 0).then(|| self.ns as f64 / ended as f64)
    }

    /// The bucket of the longest; none if none ended.
    pub fn highest_bucket(&self) -> Option<usize> {
        self.histogram.iter().rposition(|count| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(count: u64, ns: u64, longest: u64) -> Count {
        let mut histogram = [0; BUCKETS];
        histogram[3] = count;
        Count { count, ns, longest_ns: Some(longest), histogram }
    }

    fn snapshot(ns: u64, idle: Option<Count>) -> Snapshot {
        let counts = idle.into_iter().map(|count| (Key::Idle, count)).collect();
        Snapshot { ns, cpus: [(3, counts)].into(), lost: Lost::default() }
    }

    #[test]
    fn what_came_between() {
        let grown = snapshot(9, Some(count(5, 700, 300))).since(&snapshot(4, Some(count(2, 100, 50))));
        assert_eq!(grown.ns, 5);
        let idle = &grown.cpus[&3][&Key::Idle];
        assert_eq!((idle.count, idle.ns, idle.longest_ns, idle.histogram[3]), (3, 600, Some(300), 3));
        assert_eq!(idle.mean_ns(), Some(200.0));
    }

    #[test]
    fn an_older_longest_is_not_told_again() {
        let grown = snapshot(9, Some(count(5, 700, 300))).since(&snapshot(4, Some(count(2, 100, 300))));
        assert_eq!(grown.cpus[&3][&Key::Idle].longest_ns, None);
        let same = snapshot(9, Some(count(5, 700, 300)));
        assert!(same.since(&same).cpus[&3].is_empty(), "what did not happen is left out");
        assert_eq!(same.since(&snapshot(0, None)).cpus[&3][&Key::Idle], count(5, 700, 300));
    }

    #[test]
    fn buckets_double() {
        assert_eq!(bucket_end_ns(0), Some(128));
        assert_eq!(bucket_end_ns(3), Some(1024));
        assert_eq!(bucket_end_ns(BUCKETS - 1), None);
        for bucket in 0..BUCKETS - 1 {
            let end = bucket_end_ns(bucket).unwrap();
            assert_eq!((bucket_of(end - 1), bucket_of(end)), (bucket, bucket + 1));
        }
        assert_eq!((bucket_of(0), bucket_of(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn what_was_lost_is_counted_by_its_reason() {
        let lost =
            |times| Lost { recursion: times, overrun: 2 * times, undecoded: 3 * times, unnamed: times };
        let mut sum = lost(5).since(&lost(3));
        assert_eq!((sum, sum.events()), (lost(2), 12));
        sum.add(&lost(1));
        assert_eq!(sum, lost(3));
    }
}
