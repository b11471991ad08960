// SPDX-License-Identifier: GPL-2.0-only
//! Raw pages of the kernel's trace ring buffer, as `trace_pipe_raw` hands them out
//! (`kernel/trace/ring_buffer.c`, `Documentation/trace/ring-buffer-design.rst`; the same in 6.1 to 7.2).

/// Bytes in front of a page's records: a time stamp and the length of what follows.
pub(super) const HEADER: usize = 16;

/// Set in the length where events were lost before this page …
pub(super) const MISSED: u64 = 1 << 31;
/// … and where their number follows the records.
pub(super) const MISSED_STORED: u64 = 1 << 30;
const LENGTH_MASK: u64 = (1 << 20) - 1;

pub(super) const PADDING: u32 = 29;
pub(super) const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// An absolute time stamp carries 59 bits; the rest comes from the page's.
const STAMP_MASK: u64 = (1 << 59) - 1;

/// The events that were lost, as the kernel reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// The number of events, if the kernel counted them.
    pub counted: u64,
    /// The number of places with losses that the kernel did not count.
    pub uncounted_places: u64,
}

/// A page that is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The bytes are not a multiple of the page size.
    #[error("{bytes} bytes of raw trace are not a multiple of the page size of {page} bytes")]
    NotWholePages {
        /// Length of the raw trace.
        bytes: usize,
        /// Size of a page.
        page: usize,
    },
    /// A page claims to hold more than fits.
    #[error("raw trace page at byte {page_at}: the length {length} does not fit")]
    Length {
        /// The offset of the page.
        page_at: usize,
        /// The length that it claims.
        length: usize,
    },
    /// A record reaches beyond its page.
    #[error("raw trace page at byte {page_at}: the record at {record_at} extends beyond the end of the page")]
    Record {
        /// The offset of the page.
        page_at: usize,
        /// The offset of the record in it.
        record_at: usize,
    },
}

impl RingError {
    /// The same error with `bytes` more before the page.
    pub(super) fn behind(self, bytes: usize) -> Self {
        match self {
            RingError::NotWholePages { .. } => self,
            RingError::Length { page_at, length } => {
                RingError::Length { page_at: page_at.saturating_add(bytes), length }
            }
            RingError::Record { page_at, record_at } => {
                RingError::Record { page_at: page_at.saturating_add(bytes), record_at }
            }
        }
    }
}

/// Calls `each` with time stamp and payload of every record of these pages.
pub fn for_each(raw: &[u8], page_size: usize, mut each: impl FnMut(u64, &[u8])) -> Result<Lost, RingError> {
    if page_size <= HEADER || raw.len() % page_size != 0 {
        return Err(RingError::NotWholePages { bytes: raw.len(), page: page_size });
    }
    let mut lost = Lost::default();
    for (number, page) in raw.chunks_exact(page_size).enumerate() {
        for_each_in_page(page, number * page_size, &mut lost, &mut each)?;
    }
    Ok(lost)
}

/// Returns true if events before those of this page were lost.
pub fn is_behind_a_gap(page: &[u8]) -> bool {
    word64(page, 8).is_some_and(|commit| commit & MISSED != 0)
}

