// SPDX-License-Identifier: GPL-2.0-only
//! Puts decisions in order of time over all CPUs, in files: each CPU's come in order, but a CPU that sleeps for long
//! has its next decision much later than the others. Memory for some decisions of each CPU is enough.

use crate::decision::Decision;
use crate::input::{Input, Inputs};
use crate::layout::{
    Bytes, INPUT_BYTES, MOST_CPUS, MOST_DECISIONS, MOST_STATES, RECORD_BYTES, REST_BYTES, Settings, end,
    ends, head, is_long,
};
use crate::{ReplayError, files};
use dyntick_idle::States;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The decisions of a CPU that are kept in memory.
const BLOCK: usize = 256;
/// The bytes of the end of a sleep and of the rest of its decision, before its records.
const BEFORE_BYTES: usize = 8 + REST_BYTES;
/// The assumptions about timers that no event shows: what was seen, the earliest, the latest.
const ASSUMPTIONS: usize = 3;

/// Decisions on their way to the runner.
pub struct Sorter {
    states: States,
    hz: u32,
    settings: Settings,
    /// The number of records for each decision: one for each assumption about timers.
    assumptions: usize,
    cpus: BTreeMap<u32, OfCpu>,
    file: File,
    /// The bytes in the file.
    written: u64,
    decisions: u64,
    known: u64,
}

/// The decisions of a CPU.
#[derive(Default)]
struct OfCpu {
    /// The last one: its record needs the next one.
    last: Option<Decision>,
    buffer: Vec<u8>,
    /// The blocks in the file: begin and length.
    blocks: Vec<(u64, usize)>,
}

impl Sorter {
    /// Creates one for governors that choose between these states, of kernels with `hz` ticks per second, within the
    /// limits of each CPU. With `bounds` the decisions are kept under all assumptions about timers.
    ///
    /// # Errors
    /// No temporary file, or more states than a kernel has.
    pub fn new(states: &States, hz: u32, settings: Settings, bounds: bool) -> Result<Self, ReplayError> {
        if states.0.len() > MOST_STATES {
            return Err(ReplayError::TooManyStates(states.0.len()));
        }
        Ok(Self {
            states: states.clone(),
            hz,
            settings,
            assumptions: if bounds { ASSUMPTIONS } else { 1 },
            cpus: BTreeMap::new(),
            file: files::temporary()?,
            written: 0,
            decisions: 0,
            known: 0,
        })
    }

    /// Adds a decision, which must come after all others of its CPU.
    ///
    /// # Errors
    /// Too many decisions, a number of a CPU that no kernel has, or no space in the temporary folder.
    pub fn add(&mut self, decision: Decision) -> Result<(), ReplayError> {
        if decision.cpu >= MOST_CPUS {
            return Err(ReplayError::NoSuchCpu(decision.cpu));
        }
        if self.decisions >= MOST_DECISIONS {
            return Err(ReplayError::TooMany);
        }
        self.decisions += 1;
        self.known += u64::from(decision.chosen.is_some());
        let cpu = self.cpus.entry(decision.cpu).or_default();
        let next_ns = decision.select_ns;
        if let Some(last) = cpu.last.replace(decision) {
            cpu.put(&last, next_ns, self.assumptions, &self.states);
            if cpu.buffer.len() >= BLOCK * entry_bytes(self.assumptions) {
                cpu.flush(&self.file, &mut self.written)?;
            }
        }
        Ok(())
    }

    /// The decisions in order of time, under each assumption.
    ///
    /// # Errors
    /// No space in the temporary folder.
    pub fn finish(mut self) -> Result<Inputs, ReplayError> {
        for cpu in self.cpus.values_mut() {
            if let Some(last) = cpu.last.take() {
                cpu.put(&last, u64::MAX, self.assumptions, &self.states);
            }
            cpu.flush(&self.file, &mut self.written)?;
        }
        let mut outputs = Vec::new();
        for _ in 0..self.assumptions {
            let mut file = written_to(files::temporary()?);
            file.seek(SeekFrom::Start(INPUT_BYTES as u64))?;
            outputs.push(file);
        }
        let mut rest = written_to(files::temporary()?);
        let order = Order::of(&self)?;
        let records = order.write(&mut outputs, &mut rest)?;
        let rest = Arc::new(rest.into_inner().map_err(|error| error.into_error())?);
        let mut inputs = Vec::new();
        for (file, count) in outputs.into_iter().zip(records.counts) {
            let file = file.into_inner().map_err(|error| error.into_error())?;
            file.write_all_at(&head(&self.states, self.hz, count, &self.settings), 0)?;
            inputs.push(Input {
                file: files::only_readable(&file)?,
                rest: rest.clone(),
                settings: self.settings.clone(),
                records: count,
                decisions: self.decisions,
                known: self.known,
                states: self.states.0.len(),
                marks: Vec::new(),
            });
        }
        inputs.iter_mut().zip(records.marks).for_each(|(input, marks)| input.marks = marks);
        let mut inputs = inputs.into_iter();
        let seen = inputs.next().ok_or(ReplayError::TooMany)?;
        Ok(Inputs { seen, earliest: inputs.next(), latest: inputs.next() })
    }
}

