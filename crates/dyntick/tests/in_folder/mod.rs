// SPDX-License-Identifier: GPL-2.0-only
//! dyntick in a folder of the test's own, and what it printed.

use std::path::Path;
use std::process::{Command, Output};

/// The release binary where the environment names one: guests are booted with it.
pub fn dyntick(folder: &Path, arguments: &[&str]) -> Output {
    let binary = std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into());
    Command::new(binary).args(arguments).current_dir(folder).output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
