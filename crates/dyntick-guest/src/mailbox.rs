// SPDX-License-Identifier: GPL-2.0-only
//! The piece of memory that host and guest share.
//!
//! The guest's RAM is a file that the host maps too, and the kernel is set to leave a part of it
//! alone (`memmap=`). So a job goes in and observations come out with no device, no
//! driver and no interrupt in the guest, on any kernel, and also when the guest dies.

use memmap2::{MmapMut, MmapOptions};
use std::fs::File;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Size of the mailbox. The larger part of it holds the trace.
pub const MAILBOX_BYTES: u64 = 64 << 20;

/// The guest-physical address of the mailbox, which is also its place in the file: above the kernel
/// (Debian's end at 74 MiB) and below the guest image, which QEMU puts at the end of the memory
/// under 4 GiB.
pub const MAILBOX_AT: u64 = 128 << 20;

const MAGIC: u64 = u64::from_le_bytes(*b"dyntick1");
const MAGIC_AT: usize = 0;
const STAGE_AT: usize = 8;
const JOB_LENGTH_AT: usize = 16;
const RESULT_LENGTH_AT: usize = 24;
const JOB_AT: usize = 4096;
const RESULT_AT: usize = 1 << 20;

/// The progress of the guest. The host reads it while the guest runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u32)]
pub enum Stage {
    /// Firmware and kernel; the agent has not spoken yet.
    Boot,
    /// The agent waits for the other CPUs to come to rest.
    Settle,
    /// The observation window is open.
    Measure,
    /// The timed script runs.
    Script,
    /// The agent gathers its observations.
    Collect,
    /// All observations are in the mailbox.
    Done,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Stage; 6] =
        [Stage::Boot, Stage::Settle, Stage::Measure, Stage::Script, Stage::Collect, Stage::Done];
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stage::Boot => "boot",
            Stage::Settle => "settle",
            Stage::Measure => "measure",
            Stage::Script => "script",
            Stage::Collect => "collect",
            Stage::Done => "done",
        })
    }
}

/// The reason why the mailbox cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MailboxError {
    /// The memory could not be mapped.
    #[error("cannot map the memory shared with the guest: {0}")]
    Map(#[from] std::io::Error),
    /// The host has written nothing there.
    #[error("internal error: no job in shared memory")]
    NoJob,
    /// More than fits.
    #[error("{bytes} bytes do not fit into the shared memory; record fewer events or a shorter window")]
    TooLarge {
        /// The number of bytes.
        bytes: usize,
    },
}

/// One side's view of the mailbox.
pub struct Mailbox {
    map: MmapMut,
}

impl Mailbox {
    /// The kernel parameter that keeps the guest's kernel off the mailbox.
    pub fn parameter() -> String {
        format!("memmap={MAILBOX_BYTES:#x}${MAILBOX_AT:#x}")
    }

    /// Maps the mailbox: of the file that is the guest's memory (host), or of `/dev/mem` (guest).
    pub fn map(memory: &File) -> Result<Self, MailboxError> {
        // SAFETY: the other side writes to this memory too; stage and lengths are only touched
        // through atomics, and the rest has one writer at a time, handed over by the stage.
        let map =
            unsafe { MmapOptions::new().offset(MAILBOX_AT).len(MAILBOX_BYTES as usize).map_mut(memory)? };
        Ok(Self { map })
    }

    /// Host: puts a job in.
    pub fn put_job(&mut self, job: &[u8]) -> Result<(), MailboxError> {
        self.put(JOB_AT, RESULT_AT, job)?;
        self.word(JOB_LENGTH_AT).store(job.len() as u64, Ordering::Release);
        self.word(MAGIC_AT).store(MAGIC, Ordering::Release);
        Ok(())
    }

    /// Guest: takes the job out.
    pub fn job(&self) -> Result<&[u8], MailboxError> {
        let length = self.word(JOB_LENGTH_AT).load(Ordering::Acquire) as usize;
        if self.word(MAGIC_AT).load(Ordering::Acquire) != MAGIC || length > RESULT_AT - JOB_AT {
            return Err(MailboxError::NoJob);
        }
        Ok(&self.map[JOB_AT..JOB_AT + length])
    }

    /// Guest: puts the observations in.
    pub fn put_result(&mut self, result: &[u8]) -> Result<(), MailboxError> {
        self.put(RESULT_AT, MAILBOX_BYTES as usize, result)?;
        self.word(RESULT_LENGTH_AT).store(result.len() as u64, Ordering::Release);
        Ok(())
    }

    /// Host: the observations, once the stage is [`Stage::Done`].
    pub fn result(&self) -> Option<&[u8]> {
        let length = self.word(RESULT_LENGTH_AT).load(Ordering::Acquire) as usize;
        (self.stage() == Stage::Done && length > 0)
            .then(|| self.map.get(RESULT_AT..RESULT_AT.checked_add(length)?))
            .flatten()
    }

    /// The progress of the guest.
    pub fn stage(&self) -> Stage {
        let number = self.stage_word().load(Ordering::Acquire) as usize;
        Stage::ALL.get(number).copied().unwrap_or(Stage::Boot)
    }

    /// Guest: says how far it is.
    pub fn set_stage(&self, stage: Stage) {
        self.stage_word().store(stage as u32, Ordering::Release);
    }

    fn put(&mut self, from: usize, limit: usize, bytes: &[u8]) -> Result<(), MailboxError> {
        if bytes.len() > limit - from {
            return Err(MailboxError::TooLarge { bytes: bytes.len() });
        }
        self.map[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: inside the mapping, aligned to 8, and only ever accessed as an atomic.
        unsafe { AtomicU64::from_ptr(self.map.as_ptr().add(at).cast_mut().cast()) }
    }

    fn stage_word(&self) -> &AtomicU32 {
        // SAFETY: as for `word`.
        unsafe { AtomicU32::from_ptr(self.map.as_ptr().add(STAGE_AT).cast_mut().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_in_and_observations_out() {
        let memory = tempfile::tempfile().unwrap();
        memory.set_len(MAILBOX_AT + MAILBOX_BYTES).unwrap();
        let mut host = Mailbox::map(&memory).unwrap();
        let mut guest = Mailbox::map(&memory).unwrap();
        assert!(matches!(guest.job(), Err(MailboxError::NoJob)));

        host.put_job(b"job").unwrap();
        assert_eq!(guest.job().unwrap(), b"job");
        guest.put_result(b"observations").unwrap();
        assert_eq!(host.result(), None, "not before the guest says that it is done");
        guest.set_stage(Stage::Done);
        assert_eq!(host.result(), Some(&b"observations"[..]));
        guest.word(RESULT_LENGTH_AT).store(u64::MAX, Ordering::Release);
        assert_eq!(host.result(), None, "a length beyond the mailbox is nobody's");
    }

    #[test]
    fn too_much_is_refused() {
        let memory = tempfile::tempfile().unwrap();
        memory.set_len(MAILBOX_AT + MAILBOX_BYTES).unwrap();
        let mut guest = Mailbox::map(&memory).unwrap();
        let error = guest.put_result(&vec![0; MAILBOX_BYTES as usize]).unwrap_err();
        assert!(matches!(error, MailboxError::TooLarge { .. }));
    }
}
