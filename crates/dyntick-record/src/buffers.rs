// SPDX-License-Identifier: GPL-2.0-only
//! From the kernel's buffers into the file, while recording goes on: one thread empties the buffers, another one packs
//! blocks and writes them, so that a slow disk does not keep the buffers full.

use crate::RecordError;
use crate::stored::{BLOCK, Packer, Writer};
use dyntick_observe::thread::{now_ns, own_files};
use dyntick_observe::trace::{Buffers, SessionError, TraceSession};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// How many blocks are on the way to the file at most. With one of each CPU that is what recording holds in memory
/// beside the kernel's buffers.
pub(crate) const ON_THE_WAY: usize = 32;

/// How often the buffers are emptied: as seldom as they do not fill.
pub(crate) const SELDOM: Duration = Duration::from_millis(100);
const OFTEN: Duration = Duration::from_millis(5);

/// What goes to the file.
pub(crate) enum Piece {
    /// Complete pages of a CPU.
    Pages(u32, Vec<u8>),
    /// All events up to then, ns of CLOCK_MONOTONIC, were in the pages before.
    Complete(u64),
    /// A snapshot was asked for of what came up to now.
    Wanted,
}

/// Where it goes.
pub(crate) trait Sink {
    /// Takes the next piece.
    ///
    /// # Errors
    /// Where a file cannot be written.
    fn take(&mut self, piece: Piece) -> std::io::Result<()>;

    /// Whether nothing more is taken.
    fn is_full(&self) -> bool;
}

/// What the threads of a recording tell each other.
#[derive(Default)]
pub(crate) struct Control {
    /// Nothing more is written.
    pub full: AtomicBool,
    /// A snapshot is asked for.
    pub snapshot: AtomicBool,
    /// There is nothing left to wait for but the end of a command.
    pub enough: AtomicBool,
    /// The process that is recorded; 0 where there is none.
    process: AtomicI32,
}

impl Control {
    /// This process is recorded, until it ends.
    pub fn follow(&self, process: i32) {
        self.process.store(process, Ordering::Relaxed);
    }

    /// The process that is recorded.
    pub fn process(&self) -> Option<i32> {
        Some(self.process.load(Ordering::Relaxed)).filter(|process| *process > 0)
    }

    /// Whether a recording that lasts until somebody ends it is to end.
    pub fn ends(&self) -> bool {
        self.full.load(Ordering::Relaxed) || self.enough.load(Ordering::Relaxed)
    }
}

/// Empties the buffers until all has ended.
pub(crate) struct Drain<'a> {
    pub session: &'a TraceSession,
    /// Bytes of a buffer.
    pub buffer: usize,
    pub to: SyncSender<Piece>,
    pub control: &'a Control,
    /// How soon events are wanted at the latest, where not only when they fill a page.
    pub soon: Option<Duration>,
}

type Pending = BTreeMap<u32, Vec<u8>>;

/// The same, with the buffers open.
struct Draining<'a> {
    buffers: Buffers,
    drain: Drain<'a>,
}

impl Drain<'_> {
    /// Empties the buffers in this thread, which alone has them open ([`own_files`]); `ready` is told once they are, or
    /// why they are not. Returns when tracing was stopped because nothing more was written, if it was: ns of
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
        // SAFETY: this thread uses no file that another one opens from now on, and the buffers stay in it.
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
                self.take_started(&mut pending)?;
                self.send_all(&mut pending);
                // Without that the order of events is not certain; the next turn has them.
                complete.then(|| self.send(Piece::Complete(begin)));
                wanted.then(|| self.send(Piece::Wanted));
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

    /// Takes what is in the pages that the kernel is writing.
    fn take_started(&mut self, pending: &mut Pending) -> Result<(), SessionError> {
        for cpu in self.buffers.cpus() {
            self.buffers.started_page(cpu, pending.entry(cpu).or_default())?;
        }
        Ok(())
    }

    fn send_all(&self, pending: &mut Pending) {
        let blocks = pending.iter_mut().filter(|(_, pages)| !pages.is_empty());
        blocks.for_each(|(cpu, pages)| self.send(Piece::Pages(*cpu, std::mem::take(pages))));
    }

    /// Takes full pages. Returns how many bytes the fullest buffer had of them, and whether none is left that was there
    /// at the begin.
    fn take_full(&mut self, pending: &mut Pending) -> Result<(usize, bool), SessionError> {
        let (mut most, mut complete) = (0, true);
        for cpu in self.buffers.cpus() {
            let mut all = 0;
            loop {
                let pages = pending.entry(cpu).or_default();
                let taken = self.buffers.full_pages(cpu, pages, BLOCK.saturating_sub(pages.len()))?;
                all += taken;
                if pages.len() >= BLOCK {
                    let pages = std::mem::take(pages);
                    self.send(Piece::Pages(cpu, pages));
                }
                if taken == 0 {
                    break;
                }
                // Not without end, where one CPU records faster than this is done: the others wait.
                if all > self.drain.buffer {
                    complete = false;
                    break;
                }
            }
            most = most.max(all);
        }
        Ok((most, complete))
    }

    /// Waits where the file is behind; the kernel counts what it cannot keep meanwhile.
    fn send(&self, piece: Piece) {
        // Where nobody takes it, writing has failed, and says so at the end.
        let _ = self.drain.to.send(piece);
    }
}

/// The next pause, after one in which a buffer got so many bytes.
fn next_pause(pause: Duration, got: usize, buffer: usize) -> Duration {
    match got {
        got if got > buffer / 4 => (pause / 2).max(OFTEN),
        got if got < buffer / 16 => (pause * 2).min(SELDOM),
        _ => pause,
    }
}

/// Hands pieces over until there are no more.
pub(crate) fn write<S: Sink>(mut sink: S, pieces: &Receiver<Piece>, control: &Control) -> std::io::Result<S> {
    for piece in pieces {
        let taken = sink.take(piece);
        control.full.fetch_or(taken.is_err() || sink.is_full(), Ordering::Relaxed);
        taken?;
    }
    Ok(sink)
}

/// All that is recorded goes into one file.
pub(crate) struct Whole {
    pub packer: Packer,
    pub writer: Writer,
}

impl Sink for Whole {
    fn take(&mut self, piece: Piece) -> std::io::Result<()> {
        match piece {
            Piece::Pages(cpu, pages) if !self.is_full() => self.writer.block(&self.packer.pack(cpu, &pages)?),
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
    fn the_fuller_the_buffers_the_shorter_the_pause() {
        let after = |got| next_pause(Duration::from_millis(40), got, 1600).as_millis();
        assert_eq!([0, 99, 100, 400, 401, 1600].map(after), [80, 80, 40, 40, 20, 20]);
        assert_eq!(next_pause(OFTEN, 1600, 1600), OFTEN);
        assert_eq!(next_pause(SELDOM, 0, 1600), SELDOM);
    }
}
