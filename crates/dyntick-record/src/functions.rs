// SPDX-License-Identifier: GPL-2.0-only
//! The functions of the addresses that stacks of programs have, each looked up once, also for several snapshots.

use crate::lines;
use crate::processes::{Code, FileId};
use dyntick_observe::facts::Mapping;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So long they are looked up for one record; what is left stays file and offset.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was looked up: by file and offset, and none where there is no name.
#[derive(Default)]
pub(crate) struct Functions(BTreeMap<FileId, BTreeMap<u64, Vec<String>>>);

/// Of a file that is open, where in it functions are looked for.
struct Wanted {
    file: Arc<File>,
    name: String,
    offsets: BTreeSet<u64>,
}

impl Functions {
    /// The mappings of these processes with the functions of their addresses.
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

    /// What was not looked up yet.
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

/// Where in its file the instruction is that an address of a stack is behind: a call or a system call. The next one may
/// be of another line, or of another function where the call does not return.
fn place(mapping: &Mapping, address: u64) -> u64 {
    mapping.offset_of(address.saturating_sub(1))
}
