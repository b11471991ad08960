// SPDX-License-Identifier: GPL-2.0-only
//! The programs of rt-tests with pairs of threads or other measurements than cyclictest: pmqtest, ptsematest,
//! svsematest, sigwaittest, signaltest and cyclicdeadline, as text and in the file of `--json`. Latencies are in µs.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::rt_tests;
use dyntick_stats::Exposure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The programs whose JSON is read here.
const PROGRAMS: [&str; 6] =
    ["pmqtest", "ptsematest", "svsematest", "sigwaittest", "signaltest", "cyclicdeadline"];

const TOOL: &str = "rt-tests";

/// The figures of a pair or a thread, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    cycles: Option<u64>,
    min: f64,
    average: Option<f64>,
    max: f64,
}

#[derive(Deserialize)]
struct Thread {
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    cycles: Option<u64>,
    min: Option<f64>,
    avg: Option<f64>,
    max: Option<f64>,
}

#[derive(Deserialize)]
struct Sender {
    samples: Option<u64>,
}

#[derive(Deserialize)]
struct Receiver {
    min: f64,
    avg: Option<f64>,
    max: f64,
}

pub(crate) fn knows_json(text: &str) -> bool {
    rt_tests::is(text) && rt_tests::program(text).is_some_and(|program| PROGRAMS.contains(&program))
}

pub(crate) fn metrics_of_json(text: &str, into: &mut Collector) -> Result<(), Error> {
    let program = rt_tests::program(text).unwrap_or(TOOL);
    rt_tests::put_command(text, into);
    let file = rt_tests::parse::<Thread>(TOOL, text)?;
    let unit = if file.nanoseconds { 1.0 } else { 1e3 };
    for (number, thread) in file.threads {
        let (place, figures) = match thread {
            Thread { sender, receiver: Some(Receiver { min, avg, max }), .. } => {
                let cycles = sender.and_then(|sender| sender.samples);
                (format!("pair{number}"), Figures { cycles, min, average: avg, max })
            }
            Thread { cycles, min: Some(min), avg, max: Some(max), .. } => {
                (format!("T{number}"), Figures { cycles, min, average: avg, max })
            }
            _ => return Err(Error::json(TOOL, format_args!("thread {number} has no latencies"))),
        };
        put(
            &format!("{program}/{place}"),
            figures,
            unit,
            if avg_is_cut(program) { unit } else { 0.0 },
            into,
        )?;
    }
    Ok(())
}

/// Returns true for programs whose JSON has integer means.
fn avg_is_cut(program: &str) -> bool {
    program == "signaltest"
}

fn put(
    name: &str,
    figures: Figures,
    unit: f64,
    step_of_mean: f64,
    into: &mut Collector,
) -> Result<(), Error> {
    let Figures { cycles, min, average, max } = figures;
    if cycles == Some(0) {
        return Ok(());
    }
    into.watched(Exposure { samples: cycles, ..Exposure::default() });
    for (word, value, step) in
        [("min", Some(min), unit), ("avg", average, step_of_mean), ("max", Some(max), unit)]
    {
        if let Some(value) = value {
            into.value(&format!("{name}/{word}"), Kind::of_time(word).cut_to(step), value * unit)?;
        }
    }
    Ok(())
}

pub(crate) fn knows(text: &str) -> bool {
    text.lines().any(|line| pair(line).is_some() || thread(line).is_some())
}

/// Reads the last figures of each pair or thread.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let mut cycles: BTreeMap<u32, u64> = BTreeMap::new();
    let mut found: BTreeMap<String, Figures> = BTreeMap::new();
    let mut order: Vec<u32> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = || Error::line(TOOL, index, line);
        for part in line.split(';').filter(|part| part.contains("Cycles")) {
            let (number, count) = cycles_of(part).ok_or_else(wrong)?;
            cycles.insert(number, count);
        }
        if let Some((number, figures)) = pair(line) {
            if !order.contains(&number) {
                order.push(number);
            }
            let place = order.iter().position(|known| *known == number).unwrap_or(0);
            found.insert(format!("pair{place}"), Figures { cycles: cycles.get(&number).copied(), ..figures });
        } else if let Some((program, number, figures)) = thread(line) {
            found.insert(format!("{program}/T{number}"), figures);
        }
    }
    // Only pmqtest has a time-out in its lines; the others' are alike.
    let program = if text.contains(", TO ") { "pmqtest" } else { "rt-tests" };
    for (place, figures) in found {
        let name = if place.contains('/') { place } else { format!("{program}/{place}") };
        put(&name, figures, 1e3, 1e3, into)?;
    }
    Ok(())
}

