// SPDX-License-Identifier: GPL-2.0-only
//! What was executed, put in order and written down.

use crate::guest::{Guest, Name};
use crate::protocol;
use crate::stream::write::Writer;
use std::ffi::c_uint;
use std::fs::File;
use std::io::Write as _;

/// So many bytes are gathered before they are written.
const CHUNK: usize = 1 << 20;

/// A translated block: where each of its instructions is.
pub struct Code {
    address: u64,
    offsets: Box<[u16]>,
}

impl Code {
    /// A block of instructions at these addresses.
    pub fn new(addresses: impl Iterator<Item = u64>) -> Self {
        let addresses: Vec<u64> = addresses.collect();
        let address = addresses.first().copied().unwrap_or_default();
        // A block spans two pages at most.
        let offsets = addresses.iter().map(|at| at.wrapping_sub(address) as u16).collect();
        Self { address, offsets }
    }

    fn at(&self, index: u64) -> u64 {
        self.address.wrapping_add(self.offsets.get(index as usize).copied().unwrap_or_default().into())
    }

    fn is_last(&self, index: u64) -> bool {
        index + 1 >= self.offsets.len() as u64
    }
}

/// A block that has begun and whose end is not known yet.
#[derive(Clone, Copy)]
struct Open {
    cpu: c_uint,
    code: &'static Code,
    first: u64,
}

/// How far a CPU's latest block came.
#[derive(Clone, Copy)]
struct Left {
    /// The address of its last instruction.
    at: u64,
    /// Whether instructions of the block are left.
    early: bool,
}

/// What is special about an address of the kernel.
#[derive(Clone, Copy)]
enum Watch {
    Switch,
    Exception { return_address_at: u64 },
}

/// The recorder: one for the machine.
pub struct Recorder {
    /// The guest.
    pub guest: Guest,
    file: File,
    room: u64,
    writer: Writer,
    recording: bool,
    open: Option<Open>,
    left: Vec<Option<Left>>,
    watches: Vec<(u64, Watch)>,
}

impl Recorder {
    /// Makes the file; it will have about `limit` bytes at most.
    pub fn create(path: &str, limit: u64) -> std::io::Result<Self> {
        Ok(Self {
            guest: Guest::new(),
            file: File::create(path)?,
            room: limit,
            writer: Writer::default(),
            recording: false,
            open: None,
            left: Vec::new(),
            watches: Vec::new(),
        })
    }

    /// A block begins on a CPU, at its instruction `first`.
    pub fn begin(&mut self, cpu: c_uint, code: &'static Code, first: u64) {
        self.close();
        self.tell_what_is_special(cpu, code.at(first));
        self.open = Some(Open { cpu, code, first });
        if self.writer.waiting() >= CHUNK {
            self.write();
        }
    }

    /// The guest says a word at an instruction.
    pub fn hear(&mut self, cpu: c_uint, code: &'static Code, index: u64, word: u8) {
        match word {
            protocol::ON if !self.recording && self.room > 0 => self.start(cpu, code, index),
            protocol::OFF if self.recording => self.stop(cpu, index),
            protocol::MARK if self.recording => {
                self.close_before(index);
                self.writer.mark(cpu.into(), self.guest.register(Name::Rax).unwrap_or_default());
                self.open = Some(Open { cpu, code, first: index });
            }
            protocol::WATCH_SWITCH => self.watch(Watch::Switch),
            protocol::WATCH_EXCEPTION => self.watch(Watch::Exception { return_address_at: 0 }),
            protocol::WATCH_EXCEPTION_WITH_CODE => self.watch(Watch::Exception { return_address_at: 8 }),
            _ => {}
        }
    }

    fn start(&mut self, cpu: c_uint, code: &'static Code, index: u64) {
        self.recording = true;
        self.left.clear();
        self.guest.set_recording(true);
        self.writer.on(cpu.into());
        self.open = Some(Open { cpu, code, first: index });
    }

    fn stop(&mut self, cpu: c_uint, index: u64) {
        self.recording = false;
        self.guest.set_recording(false);
        self.close_before(index);
        self.writer.off(cpu.into());
        self.write();
    }

    /// The block in the middle of which the guest speaks ends before that instruction.
    fn close_before(&mut self, index: u64) {
        let Some(open) = self.open.take() else { return };
        if index > open.first {
            self.record(open, index - 1);
        }
    }

    /// The open block, if any, came as far as its CPU noted.
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.record(open, self.guest.reached(open.cpu));
        }
    }

    fn record(&mut self, open: Open, last: u64) {
        let count = (last + 1).saturating_sub(open.first);
        self.writer.block(open.cpu.into(), open.code.at(open.first), count);
        let cpu = open.cpu as usize;
        if self.left.len() <= cpu {
            self.left.resize(cpu + 1, None);
        }
        self.left[cpu] = Some(Left { at: open.code.at(last), early: !open.code.is_last(last) });
    }

    /// Tells an exception, a task switch, or an instruction that is executed again.
    fn tell_what_is_special(&mut self, cpu: c_uint, address: u64) {
        let left = self.left.get(cpu as usize).copied().flatten();
        match self.watches.iter().find(|(at, _)| *at == address) {
            Some((_, Watch::Switch)) => {
                let task = |name| self.guest.register(name).unwrap_or_default();
                self.writer.switch(cpu.into(), task(Name::Rdi), task(Name::Rsi));
            }
            Some((_, Watch::Exception { return_address_at })) => {
                let frame = self.guest.register(Name::Rsp).unwrap_or_default();
                let to = self.guest.memory(frame.wrapping_add(*return_address_at)).unwrap_or_default();
                if left.is_some_and(|left| left.at == to) {
                    self.writer.undone(cpu.into());
                }
                self.writer.exception(cpu.into(), to);
            }
            // An instruction that changed the code of its own block is executed again.
            None if left.is_some_and(|left| left.early && left.at == address) => {
                self.writer.undone(cpu.into());
            }
            None => {}
        }
    }

    fn watch(&mut self, watch: Watch) {
        if let Some(address) = self.guest.register(Name::Rax).filter(|address| *address != 0) {
            self.watches.retain(|(at, _)| *at != address);
            self.watches.push((address, watch));
        }
    }

    /// Writes what is encoded. The chunk that reaches the limit is the last.
    fn write(&mut self) {
        if self.writer.waiting() as u64 >= self.room {
            self.writer.limit();
            self.recording = false;
            self.open = None;
            self.guest.set_recording(false);
        }
        let bytes = self.writer.take();
        self.room = self.room.saturating_sub(bytes.len() as u64);
        if let Err(error) = self.file.write_all(&bytes) {
            // Half a stream must not be taken for a whole one.
            eprintln!("dyntick-plugin: cannot write the stream: {error}");
            std::process::abort();
        }
    }
}
