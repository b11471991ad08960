// SPDX-License-Identifier: GPL-2.0-only
//! The functions that addresses belong to.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The kernel's functions, from the text of `/proc/kallsyms` or `System.map`.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// The functions by address, each address once.
    functions: Vec<(u64, Arc<str>)>,
}

/// The name of what belongs to no function.
const UNKNOWN: &str = "(unknown)";

/// The prefix of the names of all system calls.
pub const SYSTEM_CALL: &str = "__x64_sys_";

/// The instruction that returns from interrupts and exceptions (`arch/x86/entry/entry_64.S`).
pub const INTERRUPT_RETURN: &str = "native_irq_return_iret";

/// The symbol before it if the interrupted code was the kernel's.
const BEFORE_INTERRUPT_RETURN: &str = "restore_regs_and_return_to_kernel";

/// The kernel has no longer names (`include/linux/kallsyms.h`: KSYM_NAME_LEN, with the NUL, since 6.1).
const LONGEST_NAME: usize = 511;

/// Functions that are known. A kernel with all its options has a third of them.
const MOST_FUNCTIONS: usize = 1 << 20;

/// Bytes of all their names.
const MOST_NAMES: usize = 64 << 20;

/// The upper half of the address space is the kernel's.
const KERNEL: u64 = 1 << 63;

/// Returns true if an address is one of the kernel.
pub fn is_kernel(address: u64) -> bool {
    address >= KERNEL
}

impl Symbols {
    /// Reads lines `ADDRESS TYPE NAME [MODULE]`; what is no such line, or no code, is passed over, and so is
    /// what no kernel has: a name of more than 511 bytes, and more functions than any kernel's.
    pub fn parse(text: &str) -> Self {
        Self::within(text, MOST_FUNCTIONS, MOST_NAMES)
    }

    fn within(text: &str, most: usize, most_names: usize) -> Self {
        let mut functions: BTreeMap<u64, &str> = BTreeMap::new();
        let mut names = 0;
        for (address, name) in text.lines().filter_map(line) {
            let has_room = functions.len() < most;
            match functions.entry(address) {
                Entry::Occupied(mut known) if rank(name) < rank(known.get()) => _ = known.insert(name),
                Entry::Vacant(place) if has_room => _ = place.insert(name),
                _ => {}
            }
        }
        let fits = |(_, name): &(u64, &str)| {
            names += name.len();
            names <= most_names
        };
        let held = |(address, name): (u64, &str)| (address, Arc::from(name));
        Self { functions: functions.into_iter().take_while(fits).map(held).collect() }
    }

    /// The number of the function that an address belongs to: the last that begins at or before it.
    pub fn number(&self, address: u64) -> Option<u32> {
        let behind = self.functions.partition_point(|(begin, _)| *begin <= address);
        behind.checked_sub(1).filter(|_| is_kernel(address)).map(|number| number as u32)
    }

    /// A function's name.
    pub fn name(&self, number: Option<u32>) -> &str {
        number.and_then(|number| self.functions.get(number as usize)).map_or(UNKNOWN, |(_, name)| name)
    }

    /// Returns the same text for keeping: many spans share one.
    pub(crate) fn shared_name(&self, number: Option<u32>) -> Arc<str> {
        let function = number.and_then(|number| self.functions.get(number as usize));
        function.map_or_else(|| Arc::from(UNKNOWN), |(_, name)| Arc::clone(name))
    }

    /// Returns true if a block that begins in this function ends by returning from an interrupt: it is that
    /// instruction, or the way to it, where nothing stands between (kernels without X86_ESPFIX64).
    pub fn returns_from_interrupt(&self, function: Option<u32>) -> bool {
        let next = self.name(function.map(|number| number + 1));
        let name = self.name(function);
        name == INTERRUPT_RETURN || (name == BEFORE_INTERRUPT_RETURN && next == INTERRUPT_RETURN)
    }

