// SPDX-License-Identifier: GPL-2.0-only
//! The mapped code of processes whose stacks are recorded, read while the processes exist.

use dyntick_observe::facts::{Mapping, mappings};
use dyntick_trace::UserStacks;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The maximum number of processes.
const MOST: usize = 1 << 12;

/// The maximum number of addresses whose functions are looked up.
const ADDRESSES: usize = 1 << 16;

/// The maximum number of files that are kept open for that.
const FILES: usize = 256;

/// The time from the first reading of a process to the second; each next one is after twice that time. Programs map
/// more code while they run, and have addresses that belong to no file.
const AGAIN: Duration = Duration::from_millis(10);

/// The identity of a file whatever its name: device and inode.
pub(crate) type FileId = (u64, u64);

/// The processes whose stacks are recorded.
pub(crate) struct Processes {
    stacks: UserStacks,
    seen: BTreeMap<i32, Process>,
    files: BTreeMap<FileId, Arc<File>>,
    addresses: usize,
}

struct Process {
    code: Vec<Code>,
    next: Instant,
    pause: Duration,
}

/// A code mapping of a process, and the addresses in it that occur in stacks.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub mapping: Mapping,
    pub addresses: BTreeSet<u64>,
    /// The file, if there is one that can be read.
    pub file: Option<(FileId, Arc<File>)>,
}

impl Processes {
    pub fn new(stacks: UserStacks) -> Self {
        Self { stacks, seen: BTreeMap::new(), files: BTreeMap::new(), addresses: 0 }
    }

    /// Reads the processes that have stacks in these pages.
    pub fn look(&mut self, pages: &[u8]) {
        let Self { stacks, seen, files, addresses } = self;
        let now = Instant::now();
        stacks.each(pages, rustix::param::page_size(), |process, address| {
            if seen.len() >= MOST && !seen.contains_key(&process) {
                return;
            }
            let first = || Process { code: Vec::new(), next: now, pause: AGAIN };
            let own = seen.entry(process).or_insert_with(first);
            if own.next <= now && own.code_of(address).is_none() {
                own.look(process, now);
            }
            let Some(code) = own.code_of(address) else { return };
            if *addresses < ADDRESSES && code.addresses.insert(address) {
                *addresses += 1;
                if code.addresses.len() == 1 {
                    code.file = opened(files, code.mapping.open(process));
                }
            }
        });
    }

    /// The mapped code of each process.
    pub fn code(&self) -> BTreeMap<i32, Vec<Code>> {
        let known = self.seen.iter().filter(|(_, process)| !process.code.is_empty());
        known.map(|(number, process)| (*number, process.code.clone())).collect()
    }
}

impl Process {
    fn code_of(&mut self, address: u64) -> Option<&mut Code> {
        let behind = self.code.partition_point(|code| code.mapping.begin <= address);
        self.code[..behind].last_mut().filter(|code| address < code.mapping.end)
    }

    /// Reads its present mappings. A process that has ended has none.
    fn look(&mut self, number: i32, now: Instant) {
        (self.next, self.pause) = (now + self.pause, self.pause * 2);
        let mapped = mappings(number);
        if mapped.is_empty() {
            return;
        }
        let mut before = std::mem::take(&mut self.code).into_iter().peekable();
        self.code = mapped
            .into_iter()
            .map(|mapping| {
                while before.next_if(|code| code.mapping.begin < mapping.begin).is_some() {}
                let new = Code { mapping, addresses: BTreeSet::new(), file: None };
                before.next_if(|code| code.mapping == new.mapping).unwrap_or(new)
            })
            .collect();
    }
}

/// Returns the open file, or opens it.
fn opened(files: &mut BTreeMap<FileId, Arc<File>>, file: Option<File>) -> Option<(FileId, Arc<File>)> {
    let file = file?;
    let found = file.metadata().ok()?;
    let id = (found.dev(), found.ino());
    if files.len() >= FILES && !files.contains_key(&id) {
        return None;
    }
    Some((id, files.entry(id).or_insert_with(|| Arc::new(file)).clone()))
}

/// The mapping that contains an address, from a list in the order of addresses.
pub(crate) fn mapping_of(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let behind = mappings.partition_point(|mapping| mapping.begin <= address);
    mappings[..behind].last().filter(|mapping| address < mapping.end)
}
