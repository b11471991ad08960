// SPDX-License-Identifier: GPL-2.0-only
//! The dyntick under test, in the guest.

use anyhow::{Context, Result};
use serde_json::Value;
use std::process::Command;

/// Its place in every guest of the laboratory.
const DYNTICK: &str = "/bin/dyntick";

/// A command of dyntick.
pub fn dyntick(arguments: &[&str]) -> Command {
    let mut command = Command::new(DYNTICK);
    command.args(arguments);
    command
}

/// The JSON that dyntick prints. An error has what it said on standard error.
pub fn json(arguments: &[&str]) -> Result<Value> {
    let output = dyntick(arguments).output()?;
    serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())
}
