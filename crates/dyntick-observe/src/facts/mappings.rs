// SPDX-License-Identifier: GPL-2.0-only
//! The code that a process has mapped.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;

/// Code in the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// Its first address.
    pub begin: u64,
    /// The address behind its last one.
    pub end: u64,
    /// The offset of its begin in the file, bytes.
    pub offset: u64,
    /// The file, or the kernel's name for memory that is from none, as `[vdso]`.
    pub file: String,
    /// The functions at some addresses in it, as `main (app.c:12)`: the one that is executed there, preceded by those
    /// that are inlined at it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub functions: BTreeMap<u64, Vec<String>>,
}

impl Mapping {
    /// Returns the offset of an address in the file, bytes.
    pub fn offset_of(&self, address: u64) -> u64 {
        address.saturating_sub(self.begin).saturating_add(self.offset)
    }

    /// The name of the file without its folder.
    pub fn file_name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or_default()
    }

    /// Opens the file itself, whatever has its name by now; none where there is no file, the process has ended or this
    /// process may not (CAP_CHECKPOINT_RESTORE, `proc_map_files_get_link` in fs/proc/base.c).
    pub fn open(&self, process: i32) -> Option<File> {
        let path = format!("/proc/{process}/map_files/{:x}-{:x}", self.begin, self.end);
        let file = File::open(path).ok()?;
        file.metadata().is_ok_and(|found| found.is_file()).then_some(file)
    }
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
    let mapping = Mapping {
        begin: hex(begin)?,
        end: hex(end)?,
        offset,
        file: file.to_owned(),
        functions: BTreeMap::new(),
    };
    (is_code && !file.is_empty()).then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_files() {
        let line = "7f0c00-7f0d00 r-xp 00026000 fe:00 1234                     /usr/lib/a b.so";
        let code = mapping(line).unwrap();
        assert_eq!((code.begin, code.end, code.offset), (0x7f0c00, 0x7f0d00, 0x26000));
        assert_eq!((&*code.file, code.file_name()), ("/usr/lib/a b.so", "a b.so"));
        assert_eq!(code.offset_of(0x7f0c12), 0x26012);
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
        let code = own.iter().find(|mapping| (mapping.begin..mapping.end).contains(&here));
        assert!(code.is_some(), "{own:?}");
        // Who may not see it there sees no other file.
        if let Some(file) = code.and_then(|code| code.open(std::process::id() as i32)) {
            use std::os::unix::fs::MetadataExt;
            let (own, this) =
                (file.metadata().unwrap(), std::env::current_exe().unwrap().metadata().unwrap());
            assert_eq!((own.dev(), own.ino()), (this.dev(), this.ino()));
        }
        assert!(own.is_sorted_by_key(|mapping| mapping.begin));
        assert!(mappings(-1).is_empty());
    }
}
