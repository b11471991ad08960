// SPDX-License-Identifier: GPL-2.0-only
//! Tests that written records are read again, and that any change of them is refused.

use super::*;
use crate::trouble::Trouble;
use crate::{About, IdleStates, Record};
use dyntick_model::StateReading;
use dyntick_trace::{CpuStats, Scanner};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

const PAGE: usize = 4096;

pub(crate) fn about() -> About {
    let text = r#"{"cpus":"1","window_ns":[1,2000],"command":[],"machine":{"kernel":"6.12.95",
        "command_line":"","hz":250,"cpus":{"online":"0-1","nohz_full":"","isolated":"","rcu_nocbs":""},
        "clocksource":{"current":"tsc","available":[]},"irqs":{}},"threads":{},
        "owners":{"cpu_timers":{},"perf_events":{},"quotas":{}},
        "counts":[{"interrupts":"","steal":{},"smis":{}},{"interrupts":"","steal":{},"smis":{}}],"notes":[]}"#;
    serde_json::from_str(text).unwrap()
}

fn metadata() -> Metadata {
    let stats = [0, 1].map(|cpu| (cpu, CpuStats::default())).into();
    Metadata { page_size: PAGE, stats, ..Metadata::default() }
}

/// A page with one event at this time, followed by incompressible bytes.
fn page(ns: u64) -> Vec<u8> {
    let mut page = ns.to_le_bytes().to_vec();
    page.extend(8u64.to_le_bytes());
    page.extend([1, 0, 0, 0, 7, 0, 0, 0]);
    let mut noise = ns | 1;
    page.resize_with(PAGE, || {
        noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (noise >> 56) as u8
    });
    page
}

fn writer(file: File, most: u64) -> Writer {
    Writer::new(file, most).unwrap()
}

fn packed(cpu: u32, pages: &[u8]) -> Packed {
    let scanner = Scanner::new(&BTreeMap::new()).unwrap();
    Packer::new(scanner, PAGE).unwrap().pack(cpu, pages).unwrap()
}

/// A record with blocks of one page of these CPUs.
fn written(cpus: &[u32]) -> Vec<u8> {
    let mut writer = writer(tempfile::tempfile().unwrap(), u64::MAX);
    (100..).zip(cpus).for_each(|(ns, cpu)| writer.block(&packed(*cpu, &page(ns))).unwrap());
    bytes(writer.finish(about(), &metadata()).unwrap())
}

fn bytes(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

fn opened(bytes: &[u8]) -> Result<Record, Trouble> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Record::stored(file)
}

fn said(bytes: &[u8]) -> String {
    opened(bytes).map(|_| ()).unwrap_err().to_string()
}

/// A record of these members, which are packed except for the first.
fn of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let packed =
            if name.ends_with(".zst") { zstd::bulk::compress(bytes, 1).unwrap() } else { bytes.to_vec() };
        let mut header = tar::Header::new_ustar();
        header.set_size(packed.len() as u64);
        archive.append_data(&mut header, name, &packed[..]).unwrap();
    }
    archive.into_inner().unwrap()
}

#[test]
fn written_record_is_read() {
    let record = opened(&written(&[1, 0, 1])).unwrap();
    assert_eq!((&record.about, &record.trace.metadata), (&about(), &metadata()));
    assert_eq!(record.trace.pages_of(1).unwrap(), [page(100), page(102)].concat());
    assert_eq!(record.trace.pages_of(0).unwrap(), page(101));
    assert!(opened(&written(&[])).unwrap().trace.pages_of(0).unwrap().is_empty());
}

#[test]
fn tar_and_zstd_read_it_too() {
    let bytes = written(&[1]);
    let mut archive = tar::Archive::new(&bytes[..]);
    let mut found = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        found.push((entry.path().unwrap().display().to_string(), content));
    }
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [VERSION_PIECE, "trace.cpu1.0.100-100.zst", ABOUT, INDEX]);
    assert_eq!(zstd::decode_all(&found[1].1[..]).unwrap(), page(100));
}

