// SPDX-License-Identifier: GPL-2.0-only
//! The common part of the JSON files of rt-tests' programs (`--json`, rt-tests 2.x, `src/lib/rt-utils.c`:
//! `rt_write_json`). Two keys end with a colon, the command line is not escaped, and a mean of nothing is `nan`, which
//! is not JSON.

use crate::Error;
use crate::json;
use crate::metrics::Collector;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct File<T> {
    #[serde(default)]
    return_code: i64,
    #[serde(default)]
    resolution_in_ns: u8,
    thread: BTreeMap<String, T>,
}

/// The threads of a file by their numbers.
pub struct Threads<T> {
    /// True if latencies are in ns; else they are in µs.
    pub nanoseconds: bool,
    /// The threads.
    pub threads: BTreeMap<u32, T>,
}

/// Returns true if a program of rt-tests wrote this.
pub fn is(text: &str) -> bool {
    text.contains("\"rt_test_version") && text.contains("\"thread\"")
}

/// The name of the program that wrote the file, by its command line.
pub fn program(text: &str) -> Option<&str> {
    let words = text.lines().find_map(command)?.1;
    words.split_ascii_whitespace().next()?.rsplit('/').next()
}

/// Adds the command line as a setting, without the name of the file that it writes.
pub fn put_command(text: &str, into: &mut Collector) {
    if let Some((_, words)) = text.lines().find_map(command) {
        let is_kept = |word: &&str| !word.starts_with("--json");
        let words: Vec<&str> = words.split_ascii_whitespace().filter(is_kept).collect();
        into.setting("command", &words.join(" "));
    }
}

/// Reads the threads of a file.
pub fn parse<T: DeserializeOwned>(tool: &'static str, text: &str) -> Result<Threads<T>, Error> {
    let text = repaired(text);
    let File { return_code, resolution_in_ns, thread } = json::first::<File<T>>(tool, &text)?;
    if return_code != 0 {
        return Err(Error::Failed { tool, what: format!("return_code is {return_code}") });
    }
    let number = |(number, thread): (String, T)| {
        let known = number.parse::<u32>().ok();
        known
            .map(|number| (number, thread))
            .ok_or_else(|| Error::json(tool, format_args!("'{number}' is not a thread number")))
    };
    let threads = thread.into_iter().map(number).collect::<Result<_, _>>()?;
    Ok(Threads { nanoseconds: resolution_in_ns != 0, threads })
}

/// Parses a histogram's keys as numbers.
pub fn buckets(tool: &'static str, counts: &BTreeMap<String, u64>) -> Result<BTreeMap<u64, u64>, Error> {
    let bucket = |(bucket, count): (&String, &u64)| {
        let known = bucket.parse::<u64>().ok();
        known
            .map(|bucket| (bucket, *count))
            .ok_or_else(|| Error::json(tool, format_args!("'{bucket}' is not a bucket")))
    };
    counts.iter().map(bucket).collect()
}

/// Repairs the file to be valid JSON.
fn repaired(text: &str) -> Cow<'_, str> {
    let nan = |line: &str| line.trim_end().ends_with("nan,") || line.trim_end().ends_with("nan");
    let odd = |line: &str| nan(line) || command(line).is_some_and(|(_, words)| words.contains(['"', '\\']));
    if !text.lines().any(odd) {
        return text.into();
    }
    let fix = |line: &str| match command(line) {
        Some((head, words)) if !is_json_text(words) => format!("{head}{},\n", serde_json::Value::from(words)),
        None if nan(line) => format!("{}\n", line.replacen("-nan", "null", 1).replacen("nan", "null", 1)),
        _ => format!("{line}\n"),
    };
    text.lines().map(fix).collect::<String>().into()
}

/// The key of the command line, and its words between the quotes.
fn command(line: &str) -> Option<(&str, &str)> {
    let key = line.trim_start();
    let mark = ["\"cmdline:\": ", "\"cmdline\": "].into_iter().find(|mark| key.starts_with(mark))?;
    let (head, value) = line.split_at(line.len() - key.len() + mark.len());
    Some((head, value.trim_end().strip_prefix('"')?.strip_suffix("\",")?))
}

/// Returns true if the words between quotes are already a valid JSON text.
fn is_json_text(words: &str) -> bool {
    serde_json::from_str::<String>(&format!("\"{words}\"")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "{\n  \"file_version\": 1,\n  \"cmdline:\": \"oslat -D 1\",\n  \"thread\": {\n    \"3\": {\n      \
        \"avg\": 1.5,\n      \"cpu\": 1\n    }\n  }\n}\n";

    #[derive(Deserialize, PartialEq, Debug)]
    struct Thread {
        avg: Option<f64>,
    }

    fn read(text: &str) -> Result<BTreeMap<u32, Thread>, Error> {
        parse("oslat", text).map(|file| file.threads)
    }

    #[test]
    fn quotes_and_nan_are_repaired() {
        let plain = read(FILE).unwrap();
        assert_eq!(plain[&3].avg, Some(1.5));
        for command in ["a \\\"b\\\"", "a \"b\" \\", "a\", \"b"] {
            assert_eq!(read(&FILE.replace("oslat -D 1", command)).unwrap(), plain, "{command}");
        }
        assert_eq!(read(&FILE.replace("1.5", "-nan")).unwrap()[&3].avg, None);
    }

    #[test]
    fn invalid_output_is_refused() {
        assert!(matches!(read(&FILE.replace("\"3\"", "\"x\"")), Err(Error::Json { .. })));
        let failed = FILE.replace("\"file_version\": 1", "\"return_code\": 1");
        assert!(matches!(read(&failed), Err(Error::Failed { .. })));
    }
}
