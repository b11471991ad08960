// SPDX-License-Identifier: GPL-2.0-only
//! The functions at the addresses in stacks of programs, each looked up once, even for several snapshots.

use crate::lines;
use crate::processes::{Code, FileId};
use dyntick_observe::facts::Mapping;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time limit of the look-up for one record; addresses without a function stay file and offset.
const PATIENCE: Duration = Duration::from_secs(10);

/// The results by file and offset; `None` for an address without a name.
#[derive(Default)]
pub(crate) struct Functions(BTreeMap<FileId, BTreeMap<u64, Vec<String>>>);

/// The offsets of an open file at which functions are looked up.
struct Wanted {
    file: Arc<File>,
    name: String,
    offsets: BTreeSet<u64>,
}

impl Functions {
    /// Returns the mappings of these processes with the functions at their addresses.
    pub fn name(&mut self, processes: BTreeMap<i32, Vec<Code>>) -> BTreeMap<i32, Vec<Mapping>> {
        let until = Instant::now() + PATIENCE;
        for (id, Wanted { file, name, offsets }) in self.unknown(processes.values().flatten()) {
            let Ok(file) = file.try_clone() else { continue };
            let mut found = lines::at(file, &name, offsets.iter().copied(), until);
            if Instant::now() < until {
                offsets.iter().for_each(|offset| _ = found.entry(*offset).or_default());
            }
            self.0.entry(id).or_default().extend(found);
        }
        let named = |code: Vec<Code>| code.into_iter().map(|code| self.named(code)).collect();
        processes.into_iter().map(|(number, code)| (number, named(code))).collect()
    }

    /// The addresses that were not looked up yet.
    fn unknown<'a>(&self, code: impl Iterator<Item = &'a Code>) -> BTreeMap<FileId, Wanted> {
        let mut unknown = BTreeMap::new();
        for code in code {
            let Some((id, file)) = &code.file else { continue };
            let known = self.0.get(id);
            let offsets = code.addresses.iter().map(|address| place(&code.mapping, *address));
            let new: Vec<u64> =
                offsets.filter(|offset| known.is_none_or(|known| !known.contains_key(offset))).collect();
            if new.is_empty() {
                continue;
            }
            let first = || Wanted {
                file: file.clone(),
                name: code.mapping.file_name().to_owned(),
                offsets: BTreeSet::new(),
            };
            unknown.entry(*id).or_insert_with(first).offsets.extend(new);
        }
        unknown
    }

    fn named(&self, code: Code) -> Mapping {
        let Code { mut mapping, addresses, file } = code;
        let known = file.and_then(|(id, _)| self.0.get(&id));
        let function =
            |address: u64| known?.get(&place(&mapping, address)).filter(|names| !names.is_empty()).cloned();
        mapping.functions =
            addresses.into_iter().filter_map(|address| Some((address, function(address)?))).collect();
        mapping
    }
}

/// The file offset of the call instruction before a return address of a stack. The next instruction may belong to
/// another line, or to another function if the call does not return.
fn place(mapping: &Mapping, address: u64) -> u64 {
    mapping.offset_of(address.saturating_sub(1))
}
