// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick latency`: wake-up latency, in cyclictest's formats.

mod arguments;
mod plan;
mod print;
mod screen;
mod why;

pub use arguments::Arguments;

use crate::output;
use crate::verbs::turns;
use anyhow::{Context, Result};
use dyntick_contract::gate::{Counted, Figures, LATENCY, Measures};
use dyntick_latency::{
    Counts, Plan, PowerLimit, Running, Shared, ThreadPlan, allowed, hold, online, resolution, stamp,
};
use dyntick_model::{Clock, CpuList};
use dyntick_observe::facts;
use dyntick_record::late::{LateReport, LateWakeUp};
use dyntick_system::is_standard_output;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Measures until the requested end, or a signal.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if prints_json(arguments) && (arguments.verbose || !arguments.quiet) {
        // Standard output is then one document.
        return run(&Arguments { quiet: true, verbose: false, ..arguments.clone() });
    }
    let spike = spike(arguments)?;
    let why_above = arguments.why.map(|why| why.units(arguments.nsecs)).transpose()?;
    let planned = plan::plan(arguments, &plan::Cpus { allowed: allowed(), online: online() })?;
    for file in arguments.json.iter().chain(&arguments.histfile).chain(&arguments.html) {
        output::ensure_writable(file)?;
    }
    arguments.limits.ensure_usable("dyntick latency", &Measures::Latencies, &planned.plan.measured())?;
    planned.warnings.iter().for_each(|warning| warn(warning));
    if arguments.resolution {
        print_resolution(arguments, planned.plan.clock);
    }
    preamble(arguments, &planned)?;
    let limit = limit_idle_states(arguments)?;
    let idle_polls = limit.is_some() && arguments.latency <= 0;
    let mut plan = planned.plan;
    (plan.late_above, plan.late_limit) = match spike {
        Some(limit) => (Some(limit), arguments.spike_nodes),
        None => (why_above, 0),
    };
    for (number, thread) in plan.threads.iter().enumerate().filter(|_| arguments.verbose) {
        if let Some(cpu) = thread.cpu.filter(|_| planned.affinity.is_some()) {
            output::line(format_args!("Thread {number} using cpu {cpu}."))?;
        }
        // cyclictest prints the interval of the next thread.
        let next = if plan.bins > 0 { 0 } else { arguments.distance.unwrap_or(500) };
        output::line(format_args!("Thread {number} Interval: {}", thread.interval_ns / 1000 + next))?;
    }
    let mut why = why::Why::start(arguments, &plan, idle_polls);
    if let Some(trouble) = why.as_ref().and_then(|why| why.trouble()) {
        warn(&format!("late wake-ups are not explained: {trouble}"));
    }
    let begun = stamp();
    let start = Instant::now();
    let running = Running::start(plan)?;
    let mut screen = screen::Screen::new(arguments, running.plan());
    screen.follow(&running, why.as_mut())?;
    let plan = running.plan().clone();
    let shared = running.finish()?;
    let times = (begun, stamp());
    let elapsed = start.elapsed();
    let moved = moved(&plan, &shared);
    let late = why.map(|why| why.finish(&plan, &shared));
    let worst = late.as_ref().map_or(&[][..], |late| &late.worst);
    let gate = arguments.limits.judge(&figures(&plan, &shared, elapsed, worst));
    if let Some(path) = &arguments.json {
        let late = late.as_ref().map(|late| ("late".to_owned(), serde_json::json!(late.worst)));
        let gate = gate.as_ref().map(|gate| ("gate".to_owned(), serde_json::json!(gate)));
        let left = (!moved.is_empty()).then(|| ("moved".to_owned(), serde_json::json!(moved)));
        let more = late.into_iter().chain(gate).chain(left).collect();
        print::json(path, arguments, &plan, &shared, times, more)?;
    }
    if !prints_json(arguments) {
        screen.end(&plan, &shared)?;
        foot(arguments, &plan, &shared)?;
    }
    match late {
        Some(late) => explain(arguments, &late, shared.lates.count()),
        None => Ok(()),
    }?;
    for cpu in moved.iter() {
        warn(&format!(
            "cannot measure CPU {cpu} to the end: its thread did not stay there, because the CPU was taken offline, or its \
             affinity or cpuset was changed; the figures end there (see that nothing else isolates or moves threads)"
        ));
    }
    let judged = arguments.limits.end(gate.as_ref(), None, "dyntick latency", None)?;
    Ok(if !moved.is_empty() && judged == ExitCode::SUCCESS { ExitCode::from(2) } else { judged })
}

