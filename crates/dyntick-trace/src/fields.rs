// SPDX-License-Identifier: GPL-2.0-only
//! The fields of one record, as values.

use super::format::words;
use super::{Field, SymbolTable};
use dyntick_model::{CpuList, Map, Softirq, Symbol};
use std::sync::Arc;

/// The fields of one record.
pub(super) struct Fields<'a> {
    record: &'a [u8],
    fields: std::slice::Iter<'a, Field>,
    names: &'a mut Names,
}

impl<'a> Fields<'a> {
    /// Creates a reader of a record that has these fields.
    pub fn new(record: &'a [u8], fields: &'a [Field], names: &'a mut Names) -> Self {
        Self { record, fields: fields.iter(), names }
    }

    pub fn number(&mut self) -> Option<u64> {
        self.fields.next()?.number(self.record)
    }

    pub fn function(&mut self) -> Option<Symbol> {
        let address = self.number()?;
        Some(self.names.symbols.name(address))
    }

    /// A function that may not be there: NULL is none.
    pub fn callback(&mut self) -> Option<Option<Symbol>> {
        let address = self.number()?;
        Some((address != 0).then(|| self.names.symbols.name(address)))
    }

    /// Reads `count` functions in a row.
    pub fn functions(&mut self, count: usize) -> Option<Arc<[Symbol]>> {
        let bytes = self.fields.next()?.bytes_from(self.record)?;
        let bytes = &bytes[..bytes.len().min(count.saturating_mul(8))];
        let Names { symbols, stacks, .. } = self.names;
        Some(stacks.keep(bytes, || words(bytes).map(|address| symbols.name(address)).collect()))
    }

    /// Addresses up to the first that is 0.
    pub fn addresses(&mut self) -> Option<Arc<[u64]>> {
        let words = self.fields.next()?.words_from(self.record)?;
        Some(words.take_while(|address| *address != 0).collect())
    }

    pub fn text(&mut self) -> Option<Symbol> {
        let text = self.fields.next()?.text(self.record)?;
        let text = &text[..text.len().min(LONGEST_TEXT)];
        Some(self.names.texts.keep(text, || String::from_utf8_lossy(text).as_ref().into()))
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

/// Names of tasks have 15 bytes and those of interrupts' handlers some tens; what comes from a file may have
/// thousands, and would be shown with each event.
const LONGEST_TEXT: usize = 256;

/// The names in the records of one recording.
pub(super) struct Names {
    pub symbols: SymbolTable,
    texts: Kept<Symbol>,
    /// The call stacks: a busy program sleeps a million times in a few places.
    stacks: Kept<Arc<[Symbol]>>,
}

impl Names {
    /// Creates it with the names of functions.
    pub fn new(symbols: SymbolTable) -> Self {
        Self { symbols, texts: Kept(Map::default()), stacks: Kept(Map::default()) }
    }
}

/// Values that recur, each kept once, by their bytes in a record.
struct Kept<T>(Map<Vec<u8>, T>);

/// The number of values that are kept: tasks may have any names.
const MOST_KEPT: usize = 1 << 14;

/// The bytes of the longest value that is kept: a call stack of 128 functions. Real ones have some tens.
const LONGEST_KEPT: usize = 1024;

impl<T: Clone> Kept<T> {
    fn keep(&mut self, bytes: &[u8], make: impl FnOnce() -> T) -> T {
        if let Some(kept) = self.0.get(bytes) {
            return kept.clone();
        }
        let made = make();
        if bytes.len() <= LONGEST_KEPT {
            if self.0.len() == MOST_KEPT {
                self.0.clear();
            }
            self.0.insert(bytes.to_owned(), made.clone());
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    #[test]
    fn stacks_that_recur_are_kept_once() {
        let mut names = Names::new(SymbolTable::new(&[(1, "f".to_owned()), (2, "g".to_owned())].into()));
        let record: Vec<u8> = [1u64, 2, 2].iter().flat_map(|address| address.to_le_bytes()).collect();
        let caller = "field:unsigned long caller[8];\toffset:0;\tsize:64;\tsigned:0;";
        let caller = Format::parse("s:x", &format!("ID: 1\n{caller}")).unwrap().fields;
        let mut stack = |count| Fields::new(&record, &caller, &mut names).functions(count).unwrap();
        let (two, again) = (stack(2), stack(2));
        assert!(Arc::ptr_eq(&two, &again) && *two == ["f", "g"].map(Symbol::from));
        assert_eq!(*stack(usize::MAX), ["f", "g", "g"].map(Symbol::from), "to the end of the record");
    }

    #[test]
    fn few_and_short_values_are_kept() {
        let mut kept = Kept(Map::default());
        (0..2 * MOST_KEPT).for_each(|number| _ = kept.keep(&number.to_le_bytes(), || number));
        assert!(kept.0.len() <= MOST_KEPT);
        kept.keep(&[0; LONGEST_KEPT + 1], || 0);
        assert!(kept.0.keys().all(|bytes| bytes.len() <= LONGEST_KEPT));
    }
}
