// SPDX-License-Identifier: GPL-2.0-only
//! The events of several CPUs in the order of time, decoded page by page: memory for one block of each CPU is enough.

use super::{DecodeError, Decoder, Lost, Metadata, RingError, SymbolTable};
use dyntick_model::Event;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;

/// Raw pages of some CPUs, a block of them at a time.
pub trait Blocks {
    /// Replaces `pages` by the next block of a CPU. Returns false if there is none.
    ///
    /// # Errors
    /// The damage, in words.
    fn next(&mut self, cpu: u32, pages: &mut Vec<u8>) -> Result<bool, String>;
}

/// The events that are missing from a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Events that were lost, by CPU: refused by a full buffer, or missing between pages.
    pub lost: BTreeMap<u32, u64>,
    /// Records of no recorded event or with impossible contents.
    pub undecoded: u64,
}

/// Hands over each event, in order of time; of the same time the lowest CPU first, and of one CPU in the order in which
/// they were recorded. Ends early if `each` says so; missing events are then counted up to there.
///
/// # Errors
/// Damage.
pub fn merge(
    metadata: &Metadata,
    blocks: &mut dyn Blocks,
    mut each: impl FnMut(&Event) -> ControlFlow<()>,
) -> Result<Merged, DecodeError> {
    let decoder = Decoder::new(&metadata.formats, SymbolTable::new(&metadata.symbols))?;
    let mut reader = Reader { decoder, blocks, page_size: metadata.page_size, undecoded: 0 };
    let mut cursors: Vec<Cursor> = metadata.stats.keys().map(|cpu| Cursor::new(*cpu)).collect();
    let mut order = BinaryHeap::new();
    for (index, cursor) in cursors.iter_mut().enumerate() {
        reader.fill(cursor)?;
        order.extend(cursor.next().map(|event| Reverse((event.ts, index))));
    }
    while let Some(mut first) = order.peek_mut() {
        let Reverse((ts, index)) = &mut *first;
        let cursor = &mut cursors[*index];
        if cursor.next().is_some_and(|event| each(event).is_break()) {
            break;
        }
        cursor.done += 1;
        reader.fill(cursor)?;
        match cursor.next() {
            Some(event) => *ts = event.ts,
            None => _ = PeekMut::pop(first),
        }
    }
    Ok(reader.finish(metadata, &cursors))
}

/// The position in the trace of one CPU.
struct Cursor {
    cpu: u32,
    pages: Vec<u8>,
    /// The offset of the next page in them.
    at: usize,
    /// Bytes of the blocks before.
    before: usize,
    /// The events of the page before that.
    events: Vec<Event>,
    /// The number of them that were handed over.
    done: usize,
    last_ns: u64,
    lost: Lost,
}

impl Cursor {
    fn new(cpu: u32) -> Self {
        let (pages, events) = (Vec::new(), Vec::new());
        Self { cpu, pages, at: 0, before: 0, events, done: 0, last_ns: 0, lost: Lost::default() }
    }

    fn next(&self) -> Option<&Event> {
        self.events.get(self.done)
    }
}

struct Reader<'a> {
    decoder: Decoder,
    blocks: &'a mut dyn Blocks,
    page_size: usize,
    undecoded: u64,
}