/// The CPUs whose threads did not stay there.
fn moved(plan: &Plan, shared: &Shared) -> CpuList {
    let threads = plan.threads.iter().enumerate().filter(|(number, _)| shared.was_moved(*number));
    threads.filter_map(|(_, thread)| thread.cpu).collect()
}

/// The latencies of each thread as the figures of its CPU, for a gate: the limit `latency 50us` is for the longest. The
/// causes of late wake-ups are its culprits, as far as they were explained.
fn figures(plan: &Plan, shared: &Shared, elapsed: Duration, worst: &[LateWakeUp]) -> Vec<Figures> {
    let of_thread = |(number, (thread, counts)): (usize, (&ThreadPlan, &Counts))| {
        let all = Counted {
            name: LATENCY.to_owned(),
            count: counts.cycles(),
            longest_ns: Some(counts.max()),
            ..Counted::default()
        };
        Figures {
            cpu: Some(thread.cpu.unwrap_or_default()),
            seconds: elapsed.as_secs_f64(),
            causes: [all].into_iter().chain(causes(worst, number)).collect(),
            is_partial: shared.was_moved(number),
            ..Figures::default()
        }
    };
    plan.threads.iter().zip(&shared.threads).enumerate().map(of_thread).collect()
}

/// The causes of the late wake-ups of a thread, each with its worst.
fn causes(worst: &[LateWakeUp], thread: usize) -> impl Iterator<Item = Counted> {
    let mut causes: BTreeMap<String, Counted> = BTreeMap::new();
    for one in worst.iter().filter(|one| one.thread == thread) {
        let Some(cause) = one.cause() else { continue };
        let name = format!("{LATENCY}:{cause}");
        let counted = causes.entry(name.clone()).or_insert(Counted { name, ..Counted::default() });
        counted.count += 1;
        counted.longest_ns = counted.longest_ns.max(Some(one.latency_ns));
    }
    causes.into_values()
}

/// Prints late wake-ups with their causes: as lines that readers of cyclictest's output take for comments, and as a
/// page.
fn explain(arguments: &Arguments, late: &LateReport, count: usize) -> Result<()> {
    if count == 0 && late.trouble.is_none() && !prints_json(arguments) {
        output::line(format_args!("# No wake-up was late."))?;
    }
    let is_explained = late.trouble.is_none() && !late.worst.is_empty();
    if let Some(path) = &arguments.html {
        output::file(path, dyntick_report::html(&why::document(late, count, true)).as_bytes())?;
    }
    if !is_explained || prints_json(arguments) {
        return Ok(());
    }
    output::comments(&why::document(late, count, arguments.full))
}

fn warn(text: &str) {
    output::note(text);
}

/// Prints cyclictest's lines before the measurement.
fn preamble(arguments: &Arguments, planned: &plan::Planned) -> Result<()> {
    // As `Machine::has_turns`: to read a `Machine` takes time, and moves the first wake-up.
    let has_turns = facts::clock() == Clock::Virtual && online().len() > 1;
    if has_turns && !prints_json(arguments) {
        output::line(format_args!("# {}", turns::REMARK))?;
    }
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

/// Returns true if standard output is JSON.
fn prints_json(arguments: &Arguments) -> bool {
    arguments.json.as_deref().is_some_and(is_standard_output)
}

/// Sets the limit of idle states, which lasts as long as this program.
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
            // As cyclictest prints it, but not before JSON.
            if !prints_json(arguments) {
                output::line(format_args!("# /dev/cpu_dma_latency set to {limit}us"))?;
            }
            Ok(Some(held))
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

fn print_resolution(arguments: &Arguments, clock: dyntick_latency::Clock) {
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

/// The latency above which all are listed, in the unit of the output; 0 is none.
fn spike(arguments: &Arguments) -> Result<Option<u64>> {
    let limit = arguments.spike.map(|spike| spike.units(arguments.nsecs)).transpose()?;
    Ok(limit.filter(|limit| *limit > 0))
}

/// Prints the lines below the status lines.
fn foot(arguments: &Arguments, plan: &dyntick_latency::Plan, shared: &Shared) -> Result<()> {
    let unit = print::unit(arguments);
    if let Some(limit) = spike(arguments)? {
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
