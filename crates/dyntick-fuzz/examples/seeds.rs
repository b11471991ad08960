// SPDX-License-Identifier: GPL-2.0-only
//! Writes those files of the corpus that are no texts: `cargo run -p dyntick-fuzz --example seeds`.

use dyntick_guest::{Archive, Outcome, Settled};
use dyntick_lab::plan::Plan;
use dyntick_lab::qemu::Accelerator;
use dyntick_model::{CommandLine, CpuList};
use dyntick_profile::stream::Writer;
use dyntick_study::Case;
use std::collections::BTreeSet;
use std::path::Path;

fn main() -> std::io::Result<()> {
    put("guest-archive/two-pieces", &archive())?;
    put("profile-stream/a-tick-and-a-call", &profile())?;
    put("stored-run/idle", run().as_bytes())
}

fn put(name: &str, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name), bytes)
}

/// Without the checksum, which the target adds.
fn archive() -> Vec<u8> {
    let mut archive = Archive::default();
    archive.insert("outcome.json", b"{}".to_vec());
    archive.insert("trace.cpu1", vec![7; 40]);
    archive.to_bytes().split_off(8)
}

fn profile() -> Vec<u8> {
    let mut stream = Writer::default();
    stream.on(0);
    stream.block(0, 0x40_0000, 5);
    stream.block(0, 0xffff_ffff_8100_0000, 10);
    stream.block(0, 0xffff_ffff_8100_0100, 20);
    stream.exception(0, 0xffff_ffff_8100_0108);
    stream.block(0, 0xffff_ffff_8100_0200, 7);
    stream.block(0, 0xffff_ffff_8100_0500, 1);
    stream.undone(0);
    stream.block(0, 0x40_0005, 3);
    stream.block(0, 0x40_0005, 3);
    stream.block(1, 0xffff_ffff_8100_0600, 2);
    stream.exception(1, 0xffff_ffff_8100_0602);
    stream.block(1, 0xffff_ffff_8100_0200, 4);
    stream.switch(1, 0xffff_8880_0000_0000, 0xffff_8880_0000_1000);
    stream.block(1, 0x40_0000, 5);
    stream.mark(1, 3);
    stream.off(0);
    stream.take()
}

fn run() -> String {
    let asked = Plan {
        repetition: 0,
        accelerator: Accelerator::Icount,
        qemu: "10.0".into(),
        firmware_sha256: None,
        release: "6.12.95".parse().expect("a version"),
        kernel_source: "debian:6.12".into(),
        kernel_fallback: None,
        kernel_parts: None,
        kernel_sha256: "00".into(),
        hz: 250,
        missing_options: BTreeSet::new(),
        program_sha256: None,
        image_sha256: "00".into(),
        command_line: CommandLine::parse("nohz_full=1 isolcpus=domain,1"),
        idle_states: None,
        perturbation: None,
        host: None,
        case: Case::new("idle", "debian:6.12"),
    };
    let outcome = Outcome {
        settled: Settled { waited_ns: 1, restless: CpuList::default() },
        window_ns: (1_000, 2_000_000),
        task_cpu_ns: Vec::new(),
        script: None,
        notes: Vec::new(),
    };
    let trace = r#"{"page_size":4096,"formats":{},"symbols":{},"stats":{},"missing_events":[]}"#;
    let interrupts = "      CPU0 CPU1\nLOC: 1 2 x";
    let pieces = [
        ("run.toml", toml(&asked)),
        ("timing.json", r#"{"boot":1.5}"#.to_owned()),
        ("raw/outcome.json", serde_json::to_string(&outcome).expect("JSON")),
        ("raw/trace.json", trace.to_owned()),
        ("raw/comms.json", r#"{"1":"init"}"#.to_owned()),
        ("raw/interrupts.before", interrupts.to_owned()),
        ("raw/interrupts.after", interrupts.replace('2', "7")),
    ];
    pieces.iter().map(|(name, text)| format!("== {name}\n{text}\n")).collect()
}

fn toml(asked: &Plan) -> String {
    toml::to_string_pretty(asked).expect("TOML")
}
