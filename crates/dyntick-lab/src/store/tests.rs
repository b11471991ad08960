// SPDX-License-Identifier: GPL-2.0-only
//! Runs in folders of untrusted origin.

use super::files::MOST_OF_NUMBERS;
use super::newest::{chosen, read_chosen};
use super::*;
use crate::names::{ANALYSIS, RAW, RUN, TIMING};
use crate::plan;
use crate::qemu::{Accelerator, Host};
use dyntick_guest::{Moment, piece_of_file};
use dyntick_kernels::cache::Cache;
use dyntick_profile::stream;
use dyntick_study::Case;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

pub(crate) const ASKED: &str = concat!("\n", include_str!("plan.toml"));

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
pub(crate) type Change = fn(&str) -> String;

/// The change of a repetition in virtual time, as in `run.toml`.
fn perturbed(repetition: u32) -> String {
    let table = |perturbation| format!("[perturbation]\n{}", toml::to_string(&perturbation).unwrap());
    plan::perturbation_of(dyntick_model::Clock::Virtual, repetition).map(table).unwrap_or_default()
}

/// A run of the case in this folder.
pub(crate) fn run(at: &Path, repetition: u32, change: Change) {
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

pub(crate) fn unchanged(text: &str) -> String {
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
        Ok(run) => Ok(run.analysis.timer_interrupts.values().map(Vec::len).sum()),
        Err(error) => Err(error.to_string()),
    };
    kept.iter().map(|kept| (kept.repetition, of(kept))).collect()
}

#[test]
fn all_repetitions_are_read() {
    let (folder, cases) = runs();
    let all = message(&newest(folder.path(), &cases, None, &|_| ()));
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
        let kept = read_chosen(&found, &cases, Held::on_this_machine(), &load);
        assert_eq!(message(&kept), [(1, Ok(50)), (2, Ok(50))], "{number}");
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(&aside, &place).unwrap();
    }
    assert_eq!(newest(folder.path(), &cases, None, &|_| ()).len(), 3);
}

#[test]
fn runs_that_are_held_at_once_have_one_limit() {
    let (folder, cases) = runs();
    let found = chosen(folder.path(), &cases);
    let bytes = load(&folder.path().join("c.0")).unwrap().bytes;
    let within = |bytes| message(&read_chosen(&found, &cases, Held::within(bytes), &load));
    assert!(within(3 * bytes).iter().all(|(_, run)| *run == Ok(50)));
    let kept = within(3 * bytes - 1);
    assert_eq!((&kept[0].1, &kept[1].1), (&Ok(50), &Ok(50)));
    let why = kept[2].1.as_ref().unwrap_err();
    assert!(why.contains("c.2: with the runs before it") && why.contains("; run or report fewer"), "{why}");
}

/// A number of two letters takes hundreds of bytes once it is a figure.
#[test]
fn numbers_of_files_have_a_limit() {
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
        load(&place)
    };
    let read = numbers(100).unwrap();
    assert_eq!(read.analysis.observations.iter().filter(|row| row.key.contains("n99")).count(), 2);
    let why = numbers(MOST_OF_NUMBERS / 512).unwrap_err().to_string();
    assert!(why.contains("case.read take more than 268435456 bytes"), "{why}");
}

#[test]
fn a_profile_without_its_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c.0");
    run(&place, 0, |text| text.replace("tools = []", "tools = []\nprofile = true"));
    std::fs::write(place.join("raw/kallsyms"), "ffffffff81000000 T entry_SYSCALL_64\n").unwrap();
    let mut writer = stream::Writer::default();
    writer.on(0);
    for _ in 0..1000 {
        writer.block(1, 0x40_0000, 1);
        writer.block(1, 0xffff_ffff_8100_0000, 1);
    }
    writer.off(0);
    std::fs::write(place.join("profile.bin"), writer.take()).unwrap();
    let spans = load(&place).unwrap().analysis.spans.unwrap();
    assert!(spans.kinds.values().any(|sums| sums.count > 900), "{spans:?}");
    let grown = std::fs::File::options().append(true).open(place.join("profile.bin")).unwrap();
    grown.set_len(100 << 20).unwrap();
    let why = load(&place).unwrap_err().to_string();
    assert!(why.contains("a hole"), "a zero is a block of it: {why}");
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
    let bytes = load(&folder.path().join("c.0")).unwrap().bytes;
    let first = read_chosen(&found, &cases, Held::within(bytes), &load).remove(0);
    assert!(matches!(first.run, Err(StoreError::Full { .. })), "{:?}", first.run);
    std::fs::write(again.join("raw/comms.json"), "[").unwrap();
    assert_eq!(message(&newest(folder.path(), &cases, None, &|_| ()))[0], (0, Ok(50)));
}