    /// The number of the function of this name; of several the first.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.functions.iter().position(|(_, other)| **other == *name).map(|number| number as u32)
    }

    /// Returns true if a function only leads to another, by an indirect jump (`arch/x86/lib/retpoline.S`).
    pub fn is_thunk(&self, function: Option<u32>) -> bool {
        self.name(function).starts_with("__x86_indirect_thunk")
    }

    /// A function's address.
    pub fn address(&self, number: u32) -> Option<u64> {
        self.functions.get(number as usize).map(|(address, _)| *address)
    }
}

fn line(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
    words.next().filter(|name| is_code && name.len() <= LONGEST_NAME).map(|name| (address, name))
}

/// The rank of a name among several for one address. The plainest is taken, then the first in the alphabet; but a
/// system call without arguments goes by the name that all system calls have, and the return from
/// interrupts by its own, even if `native_iret` is at the same place (without X86_ESPFIX64).
fn rank(name: &str) -> (usize, &str) {
    if name.starts_with(SYSTEM_CALL) || name == INTERRUPT_RETURN {
        return (0, name);
    }
    let made_by_a_tool =
        name.contains(['.', '$']) || name.starts_with("__pfx_") || name.starts_with("__cfi_");
    let underscores = name.bytes().take_while(|byte| *byte == b'_').count();
    (1 + usize::from(made_by_a_tool) * 100 + underscores, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "ffffffff81000000 T _stext\nffffffff81000000 T startup\nffffffff81000010 t helper\n\
                        ffffffff81000018 d data\nffffffffc0000000 t of_module\t[mod]\nno symbol\n";

    #[test]
    fn an_address_belongs_to_the_function_before_it() {
        let symbols = Symbols::parse(TEXT);
        let name = |address| symbols.name(symbols.number(address)).to_owned();
        assert_eq!(name(0xffff_ffff_8100_0000), "startup");
        assert_eq!(name(0xffff_ffff_8100_000f), "startup");
        assert_eq!(name(0xffff_ffff_8100_0019), "helper", "data is no function");
        assert_eq!(name(0xffff_ffff_c000_0004), "of_module");
        assert_eq!(name(0x40_0000), "(unknown)", "a user's address");
    }

    #[test]
    fn what_no_kernel_has_is_passed_over() {
        let line = |address: u64, name: &str| format!("{address:x} T {name}\n");
        let names = |text: &str, most, bytes| {
            let symbols = Symbols::within(text, most, bytes);
            symbols.functions.iter().map(|(_, name)| name.len()).collect::<Vec<_>>()
        };
        let long = [511, 512, 4 << 20, 3].map(|length| "a".repeat(length));
        let text: String = (KERNEL..).zip(&long).map(|(address, name)| line(address, name)).collect();
        assert_eq!(names(&text, MOST_FUNCTIONS, MOST_NAMES), [511, 3]);
        let text: String = (KERNEL..).take(9).map(|address| line(address, "four")).collect();
        assert_eq!(names(&text, 5, MOST_NAMES).len(), 5);
        assert_eq!(names(&text, 5, 12).len(), 3);
    }

    #[test]
    fn the_return_from_interrupts_goes_by_its_own_name() {
        let text = "ffffffff81000000 T native_iret\nffffffff81000000 T native_irq_return_iret\n";
        let symbols = Symbols::parse(text);
        assert_eq!(symbols.name(symbols.number(0xffff_ffff_8100_0000)), INTERRUPT_RETURN);
        let before = "ffffffff81000000 T restore_regs_and_return_to_kernel\n";
        let directly = Symbols::parse(&format!("{before}ffffffff81000010 T native_irq_return_iret\n"));
        assert!(directly.returns_from_interrupt(Some(0)) && directly.returns_from_interrupt(Some(1)));
        let elsewhere = Symbols::parse(&format!("{before}ffffffff81000010 T native_iret\n"));
        assert!(!elsewhere.returns_from_interrupt(Some(0)));
    }
}
