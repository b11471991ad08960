// SPDX-License-Identifier: GPL-2.0-only
//! The fields of one record, as values.

use super::{Field, SymbolTable};
use dyntick_model::{CpuList, Map, Softirq, Symbol};
use std::sync::Arc;

/// The fields of one record.
pub(super) struct Fields<'a> {
    record: &'a [u8],
    fields: std::slice::Iter<'a, Field>,
    symbols: &'a mut SymbolTable,
    texts: &'a mut Texts,
}

impl<'a> Fields<'a> {
    /// Creates a reader of a record that has these fields.
    pub fn new(
        record: &'a [u8],
        fields: &'a [Field],
        symbols: &'a mut SymbolTable,
        texts: &'a mut Texts,
    ) -> Self {
        Self { record, fields: fields.iter(), symbols, texts }
    }

    pub fn number(&mut self) -> Option<u64> {
        self.fields.next()?.number(self.record)
    }

    pub fn function(&mut self) -> Option<Symbol> {
        let address = self.number()?;
        Some(self.symbols.name(address))
    }

    /// A function that may not be there: NULL is none.
    pub fn callback(&mut self) -> Option<Option<Symbol>> {
        let address = self.number()?;
        Some((address != 0).then(|| self.symbols.name(address)))
    }

    /// Reads `count` functions in a row.
    pub fn functions(&mut self, count: usize) -> Option<Arc<[Symbol]>> {
        let words = self.fields.next()?.words_from(self.record)?;
        Some(words.take(count).map(|address| self.symbols.name(address)).collect())
    }

    /// Addresses up to the first that is 0.
    pub fn addresses(&mut self) -> Option<Arc<[u64]>> {
        let words = self.fields.next()?.words_from(self.record)?;
        Some(words.take_while(|address| *address != 0).collect())
    }

    pub fn text(&mut self) -> Option<Symbol> {
        let text = self.fields.next()?.text(self.record)?;
        Some(self.texts.keep(text))
    }

    /// A set of CPUs: a field of variable length that is a bit mask, the lowest byte first. Behind the
    /// last CPU that Linux can have there is nothing to be found.
    pub fn cpus(&mut self) -> Option<CpuList> {
        let bytes = self.fields.next()?.bytes(self.record)?;
        let bytes = &bytes[..bytes.len().min(LONGEST_MASK)];
        let bits = |(position, byte): (usize, &u8)| {
            let byte = *byte;
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| position as u32 * 8 + bit)
        };
        Some(bytes.iter().enumerate().flat_map(bits).collect())
    }

    pub fn softirq(&mut self) -> Option<Softirq> {
        Softirq::from_number(self.number()? as u32)
    }
}

/// Bytes of a mask of 8192 CPUs.
const LONGEST_MASK: usize = 1024;

/// Texts that recur, e.g. names of tasks, are kept once.
#[derive(Default)]
pub(super) struct Texts(Map<Vec<u8>, Symbol>);

/// The number of texts that are kept: tasks may have any names.
const MOST_TEXTS: usize = 1 << 16;

/// Names of tasks have 15 bytes and those of interrupts' handlers some tens; what comes from a file may have
/// thousands, and would be shown with each event.
const LONGEST_TEXT: usize = 256;

impl Texts {
    fn keep(&mut self, text: &[u8]) -> Symbol {
        let text = &text[..text.len().min(LONGEST_TEXT)];
        if let Some(kept) = self.0.get(text) {
            return kept.clone();
        }
        if self.0.len() == MOST_TEXTS {
            self.0.clear();
        }
        let kept = Symbol::from(String::from_utf8_lossy(text).as_ref());
        self.0.insert(text.to_owned(), kept.clone());
        kept
    }
}
