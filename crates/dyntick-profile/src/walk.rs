// SPDX-License-Identifier: GPL-2.0-only
//! The walk over a stream that makes spans.

use crate::count::Counts;
use crate::cpu::{Cpu, Entry, WakeUp, Where};
use crate::profile::{Key, Profile};
use crate::stream::{Error, Reader, Record};
use crate::symbols::{INTERRUPT_RETURN, SYSTEM_CALL, Symbols, is_kernel};
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

/// The recording between one "on" and its "off".
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// All spans.
    pub profile: Profile,
    /// True if the stream reached its limit, so that the end is missing.
    pub cut: bool,
}

/// The kernel's own work: no user task entered it.
const OWN: &str = "idle loop and kernel threads";
/// Work that had begun before the recording did, or had not ended with it.
const PARTIAL: &str = "(incomplete)";

/// Cuts a stream into spans, one phase for each time that recording was on.
///
/// # Errors
/// Where the stream is damaged, ends early, or makes more spans than any recording has.
pub fn phases(stream: impl BufRead, symbols: &Symbols) -> Result<Vec<Phase>, Error> {
    phases_with_calls(stream, symbols, &[], MOST_HELD)
}

/// The same, with each call of these functions of the kernel within a kernel entry: all that is executed from
/// its first instruction until its caller goes on, without interrupts that come meanwhile. A name that the
/// kernel does not have has no calls.
///
/// # Errors
/// As [`phases`], where the spans take more memory than `most_held` bytes.
pub fn phases_with_calls(
    stream: impl BufRead,
    symbols: &Symbols,
    calls: &[String],
    most_held: usize,
) -> Result<Vec<Phase>, Error> {
    let walk =
        Walk { called: calls.iter().filter_map(|name| symbols.find(name)).collect(), ..Walk::new(symbols) };
    phases_within(stream, walk, most_held)
}

fn phases_within(stream: impl BufRead, mut walk: Walk<'_>, most_held: usize) -> Result<Vec<Phase>, Error> {
    let mut reader = Reader::new(stream)?;
    let mut next_look = LOOK_EVERY;
    while let Some(record) = reader.next() {
        walk.record(record?);
        if reader.bytes_read() >= next_look {
            next_look += LOOK_EVERY;
            if walk.held() > most_held {
                return Err(Error::TooMuch);
            }
        }
    }
    // Without "off" and without the limit the guest ended while it was recorded.
    if walk.phase.is_some() {
        return Err(Error::Truncated(reader.bytes_read()));
    }
    Ok(walk.phases)
}

/// The most that a recording may hold by estimate, in bytes. The longest recording, 1 GiB of system calls,
/// makes some 20 million spans.
pub const MOST_HELD: usize = 1 << 30;

/// The interval at which the estimate is checked, in bytes of the stream.
const LOOK_EVERY: u64 = 1 << 20;

/// Entries of one task inside each other. A kernel's stack has room for a few; if more were never seen to
/// return, the outermost are reported as incomplete.
const DEEPEST: usize = 256;

struct Walk<'a> {
    symbols: &'a Symbols,
    /// The functions whose calls are shown.
    called: Vec<u32>,
    numbers: HashMap<u64, Option<u32>>,
    phases: Vec<Phase>,
    phase: Option<Phase>,
    cpu: u64,
    cpus: BTreeMap<u64, Cpu>,
    /// The entries of each task that is inside the kernel; a CPU whose task is not known yet counts
    /// as a task of its own.
    entries: BTreeMap<Task, Vec<Entry>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    UnknownOn(u64),
    At(u64),
}

impl<'a> Walk<'a> {
    fn new(symbols: &'a Symbols) -> Self {
        Self {
            symbols,
            called: Vec::new(),
            numbers: HashMap::new(),
            phases: Vec::new(),
            phase: None,
            cpu: 0,
            cpus: BTreeMap::new(),
            entries: BTreeMap::new(),
        }
    }

    fn record(&mut self, record: Record) {
        match record {
            Record::Block { address, instructions, times } => self.blocks(address, instructions, times),
            Record::Cpu(cpu) => self.cpu = cpu,
            Record::On => {
                self.end_phase(false);
                self.phase = Some(Phase::default());
            }
            Record::Off(_) => self.end_phase(false),
            Record::Limit => self.end_phase(true),
            Record::Mark(_) => self.end_wake_up(),
            Record::Switch { leaves, comes } => self.switch(leaves, comes),
            Record::Exception(to) => self.cpu().exception = Some(to),
            Record::Undone => self.take_back(),
        }
    }

    /// Roughly the memory of all that grows with the stream, bytes.
    fn held(&self) -> usize {
        const ROW: usize = 64;
        const PHASE: usize = 4096;
        let counts = |counts: &Counts| counts.iter().len() * ROW;
        let entries = self
            .entries
            .values()
            .flatten()
            .map(|entry| size_of::<Entry>() + counts(&entry.counts) + entry.calls.rows() * ROW);
        let cpus = self.cpus.values().map(|cpu| {
            let wake_up = cpu.wake_up.as_ref().map_or(0, |wake_up| counts(&wake_up.counts));
            size_of::<Cpu>() + counts(&cpu.own) + wake_up
        });
        let phases = self.phases.iter().chain(&self.phase);
        let tasks = self.entries.len() * ROW;
        let kept: usize = phases.map(|phase| PHASE + phase.profile.held()).sum();
        tasks + entries.sum::<usize>() + cpus.sum::<usize>() + kept
    }

