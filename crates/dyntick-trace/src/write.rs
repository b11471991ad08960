// SPDX-License-Identifier: GPL-2.0-only
//! The writer of ring-buffer pages: traces that are no pages, e.g. of perf, become some, so that one decoder reads all.

use super::ring::{HEADER, MISSED, MISSED_STORED, PADDING, TIME_EXTEND};

/// The number of bits of a record's time since the one before.
const DELTA_BITS: u32 = 27;
/// The number of words of the longest record whose length is in its first word.
const MOST_WORDS: usize = 28;
/// The space behind the records for the number of lost events, bytes.
const LOST: usize = 8;
/// The most that a record takes beside its own bytes: a longer time before it, and its first and second word.
const BESIDE: usize = 16;

/// A page of one CPU that is being written.
#[derive(Clone, Debug)]
pub struct PageWriter {
    size: usize,
    /// The records; empty if the page has none yet.
    records: Vec<u8>,
    begin_ns: u64,
    last_ns: u64,
    /// The number of events that were lost before this page.
    lost: u64,
}

impl PageWriter {
    /// Creates a writer of pages of this size, bytes.
    pub fn new(size: usize) -> Self {
        Self { size, records: Vec::new(), begin_ns: 0, last_ns: 0, lost: 0 }
    }

    /// The number of bytes of the longest record that a page of this size takes.
    pub fn longest(size: usize) -> usize {
        size.saturating_sub(HEADER + LOST + BESIDE)
    }

    /// Adds a record; `full` takes the page before it if that has no space left. A time before the one of the last
    /// record becomes that one. Returns false for a record that is too long for any page.
    pub fn push(&mut self, ns: u64, record: &[u8], mut full: impl FnMut(&[u8])) -> bool {
        let bytes = record.len().next_multiple_of(4);
        if bytes > Self::longest(self.size) || record.is_empty() {
            return false;
        }
        if self.records.len() + bytes + BESIDE > self.size - HEADER - LOST {
            self.finish(&mut full);
        }
        let ns = ns.max(self.last_ns);
        if self.records.is_empty() {
            self.begin_ns = ns;
            self.last_ns = ns;
        }
        let mut delta = ns - self.last_ns;
        if delta >> DELTA_BITS != 0 {
            self.word(TIME_EXTEND | (delta as u32 & ((1 << DELTA_BITS) - 1)) << 5);
            self.word((delta >> DELTA_BITS) as u32);
            delta = 0;
        }
        match bytes / 4 {
            words @ 1..=MOST_WORDS => self.word(words as u32 | (delta as u32) << 5),
            _ => {
                self.word((delta as u32) << 5);
                self.word(bytes as u32 + 4);
            }
        }
        self.records.extend_from_slice(record);
        self.records.resize(self.records.len() + bytes - record.len(), 0);
        self.last_ns = ns;
        true
    }

    /// Notes events that were lost after the last record; `full` takes the page before the gap.
    pub fn lose(&mut self, count: u64, full: impl FnMut(&[u8])) {
        self.finish(full);
        self.lost = self.lost.saturating_add(count);
    }

    /// Hands the last page to `full`, if it has any record.
    pub fn finish(&mut self, mut full: impl FnMut(&[u8])) {
        if self.records.is_empty() {
            return;
        }
        let flags = if self.lost > 0 { MISSED | MISSED_STORED } else { 0 };
        let mut page = self.begin_ns.to_le_bytes().to_vec();
        page.reserve_exact(self.size);
        page.extend((self.records.len() as u64 | flags).to_le_bytes());
        page.append(&mut self.records);
        page.extend(self.lost.to_le_bytes());
        page.resize(self.size, 0);
        self.lost = 0;
        full(&page);
    }

    fn word(&mut self, word: u32) {
        self.records.extend(word.to_le_bytes());
    }
}

const _: () = assert!(MOST_WORDS < PADDING as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::{Lost, for_each};
    use proptest::prelude::*;

    fn written(size: usize, records: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let (mut pages, mut writer) = (Vec::new(), PageWriter::new(size));
        for (ns, record) in records {
            assert!(writer.push(*ns, record, |page| pages.extend_from_slice(page)));
        }
        writer.finish(|page| pages.extend_from_slice(page));
        pages
    }

    proptest! {
        #[test]
        fn written_records_are_read(
            records in prop::collection::vec(
                (0u64..1 << 40, prop::collection::vec(any::<u8>(), 1..240)), 1..60
            )
        ) {
            let mut records = records;
            records.sort_by_key(|(ns, _)| *ns);
            let pages = written(1024, &records);
            let mut read = Vec::new();
            let lost = for_each(&pages, 1024, |ns, record| read.push((ns, record.to_vec()))).unwrap();
            prop_assert_eq!(lost, Lost::default());
            records.iter_mut().for_each(|(_, record)| record.resize(record.len().next_multiple_of(4), 0));
            prop_assert_eq!(read, records);
        }
    }

    #[test]
    fn lost_events_are_counted_before_the_next_record() {
        let (mut pages, mut writer) = (Vec::new(), PageWriter::new(1024));
        let mut keep = |page: &[u8]| pages.extend_from_slice(page);
        assert!(writer.push(5, &[1; 8], &mut keep));
        writer.lose(3, &mut keep);
        writer.lose(4, &mut keep);
        assert!(writer.push(4, &[2; 8], &mut keep), "a time that goes back is corrected");
        writer.finish(&mut keep);
        let mut times = Vec::new();
        let lost = for_each(&pages, 1024, |ns, _| times.push(ns)).unwrap();
        assert_eq!((times, lost), (vec![5, 5], Lost { counted: 7, uncounted_places: 0 }));
    }

    #[test]
    fn record_that_fits_no_page_is_refused() {
        let mut writer = PageWriter::new(1024);
        assert!(!writer.push(1, &[0; 1024], |_| ()));
        assert!(!writer.push(1, &[], |_| ()));
        assert!(writer.push(1, &vec![7; PageWriter::longest(1024)], |_| ()));
    }
}