#[test]
fn every_changed_or_missing_byte_is_seen() {
    let complete = written(&[1, 0]);
    for length in (0..complete.len()).step_by(37).chain([complete.len() - 1]) {
        assert!(opened(&complete[..length]).is_err(), "{length}");
    }
    let longer = [&complete[..], &[0]].concat();
    assert!(matches!(opened(&longer), Err(Trouble::Damaged(_))));
    // Except for the padding of the tar, and its end.
    for at in (0..complete.len()).step_by(101) {
        let mut changed = complete.clone();
        changed[at] ^= 0x55;
        let Ok(record) = opened(&changed) else { continue };
        let [Ok(first), Ok(second)] = [0, 1].map(|cpu| record.trace.pages_of(cpu)) else { continue };
        assert_eq!((first, second), (page(101), page(100)), "byte {at}");
        assert_eq!((record.about, record.trace.metadata), (about(), metadata()), "byte {at}");
    }
}

#[test]
fn members_of_a_record_and_no_others() {
    let about = serde_json::to_vec(&about()).unwrap();
    let index = |blocks| serde_json::to_vec(&Index { metadata: metadata(), blocks, events: 1 }).unwrap();
    let one = index([(1, 1)].into());
    let block = ("trace.cpu1.0.7-9.zst", &page(7)[..]);
    let start = (VERSION_PIECE, &b"2"[..]);
    let end = [(ABOUT, &about[..]), (INDEX, &one[..])];
    let with = |more: &[(&str, &[u8])]| of(&[&[start], more, &end].concat());
    assert!(opened(&with(&[block])).is_ok());
    assert!(said(&with(&[])).contains("are not those that the file has"));
    assert!(said(&with(&[block, block])).contains("block 1 of CPU 1 is expected here"));
    assert!(said(&with(&[("trace.cpu1.1.7-9.zst", b"")])).contains("block 0 of CPU 1 is expected here"));
    for name in
        ["trace.cpu01.0.7-9.zst", "trace.cpu1.0.7.zst", "trace.cpu9000.0.1-2.zst", "x", "trace.cpu1.0.7-9"]
    {
        assert_eq!(said(&with(&[(name, b"")])), format!("{name}: it does not belong to such a record"));
    }
    assert!(said(&with(&[end[0]])).ends_with("it occurs twice"));
    assert_eq!(said(&of(&[start, block])), "about.json.zst is missing");
    assert!(matches!(opened(&of(&[block])), Err(Trouble::Foreign)));
    assert!(
        matches!(opened(&of(&[(VERSION_PIECE, b"3")])), Err(Trouble::Version(version)) if version == "3")
    );
    let foreign = index([(9, 1)].into());
    let of_cpu_9 = of(&[start, ("trace.cpu9.0.7-9.zst", &page(7)), (ABOUT, &about), (INDEX, &foreign)]);
    assert!(said(&of_cpu_9).contains("CPU 9, which has a trace, is missing"));
}

#[test]
fn other_formats_are_named() {
    let version = |text: &str| said_of(&of(&[(VERSION_PIECE, text.as_bytes()), ("piece-of-tomorrow", b"")]));
    assert!(version("3").contains("x.dt has format 3, but this dyntick reads format 2"), "{}", version("3"));
    assert!(version("3\n|sh").contains("has format 3 |sh,"), "one line: {}", version("3\n|sh"));
    let gzip = said_of(&[0x1f, 0x8b, 8, 0]);
    assert!(gzip.contains("as records of format 1 were"), "{gzip}");
}