    fn cpu(&mut self) -> &mut Cpu {
        self.cpus.entry(self.cpu).or_default()
    }

    fn task(&mut self) -> Task {
        let number = self.cpu;
        self.cpu().task.map_or(Task::UnknownOn(number), Task::At)
    }

    fn profile(&mut self) -> &mut Profile {
        &mut self.phase.get_or_insert_default().profile
    }

    fn function(&mut self, address: u64) -> Option<u32> {
        let symbols = self.symbols;
        *self.numbers.entry(address).or_insert_with(|| symbols.number(address))
    }

    /// The first execution may be an entry; a repetition is one only if it begins a handler, and
    /// no handler begins twice in a row.
    fn blocks(&mut self, address: u64, instructions: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.block(address, instructions);
        let more = instructions.saturating_mul(times - 1);
        if more > 0 {
            self.count(more);
        }
    }

    fn block(&mut self, address: u64, instructions: u64) {
        let function = is_kernel(address).then(|| self.function(address)).flatten();
        // The way to the instruction that returns may be a block of its own.
        let still_here = self.symbols.name(function) == INTERRUPT_RETURN;
        if std::mem::take(&mut self.cpu().returns) && !still_here {
            self.end_entry();
        }
        let exception = self.cpu().exception.take();
        if is_kernel(address) {
            self.maybe_enter(address, function, exception);
            self.maybe_call(address, function);
            self.cpu().at = Where::Kernel(function);
            self.cpu().returns = self.symbols.returns_from_interrupt(function);
            self.note_handler(function);
        } else {
            self.end_all_entries();
            self.end_wake_up();
            self.cpu().at = Where::User;
        }
        self.count(instructions);
    }

    /// Counts instructions where the CPU is.
    fn count(&mut self, instructions: u64) {
        let Where::Kernel(function) = self.cpu().at else {
            self.profile().user += instructions;
            return;
        };
        if let Some(wake_up) = &mut self.cpu().wake_up {
            wake_up.counts.add(function, instructions);
        }
        let task = self.task();
        match self.entries.get_mut(&task).and_then(|entries| entries.last_mut()) {
            Some(entry) => {
                entry.counts.add(function, instructions);
                entry.calls.count(function, instructions);
            }
            None => self.cpu().own.add(function, instructions),
        }
    }

    fn take_back(&mut self) {
        self.cpu().returns = false;
        let Where::Kernel(function) = self.cpu().at else {
            let user = &mut self.profile().user;
            *user = user.saturating_sub(1);
            return;
        };
        if let Some(wake_up) = &mut self.cpu().wake_up {
            wake_up.counts.take_back(function);
        }
        let task = self.task();
        match self.entries.get_mut(&task).and_then(|entries| entries.last_mut()) {
            Some(entry) => {
                entry.counts.take_back(function);
                entry.calls.take_back(function);
            }
            None => self.cpu().own.take_back(function),
        }
    }

    /// Begins an entry where the kernel is entered, from user mode or by an interrupt or exception.
    fn maybe_enter(&mut self, address: u64, function: Option<u32>, exception: Option<u64>) {
        let from_user = match exception {
            Some(to) => !is_kernel(to),
            None => self.cpu().at == Where::User,
        };
        if !from_user && exception.is_none() && !self.is_stub(address, function) {
            return;
        }
        if from_user {
            // A return to user mode whose first instruction was not executed any more.
            self.end_all_entries();
        }
        let (number, task) = (self.cpu, self.task());
        let entries = self.entries.entry(task).or_default();
        let lost = (entries.len() == DEEPEST).then(|| entries.remove(0));
        // The idle loop and kernel threads have no entry of their own. Where one interrupt after the
        // other comes before the task does, the last is the one that woke it.
        let idle = entries.is_empty() && !from_user;
        entries.push(Entry { cpu: number, symbol: function, from_user, ..Entry::default() });
        if let Some(entry) = lost {
            self.keep(entry, false);
        }
        let cpu = self.cpu();
        if idle && cpu.at != Where::Nowhere {
            cpu.wake_up = Some(WakeUp { symbol: function, ..WakeUp::default() });
        }
    }

    /// Begins a call where a chosen function begins, and ends those whose caller goes on.
    fn maybe_call(&mut self, address: u64, function: Option<u32>) {
        if self.called.is_empty() || self.symbols.is_thunk(function) {
            return;
        }
        let begins =
            |number: &u32| self.called.contains(number) && self.symbols.address(*number) == Some(address);
        let begins = function.filter(begins);
        let task = self.task();
        let Some(entry) = self.entries.get_mut(&task).and_then(|entries| entries.last_mut()) else { return };
        let ended = entry.calls.arrive(function);
        if let Some(number) = begins {
            entry.calls.begin(number, entry.latest);
        }
        entry.latest = function;
        for (number, counts) in ended {
            let kind = format!("{}()", self.symbols.name(Some(number)));
            let (cpu, symbols) = (self.cpu, self.symbols);
            self.profile().add_call(Key { cpu, kind }, &counts, symbols);
        }
    }