/// A run of this user with its analysis, and the number of timer interrupts that readers see.
struct Sealed {
    place: PathBuf,
    sealer: Sealer,
    _folder: tempfile::TempDir,
}

impl Sealed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (place, cache) = (folder.path().join("c.0"), folder.path().join("cache"));
        run(&place, 0, unchanged);
        let sealer = Sealer::of(&Cache::at(cache)).unwrap();
        sealer.seal(&place).unwrap();
        Self { place, sealer, _folder: folder }
    }

    fn file(&self) -> PathBuf {
        self.place.join(ANALYSIS)
    }

    fn load(&self) -> Run {
        load_judged(&self.place, Some(&self.sealer)).unwrap()
    }

    /// Stores an analysis without interrupts, sealed in this way.
    fn forge(&self, seal: impl Fn(&[u8]) -> String) {
        let mut analysis = self.load().analysis;
        analysis.timer_interrupts.clear();
        let json = analysis::text_of(&analysis);
        std::fs::write(self.file(), [seal(&json).as_bytes(), b"\n", &json].concat()).unwrap();
    }

    fn interrupts(&self) -> usize {
        self.load().analysis.timer_interrupts.values().map(Vec::len).sum()
    }
}

#[test]
fn analysis_is_stored_and_read_again() {
    let run = Sealed::new();
    let made = run.load();
    let stored = std::fs::read(run.file()).unwrap();
    let read = run.load();
    assert!(made.made_here && read.made_here);
    // Steps of causes are read as their words.
    assert!(
        read.bytes == made.bytes && analysis::text_of(&read.analysis) == analysis::text_of(&made.analysis)
    );
    assert_eq!(std::fs::read(run.file()).unwrap(), stored, "the same run has the same analysis");
    let beside = std::fs::read_dir(run.place.parent().unwrap()).unwrap().count();
    assert_eq!(beside, 2, "the run and the cache");
    // What the guest sent is not read for it.
    run.forge(|json| run.sealer.seal_analysis(&run.place, json).unwrap());
    assert_eq!(run.interrupts(), 0);
}

/// A seal of a text.
type Seal<'a> = &'a dyn Fn(&[u8]) -> String;

#[test]
fn analysis_with_another_seal_is_made_again() {
    let run = Sealed::new();
    let other = Sealed::new();
    std::fs::write(other.place.join(TIMING), b"{\"boot\": 1.0}").unwrap();
    let seals: [Seal<'_>; 4] = [
        &|_| "0".repeat(64),
        &|_| String::new(),
        &|_| std::fs::read_to_string(run.place.join("seal")).unwrap(),
        // Of another user, who has the same run.
        &|json| other.sealer.seal_analysis(&run.place, json).unwrap(),
    ];
    for seal in seals {
        run.forge(seal);
        assert_eq!(run.interrupts(), 50);
        assert_eq!(run.interrupts(), 50, "and it is stored");
    }
    std::fs::write(run.file(), "no line").unwrap();
    assert_eq!(run.interrupts(), 50);
}

#[test]
fn runs_of_others_are_analysed_from_their_files() {
    let run = Sealed::new();
    let none = load(&run.place).unwrap();
    assert!(!none.made_here && !run.file().exists());
    run.forge(|json| run.sealer.seal_analysis(&run.place, json).unwrap());
    std::fs::write(run.place.join("raw/comms.json"), "{ }").unwrap();
    let changed = run.load();
    assert!(!changed.made_here, "and its seal does not hold");
    assert_eq!(changed.analysis.timer_interrupts.values().map(Vec::len).sum::<usize>(), 50);
}

#[test]
fn a_run_that_cannot_be_read_says_why() {
    let (folder, cases) = runs();
    std::fs::write(folder.path().join("c.1/raw/comms.json"), "[").unwrap();
    let kept = message(&newest(folder.path(), &cases, None, &|_| ()));
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
    let kept = message(&newest(folder.path(), &cases, None, &|_| ()));
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
