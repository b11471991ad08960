// SPDX-License-Identifier: GPL-2.0-only
//! Runs in folders of untrusted origin.

use super::files::MOST_NUMBERS;
use super::newest::{chosen, read_chosen};
use super::*;
use crate::names::{RAW, RUN, TIMING};
use crate::perturb;
use crate::qemu::{Accelerator, Host};
use dyntick_guest::{Moment, piece_of_file};
use dyntick_profile::stream;
use dyntick_study::Case;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

const ASKED: &str = concat!("\n", include_str!("plan.toml"));

const BEGIN: u64 = 1_000_000_000;

/// A page with this number of timer interrupts of two events each.
fn page(interrupts: u32) -> Vec<u8> {
    let record = |id: u32| [2u32 | 10 << 5, id, 0].map(u32::to_le_bytes).concat();
    let data = [record(1), record(2)].concat().repeat(interrupts as usize);
    let mut page = [BEGIN.to_le_bytes(), (data.len() as u64).to_le_bytes()].concat();
    page.extend(data);
    page.resize(4096, 0);
    page
}

#[test]
fn a_run_of_before_there_were_disks_has_none_and_keeps_its_name() {
    let read = |text: &str| toml::from_str::<Plan>(&format!("repetition = 0{text}")).unwrap();
    let before = read(ASKED);
    assert_eq!(before.case.disk, None);
    assert!(!toml::to_string(&before).unwrap().contains("disk"), "its fingerprint is of the same text");
    let with =
        |disk: &str| read(&ASKED.replace("append = \"\"\n", &format!("append = \"\"\ndisk = {disk}\n")));
    assert_eq!(with("67108864").case.disk, Some(64 << 20));
    let names = [&before, &with("67108864"), &with("134217728")].map(Plan::fingerprint);
    assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2], "{names:?}");
}

/// A change to the text of `run.toml`.
type Change = fn(&str) -> String;

/// The change of a repetition in virtual time, as in `run.toml`.
fn perturbed(repetition: u32) -> String {
    let table = |perturbation| format!("[perturbation]\n{}", toml::to_string(&perturbation).unwrap());
    perturb::of(dyntick_model::Clock::Virtual, repetition).map(table).unwrap_or_default()
}

