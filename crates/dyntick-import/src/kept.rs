// SPDX-License-Identifier: GPL-2.0-only
//! A sink for tests of the readers.

use crate::{Layout, Sink};
use std::collections::BTreeMap;

/// Keeps what a reader hands over.
#[derive(Default)]
pub struct Kept {
    pub layout: Layout,
    pub pages: BTreeMap<u32, Vec<u8>>,
}

impl Sink for Kept {
    fn layout(&mut self, layout: &Layout) -> std::io::Result<()> {
        self.layout = layout.clone();
        Ok(())
    }

    fn pages(&mut self, cpu: u32, pages: &[u8]) -> std::io::Result<()> {
        self.pages.entry(cpu).or_default().extend_from_slice(pages);
        Ok(())
    }
}
