// SPDX-License-Identifier: GPL-2.0-only
//! The results that the runner leaves, which are not trusted: `standin/protocol.h`.

use crate::decision::Part;
use crate::files::Elements;
use crate::input::Input;
use crate::layout::{MOST_STATES, Record, VERDICTS};
use crate::reason::{Reason, Reasons};
use std::fs::File;
use std::io::Result;
use std::os::unix::fs::FileExt;

/// The bytes before the choices.
const OUTPUT_BYTES: u64 = 4096;
/// The most parts of one decision: `DYNTICK_MOST_CUTS` and the last.
const MOST_PARTS: u64 = 65;
/// The size of a part.
const PART_BYTES: u64 = 16;
const PAGE: u64 = 4096;

/// A choice: a state with flags.
const STATE: u8 = 15;
const STOP_TICK: u8 = 16;
const ASKED: u8 = 32;
const WAS_CUT: u8 = 64;
/// Flags of a part.
const CUT: u8 = 1;
const RIGHT: u8 = 2;
const GOES_ON: u8 = 4;
const SAME: u8 = 8;

/// The begin of the parts for this number of decisions, bytes.
fn parts_at(decisions: u64) -> u64 {
    OUTPUT_BYTES + decisions.div_ceil(PAGE) * PAGE
}

/// The size of the file for this number of decisions. Pages that are not written take no space.
pub(crate) fn bytes(decisions: u64) -> u64 {
    parts_at(decisions) + decisions * MOST_PARTS * PART_BYTES
}

/// The first words of the output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The number of the decision that was made last, from 1; 0 for none.
    pub decision: u64,
    /// The number of parts of sleeps that were cut.
    pub parts: u64,
    /// The reason for an early end; 0 for none.
    pub failure: u64,
    /// A number that belongs to it.
    pub value: i64,
}

/// The counts of sleeps that were not cut, by state and verdict.
pub(crate) type Counts = [[u64; VERDICTS]; MOST_STATES];

impl Ending {
    /// Reads the first words.
    pub fn read(output: &File) -> Result<Self> {
        let mut bytes = [0; 32];
        output.read_exact_at(&mut bytes, 0)?;
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]));
        Ok(Self { decision: word(0), parts: word(1), failure: word(2), value: word(3) as i64 })
    }
}

/// The choices of a governor on decisions.
pub struct Outcome {
    file: File,
    /// With feedback parts come as their sleeps end.
    pub(crate) feedback: bool,
    pub(crate) counts: Counts,
    decisions: u64,
    parts: u64,
    states: usize,
}

/// A part of a sleep that was cut.
#[derive(Default)]
pub(crate) struct CutPart {
    pub state: usize,
    pub stop_tick: bool,
    pub asked: bool,
    pub duration_ns: u64,
    /// The verdict on the last part of the sleep.
    pub last: Option<Last>,
}

/// The verdict on the last part of a sleep that was cut.
#[derive(Clone, Copy, Default)]
pub(crate) struct Last {
    /// Its state is the oracle's.
    pub right: bool,
    /// Its state is the recorded one.
    pub same: bool,
    /// The governor would have slept on.
    pub goes_on: bool,
}

impl Outcome {
    /// Reads an output; none if it is not what the runner writes.
    pub(crate) fn read(file: File, ending: &Ending, input: &Input, feedback: bool) -> Result<Option<Self>> {
        let most = input.decisions * MOST_PARTS;
        if ending.parts > most || ending.decision != input.decisions {
            return Ok(None);
        }
        let mut counts = [[0; VERDICTS]; MOST_STATES];
        let mut words = Elements::<8>::new(&file, 32, (MOST_STATES * VERDICTS) as u64);
        for count in counts.iter_mut().flatten() {
            *count = words.next()?.map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        }
        let known = counts.iter().take(input.states).flatten();
        let sum = known.fold(0, |sum: u64, count| sum.saturating_add(*count));
        if sum > input.decisions || counts.iter().skip(input.states).flatten().any(|count| *count > 0) {
            return Ok(None);
        }
        let (decisions, parts, states) = (input.decisions, ending.parts, input.states);
        let outcome = Self { file, feedback, counts, decisions, parts, states };
        let mut last = 0;
        let mut all = outcome.cut_parts();
        while let Some(part) = all.next()? {
            let Some(part) = part else { return Ok(None) };
            last += u64::from(part.last.is_some());
        }
        let is_complete = sum + last == outcome.decisions;
        Ok(is_complete.then_some(outcome))
    }

