// SPDX-License-Identifier: GPL-2.0-only
//! The names of kernel functions that were counted.

use super::loaded::running_kernel;
use dyntick_bpf::layout::family;
use dyntick_model::{Symbol, TICK_FUNCTIONS};
use dyntick_trace::{address_of, resolve};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

const KALLSYMS: &str = "/proc/kallsyms";

/// The part of a key that identifies the member of a family.
pub(super) const MEMBER: u64 = (1 << 56) - 1;

/// The kernel's functions lie in the highest part of its memory.
const KERNEL: u64 = !MEMBER;

/// The function that a key counts by, where it counts by a function.
fn address(key: u64) -> Option<u64> {
    let by_function = [family::HRTIMER, family::TIMER, family::CALLED, family::WORK, family::NMI];
    by_function.contains(&((key >> 56) as u32)).then_some(key | KERNEL)
}

/// Names by address, without its highest byte. Those that have none are kept as their address.
#[derive(Default)]
pub struct Names(BTreeMap<u64, Symbol>);

impl Names {
    /// Looks up what these keys count by and is not known yet. The file has some 200 000 lines, so it
    /// is read only where there is something new.
    pub fn learn(&mut self, keys: impl Iterator<Item = u64>) {
        self.learn_addresses(keys.filter_map(address));
    }

    fn learn_addresses(&mut self, addresses: impl Iterator<Item = u64>) {
        let new: BTreeSet<u64> =
            addresses.filter(|address| !self.0.contains_key(&(address & MEMBER))).collect();
        if new.is_empty() {
            return;
        }
        // Without the file, or where the kernel hides addresses, the address is the name.
        let found = File::open(KALLSYMS).and_then(|file| resolve(&new, file)).unwrap_or_default();
        for address in new {
            let name = found.get(&address).cloned().unwrap_or_else(|| format!("{address:#x}"));
            self.0.insert(address & MEMBER, name.into());
        }
    }

    /// The same for functions that are called by their address, as trace events are decoded without names.
    pub fn learn_symbols<'a>(&mut self, functions: impl Iterator<Item = &'a Symbol>) {
        let addresses: BTreeSet<u64> = functions.filter_map(number).collect();
        self.learn_addresses(addresses.into_iter());
    }

    /// The name of a function that is called by its address.
    pub fn of_symbol(&self, function: &Symbol) -> Symbol {
        number(function).map_or_else(|| function.clone(), |address| self.of(address & MEMBER))
    }

    /// The name at an address without its highest byte.
    pub fn of(&self, address: u64) -> Symbol {
        self.0.get(&address).cloned().unwrap_or_else(|| format!("{:#x}", address | !MEMBER).into())
    }
}

fn number(function: &Symbol) -> Option<u64> {
    u64::from_str_radix(function.strip_prefix("0x")?, 16).ok()
}

/// Among what is missing: where the function of the tick's timer is, without which a tick is an hrtimer like others.
pub const TICKS: &str = "ticks";

/// The first kernel whose tick has but one function, the second of [`TICK_FUNCTIONS`].
const ONE_FUNCTION: (u32, u32) = (6, 8);

/// Returns the address of the function of the tick's timer, if the kernel shows it. The function that this version has
/// is looked for first: to print all symbols takes a kernel 70 ms, and one in an emulated guest a second.
pub fn tick_function() -> Option<u64> {
    let is_new = running_kernel().is_some_and(|is| (is.major, is.minor) >= ONE_FUNCTION);
    let [first, second] = TICK_FUNCTIONS;
    let names = if is_new { [second, first] } else { [first, second] };
    names.into_iter().find_map(|name| address_of(name, File::open(KALLSYMS).ok()?).ok()?)
}
