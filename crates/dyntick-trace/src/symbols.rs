// SPDX-License-Identifier: GPL-2.0-only
//! Names of kernel functions.

use dyntick_model::{Map, Symbol};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};

/// The most addresses without a name that are kept apart.
const MOST_UNKNOWN: usize = 1 << 17;

/// Names for the addresses of one recording.
pub struct SymbolTable {
    names: Map<u64, Symbol>,
    unknown: BTreeSet<u64>,
}

impl SymbolTable {
    /// Creates a table of resolved addresses.
    pub fn new(names: &BTreeMap<u64, String>) -> Self {
        let names = names.iter().map(|(address, name)| (*address, Symbol::from(name.as_str()))).collect();
        Self { names, unknown: BTreeSet::new() }
    }

    /// The name at an address. Without one it is the hexadecimal text, and the address is remembered. Real records have
    /// names for nearly all; in a forged one, all addresses beyond a limit share one text.
    pub fn name(&mut self, address: u64) -> Symbol {
        if let Some(name) = self.names.get(&address) {
            return name.clone();
        }
        if self.unknown.len() == MOST_UNKNOWN {
            return Symbol::from("0x?");
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
/// last symbol at or below it. The text has some 200 000 lines and is not kept; it is read no further than
/// its symbols can be of use, for in an emulated guest the kernel takes a second to print it all.
pub fn resolve(addresses: &BTreeSet<u64>, kallsyms: impl Read) -> std::io::Result<BTreeMap<u64, String>> {
    let wanted: Vec<u64> = addresses.iter().copied().collect();
    let mut best: Vec<(u64, String)> = vec![(0, String::new()); wanted.len()];
    let mut order = Order::default();
    each_symbol(kallsyms, |address, name| {
        let done =
            wanted.last().is_none_or(|last| order.is_past(*last, address) && best.iter().all(is_named));
        if !done {
            improve(&wanted, &mut best, address, name);
        }
        !done
    })?;
    let named = wanted.into_iter().zip(best).filter(|(_, best)| is_named(best));
    Ok(named.map(|(address, (_, name))| (address, name)).collect())
}

fn is_named((_, name): &(u64, String)) -> bool {
    !name.is_empty()
}

/// True if the symbols came in the order of their addresses so far. Those of the kernel itself do, for the kernel
/// searches them so (`get_symbol_pos` of kernel/kallsyms.c); those of modules come behind them and do not. A module
/// lies outside of the kernel's image, so none of its symbols is nearer to an address between two of the kernel's.
#[derive(Default)]
struct Order {
    last: u64,
    broken: bool,
}

impl Order {
    /// Returns true if no symbol from this one on can be the nearest one at or below `wanted`.
    fn is_past(&mut self, wanted: u64, address: u64) -> bool {
        self.broken |= address < self.last;
        self.last = address;
        !self.broken && address > wanted
    }
}

/// Finds the addresses of these names in a text like `/proc/kallsyms`. Names without an address, and
/// those whose address the kernel hides as 0, are left out.
pub fn addresses_of(names: &[&str], kallsyms: impl Read) -> std::io::Result<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    each_symbol(kallsyms, |address, name| {
        if let Some(name) = names.iter().find(|wanted| address > 0 && wanted.as_bytes() == name) {
            found.entry((*name).to_owned()).or_insert(address);
        }
        true
    })?;
    Ok(found)
}

/// Finds the address of a name's first symbol, and reads no further. It is `None` if there is no such symbol, and if
/// the kernel hides its address as 0.
pub fn address_of(wanted: &str, kallsyms: impl Read) -> std::io::Result<Option<u64>> {
    let mut found = 0;
    each_symbol(kallsyms, |address, name| {
        if name == wanted.as_bytes() {
            found = address;
        }
        name != wanted.as_bytes()
    })?;
    Ok((found > 0).then_some(found))
}

/// Passes each symbol's address and name to `go_on`, until that returns false.
fn each_symbol(kallsyms: impl Read, mut go_on: impl FnMut(u64, &[u8]) -> bool) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 16, kallsyms);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if parse_line(&line).is_some_and(|(address, name)| !go_on(address, name)) {
            break;
        }
        line.clear();
    }
    Ok(())
}

/// The prefix of a symbol for the padding in front of a function of this name (CONFIG_FUNCTION_PADDING_BYTES;
/// `tools/objtool/elf.c: elf_create_prefix_symbol`). An address there is of that function, and so is one behind it in a
/// text without the function itself.
pub const PADDING: &str = "__pfx_";

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
            let name = name.strip_prefix(PADDING.as_bytes()).unwrap_or(name);
            *best = (address, String::from_utf8_lossy(name).into_owned());
        }
    }
}

