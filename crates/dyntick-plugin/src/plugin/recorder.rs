// SPDX-License-Identifier: GPL-2.0-only
//! The executed blocks, put in order and written down.

use crate::cells::AllCells;
use crate::guest::{Guest, Name};
use crate::protocol;
use crate::stream::write::Writer;
use std::ffi::c_uint;
use std::fs::File;
use std::io::Write as _;

/// The number of bytes that are gathered before they are written.
const CHUNK: usize = 1 << 20;

/// The most CPUs that an x86 kernel supports (`arch/x86/Kconfig`: NR_CPUS_RANGE_END).
const MOST_CPUS: usize = 8192;

/// An agent has some twenty addresses watched.
const MOST_WATCHES: usize = 1024;

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

/// The CPU that executes.
#[derive(Clone, Copy)]
pub struct Executor {
    /// QEMU's number of the CPU, by which the block's cells are found.
    pub cell: c_uint,
    /// The address of the CPU's state, which identifies the CPU.
    pub state: usize,
}

/// A block that has begun and whose end is not known yet.
#[derive(Clone, Copy)]
struct Open {
    cpu: usize,
    cell: c_uint,
    code: &'static Code,
    first: u64,
}

/// The progress of a CPU's latest block.
#[derive(Clone, Copy)]
struct Left {
    /// The address of its last instruction.
    at: u64,
    /// True if instructions of the block are left.
    early: bool,
}

/// A CPU of the guest.
#[derive(Clone, Copy, Default)]
struct Cpu {
    /// The address of its state in QEMU.
    state: usize,
    left: Option<Left>,
}

/// The meaning of a special address of the kernel.
#[derive(Clone, Copy)]
enum Watch {
    Switch,
    Interrupt,
    Exception { return_address_at: u64 },
}

/// The recorder: one for the machine.
pub struct Recorder {
    /// The guest.
    pub guest: Guest,
    /// The state that translated code touches.
    pub cells: AllCells,
    file: File,
    room: u64,
    writer: Writer,
    recording: bool,
    open: Option<Open>,
    /// The state by the kernel's number of the CPU.
    cpus: Vec<Cpu>,
    watches: Vec<(u64, Watch)>,
}

impl Recorder {
    /// Makes the file; it will have about `limit` bytes at most.
    pub fn create(path: &str, limit: u64) -> std::io::Result<Self> {
        Ok(Self {
            guest: Guest::new(),
            cells: AllCells::new(),
            file: File::create(path)?,
            room: limit,
            writer: Writer::default(),
            recording: false,
            open: None,
            cpus: Vec::new(),
            watches: Vec::new(),
        })
    }

    /// A block begins.
    pub fn begin(&mut self, executor: Executor, code: &'static Code) {
        self.close();
        let cpu = self.cpu(executor.state);
        self.tell_what_is_special(cpu, code.address);
        self.open = Some(Open { cpu, cell: executor.cell, code, first: 0 });
        if self.writer.waiting() >= CHUNK {
            self.write();
        }
    }

    /// The guest says a word at an instruction.
    pub fn hear(&mut self, executor: Executor, code: &'static Code, index: u64, word: u8) {
        let rax = self.guest.register(Name::Rax).unwrap_or_default();
        match word {
            protocol::ON if !self.recording && self.room > 0 => {
                self.recording = true;
                self.cells.set_recording(true);
                self.cpus.iter_mut().for_each(|cpu| cpu.left = None);
                let cpu = self.cpu(executor.state);
                self.writer.on(cpu as u64);
                self.open = Some(Open { cpu, cell: executor.cell, code, first: index });
            }
            protocol::OFF if self.recording => {
                self.recording = false;
                self.cells.set_recording(false);
                self.close_before(index);
                let cpu = self.cpu(executor.state);
                self.writer.off(cpu as u64);
                self.write();
            }
            protocol::MARK if self.recording => {
                self.close_before(index);
                let cpu = self.cpu(executor.state);
                self.writer.mark(cpu as u64, rax);
                self.open = Some(Open { cpu, cell: executor.cell, code, first: index });
            }
            protocol::WATCH_SWITCH => self.watch(rax, Watch::Switch),
            protocol::WATCH_INTERRUPT => self.watch(rax, Watch::Interrupt),
            protocol::WATCH_EXCEPTION => self.watch(rax, Watch::Exception { return_address_at: 0 }),
            protocol::WATCH_EXCEPTION_WITH_CODE => {
                self.watch(rax, Watch::Exception { return_address_at: 8 });
            }
            protocol::HERE => self.learn(rax as usize, executor.state),
            _ => {}
        }
    }

