// SPDX-License-Identifier: GPL-2.0-only
//! The guards for the memory of guests and runs, and for the space of guests' disks: together they never exceed the
//! total.

use std::sync::{Condvar, Mutex, MutexGuard};

/// A resource that guests share.
pub struct Room {
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
    pub fn new(bytes: u64) -> Self {
        Self { free: Mutex::new(bytes), freed: Condvar::new(), all: bytes }
    }

    /// Waits until this number of bytes is free. A request larger than the total is granted when nothing else is
    /// reserved.
    pub fn take(&self, bytes: u64) -> Part<'_> {
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
