// SPDX-License-Identifier: GPL-2.0-only
//! Tests of what a ring keeps, drops and writes.

use super::*;
use crate::Record;
use dyntick_trace::{CpuStats, Scanner};
use std::sync::atomic::{AtomicU64, Ordering};

const PAGE: usize = 4096;

/// Pages that fill a block, with an event at each of these times.
fn pages(times: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut noise = 1u64;
    let mut all = Vec::new();
    for ns in times {
        let mut page = ns.to_le_bytes().to_vec();
        page.extend(8u64.to_le_bytes());
        page.extend([1, 0, 0, 0, 7, 0, 0, 0]);
        page.resize_with(PAGE, || {
            noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (noise >> 56) as u8
        });
        all.extend(page);
    }
    all
}

const PAGES: u64 = (BLOCK / PAGE) as u64;

fn ring<'a>(folder: &'a Path, keep: Keep, lost: &'a (dyn Fn() -> BTreeMap<u32, u64> + Sync)) -> Ring<'a> {
    let packer = Packer::new(Scanner::new(&BTreeMap::new()).unwrap(), PAGE).unwrap();
    Ring::new(folder, keep, packer, lost, 0).unwrap()
}

/// The times of a CPU's pages in a record.
fn times(kept: &Kept, cpu: u32) -> Vec<u64> {
    let stats = [0, 1].map(|cpu| (cpu, CpuStats::default())).into();
    let metadata = Metadata { page_size: PAGE, stats, ..Metadata::default() };
    let about = crate::stored::tests::about();
    let file = kept.write(tempfile::tempfile().unwrap(), about, &metadata).unwrap();
    let pages = Record::stored(file).unwrap().trace.pages_of(cpu).unwrap();
    pages.chunks(PAGE).map(|page| u64::from_le_bytes(*page.first_chunk().unwrap())).collect()
}

#[test]
fn older_segments_are_dropped_and_the_rest_is_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let lost = AtomicU64::new(0);
    let counted = || BTreeMap::from([(1, lost.load(Ordering::Relaxed))]);
    let mut ring = ring(folder.path(), Keep { ns: 1000, more_ns: 0, bytes: 1 << 30 }, &counted);
    // A block each hundred ns, of the CPUs alternately.
    for number in 0..100u64 {
        lost.store(number, Ordering::Relaxed);
        let begin = number * 100;
        ring.take(number as u32 % 2, &pages((0..PAGES).map(|page| begin + page)), begin + 99).unwrap();
    }
    ring.take(1, &pages([10_000]), 10_000).unwrap();
    let kept = ring.kept(10_000, 10_000).unwrap();
    assert_eq!((kept.window_ns, kept.is_cut), ((9000, 10_000), false));
    let (even, odd) = (times(&kept, 0), times(&kept, 1));
    assert!(even.is_sorted() && odd.is_sorted());
    assert!((8600..=9100).contains(&even[0]) && (8600..=9100).contains(&odd[0]), "{} {}", even[0], odd[0]);
    assert_eq!((even.last(), odd.last()), (Some(&(9800 + PAGES - 1)), Some(&10_000)));
    let first = (even[0].min(odd[0])) / 100;
    assert!(kept.lost_before[&1] <= first && kept.lost_before[&1] + 2 >= first, "{:?}", kept.lost_before);
    assert!(ring.segments.len() < 20, "{}", ring.segments.len());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file has a name");
    // It does not change while the ring goes on.
    (0..100).for_each(|number| {
        ring.take(0, &pages((0..PAGES).map(|page| 20_000 + page)), 20_000 + number).unwrap()
    });
    assert_eq!(times(&kept, 0), even);
}

#[test]
fn size_is_limited_and_the_begin_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let none = BTreeMap::new;
    let most = 10 * BLOCK as u64;
    let mut ring = ring(folder.path(), Keep { ns: 1 << 40, more_ns: 0, bytes: most }, &none);
    for number in 0..50u64 {
        ring.take(0, &pages((0..PAGES).map(|page| number * 100 + page)), number * 100 + 99).unwrap();
        let all: u64 = ring.segments.iter().map(|segment| segment.end).sum();
        assert!(all + ring.current.end <= most + most / SEGMENTS + BLOCK as u64, "{all}");
    }
    let kept = ring.kept(5000, 5000).unwrap();
    let times = times(&kept, 0);
    assert!(kept.is_cut && kept.window_ns.0 > 3500 && kept.window_ns.0 < times[0], "{:?}", kept.window_ns);
    assert!(times[0] < 4300 && times.last() == Some(&(4900 + PAGES - 1)));
}

#[test]
fn shorter_recording_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let none = BTreeMap::new;
    let mut ring = ring(folder.path(), Keep { ns: 1000, more_ns: 0, bytes: 1 << 30 }, &none);
    ring.take(1, &pages([5, 6]), 7).unwrap();
    ring.take(1, &pages([8]), 9).unwrap();
    let kept = ring.kept(500, 500).unwrap();
    assert_eq!((kept.window_ns, kept.is_cut, times(&kept, 1)), ((0, 500), false, vec![5, 6, 8]));
    assert_eq!(times(&ring.kept(900, 900).unwrap(), 1), [5, 6, 8]);
}

#[test]
fn snapshot_of_an_earlier_time_has_the_seconds_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let none = BTreeMap::new;
    let mut ring = ring(folder.path(), Keep { ns: 1000, more_ns: 500, bytes: 1 << 30 }, &none);
    for begin in (0..5000).step_by(100) {
        ring.take(0, &pages((0..PAGES).map(|page| begin + page)), begin + 99).unwrap();
    }
    let kept = ring.kept(4600, 5000).unwrap();
    assert_eq!((kept.window_ns, kept.is_cut), ((3600, 5000), false));
    assert!(times(&kept, 0)[0] <= 3600);
    let cut = ring.kept(4000, 5000).unwrap();
    assert!(cut.is_cut && cut.window_ns.0 > 3000 && times(&cut, 0)[0] > cut.window_ns.0);
}
