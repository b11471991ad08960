// SPDX-License-Identifier: GPL-2.0-only
//! The sizes of a kernel's functions, from its System.map and its image.

use object::{Object, ObjectSection};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The bytes of each function; functions of one name together.
pub type Sizes = BTreeMap<String, u64>;

/// Reads the functions of a System.map: the symbols of code, each as long as to the next symbol but for the padding,
/// which is seen in the image, a vmlinux. A function that is not in the image is counted with its padding.
pub fn sizes(map: &str, image: &[u8]) -> Sizes {
    let file = object::File::parse(image).ok();
    let text: Vec<Section<'_>> = file.iter().flat_map(|file| file.sections()).filter_map(section).collect();
    let mut symbols: Vec<Symbol<'_>> = map.lines().filter_map(symbol).collect();
    symbols.sort_by_key(|symbol| symbol.address);
    let mut sizes = Sizes::new();
    for pair in symbols.windows(2) {
        // A name with the address of the next one is another name of that.
        if pair[0].is_function() && pair[1].address > pair[0].address {
            let bytes = text.iter().find_map(|section| section.between(pair[0].address, pair[1].address));
            let size = bytes.map_or(pair[1].address - pair[0].address, |bytes| without_padding(bytes) as u64);
            *sizes.entry(pair[0].name.to_owned()).or_default() += size;
        }
    }
    sizes
}

/// A section of an image.
struct Section<'d> {
    address: u64,
    bytes: &'d [u8],
}

fn section<'d>(section: object::Section<'d, '_>) -> Option<Section<'d>> {
    Some(Section { address: section.address(), bytes: section.data().ok()? })
}

impl<'d> Section<'d> {
    fn between(&self, from: u64, to: u64) -> Option<&'d [u8]> {
        let offset = |address: u64| usize::try_from(address.checked_sub(self.address)?).ok();
        self.bytes.get(offset(from)?..offset(to)?)
    }
}

/// The padding of code on x86, the longest first: the NOPs of Intel's manual (volume 2B, table 4-12) with
/// prefixes, and INT3.
const PADDING: [&[u8]; 12] = [
    &[0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
    &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
    &[0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
    &[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
    &[0x0f, 0x1f, 0x80, 0, 0, 0, 0],
    &[0x66, 0x0f, 0x1f, 0x44, 0, 0],
    &[0x0f, 0x1f, 0x44, 0, 0],
    &[0x0f, 0x1f, 0x40, 0],
    &[0x0f, 0x1f, 0],
    &[0x66, 0x90],
    &[0x90],
    &[0xcc],
];

/// The length of code without the padding at its end.
fn without_padding(mut code: &[u8]) -> usize {
    while let Some(rest) = PADDING.iter().find_map(|padding| code.strip_suffix(*padding)) {
        code = rest;
    }
    code.len()
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
    fn padding_is_no_code() {
        let code = |end: &[u8]| [&[0x55, 0xc3][..], end].concat();
        for padding in PADDING {
            assert_eq!(without_padding(&code(padding)), 2);
        }
        assert_eq!(without_padding(&code(&[0xcc, 0x66, 0x90, 0x0f, 0x1f, 0x40, 0])), 2);
        assert_eq!(without_padding(&[0x90]), 0);
        let section = Section { address: 0x1000, bytes: &[1, 2, 3, 4] };
        assert_eq!(section.between(0x1001, 0x1003), Some(&[2, 3][..]));
        assert_eq!((section.between(0xfff, 0x1001), section.between(0x1003, 0x1005)), (None, None));
    }

    #[test]
    fn functions_are_as_long_as_to_the_next_symbol() {
        let map = "1000 T a\n1020 t b\n1030 T __pfx_c\n1040 T c\n1080 D data\n1100 t b\n1110 T __text_end\n1900 T end\n1900 T alias\nx\n";
        let before = sizes(map, &[]);
        assert_eq!(
            before.iter().map(|(name, size)| (name.as_str(), *size)).collect::<Vec<_>>(),
            [("a", 0x20), ("b", 0x20), ("c", 0x40)]
        );
        assert!(changed(&before, &before).is_empty());
        let after = sizes("1000 T a\n1010 t b\n1050 T d\n1058 T end\n", &[]);
        let found: Vec<_> =
            changed(&before, &after).into_iter().map(|c| (c.function, c.before, c.after)).collect();
        let expected = [("c", 0x40, 0), ("b", 0x20, 0x40), ("a", 0x20, 0x10), ("d", 0, 8)];
        assert_eq!(found, expected.map(|(name, before, after)| (name.to_owned(), before, after)));
    }
}
