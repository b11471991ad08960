// SPDX-License-Identifier: GPL-2.0-only
//! Decisions a second of a replay, beside the same governor in a bare C loop over decisions in memory, for
//! `make bench`: `cargo run --release --example speed [-- MILLIONS]`. A replay is all that is done for a governor:
//! it is started, confined, run and scored. The loop alone is timed. By turns, five times each; prints the medians.

use dyntick_idle::{State, States};
use dyntick_kernels::build::governors::{GOVERNORS, unpacked};
use dyntick_kernels::cache::Cache;
use dyntick_model::CpuList;
use dyntick_replay::{Compiler, Decision, Governor, Ground, Input, Lengths, Settings, Sorter};
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const HZ: u32 = 250;
const TICK_NS: u64 = 4_000_000;
const ROUNDS: usize = 5;
const KERNEL_H: &str = include_str!("../../src/standin/kernel.h");
const BARE_C: &str = include_str!("bare.c");

fn main() -> Result<(), Box<dyn Error>> {
    let millions: u64 = std::env::args().nth(1).map_or(Ok(16), |text| text.parse())?;
    let count = millions * 1_000_000;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("decisions");
    let states = states();
    let input = inputs(count, &states, &path)?;
    let cache = Cache::of_user()?;
    let source = unpacked("debian:6.12", &cache, &|text| eprintln!("{text}"))?;
    println!(
        "{}, {millions} million decisions of one CPU, {ROUNDS} rounds: million decisions a second",
        source.origin
    );
    println!("  replay  bare loop  ratio");
    let compiler = Compiler::new(cache)?;
    for name in ["menu", "teo", "ladder"] {
        let file = source.tree.join(GOVERNORS).join(format!("{name}.c"));
        let governor = Governor::read(name, &file)?;
        let program = compiler.compile(&governor, HZ)?;
        let bare = compile_bare(&file, folder.path())?;
        let cpus = CpuList::first(1);
        let ground =
            Ground { input: &input, states: &states, machine: None, cpus: &cpus, window: (0, u64::MAX) };
        let (mut replays, mut loops) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            let score = ground.score(&program.run(&input, Decision::NO_LIMIT, false)?)?;
            replays.push(begin.elapsed().as_nanos() as u64);
            let output = Command::new(&bare).arg(&path).output()?;
            let numbers: Vec<u64> = String::from_utf8(output.stdout)?
                .split_whitespace()
                .map(str::parse)
                .collect::<Result<_, _>>()?;
            let (ns, counts) = numbers.split_first().ok_or("the bare loop said nothing")?;
            if score.states != counts {
                return Err(format!("{name} chose {:?}, and in the loop {counts:?}", score.states).into());
            }
            loops.push(*ns);
        }
        let [replay, bare] = [replays, loops].map(|ns| count as f64 * 1e3 / median(ns));
        println!("{replay:8.1} {bare:10.1} {:6.2}  {name}", replay / bare);
    }
    Ok(())
}

fn median(mut ns: Vec<u64>) -> f64 {
    ns.sort_unstable();
    ns[ns.len() / 2] as f64
}

/// Sapphire Rapids, as in the loop.
fn states() -> States {
    let table = [("POLL", 0, 0), ("C1", 1, 1), ("C1E", 2, 4), ("C6", 290, 800)];
    let state = |(name, exit_us, residency_us): (&str, u64, u64)| State {
        name: name.to_owned(),
        exit_latency_ns: exit_us * 1000,
        target_residency_ns: residency_us * 1000,
        leaving_ns: exit_us * 1000,
        polling: name == "POLL",
        disabled: false,
    };
    States(table.map(state).to_vec())
}

/// Sleeps of a CPU: two periodic timers, and interrupts at random before them. The same for the loop, in a file.
fn inputs(count: u64, states: &States, path: &Path) -> Result<Input, Box<dyn Error>> {
    let mut sorter = Sorter::new(states, HZ, Settings::new(), false)?;
    let mut plain = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (mut random, mut now) = (0x9e37_79b9_7f4a_7c15_u64, 1_000_000_000_u64);
    for _ in 0..count {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let timer_ns =
            [130_000, 3_700_000].map(|period: u64| period - now % period).into_iter().min().unwrap_or(0);
        let idle_ns = if random % 4 == 0 { random % timer_ns.max(1) } else { timer_ns };
        let delta_ns = timer_ns.min(TICK_NS - now % TICK_NS);
        let residency_ns = idle_ns + 2000;
        let lengths = Lengths { sleep_length_ns: timer_ns as i64, delta_tick_ns: delta_ns as i64 };
        sorter.add(Decision {
            select_ns: now,
            wake_ns: now + idle_ns,
            exit_ns: now + residency_ns,
            residency_ns,
            seen: lengths,
            ..Decision::default()
        })?;
        for number in [now, idle_ns, timer_ns, delta_ns, 0] {
            plain.write_all(&number.to_ne_bytes())?;
        }
        now += residency_ns + 3000 + random % 1000;
    }
    plain.flush()?;
    Ok(sorter.finish()?.seen)
}

/// Compiles the loop with a governor, as the replay does.
fn compile_bare(governor: &Path, folder: &Path) -> Result<std::path::PathBuf, Box<dyn Error>> {
    let program = folder.join("bare");
    let headers = folder.join("headers");
    std::fs::write(folder.join("kernel.h"), KERNEL_H)?;
    std::fs::write(folder.join("bare.c"), BARE_C)?;
    for line in std::fs::read_to_string(governor)?.lines() {
        let Some(header) = line.strip_prefix("#include <").and_then(|rest| rest.strip_suffix('>')) else {
            continue;
        };
        let header = headers.join(header);
        std::fs::create_dir_all(header.parent().unwrap_or(&headers))?;
        std::fs::write(header, "")?;
    }
    std::fs::copy(governor, folder.join("governor.c"))?;
    let gov_h = governor.with_file_name("gov.h");
    if gov_h.exists() {
        std::fs::copy(gov_h, folder.join("gov.h"))?;
    }
    let compile = |words: &[&str]| -> Result<(), Box<dyn Error>> {
        let status =
            Command::new("cc").args(["-O2", "-std=gnu11"]).args(words).current_dir(folder).status()?;
        if status.success() { Ok(()) } else { Err("the loop cannot be compiled".into()) }
    };
    compile(&[
        "-c",
        "-nostdinc",
        "-Iheaders",
        "-include",
        "kernel.h",
        "-DHZ=250",
        "governor.c",
        "-o",
        "governor.o",
    ])?;
    compile(&["-static", "bare.c", "governor.o", "-o", "bare"])?;
    Ok(program)
}
