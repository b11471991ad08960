// SPDX-License-Identifier: GPL-2.0-only
//! The files of a run as they are compared with those of another (invariant 2).

use crate::names::{ANALYSIS, RAW, SEAL, TIMING};
use dyntick_kernels::hash::Contents;
use dyntick_system::open_beneath;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// All files of a run together: a profile has up to 1 GiB and what was being written then, all else fits into
/// the mailbox.
const LARGEST_RUN: u64 = 2 << 30;

/// The files of a run that must be the same in every repetition in virtual time: all but the timing, the seal, which is
/// of who made it, and the analysis, which a later program makes again from the others.
pub fn comparable_files(folder: &Path) -> std::io::Result<BTreeMap<String, Contents>> {
    let mut files = BTreeMap::new();
    let mut left = LARGEST_RUN;
    for place in [PathBuf::new(), PathBuf::from(RAW)] {
        let within = folder.join(&place);
        if !within.symlink_metadata()?.is_dir() {
            return Err(std::io::Error::other(format!("{} is no folder", within.display())));
        }
        for entry in std::fs::read_dir(within)? {
            let path = entry?.path();
            let inner = path.strip_prefix(folder).unwrap_or(&path);
            let name = inner.to_string_lossy().into_owned();
            // An untrusted run may hold links to files without an end; a run of this laboratory has none.
            if path.symlink_metadata()?.is_file() && ![TIMING, SEAL, ANALYSIS].contains(&name.as_str()) {
                let file = open_beneath(folder, inner)?;
                let contents = Contents::of_open(&file, &path, left).map_err(std::io::Error::other)?;
                left -= contents.bytes;
                files.insert(name, contents);
            }
        }
    }
    Ok(files)
}
