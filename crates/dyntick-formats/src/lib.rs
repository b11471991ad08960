// SPDX-License-Identifier: GPL-2.0-only
//! Files of other tools. It writes Parquet tables of observations. It reads the output of measuring tools, each by its
//! own reader, or as metrics by [`metrics()`], which recognises the tool.

mod benchmarks;
pub mod cyclictest;
mod error;
pub mod fio;
pub mod hackbench;
pub mod hwlatdetect;
pub mod hyperfine;
pub mod idle_counters;
pub mod interrupts;
mod json;
pub mod mails;
mod memtier;
mod metrics;
mod observations;
pub mod oslat;
mod pairs;
pub mod perf_stat;
mod phoronix;
pub mod picked;
mod powertop;
pub mod qperf;
mod redis_benchmark;
mod rt_tests;
mod rteval;
pub mod rtla;
pub mod schbench;
pub mod stress_ng;
mod text;
pub mod turbostat;
mod unixbench;
mod wrk;

pub use error::Error;
pub use json::MAX_TREE;
pub use metrics::{Hints, MAX_BYTES, MAX_LINES, MAX_METRICS, Output, metrics, metrics_of_file, tools};
pub use observations::{Observation, ObservationError, write_parquet};
