// SPDX-License-Identifier: GPL-2.0-only
//! The table for people: ` Performance counter stats for 'CMD' (3 runs):`, then lines such as `60,243.87 msec
//! task-clock` with derived figures behind a `#`, and below it the times. With `-I` each line begins with the end
//! of its interval, with `-A` and similar options with the part of the machine.

use super::{Count, TOOL};
use crate::Error;
use crate::text::number;

/// The counts of one command.
#[derive(Debug, Default, PartialEq)]
pub struct Run {
    /// The command, or `system wide`.
    pub command: String,
    /// The number of runs over which perf prints means.
    pub repeats: u32,
    /// The counts.
    pub counts: Vec<Count>,
    /// The times in seconds: `elapsed`, `user`, `sys`.
    pub times: Vec<(&'static str, f64)>,
}

const TITLE: &str = "Performance counter stats for";
const HEAD_OF_INTERVALS: [&str; 2] = ["time", "counts"];

pub fn is(text: &str) -> bool {
    text.contains(TITLE) || text.lines().any(is_head_of_intervals)
}

/// Returns true for `#           time             counts unit events`.
fn is_head_of_intervals(line: &str) -> bool {
    let mut words = line.trim_start().strip_prefix('#').unwrap_or("").split_ascii_whitespace();
    HEAD_OF_INTERVALS.iter().all(|word| words.any(|other| other == *word)) && line.contains("unit events")
}

/// Reads the tables. Other lines are the command's output.
pub fn parse(text: &str) -> Result<Vec<Run>, Error> {
    let mut runs: Vec<Run> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some((_, title)) = line.split_once(TITLE) {
            let title = title.trim().trim_end_matches(':');
            let repeats =
                title.rsplit_once(" (").and_then(|(_, runs)| runs.strip_suffix(" runs)")?.parse().ok());
            let command =
                title.rsplit_once(" (").filter(|_| repeats.is_some()).map_or(title, |(command, _)| command);
            let command = command.trim_matches(['\'', '"']).to_owned();
            runs.push(Run { command, repeats: repeats.unwrap_or(1), ..Run::default() });
        } else if is_head_of_intervals(line) && runs.last().is_none_or(|run| !run.counts.is_empty()) {
            runs.push(Run { command: "intervals".into(), repeats: 1, ..Run::default() });
        } else if let Some(run) = runs.last_mut() {
            let has_end = run.command == "intervals";
            if let Some(time) = time(line) {
                run.times.push(time);
            } else if let Some(count) = count(line, has_end) {
                run.counts.push(count);
            } else if line.contains(" # ") && line.starts_with(' ') && !line.trim_start().starts_with('#') {
                return Err(Error::line(TOOL, index, line));
            }
        }
    }
    runs.retain(|run| !(run.counts.is_empty() && run.times.is_empty()));
    if runs.is_empty() { Err(Error::Nothing { tool: TOOL }) } else { Ok(runs) }
}

/// Parses `60.248690210 seconds time elapsed`, with `-r` followed by `( +- 0.1% )`, and those of user and sys.
fn time(line: &str) -> Option<(&'static str, f64)> {
    let (value, rest) = line.split_once(" seconds ")?;
    // -r prints `0.151 +- 0.002 seconds time elapsed`.
    let value = value.split("+-").next()?;
    let name = match rest.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        ["time", "elapsed", ..] => "elapsed",
        ["user", ..] => "user",
        ["sys", ..] => "sys",
        _ => return None,
    };
    Some((name, figure(value.trim())?))
}

