// SPDX-License-Identifier: GPL-2.0-only
//! The file of `--json` (rt-tests 2.x: `rt_write_json` and cyclictest's `write_stats`), with the same keys, including
//! those that end with a colon, and the same lines.

use super::{Column, Unit};
use std::io::{self, Write};

/// The version of rt-tests with this file format.
const VERSION: &str = "2.40";

/// The content of the file.
#[derive(Clone, Debug)]
pub struct Json {
    /// The words of the command.
    pub command: Vec<String>,
    /// The start and the end, e.g. `Sat, 21 Nov 2026 11:40:09 +0000`.
    pub times: (String, String),
    /// The machine of the run.
    pub machine: Machine,
    /// The unit of latencies.
    pub unit: Unit,
    /// The threads.
    pub threads: Vec<JsonThread>,
    /// Keys of dyntick with their values, after the others.
    pub more: Vec<(String, serde_json::Value)>,
}

/// The machine, as uname(2) reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Machine {
    pub sysname: String,
    pub nodename: String,
    pub release: String,
    pub version: String,
    pub machine: String,
    /// True if the kernel is PREEMPT_RT (`/sys/kernel/realtime`).
    pub realtime: bool,
}

/// One thread.
#[derive(Clone, Debug, Default)]
pub struct JsonThread {
    /// The histogram, of which only occurring latencies are written, and the figures.
    pub column: Column,
    /// The mean latency, not rounded.
    pub mean: f64,
    /// The thread's CPU, or -1.
    pub cpu: i64,
    /// The CPU's memory node, or -1 if the machine does not report it.
    pub node: i64,
}

impl Json {
    /// Writes the file.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Machine { sysname, nodename, release, version, machine, realtime } = &self.machine;
        writeln!(out, "{{\n  \"file_version\": 1,")?;
        writeln!(out, "  \"cmdline:\": {},", quoted(&self.command.join(" ")))?;
        writeln!(out, "  \"rt_test_version:\": \"{VERSION}\",")?;
        writeln!(out, "  \"start_time\": {},", quoted(&self.times.0))?;
        writeln!(out, "  \"end_time\": {},", quoted(&self.times.1))?;
        writeln!(out, "  \"return_code\": 0,\n  \"sysinfo\": {{")?;
        let facts = [("sysname", sysname), ("nodename", nodename), ("release", release)];
        for (name, value) in facts.into_iter().chain([("version", version), ("machine", machine)]) {
            writeln!(out, "    \"{name}\": {},", quoted(value))?;
        }
        writeln!(out, "    \"realtime\": {}\n  }},", u8::from(*realtime))?;
        writeln!(out, "  \"num_threads\": {},", self.threads.len())?;
        writeln!(out, "  \"resolution_in_ns\": {},", u8::from(self.unit == Unit::Nano))?;
        writeln!(out, "  \"thread\": {{")?;
        for (number, thread) in self.threads.iter().enumerate() {
            writeln!(out, "    \"{number}\": {{")?;
            thread.write(out)?;
            writeln!(out, "    }}{}", if number + 1 < self.threads.len() { "," } else { "" })?;
        }
        write!(out, "  }}")?;
        for (name, value) in &self.more {
            let value = serde_json::to_string_pretty(value)?.replace('\n', "\n  ");
            write!(out, ",\n  {}: {value}", quoted(name))?;
        }
        writeln!(out, "\n}}")
    }
}

impl JsonThread {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let occurred = self.column.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let rows: Vec<String> =
            occurred.map(|(latency, count)| format!("\n        \"{latency}\": {count}")).collect();
        let end = if rows.is_empty() { "" } else { "\n" };
        writeln!(out, "      \"histogram\": {{{}{end}      }},", rows.join(","))?;
        let status = &self.column.status;
        writeln!(out, "      \"cycles\": {},", status.cycles)?;
        writeln!(out, "      \"min\": {},", status.min)?;
        writeln!(out, "      \"max\": {},", status.max)?;
        writeln!(out, "      \"avg\": {:.2},", self.mean)?;
        writeln!(out, "      \"cpu\": {},", self.cpu)?;
        writeln!(out, "      \"node\": {}", self.node)
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclictest::Status;

    #[test]
    fn json_is_written_as_by_rt_tests() {
        let status = Status { cycles: 3, min: 24, max: 26, ..Status::default() };
        let full = Column {
            counts: [vec![0; 24], vec![1, 0, 2]].concat(),
            status: status.clone(),
            ..Column::default()
        };
        let empty = Column { status, ..Column::default() };
        let thread = |column| JsonThread { column, mean: 25.333, cpu: 0, node: 0 };
        let json = Json {
            command: vec!["a".into(), "\"b\"".into()],
            times: ("t0".into(), "t1".into()),
            machine: Machine { sysname: "Linux".into(), ..Machine::default() },
            unit: Unit::Nano,
            threads: vec![thread(full), thread(empty)],
            more: vec![("late".into(), serde_json::json!([1]))],
        };
        let mut text = Vec::new();
        json.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["cmdline:"], "a \"b\"");
        assert_eq!(value["late"][0], 1);
        let (_, threads) = text.split_once("  \"thread\": {\n").unwrap();
        assert_eq!(
            threads,
            "    \"0\": {\n      \"histogram\": {\n        \"24\": 1,\n        \"26\": 2\n      },\n      \"cycles\": 3,\n\
             \x20     \"min\": 24,\n      \"max\": 26,\n      \"avg\": 25.33,\n      \"cpu\": 0,\n      \"node\": 0\n    },\n\
             \x20   \"1\": {\n      \"histogram\": {      },\n      \"cycles\": 3,\n\
             \x20     \"min\": 24,\n      \"max\": 26,\n      \"avg\": 25.33,\n      \"cpu\": 0,\n      \"node\": 0\n    }\n  },\n\
             \x20 \"late\": [\n    1\n  ]\n}\n"
        );
    }
}
