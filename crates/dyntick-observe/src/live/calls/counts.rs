// SPDX-License-Identifier: GPL-2.0-only
//! The number and the durations of calls of functions.

use super::Pair;
use dyntick_bpf::calls::Calls as Row;
use dyntick_bpf::layout::OCTAVES;
use std::collections::BTreeMap;

/// The calls of one function until one moment, or between two.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCalls {
    /// Its name.
    pub name: String,
    /// The programs that timed them.
    pub pair: Pair,
    /// The counts by CPU, of each measured one.
    pub cpus: BTreeMap<u32, CallCount>,
    /// Begins and ends that the kernel left out, since their own program ran already on the same CPU
    /// (`recursion_misses` of `struct bpf_prog_info`).
    pub missed: u64,
}

/// The calls on one CPU, or on several together.
#[derive(Clone, Debug, PartialEq)]
pub struct CallCount {
    /// The calls that ended here, by octaves of their duration in ns: those from 2 to the power of the place to below
    /// twice that. A duration is from the function's begin to its end, with interrupts and sleep within.
    pub octaves: [u64; OCTAVES],
    /// The total duration, ns.
    pub ns: u64,
    /// The shortest, ns. Of a difference it is known only if it is shorter than all before.
    pub shortest_ns: Option<u64>,
    /// The longest, ns, likewise.
    pub longest_ns: Option<u64>,
    /// The number of calls that began here and have a place in the table of open calls.
    pub began: u64,
    /// The number of calls that began here without a place there; they are not timed.
    pub no_room: u64,
    /// The number of calls that ended here without a known begin: it came before the programs, on a CPU that is not
    /// measured, was missed, or found no room.
    pub unpaired: u64,
}

impl FunctionCalls {
    /// Returns the counts after `earlier`.
    pub fn since(&self, earlier: &FunctionCalls) -> FunctionCalls {
        let none = CallCount::default();
        let cpu = |(cpu, now): (&u32, &CallCount)| (*cpu, now.since(earlier.cpus.get(cpu).unwrap_or(&none)));
        FunctionCalls {
            name: self.name.clone(),
            pair: self.pair,
            cpus: self.cpus.iter().map(cpu).collect(),
            missed: self.missed.saturating_sub(earlier.missed),
        }
    }

    /// Adds what another counted, as of a second run.
    pub fn add(&mut self, other: &FunctionCalls) {
        for (cpu, more) in &other.cpus {
            self.cpus.entry(*cpu).or_default().add(more);
        }
        self.missed += other.missed;
    }

    /// All CPUs together.
    pub fn together(&self) -> CallCount {
        let mut sum = CallCount::default();
        self.cpus.values().for_each(|count| sum.add(count));
        sum
    }
}

impl From<&Row> for CallCount {
    fn from(row: &Row) -> Self {
        let told = |ns: u64| (row.ended > 0).then_some(ns);
        Self {
            octaves: row.octaves,
            ns: row.ns,
            shortest_ns: told(row.shortest),
            longest_ns: told(row.longest),
            began: row.began,
            no_room: row.no_room,
            unpaired: row.unpaired,
        }
    }
}

impl Default for CallCount {
    fn default() -> Self {
        let octaves = [0; OCTAVES];
        Self { octaves, ns: 0, shortest_ns: None, longest_ns: None, began: 0, no_room: 0, unpaired: 0 }
    }
}

impl CallCount {
    /// Returns the number of calls that ended.
    pub fn ended(&self) -> u64 {
        self.octaves.iter().sum()
    }

    /// The mean duration, ns; none if none ended.
    pub fn mean_ns(&self) -> Option<f64> {
        let ended = self.ended();
        (ended > 0).then(|| self.ns as f64 / ended as f64)
    }