    /// The CPU with this number has its state there.
    fn learn(&mut self, number: usize, state: usize) {
        if number >= MOST_CPUS {
            give_up("the guest speaks of more CPUs than a kernel supports");
        }
        if self.cpus.iter().any(|cpu| cpu.state == state) {
            give_up("two CPUs of the guest look like one to the plugin; this QEMU version is not supported");
        }
        if self.cpus.len() <= number {
            self.cpus.resize(number + 1, Cpu::default());
        }
        self.cpus[number] = Cpu { state, left: None };
    }

    /// The number of the CPU with this state.
    fn cpu(&self, state: usize) -> usize {
        let number = self.cpus.iter().position(|cpu| cpu.state == state);
        number.unwrap_or_else(|| give_up("a CPU executes that never reported its number"))
    }

    /// The block in the middle of which the guest speaks ends before that instruction.
    fn close_before(&mut self, index: u64) {
        let Some(open) = self.open.take() else { return };
        if index > open.first {
            self.record(open, index - 1);
        }
    }

    /// The open block, if any, came as far as it noted.
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.record(open, self.cells.reached(open.cell));
        }
    }

    fn record(&mut self, open: Open, last: u64) {
        let count = (last + 1).saturating_sub(open.first);
        self.writer.block(open.cpu as u64, open.code.at(open.first), count);
        self.cpus[open.cpu].left = Some(Left { at: open.code.at(last), early: !open.code.is_last(last) });
    }

    /// Distinguishes an exception, a task switch, and an instruction that is executed again.
    fn tell_what_is_special(&mut self, number: usize, address: u64) {
        let (cpu, left) = (number as u64, self.cpus[number].left);
        let watch = self.watches.binary_search_by_key(&address, |(at, _)| *at);
        match watch.ok().map(|place| self.watches[place].1) {
            Some(Watch::Switch) => {
                let task = |name| self.guest.register(name).unwrap_or_default();
                self.writer.switch(cpu, task(Name::Rdi), task(Name::Rsi));
            }
            Some(Watch::Interrupt) => self.writer.exception(cpu, self.return_address(0)),
            Some(Watch::Exception { return_address_at }) => {
                let to = self.return_address(return_address_at);
                if left.is_some_and(|left| left.at == to) {
                    self.writer.undone(cpu);
                }
                self.writer.exception(cpu, to);
            }
            // An instruction that changed the code of its own block is executed again.
            None if left.is_some_and(|left| left.early && left.at == address) => self.writer.undone(cpu),
            None => {}
        }
    }

    /// Returns the return address of the handler that begins here: `at` bytes above the stack pointer.
    fn return_address(&self, at: u64) -> u64 {
        let frame = self.guest.register(Name::Rsp).unwrap_or_default();
        self.guest.memory(frame.wrapping_add(at)).unwrap_or_default()
    }

    fn watch(&mut self, address: u64, watch: Watch) {
        if address != 0 && self.watches.len() < MOST_WATCHES {
            self.watches.retain(|(at, _)| *at != address);
            self.watches.push((address, watch));
            self.watches.sort_unstable_by_key(|(at, _)| *at);
        }
    }

    /// Writes what is encoded. The chunk that reaches the limit is the last.
    fn write(&mut self) {
        if self.writer.waiting() as u64 >= self.room {
            self.writer.limit();
            self.recording = false;
            self.open = None;
            self.cells.set_recording(false);
        }
        let bytes = self.writer.take();
        self.room = self.room.saturating_sub(bytes.len() as u64);
        if let Err(error) = self.file.write_all(&bytes) {
            give_up(&format!("cannot write the stream: {error}"));
        }
    }
}

/// Half a stream must not be taken for a complete one.
fn give_up(reason: &str) -> ! {
    eprintln!("dyntick-plugin: {reason}");
    std::process::abort()
}
