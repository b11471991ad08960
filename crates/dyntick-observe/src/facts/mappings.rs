// SPDX-License-Identifier: GPL-2.0-only
//! The code that a process has mapped.

use serde::{Deserialize, Serialize};

/// Code in the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// Its first address.
    pub begin: u64,
    /// The address behind its last one.
    pub end: u64,
    /// Where in the file it begins, bytes.
    pub offset: u64,
    /// The file, or the kernel's name for memory that is from none, as `[vdso]`.
    pub file: String,
}

/// A program with its libraries has some tens.
const MOST: usize = 1024;

/// The code of a process, in the order of addresses; nothing where the process has ended or may not be looked at.
pub fn mappings(process: i32) -> Vec<Mapping> {
    let text = std::fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(mapping).take(MOST).collect()
}

/// A line as `7f0c-7f0d r-xp 00026000 fe:00 1234   /usr/lib/libc.so.6`, if it is code.
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let is_code = words.next()?.as_bytes().get(2) == Some(&b'x');
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = hex(words.next()?)?;
    let file = words.nth(2)?.trim_start();
    let mapping = Mapping { begin: hex(begin)?, end: hex(end)?, offset, file: file.to_owned() };
    (is_code && !file.is_empty()).then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_files() {
        let line = "7f0c00-7f0d00 r-xp 00026000 fe:00 1234                     /usr/lib/a b.so";
        let expected =
            Mapping { begin: 0x7f0c00, end: 0x7f0d00, offset: 0x26000, file: "/usr/lib/a b.so".into() };
        assert_eq!(mapping(line), Some(expected));
        for other in
            ["7f0c00-7f0d00 rw-p 00026000 fe:00 1234 /x", "7f0c00-7f0d00 r-xp 00000000 00:00 0 ", "x", ""]
        {
            assert_eq!(mapping(other), None, "{other}");
        }
    }

    #[test]
    fn this_program_is_mapped() {
        let own = mappings(std::process::id() as i32);
        let here = this_program_is_mapped as fn() as usize as u64;
        assert!(own.iter().any(|mapping| (mapping.begin..mapping.end).contains(&here)), "{own:?}");
        assert!(own.is_sorted_by_key(|mapping| mapping.begin));
        assert!(mappings(-1).is_empty());
    }
}
