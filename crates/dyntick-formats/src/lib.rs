// SPDX-License-Identifier: GPL-2.0-only
//! Files of other tools: Parquet tables of observations out, what cyclictest printed in.

pub mod cyclictest;
mod observations;

pub use observations::{Observation, ObservationError, read_parquet, write_parquet};
