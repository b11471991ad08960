// SPDX-License-Identifier: GPL-2.0-only
//! The two numbers that translated code touches by itself: whether it is recorded, which it reads
//! as a block begins, and the index of an instruction, which it stores.
//!
//! QEMU means them to be in a scoreboard, with an entry for each CPU. But in virtual time QEMU 10.0
//! takes the CPU that translates a block for the one that executes it, and multiplies its number
//! with the entry's size once for each use of it in a block, each time upon the product before. An
//! entry of one byte makes that multiplication vanish, and the offset of the field leads to memory
//! of our own, where it does not matter that the cells of two CPUs overlap: one thread executes all
//! CPUs, a cell is read before the next is stored, and all CPUs are recorded or none. What is right
//! there is right also where QEMU passes the executing CPU.

use crate::api;
use std::ffi::c_uint;

/// More CPUs than QEMU emulates.
const CPUS: usize = 4096;

type Cells = [u8; CPUS + size_of::<u64>()];

/// The cells. They never move.
pub struct AllCells {
    score: *mut api::Scoreboard,
    recording: *mut Cells,
    progress: *mut Cells,
}

// SAFETY: the holder of the recorder's lock is the thread that executes the guest.
unsafe impl Send for AllCells {}

impl AllCells {
    /// Reserves them, for as long as the process lives.
    pub fn new() -> Self {
        let cells = || Box::into_raw(Box::new([0; CPUS + size_of::<u64>()]));
        // SAFETY: a plain allocation.
        let score = unsafe { api::qemu_plugin_scoreboard_new(1) };
        Self { score, recording: cells(), progress: cells() }
    }

    /// Returns true if blocks are recorded.
    pub fn recording(&self) -> api::Field {
        self.field(self.recording)
    }

    /// The index of the latest instruction that could have left its block, or that ended it.
    pub fn progress(&self) -> api::Field {
        self.field(self.progress)
    }

    /// The scoreboard moves when CPUs are added, so this is only good for the block at hand.
    fn field(&self, cells: *mut Cells) -> api::Field {
        // SAFETY: the scoreboard has at least one entry.
        let base = unsafe { api::qemu_plugin_scoreboard_find(self.score, 0) };
        api::Field { score: self.score, offset: (cells as usize).wrapping_sub(base as usize) }
    }

    /// Records all CPUs, or none.
    pub fn set_recording(&self, recording: bool) {
        // SAFETY: only the thread that executes the guest reads these bytes, and it is here.
        unsafe { (*self.recording).fill(recording.into()) }
    }

    /// The progress of the latest block; `cpu` is QEMU's number when that block began.
    pub fn reached(&self, cpu: c_uint) -> u64 {
        let at = (cpu as usize).min(CPUS);
        // SAFETY: within the cells; only the thread that executes the guest stores there.
        unsafe { self.progress.cast::<u8>().add(at).cast::<u64>().read_unaligned() }
    }
}
