// SPDX-License-Identifier: GPL-2.0-only
//! Files of other tools: Parquet tables of observations and SARIF findings out, what cyclictest and qperf printed in.

pub mod cyclictest;
mod observations;
pub mod qperf;
mod sarif;

pub use observations::{Observation, ObservationError, write_parquet};
pub use sarif::sarif;
