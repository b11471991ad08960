// SPDX-License-Identifier: GPL-2.0-only
//! The counts between two readings.

use super::Key;
use dyntick_bpf::layout::{BUCKETS, FIRST_BUCKET_BITS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counts from one reading to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// When it was read, ns on CLOCK_MONOTONIC.
    pub until_ns: u64,
    /// Its duration, ns; of several together their sum.
    pub ns: u64,
    /// By CPU and what was counted. What did not happen is not there; a CPU that nothing happened on has an
    /// empty entry.
    pub cpus: BTreeMap<u32, BTreeMap<Key, Count>>,
    /// The events that could not be counted.
    pub lost: Lost,
}

/// The number and the duration of one kind of event on one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Count {
    /// The number of begins.
    pub count: u64,
    /// The total duration, ns, without the interrupts that came in between; 0 for kinds that are only counted (see
    /// [`Key`]). It is from event to event: entry code before the first is not in it. Time slices of tasks have in each
    /// reading their time since the previous one; all else is in the reading in which it ended.
    pub ns: u64,
    /// The longest, ns. It is known only if it is longer than all before this reading.
    pub longest_ns: Option<u64>,
    /// The number of ends in each bucket of durations, the shortest first; see [`bucket_end_ns`].
    pub histogram: [u64; BUCKETS],
}

/// Events that were not counted, or not in full. All 0 means that nothing was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// Events that came while their own program ran on the same CPU, which the kernel then skips
    /// (`recursion_misses` of `struct bpf_prog_info`).
    pub recursion: u64,
    /// Trace events that a full buffer did not keep until they were read (`overrun`, `commit overrun` and
    /// `dropped events` of `per_cpu/cpuN/stats` in tracefs).
    pub overrun: u64,
    /// Trace events whose record is not understood.
    pub undecoded: u64,
    /// Counted, but without their name: a table of the CPU was full ([`Key::Unnamed`], and programs without a name).
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

    pub(super) fn since(&self, earlier: &Lost) -> Lost {
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

/// The most programs of a CPU in one snapshot. Each takes some 300 bytes.
pub(super) const MOST_PROGRAMS: usize = 4096;

impl Snapshot {
    /// These counts, and of what was lost all but the unnamed, which are among the counts.
    pub(super) fn new(
        until_ns: u64,
        ns: u64,
        mut cpus: BTreeMap<u32, BTreeMap<Key, Count>>,
        lost: Lost,
    ) -> Self {
        cpus.values_mut().for_each(|counts| counts.retain(|_, count| count.count > 0 || count.ns > 0));
        let mut snapshot = Self { until_ns, ns, cpus, lost };
        snapshot.count_unnamed();
        snapshot
    }

    fn count_unnamed(&mut self) {
        let unnamed = self.cpus.values().flatten().filter(|(key, _)| key.is_unnamed());
        self.lost.unnamed = unnamed.map(|(_, count)| count.count).sum();
    }

    /// Adds what another one counted, as of the time after it or of a second run. Where there are programs without
    /// end, those that ran least are counted together.
    pub fn add(&mut self, other: &Snapshot) {
        self.until_ns = self.until_ns.max(other.until_ns);
        self.ns += other.ns;
        self.lost.add(&other.lost);
        for (cpu, counts) in &other.cpus {
            let sum = self.cpus.entry(*cpu).or_default();
            for (key, count) in counts {
                sum.entry(key.clone()).or_default().add(count);
            }
            fold(sum, MOST_PROGRAMS);
        }
        self.count_unnamed();
    }
}

/// Counts together the programs that ran least, where there are more than `most`: half of these stay.
pub(super) fn fold(counts: &mut BTreeMap<Key, Count>, most: usize) {
    let is_named = |key: &&Key| key.is_program() && !key.is_unnamed();
    if counts.keys().filter(is_named).count() <= most {
        return;
    }
    let mut named: Vec<(u64, Key)> =
        counts.iter().filter(|(key, _)| is_named(key)).map(|(key, count)| (count.ns, key.clone())).collect();
    named.sort_by(|a, b| b.cmp(a));
    for (_, key) in named.drain(most / 2..) {
        if let Some(count) = counts.remove(&key) {
            counts.entry(key.without_name()).or_default().add(&count);
        }
    }
}

impl Count {
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

    /// The number of ends, which all have a duration.
    pub fn ended(&self) -> u64 {
        self.histogram.iter().sum()
    }

    /// The mean duration, ns; none of what is counted only. Of one that goes on it is what it took so far.
    pub fn mean_ns(&self) -> Option<f64> {
        let ended = self.ended();
        (ended > 0 || self.ns > 0).then(|| self.ns as f64 / ended.max(self.count).max(1) as f64)
    }

    /// The bucket of the longest; none if none ended.
    pub fn highest_bucket(&self) -> Option<usize> {
        self.histogram.iter().rposition(|count| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Whose;
    use proptest::prelude::*;

    fn program(number: u32) -> Key {
        let whose = if number % 3 == 0 { Whose::Command } else { Whose::Other };
        let comm = Some(format!("program-{number}").into());
        if number % 5 == 0 { Key::KernelThread { comm } } else { Key::Task { comm, whose } }
    }

    fn once(ns: u64) -> Count {
        let mut count = Count { count: 1, ..Count::default() };
        count.took(ns);
        count
    }

    /// All time slices of one sort of task, for all names.
    fn turns(counts: &BTreeMap<Key, Count>) -> BTreeMap<Key, Count> {
        let mut sums: BTreeMap<Key, Count> = BTreeMap::new();
        for (key, count) in counts {
            sums.entry(key.without_name()).or_default().add(count);
        }
        sums
    }

    proptest! {
        #[test]
        fn folding_loses_no_count_and_no_time(
            ran in prop::collection::vec((0u32..40, 0u64..9000), 0..200),
            most in 1usize..30,
        ) {
            let (mut folded, mut all) = (BTreeMap::new(), BTreeMap::new());
            for (number, ns) in ran {
                for counts in [&mut folded, &mut all] {
                    let count: &mut Count = counts.entry(program(number)).or_default();
                    count.add(&once(ns));
                }
                fold(&mut folded, most);
                prop_assert!(folded.keys().filter(|key| !key.is_unnamed()).count() <= most);
            }
            prop_assert_eq!(turns(&folded), turns(&all));
        }
    }

    #[test]
    fn the_programs_that_ran_most_keep_their_names() {
        let mut counts: BTreeMap<Key, Count> = (1..=4).map(|n| (program(n), once(u64::from(n)))).collect();
        counts.insert(Key::Idle, once(0));
        fold(&mut counts, 3);
        let other = Key::Task { comm: None, whose: Whose::Other };
        assert_eq!(counts.keys().cloned().collect::<Vec<_>>().len(), 4, "{counts:?}");
        assert_eq!((counts[&program(4)].ns, counts[&other].ns, counts[&Key::Idle].count), (4, 3, 1));
    }

    #[test]
    fn what_has_no_name_is_counted_as_such() {
        let other = Key::Task { comm: None, whose: Whose::Command };
        let cpus = [(3, [(other, once(5)), (Key::Idle, Count::default())].into())].into();
        let mut snapshot = Snapshot::new(10, 4, cpus, Lost::default());
        assert_eq!(
            (snapshot.lost.unnamed, snapshot.cpus[&3].len()),
            (1, 1),
            "what did not happen is left out"
        );
        snapshot.add(&snapshot.clone());
        assert_eq!((snapshot.until_ns, snapshot.ns, snapshot.lost.unnamed), (10, 8, 2));
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
