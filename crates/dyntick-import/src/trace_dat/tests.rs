// SPDX-License-Identifier: GPL-2.0-only
//! Files of both versions, which are built here, and one that trace-cmd wrote.

use super::*;
use crate::Seen;
use crate::kept::Kept;
use dyntick_trace::{CpuStats, PageWriter};
use proptest::prelude::*;

const PAGE: usize = 1024;
const FORMATS: [(&str, &str, u16); 3] =
    [("irq", "softirq_entry", 7), ("timer", "tick_stop", 8), ("sched", "sched_switch", 9)];

fn format(name: &str, id: u16) -> String {
    let fields = match name {
        "softirq_entry" => "\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n",
        "tick_stop" => {
            "\tfield:int success;\toffset:8;\tsize:4;\tsigned:1;\n\
             \tfield:int dependency;\toffset:12;\tsize:4;\tsigned:1;\n"
        }
        // This kernel names its fields otherwise.
        _ => "\tfield:int from;\toffset:8;\tsize:4;\tsigned:1;\n",
    };
    format!(
        "name: {name}\nID: {id}\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n{fields}"
    )
}

/// A record of an event of a task, with a word.
fn record(id: u16, pid: u32, word: u32) -> Vec<u8> {
    [&id.to_le_bytes()[..], &[0, 0], &pid.to_le_bytes(), &word.to_le_bytes(), &[0; 4]].concat()
}

/// Pages with these records: time, event, task and word.
fn pages(records: &[(u64, u16, u32, u32)]) -> Vec<u8> {
    let (mut pages, mut writer) = (Vec::new(), PageWriter::new(PAGE));
    for (ns, id, pid, word) in records {
        writer.push(*ns, &record(*id, *pid, *word), |page| pages.extend_from_slice(page));
    }
    writer.finish(|page| pages.extend_from_slice(page));
    pages
}

/// The parts of a file that both versions have.
struct Parts {
    headers: Vec<u8>,
    ftrace: Vec<u8>,
    events: Vec<u8>,
    kallsyms: Vec<u8>,
    printk: Vec<u8>,
    cmdlines: Vec<u8>,
}

fn sized(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

fn sized32(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn parts() -> Parts {
    let headers = [b"header_page\0", &sized("x")[..], b"header_event\0", &sized("y")].concat();
    let mut events = (FORMATS.len() as u32).to_le_bytes().to_vec();
    for (system, name, id) in FORMATS {
        events.extend([system.as_bytes(), b"\0", &1u32.to_le_bytes(), &sized(&format(name, id))].concat());
    }
    Parts {
        headers,
        ftrace: 0u32.to_le_bytes().to_vec(),
        events,
        kallsyms: sized32("ffffffff81000000 T first\n"),
        printk: sized32(""),
        cmdlines: sized("7 app\n9 two words\n"),
    }
}

fn option(id: u16, data: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), data].concat()
}

fn options(clock: &str) -> Vec<u8> {
    let stats = |cpu, lost| {
        format!("CPU: {cpu}\nentries: 3\noverrun: {lost}\ncommit overrun: 1\ndropped events: 1\n\0")
    };
    [
        option(2, stats(0, 5).as_bytes()),
        option(2, stats(1, 0).as_bytes()),
        option(4, format!("{clock}\0").as_bytes()),
        option(5, b"Linux host 6.12.9 x86_64\0"),
        option(9, b"3.1.6 not-a-git-repo\0"),
        option(14, &[&3u32.to_le_bytes()[..], &1u32.to_le_bytes(), &0u64.to_le_bytes()].concat()),
        option(999, b"of tomorrow"),
    ]
    .concat()
}

