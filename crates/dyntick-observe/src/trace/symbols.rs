// SPDX-License-Identifier: GPL-2.0-only
//! Names of kernel functions.

use dyntick_model::Symbol;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader, Read};

/// Names for the addresses of one recording.
pub struct SymbolTable {
    names: HashMap<u64, Symbol>,
    unknown: BTreeSet<u64>,
}

impl SymbolTable {
    /// From resolved addresses.
    pub fn new(names: &BTreeMap<u64, String>) -> Self {
        let names = names.iter().map(|(address, name)| (*address, Symbol::from(name.as_str()))).collect();
        Self { names, unknown: BTreeSet::new() }
    }

    /// The name at an address; its hexadecimal text where none is known, which is then remembered.
    pub fn name(&mut self, address: u64) -> Symbol {
        if let Some(name) = self.names.get(&address) {
            return name.clone();
        }
        self.unknown.insert(address);
        let name = Symbol::from(format!("{address:#x}"));
        self.names.insert(address, name.clone());
        name
    }

    /// The addresses that were asked for and had no name.
    pub fn into_unknown(self) -> BTreeSet<u64> {
        self.unknown
    }
}

/// Finds the names of these addresses in a text like `/proc/kallsyms`: each gets the name of the
/// last symbol at or below it. The text has some 200 000 lines and is not kept.
pub fn resolve(addresses: &BTreeSet<u64>, kallsyms: impl Read) -> std::io::Result<BTreeMap<u64, String>> {
    let wanted: Vec<u64> = addresses.iter().copied().collect();
    let mut best: Vec<(u64, String)> = vec![(0, String::new()); wanted.len()];
    let mut reader = BufReader::with_capacity(1 << 16, kallsyms);
    let mut line = Vec::new();
    while !wanted.is_empty() && reader.read_until(b'\n', &mut line)? > 0 {
        if let Some((address, name)) = parse_line(&line) {
            improve(&wanted, &mut best, address, name);
        }
        line.clear();
    }
    let named = wanted.into_iter().zip(best).filter(|(_, (_, name))| !name.is_empty());
    Ok(named.map(|(address, (_, name))| (address, name)).collect())
}

/// Finds the addresses of these names in a text like `/proc/kallsyms`. Names without an address, and
/// those whose address the kernel hides as 0, are left out.
pub fn addresses_of(names: &[&str], kallsyms: impl Read) -> std::io::Result<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    let mut reader = BufReader::with_capacity(1 << 16, kallsyms);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Some((address, name)) = parse_line(&line).filter(|(address, _)| *address > 0) {
            if let Some(name) = names.iter().find(|wanted| wanted.as_bytes() == name) {
                found.entry((*name).to_owned()).or_insert(address);
            }
        }
        line.clear();
    }
    Ok(found)
}

/// No function is longer than this, so a symbol further below is not the address's own.
const LONGEST_FUNCTION: u64 = 1 << 16;

fn improve(wanted: &[u64], best: &mut [(u64, String)], address: u64, name: &[u8]) {
    let first = wanted.partition_point(|want| *want < address);
    for (want, best) in wanted[first..].iter().zip(&mut best[first..]) {
        if *want >= address.saturating_add(LONGEST_FUNCTION) {
            break;
        }
        // Of several names for one address the first stays, so that the choice is stable.
        if address > best.0 {
            *best = (address, String::from_utf8_lossy(name).into_owned());
        }
    }
}

/// A line such as `ffffffff81000000 T name [module]`.
fn parse_line(line: &[u8]) -> Option<(u64, &[u8])> {
    let mut fields = line.split(u8::is_ascii_whitespace);
    let address = u64::from_str_radix(std::str::from_utf8(fields.next()?).ok()?, 16).ok()?;
    let name = fields.nth(1)?;
    // Compilers append what they did: `function.isra.0`, `function.constprop.0`, `function.cold`.
    Some((address, name.split(|byte| *byte == b'.').next().filter(|name| !name.is_empty())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0000000000000000 A fixed_percpu_data\nffffffff81000000 T first\n\
        ffffffff81000100 t second.isra.0\nffffffff81000100 t alias\nffffffffc0000000 t third\t[module]\n";

    #[test]
    fn nearest_symbol_at_or_below() {
        let addresses = [0xffffffff81000000, 0xffffffff81000123, 0xffffffffc0000008, 0x10_0000_0000].into();
        let names = resolve(&addresses, TEXT.as_bytes()).unwrap();
        assert_eq!(names[&0xffffffff81000000], "first");
        assert_eq!(names[&0xffffffff81000123], "second");
        assert_eq!(names[&0xffffffffc0000008], "third");
        assert_eq!(names.get(&0x10_0000_0000), None, "nothing is near");
    }

    #[test]
    fn addresses_by_name() {
        let found = addresses_of(&["alias", "third", "fixed_percpu_data", "none"], TEXT.as_bytes()).unwrap();
        let expected = [("alias".to_owned(), 0xffffffff81000100), ("third".to_owned(), 0xffffffffc0000000)];
        assert_eq!(found, expected.into());
    }

    #[test]
    fn unknown_ones_are_remembered() {
        let mut table = SymbolTable::new(&BTreeMap::from([(1, "known".to_owned())]));
        assert_eq!(&*table.name(1), "known");
        assert_eq!(&*table.name(0xff), "0xff");
        assert_eq!(table.into_unknown(), BTreeSet::from([0xff]));
    }
}
