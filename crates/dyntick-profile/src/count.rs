// SPDX-License-Identifier: GPL-2.0-only
//! Instructions by function.

/// How many instructions were executed in each function, by the function's number. Addresses that
/// belong to no function are counted under none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    functions: Vec<(Option<u32>, u64)>,
    total: u64,
    latest: usize,
}

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
    pub fn iter(&self) -> impl Iterator<Item = (Option<u32>, u64)> {
        self.functions.iter().copied()
    }

    /// Execution mostly stays where it is.
    fn place(&self, function: Option<u32>) -> Option<usize> {
        let here = self.functions.get(self.latest).is_some_and(|(latest, _)| *latest == function);
        if here { Some(self.latest) } else { self.functions.iter().position(|(known, _)| *known == function) }
    }
}
