// SPDX-License-Identifier: GPL-2.0-only
//! The guests that each test boots, counted for the list of the slowest tests that `scripts/test` prints.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, read, read_dir, read_to_string};
use std::io::Write;
use std::process::Command;
use std::sync::Once;
use std::time::Duration;

/// Names the file to which a line is added for each guest: the name of its test.
const FILE: &str = "DYNTICK_TEST_GUESTS";

/// Names the test, for processes below it.
const TEST: &str = "DYNTICK_TEST";

/// Marks a command as this test's, so that its guests are counted.
pub fn mark(command: &mut Command) {
    static WATCH: Once = Once::new();
    let Some(file) = std::env::var_os(FILE) else { return };
    WATCH.call_once(|| {
        let file = OpenOptions::new().append(true).create(true).open(file).unwrap();
        std::thread::spawn(move || watch(file));
    });
    // libtest names the thread of a test after it.
    command.env(TEST, std::thread::current().name().unwrap_or("unnamed"));
}

/// Looks for new QEMU processes until this process ends. A guest lives for seconds.
fn watch(mut file: File) {
    let mut seen = HashSet::new();
    loop {
        for process in processes() {
            if !seen.contains(&process) && is_guest(process) {
                seen.insert(process);
                if let Some(test) = test_above(process) {
                    let _ = writeln!(file, "{test}");
                }
            }
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn processes() -> Vec<u32> {
    let entries = read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// True for a QEMU with a kernel; dyntick also starts it to ask for its version.
fn is_guest(process: u32) -> bool {
    let read = |file: &str| read(format!("/proc/{process}/{file}")).unwrap_or_default();
    read("comm").starts_with(b"qemu-system")
        && read("cmdline").split(|byte| *byte == 0).any(|word| word == b"-kernel")
}

fn parent(process: u32) -> Option<u32> {
    let status = read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// The test that a process or one above it was started for.
fn test_above(mut process: u32) -> Option<String> {
    while process > 1 {
        let environment = read(format!("/proc/{process}/environ")).unwrap_or_default();
        for variable in environment.split(|byte| *byte == 0) {
            let variable = String::from_utf8_lossy(variable);
            if let Some((TEST, test)) = variable.split_once('=') {
                return Some(test.to_owned());
            }
        }
        process = parent(process)?;
    }
    None
}
