// SPDX-License-Identifier: GPL-2.0-only
//! The sizes of a kernel's functions, from its System.map.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The bytes of each function, with the padding behind it; functions of one name together.
pub type Sizes = BTreeMap<String, u64>;

/// Reads the functions of a System.map: the symbols of code, each as long as to the next symbol.
pub fn sizes(map: &str) -> Sizes {
    let mut symbols: Vec<Symbol<'_>> = map.lines().filter_map(symbol).collect();
    symbols.sort_by_key(|symbol| symbol.address);
    let mut sizes = Sizes::new();
    for pair in symbols.windows(2) {
        // A name with the address of the next one is another name of that.
        if pair[0].is_function() && pair[1].address > pair[0].address {
            *sizes.entry(pair[0].name.to_owned()).or_default() += pair[1].address - pair[0].address;
        }
    }
    sizes
}

struct Symbol<'a> {
    address: u64,
    name: &'a str,
    is_code: bool,
}

impl Symbol<'_> {
    /// Returns true for code that is neither the padding before a function nor a mark of the linker's between sections.
    fn is_function(&self) -> bool {
        let is_mark = self.name.starts_with("__")
            && ["_start", "_end", "_begin"].iter().any(|end| self.name.ends_with(end));
        self.is_code && !self.name.starts_with("__pfx_") && !is_mark
    }
}

fn symbol(line: &str) -> Option<Symbol<'_>> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let is_code = matches!(words.next()?, "T" | "t" | "W" | "w");
    Some(Symbol { address, name: words.next()?, is_code })
}

/// A function whose size differs between two kernels, bytes; 0 where a kernel lacks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SizeChange {
    /// Its name.
    pub function: String,
    /// The bytes in the first kernel.
    pub before: u64,
    /// The bytes in the second one.
    pub after: u64,
}

/// The functions whose sizes differ, the largest change first.
pub fn changed(before: &Sizes, after: &Sizes) -> Vec<SizeChange> {
    let of = |sizes: &Sizes, name: &str| sizes.get(name).copied().unwrap_or_default();
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    let change = |name: &String| SizeChange {
        function: name.clone(),
        before: of(before, name),
        after: of(after, name),
    };
    let mut changes: Vec<SizeChange> =
        names.map(change).filter(|change| change.before != change.after).collect();
    changes.sort_by_key(|change| {
        (std::cmp::Reverse(change.before.abs_diff(change.after)), change.function.clone())
    });
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_as_long_as_to_the_next_symbol() {
        let map = "1000 T a\n1020 t b\n1030 T __pfx_c\n1040 T c\n1080 D data\n1100 t b\n1110 T __text_end\n1900 T end\n1900 T alias\nx\n";
        let before = sizes(map);
        assert_eq!(
            before.iter().map(|(name, size)| (name.as_str(), *size)).collect::<Vec<_>>(),
            [("a", 0x20), ("b", 0x20), ("c", 0x40)]
        );
        assert!(changed(&before, &before).is_empty());
        let after = sizes("1000 T a\n1010 t b\n1050 T d\n1058 T end\n");
        let found: Vec<_> =
            changed(&before, &after).into_iter().map(|c| (c.function, c.before, c.after)).collect();
        let expected = [("c", 0x40, 0), ("b", 0x20, 0x40), ("a", 0x20, 0x10), ("d", 0, 8)];
        assert_eq!(found, expected.map(|(name, before, after)| (name.to_owned(), before, after)));
    }
}