    /// Returns true if the entry point of an interrupt or exception begins here.
    fn is_stub(&self, address: u64, function: Option<u32>) -> bool {
        let name = self.symbols.name(function);
        let begins = function.and_then(|number| self.symbols.address(number)) == Some(address);
        name == "irq_entries_start"
            || begins && (name.starts_with("asm_exc_") || name.starts_with("asm_sysvec_"))
    }

    /// The first function of this name that a system call reaches says which one it is.
    fn note_handler(&mut self, function: Option<u32>) {
        if !self.symbols.name(function).starts_with(SYSTEM_CALL) {
            return;
        }
        let task = self.task();
        if let Some(entry) = self.entries.get_mut(&task).and_then(|entries| entries.last_mut()) {
            entry.handler = entry.handler.or(function);
        }
    }

    /// The switch itself belongs to the task that comes.
    fn switch(&mut self, leaves: u64, comes: u64) {
        if let Task::UnknownOn(cpu) = self.task() {
            let entries = self.entries.remove(&Task::UnknownOn(cpu)).unwrap_or_default();
            let all = self.entries.entry(Task::At(leaves)).or_default();
            // A task that was known already is deeper inside than what is found below it now.
            let room = DEEPEST.saturating_sub(all.len());
            let below = entries.len().saturating_sub(room);
            all.splice(0..0, entries.into_iter().skip(below));
        }
        let cpu = self.cpu();
        cpu.task = Some(comes);
        if let Some(wake_up) = &mut cpu.wake_up {
            wake_up.switched = true;
        }
    }

    fn end_entry(&mut self) {
        let task = self.task();
        if let Some(entry) = self.entries.get_mut(&task).and_then(Vec::pop) {
            self.keep(entry, true);
        }
    }

    /// User mode is reached: the task is out of the kernel. Entries below the top one were left
    /// without a return, which only happens where their beginning was not recorded.
    fn end_all_entries(&mut self) {
        let task = self.task();
        for entry in self.entries.remove(&task).unwrap_or_default() {
            self.keep(entry, true);
        }
    }

    fn keep(&mut self, entry: Entry, whole: bool) {
        let kind = self.kind(&entry);
        let kind = if whole { kind } else { format!("{kind} {PARTIAL}") };
        let symbols = self.symbols;
        self.profile().add(Key { cpu: entry.cpu, kind }, &entry.counts, symbols);
    }

    fn kind(&self, entry: &Entry) -> String {
        let name = self.symbols.name(entry.symbol);
        match (entry.handler, entry.from_user) {
            (Some(handler), true) if !name.starts_with("asm_") => self.symbols.name(Some(handler)).to_owned(),
            (_, true) => format!("{name} from user mode"),
            (_, false) => format!("{name} from the kernel"),
        }
    }

    /// A wake-up is one only if a task came; else the CPU served an interrupt for itself.
    fn end_wake_up(&mut self) {
        let Some(wake_up) = self.cpu().wake_up.take() else { return };
        if !wake_up.switched {
            return;
        }
        let kind = format!("wake-up by {}", self.symbols.name(wake_up.symbol));
        let (cpu, symbols) = (self.cpu, self.symbols);
        self.profile().add_wake_up(Key { cpu, kind }, &wake_up.counts, symbols);
    }

    fn end_phase(&mut self, cut: bool) {
        if self.phase.is_none() {
            // Instructions outside of any phase cannot be; a damaged stream may claim them.
            self.cpus.clear();
            self.entries.clear();
            return;
        }
        for entry in std::mem::take(&mut self.entries).into_values().flatten() {
            self.keep(entry, false);
        }
        for (number, cpu) in std::mem::take(&mut self.cpus) {
            if cpu.own.total() > 0 {
                let symbols = self.symbols;
                self.profile().add(Key { cpu: number, kind: OWN.to_owned() }, &cpu.own, symbols);
            }
        }
        if let Some(mut phase) = self.phase.take() {
            phase.cut = cut;
            self.phases.push(phase);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Writer;

    #[test]
    fn a_stream_of_more_than_is_held_is_refused() {
        let symbols = Symbols::parse("ffffffff81000000 T entry_SYSCALL_64\n");
        let mut writer = Writer::default();
        writer.on(0);
        for _ in 0..LOOK_EVERY {
            writer.block(0, 0x40_0000, 1);
            writer.block(0, 0xffff_ffff_8100_0000, 1);
        }
        writer.off(0);
        let stream = writer.take();
        assert_eq!(phases_within(&stream[..], Walk::new(&symbols), 1 << 20).err(), Some(Error::TooMuch));
        assert_eq!(phases(&stream[..], &symbols).map(|phases| phases.len()), Ok(1));
    }
}