fn written_to(file: File) -> BufWriter<File> {
    BufWriter::with_capacity(1 << 20, file)
}

fn entry_bytes(assumptions: usize) -> usize {
    BEFORE_BYTES + assumptions * 2 * RECORD_BYTES
}

impl OfCpu {
    fn put(&mut self, decision: &Decision, next_ns: u64, assumptions: usize, states: &States) {
        // At the same time the end of a sleep comes before a choice, so no sleep may take no time.
        self.buffer.extend(decision.exit_ns.max(decision.select_ns + 1).to_ne_bytes());
        let all = [decision.seen, decision.earliest, decision.latest];
        let all = all.map(|lengths| Bytes::of(decision, lengths, next_ns, states));
        self.buffer.extend(all[0].rest);
        for bytes in &all[..assumptions] {
            self.buffer.extend(bytes.record);
            self.buffer.extend(bytes.times);
        }
    }

    fn flush(&mut self, file: &File, written: &mut u64) -> Result<(), ReplayError> {
        if !self.buffer.is_empty() {
            file.write_all_at(&self.buffer, *written)?;
            self.blocks.push((*written, self.buffer.len()));
            *written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// The position among the decisions of a CPU.
struct Cursor<'a> {
    cpu: u16,
    file: &'a File,
    blocks: std::slice::Iter<'a, (u64, usize)>,
    block: Vec<u8>,
    at: usize,
    entry: usize,
}

impl<'a> Cursor<'a> {
    fn new(cpu: u32, own: &'a OfCpu, sorter: &'a Sorter) -> Result<Self, ReplayError> {
        let (file, blocks) = (&sorter.file, own.blocks.iter());
        let entry = entry_bytes(sorter.assumptions);
        let mut cursor = Self { cpu: cpu as u16, file, blocks, block: Vec::new(), at: 0, entry };
        cursor.fill()?;
        Ok(cursor)
    }

    fn fill(&mut self) -> Result<(), ReplayError> {
        if self.at >= self.block.len() {
            self.at = 0;
            let (begin, length) = self.blocks.next().copied().unwrap_or_default();
            self.block.resize(length, 0);
            self.file.read_exact_at(&mut self.block, begin)?;
        }
        Ok(())
    }

    fn next(&mut self) -> Result<(), ReplayError> {
        self.at += self.entry;
        self.fill()
    }

    fn word(&self, offset: usize) -> Option<u64> {
        let bytes = self.block.get(self.at + offset..)?.first_chunk()?;
        Some(u64::from_ne_bytes(*bytes))
    }

    /// The end of the sleep, ns.
    fn end_ns(&self) -> Option<u64> {
        self.word(0)
    }

    /// The time of the choice, ns.
    fn select_ns(&self) -> Option<u64> {
        self.word(BEFORE_BYTES)
    }

    fn rest(&self) -> &[u8] {
        &self.block[self.at + BEFORE_BYTES - REST_BYTES..self.at + BEFORE_BYTES]
    }

    /// The records, each with its times if they did not fit into it.
    fn records(&self) -> impl Iterator<Item = [[u8; RECORD_BYTES]; 2]> + '_ {
        let entry = &self.block[self.at + BEFORE_BYTES..self.at + self.entry];
        let record = |bytes: &[u8]| bytes.first_chunk().copied().unwrap_or([0; RECORD_BYTES]);
        entry.chunks_exact(2 * RECORD_BYTES).map(move |bytes| [record(bytes), record(&bytes[RECORD_BYTES..])])
    }
}

/// The time of a choice or of the end of a sleep, that it is a choice, and the cursor: a governor may have data that
/// CPUs share.
type Step = Reverse<(u64, bool, usize)>;

struct Order<'a> {
    cursors: Vec<Cursor<'a>>,
    steps: BinaryHeap<Step>,
}

/// The records that were written under each assumption.
struct Written {
    counts: Vec<u64>,
    /// The number of the record of each [`Input::MARK`]th decision.
    marks: Vec<Vec<u64>>,
}

