// SPDX-License-Identifier: GPL-2.0-only
//! The separated values: `[interval,][part,[how many,]]value,unit,event,[cgroup,]…`. perf's options decide which of the
//! first fields exist, so the value is found by the fields after it.

use super::{Count, TOOL};
use crate::Error;
use crate::text::number;

/// The usual separators; perf accepts any text.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// Returns true if most lines with as many fields as a count has are counts.
pub fn is(text: &str) -> bool {
    let rows = || text.lines().filter(|line| is_data(line) && has_fields(line));
    let counts = rows().filter(|line| count(line).is_some()).count();
    counts > 0 && counts * 2 >= rows().count()
}

/// The fewest separators of a count.
const FEWEST: usize = 4;

fn has_fields(line: &str) -> bool {
    SEPARATORS.iter().any(|mark| line.matches(*mark).count() >= FEWEST)
}

/// Returns false for empty lines, remarks, the sums that `--summary` prints below intervals, and lines with only
/// derived figures (`,,,,,,0.33,stalled cycles per insn`): they add nothing.
fn is_data(line: &str) -> bool {
    let line = line.trim();
    let is_derived = || SEPARATORS.iter().any(|mark| line.contains(&mark.to_string().repeat(3)));
    !line.is_empty() && !line.starts_with('#') && !line.starts_with("summary") && !is_derived()
}

/// Reads the counts, and the number of lines of the command or of a log. A line with as many fields as a count has,
/// below the first count, is one.
pub fn parse(text: &str) -> Result<(Vec<Count>, usize), Error> {
    let (mut counts, mut foreign) = (Vec::new(), 0);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| is_data(line)) {
        match count(line) {
            Some(count) => counts.push(count),
            None if has_fields(line) && !counts.is_empty() => return Err(Error::line(TOOL, index, line)),
            None => foreign += 1,
        }
    }
    Ok((counts, foreign))
}

fn count(line: &str) -> Option<Count> {
    let separator = SEPARATORS.into_iter().find(|mark| line.contains(*mark))?;
    let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
    let at = (0..fields.len().min(4)).find(|at| is_count(&fields[*at..]))?;
    let (before, [value, unit, rest @ ..]) = fields.split_at(at) else { return None };
    let (interval, part) = match before {
        [time, part @ ..] if number(time).is_some() => (number(time), part),
        part => (None, part),
    };
    let (event, rest) = event(rest, separator);
    // Behind the event are the time that it was counted, and the share of it with two decimals.
    let is_time = |field: &str| field.parse::<u64>().is_ok();
    let is_share = |field: &str| {
        field.split_once('.').is_some_and(|(_, decimals)| decimals.len() == 2) && number(field).is_some()
    };
    if !rest.windows(2).any(|pair| is_time(pair[0]) && is_share(pair[1])) {
        return None;
    }
    let is_figure = |field: &str| field.is_empty() || field.ends_with('%') || number(field).is_some();
    let cgroup = rest.first().filter(|field| !is_figure(field));
    let part = part.first().or(cgroup).map(|part| (*part).to_owned());
    Some(Count { interval, part, event, value: number(value), unit: (*unit).to_owned() })
}

/// Returns true if the fields are a value, a unit and an event.
fn is_count(fields: &[&str]) -> bool {
    let [value, unit, event, ..] = fields else { return false };
    let is_value = number(value).is_some() || value.starts_with("<not ");
    let is_unit = unit.is_empty() || unit.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%');
    let is_event = !event.is_empty() && number(event).is_none() && !event.starts_with('<');
    is_value && is_unit && is_event
}

/// The largest number of terms in an event.
const MAX_TERMS: usize = 32;

/// The event, and the fields after it. `cpu/event=0x3c,umask=0x1/` contains the separator.
fn event<'a>(fields: &'a [&'a str], separator: char) -> (String, &'a [&'a str]) {
    let is_whole =
        |terms: usize| fields[..terms].iter().map(|term| term.matches('/').count()).sum::<usize>() != 1;
    let terms = (1..=fields.len().min(MAX_TERMS)).find(|terms| is_whole(*terms)).unwrap_or(1);
    let (terms, rest) = fields.split_at(terms);
    (terms.join(&separator.to_string()), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_found_in_each_layout() {
        let read =
            |line: &str| count(line).map(|count| (count.interval, count.part, count.event, count.value));
        let part = |name: &str| Some(name.to_owned());
        let cases = [
            (
                "0.76,msec,task-clock,755460,100.00,0.479,CPUs utilized",
                (None, None, "task-clock", Some(0.76)),
            ),
            ("<not supported>,,cycles,0,100.00,,", (None, None, "cycles", None)),
            ("  0.2,<not counted>,,cycles,0,100.00,,", (Some(0.2), None, "cycles", None)),
            ("  0.1,33,,cs,401200945,100.00,82.256,/sec", (Some(0.1), None, "cs", Some(33.0))),
            ("CPU0,27,,cs,202112387,100.00,,", (None, part("CPU0"), "cs", Some(27.0))),
            ("S0-D0-C1;1;9;;cs;102264344;100.00;;", (None, part("S0-D0-C1"), "cs", Some(9.0))),
            (
                "  0.1,CPU1,103.97,msec,cpu-clock,1,100.00,,",
                (Some(0.1), part("CPU1"), "cpu-clock", Some(103.97)),
            ),
            ("  0.1,S0,2,7,,cs,1,100.00,,", (Some(0.1), part("S0"), "cs", Some(7.0))),
            ("5,,cpu/event=0x3c,umask=1/u,1,100.00,,", (None, None, "cpu/event=0x3c,umask=1/u", Some(5.0))),
            ("  0.1,S0-D0-L3-ID0,2,7,,cs,1,100.00,,", (Some(0.1), part("S0-D0-L3-ID0"), "cs", Some(7.0))),
            (
                "  0.1,sh-12,5.0,msec,task-clock,1,100.00,,",
                (Some(0.1), part("sh-12"), "task-clock", Some(5.0)),
            ),
            ("8,,cs,/a.slice,33.33%,1,100.00,,", (None, part("/a.slice"), "cs", Some(8.0))),
            ("1.5,Joules,power/energy-pkg/,1,100.00,,", (None, None, "power/energy-pkg/", Some(1.5))),
        ];
        for (line, (interval, part, event, value)) in cases {
            assert_eq!(read(line), Some((interval, part, event.to_owned(), value)), "{line}");
        }
    }

    #[test]
    fn invalid_output_is_refused() {
        let torn = "x,,cs,1,100.00,,";
        assert_eq!(parse(&format!("1,,cs,1,100.00,,\n{torn}\n")).unwrap_err(), Error::line(TOOL, 1, torn));
        assert_eq!(
            parse("$ perf stat -x, a\n1,,cs,1,100.00,,\nhello\n")
                .map(|(counts, foreign)| (counts.len(), foreign)),
            Ok((1, 2))
        );
        assert_eq!(parse("1,,cs,1,100.00,,\n,,,,,,0.33,stalled cycles per insn\n").unwrap().0.len(), 1);
        assert!(!is("a,b,c\n") && !is("1,2,3\n") && !is(""));
        let others =
            ["3;fio-3.36;random-read;0;0;1048576;34952\n", "host\t600\t1700000000\tall\t%user\t0.51\n"];
        assert!(!others.iter().any(|text| is(text)));
    }
}
