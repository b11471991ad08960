// SPDX-License-Identifier: GPL-2.0-only
//! The parts of a repository that git reads (gitrepository-layout(5)): its own files, those of the
//! repository whose worktree it is, and the objects that it borrows (`git clone --shared`). git may open
//! these and no others.

use crate::build::BuildError;
use dyntick_system::confine::real_path;
use dyntick_system::{InputError, read_regular};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files that lead to other folders have a line for each; more of one is not read.
const LONGEST: u64 = 64 << 10;
/// The most folders that a real repository borrows from.
const MOST: usize = 32;

/// The characters that git cuts off such a file (setup.c: read_gitfile_gently, get_common_dir_noenv).
const END: [char; 2] = ['\n', '\r'];

/// The parts of a git folder that are read to find a commit. Other files there do not belong to it: an
/// archive may have been unpacked next to other repositories.
const PARTS: [&str; 14] = [
    "HEAD",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "info",
    "logs",
    "objects",
    "packed-refs",
    "refs",
    "reftable",
    "shallow",
];

/// The files and folders, by real paths. Of a worktree it is what git keeps and not what is checked out.
///
/// # Errors
/// If it leads to other folders as no git writes it, or to too many.
pub fn of(folder: &Path) -> Result<BTreeSet<PathBuf>, BuildError> {
    let mut all = BTreeSet::new();
    let mut own = real_path(&folder.join(".git"));
    if let Some(elsewhere) =
        text(&own)?.as_deref().and_then(|text| text.trim_end_matches(END).strip_prefix("gitdir: "))
    {
        all.insert(own);
        own = real_path(&folder.join(elsewhere));
    }
    if !is_of_git(&own) {
        own = real_path(folder);
    }
    let common = text(&own.join("commondir"))?.map(|text| real_path(&own.join(text.trim_end_matches(END))));
    let mut lenders = BTreeSet::new();
    for place in [Some(own), common].into_iter().flatten().filter(|place| is_of_git(place)) {
        let parts = PARTS.iter().map(|part| place.join(part)).filter(|part| part.exists());
        all.extend(parts.map(|part| real_path(&part)));
        borrowed(&place.join("objects"), &mut lenders)?;
    }
    all.extend(lenders);
    Ok(all)
}

/// Adds the folders that these objects are completed by, and those that complete them.
fn borrowed(objects: &Path, all: &mut BTreeSet<PathBuf>) -> Result<(), BuildError> {
    let list = objects.join("info/alternates");
    let Some(lines) = text(&list)? else { return Ok(()) };
    let odd = |message: &str| BuildError::Failed {
        what: format!("read {}", list.display()),
        message: message.to_owned(),
    };
    for (number, line) in
        lines.split('\n').filter(|line| !line.is_empty() && !line.starts_with('#')).enumerate()
    {
        if line.starts_with('"') {
            return Err(odd("it has a quoted path; write it without quotes"));
        }
        let place = real_path(&objects.join(line));
        let has_objects = place.join("pack").is_dir() || place.join("info").is_dir();
        if number >= MOST || all.len() >= MOST {
            return Err(odd("objects are borrowed from more than 32 folders"));
        }
        if has_objects && all.insert(place.clone()) {
            borrowed(&place, all)?;
        }
    }
    Ok(())
}

/// True if a folder is of git: a repository's, or a worktree's. No other folder is read because a file says so.
fn is_of_git(folder: &Path) -> bool {
    folder.join("HEAD").exists() && ["objects", "commondir"].iter().any(|name| folder.join(name).exists())
}

/// The text of a file that leads to other folders; none where there is none. What is too long, or no text,
/// git would read otherwise.
fn text(file: &Path) -> Result<Option<String>, BuildError> {
    if !file.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
        return Ok(None);
    }
    let text = String::from_utf8(read_regular(file, LONGEST)?);
    text.map(Some).map_err(|_| InputError::NotText { path: file.to_owned() }.into())
}
