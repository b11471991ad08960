// SPDX-License-Identifier: GPL-2.0-only
//! The times of interruptions for a timeline; of very many only an even share.

use dyntick_explain::{CauseId, Interruption};
use dyntick_model::Map;

/// The maximum number of marks, which is more than a timeline can show.
const MOST: usize = 1 << 20;

/// Interruptions of the recorded CPUs with their causes, in order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// All causes.
    pub causes: Vec<CauseId>,
    /// Its begin, ns on the events' clock, its CPU, and the index of its cause.
    pub marks: Vec<(u64, u32, u32)>,
    /// The number of interruptions for each mark: 1 if all are there.
    pub one_of: u64,
    places: Map<CauseId, u32>,
    seen: u64,
}

impl Default for Marks {
    fn default() -> Self {
        Self { causes: Vec::new(), marks: Vec::new(), one_of: 1, places: Map::default(), seen: 0 }
    }
}

impl Marks {
    pub(crate) fn add(&mut self, one: &Interruption) {
        self.seen += 1;
        if self.marks.len() == MOST {
            self.keep_half();
        }
        if self.seen % self.one_of != 0 {
            return;
        }
        let place = match self.places.get(&one.cause) {
            Some(place) => *place,
            None => {
                let place = self.causes.len() as u32;
                self.causes.push(one.cause.clone());
                self.places.insert(one.cause.clone(), place);
                place
            }
        };
        self.marks.push((one.start_ns, one.cpu, place));
    }

    fn keep_half(&mut self) {
        self.one_of *= 2;
        let mut number = 0;
        self.marks.retain(|_| {
            number += 1;
            number % 2 == 0
        });
    }

    /// Sorts the marks, which come in the order in which causes are found.
    pub(crate) fn in_order(mut self) -> Self {
        // One number compares fastest.
        self.marks.sort_unstable_by_key(|&(ns, cpu, place)| {
            u128::from(ns) << 64 | u128::from(cpu) << 32 | u128::from(place)
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_explain::{Kind, Task, rules};

    #[test]
    fn even_share_is_kept_of_very_many() {
        let one = |start_ns| Interruption {
            cpu: 0,
            start_ns,
            duration_ns: 1,
            nested_ns: 0,
            kind: Kind::Tick,
            cause: CauseId::of(rules::named::UNKNOWN),
            chain: Default::default(),
            functions: [].into(),
            victim: Task { pid: 1, comm: "x".into() },
            other: None,
            stack: None,
            sent: None,
        };
        let mut marks = Marks::default();
        let all = 5 * MOST as u64 / 2;
        (0..all).rev().for_each(|start_ns| marks.add(&one(start_ns)));
        let marks = marks.in_order();
        assert_eq!((marks.one_of, marks.causes.len()), (4, 1));
        assert!(marks.marks.is_sorted() && marks.marks.len() as u64 == all / 4);
        let gaps = marks.marks.windows(2).map(|pair| pair[1].0 - pair[0].0);
        assert_eq!(gaps.max(), Some(4));
    }
}
