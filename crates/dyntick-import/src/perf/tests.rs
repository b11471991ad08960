// SPDX-License-Identifier: GPL-2.0-only
//! Files that perf 6.1 wrote, and records that are built here.

use super::*;
use crate::kept::Kept;
use dyntick_trace::for_each_record;
use proptest::prelude::*;

const COMPRESSED: &[u8] = include_bytes!("../../tests/fixtures/perf-6.1-zstd.data");
const PIPE: &[u8] = include_bytes!("../../tests/fixtures/perf-6.1-pipe.data");

fn kept(file: &[u8]) -> (Imported, Kept) {
    let mut kept = Kept::default();
    (read(&file, &mut kept).unwrap(), kept)
}

fn said(file: &[u8]) -> String {
    read(&file, &mut Kept::default()).unwrap_err().to_string()
}

#[test]
fn files_of_perf_have_the_events_of_its_script() {
    // Counted in the output of `perf script` of the same files.
    let expected = [
        ("irq_vectors:local_timer_entry", 6),
        ("irq_vectors:local_timer_exit", 6),
        ("sched:sched_switch", 14),
    ];
    let expected: BTreeMap<String, u64> = expected.map(|(event, count)| (event.to_owned(), count)).into();
    for file in [COMPRESSED, PIPE] {
        let (imported, _) = kept(file);
        assert_eq!(imported.seen.events, expected);
        assert_eq!((imported.cpus, imported.clock.as_deref()), (Some(2), Some("perf")));
        assert_eq!(imported.release.as_deref(), Some("6.12.117+deb12-amd64"));
        assert_eq!(imported.kernel_text, Some(("_text".to_owned(), 0xffffffff81000000)));
        assert!(imported.names.values().any(|name| name == "sleep"));
        assert!(imported.source.contains("perf 6.1.187"), "{}", imported.source);
    }
}

/// A record of perf.
fn record(kind: u32, bytes: &[u8]) -> Vec<u8> {
    let size = bytes.len() as u16 + 8;
    [&kind.to_le_bytes()[..], &[0, 0], &size.to_le_bytes(), bytes].concat()
}

/// A file with one tracepoint and these records: `irq:softirq_entry`, with its time, its CPU and raw data.
fn file(records: &[Vec<u8>]) -> Vec<u8> {
    let format = "name: softirq_entry\nID: 7\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n";
    let sized = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let layouts = [
        &b"\x17\x08\x44tracing0.6\0\0\x08\0\x10\0\0"[..],
        &[b"header_page\0", &sized("x")[..], b"header_event\0", &sized("y")].concat(),
        &[0; 4],
        &[&1u32.to_le_bytes()[..], b"irq\0", &1u32.to_le_bytes(), &sized(format)].concat(),
        &[0; 4],
    ]
    .concat();
    let mut attribute = [2u32.to_le_bytes(), 128u32.to_le_bytes()].concat();
    attribute.resize(24, 0);
    // Time, CPU and raw data, and the first two at the end of other records.
    attribute
        .extend([(1u64 << 2 | 1 << 7 | 1 << 10).to_le_bytes(), [0; 8], (1u64 << 18).to_le_bytes()].concat());
    attribute.resize(144, 0);
    let data = records.concat();
    let data_at = 104 + attribute.len() as u64;
    let words = [104, 144, 104, 144, data_at, data.len() as u64, 0, 0, 1 << 1, 0, 0, 0];
    let mut file = [MAGIC, &words.map(u64::to_le_bytes).concat()].concat();
    file.extend([attribute, data].concat());
    let at = file.len() as u64 + 16;
    file.extend([at.to_le_bytes(), (layouts.len() as u64).to_le_bytes()].concat());
    file.extend(layouts);
    file
}

fn sample(ns: u64, cpu: u32, id: u16) -> Vec<u8> {
    let raw = [&id.to_le_bytes()[..], &[0; 2], &9u32.to_le_bytes(), &1u32.to_le_bytes()].concat();
    let facts = [&ns.to_le_bytes()[..], &cpu.to_le_bytes(), &[0; 4], &(raw.len() as u32).to_le_bytes(), &raw];
    record(9, &facts.concat())
}

fn lost(ns: u64, cpu: u32, count: u64) -> Vec<u8> {
    let facts = [&[0; 8][..], &count.to_le_bytes(), &ns.to_le_bytes(), &cpu.to_le_bytes(), &[0; 4]];
    record(2, &facts.concat())
}

#[test]
fn samples_are_ordered_and_losses_are_counted() {
    let round = || record(68, &[]);
    let records = [
        sample(20, 1, 7),
        sample(10, 1, 7),
        round(),
        lost(25, 1, 5),
        sample(30, 1, 7),
        sample(5, 0, 8),
        round(),
    ];
    let (imported, kept_pages) = kept(&file(&records));
    let mut times = Vec::new();
    let raw = &kept_pages.pages[&1];
    let lost = for_each_record(raw, kept_pages.layout.page_size, |ns, _| times.push(ns)).unwrap();
    assert_eq!((times, lost.counted), (vec![10, 20, 30], 5));
    assert_eq!(
        (imported.stats[&1].lost, imported.unreadable),
        (5, 1),
        "an event without a layout is counted"
    );
    assert_eq!(imported.seen.gaps, [1].into());
}

#[test]
fn damage_is_named_with_its_place() {
    let complete = file(&[sample(1, 0, 7)]);
    assert!(said(&complete[..260]).contains("the file ends at 260"));
    let mut small = complete.clone();
    small[248 + 6] = 3;
    assert_eq!(said(&small), "it is damaged at byte 248: a record of 3 bytes");
    assert!(said(&file(&[record(9, &[0; 8])])).contains("at byte 256: 4 bytes are expected here"));
    // perf that was killed leaves no length, and no features.
    let mut killed = COMPRESSED.to_vec();
    killed[48..56].fill(0);
    assert!(said(&killed).contains("no tracepoints"));
    assert!(said(b"2ELIFREP").contains("does not begin"));
}

proptest! {
    #[test]
    fn changed_and_truncated_files_never_panic(
        at in any::<prop::sample::Index>(), value in any::<u8>(), end in any::<prop::sample::Index>()
    ) {
        let built = file(&[sample(20, 1, 7), lost(25, 1, 5), sample(30, 1, 7)]);
        for file in [&built[..], PIPE] {
            let mut changed = file.to_vec();
            changed[at.index(file.len().min(4096))] = value;
            let _ = read(&&changed[..], &mut Kept::default());
            let _ = read(&&changed[..end.index(file.len())], &mut Kept::default());
        }
    }
}