/// A line such as `ffffffff81000000 T name [module]`.
fn parse_line(line: &[u8]) -> Option<(u64, &[u8])> {
    let digits = line.iter().position(|byte| *byte == b' ').filter(|digits| *digits <= 16)?;
    let address = line[..digits].iter().try_fold(0, |address, byte| {
        let digit = char::from(*byte).to_digit(16)?;
        Some(address << 4 | u64::from(digit))
    })?;
    // Behind the address is a letter between two spaces.
    let name = line.get(digits + 3..)?;
    // Compilers append what they did: `function.isra.0`, `function.constprop.0`, `function.cold`.
    let end = name.iter().position(|byte| *byte == b'.' || byte.is_ascii_whitespace()).unwrap_or(name.len());
    Some((address, &name[..end])).filter(|_| end > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0000000000000000 A fixed_percpu_data\nffffffff81000000 T first\n\
        ffffffff81000100 t second.isra.0\nffffffff81000100 t alias\nffffffffc0000000 t third\t[module]\n";

    #[test]
    fn padding_in_front_of_a_function_has_its_name() {
        let text = "ffffffff81000000 T first\nffffffff81000100 T __pfx_second\nffffffff81000110 T second\n\
            ffffffff81000200 t __pfx_third\n";
        let addresses = [0xffffffff81000080, 0xffffffff81000104, 0xffffffff81000210].into();
        let names = resolve(&addresses, text.as_bytes()).unwrap();
        assert_eq!(names.into_values().collect::<Vec<_>>(), ["first", "second", "third"]);
    }

    #[test]
    fn nearest_symbol_at_or_below() {
        let addresses = [0xffffffff81000000, 0xffffffff81000123, 0xffffffffc0000008, 0x10_0000_0000].into();
        let names = resolve(&addresses, TEXT.as_bytes()).unwrap();
        assert_eq!(names[&0xffffffff81000000], "first");
        assert_eq!(names[&0xffffffff81000123], "second");
        assert_eq!(names[&0xffffffffc0000008], "third");
        assert_eq!(names.get(&0x10_0000_0000), None, "nothing is near");
    }

    /// Returns the number of lines of `text` that are read to find a name for `address`, and the name.
    fn looked_up(address: u64, text: &str) -> (usize, Option<String>) {
        struct Lines<'t>(std::str::Lines<'t>, usize);
        impl Read for Lines<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let Some(line) = self.0.next() else { return Ok(0) };
                self.1 += 1;
                let bytes = format!("{line}\n").into_bytes();
                buffer[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }
        }
        let mut lines = Lines(text.lines(), 0);
        let name = resolve(&[address].into(), &mut lines).unwrap().remove(&address);
        (lines.1, name)
    }

    #[test]
    fn read_no_further_than_the_order_of_addresses_allows() {
        assert_eq!(looked_up(0xffffffff81000010, TEXT), (3, Some("first".into())), "the third is past it");
        assert_eq!(looked_up(0xffffffffc0000008, TEXT), (5, Some("third".into())), "a module's, at the end");
        let mixed = "0000000000000300 T far\n0000000000000100 T near\n0000000000000400 T past\n\
            0000000000000180 T nearest\n";
        assert_eq!(looked_up(0x190, mixed), (4, Some("nearest".into())), "without order all is read");
        let below = "0000000000020000 T text\n0000000000030000 T more\n0000000000000100 T module\n";
        assert_eq!(looked_up(0x110, below), (3, Some("module".into())), "no symbol of the image is near");
    }

    #[test]
    fn addresses_by_name() {
        let found = addresses_of(&["alias", "third", "fixed_percpu_data", "none"], TEXT.as_bytes()).unwrap();
        let expected = [("alias".to_owned(), 0xffffffff81000100), ("third".to_owned(), 0xffffffffc0000000)];
        assert_eq!(found, expected.into());
    }

    #[test]
    fn address_by_name() {
        let address = |name| address_of(name, TEXT.as_bytes()).unwrap();
        assert_eq!(address("alias"), Some(0xffffffff81000100));
        assert_eq!((address("fixed_percpu_data"), address("none")), (None, None));
    }

    #[test]
    fn unknown_addresses_are_remembered() {
        let mut table = SymbolTable::new(&BTreeMap::from([(1, "known".to_owned())]));
        assert_eq!(&*table.name(1), "known");
        assert_eq!(&*table.name(0xff), "0xff");
        assert_eq!(table.into_unknown(), BTreeSet::from([0xff]));
    }
}
