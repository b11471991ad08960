// SPDX-License-Identifier: GPL-2.0-only
//! Figures of any program: numbers that a path or a pattern picks out of its output. For programs without their own
//! reader.

mod path;

use dyntick_model::Clock;
use dyntick_stats::{Better, Metric, Values};
use regex_lite::{Regex, RegexBuilder};
use serde_json::Value;

/// The longest output that is searched, in bytes: a pattern may take long for each byte.
pub const MAX_BYTES: usize = 1 << 20;
/// The longest path or pattern, in bytes.
pub const MAX_PATTERN: usize = 1000;
/// The largest number of picked values.
pub const MAX_VALUES: usize = 10_000;
/// The limit of a compiled pattern, in bytes; large repetitions take as much time as memory.
const MAX_COMPILED: usize = 8 << 10;

/// Picks numbers out of an output.
#[derive(Clone, Debug)]
pub struct Picker(How);

#[derive(Clone, Debug)]
enum How {
    Path(path::Path),
    Pattern(Regex),
}

/// The reason why a picker is invalid, or picked nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PickError {
    /// The path or pattern is invalid.
    #[error("'{text}' {why}")]
    Wrong {
        /// The path or pattern.
        text: String,
        /// The fault in it.
        why: String,
    },
    /// The output is too long.
    #[error("it printed {size} bytes; at most {MAX_BYTES} are searched")]
    Long {
        /// The length of the output.
        size: usize,
    },
    /// The output contains no JSON.
    #[error("its output has no JSON in which to look up '{path}': {message}")]
    NoJson {
        /// The path.
        path: String,
        /// The fault, with line and column.
        message: String,
    },
    /// Nothing was found.
    #[error("'{text}' was not found in its output, which begins '{begins}'")]
    Nothing {
        /// The path or pattern.
        text: String,
        /// The beginning of the output.
        begins: String,
    },
    /// The found text is not a number.
    #[error("'{text}' found '{found}', which is not a number")]
    NoNumber {
        /// The path or pattern.
        text: String,
        /// The found text, shortened.
        found: String,
    },
    /// Too many numbers were found.
    #[error("'{text}' found more than {MAX_VALUES} numbers")]
    Many {
        /// The path or pattern.
        text: String,
    },
}

impl Picker {
    /// Makes a picker from a path into JSON: a JSON pointer (RFC 6901, `/jobs/0/read/iops`), or names with dots between
    /// them, in which a number is an index and `*` means all (`jobs.*.read.iops`). If it leads to a list of numbers,
    /// each of them counts.
    pub fn json(path: &str) -> Result<Self, PickError> {
        within(path)?;
        let wrong = |why: &str| PickError::Wrong { text: path.to_owned(), why: why.to_owned() };
        Ok(Self(How::Path(path::Path::parse(path).map_err(wrong)?)))
    }

    /// Makes a picker from a regular expression (syntax of the crate regex-lite) with one group in parentheses, the
    /// number. It is matched against each line, whose ends are `^` and `$`; the first match counts.
    pub fn pattern(pattern: &str) -> Result<Self, PickError> {
        within(pattern)?;
        let wrong = |why: String| PickError::Wrong { text: pattern.to_owned(), why };
        let built = RegexBuilder::new(pattern).multi_line(true).size_limit(MAX_COMPILED).build();
        let regex = built.map_err(|error| wrong(format!("is not a valid regular expression: {error}")))?;
        match regex.captures_len() {
            2 => Ok(Self(How::Pattern(regex))),
            1 => Err(wrong("has no group; put the number in parentheses, as in 'took ([0-9.]+) ms'".into())),
            count => {
                Err(wrong(format!("has {} groups; write (?:…) for all but that of the number", count - 1)))
            }
        }
    }

    /// Picks all numbers, in the output's order; at least one.
    pub fn values(&self, output: &str) -> Result<Vec<f64>, PickError> {
        if output.len() > MAX_BYTES {
            return Err(PickError::Long { size: output.len() });
        }
        let values = match &self.0 {
            How::Path(path) => self.values_of_json(path, output)?,
            How::Pattern(regex) => {
                // Searching for all matches in one text would take quadratic time.
                let first = |line| regex.captures(line).and_then(|found| found.get(1));
                let groups = output.lines().filter_map(first).take(MAX_VALUES + 1);
                groups.map(|group| self.number(group.as_str())).collect::<Result<Vec<f64>, PickError>>()?
            }
        };
        match values.len() {
            0 => Err(PickError::Nothing { text: self.text(), begins: crate::text::shortened(output) }),
            count if count > MAX_VALUES => Err(PickError::Many { text: self.text() }),
            _ => Ok(values),
        }
    }

    /// Does the same for a metric; each number is one run's.
    pub fn metric(
        &self,
        output: &str,
        unit: &str,
        better: Better,
        clock: Clock,
    ) -> Result<Metric, PickError> {
        let values = Values::Runs(self.values(output)?);
        Ok(Metric::new(unit, better, clock, values))
    }

