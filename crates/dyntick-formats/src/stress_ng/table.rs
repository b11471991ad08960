// SPDX-License-Identifier: GPL-2.0-only
//! The lines of `--metrics` and `--metrics-brief`: `stress-ng: metrc: [4786] cpu  1666  2.00  …`. Versions before 0.14
//! have `info:` instead of `metrc:`.

use super::{Stressor, TOOL};
use crate::Error;
use crate::text::{number, shortened};
use std::collections::HashMap;

/// The columns after the stressor's name, by the YAML file's names; the brief table ends after six.
const COLUMNS: [&str; 8] = [
    "bogo-ops",
    "wall-clock-time",
    "user-time",
    "system-time",
    "bogo-ops-per-second-real-time",
    "bogo-ops-per-second-usr-sys-time",
    "cpu-usage-per-instance",
    "max-rss",
];
const BRIEF: usize = 6;

/// Returns true if a line is stress-ng's, also without a table.
pub fn is(text: &str) -> bool {
    text.lines()
        .any(|line| line.trim_start().strip_prefix("stress-ng: ").is_some_and(|rest| rest.contains("] ")))
}

/// The stressors that were started, e.g. `16 cpu`.
pub fn hogs(text: &str) -> Option<&str> {
    text.lines().find_map(|line| said(line)?.strip_prefix("dispatching hogs: "))
}

/// The text of stress-ng's line, without its name, the kind of line and the process.
fn said(line: &str) -> Option<&str> {
    let (head, said) = line.trim_start().strip_prefix("stress-ng: ")?.split_once("] ")?;
    (head.contains("metrc:") || head.contains("info:")).then_some(said)
}

fn is_head(said: &str) -> bool {
    said.starts_with("stressor ") && said.contains("bogo ops")
}

/// Reads the table's rows, and after them the other metrics.
pub fn parse(text: &str) -> Result<Vec<Stressor>, Error> {
    let mut found: Vec<Stressor> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let (mut in_table, mut in_others) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let Some(said) = said(line) else { continue };
        if is_head(said) {
            (in_table, in_others) = (true, false);
        } else if said.starts_with("unsuccessful run") {
            return Err(Error::Failed { tool: TOOL, what: shortened(said) });
        } else if said.starts_with("miscellaneous metrics:") {
            (in_table, in_others) = (false, true);
        } else if in_table && !said.starts_with(' ') {
            match row(said) {
                Some(stressor) => {
                    places.insert(stressor.name.clone(), found.len());
                    found.push(stressor);
                }
                // Until 0.13 the other metrics are below the row of their stressor.
                None => match other(said).filter(|(name, _)| places.contains_key(*name)) {
                    Some((name, figure)) => found[places[name]].values.push(figure),
                    // Other lines of stress-ng end the table; a damaged row does not.
                    None if line.contains("metrc:") || is_row(said, &places) => {
                        return Err(Error::line(TOOL, index, line));
                    }
                    None => in_table = false,
                },
            }
        } else if let Some((name, figure)) = other(said).filter(|_| in_others) {
            let stressor = places.get(name).and_then(|place| found.get_mut(*place));
            stressor.into_iter().for_each(|stressor| stressor.values.push(figure.clone()));
        }
    }
    Ok(found)
}

/// Returns true for a line that begins like a row: with a stressor, or a name with a number of operations.
fn is_row(said: &str, places: &HashMap<String, usize>) -> bool {
    let mut words = said.split_ascii_whitespace();
    let name = words.next().unwrap_or("");
    let count = words.next().and_then(number).is_some();
    places.contains_key(name) || count && words.count() + 2 >= BRIEF
}

fn row(said: &str) -> Option<Stressor> {
    let mut words = said.split_ascii_whitespace();
    let name = words.next()?.to_owned();
    let numbers = words.map(number).collect::<Option<Vec<f64>>>()?;
    if !(BRIEF..=COLUMNS.len()).contains(&numbers.len()) {
        return None;
    }
    let values = COLUMNS.iter().map(|name| (*name).to_owned()).zip(numbers).collect();
    Some(Stressor { section: "metrics".into(), name, values })
}

/// Parses `matrix  273371.77 add matrix ops per sec (geometic mean of 1 instances)` to the stressor, and the figure
/// with its name in the YAML file. The mean over instances is the geometric or harmonic one here, and the arithmetic
/// one there.
fn other(said: &str) -> Option<(&str, (String, f64))> {
    let (name, rest) = said.split_once(char::is_whitespace)?;
    let (value, words) = rest.trim_start().split_once(' ')?;
    let is_mean = |end: &str| end.contains("mean of") || end.starts_with("average per ");
    let mean = words.rsplit_once(" (").filter(|(_, end)| is_mean(end));
    Some((name, (yamlified(mean.map_or(words, |(words, _)| words)), number(value)?)))
}

/// Does the same as `stress_description_yamlify`: it keeps lower-case letters and digits, turns blanks into `-` and `%`
/// into `percent`, removes everything else, and truncates to 39 bytes.
fn yamlified(words: &str) -> String {
    let key: String = words
        .trim()
        .to_ascii_lowercase()
        .replace("/sec", " per sec")
        .replace('-', "")
        .replace('%', "percent")
        .replace(' ', "-");
    key.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(39).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_metrics_of_old_versions_are_between_the_rows() {
        let line = |text: &str| format!("stress-ng: info:  [1] {text}\n");
        let text = line("stressor       bogo ops real time  usr time")
            + &line("memrate 3160 60.01 5597.10 17.90 52.66 0.56")
            + &line("memrate         1657.10 write128 MB/sec (average per stressor)")
            + &line("zlib 3500 5.14 123.30 0.00 680.93 28.39")
            + &line("for a 60.06s run time:");
        let stressors = parse(&text).unwrap();
        assert_eq!(stressors[0].values.last().unwrap(), &("write128-mb-per-sec".to_owned(), 1657.1));
        assert_eq!((stressors.len(), stressors[1].values.len()), (2, 6));
    }

    #[test]
    fn damaged_row_is_refused() {
        let head = "stress-ng: info:  [1] stressor       bogo ops real time  usr time\n";
        let error = parse(&format!("{head}stress-ng: metrc: [1] cpu 12 x\n")).unwrap_err();
        assert_eq!(error, Error::line(TOOL, 1, "stress-ng: metrc: [1] cpu 12 x"));
        assert_eq!(parse(&format!("{head}stress-ng: info:  [1] successful run\n")), Ok(vec![]));
        let failed = parse(&format!("{head}stress-ng: info:  [1] unsuccessful run completed in 2.0s\n"));
        assert!(matches!(failed, Err(Error::Failed { .. })));
        let torn = parse(&format!("{head}stress-ng: info:  [1] cpu 9 1.0 x 0.0 9.0 9.0\n")).unwrap_err();
        assert!(matches!(torn, Error::Line { line: 2, .. }), "{torn}");
        let old = parse(&format!("{head}stress-ng: info:  [1] cpu 9 1.0 1.0 0.0 9.0 9.0\n")).unwrap();
        assert_eq!(yamlified("% of MB per sec, (pipe-method)"), "percent-of-mb-per-sec-pipemethod");
        assert_eq!((old[0].name.as_str(), old[0].values.len()), ("cpu", 6));
    }
}