/// A file of version 6: the pages of each CPU of the top instance, and of others.
fn version6(clock: &str, top: &[Vec<u8>], instance: Option<&[Vec<u8>]>) -> Vec<u8> {
    let Parts { headers, ftrace, events, kallsyms, printk, cmdlines } = parts();
    let mut file = [MAGIC, b"6\0", &[0, 8], &(PAGE as u32).to_le_bytes(), &headers, &ftrace].concat();
    file.extend([events, kallsyms, printk, cmdlines, (top.len() as u32).to_le_bytes().to_vec()].concat());
    file.extend(b"options  \0");
    file.extend(options(clock));
    let places = 16 * top.len();
    // The instance's mark and places follow those of the top one.
    let with_option = instance.map_or(0, |_| 18);
    let mark_at = file.len() + with_option + 2;
    let second_at = mark_at + 10 + places;
    if instance.is_some() {
        file.extend(option(3, &[&(second_at as u64).to_le_bytes()[..], b"foo\0"].concat()));
    }
    file.extend([0, 0]);
    assert_eq!(file.len(), mark_at);
    let mut pages_at = (second_at + instance.map_or(0, |_| 10 + places)).next_multiple_of(PAGE);
    let mut pages = Vec::new();
    for cpus in [Some(top), instance].into_iter().flatten() {
        file.extend(b"flyrecord\0");
        for own in cpus {
            file.extend([(pages_at as u64).to_le_bytes(), (own.len() as u64).to_le_bytes()].concat());
            pages_at += own.len();
            pages.extend_from_slice(own);
        }
    }
    file.resize(file.len().next_multiple_of(PAGE), 0);
    file.extend(pages);
    file
}

/// The pages of an instance in version 7: its name, its clock, and pages by CPU.
type Instance<'a> = (&'a str, &'a str, Vec<(u32, Vec<u8>)>);

