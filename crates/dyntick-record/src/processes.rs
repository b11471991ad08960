// SPDX-License-Identifier: GPL-2.0-only
//! What code those processes have mapped whose stacks are recorded, read while they exist.

use dyntick_observe::facts::{Mapping, mappings};
use dyntick_trace::UserStacks;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many processes are looked at.
const MOST: usize = 1 << 12;

/// So many addresses are remembered, whose functions are looked up.
const ADDRESSES: usize = 1 << 16;

/// So many files are kept open for that.
const FILES: usize = 256;

/// The second look at a process is so long after the first, and each next one after twice that time: programs map more
/// code while they run, and have addresses that are of no file.
const AGAIN: Duration = Duration::from_millis(10);

/// Which file it is, whatever its name: device and inode.
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

/// Code of a process, and the addresses in it that stacks have.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub mapping: Mapping,
    pub addresses: BTreeSet<u64>,
    /// Its file, where there is one and it may be read.
    pub file: Option<(FileId, Arc<File>)>,
}

impl Processes {
    pub fn new(stacks: UserStacks) -> Self {
        Self { stacks, seen: BTreeMap::new(), files: BTreeMap::new(), addresses: 0 }
    }

    /// Looks at the processes that have stacks in these pages.
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

    /// The code of each.
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

    /// What it has mapped by now. One that has ended has nothing any more.
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

/// The file among those that are open, or as one more of them.
fn opened(files: &mut BTreeMap<FileId, Arc<File>>, file: Option<File>) -> Option<(FileId, Arc<File>)> {
    let file = file?;
    let found = file.metadata().ok()?;
    let id = (found.dev(), found.ino());
    if files.len() >= FILES && !files.contains_key(&id) {
        return None;
    }
    Some((id, files.entry(id).or_insert_with(|| Arc::new(file)).clone()))
}

/// That in which an address is, of some in the order of addresses.
pub(crate) fn mapping_of(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let behind = mappings.partition_point(|mapping| mapping.begin <= address);
    mappings[..behind].last().filter(|mapping| address < mapping.end)
}
