// SPDX-License-Identifier: GPL-2.0-only
//! Records of our own layout from lines: common fields as the kernel has them, then 8 bytes for each field.

use super::details::{Form, Value, form, value};
use super::line::Line;
use dyntick_model::Map;
use dyntick_trace::PADDING;
use dyntick_trace::events::{EVENTS, of_interrupts};
use std::collections::BTreeMap;

/// The bytes of the common fields: number of the event, flags, depth of preemption, task.
const COMMON: usize = 8;
/// The bytes of a field.
const FIELD: usize = 8;
/// The maximum length of a text in a record, bytes.
const LONGEST_TEXT: usize = 256;
/// The maximum number of functions with names.
const MOST_SYMBOLS: usize = 1 << 20;
/// The addresses that stand for functions with names. The decoder needs no more than that they differ.
const FIRST_SYMBOL: u64 = 0xffff_8000_0000_0000;
/// The distance of two of them: functions begin at multiples of 16.
const SYMBOL: u64 = 16;

/// The flags of an event in an interrupt and in a softirq (`include/linux/trace_events.h`).
const HARDIRQ: u8 = 0x08;
const SOFTIRQ: u8 = 0x10;

/// An event that is read.
struct Known {
    /// The name, `system:name`.
    event: String,
    id: u16,
    fields: &'static [&'static str],
}

pub(super) struct Records {
    known: Vec<Known>,
    /// The places in them, by `system:name` and by the name alone.
    by_name: Map<String, usize>,
    symbols: Map<String, u64>,
    record: Vec<u8>,
    /// The open interrupts and softirqs of each CPU, for lines without flags.
    open: BTreeMap<u32, Open>,
}

#[derive(Default)]
struct Open {
    interrupts: u32,
    softirqs: u32,
}

impl Records {
    pub fn new() -> Self {
        let own = EVENTS.iter().map(|event| (event.name.to_owned(), event.fields));
        let events = own.chain(of_interrupts().map(|event| (event, &[][..])));
        let known: Vec<Known> =
            (1..).zip(events).map(|(id, (event, fields))| Known { event, id, fields }).collect();
        let mut by_name = Map::default();
        for (place, known) in known.iter().enumerate() {
            by_name.insert(known.event.clone(), place);
            // ftrace names no system.
            known.event.split_once(':').map(|(_, name)| by_name.insert(name.to_owned(), place));
        }
        Self { known, by_name, symbols: Map::default(), record: Vec::new(), open: BTreeMap::new() }
    }

    /// The formats of all events that are read.
    pub fn formats(&self) -> BTreeMap<String, String> {
        self.known.iter().map(|known| (known.event.clone(), known.format())).collect()
    }

    /// Returns true if events of this name are read.
    pub fn knows(&self, event: &str) -> bool {
        self.by_name.contains_key(event)
    }

    /// The names of functions by the addresses that stand for them.
    pub fn into_symbols(self) -> BTreeMap<u64, String> {
        self.symbols.into_iter().map(|(name, address)| (address, name)).collect()
    }

    /// Makes the record of a line; `None` if the line lacks a field.
    pub fn of(&mut self, line: &Line<'_>) -> Option<&[u8]> {
        let Self { known, by_name, symbols, record, open } = self;
        let Known { event, id, fields } = &known[*by_name.get(line.event)?];
        let own = open.entry(line.cpu).or_default();
        let flags = line.flags.unwrap_or_else(|| own.flags(event));
        record.clear();
        record.extend(id.to_le_bytes());
        record.extend([flags, 0]);
        record.extend(line.pid.to_le_bytes());
        record.resize(COMMON + FIELD * fields.len(), 0);
        for (number, field) in fields.iter().enumerate() {
            let at = COMMON + FIELD * number;
            let kept = match value(event, field, line.details)? {
                Value::Number(number) => number,
                Value::Function(name) => address(symbols, name.strip_prefix(PADDING).unwrap_or(name)),
                Value::Text(text) => append(record, &text.as_bytes()[..text.len().min(LONGEST_TEXT)]),
                Value::Mask(words) => append(record, &mask(words)?),
            };
            record[at..at + FIELD].copy_from_slice(&kept.to_le_bytes());
        }
        Some(record)
    }
}

impl Known {
    fn format(&self) -> String {
        let (_, name) = self.event.split_once(':').unwrap_or_default();
        let mut text = format!(
            "name: {name}\nID: {}\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
             \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
             \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n",
            self.id
        );
        for (number, field) in self.fields.iter().enumerate() {
            let at = COMMON + FIELD * number;
            text += &match form(field) {
                Form::Text | Form::Mask => {
                    format!("\tfield:__data_loc char[] {field};\toffset:{at};\tsize:4;\tsigned:0;\n")
                }
                _ => format!("\tfield:unsigned long {field};\toffset:{at};\tsize:8;\tsigned:0;\n"),
            };
        }
        text
    }
}

impl Open {
    /// The flags of the next event, by the interrupts that have begun and not ended.
    fn flags(&mut self, event: &str) -> u8 {
        let is_interrupt = event.starts_with("irq_vectors:") || event.starts_with("irq:irq_handler_");
        let is_softirq = event.starts_with("irq:softirq_") && event != "irq:softirq_raise";
        let begins = event.ends_with("_entry");
        let depth = if is_interrupt { &mut self.interrupts } else { &mut self.softirqs };
        let counts = is_interrupt || is_softirq;
        if event == "sched:sched_switch" {
            *self = Self::default();
            return 0;
        }
        if counts && begins {
            *depth = depth.saturating_add(1);
        }
        let open = &*self;
        // An end without its begin is in an interrupt too.
        let mut flags = if open.interrupts > 0 || is_interrupt { HARDIRQ } else { 0 };
        flags |= if open.softirqs > 0 || is_softirq { SOFTIRQ } else { 0 };
        if counts && !begins {
            let depth = if is_interrupt { &mut self.interrupts } else { &mut self.softirqs };
            *depth = depth.saturating_sub(1);
        }
        flags
    }
}

/// The address of a function: its own, or one that stands for its name.
fn address(symbols: &mut Map<String, u64>, name: &str) -> u64 {
    if let Some(digits) = name.strip_prefix("0x") {
        return u64::from_str_radix(digits.split('/').next().unwrap_or(digits), 16).unwrap_or(0);
    }
    let end = name.find(['+', '/', '.']).unwrap_or(name.len());
    let name = &name[..end.min(LONGEST_TEXT)];
    if matches!(name, "" | "(null)" | "(nil)") {
        return 0;
    }
    if let Some(address) = symbols.get(name) {
        return *address;
    }
    if symbols.len() >= MOST_SYMBOLS || !name.is_ascii() {
        return 0;
    }
    let address = FIRST_SYMBOL + SYMBOL * symbols.len() as u64;
    symbols.insert(name.to_owned(), address);
    address
}

/// Appends bytes to a record, and returns their place as `__data_loc` has it.
fn append(record: &mut Vec<u8>, bytes: &[u8]) -> u64 {
    let at = record.len() as u64;
    record.extend_from_slice(bytes);
    // A text of length 0 would be none.
    record.push(0);
    at | (bytes.len() as u64) << 16
}

/// The bytes of a mask that is printed as hexadecimal words of 32 bits, the highest first.
fn mask(words: &str) -> Option<Vec<u8>> {
    const MOST_WORDS: usize = 8192 / 32;
    let words: Option<Vec<u32>> =
        words.split(',').rev().take(MOST_WORDS).map(|word| u32::from_str_radix(word, 16).ok()).collect();
    Some(words?.into_iter().flat_map(u32::to_le_bytes).collect())
}