    /// Picks from each document, since some programs print one per line. Text before the first and after the last is
    /// skipped.
    fn values_of_json(&self, path: &path::Path, output: &str) -> Result<Vec<f64>, PickError> {
        let begin = crate::json::begin(output, &['{', '[']).unwrap_or(0);
        let mut values = Vec::new();
        for (number, document) in
            serde_json::Deserializer::from_str(&output[begin..]).into_iter::<Value>().enumerate()
        {
            match document {
                Ok(document) => path.find(&document, &mut |found| self.collect(found, &mut values))?,
                Err(error) if number == 0 || error.is_eof() => {
                    return Err(PickError::NoJson { path: self.text(), message: error.to_string() });
                }
                Err(_) => break,
            }
        }
        Ok(values)
    }

    fn collect(&self, found: &Value, values: &mut Vec<f64>) -> Result<(), PickError> {
        if values.len() > MAX_VALUES {
            return Err(PickError::Many { text: self.text() });
        }
        match found {
            Value::Array(all) if all.iter().all(|one| !one.is_array()) => {
                all.iter().try_for_each(|one| self.collect(one, values))
            }
            Value::String(text) => self.number(text).map(|number| values.push(number)),
            other => self.number(&other.to_string()).map(|number| values.push(number)),
        }
    }

    fn number(&self, found: &str) -> Result<f64, PickError> {
        let no_number = || PickError::NoNumber { text: self.text(), found: crate::text::shortened(found) };
        crate::text::number(found.trim()).ok_or_else(no_number)
    }

    fn text(&self) -> String {
        match &self.0 {
            How::Path(path) => path.text().to_owned(),
            How::Pattern(regex) => regex.as_str().to_owned(),
        }
    }
}

fn within(text: &str) -> Result<(), PickError> {
    let why = format!("is longer than {MAX_PATTERN} bytes");
    if text.len() > MAX_PATTERN {
        Err(PickError::Wrong { text: crate::text::shortened(text), why })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(path: &str, output: &str) -> Result<Vec<f64>, PickError> {
        Picker::json(path)?.values(output)
    }

    fn pattern(pattern: &str, output: &str) -> Result<Vec<f64>, PickError> {
        Picker::pattern(pattern)?.values(output)
    }

    #[test]
    fn pointers_and_dotted_paths_are_followed() {
        let text =
            "warming up\n{\"jobs\": [{\"a/b\": 1, \"t\": [5, \"6.5\"]}, {\"a/b\": 2, \"t\": []}]}\nbye\n";
        assert_eq!(json("/jobs/1/a~1b", text).unwrap(), [2.0]);
        assert_eq!(json("jobs.*.a/b", text).unwrap(), [1.0, 2.0]);
        assert_eq!(json("jobs.0.t", text).unwrap(), [5.0, 6.5]);
        assert_eq!(json("$.jobs[1].a/b", text).unwrap(), [2.0]);
        assert_eq!(json("n", "{\"n\": 1}\n{\"n\": 2}\n").unwrap(), [1.0, 2.0]);
        assert_eq!(json("", "7").unwrap(), [7.0]);
    }

    #[test]
    fn patterns_pick_the_first_match_of_a_line() {
        let text = "took 12.5 ms\nnothing\ntook 1e3 ms\n";
        assert_eq!(pattern("^took ([0-9.e]+) ms$", text).unwrap(), [12.5, 1000.0]);
        assert_eq!(pattern("([0-9])", "1 2\n3 4\n").unwrap(), [1.0, 3.0], "the first of each line");
    }

    #[test]
    fn errors_name_the_fault() {
        let said = |result: Result<Vec<f64>, PickError>| result.unwrap_err().to_string();
        assert_eq!(
            said(json("a.b", "{\"a\": {}}")),
            "'a.b' was not found in its output, which begins '{\"a\": {}}'"
        );
        assert_eq!(said(json("a", "{\"a\": true}")), "'a' found 'true', which is not a number");
        assert!(said(json("a", "hello")).starts_with("its output has no JSON in which to look up 'a'"));
        assert!(said(json("a", "{\"a\": 1}\n{\"a\"")).contains("EOF"));
        assert!(said(pattern("took [0-9]+", "")).contains("has no group"));
        assert!(said(pattern("(a)(b)", "")).contains("has 2 groups"));
        assert!(said(pattern("(", "")).contains("is not a valid regular expression"));
        for costly in ["((?:a{99}){99}){99}", "(?:a?){270}bN([0-9])"] {
            assert!(said(pattern(costly, "")).contains("is not a valid regular expression"), "{costly}");
        }
        assert_eq!(said(pattern("x(.)", "xy")), "'x(.)' found 'y', which is not a number");
        assert!(said(pattern("(1)", &"1\n".repeat(MAX_VALUES + 1))).contains("more than"));
        assert!(said(json("", &format!("[{}1]", "1,".repeat(MAX_VALUES)))).contains("more than"));
        assert!(said(pattern("(1)", &" ".repeat(MAX_BYTES + 1))).contains("at most"));
        assert!(said(json(&"a".repeat(MAX_PATTERN + 1), "")).contains("longer than"));
        assert!(said(json("/a~2", "{}")).contains("~0"));
    }
}