/// Parses `#1: ID62777, P98, CPU0, TO 0, Cycles 74953`.
fn cycles_of(part: &str) -> Option<(u32, u64)> {
    let number = part.trim().strip_prefix('#')?.split(':').next()?.parse().ok()?;
    Some((number, part.split_once("Cycles")?.1.trim().parse().ok()?))
}

/// Parses `#1 -> #0, Min   35, Cur   84, Avg   83, Max  749`.
fn pair(line: &str) -> Option<(u32, Figures)> {
    let (pair, rest) = line.trim().split_once(',')?;
    let (from, to) = pair.split_once(" -> #")?;
    to.trim().parse::<u32>().ok()?;
    let field = |name: &str| {
        let value = rest.split(',').find_map(|field| field.trim().strip_prefix(name))?;
        value.trim().parse::<f64>().ok()
    };
    let figures = Figures { cycles: None, min: field("Min")?, average: field("Avg"), max: field("Max")? };
    Some((from.strip_prefix('#')?.trim().parse().ok()?, figures))
}

/// Parses a line of signaltest, which has no interval, or of cyclicdeadline, which has no priority.
fn thread(line: &str) -> Option<(&'static str, u32, Figures)> {
    let line = line.trim();
    let (number, rest) = line.strip_prefix("T:")?.split_once('(')?;
    let program = match (rest.contains(" I:"), rest.contains(" P:")) {
        (false, true) => "signaltest",
        (true, false) => "cyclicdeadline",
        _ => return None,
    };
    let field = |name: &str| rest.split_once(name)?.1.split_ascii_whitespace().next()?.parse::<f64>().ok();
    let figures = Figures {
        cycles: field(" C:").map(|cycles| cycles as u64),
        min: field("Min:")?,
        average: field("Avg:"),
        max: field("Max:")?,
    };
    Some((program, number.trim().parse().ok()?, figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::values;

    fn read(text: &str, metrics: fn(&str, &mut Collector) -> Result<(), Error>) -> BTreeMap<String, f64> {
        values(TOOL, |into| metrics(text, into)).unwrap()
    }

    #[test]
    fn pairs_are_read() {
        let text = "#0: ID1, P98, CPU0, I1000; #1: ID2, P98, CPU0, TO 0, Cycles 74953\n#2: ID3, P98, CPU1, I1500; #3: ID4, P98, CPU1, TO 0, Cycles 7\n\
                    #1 -> #0, Min   35, Cur   84, Avg   83, Max  749\n#3 -> #2, Min   33, Cur  126, Avg   75, Max  730\n";
        assert!(knows(text));
        let found = read(text, metrics);
        assert_eq!((found["pmqtest/pair0/max"], found["pmqtest/pair1/min"]), (749_000.0, 33_000.0));
    }

    #[test]
    fn lines_like_those_of_cyclictest_are_not_its() {
        let signal = "T: 0 (25127) P: 0 C:    200 Min:     10 Act:   14 Avg:   59 Max:    1940\n";
        assert_eq!(read(signal, metrics)["signaltest/T0/max"], 1_940_000.0);
        let deadline = "T: 1 (25127) I:1000 C:    200 Min:     10 Act:   14 Avg:   59 Max:    1940\n";
        assert_eq!(read(deadline, metrics)["cyclicdeadline/T1/avg"], 59_000.0);
        assert!(!knows("T: 0 (    1) P:95 I:1000 C:  1 Min: 1 Act: 1 Avg: 1 Max: 1\n"));
    }

    #[test]
    fn json_names_its_program() {
        let file = |program: &str, thread: &str| {
            format!(
                "{{\n\"cmdline:\": \"{program} -t 4\",\n\"rt_test_version:\": \"2.80\",\n\"thread\": {{\"2\": {{{thread}}}}}\n}}\n"
            )
        };
        let pair = file(
            "ptsematest",
            "\"sender\": {\"samples\": 9}, \"receiver\": {\"min\": 28, \"avg\": 43.36, \"max\": 2269}",
        );
        assert!(knows_json(&pair));
        assert_eq!(read(&pair, metrics_of_json)["ptsematest/pair2/avg"], 43_360.0);
        let thread = file("cyclicdeadline", "\"cycles\": 9, \"min\": 2, \"avg\": 3.5, \"max\": 7");
        assert_eq!(read(&thread, metrics_of_json)["cyclicdeadline/T2/max"], 7000.0);
    }
}
