// SPDX-License-Identifier: GPL-2.0-only
//! Instructions by function.

use std::collections::HashMap;

/// The number of instructions executed in each function, by the function's number. Addresses that
/// belong to no function are counted under none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    functions: Vec<(Option<u32>, u64)>,
    /// The positions of the functions, once they are many.
    places: HashMap<Option<u32>, usize>,
    total: u64,
    latest: usize,
}

/// The most functions that are searched one by one, which is faster for the few of most spans.
const FEW: usize = 32;

impl Counts {
    /// More instructions in a function.
    pub fn add(&mut self, function: Option<u32>, instructions: u64) {
        self.total += instructions;
        match self.place(function) {
            Some(place) => {
                (self.latest, self.functions[place].1) = (place, self.functions[place].1 + instructions)
            }
            None => {
                self.latest = self.functions.len();
                self.functions.push((function, instructions));
                self.note_places();
            }
        }
    }

    /// Takes an instruction back, if there is one.
    pub fn take_back(&mut self, function: Option<u32>) {
        if let Some(place) = self.place(function).filter(|place| self.functions[*place].1 > 0) {
            self.functions[place].1 -= 1;
            self.total -= 1;
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Counts) {
        other.functions.iter().for_each(|(function, instructions)| self.add(*function, *instructions));
    }

    /// All instructions.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The functions with their instructions, in the order in which they were first executed.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Option<u32>, u64)> {
        self.functions.iter().copied()
    }

    fn note_places(&mut self) {
        let begin = match self.functions.len() {
            0..=FEW => return,
            length if length == FEW + 1 => 0,
            length => length - 1,
        };
        let new = self.functions.iter().enumerate().skip(begin);
        self.places.extend(new.map(|(place, (function, _))| (*function, place)));
    }

    /// Execution mostly stays where it is.
    fn place(&self, function: Option<u32>) -> Option<usize> {
        let here = self.functions.get(self.latest).is_some_and(|(latest, _)| *latest == function);
        if here {
            return Some(self.latest);
        }
        if self.functions.len() > FEW {
            self.places.get(&function).copied()
        } else {
            self.functions.iter().position(|(known, _)| *known == function)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_functions_are_counted_as_few_are() {
        let mut counts = Counts::default();
        for round in 0..3 {
            (0..100).for_each(|function| counts.add(Some(function), u64::from(function) + round));
        }
        counts.take_back(Some(99));
        let expected = |function: u32| u64::from(function) * 3 + 3 - u64::from(function == 99);
        assert!(counts.iter().all(|(function, count)| count == expected(function.unwrap())));
        assert_eq!((counts.iter().count(), counts.total()), (100, 3 * 4950 + 300 - 1));
    }
}