    /// The parts of the sleeps that were cut.
    pub(crate) fn cut_parts(&self) -> CutParts<'_> {
        CutParts {
            elements: Elements::new(&self.file, parts_at(self.decisions), self.parts),
            states: self.states,
        }
    }

    /// The last choices from a multiple of [`Input::MARK`] on.
    fn choices(&self, mark: usize) -> Elements<'_, 1> {
        let first = (mark as u64 * Input::MARK).min(self.decisions);
        Elements::new(&self.file, OUTPUT_BYTES + first, self.decisions - first)
    }

    /// The last choices of some decisions, as bytes.
    fn block(&self, mark: usize) -> Result<Vec<u8>> {
        let first = (mark as u64 * Input::MARK).min(self.decisions);
        let mut bytes = vec![0; (self.decisions - first).min(Input::MARK) as usize];
        self.file.read_exact_at(&mut bytes, OUTPUT_BYTES + first)?;
        Ok(bytes)
    }

    /// Calls `each` with every decision and its choices, in order of time.
    ///
    /// # Errors
    /// An error of reading the temporary files.
    pub fn each_part(&self, input: &Input, mut each: impl FnMut(&Record, &Part)) -> Result<()> {
        let (mut records, mut choices, mut parts) = (input.all(), self.choices(0), self.cut_parts());
        for decision in 0..self.decisions as u32 {
            let (Some(record), Some([choice])) = (records.next()?, choices.next()?) else { break };
            let mut part = Part {
                select_ns: record.select_ns,
                decision,
                state: usize::from(choice & STATE).min(self.states.saturating_sub(1)),
                stop_tick: choice & STOP_TICK != 0,
                asked: choice & ASKED != 0,
                is_cut: false,
            };
            if choice & WAS_CUT == 0 {
                each(&record, &part);
                continue;
            }
            while let Some(Some(cut)) = parts.next()? {
                let CutPart { state, stop_tick, asked, .. } = cut;
                let is_cut = cut.last.is_none();
                each(&record, &Part { state, is_cut, stop_tick, asked, ..part.clone() });
                part.select_ns = part.select_ns.saturating_add(cut.duration_ns);
                if !is_cut {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Calls `each` with the decisions for which another one chose another state at last: the number, the decision,
    /// this one's state and the other's.
    ///
    /// # Errors
    /// An error of reading the temporary files.
    pub fn each_difference(
        &self,
        other: &Outcome,
        input: &Input,
        mut each: impl FnMut(u64, &Record, usize, usize),
    ) -> Result<()> {
        for mark in 0..input.marks.len() {
            let (ours, theirs) = (self.block(mark)?, other.block(mark)?);
            if ours == theirs {
                continue;
            }
            let first = mark as u64 * Input::MARK;
            let mut records = input.after_mark(mark);
            for (number, (one, two)) in (first..).zip(ours.iter().zip(&theirs)) {
                let (one, two) = (usize::from(one & STATE), usize::from(two & STATE));
                if let Some(record) = records.next()?.filter(|_| one != two) {
                    each(number, &record, one, two);
                }
            }
        }
        Ok(())
    }

    /// The same with the recorded states, where they are known, and the reason for each. `others` are the choices of
    /// the same governor with other timers that the trace allows.
    ///
    /// # Errors
    /// An error of reading the temporary files.
    pub fn each_difference_from_recorded(
        &self,
        others: &[&Outcome],
        input: &Input,
        mut each: impl FnMut(u64, &Record, usize, usize, Reason),
    ) -> Result<()> {
        let (mut records, mut choices) = (input.all(), self.choices(0));
        let mut others: Vec<_> = others.iter().map(|other| other.choices(0)).collect();
        let (mut number, mut reasons) = (0, Reasons::default());
        while let (Some(record), Some([choice])) = (records.next()?, choices.next()?) {
            let state = usize::from(choice & STATE);
            let mut is_chosen_with_others = false;
            for other in &mut others {
                let other = other.next()?.map(|[choice]| usize::from(choice & STATE));
                is_chosen_with_others |= other == record.chosen();
            }
            let differs = record.chosen().filter(|chosen| *chosen != state);
            let reason = reasons.next(&record, differs.is_some(), is_chosen_with_others);
            if let Some((chosen, reason)) = differs.zip(reason) {
                each(number, &record, state, chosen, reason);
            }
            number += 1;
        }
        Ok(())
    }
}

/// Parts of sleeps that were cut, one after another.
pub(crate) struct CutParts<'a> {
    elements: Elements<'a, 16>,
    states: usize,
}

impl CutParts<'_> {
    /// The next one; within, none if it names an unknown state. None at the end.
    pub fn next(&mut self) -> Result<Option<Option<CutPart>>> {
        let Some(bytes) = self.elements.next()? else { return Ok(None) };
        let duration_ns = u64::from_ne_bytes(std::array::from_fn(|byte| bytes[byte]));
        let (choice, flags) = (bytes[12], bytes[13]);
        let part = CutPart {
            state: usize::from(choice & STATE),
            stop_tick: choice & STOP_TICK != 0,
            asked: choice & ASKED != 0,
            duration_ns,
            last: (flags & CUT == 0).then_some(Last {
                right: flags & RIGHT != 0,
                same: flags & SAME != 0,
                goes_on: flags & GOES_ON != 0,
            }),
        };
        Ok(Some(Some(part).filter(|part| part.state < self.states)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::RIGHT as RIGHT_VERDICT;
    use crate::{Decision, Settings, Sorter};
    use dyntick_idle::{State, States};

    const CUT_CHOICE: u8 = 1 | WAS_CUT;

    /// Three decisions of a CPU, the second of which was cut, with two states.
    fn input() -> Input {
        let state = State {
            name: "C1".to_owned(),
            exit_latency_ns: 1,
            target_residency_ns: 1,
            leaving_ns: 1,
            polling: false,
            disabled: false,
        };
        let mut sorter = Sorter::new(&States(vec![state; 2]), 250, Settings::new(), false).unwrap();
        for select_ns in [100, 200, 300] {
            let (wake_ns, exit_ns) = (select_ns + 50, select_ns + 60);
            sorter.add(Decision { select_ns, wake_ns, exit_ns, ..Decision::default() }).unwrap();
        }
        sorter.finish().unwrap().seen
    }

    /// The results that the runner would leave, changed by `change`.
    fn outcome(change: impl FnOnce(&File)) -> Option<Outcome> {
        let input = input();
        let file = crate::files::temporary().unwrap();
        file.set_len(bytes(3)).unwrap();
        let put = |at: u64, bytes: &[u8]| file.write_all_at(bytes, at).unwrap();
        put(0, &3u64.to_ne_bytes());
        put(8, &2u64.to_ne_bytes());
        put(32 + 8 * (VERDICTS + RIGHT_VERDICT) as u64, &2u64.to_ne_bytes());
        put(OUTPUT_BYTES, &[1 | STOP_TICK, CUT_CHOICE, 1]);
        let part = |duration_ns: u64, state: u8, flags: u8| {
            [&duration_ns.to_ne_bytes()[..], &1u32.to_ne_bytes(), &[state, flags, 0, 0]].concat()
        };
        put(parts_at(3), &[part(20, ASKED, CUT), part(30, 1 | STOP_TICK, RIGHT)].concat());
        change(&file);
        let ending = Ending::read(&file).unwrap();
        Outcome::read(file, &ending, &input, false).unwrap()
    }

    #[test]
    fn parts_follow_one_another() {
        let outcome = outcome(|_| ()).unwrap();
        let mut seen = Vec::new();
        outcome
            .each_part(&input(), |record, part| {
                assert_eq!(record.idle_ns, 50);
                seen.push((
                    part.decision,
                    part.select_ns,
                    part.state,
                    part.stop_tick,
                    part.asked,
                    part.is_cut,
                ));
            })
            .unwrap();
        let expected = [
            (0, 100, 1, true, false, false),
            (1, 200, 0, false, true, true),
            (1, 220, 1, true, false, false),
            (2, 300, 1, false, false, false),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn the_output_is_not_trusted() {
        let after = |at: u64, bytes: &'static [u8]| outcome(|file| file.write_all_at(bytes, at).unwrap());
        assert!(after(0, &[3]).is_some(), "unchanged");
        for (what, at, bytes) in [
            ("fewer decisions", 0, &[2][..]),
            ("more parts than were made", 8, &[255, 255]),
            ("another number of sleeps", 32, &[1]),
            ("counts beyond all sums", 32 + 8, &[255; 16]),
            ("counts of an unknown state", 32 + 8 * 2 * VERDICTS as u64, &[1]),
            ("an unknown state of a part", parts_at(3) + 12, &[7]),
            ("no last part", parts_at(3) + 16 + 13, &[CUT]),
        ] {
            assert!(after(at, bytes).is_none(), "{what}");
        }
        // A choice of an unknown state leads to no other memory.
        let outcome = after(OUTPUT_BYTES, &[15]).unwrap();
        outcome.each_part(&input(), |_, part| assert!(part.state < 2)).unwrap();
    }
}