    /// The octaves in which there are calls: from which duration on, ns, below which, and how many. The last of
    /// all octaves has no end.
    pub fn octaves(&self) -> impl Iterator<Item = (u64, Option<u64>, u64)> + '_ {
        let of = |(octave, count): (usize, &u64)| {
            let from = if octave == 0 { 0 } else { 1 << octave };
            (from, (octave + 1 < OCTAVES).then(|| 2 << octave), *count)
        };
        self.octaves.iter().enumerate().filter(|(_, count)| **count > 0).map(of)
    }

    /// Adds what another counted.
    pub fn add(&mut self, other: &CallCount) {
        for (sum, more) in self.octaves.iter_mut().zip(other.octaves) {
            *sum += more;
        }
        self.ns += other.ns;
        self.shortest_ns = match (self.shortest_ns, other.shortest_ns) {
            (Some(one), Some(more)) => Some(one.min(more)),
            (one, more) => one.or(more),
        };
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.began += other.began;
        self.no_room += other.no_room;
        self.unpaired += other.unpaired;
    }

    fn since(&self, earlier: &CallCount) -> CallCount {
        let mut octaves = self.octaves;
        for (now, then) in octaves.iter_mut().zip(earlier.octaves) {
            *now = now.saturating_sub(then);
        }
        CallCount {
            octaves,
            ns: self.ns.saturating_sub(earlier.ns),
            shortest_ns: self.shortest_ns.filter(|ns| earlier.shortest_ns.is_none_or(|then| *ns < then)),
            longest_ns: self.longest_ns.filter(|ns| earlier.longest_ns.is_none_or(|then| *ns > then)),
            began: self.began.saturating_sub(earlier.began),
            no_room: self.no_room.saturating_sub(earlier.no_room),
            unpaired: self.unpaired.saturating_sub(earlier.unpaired),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(calls: &[u64]) -> CallCount {
        let number = calls.len() as u64;
        let (shortest, longest) = (calls.iter().min(), calls.iter().max());
        let mut row = Row {
            began: number,
            ended: number,
            ns: calls.iter().sum(),
            shortest: shortest.copied().unwrap_or(0),
            longest: longest.copied().unwrap_or(0),
            no_room: 0,
            unpaired: 0,
            octaves: [0; OCTAVES],
        };
        calls.iter().for_each(|ns| row.octaves[ns.max(&1).ilog2() as usize] += 1);
        CallCount::from(&row)
    }

    #[test]
    fn octaves_with_their_bounds() {
        let octaves: Vec<_> = count(&[1, 2, 3, 700, 1023, 1024, 1 << 47]).octaves().collect();
        let expected = [
            (0, Some(2), 1),
            (2, Some(4), 2),
            (512, Some(1024), 2),
            (1024, Some(2048), 1),
            (1 << 47, None, 1),
        ];
        assert_eq!(octaves, expected);
        assert_eq!(count(&[]), CallCount::default());
    }

    #[test]
    fn what_came_between() {
        let (then, now) = (count(&[100, 900]), count(&[100, 900, 50, 300]));
        let grown = now.since(&then);
        assert_eq!((grown.ended(), grown.ns, grown.mean_ns()), (2, 350, Some(175.0)));
        assert_eq!((grown.shortest_ns, grown.longest_ns), (Some(50), None), "900 is an older one");
        let mut sum = grown.clone();
        sum.add(&count(&[7000]));
        assert_eq!((sum.ended(), sum.shortest_ns, sum.longest_ns), (3, Some(50), Some(7000)));
        assert_eq!(now.since(&now).mean_ns(), None);
    }

    #[test]
    fn cpus_and_runs_add_up() {
        let on = |cpu: u32, calls: &[u64]| FunctionCalls {
            name: "f".to_owned(),
            pair: Pair::Trampoline,
            cpus: [(cpu, count(calls))].into(),
            missed: 1,
        };
        let mut sum = on(0, &[10]);
        sum.add(&on(1, &[20, 30]));
        sum.add(&on(1, &[40]));
        assert_eq!(
            (sum.cpus[&1].ended(), sum.together().ended(), sum.together().ns, sum.missed),
            (3, 4, 100, 3)
        );
        assert_eq!(sum.since(&on(1, &[20])).together().ended(), 3);
    }
}
