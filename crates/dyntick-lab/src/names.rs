// SPDX-License-Identifier: GPL-2.0-only
//! The names of what is in a run's folder.

/// The plan.
pub const RUN: &str = "run.toml";
/// The wall time of each stage.
pub const TIMING: &str = "timing.json";
/// The time that the host took from the guest's CPUs, on the wall clock.
pub const STOLEN: &str = "stolen.json";
/// The figures, for other programs.
pub const OBSERVATIONS: &str = "observations.parquet";
/// The analysis of the guest's files by one program.
pub const ANALYSIS: &str = "analysis";
/// The folder of what the guest sent.
pub const RAW: &str = "raw";
/// The guest's serial console.
pub const CONSOLE: &str = "console.log";
/// The SHA-256 of each file that decides comparisons, in the format of sha256sum(1).
pub const SUMS: &str = "SHA256SUMS";
/// The seal, by which this user's laboratory recognises its own run.
pub const SEAL: &str = "seal";
