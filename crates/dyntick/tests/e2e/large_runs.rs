// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab report` of runs that came with a study: what a stranger can make large stays short.

use crate::harness::schema;
use std::path::Path;

const STUDY: &str = "title = 't'\nquestion = '?'\n[defaults]\nkernel = 'debian:6.12'\ncpus = 2\n\
    measured-cpus = '1'\nmeasure = '10s'\n[[case]]\nname = 'c'\n";

/// The plan that the unit tests of stored runs have; each run here has another number.
const ASKED: &str = concat!("\n", include_str!("../../../dyntick-lab/src/store/plan.toml"));

const BEGIN: u64 = 1_000_000_000;

/// A folder with the study and runs of its case, all with this trace of CPU 1.
fn study(repetitions: u32, pages: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    for repetition in 0..repetitions {
        let run = folder.path().join(format!("runs/c.{repetition}"));
        std::fs::create_dir_all(run.join("raw")).unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(run.join(name), bytes).unwrap();
        write("run.toml", format!("repetition = {repetition}{ASKED}").as_bytes());
        write("timing.json", b"{}");
        write("observations.parquet", b"");
        let settled = r#"{"waited_ns":1,"restless":""}"#;
        let window = [BEGIN, BEGIN + 10_000_000_000];
        let outcome =
            format!(r#"{{"settled":{settled},"window_ns":{window:?},"task_cpu_ns":[],"notes":[]}}"#);
        write("raw/outcome.json", outcome.as_bytes());
        write("raw/comms.json", b"{}");
        write("raw/interrupts.before", b" CPU0 CPU1\n");
        write("raw/interrupts.after", b" CPU0 CPU1\n");
        write("raw/trace.json", metadata().to_string().as_bytes());
        write("raw/trace.cpu0", b"");
        write("raw/trace.cpu1", pages);
    }
    folder
}

/// Events of two or four words.
fn metadata() -> serde_json::Value {
    let format = |id: u16, fields: &str| {
        format!("ID: {id}\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n{fields}")
    };
    let field =
        |name: &str, offset: u32| format!("\tfield:int {name};\toffset:{offset};\tsize:4;\tsigned:0;\n");
    let expires = field("hrtimer", 4) + &field("function", 8) + &field("now", 12);
    serde_json::json!({
        "page_size": 4096, "symbols": {}, "missing_events": [],
        "stats": {"0": {"entries": 0, "lost": 0}, "1": {"entries": 0, "lost": 0}},
        "formats": {
            "irq_vectors:local_timer_entry": format(1, ""), "irq_vectors:local_timer_exit": format(2, ""),
            "timer:hrtimer_expire_entry": format(3, &expires),
            "timer:hrtimer_expire_exit": format(4, &field("hrtimer", 4)),
        },
    })
}

/// Timer interrupts, in each of which a timer of another function expires.
fn timer_interrupts(count: u32) -> Vec<u8> {
    let record = |words: &[u32]| {
        let header = words.len() as u32 | 10 << 5;
        std::iter::once(&header).chain(words).flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
    };
    let interrupt = |number: u32| {
        [record(&[1, 0]), record(&[3, 0, 0x8100_0000 + number, 0]), record(&[4, 0]), record(&[2, 0])].concat()
    };
    let all: Vec<Vec<u8>> = (0..count).map(interrupt).collect();
    let page = |(number, interrupts): (usize, &[Vec<u8>])| {
        let begin = BEGIN + 10_000 * number as u64;
        let data = interrupts.concat();
        let mut page = [begin.to_le_bytes(), (data.len() as u64).to_le_bytes()].concat();
        page.extend(data);
        page.resize(4096, 0);
        page
    };
    all.chunks(64).enumerate().flat_map(page).collect()
}

fn report(folder: &Path, more: &[&str]) -> String {
    let mut dyntick = crate::harness::dyntick();
    dyntick.args(["lab", "report", "--out"]).arg(folder).args(more).arg(folder.join("study.toml"));
    let output = dyntick.env("DYNTICK_CACHE", folder.join("cache")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Each function is a cause of its own, with half a page of the report: the first hundred are listed one by one.
#[test]
fn a_trace_of_many_causes_has_a_short_report() {
    let folder = study(1, &timer_interrupts(400));
    let told = report(folder.path(), &["--full"]);
    let paragraph = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(paragraph.contains("300 other causes") && paragraph.contains("300 interruptions"), "{told}");
    assert!(told.lines().count() < 3000, "{} lines", told.lines().count());
    let html = report(folder.path(), &["--format", "html"]);
    assert!(html.contains(">393 other causes</text>"), "the legend of the timeline names seven");
}

/// A folder of many repetitions of a case that is run once is no study's: each would be held beside the others.
#[test]
fn no_more_repetitions_are_read_than_the_case_has() {
    let folder = study(3, &timer_interrupts(10));
    let told: serde_json::Value = serde_json::from_str(&report(folder.path(), &["--json"])).unwrap();
    schema::assert_valid("dyntick-lab-run", &told);
    let runs = told["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["repetition"]), (1, &serde_json::json!(0)));
    assert_eq!(runs[0]["cpus"][1]["local_timer"], 10);
}

/// A run that is there and cannot be read is no run that was not made yet.
#[test]
fn a_run_that_cannot_be_read_says_why() {
    let folder = study(1, &timer_interrupts(10));
    std::fs::write(folder.path().join("runs/c.0/timing.json"), " ".repeat(1 << 20)).unwrap();
    let mut dyntick = crate::harness::dyntick();
    dyntick.args(["lab", "report", "--out"]).arg(folder.path()).arg(folder.path().join("study.toml"));
    let output = dyntick.env("DYNTICK_CACHE", folder.path().join("cache")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let why = "timing.json: it is larger than 64 KiB";
    assert!(!output.status.success() && told.contains(why), "{told}");
}

/// A text that is shown unchanged is at most as long as it can be on a real machine.
#[test]
fn a_processor_with_a_long_name_is_refused() {
    let folder = study(1, &timer_interrupts(10));
    let toml = folder.path().join("runs/c.0/run.toml");
    let asked = std::fs::read_to_string(&toml).unwrap();
    let host =
        format!("[host]\nprocessor = '{}'\ncpus = 1\nrelease = '6'\nis_virtual = false\n", "x".repeat(300));
    std::fs::write(&toml, asked + &host).unwrap();
    let mut dyntick = crate::harness::dyntick();
    dyntick.args(["lab", "profile"]).arg(folder.path().join("runs/c.0"));
    let output = dyntick.env("DYNTICK_CACHE", folder.path().join("cache")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("host.processor: 300 is not from 0 to 256"), "{told}");
    // And what is wrong with a file is not the file.
    std::fs::write(&toml, format!("repetition = 0\nrelease = '{}'", "x".repeat(100_000))).unwrap();
    let output = dyntick.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("run.toml") && told.contains("line 2: ") && told.len() < 2000, "{told}");
}

/// JSON is what programs read: who made the runs stands in it, not only beside it.
#[test]
fn whose_runs_were_compared_or_profiled_is_said_in_json_and_text() {
    let folder = study(2, &timer_interrupts(10));
    let runs = ["c.0", "c.1"].map(|name| folder.path().join("runs").join(name));
    let printed = |words: &[&str], runs: &[std::path::PathBuf]| {
        let mut dyntick = crate::harness::dyntick();
        dyntick.args(words).args(runs).env("DYNTICK_CACHE", folder.path().join("cache"));
        let output = dyntick.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (String::from_utf8(output.stdout).unwrap(), told)
    };
    let json = |(text, told): (String, String)| {
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{error}: {told}"))
    };
    let compared = json(printed(&["compare", "--json", "-m", "tick"], &runs));
    assert_eq!(compared["made_here"], serde_json::json!([false, false]));

    let toml = runs[0].join("run.toml");
    let asked = std::fs::read_to_string(&toml).unwrap();
    let (_, told) = printed(&["lab", "profile"], &runs[..1]);
    assert!(told.contains("was run without a profile"), "{told}");
    std::fs::write(&toml, asked.replace("tools = []", "tools = []\nprofile = true")).unwrap();
    std::fs::write(runs[0].join("raw/kallsyms"), "ffffffff81000000 T entry_SYSCALL_64\n").unwrap();
    let mut writer = dyntick_profile::stream::Writer::default();
    writer.on(0);
    writer.block(1, 0x40_0000, 1);
    writer.off(0);
    std::fs::write(runs[0].join("profile.bin"), writer.take()).unwrap();
    let profile = json(printed(&["lab", "profile", "--json"], &runs[..1]));
    assert_eq!((&profile["case"], &profile["made_here"]), (&"c".into(), &false.into()));
    let (text, told) = printed(&["lab", "profile"], &runs[..1]);
    assert!(text.contains("was not made by this user's laboratory"), "{text}{told}");
}
