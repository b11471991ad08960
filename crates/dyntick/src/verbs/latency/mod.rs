// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick latency`: wake-up latency, in cyclictest's words.

mod arguments;
mod plan;
mod print;
mod screen;
mod why;

pub use arguments::Arguments;

use crate::output;
use anyhow::{Context, Result};
use dyntick_latency::{PowerLimit, Running, Shared, allowed, hold, online, resolution, stamp};
use std::process::ExitCode;

/// Measures until the end that was asked for, or a signal.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let planned = plan::plan(arguments, &plan::Cpus { allowed: allowed(), online: online() })?;
    for file in arguments.json.iter().chain(&arguments.histfile) {
        output::ensure_writable(file)?;
    }
    planned.warnings.iter().for_each(|warning| warn(warning));
    if arguments.resolution {
        tell_resolution(arguments, planned.plan.clock);
    }
    preamble(arguments, &planned)?;
    let _limit = limit_idle_states(arguments)?;
    let mut plan = planned.plan;
    (plan.late_above, plan.late_limit) = match arguments.spike.filter(|limit| *limit > 0) {
        Some(limit) => (Some(limit), arguments.spike_nodes),
        None => (arguments.why, arguments.why_max),
    };
    for (number, thread) in plan.threads.iter().enumerate().filter(|_| arguments.verbose) {
        if let Some(cpu) = thread.cpu.filter(|_| planned.affinity.is_some()) {
            output::line(format_args!("Thread {number} using cpu {cpu}."))?;
        }
        // cyclictest prints the next thread's.
        let next = if plan.bins > 0 { 0 } else { arguments.distance.unwrap_or(500) };
        output::line(format_args!("Thread {number} Interval: {}", thread.interval_ns / 1000 + next))?;
    }
    let mut why = why::Why::start(arguments, &plan);
    if let Some(refused) = why.as_ref().and_then(|why| why.refused()) {
        warn(&format!("late wake-ups are not explained: {refused}"));
    }
    let begun = stamp();
    let running = Running::start(plan)?;
    let mut screen = screen::Screen::new(arguments, running.plan());
    screen.follow(&running, why.as_mut())?;
    let plan = running.plan().clone();
    let shared = running.finish()?;
    let times = (begun, stamp());
    let told = why.map(|why| why.tell(&plan, &shared));
    let late = told.as_ref().map(|(told, _)| ("late".to_owned(), serde_json::json!(told)));
    if let Some(path) = &arguments.json {
        print::json(path, arguments, &plan, &shared, times, late.into_iter().collect())?;
    }
    screen.end(&plan, &shared)?;
    foot(arguments, &plan, &shared)?;
    if let Some((told, _)) = told.filter(|(told, refused)| refused.is_none() && !told.is_empty()) {
        output::text(why::text(&told, shared.lates.count()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn warn(text: &str) {
    output::note(text);
}

/// What cyclictest says before it begins.
fn preamble(arguments: &Arguments, planned: &plan::Planned) -> Result<()> {
    if !arguments.verbose {
        return Ok(());
    }
    let online = online().len();
    let present = std::fs::read_to_string("/sys/devices/system/cpu/present").unwrap_or_default();
    let present = present.parse::<dyntick_model::CpuList>().map_or(online, |cpus| cpus.len());
    output::line(format_args!("Max CPUs = {present}\nOnline CPUs = {online}"))?;
    match &planned.affinity {
        Some(cpus) => output::line(format_args!("Using {} cpus.", cpus.len())),
        None => Ok(()),
    }
}

/// Sets the limit for idle states that lasts while this program does.
fn limit_idle_states(arguments: &Arguments) -> Result<Option<PowerLimit>> {
    let why = match (arguments.laptop, arguments.default_system) {
        (true, _) => Some("--laptop"),
        (_, true) => Some("--default-system"),
        _ => None,
    };
    if let Some(why) = why {
        warn(&format!("/dev/cpu_dma_latency stays as it is ({why}): all idle states are allowed"));
        return Ok(None);
    }
    let limit = arguments.latency.max(0);
    match hold(limit) {
        Ok(held) => {
            output::line(format_args!("# /dev/cpu_dma_latency set to {limit}us")).map(|()| Some(held))
        }
        Err(error) => {
            warn(&format!(
                "cannot set /dev/cpu_dma_latency ({error}), which needs root or write access: idle states \
                 may add their exit latency"
            ));
            Ok(None)
        }
    }
}

fn tell_resolution(arguments: &Arguments, clock: dyntick_latency::Clock) {
    let resolution = resolution::of(clock);
    if arguments.dbg_cyclictest {
        output::aside(format_args!(
            "For {} consecutive calls to clock_gettime():\ntime, delta time (nsec)\n",
            resolution.readings.len()
        ));
        for pair in resolution.readings.windows(2) {
            output::aside(format_args!(
                "{}.{:09}  {:5}\n",
                pair[1] / 1_000_000_000,
                pair[1] % 1_000_000_000,
                pair[1] - pair[0].min(pair[1])
            ));
        }
    }
    let measured = resolution.measured.map_or("none seen".to_owned(), |ns| format!("{ns} nsec"));
    warn(&format!("reported clock resolution: {} nsec", resolution.reported));
    warn(&format!("measured clock resolution approximately: {measured}"));
}

/// What stands below the status lines.
fn foot(arguments: &Arguments, plan: &dyntick_latency::Plan, shared: &Shared) -> Result<()> {
    let unit = print::unit(arguments);
    if let Some(limit) = arguments.spike.filter(|limit| *limit > 0) {
        output::text(print::spikes(shared, limit, unit, arguments.spike_nodes))?;
    }
    if plan.bins > 0 {
        print::histogram(arguments, plan, shared).context("the histogram")?;
    }
    if plan.break_above.is_none() {
        return Ok(());
    }
    let tids: String = shared.threads.iter().map(|counts| format!(" {:05}", counts.tid())).collect();
    output::line(format_args!("# Thread Ids:{tids}"))?;
    if let Some(late) = shared.broke.kept().first() {
        output::line(format_args!("# Break thread: {}", shared.threads[late.thread].tid()))?;
        output::line(format_args!("# Break value: {}", late.latency_ns() / unit.ns()))?;
    }
    Ok(())
}