fn count(line: &str, has_end: bool) -> Option<Count> {
    let before = line.split(" # ").next().unwrap_or(line);
    let before = before.split("  (").next().unwrap_or(before);
    let mut words: Vec<&str> = before.split_ascii_whitespace().collect();
    let interval = if has_end { Some(number(words.first()?)?) } else { None };
    words.drain(..usize::from(has_end));
    let part = words.first().filter(|word| is_part(word)).map(|part| (*part).to_owned());
    words.drain(..usize::from(part.is_some()));
    // --per-socket prints the number of CPUs behind the part.
    if part.is_some() && words.len() > 2 && words[0].parse::<u32>().is_ok() && figure(words[1]).is_some() {
        words.remove(0);
    }
    let (value, rest) = match words[..] {
        ["<not", "counted>" | "supported>", ref rest @ ..] => (None, rest.to_vec()),
        [value, ref rest @ ..] => (Some(figure(value)?), rest.to_vec()),
        [] => return None,
    };
    let (unit, event) = match rest[..] {
        [event] => ("", event),
        [unit @ ("msec" | "Joules" | "MiB" | "KiB" | "ns"), event] => (unit, event),
        _ => return None,
    };
    (!event.starts_with('#')).then(|| Count {
        interval,
        part,
        event: event.to_owned(),
        value,
        unit: unit.to_owned(),
    })
}

/// Returns true for `CPU0`, `S0-D0-C1` and `N0`.
fn is_part(word: &str) -> bool {
    word.split('-').all(|piece| {
        let letters = piece.trim_end_matches(|c: char| c.is_ascii_digit());
        ["CPU", "S", "D", "C", "N", "L", "ID", "CL"].contains(&letters) && letters.len() < piece.len()
    })
}

/// A number with separators of thousands, as the locale prints it.
fn figure(text: &str) -> Option<f64> {
    let marks: Vec<char> = text.chars().filter(|c| [',', '.'].contains(c)).collect();
    let decimal = match marks[..] {
        [.., last]
            if marks.iter().filter(|mark| **mark == last).count() == 1
                && (last == '.' || marks.len() > 1) =>
        {
            Some(last)
        }
        _ => None,
    };
    let plain: String = text
        .chars()
        .filter(|c| !([',', '.', '\'', '\u{a0}', '\u{202f}'].contains(c)) || Some(*c) == decimal)
        .map(|c| if Some(c) == decimal { '.' } else { c })
        .collect();
    number(&plain).filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_several_commands_are_read() {
        let text = "warm\n Performance counter stats for './two 300 l' (3 runs):\n\n\
            \x20        60,243.87 msec task-clock                #    1.000 CPUs utilized  ( +-  0.10% )\n\
            \x20              304      context-switches          #    5.046 /sec  ( +-  0.10% )\n\
            \x20  <not supported>      cycles\n\
            \x20   72,124,912,284      cpu_core/cycles/u         #    1.197 GHz   (50.00%)\n\n\
            \x20      60.248690210 +- 0.002 seconds time elapsed  ( +-  0.00% )\n\n\
            \x20      60.047068000 seconds user\n\n---\n\n Performance counter stats for 'system wide':\n\n\
            CPU0             27      cs\n";
        assert!(is(text));
        let runs = parse(text).unwrap();
        assert_eq!((runs[0].command.as_str(), runs[0].repeats, runs[0].counts.len()), ("./two 300 l", 3, 4));
        let values: Vec<Option<f64>> = runs[0].counts.iter().map(|count| count.value).collect();
        assert_eq!(values, [Some(60243.87), Some(304.0), None, Some(72_124_912_284.0)]);
        assert_eq!(runs[0].times, [("elapsed", 60.248_690_21), ("user", 60.047_068)]);
        assert_eq!(runs[1].counts[0].part.as_deref(), Some("CPU0"));
    }

    #[test]
    fn intervals_and_locales_are_read() {
        let text = "#           time             counts unit events\n     1.001092774          22.065,60 msec cpu-clock                        #   22.066 CPUs utilized\n";
        let runs = parse(text).unwrap();
        assert_eq!(
            (runs[0].counts[0].interval, runs[0].counts[0].value),
            (Some(1.001_092_774), Some(22065.6))
        );
        assert_eq!(
            [figure("1,234"), figure("1.234.567"), figure("0.5"), figure("x")],
            [Some(1234.0), Some(1_234_567.0), Some(0.5), None]
        );
        assert!(parse(" Performance counter stats for 'x':\n\n   abc cycles  # 1\n").is_err());
    }
}