fn for_each_in_page(
    page: &[u8],
    page_at: usize,
    lost: &mut Lost,
    each: &mut impl FnMut(u64, &[u8]),
) -> Result<(), RingError> {
    let mut time = word64(page, 0).unwrap_or(0);
    let commit = word64(page, 8).unwrap_or(0);
    let length = (commit & LENGTH_MASK) as usize;
    let data = page.get(HEADER..HEADER + length).ok_or(RingError::Length { page_at, length })?;
    if commit & MISSED != 0 {
        match (commit & MISSED_STORED != 0).then(|| word64(page, HEADER + length)).flatten() {
            Some(count) => lost.counted = lost.counted.saturating_add(count),
            None => lost.uncounted_places += 1,
        }
    }
    let mut at = 0;
    while at < data.len() {
        let broken = RingError::Record { page_at, record_at: at };
        let header = word32(data, at).ok_or(broken)?;
        let (kind, delta) = (header & 31, u64::from(header >> 5));
        let second = word32(data, at + 4).map(u64::from);
        match kind {
            PADDING if delta == 0 => return Ok(()),
            PADDING => {
                time = time.wrapping_add(delta);
                at += 4 + second.ok_or(broken)? as usize;
            }
            TIME_EXTEND => {
                time = time.wrapping_add(delta + (second.ok_or(broken)? << 27));
                at += 8;
            }
            TIME_STAMP => {
                time = (time & !STAMP_MASK) | (delta + (second.ok_or(broken)? << 27));
                at += 8;
            }
            words => {
                // Long records have their length, itself included, in a second word.
                let (begin, end) = match words {
                    0 => (at + 8, at + 4 + second.ok_or(broken)? as usize),
                    words => (at + 4, at + 4 + 4 * words as usize),
                };
                time = time.wrapping_add(delta);
                each(time, data.get(begin..end).ok_or(broken)?);
                at = end;
            }
        }
    }
    Ok(())
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: usize = 128;

    fn page(commit: u64, data: &[u32]) -> Vec<u8> {
        let mut page = 1000u64.to_le_bytes().to_vec();
        page.extend(commit.to_le_bytes());
        page.extend(data.iter().flat_map(|word| word.to_le_bytes()));
        page.resize(PAGE, 0);
        page
    }

    fn records(raw: &[u8]) -> (Vec<(u64, usize)>, Lost) {
        let mut seen = Vec::new();
        let lost = for_each(raw, PAGE, |time, payload| seen.push((time, payload.len()))).unwrap();
        (seen, lost)
    }

    #[test]
    fn every_kind_of_record() {
        let data = [
            2 | (5 << 5),
            7,
            8, // two words, 5 ns after the page's time
            TIME_EXTEND | (1 << 5),
            1, // 1 + 2^27 ns later
            8 << 5,
            12,
            1,
            2, // long: 12 bytes, the length included
            PADDING | (3 << 5),
            4, // a discarded record of 4 bytes
            TIME_STAMP | (9 << 5),
            0, // the absolute time 9
            1,
            42,
            PADDING,
            0,
            0, // nothing more on this page
        ];
        let (seen, lost) = records(&page(data.len() as u64 * 4, &data));
        assert_eq!(seen, [(1005, 8), (1005 + 1 + (1 << 27) + 8, 8), (9, 4)]);
        assert_eq!(lost, Lost::default());
    }

    #[test]
    fn losses_are_counted() {
        assert!(!is_behind_a_gap(&page(8, &[1, 0])));
        let (_, lost) = records(&page(8 | MISSED | MISSED_STORED, &[1, 0, 17, 0]));
        assert_eq!(lost, Lost { counted: 17, uncounted_places: 0 });
        let page = page(8 | MISSED, &[1, 0]);
        assert!(is_behind_a_gap(&page));
        let (_, lost) = records(&page);
        assert_eq!(lost, Lost { counted: 0, uncounted_places: 1 });
    }

    #[test]
    fn impossible_numbers_do_not_overflow() {
        let most = page(8 | MISSED | MISSED_STORED, &[1, 0, u32::MAX, u32::MAX]);
        assert_eq!(records(&[most.clone(), most].concat()).1.counted, u64::MAX);
        let mut late = page(8, &[PADDING | (9 << 5), 4]);
        late[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(records(&late).0, []);
    }

    #[test]
    fn damage_is_reported_with_its_place() {
        let none = |_: u64, _: &[u8]| ();
        assert_eq!(for_each(&[0; 5], PAGE, none), Err(RingError::NotWholePages { bytes: 5, page: PAGE }));
        let raw = [page(0, &[]), page(400, &[])].concat();
        assert_eq!(for_each(&raw, PAGE, none), Err(RingError::Length { page_at: PAGE, length: 400 }));
        assert_eq!(
            for_each(&page(4, &[20]), PAGE, none),
            Err(RingError::Record { page_at: 0, record_at: 0 })
        );
    }

    proptest! {
        #[test]
        fn never_panics(raw in prop::collection::vec(any::<u8>(), 2 * PAGE)) {
            let _ = for_each(&raw, PAGE, |_, _| ());
        }

        #[test]
        fn never_loops(words in prop::collection::vec(any::<u32>(), 28)) {
            let _ = for_each(&page(112, &words), PAGE, |_, _| ());
        }
    }
}
