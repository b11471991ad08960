// SPDX-License-Identifier: GPL-2.0-only
//! The folders that a repository on this machine is made of (gitrepository-layout(5)): its own, that of the repository
//! whose worktree it is, and the objects that it borrows (`git clone --shared`). git may read these and no others.

use dyntick_system::confine::real_path;
use dyntick_system::read_regular;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files that lead to other folders have a line for each; more of one is not read.
const LONGEST: u64 = 64 << 10;
/// A repository that borrows from more is not one that somebody works with.
const MOST: usize = 32;

/// What git reads of the repository in `folder`, by real paths. Of a worktree it is what git keeps and not what is checked out,
/// which may have been unpacked beside others' files, with links to them.
pub fn of(folder: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    let mut own = real_path(&folder.join(".git"));
    if let Some(elsewhere) = text(&own).as_deref().and_then(|text| text.trim_end().strip_prefix("gitdir: ")) {
        all.insert(own);
        own = real_path(&folder.join(elsewhere));
    }
    if !is_of_git(&own) {
        own = real_path(folder);
    }
    let common = text(&own.join("commondir")).map(|text| real_path(&own.join(text.trim_end())));
    let of_git = [Some(own), common].into_iter().flatten().filter(|place| is_of_git(place));
    for place in of_git {
        borrowed(&place.join("objects"), &mut all);
        all.insert(place);
    }
    all
}

/// Adds the folders that these objects are completed by, and those that complete them.
fn borrowed(objects: &Path, all: &mut BTreeSet<PathBuf>) {
    let Some(lines) = text(&objects.join("info/alternates")) else { return };
    for line in lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let place = real_path(&objects.join(line));
        let has_objects = place.join("pack").is_dir() || place.join("info").is_dir();
        if all.len() < MOST && has_objects && all.insert(place.clone()) {
            borrowed(&place, all);
        }
    }
}

/// Whether a folder is of git: a repository's, or a worktree's. No other folder is read because a file says so.
fn is_of_git(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && ["objects", "commondir"].iter().any(|name| folder.join(name).exists())
}

fn text(file: &Path) -> Option<String> {
    read_regular(file, LONGEST).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}
