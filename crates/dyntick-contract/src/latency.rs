// SPDX-License-Identifier: GPL-2.0-only
//! The keys of `latency --json`, for their schema: `late`, and those of cyclictest, whose lines
//! `dyntick_formats::cyclictest::Json` writes.

use crate::gate::Gate;
use dyntick_model::CpuList;
use dyntick_record::late::LateWakeUp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The output of `latency --json`: the keys of cyclictest (rt-tests 2.x), and `late`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Always 1.
    file_version: u32,
    /// The command; the key ends with a colon, as in rt-tests.
    #[serde(rename = "cmdline:")]
    command: String,
    /// The version of rt-tests with this format; the key ends with a colon, as in rt-tests.
    #[serde(rename = "rt_test_version:")]
    rt_tests: String,
    /// The start of the measurement, e.g. `Sat, 21 Nov 2026 11:40:09 +0000`.
    start_time: String,
    /// The end of the measurement.
    end_time: String,
    /// Always 0.
    return_code: u32,
    /// The machine, as uname(2) reports it.
    sysinfo: SysInfo,
    /// The number of threads.
    num_threads: usize,
    /// The unit of latencies: 1 for ns (`--nsecs`), 0 for µs.
    resolution_in_ns: u8,
    /// The threads, by their number from 0.
    thread: BTreeMap<String, Thread>,
    /// With `--why` or `--breaktrace`: the worst late wake-ups, the worst first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<LateWakeUp>>")]
    late: Option<Vec<Value>>,
    /// The judgement on the limits of `--at-most`, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<Gate>,
    /// The CPUs whose threads did not stay there, if there are any: their figures end with that.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<CpuList>,
}

/// The machine.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SysInfo {
    sysname: String,
    nodename: String,
    release: String,
    version: String,
    machine: String,
    /// 1 if the kernel is PREEMPT_RT, else 0.
    realtime: u8,
}

/// One thread. Latencies are in the unit of `resolution_in_ns`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Thread {
    /// With `-h` or `-H`: the number of wake-ups with each latency, of those that occurred.
    histogram: BTreeMap<String, u64>,
    /// The number of wake-ups.
    cycles: u64,
    /// The smallest latency; 1000000 before the first wake-up.
    min: u64,
    /// The largest latency.
    max: u64,
    /// The mean latency.
    avg: f64,
    /// The CPU of the thread, or -1.
    cpu: i64,
    /// The memory node of the CPU, or -1 if it is not known.
    node: i64,
}

#[test]
fn schema_has_the_written_keys() {
    use dyntick_formats::cyclictest::{Column, Json, JsonThread, Machine, Status, Unit};
    let status = Status { cycles: 3, min: 24, max: 26, ..Status::default() };
    let column = Column { counts: vec![1, 0, 2], status, ..Column::default() };
    let json = Json {
        command: vec!["dyntick".to_owned(), "latency".to_owned()],
        times: ("begin".to_owned(), "end".to_owned()),
        machine: Machine::default(),
        unit: Unit::Nano,
        threads: vec![JsonThread { column, mean: 25.33, cpu: 1, node: 0 }],
        more: vec![("late".to_owned(), serde_json::json!([]))],
    };
    let mut text = Vec::new();
    json.write(&mut text).unwrap();
    let layout: Layout = serde_json::from_slice(&text).unwrap();
    let written: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(serde_json::to_value(layout).unwrap(), written);
}
