// SPDX-License-Identifier: GPL-2.0-only
//! A guest's serial console, as QEMU writes it into a file: how long it may become, and its last words.

use crate::received;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// A guest that has written more is ended: a flood of words must not fill the host's disk.
pub const LIMIT: u64 = 32 << 20;

/// The part of a console that is searched for the last message, bytes from the end.
const LAST: u64 = 256 << 10;

/// True if a console has passed its limit.
pub fn is_flooded(console: &Path) -> bool {
    console.metadata().is_ok_and(|file| file.len() > LIMIT)
}

/// The end of a console; empty if there is none.
pub fn end(console: &Path) -> String {
    let read = || {
        let mut file = File::open(console)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST)))?;
        let mut bytes = Vec::new();
        file.take(LAST).read_to_end(&mut bytes)?;
        std::io::Result::Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The last lines of a console, each as long as a person reads.
pub fn tail(console: &Path) -> Vec<String> {
    const LINES: usize = 15;
    let text = end(console);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|line| received::line(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_long_console_are_short() {
        let dir = tempfile::tempdir().unwrap();
        let console = dir.path().join("console.log");
        assert_eq!((end(&console), tail(&console)), (String::new(), Vec::new()));
        let text = format!("first\n{}\nlast \x1b[2J\r\n", "x".repeat(3_300_000));
        std::fs::write(&console, text).unwrap();
        let lines = tail(&console);
        assert_eq!(lines.last().unwrap(), "last \u{fffd}[2J");
        assert!(lines.iter().all(|line| line.len() < 400) && !is_flooded(&console));
        File::options().write(true).open(&console).unwrap().set_len(LIMIT + 1).unwrap();
        assert!(is_flooded(&console));
    }
}