/// A run of the case in this folder.
fn run(at: &Path, repetition: u32, change: Change) {
    std::fs::create_dir_all(at.join("raw")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(at.join(name), bytes).unwrap();
    let text = format!("repetition = {repetition}{ASKED}{}", perturbed(repetition));
    write(RUN, change(&text).as_bytes());
    write(TIMING, b"{}");
    write(OBSERVATIONS, b"");
    let window = [BEGIN, BEGIN + 10_000_000_000];
    let settled = r#"{"waited_ns":1,"restless":""}"#;
    let outcome = format!(r#"{{"settled":{settled},"window_ns":{window:?},"task_cpu_ns":[],"notes":[]}}"#);
    write("raw/outcome.json", outcome.as_bytes());
    write("raw/comms.json", b"{}");
    write("raw/interrupts.before", b" CPU0 CPU1\n");
    write("raw/interrupts.after", b" CPU0 CPU1\n");
    let format = |id: u16| format!("ID: {id}\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n");
    let metadata = serde_json::json!({
        "page_size": 4096, "symbols": {}, "missing_events": [],
        "stats": {"0": {"entries": 0, "lost": 0}, "1": {"entries": 0, "lost": 0}},
        "formats": {"irq_vectors:local_timer_entry": format(1), "irq_vectors:local_timer_exit": format(2)},
    });
    write("raw/trace.json", metadata.to_string().as_bytes());
    write("raw/trace.cpu0", b"");
    write("raw/trace.cpu1", &page(50));
}

fn unchanged(text: &str) -> String {
    text.to_owned()
}

/// A folder of three repetitions, and their case.
fn runs() -> (tempfile::TempDir, Vec<Case>) {
    let folder = tempfile::tempdir().unwrap();
    (0..3).for_each(|repetition| run(&folder.path().join(format!("c.{repetition}")), repetition, unchanged));
    let (_, asked) = plans([folder.path().join("c.0")]).next().unwrap();
    let cases = vec![asked.unwrap().case];
    (folder, cases)
}

fn message(kept: &[Kept]) -> Vec<(u32, Result<usize, String>)> {
    let of = |kept: &Kept| match &kept.run {
        Ok(run) => Ok(run.explanation.interruptions.len()),
        Err(error) => Err(error.to_string()),
    };
    kept.iter().map(|kept| (kept.repetition, of(kept))).collect()
}

#[test]
fn all_repetitions_are_read() {
    let (folder, cases) = runs();
    let all = message(&newest(folder.path(), &cases, None));
    assert_eq!(all, [(0, Ok(50)), (1, Ok(50)), (2, Ok(50))]);
}

/// A run is chosen by its plan, and another folder may be at its path when it is read: `runs` may hold links, whose
/// targets another user can replace at any moment.
#[test]
fn a_run_is_judged_by_what_was_read() {
    let (folder, cases) = runs();
    let elsewhere = tempfile::tempdir().unwrap();
    let changes: [(Change, u32); 2] =
        [(|text| text.replace("measure_ns = 1", "measure_ns = 2"), 0), (unchanged, 1)];
    for (number, (change, repetition)) in changes.into_iter().enumerate() {
        let other = elsewhere.path().join(format!("{number}"));
        run(&other, repetition, change);
        let place = folder.path().join("c.0");
        let found = chosen(folder.path(), &cases);
        let aside = elsewhere.path().join("aside");
        std::fs::rename(&place, &aside).unwrap();
        symlink(&other, &place).unwrap();
        let kept = read_chosen(&found, &cases, &load);
        assert_eq!(message(&kept), [(1, Ok(50)), (2, Ok(50))], "{number}");
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(&aside, &place).unwrap();
    }
    assert_eq!(newest(folder.path(), &cases, None).len(), 3);
}

#[test]
fn runs_that_are_held_at_once_have_one_budget() {
    let (folder, cases) = runs();
    let found = chosen(folder.path(), &cases);
    let within = |budget: &Budget| {
        message(&read_chosen(&found, &cases, &|folder| load_within(folder, None, budget)))
            .into_iter()
            .map(|(_, run)| run)
            .collect::<Vec<_>>()
    };
    assert_eq!(within(&Budget::new(300, 1 << 20, 1 << 20)), [Ok(50), Ok(50), Ok(50)]);
    let events = within(&Budget::new(299, 1 << 20, 1 << 20));
    assert_eq!(events[..2], [Ok(50), Ok(50)]);
    let why = events[2].as_ref().unwrap_err();
    assert!(
        why.contains("c.2: with the runs before it")
            && why.contains("has 100 events, and the memory left holds 99"),
        "{why}"
    );
    let bytes = within(&Budget::new(300, 2500, 1 << 20));
    assert_eq!(bytes[0], Ok(50));
    let why = bytes[2].as_ref().unwrap_err();
    assert!(why.contains("; run or report fewer cases"), "{why}");
}

/// Each run of `lab run` was read alone.
#[test]
fn runs_that_were_read_alone_are_held_within_one_budget() {
    let (folder, cases) = runs();
    let budget = Budget::new(150, 1 << 20, 1 << 20);
    let held: Vec<Result<u64, String>> = chosen(folder.path(), &cases)
        .values()
        .flat_map(|folders| folders.values())
        .map(|folder| load(folder).unwrap().within(&budget))
        .map(|run| run.map(|run| run.timing.len() as u64).map_err(|error| error.to_string()))
        .collect();
    assert!(held[0].is_ok(), "{held:?}");
    let why = held[1].as_ref().unwrap_err();
    assert!(why.contains("has 100 events, and the memory left holds 50"), "{why}");
}

/// A number of two letters takes hundreds of bytes once it is a figure.
#[test]
fn numbers_of_files_and_profiles_have_one_budget() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c.0");
    run(&place, 0, |text| text.replace("tools = []", "tools = []\nread = [\"/proc/a\", \"/proc/b\"]"));
    let numbers = |lines: usize| {
        for path in ["/proc/a", "/proc/b"] {
            for moment in [Moment::Before, Moment::After] {
                let text: String = (0..lines).map(|line| format!("n{line} 1\n")).collect();
                std::fs::write(place.join(RAW).join(piece_of_file(path, moment)), text).unwrap();
            }
        }
    };
    let within = |held| load_within(&place, None, &Budget::new(300, 64 << 20, held));
    numbers(100);
    assert_eq!(within(1 << 20).unwrap().observations.iter().filter(|row| row.key.contains("n99")).count(), 2);
    let why = within(40_000).unwrap_err().to_string();
    assert!(why.contains("the numbers in its files take") && why.contains("are left"), "{why}");
    numbers(MOST_NUMBERS / 2 + 1);
    let why = within(u64::MAX).unwrap_err().to_string();
    assert!(why.contains("case.read have more than 1048576 numbers"), "{why}");
}

#[test]
fn a_profile_counts_in_the_budget() {
    // Of the interrupts and their sums some thirteen thousand.
    const HELD: u64 = 35_000;
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c.0");
    run(&place, 0, |text| text.replace("tools = []", "tools = []\nprofile = true"));
    std::fs::write(place.join("raw/kallsyms"), "ffffffff81000000 T entry_SYSCALL_64\n").unwrap();
    let mut writer = stream::Writer::default();
    writer.on(0);
    for _ in 0..1000 {
        writer.block(0, 0x40_0000, 1);
        writer.block(0, 0xffff_ffff_8100_0000, 1);
    }
    writer.off(0);
    std::fs::write(place.join("profile.bin"), writer.take()).unwrap();
    let budget = Budget::new(300, 1 << 20, HELD);
    let load = || load_within(&place, None, &budget);
    assert!(load().unwrap().profile.is_some());
    let grown = std::fs::File::options().append(true).open(place.join("profile.bin")).unwrap();
    let whole = grown.metadata().unwrap().len();
    grown.set_len(100 << 20).unwrap();
    let why = load_within(&place, None, &Budget::of_one()).unwrap_err().to_string();
    assert!(why.contains("a hole"), "a zero is a block of it: {why}");
    grown.set_len(whole).unwrap();
    let left = budget.held();
    assert!((1..HELD - 8 * 999).contains(&left), "999 spans of eight bytes: {left}");
    let second = std::iter::repeat_with(load).find_map(Result::err).unwrap();
    assert!(matches!(second, StoreError::Spent { spent: Spent::Held { .. }, .. }), "{second}");
    let alone = Budget::new(300, 1 << 20, 2000);
    let error = load_within(&place, None, &alone).unwrap_err();
    assert!(matches!(error, StoreError::Spent { .. }), "{error}");
    assert_eq!(alone.held(), 2000, "what fails has taken nothing");
}

/// The output of a program that exceeds the limit is not a missing file.
#[test]
fn outputs_count_in_the_budget_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c.0");
    run(&place, 0, |text| format!("{text}[case.script]\ncpus = \"1\"\nrun = [\"true\"]\nin_window = true\n"));
    let within = |bytes| load_within(&place, None, &Budget::new(300, bytes, 1 << 20));
    assert!(within(8 << 10).is_ok());
    std::fs::write(place.join("raw/script.out"), "x".repeat(16 << 10)).unwrap();
    let error = within(8 << 10).unwrap_err();
    assert!(matches!(error, StoreError::Spent { spent: Spent::Bytes { .. }, .. }), "{error}");
}

