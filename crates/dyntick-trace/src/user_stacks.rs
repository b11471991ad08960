// SPDX-License-Identifier: GPL-2.0-only
//! The processes whose stacks are in pages, found while they are recorded: the mappings of a process end with it.

use super::events::USER_STACK;
use super::{Field, Format, FormatError, ring};
use std::collections::BTreeMap;

/// Finds stacks of programs in pages.
pub struct UserStacks {
    id: u16,
    process: Field,
    caller: Field,
}

impl UserStacks {
    /// Creates a finder for events with these formats, by `system:name`; none if stacks are not recorded.
    ///
    /// # Errors
    /// A format that is not understood.
    pub fn new(formats: &BTreeMap<String, String>) -> Result<Option<Self>, FormatError> {
        let Some(text) = formats.get(USER_STACK) else { return Ok(None) };
        let format = Format::parse(USER_STACK, text)?;
        let field = |name: &str| {
            let missing = FormatError::NoField { event: USER_STACK.to_owned(), field: name.to_owned() };
            format.field(name).cloned().ok_or(missing)
        };
        Ok(Some(Self { id: format.id, process: field("tgid")?, caller: field("caller")? }))
    }

    /// Passes on each address of each stack with its process, up to the first damage.
    pub fn each(&self, pages: &[u8], page_size: usize, mut each: impl FnMut(i32, u64)) {
        let _ = ring::for_each(pages, page_size, |_, record| {
            if record.first_chunk().is_none_or(|id| u16::from_le_bytes(*id) != self.id) {
                return;
            }
            let Some(process) = self.process.number(record) else { return };
            let addresses = self.caller.words_from(record).into_iter().flatten();
            addresses.take_while(|address| *address != 0).for_each(|address| each(process as i32, address));
        });
    }
}
