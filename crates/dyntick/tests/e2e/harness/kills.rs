// SPDX-License-Identifier: GPL-2.0-only
//! Processes that tests kill at random moments, and what these leave.

use std::path::{Path, PathBuf};
use std::process::Child;

/// A generator of numbers that look random and are the same for a seed (Marsaglia's xorshift64).
pub struct Random(pub u64);

impl Random {
    /// The next number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Sends a signal to a process that was not waited for.
pub fn kill(child: &Child, signal: i32) {
    // SAFETY: a system call, with a process that was not waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
}

/// The names of the files in a folder, sorted.
pub fn files_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The trace instances of these processes.
pub fn instances_of(pids: &[u32]) -> Vec<PathBuf> {
    let folder = Path::new("/sys/kernel/tracing/instances");
    let is_theirs = |name: &String| pids.iter().any(|pid| name.starts_with(&format!("dyntick-{pid}-")));
    files_in(folder).into_iter().filter(is_theirs).map(|name| folder.join(name)).collect()
}