/// An older run in place of one for which there is no memory would be reported as the newest.
#[test]
fn an_older_run_is_read_where_the_newest_is_damaged_and_not_where_it_is_too_large() {
    let (folder, cases) = runs();
    let again = folder.path().join("c.0.again");
    run(&again, 0, unchanged);
    let later = std::fs::File::options().write(true).open(again.join(OBSERVATIONS)).unwrap();
    later.set_modified(SystemTime::now() + Duration::from_secs(10)).unwrap();
    std::fs::write(again.join("raw/trace.cpu1"), [page(100), page(100)].concat()).unwrap();
    let found = chosen(folder.path(), &cases);
    let budget = Budget::new(300, 1 << 20, 1 << 20);
    let first = read_chosen(&found, &cases, &|folder| load_within(folder, None, &budget)).remove(0);
    assert!(matches!(first.run, Err(StoreError::Spent { .. })), "{:?}", first.run);
    std::fs::write(again.join("raw/comms.json"), "[").unwrap();
    assert_eq!(message(&newest(folder.path(), &cases, None))[0], (0, Ok(50)));
}

/// Links to one run, or to a large file of it, are a small archive; each would be read as the first.
#[test]
fn a_run_with_a_file_of_another_is_not_read() {
    let (folder, cases) = runs();
    let large = format!(" CPU0 CPU1\n{}", "0: 1 1 x\n".repeat(10_000));
    std::fs::write(folder.path().join("c.0/raw/interrupts.after"), large).unwrap();
    let linked = folder.path().join("c.2/raw/interrupts.after");
    std::fs::remove_file(&linked).unwrap();
    std::fs::hard_link(folder.path().join("c.0/raw/interrupts.after"), linked).unwrap();
    let kept = newest(folder.path(), &cases, None);
    assert!(kept[..2].iter().all(|kept| !matches!(kept.run, Err(StoreError::Shared { .. }))));
    assert!(matches!(kept[2].run, Err(StoreError::Shared { .. })), "{:?}", kept[2].run);
}

