// SPDX-License-Identifier: GPL-2.0-only
//! The way from the kernel's buffers into the file during a recording. One thread empties the buffers and another packs
//! and writes blocks, so that a slow disk does not keep the buffers full.

use crate::RecordError;
use crate::stored::{BLOCK, Packer, Writer};
use dyntick_observe::thread::{now_ns, own_files};
use dyntick_observe::trace::{Buffers, SessionError, TraceSession};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// The largest number of blocks on their way to the file. With one block of each CPU, that is the memory of a recording
/// in addition to the kernel's buffers.
pub(crate) const ON_THE_WAY: usize = 32;

/// The longest pause between two readings of the buffers.
pub(crate) const SELDOM: Duration = Duration::from_millis(100);
const OFTEN: Duration = Duration::from_millis(5);

/// A piece of the recording for the file.
pub(crate) enum Piece {
    /// The complete pages of a CPU.
    Pages {
        /// The CPU.
        cpu: u32,
        /// The pages.
        pages: Vec<u8>,
        /// The time at which they were read, or the end of the recording if that was earlier, ns of CLOCK_MONOTONIC.
        read_ns: u64,
    },
    /// The time, ns of CLOCK_MONOTONIC, up to which all events were in earlier pages.
    Complete(u64),
    /// A request for a snapshot of everything up to this time, ns of CLOCK_MONOTONIC.
    Wanted(u64),
}

/// The destination of the pieces.
pub(crate) trait Sink {
    /// Takes the next piece.
    ///
    /// # Errors
    /// A failed write to a file.
    fn take(&mut self, piece: Piece) -> std::io::Result<()>;

    /// Returns true if it takes nothing more.
    fn is_full(&self) -> bool;
}

/// The state that the threads of a recording share.
#[derive(Default)]
pub(crate) struct Control {
    /// True if nothing more is written.
    pub full: AtomicBool,
    /// True if a snapshot is requested.
    pub snapshot: AtomicBool,
    /// True if only the end of the command ends the recording.
    pub enough: AtomicBool,
    /// The recorded process; 0 for none.
    process: AtomicI32,
    /// The end of the recording, ns of CLOCK_MONOTONIC; 0 until then.
    end_ns: AtomicU64,
}

impl Control {
    /// Ends the recording at this time. What comes later is read, but no longer part of it.
    pub fn end(&self, ns: u64) {
        self.end_ns.store(ns, Ordering::Relaxed);
    }

    /// The present time, or that of the end, ns of CLOCK_MONOTONIC.
    pub fn now_ns(&self) -> u64 {
        match self.end_ns.load(Ordering::Relaxed) {
            0 => now_ns(),
            end => end,
        }
    }

    /// Sets the process that is recorded until it ends.
    pub fn follow(&self, process: i32) {
        self.process.store(process, Ordering::Relaxed);
    }

    /// The recorded process.
    pub fn process(&self) -> Option<i32> {
        Some(self.process.load(Ordering::Relaxed)).filter(|process| *process > 0)
    }

    /// Returns true if a recording without a command or process is to end.
    pub fn ends(&self) -> bool {
        self.full.load(Ordering::Relaxed) || self.enough.load(Ordering::Relaxed)
    }
}

/// A thread that empties the buffers until the recording ends.
pub(crate) struct Drain<'a> {
    pub session: &'a TraceSession,
    /// The size of a buffer, bytes.
    pub buffer: usize,
    pub to: SyncSender<Piece>,
    pub control: &'a Control,
    /// The longest delay of events, if they must not wait until they fill a page.
    pub soon: Option<Duration>,
}

type Pending = BTreeMap<u32, Vec<u8>>;

/// The same thread with open buffers.
struct Draining<'a> {
    buffers: Buffers,
    drain: Drain<'a>,
}

impl Drain<'_> {
    /// Empties the buffers in this thread, which alone has them open ([`own_files`]); `ready` gets the result of
    /// opening them. Returns the time at which tracing was stopped because nothing more was written, ns of
    /// CLOCK_MONOTONIC.
    pub fn run(
        self,
        ready: &SyncSender<Result<(), RecordError>>,
        ended: &Receiver<()>,
    ) -> Result<Option<u64>, SessionError> {
        let (opened, draining) = match self.open() {
            Ok(draining) => (Ok(()), Some(draining)),
            Err(error) => (Err(error), None),
        };
        let _ = ready.send(opened);
        draining.map_or(Ok(None), |draining| draining.run(ended))
    }
}

impl<'a> Drain<'a> {
    fn open(self) -> Result<Draining<'a>, RecordError> {
        // SAFETY: from now on this thread uses no file that another one opens, and the buffers stay in it.
        unsafe { own_files() }.map_err(RecordError::Thread)?;
        Ok(Draining { buffers: self.session.buffers()?, drain: self })
    }
}