impl Reader<'_> {
    /// Makes sure that the next event of a CPU is there, if it has one.
    fn fill(&mut self, cursor: &mut Cursor) -> Result<(), DecodeError> {
        while cursor.next().is_none() {
            let Cursor { cpu, pages, at, before, events, done, last_ns, lost } = cursor;
            let cpu = *cpu;
            events.clear();
            *done = 0;
            let damaged = |source| DecodeError::Ring { cpu, source };
            if *at >= pages.len() {
                *before = before.saturating_add(pages.len());
                *at = 0;
                if !self.blocks.next(cpu, pages).map_err(DecodeError::Block)? {
                    pages.clear();
                    return Ok(());
                }
                if pages.len() % self.page_size != 0 {
                    let (bytes, page) = (pages.len(), self.page_size);
                    return Err(damaged(RingError::NotWholePages { bytes, page }));
                }
                continue;
            }
            let page = &pages[*at..*at + self.page_size];
            // The kernel's records never go back in time; those of a file may.
            let decoded = self.decoder.decode(cpu, page, self.page_size, |mut event| {
                *last_ns = event.ts.max(*last_ns);
                event.ts = *last_ns;
                events.push(event);
            });
            let decoded = decoded.map_err(|error| damaged(error.behind(*before + *at)))?;
            *at += self.page_size;
            self.undecoded += decoded.undecoded;
            lost.counted = lost.counted.saturating_add(decoded.lost.counted);
            lost.uncounted_places += decoded.lost.uncounted_places;
        }
        Ok(())
    }

    fn finish(self, metadata: &Metadata, cursors: &[Cursor]) -> Merged {
        let lost = |Cursor { cpu, lost, .. }: &Cursor| {
            let refused = metadata.stats.get(cpu).map_or(0, |stats| stats.lost);
            (*cpu, refused.max(lost.counted.saturating_add(lost.uncounted_places)))
        };
        Merged { lost: cursors.iter().map(lost).collect(), undecoded: self.undecoded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuStats, Recording};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const PAGE: usize = 1024;

    /// Hands out a page at a time.
    struct Pages(BTreeMap<u32, VecDeque<Vec<u8>>>);

    impl Blocks for Pages {
        fn next(&mut self, cpu: u32, pages: &mut Vec<u8>) -> Result<bool, String> {
            let next = self.0.get_mut(&cpu).and_then(VecDeque::pop_front);
            pages.clear();
            pages.extend(next.iter().flatten());
            Ok(next.is_some())
        }
    }

    /// A page of events of one word, with these times between them.
    fn page(begin: u64, deltas: &[u32]) -> Vec<u8> {
        let mut page = begin.to_le_bytes().to_vec();
        page.extend((deltas.len() as u64 * 8).to_le_bytes());
        for delta in deltas {
            page.extend((1 | delta << 5).to_le_bytes());
            page.extend([7, 0, 0, 0]);
        }
        page.resize(PAGE, 0);
        page
    }

    fn metadata(cpus: u32) -> Metadata {
        let format = "ID: 7\n\tfield:int common_pid;\toffset:2;\tsize:2;\tsigned:0;\n";
        let formats = [("irq_vectors:local_timer_entry".to_owned(), format.to_owned())].into();
        let stats = (0..cpus).map(|cpu| (cpu, CpuStats::default())).collect();
        Metadata { page_size: PAGE, formats, stats, ..Metadata::default() }
    }

    fn merged(cpus: &[Vec<Vec<u8>>]) -> Result<(Vec<Event>, Merged), DecodeError> {
        let pages = (0..).zip(cpus).map(|(cpu, pages)| (cpu, pages.iter().cloned().collect())).collect();
        let mut events = Vec::new();
        let merged = merge(&metadata(cpus.len() as u32), &mut Pages(pages), |event| {
            events.push(event.clone());
            ControlFlow::Continue(())
        })?;
        Ok((events, merged))
    }

    #[test]
    fn incomplete_and_damaged_pages_are_named() {
        let said = |cpus: &[Vec<Vec<u8>>]| merged(cpus).unwrap_err().to_string();
        assert!(said(&[vec![vec![0; 100]]]).contains("100 bytes"));
        let mut damaged = page(0, &[1]);
        damaged[16] = 20;
        let told = said(&[vec![page(0, &[1]), damaged.clone()], vec![page(0, &[1])]]);
        assert!(told.starts_with("CPU 0: raw trace page at byte 1024"), "{told}");
    }

    #[test]
    fn merge_ends_when_the_receiver_breaks() {
        let mut pages = Pages([(0, [page(5, &[0, 1, 2])].into())].into());
        let mut seen = 0;
        merge(&metadata(1), &mut pages, |_| {
            seen += 1;
            if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!(seen, 2);
    }

    proptest! {
        #[test]
        fn merge_equals_decoding_all_and_sorting(
            cpus in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(0u32..5, 0..20), 0..4), 1..4
            )
        ) {
            let pages: Vec<Vec<Vec<u8>>> = cpus
                .iter()
                .map(|pages| {
                    let mut begin = 1;
                    let page = |deltas: &Vec<u32>| {
                        let page = page(begin, deltas);
                        begin += u64::from(deltas.iter().sum::<u32>());
                        page
                    };
                    pages.iter().map(page).collect()
                })
                .collect();
            let raw = (0..).zip(&pages).map(|(cpu, pages)| (cpu, pages.concat())).collect();
            let recording = Recording { metadata: metadata(cpus.len() as u32), raw };
            let decoded = recording.decode(u64::MAX).unwrap();
            let (events, merged) = merged(&pages).unwrap();
            prop_assert_eq!(events, decoded.events);
            prop_assert_eq!((merged.lost, merged.undecoded), (decoded.lost, decoded.undecoded));
        }
    }
}