impl<'a> Order<'a> {
    fn of(sorter: &'a Sorter) -> Result<Self, ReplayError> {
        let cursors = sorter.cpus.iter().map(|(cpu, own)| Cursor::new(*cpu, own, sorter));
        let cursors: Vec<Cursor<'a>> = cursors.collect::<Result<_, _>>()?;
        let first = |(index, cursor): (usize, &Cursor<'_>)| Some(Reverse((cursor.select_ns()?, true, index)));
        let steps = cursors.iter().enumerate().filter_map(first).collect();
        Ok(Self { cursors, steps })
    }

    fn write(
        mut self,
        outputs: &mut [BufWriter<File>],
        rest: &mut BufWriter<File>,
    ) -> Result<Written, ReplayError> {
        let mut written = Written { counts: vec![0; outputs.len()], marks: vec![Vec::new(); outputs.len()] };
        let mut decisions = 0;
        while let Some(Reverse((_, is_choice, index))) = self.steps.pop() {
            let cursor = &mut self.cursors[index];
            if !is_choice {
                let record = end(cursor.cpu);
                for (output, count) in outputs.iter_mut().zip(&mut written.counts) {
                    output.write_all(&record)?;
                    *count += 1;
                }
                self.steps.extend(cursor.select_ns().map(|at| Reverse((at, true, index))));
                continue;
            }
            let end = (cursor.end_ns().unwrap_or_default(), false, index);
            let is_next = self.steps.peek().is_none_or(|Reverse(next)| end <= *next);
            rest.write_all(cursor.rest())?;
            let places = written.counts.iter_mut().zip(&mut written.marks);
            for (([mut record, times], output), (count, marks)) in
                cursor.records().zip(&mut *outputs).zip(places)
            {
                if decisions % Input::MARK == 0 {
                    marks.push(*count);
                }
                if is_next {
                    ends(&mut record);
                }
                output.write_all(&record)?;
                *count += 1;
                if is_long(&record) {
                    output.write_all(&times)?;
                    *count += 1;
                }
            }
            decisions += 1;
            cursor.next()?;
            if is_next {
                self.steps.extend(cursor.select_ns().map(|at| Reverse((at, true, index))));
            } else {
                self.steps.push(Reverse(end));
            }
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CPU and the kind of each record: a choice whose sleep ends at once, another choice, or the end of its sleep.
    fn order(decisions: &[Decision]) -> Vec<(u32, char)> {
        let mut sorter = Sorter::new(&States::default(), 250, Settings::new(), false).unwrap();
        decisions.iter().for_each(|decision| sorter.add(decision.clone()).unwrap());
        let input = sorter.finish().unwrap().seen;
        let mut bytes = vec![0; input.records as usize * RECORD_BYTES];
        input.file.read_exact_at(&mut bytes, INPUT_BYTES as u64).unwrap();
        let record = |bytes: &[u8]| {
            let bits = u64::from_ne_bytes(*bytes[24..].first_chunk().unwrap());
            let (cpu, flags) = ((bits >> 36 & 0x1fff) as u32, bits >> 28 & 0xff);
            (cpu, if flags & 16 != 0 { '>' } else { ['<', '='][usize::from(flags & 8 != 0)] })
        };
        bytes.chunks(RECORD_BYTES).map(record).collect()
    }

    fn decision(cpu: u32, select_ns: u64, exit_ns: u64) -> Decision {
        Decision { cpu, select_ns, exit_ns, wake_ns: exit_ns, ..Decision::default() }
    }

    #[test]
    fn choices_and_ends_are_in_order_of_time_with_ends_first() {
        let all = [decision(0, 10, 30), decision(0, 30, 30), decision(1, 20, 40)];
        assert_eq!(order(&all), [(0, '<'), (1, '<'), (0, '>'), (0, '='), (1, '>')]);
    }

    /// A CPU sleeps from begin to end, while another one has more decisions than are kept in memory.
    #[test]
    fn a_sleep_of_the_complete_trace_is_in_order() {
        let many = BLOCK as u64 * 3 + 7;
        let mut all = vec![decision(0, 1, many * 10 + 5)];
        all.extend((1..=many).map(|number| decision(1, number * 10, number * 10 + 3)));
        let order = order(&all);
        assert_eq!(order.len() as u64, many + 2);
        assert_eq!((order[0], order[order.len() - 1]), ((0, '<'), (0, '>')));
        assert!(order[1..order.len() - 1].iter().all(|one| *one == (1, '=')), "{order:?}");
    }

    #[test]
    fn what_no_kernel_has_is_refused() {
        let mut sorter = Sorter::new(&States::default(), 250, Settings::new(), true).unwrap();
        let error = sorter.add(decision(MOST_CPUS, 1, 2)).unwrap_err().to_string();
        assert!(error.contains("CPU 8192"), "{error}");
    }
}