impl Draining<'_> {
    fn run(mut self, ended: &Receiver<()>) -> Result<Option<u64>, SessionError> {
        let (mut pending, mut stopped, mut pause) = (Pending::new(), None, SELDOM);
        let mut latest = Instant::now();
        while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            if stopped.is_some() {
                continue;
            }
            let begin = now_ns();
            let (most, complete) = self.take_full(&mut pending)?;
            pause = next_pause(pause, most, self.drain.buffer).min(self.drain.soon.unwrap_or(SELDOM));
            let wanted = self.drain.control.snapshot.swap(false, Ordering::Relaxed);
            if wanted || self.drain.soon.is_some_and(|soon| latest.elapsed() >= soon) {
                latest = Instant::now();
                let now = now_ns();
                self.take_started(&mut pending)?;
                self.send_all(&mut pending);
                // Without it the order of events is not certain; the next round has them.
                complete.then(|| self.send(Piece::Complete(begin)));
                wanted.then(|| self.send(Piece::Wanted(now)));
            }
            if self.drain.control.full.load(Ordering::Relaxed) {
                self.drain.session.stop()?;
                stopped = Some(now_ns());
            }
        }
        self.take_full(&mut pending)?;
        for cpu in self.buffers.cpus() {
            while self.buffers.started_page(cpu, pending.entry(cpu).or_default())? > 0 {}
        }
        self.send_all(&mut pending);
        Ok(stopped)
    }

    /// Takes the contents of the pages that the kernel is writing.
    fn take_started(&mut self, pending: &mut Pending) -> Result<(), SessionError> {
        for cpu in self.buffers.cpus() {
            self.buffers.started_page(cpu, pending.entry(cpu).or_default())?;
        }
        Ok(())
    }

    fn send_all(&self, pending: &mut Pending) {
        for (cpu, pages) in pending.iter_mut().filter(|(_, pages)| !pages.is_empty()) {
            self.send_pages(*cpu, std::mem::take(pages));
        }
    }

    /// Takes full pages. Returns the number of bytes that the fullest buffer had of them, and true if none is left of
    /// those that were there at the begin.
    fn take_full(&mut self, pending: &mut Pending) -> Result<(usize, bool), SessionError> {
        let (mut most, mut complete) = (0, true);
        for cpu in self.buffers.cpus() {
            let mut all = 0;
            loop {
                let pages = pending.entry(cpu).or_default();
                let taken = self.buffers.full_pages(cpu, pages, BLOCK.saturating_sub(pages.len()))?;
                all += taken;
                if pages.len() >= BLOCK {
                    let block = std::mem::take(pages);
                    self.send_pages(cpu, block);
                }
                if taken == 0 {
                    break;
                }
                // There is a limit, because one CPU may record faster than this reads while the others wait.
                if all > self.drain.buffer {
                    complete = false;
                    break;
                }
            }
            most = most.max(all);
        }
        Ok((most, complete))
    }

    fn send_pages(&self, cpu: u32, pages: Vec<u8>) {
        let read_ns = self.drain.control.now_ns();
        self.send(Piece::Pages { cpu, pages, read_ns });
    }

    /// Waits if the file is behind; the kernel counts the events that it cannot keep meanwhile.
    fn send(&self, piece: Piece) {
        // A closed channel means that writing has failed, which is reported at the end.
        let _ = self.drain.to.send(piece);
    }
}

/// The next pause, after one in which a buffer got `filled` bytes.
fn next_pause(pause: Duration, got: usize, buffer: usize) -> Duration {
    match got {
        got if got > buffer / 4 => (pause / 2).max(OFTEN),
        got if got < buffer / 16 => (pause * 2).min(SELDOM),
        _ => pause,
    }
}

/// Passes all pieces on until the channel is closed.
pub(crate) fn write<S: Sink>(mut sink: S, pieces: &Receiver<Piece>, control: &Control) -> std::io::Result<S> {
    for piece in pieces {
        let taken = sink.take(piece);
        control.full.fetch_or(taken.is_err() || sink.is_full(), Ordering::Relaxed);
        taken?;
    }
    Ok(sink)
}

/// A sink that writes the complete recording into one file.
pub(crate) struct Whole {
    pub packer: Packer,
    pub writer: Writer,
}

impl Sink for Whole {
    fn take(&mut self, piece: Piece) -> std::io::Result<()> {
        match piece {
            Piece::Pages { cpu, pages, .. } if !self.is_full() => {
                self.writer.block(&self.packer.pack(cpu, &pages)?)
            }
            _ => Ok(()),
        }
    }

    fn is_full(&self) -> bool {
        self.writer.ended().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuller_buffers_shorten_the_pause() {
        let after = |got| next_pause(Duration::from_millis(40), got, 1600).as_millis();
        assert_eq!([0, 99, 100, 400, 401, 1600].map(after), [80, 80, 40, 40, 20, 20]);
        assert_eq!(next_pause(OFTEN, 1600, 1600), OFTEN);
        assert_eq!(next_pause(SELDOM, 0, 1600), SELDOM);
    }
}