/// The error of reading these bytes as the file `x.dt`.
fn said_of(bytes: &[u8]) -> String {
    Record::read_from(bytes, Path::new("x.dt")).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn impossible_values_are_named() {
    let record = |about: &About, metadata: Metadata| {
        let index = Index { metadata, blocks: BTreeMap::new(), events: 0 };
        let (about, index) = (serde_json::to_vec(about).unwrap(), serde_json::to_vec(&index).unwrap());
        of(&[(VERSION_PIECE, VERSION.as_bytes()), (ABOUT, &about), (INDEX, &index)])
    };
    let early = said_of(&record(&About { window_ns: (2, 1), ..about() }, metadata()));
    assert_eq!(early, "x.dt is damaged: about.json.zst: window_ns: the end (1) is before the begin (2)");
    let small = said_of(&record(&about(), Metadata { page_size: 16, ..metadata() }));
    assert!(small.starts_with("x.dt is damaged: trace.json.zst: page_size: 16 "), "{small}");
    let state = StateReading {
        name: "C1".to_owned(),
        latency_us: 1,
        residency_us: 1,
        disabled: false,
        counters: BTreeMap::new(),
    };
    let with = |states: Vec<StateReading>| {
        let idle = Some(IdleStates { states: [(1, states)].into(), ..IdleStates::default() });
        said_of(&record(&About { idle, ..about() }, metadata()))
    };
    let many = with(vec![state.clone(); 11]);
    assert_eq!(many, "x.dt is damaged: about.json.zst: idle: a CPU has more than 10 states");
    let long = with(vec![StateReading { latency_us: u64::MAX, ..state }]);
    assert!(long.contains("idle: a state takes longer than"), "{long}");
}

#[test]
fn block_that_unpacks_to_too_much_is_refused() {
    let about = serde_json::to_vec(&about()).unwrap();
    let index =
        serde_json::to_vec(&Index { metadata: metadata(), blocks: [(1, 1)].into(), events: 1 }).unwrap();
    let zeros = vec![0; MOST_OF_BLOCK + PAGE];
    let bomb =
        of(&[(VERSION_PIECE, b"2"), ("trace.cpu1.0.0-0.zst", &zeros), (ABOUT, &about), (INDEX, &index)]);
    let record = opened(&bomb).unwrap();
    let error = record.trace.decode().unwrap_err().to_string();
    assert!(error.starts_with("block 0 of CPU 1: "), "{error}");
}

#[test]
fn record_ends_at_its_maximum_size() {
    let most = 3 * PAGE as u64;
    let mut writer = writer(tempfile::tempfile().unwrap(), most);
    let mut blocks = 0;
    while writer.ended().is_none() {
        writer.block(&packed(1, &page(blocks))).unwrap();
        blocks += 1;
    }
    assert_eq!(writer.ended(), Some(Ended::MaxSize));
    let record = Record::stored(writer.finish(about(), &metadata()).unwrap()).unwrap();
    assert_eq!(record.about.ended, Some(Ended::MaxSize));
    assert_eq!(record.trace.pages_of(1).unwrap(), [page(0), page(1)].concat());
    assert!(record.about.remarks().any(|remark| remark.contains("--max-size")));
}

/// A file system that one record fills.
#[test]
fn full_disk_leaves_complete_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = rustix::mount::mount(
        "none",
        folder.path(),
        "tmpfs",
        rustix::mount::MountFlags::empty(),
        Some(c"size=64k"),
    );
    if mounted.is_err() {
        eprintln!("skipped: no right to mount");
        return;
    }
    let file = dyntick_system::unnamed_in(folder.path()).unwrap();
    let mut writer = writer(file, u64::MAX);
    let mut ns = 100;
    while writer.ended().is_none() {
        writer.block(&packed(1, &page(ns))).unwrap();
        ns += 1;
    }
    let file = writer.finish(about(), &metadata());
    // Nothing is written after its end.
    let record = file.map(|file| {
        let length = file.metadata().unwrap().len();
        assert!(file.read_at(&mut [0], length).unwrap() == 0);
        Record::stored(file).unwrap()
    });
    rustix::mount::unmount(folder.path(), rustix::mount::UnmountFlags::DETACH).unwrap();
    let record = record.unwrap();
    let pages = record.trace.pages_of(1).unwrap().len() / PAGE;
    assert!((8..16).contains(&pages), "{pages}");
    assert_eq!(record.about.ended, Some(Ended::DiskFull));
    let expected: Vec<u8> = (100..).take(pages).flat_map(page).collect();
    assert_eq!(record.trace.pages_of(1).unwrap(), expected);
    assert!(record.about.window_ns.1 >= 100 + pages as u64 - 1, "{:?}", record.about.window_ns);
}
