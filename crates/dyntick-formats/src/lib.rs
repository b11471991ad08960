// SPDX-License-Identifier: GPL-2.0-only
//! Files that other tools read: Parquet tables of observations.

mod observations;

pub use observations::{Observation, ObservationError, read_parquet, write_parquet};