fn packed(algorithm: &str, bytes: &[u8]) -> Vec<u8> {
    let packed = match algorithm {
        "zstd" => zstd::bulk::compress(bytes, 1).unwrap(),
        _ => {
            use std::io::Write;
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    };
    [&(packed.len() as u32).to_le_bytes()[..], &(bytes.len() as u32).to_le_bytes(), &packed].concat()
}

fn version7(algorithm: &str, instances: &[Instance<'_>]) -> Vec<u8> {
    let Parts { headers, ftrace, events, kallsyms, printk, cmdlines } = parts();
    let is_packed = algorithm != "none";
    let mut file = [MAGIC, b"7\0", &[0, 8], &(PAGE as u32).to_le_bytes()].concat();
    file.extend([algorithm.as_bytes(), b"\0", b"1.5\0", &[0; 8]].concat());
    let options_place = file.len() - 8;
    let section = |file: &mut Vec<u8>, id: u16, bytes: &[u8]| {
        let at = file.len() as u64;
        let bytes = if is_packed { packed(algorithm, bytes) } else { bytes.to_vec() };
        file.extend([&id.to_le_bytes()[..], &u16::from(is_packed).to_le_bytes(), &[0; 4]].concat());
        file.extend((bytes.len() as u64).to_le_bytes());
        file.extend(bytes);
        at
    };
    let mut all = options("[local] mono");
    let sections = [(16, headers), (17, ftrace), (18, events), (19, kallsyms), (20, printk), (21, cmdlines)];
    for (id, bytes) in sections {
        let at = section(&mut file, id, &bytes);
        all.extend(option(id, &at.to_le_bytes()));
    }
    for (name, clock, cpus) in instances {
        let section = file.len() as u64;
        file.extend([&3u16.to_le_bytes()[..], &u16::from(is_packed).to_le_bytes(), &[0; 12]].concat());
        let mut data = [&section.to_le_bytes()[..], name.as_bytes(), b"\0", clock.as_bytes(), b"\0"].concat();
        data.extend((PAGE as u32).to_le_bytes());
        data.extend((cpus.len() as u32).to_le_bytes());
        for (cpu, pages) in cpus {
            file.resize(file.len().next_multiple_of(PAGE), 0);
            let chunks: Vec<Vec<u8>> = pages.chunks(PAGE).map(|page| packed(algorithm, page)).collect();
            let bytes = match is_packed {
                true => [(chunks.len() as u32).to_le_bytes().to_vec(), chunks.concat()].concat(),
                false => pages.clone(),
            };
            data.extend(cpu.to_le_bytes());
            data.extend([(file.len() as u64).to_le_bytes(), (bytes.len() as u64).to_le_bytes()].concat());
            file.extend(bytes);
        }
        all.extend(option(3, &data));
    }
    all.extend(option(0, &[0; 8]));
    let at = section(&mut file, 0, &all);
    file[options_place..options_place + 8].copy_from_slice(&at.to_le_bytes());
    file
}

impl Kept {
    /// The time and the event of each record of a CPU.
    fn records(&self, cpu: u32) -> Vec<(u64, u16)> {
        let mut records = Vec::new();
        let raw = self.pages.get(&cpu).map_or(&[][..], Vec::as_slice);
        let each = |ns, record: &[u8]| records.push((ns, u16::from_le_bytes([record[0], record[1]])));
        dyntick_trace::for_each_record(raw, self.layout.page_size, each).unwrap();
        records
    }
}

fn kept(file: &[u8]) -> (Imported, Kept) {
    let mut kept = Kept::default();
    (read(&file, &mut kept).unwrap(), kept)
}

fn said(file: &[u8]) -> String {
    read(&file, &mut Kept::default()).unwrap_err().to_string()
}

/// Two CPUs; CPU 1 decides on its tick while task 7 runs.
fn two_cpus() -> [Vec<u8>; 2] {
    [pages(&[(10, 7, 0, 9), (20, 8, 0, 1)]), pages(&[(15, 8, 7, 0), (30, 9, 0, 0)])]
}

fn seen() -> Seen {
    let events =
        [("irq:softirq_entry", 1), ("sched:sched_switch (unknown fields)", 1), ("timer:tick_stop", 2)];
    Seen {
        events: events.map(|(event, count)| (event.to_owned(), count)).into(),
        times: [(0, (10, 20)), (1, (15, 30))].into(),
        adaptive: Some([1].into()),
        gaps: [].into(),
    }
}

fn is_complete(imported: &Imported, kept: &Kept) {
    assert_eq!(imported.seen, seen());
    assert_eq!(kept.records(0), [(10, 7), (20, 8)]);
    assert_eq!(kept.records(1), [(15, 8), (30, 9)]);
    assert_eq!(
        (imported.release.as_deref(), imported.architecture.as_deref()),
        (Some("6.12.9"), Some("x86_64"))
    );
    assert_eq!(imported.names, [(7, "app".to_owned()), (9, "two words".to_owned())].into());
    assert_eq!(imported.kallsyms, b"ffffffff81000000 T first\n");
    assert_eq!(imported.stats[&0], CpuStats { entries: 3, lost: 7 });
    assert!(imported.source.contains("trace-cmd 3.1.6"), "{}", imported.source);
    assert!(imported.notes.iter().any(|note| note.contains("sched:sched_switch has other fields")));
}

#[test]
fn both_versions_are_read() {
    let cpus = two_cpus();
    let (imported, kept_pages) = kept(&version6("[local] mono", &cpus, None));
    is_complete(&imported, &kept_pages);
    assert_eq!(imported.clock.as_deref(), Some("local"));
    for algorithm in ["none", "zstd", "zlib"] {
        let own = (0..).zip(cpus.clone()).collect();
        let (imported, kept_pages) = kept(&version7(algorithm, &[("", "mono", own)]));
        is_complete(&imported, &kept_pages);
        assert_eq!(imported.clock.as_deref(), Some("mono"));
    }
}

#[test]
fn instances_are_merged_and_an_event_counts_once() {
    let second = pages(&[(5, 9, 0, 0), (11, 7, 0, 9), (25, 9, 0, 0)]);
    let merged = [(5, 9), (10, 7), (20, 8), (25, 9)];
    let cpus = two_cpus();
    let old = version6("mono", &cpus[..1], Some(std::slice::from_ref(&second)));
    let new = version7(
        "zstd",
        &[("", "mono", vec![(0, cpus[0].clone())]), ("foo", "mono", vec![(0, second.clone())])],
    );
    for file in [old, new] {
        let (imported, kept_pages) = kept(&file);
        assert_eq!(kept_pages.records(0), merged);
        assert!(
            imported.notes.iter().any(|note| note.contains("several trace instances")),
            "{:?}",
            imported.notes
        );
    }
    let other = [("", "mono", vec![(0, cpus[0].clone())]), ("foo", "boot", vec![(0, second)])];
    let (imported, kept_pages) = kept(&version7("none", &other));
    assert_eq!(kept_pages.records(0), [(10, 7), (20, 8)]);
    assert!(imported.notes.iter().any(|note| note.contains("different trace clocks")));
}

#[test]
fn cycles_become_nanoseconds() {
    let own = || vec![(0, two_cpus()[0].clone())];
    let (_, kept_pages) = kept(&version7("none", &[("", "x86-tsc", own())]));
    assert_eq!(kept_pages.records(0), [(15, 7), (30, 8)], "times 3 / 2");
    assert!(said(&version7("none", &[("", "counter", own())])).contains("record with -C mono"));
}

#[test]
fn lost_events_stay_lost_where_pages_are_written_anew() {
    let (mut raw, mut writer) = (Vec::new(), PageWriter::new(PAGE));
    let mut keep = |page: &[u8]| raw.extend_from_slice(page);
    writer.push(10, &record(7, 0, 9), &mut keep);
    writer.lose(4, &mut keep);
    writer.push(20, &record(7, 0, 9), &mut keep);
    writer.finish(&mut keep);
    for clock in ["mono", "x86-tsc"] {
        let (imported, kept_pages) = kept(&version7("none", &[("", clock, vec![(0, raw.clone())])]));
        assert_eq!(imported.seen.gaps, [0].into(), "{clock}");
        let lost = dyntick_trace::for_each_record(&kept_pages.pages[&0], PAGE, |_, _| ()).unwrap();
        assert_eq!(lost.counted, 4, "{clock}");
    }
}

#[test]
fn file_of_trace_cmd_has_the_events_of_its_report() {
    let (imported, _) = kept(include_bytes!("../../tests/fixtures/trace-cmd-3.1.6-zstd.dat"));
    // Counted in the output of `trace-cmd report` of the same file.
    let expected =
        [("sched:sched_switch", 14), ("irq_vectors:local_timer_entry", 14), ("timer:hrtimer_start", 15)];
    for (event, count) in expected {
        assert_eq!(imported.seen.events.get(event), Some(&count), "{event} of {:?}", imported.seen.events);
    }
    assert_eq!(imported.release.as_deref(), Some("6.12.117+deb12-amd64"));
    assert_eq!((imported.cpus, imported.clock.as_deref()), (Some(2), Some("local")));
    assert!(imported.names.values().any(|name| name == "sleep"));
}

#[test]
fn damage_is_named_with_its_place() {
    let cpus = two_cpus();
    let file = version6("mono", &cpus, None);
    let last = file.len() - PAGE;
    let mut damaged = file.clone();
    damaged[last + 16] = 20;
    let text = said(&damaged);
    assert!(text.starts_with(&format!("it is damaged at byte {last}: raw trace page")), "{text}");
    assert!(
        said(&file[..last]).contains(&format!("has {PAGE} bytes of pages here, but the file ends at {last}"))
    );
    let mut other = file.clone();
    other[12] = 1;
    assert!(said(&other).contains("use the text of `trace-cmd report`"));
    other[10] = b'9';
    other[12] = 0;
    assert!(said(&other).contains("version 9"));
}

#[test]
fn loops_and_bombs_end() {
    let own = || vec![(0, vec![0; 64 * PAGE])];
    // The last option's next section is the section itself.
    let mut file = version7("none", &[("", "mono", own())]);
    let at = u64::from_le_bytes(file[27..35].try_into().unwrap());
    let end = file.len();
    file[end - 8..].copy_from_slice(&at.to_le_bytes());
    assert!(said(&file).contains("were read before"));
    let mut bomb = packed("zstd", &[0; 9 << 10]);
    bomb[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let wrong = Algorithm::Zstd.unpack(&bomb[8..], 1024, Damage(7)).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "it is damaged at byte 7: it does not unpack to the 1024 bytes that it declares"
    );
}

proptest! {
    #[test]
    fn changed_and_truncated_files_never_panic(
        at in 0usize..4096, value in any::<u8>(), end in any::<prop::sample::Index>(), zlib in any::<bool>()
    ) {
        let cpus: Vec<(u32, Vec<u8>)> = (0..).zip(two_cpus()).collect();
        let algorithm = if zlib { "zlib" } else { "none" };
        for mut file in [version6("mono", &two_cpus(), None), version7(algorithm, &[("", "mono", cpus)])] {
            let length = file.len();
            file[at % length] = value;
            let _ = read(&&file[..], &mut Kept::default());
            let _ = read(&&file[..end.index(length)], &mut Kept::default());
        }
    }
}
