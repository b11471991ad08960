// SPDX-License-Identifier: GPL-2.0-only
//! The files that a case reads before and after the window.

use anyhow::{Context, Result, ensure};
use dyntick_guest::names::LONGEST_FILE;
use dyntick_guest::{Archive, Moment, piece_of_file};
use std::fs::File;
use std::io::Read;

/// Puts the files into the archive as they stand now.
pub fn read(paths: &[String], moment: Moment, archive: &mut Archive) -> Result<()> {
    for path in paths {
        let mut bytes = Vec::new();
        let file = File::open(path).with_context(|| format!("read = [\"{path}\"]: open it"))?;
        file.take(LONGEST_FILE + 1)
            .read_to_end(&mut bytes)
            .with_context(|| format!("read = [\"{path}\"]: read it"))?;
        ensure!(
            bytes.len() as u64 <= LONGEST_FILE,
            "read = [\"{path}\"]: it is longer than 1 MiB; choose another"
        );
        archive.insert(piece_of_file(path, moment), bytes);
    }
    Ok(())
}
