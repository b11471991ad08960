// SPDX-License-Identifier: GPL-2.0-only
//! The ring buffers of a trace instance, emptied while they fill.
//!
//! A read of a buffer takes what is in the page that the kernel is just writing too, in a page of its own: beside a
//! busy CPU that is a page for each event. A splice takes full pages only (`tracing_buffers_splice_read`, `full` of
//! `ring_buffer_read_page`, the same from 5.10 to 7.2), and moves them without a copy. Neither wakes anybody on the
//! CPU that records, where it does not wait.

use super::SessionError;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The size of the pipe, bytes of pages: more than the default, and less than any user may have.
const AT_ONCE: usize = 256 << 10;

/// The buffer of one CPU, which is emptied by reading.
pub(super) struct RawPages {
    pipe: OwnedFd,
    path: PathBuf,
    page: Vec<u8>,
}

impl RawPages {
    /// Opens the `trace_pipe_raw` of a CPU.
    pub(super) fn open(path: PathBuf) -> Result<Self, SessionError> {
        match rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
            Ok(pipe) => Ok(Self { pipe, path, page: vec![0; rustix::param::page_size()] }),
            Err(error) => Err(SessionError::File { what: "read", path, source: error.into() }),
        }
    }

    /// Reads the next page; none if all recorded events were read.
    fn next_page(&mut self) -> Result<Option<&[u8]>, SessionError> {
        loop {
            self.page.fill(0);
            match rustix::io::read(&self.pipe, &mut self.page) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(None),
                Ok(_) => return Ok(Some(&self.page)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// Moves full pages into a pipe, at most `most` bytes; 0 where there are none.
    fn splice(&self, into: &OwnedFd, most: usize) -> Result<usize, SessionError> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        loop {
            match splice(&self.pipe, None, into, None, most, flags) {
                Ok(bytes) => return Ok(bytes),
                Err(Errno::AGAIN) => return Ok(0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    fn failed(&self, error: Errno) -> SessionError {
        SessionError::File { what: "read", path: self.path.clone(), source: error.into() }
    }
}

/// The buffers of all CPUs.
pub struct Buffers {
    cpus: BTreeMap<u32, RawPages>,
    /// The pipe through which full pages pass.
    pipe: (OwnedFd, OwnedFd),
}

impl Buffers {
    pub(super) fn new(cpus: BTreeMap<u32, RawPages>) -> Result<Self, SessionError> {
        let failed = |error: Errno| {
            let source = error.into();
            SessionError::File { what: "make", path: "a pipe".into(), source }
        };
        let pipe = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        // If that is refused it is smaller, and fewer pages come at once.
        let _ = fcntl_setpipe_size(&pipe.1, AT_ONCE);
        Ok(Self { cpus, pipe })
    }

    /// The CPUs that have a buffer.
    pub fn cpus(&self) -> Vec<u32> {
        self.cpus.keys().copied().collect()
    }

    /// Appends full pages of one CPU to `to`: at most `most` bytes, but a page if there is one. Returns how many bytes;
    /// 0 where there are no full pages.
    pub fn full_pages(&mut self, cpu: u32, to: &mut Vec<u8>, most: usize) -> Result<usize, SessionError> {
        let Some(buffer) = self.cpus.get(&cpu) else { return Ok(0) };
        let most = most.clamp(rustix::param::page_size(), AT_ONCE);
        let bytes = buffer.splice(&self.pipe.1, most)?;
        let begin = to.len();
        to.resize(begin + bytes, 0);
        let mut left = &mut to[begin..];
        while !left.is_empty() {
            match rustix::io::read(&self.pipe.0, &mut *left) {
                Ok(read) => left = &mut left[read..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(buffer.failed(error)),
            }
        }
        Ok(bytes)
    }

    /// Appends what the page has that the kernel is writing, in a page. Returns how many bytes; 0 where that is
    /// nothing.
    pub fn started_page(&mut self, cpu: u32, to: &mut Vec<u8>) -> Result<usize, SessionError> {
        let page =
            self.cpus.get_mut(&cpu).map(RawPages::next_page).transpose()?.flatten().unwrap_or_default();
        to.extend_from_slice(page);
        Ok(page.len())
    }
}
