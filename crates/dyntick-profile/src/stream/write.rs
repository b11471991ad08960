// SPDX-License-Identifier: GPL-2.0-only
//! Writing a stream. The plugin compiles this file too.

use super::format::*;
use std::collections::HashMap;

/// Encodes records into bytes that the caller takes away now and then.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    numbers: HashMap<(u64, u64), u64>,
    defined_at: u64,
    cpu: u64,
    latest: Option<u64>,
    repeats: u64,
    instructions: u64,
}

impl Default for Writer {
    fn default() -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        Self {
            bytes,
            numbers: HashMap::new(),
            defined_at: 0,
            cpu: 0,
            latest: None,
            repeats: 0,
            instructions: 0,
        }
    }
}

impl Writer {
    /// Records that `count` instructions from this address on were executed on a CPU.
    pub fn block(&mut self, cpu: u64, address: u64, instructions: u64) {
        self.instructions += instructions;
        self.on_cpu(cpu);
        match self.numbers.get(&(address, instructions)) {
            Some(number) if self.latest == Some(*number) => self.repeats += 1,
            Some(number) => {
                let number = *number;
                self.end_repeats();
                self.number(number << 1);
                self.latest = Some(number);
            }
            None => self.define(address, instructions),
        }
    }

    fn define(&mut self, address: u64, instructions: u64) {
        self.control(DEFINE, &[zigzag(address.wrapping_sub(self.defined_at) as i64), instructions]);
        let number = self.numbers.len() as u64;
        self.numbers.insert((address, instructions), number);
        self.defined_at = address;
        self.latest = Some(number);
    }

    /// Recording begins.
    pub fn on(&mut self, cpu: u64) {
        self.on_cpu(cpu);
        self.control(ON, &[]);
    }

    /// Recording ends.
    pub fn off(&mut self, cpu: u64) {
        self.on_cpu(cpu);
        self.control(OFF, &[self.instructions]);
    }

    /// The guest marked this place.
    pub fn mark(&mut self, cpu: u64, mark: u64) {
        self.on_cpu(cpu);
        self.control(MARK, &[mark]);
    }

    /// A task leaves and another comes.
    pub fn switch(&mut self, cpu: u64, leaves: u64, comes: u64) {
        self.on_cpu(cpu);
        self.control(SWITCH, &[leaves, comes]);
    }

    /// An exception's handler begins.
    pub fn exception(&mut self, cpu: u64, return_address: u64) {
        self.on_cpu(cpu);
        self.control(EXCEPTION, &[return_address]);
    }

    /// The last instruction of this CPU did not complete.
    pub fn undone(&mut self, cpu: u64) {
        self.instructions -= 1;
        self.on_cpu(cpu);
        self.control(UNDONE, &[]);
    }

    /// The stream ends early.
    pub fn limit(&mut self) {
        self.control(LIMIT, &[]);
    }

    /// Takes what was encoded since the last time. A repetition that is still going on stays.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// The number of bytes that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    fn on_cpu(&mut self, cpu: u64) {
        if cpu != self.cpu {
            self.control(CPU, &[cpu]);
            self.cpu = cpu;
        }
    }

    fn control(&mut self, word: u64, numbers: &[u64]) {
        self.end_repeats();
        self.latest = None;
        self.number((word << 1) | 1);
        numbers.iter().for_each(|number| self.number(*number));
    }

    fn end_repeats(&mut self) {
        let repeats = std::mem::take(&mut self.repeats);
        if repeats > 0 {
            self.number((REPEAT << 1) | 1);
            self.number(repeats);
        }
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}
