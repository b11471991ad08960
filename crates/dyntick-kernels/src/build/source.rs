// SPDX-License-Identifier: GPL-2.0-only
//! Kernel sources: what they are known by, and a pristine tree of each in the cache.

mod debian;
mod git;
mod tree;
mod unpack;

pub use git::{commit_of, halving, mails_of, subject_of};

use super::BuildError;
use crate::cache::unused::{self, InUse};
use crate::cache::{Cache, CacheError, ensure_space};
use crate::hash::Contents;
use dyntick_model::recipe::{NotASource, check_source};
use dyntick_model::text::{clean_line, shown};
use dyntick_system::InputError;
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// The reason why there is no such source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The text names none.
    #[error(transparent)]
    Spec(#[from] NotASource),
    /// No such package.
    #[error("Debian offers no package linux-source-{series}, and none is cached{}", choice(offered))]
    NotOffered {
        /// The series.
        series: String,
        /// The series that there are, the oldest first.
        offered: Vec<String>,
    },
    /// The package that was found is not the newest any more.
    #[error("Debian has another {0} by now: start again")]
    Superseded(String),
    /// A file that is named is none that is read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A tree whose files did not stay as they were.
    #[error("the source tree {} was changed while it was copied: start again when nothing writes to it", shown(.0))]
    Edited(PathBuf),
    /// An archive that did not stay as it was.
    #[error("{} was changed while it was unpacked: start again when nothing writes to it", shown(.0))]
    Swapped(PathBuf),
    /// Something else than a kernel.
    #[error("{} is not a kernel source: it has no Kconfig and Makefile in its top folder", clean_line(.0))]
    NotAKernel(String),
    /// An archive that is damaged or of an unknown kind.
    #[error("cannot unpack {}: {reason}", clean_line(what))]
    Unpack {
        /// Its name.
        what: String,
        /// The reason.
        reason: String,
    },
}

fn choice(offered: &[String]) -> String {
    let named: Vec<String> = offered.iter().map(|series| format!("debian:{series}")).collect();
    if named.is_empty() { String::new() } else { format!(": choose {}", named.join(", ")) }
}

/// A source that is known to be there.
pub struct Source {
    /// All that decides its contents: a package with its version, a commit, or a hash.
    pub id: String,
    /// Its name in the cache.
    pub key: String,
    /// The name of its workspace, and of the sources that share a ccache with it. The commits of a repository have one,
    /// since most of their files are equal; any other source has its key.
    pub family: String,
    /// A note if Debian could not be asked, and the name may mean another one today.
    pub fallback: Option<String>,
    kind: Kind,
}

enum Kind {
    /// A package, which need not be asked of the mirror once it is unpacked.
    Debian(debian::Offered),
    /// Its path, and its SHA-256.
    Tarball(PathBuf, String),
    Git(git::Commit),
    Tree(tree::Tree),
}

/// The folder of the cache with sources.
const FOLDER: &str = "sources";
/// The limit of all together, bytes; a kernel has 1.5 GiB.
const MOST_BYTES: u64 = 16 << 30;

/// Linux 6.12 unpacked takes 1.5 GiB.
const BYTES: u64 = 2 << 30;

/// Removes copies of repositories, and packages that no build has unpacked.
pub fn remove_unused(cache: &Cache) {
    git::remove_unused(cache);
    debian::remove_unused(cache);
}

/// The files that a text names on this machine: a folder, an archive, or the parts of a repository.
pub fn reads(text: &str) -> Vec<PathBuf> {
    match text.strip_prefix("git:") {
        Some(repository) => git::reads(repository),
        None if text.starts_with("debian:") => Vec::new(),
        None => vec![text.into()],
    }
}

/// Finds out what a text names, without unpacking it.
pub fn identify(text: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Source, BuildError> {
    check_source(text).map_err(SourceError::from)?;
    if let Some(series) = text.strip_prefix("debian:") {
        let (offered, fallback) = debian::newest(series, cache, progress)?;
        let (name, version) = &offered.package;
        let key = format!("{name}_{}", version.replace([':', '/'], "_"));
        return Ok(Source {
            id: format!("Debian package {name} {version}"),
            family: key.clone(),
            key,
            fallback,
            kind: Kind::Debian(offered),
        });
    }
    if let Some(text) = text.strip_prefix("git:") {
        let commit = git::find(text, cache, progress)?;
        // Not the key of a dyntick that believed a repository's names of objects.
        let key = key(&format!("objects of git commit {}", commit.hash));
        let id = format!("git commit {}", commit.hash);
        let family = self::key(&format!("commits of {}", commit.repository.display()));
        return Ok(Source { id, key, family, fallback: None, kind: Kind::Git(commit) });
    }
    let path = PathBuf::from(text);
    if path.is_dir() {
        progress(&format!("reading the source tree {}", clean_line(text)));
        let tree = tree::look(&path)?;
        return Ok(keyed(format!("source tree {}", tree.hash), Kind::Tree(tree)));
    }
    let hash = Contents::of(&path, unpack::BYTES)?.sha256;
    Ok(keyed(format!("tarball {hash}"), Kind::Tarball(path, hash)))
}

/// A source without a good name of its own.
fn keyed(id: String, kind: Kind) -> Source {
    let key = key(&id);
    Source { family: key.clone(), key, id, fallback: None, kind }
}

/// A key of 128 bits: with 64, the author of two sources could give both one key.
fn key(text: &str) -> String {
    hex::encode(&Sha256::digest(text)[..16])
}

impl Source {
    /// True if it is Debian's own.
    pub fn is_debians(&self) -> bool {
        matches!(self.kind, Kind::Debian(_))
    }

    /// Its description, which does not depend on where it was found.
    pub fn description(&self) -> String {
        self.id.clone()
    }

    /// The pristine tree in the cache, which stays there as long as the second is held; nothing ever writes to it.
    pub fn fetch(&self, cache: &Cache, progress: &dyn Fn(&str)) -> Result<(PathBuf, InUse), BuildError> {
        let mut folder = self.unpacked(cache, progress)?;
        let mut in_use = InUse::of(&folder);
        if in_use.is_none() {
            // Others have needed its space since it was found.
            folder = self.unpacked(cache, progress)?;
            in_use = InUse::of(&folder);
        }
        let in_use = in_use.ok_or_else(|| CacheError::Unsteady(folder.clone()))?;
        Ok((folder, in_use))
    }

    fn unpacked(&self, cache: &Cache, progress: &dyn Fn(&str)) -> Result<PathBuf, BuildError> {
        cache.folder::<BuildError>(&format!("{FOLDER}/{}", self.key), |folder| {
            // For it to have room among the others.
            unused::keep_at_most(&cache.path(FOLDER), MOST_BYTES);
            ensure_space(folder, BYTES)?;
            match &self.kind {
                Kind::Debian(offered) => debian::fetch(offered, folder, cache, progress)?,
                Kind::Tarball(path, sha256) => {
                    progress(&format!("unpacking {}", shown(path)));
                    unpack::file_of_hash(path, sha256, folder)?;
                }
                Kind::Git(commit) => {
                    progress(&format!("unpacking commit {}", commit.hash));
                    git::unpack(commit, folder)?;
                }
                Kind::Tree(tree) => {
                    progress(&format!("copying {}", shown(&tree.root)));
                    tree::copy(tree, folder)?;
                }
            }
            if folder.join("Kconfig").is_file() && folder.join("Makefile").is_file() {
                Ok(())
            } else {
                Err(SourceError::NotAKernel(self.description()).into())
            }
        })
    }
}