/// Each run that is damaged at its end takes as long to read as a complete one.
#[test]
fn of_damaged_runs_only_some_are_tried() {
    let asked: Plan = toml::from_str(&format!("repetition = 0{ASKED}")).unwrap();
    let at = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    let folders = (0..20).map(|second| (at(second), PathBuf::from(format!("c.{second}")))).collect();
    let found = newest::Chosen::from([((0, 0), folders)]);
    let read = std::cell::Cell::new(0);
    let kept = read_chosen(&found, &[asked.case], &|folder| {
        read.set(read.get() + 1);
        Err(StoreError::Damaged { path: folder.to_owned(), reason: "cut".to_owned() })
    });
    assert_eq!((kept.len(), read.get()), (1, 8));
    let why = kept[0].run.as_ref().unwrap_err().to_string();
    assert!(why.contains("c.19"), "of the newest: {why}");
    let asked: Plan = toml::from_str(&format!("repetition = 0{ASKED}")).unwrap();
    let cases = [Case { repeat: 100, ..asked.case }];
    let one =
        |repetition: u32| BTreeMap::from([(at(repetition.into()), PathBuf::from(format!("c.{repetition}")))]);
    let found: newest::Chosen = (0..100).map(|repetition| ((0, repetition), one(repetition))).collect();
    read.set(0);
    let kept = read_chosen(&found, &cases, &|folder| {
        read.set(read.get() + 1);
        Err(StoreError::Damaged { path: folder.to_owned(), reason: "cut".to_owned() })
    });
    assert_eq!((kept.len(), read.get()), (100, 64));
}

/// Each refusal takes as long as reading the run, and a study may have ten thousand.
#[test]
fn after_some_refusals_no_other_run_is_read() {
    let asked: Plan = toml::from_str(&format!("repetition = 0{ASKED}")).unwrap();
    let cases = [Case { repeat: 20, ..asked.case }];
    let one = |repetition| BTreeMap::from([(SystemTime::now(), PathBuf::from(format!("c.{repetition}")))]);
    let found: newest::Chosen = (0..20).map(|repetition| ((0, repetition), one(repetition))).collect();
    let read = std::cell::Cell::new(0);
    let kept = read_chosen(&found, &cases, &|folder| {
        read.set(read.get() + 1);
        Err(StoreError::Spent { path: folder.to_owned(), spent: Spent::Events { events: 2, left: 1 } })
    });
    assert_eq!((kept.len(), read.get()), (20, 8));
    let last = kept[19].run.as_ref().unwrap_err().to_string();
    assert!(last.contains("c.19") && last.contains("8 runs before it are damaged"), "{last}");
}

#[test]
fn a_run_that_cannot_be_read_says_why() {
    let (folder, cases) = runs();
    std::fs::write(folder.path().join("c.1/raw/comms.json"), "[").unwrap();
    let kept = message(&newest(folder.path(), &cases, None));
    assert_eq!((kept.len(), &kept[0].1), (3, &Ok(50)));
    let why = kept[1].1.as_ref().unwrap_err();
    assert!(why.contains("c.1/raw/comms.json: invalid type"), "{why}");
}

/// The timing is not covered by the seal, so any user may have written it.
#[test]
fn the_times_of_stages_are_a_handful_of_numbers() {
    let (folder, cases) = runs();
    let numbers: Vec<String> = (0..10_000).map(|number| format!(r#""{number}":1.0"#)).collect();
    std::fs::write(folder.path().join("c.2").join(TIMING), format!("{{{}}}", numbers.join(","))).unwrap();
    let kept = message(&newest(folder.path(), &cases, None));
    let why = kept[2].1.as_ref().unwrap_err();
    assert!(why.contains("timing.json") && why.contains("larger than"), "{why}");
}

#[test]
fn a_run_on_another_machine_is_another_run() {
    let asked: Plan = toml::from_str(&format!("repetition = 0{ASKED}")).unwrap();
    assert_eq!(asked.host, None, "nothing is known of it where time is virtual");
    let on = |processor: &str| {
        let host =
            Host { processor: processor.to_owned(), cpus: 4, release: "6.12".to_owned(), is_virtual: true };
        Plan { accelerator: Accelerator::Kvm, host: Some(host), ..asked.clone() }
    };
    let kept = toml::to_string_pretty(&on("EPYC")).unwrap();
    let read: Plan = toml::from_str(&kept).unwrap();
    assert_eq!(read, on("EPYC"), "{kept}");
    assert_eq!(read.fingerprint(), on("EPYC").fingerprint());
    assert_ne!(read.fingerprint(), on("Xeon").fingerprint());
}
