// SPDX-License-Identifier: GPL-2.0-only
//! The threads that eBPF programs follow: a bit for each by its number, which both sides write to.

use dyntick_bpf::layout::MAX_THREADS;
use memmap2::MmapRaw;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bits, mapped into memory.
pub struct Followed(MmapRaw);

impl Followed {
    /// The bits of one object of programs: its map [`dyntick_bpf::FOLLOWED`].
    pub fn new(map: MmapRaw) -> Self {
        assert!(map.len() >= Self::BYTES);
        Self(map)
    }

    /// The size of the map.
    pub const BYTES: usize = MAX_THREADS / 8;

    /// Follows a thread, or no longer; `None` if there is none of this number.
    pub fn set(&self, thread: u32, is_followed: bool) -> Option<()> {
        let (word, bit) = self.bit(thread)?;
        if is_followed {
            word.fetch_or(bit, Ordering::Relaxed);
        } else {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
        Some(())
    }

    /// Returns true if a thread is followed.
    pub fn contains(&self, thread: u32) -> bool {
        self.bit(thread).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit > 0)
    }

    /// The bit of a thread, and the word that it is in.
    fn bit(&self, thread: u32) -> Option<(&AtomicU64, u64)> {
        let thread = thread as usize;
        let words: *mut u64 = self.0.as_mut_ptr().cast();
        // SAFETY: the mapping has a bit for each thread and lives as long as `self`; it is written to by atomic
        // operations only, here and by the programs.
        let word = || unsafe { AtomicU64::from_ptr(words.add(thread / 64)) };
        (thread < MAX_THREADS).then(|| (word(), 1 << (thread % 64)))
    }
}
