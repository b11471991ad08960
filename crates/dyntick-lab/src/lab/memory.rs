// SPDX-License-Identifier: GPL-2.0-only
//! The memory and disk space of this machine, for guests that run and runs that are read at the same time:
//! together they never exceed the total.

use crate::names::RAW;
use dyntick_kernels::cache::{Cache, free_bytes};
use dyntick_study::Case;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard};

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

/// A resource that guests share.
struct Room {
    free: Mutex<u64>,
    freed: Condvar,
    all: u64,
}

/// A guest's part, given back when this is dropped.
pub struct Part<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Room {
    /// A resource with this number of bytes.
    fn new(bytes: u64) -> Self {
        Self { free: Mutex::new(bytes), freed: Condvar::new(), all: bytes }
    }

    /// Waits until this number of bytes is free. A request larger than the total is granted when nothing else is
    /// reserved.
    fn take(&self, bytes: u64) -> Part<'_> {
        let bytes = bytes.min(self.all);
        let mut free = self.free();
        while *free < bytes {
            free = self.freed.wait(free).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        *free -= bytes;
        Part { room: self, bytes }
    }

    fn free(&self) -> MutexGuard<'_, u64> {
        self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        *self.room.free() += self.bytes;
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn guests_together_have_no_more_than_there_is() {
        let room = Room::new(10);
        let taken = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for guest in 0..24 {
                let (room, taken) = (&room, &taken);
                scope.spawn(move || {
                    // The last of them wants more than there is.
                    let bytes = if guest == 23 { 100 } else { 1 + guest % 7 };
                    let part = room.take(bytes);
                    assert!(taken.fetch_add(part.bytes, Ordering::SeqCst) + part.bytes <= 10);
                    std::thread::yield_now();
                    taken.fetch_sub(part.bytes, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(*room.free(), 10);
    }
}
