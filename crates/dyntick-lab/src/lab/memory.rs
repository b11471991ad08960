// SPDX-License-Identifier: GPL-2.0-only
//! The memory and disk space of this machine, for guests that run and runs that are read at the same time.

use crate::names::RAW;
use crate::room::{Part, Room};
use dyntick_kernels::cache::{Cache, free_bytes};
use dyntick_study::Case;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;

/// The guards of memory and disk space.
pub struct Memory {
    /// The memory for guests that run and runs that are read.
    all: Room,
    /// The part that this program may use itself (`dyntick_system::leave_half_of_memory`).
    own: Room,
    /// The disk space for guests' disks.
    disks: Room,
}

impl Memory {
    /// The memory of this machine, and half of the free space of the cache: runs, builds and images have the rest.
    pub fn of_this_machine(cache: &Cache) -> Self {
        Self {
            all: Room::new(dyntick_system::memory()),
            own: Room::new(dyntick_system::own_memory()),
            disks: Room::new(free_bytes(cache.root()) / 2),
        }
    }

    /// Waits for memory that this program itself uses.
    pub fn for_this_program(&self, bytes: u64) -> Part<'_> {
        self.own.take(bytes)
    }

    /// Waits for the disk and the memory of a guest, always in this order: a thread that waits for memory has its disk
    /// already, so none waits for that thread in turn.
    pub fn for_guest(&self, case: &Case) -> (Option<Part<'_>>, Part<'_>) {
        (case.disk.map(|bytes| self.disks.take(bytes)), self.all.take(case.memory))
    }

    /// Waits for the memory to read the run in a folder, always in this order: no two threads wait for each other.
    pub fn to_read(&self, folder: &Path) -> [Part<'_>; 2] {
        let bytes = to_read(folder);
        [self.own.take(bytes), self.all.take(bytes)]
    }
}

/// The memory that reading the run in this folder takes, bytes: dense traces were measured to take twenty
/// times what they have.
fn to_read(folder: &Path) -> u64 {
    const TIMES: u64 = 32;
    let files = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let all = files(folder).chain(files(&folder.join(RAW)));
    let bytes: u64 = all.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum();
    bytes.saturating_mul(TIMES)
}

/// Raises the soft limit of open files, which is 1024 in most shells (getrlimit(2)): each prepared case has its tools
/// open.
pub fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
