// SPDX-License-Identifier: GPL-2.0-only
//! The sandbox around a build with parts that neither Debian nor dyntick wrote.
//!
//! A kernel's Makefile is a program; so are a semantic patch, which may carry Python, and a fragment,
//! which make includes. Debian's source with what comes with dyntick is built as it is. Everything
//! else is built in the sandbox or not at all.

use super::BuildError;
use super::parts::Parts;
use super::source::Source;
use super::toolchain::{self, Toolchain};
use super::workspace::Workspace;
use crate::cache::unused::{self, InUse};
use crate::cache::{Cache, CacheError};
use crate::programs;
use dyntick_model::shipped::is_path;
use dyntick_system::confine::{self, NotSeen, Walls};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The ccache of trusted builds, in the cache.
pub const CCACHE: &str = "ccache";
/// ccache folders of sources that are not Debian's own, in the cache.
const CCACHES: &str = "ccache-of";
/// One that was not used for so long is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);
/// The limit of one, bytes: twice what ccache keeps.
const MOST_BYTES_OF_ONE: u64 = 4 << 30;
/// The limit of all together, bytes.
const MOST_BYTES: u64 = 8 << 30;

/// The place of a build.
pub enum Place {
    /// On this machine, as this user: Debian's source, and nothing that does not come with dyntick.
    Host,
    /// Behind walls, with a ccache of its own.
    Behind {
        /// The walls of each step.
        walls: Walls,
        /// The objects that were compiled before.
        ccache: Ccache,
    },
}

/// True if a part of a kernel comes from another author than Debian and dyntick.
pub fn is_strangers(source: &Source, parts: &Parts) -> bool {
    !source.is_debians() || named(parts).next().is_some()
}

/// The files among the parts that do not come with dyntick.
fn named(parts: &Parts) -> impl Iterator<Item = &str> {
    parts.config.iter().chain(&parts.patches).map(|part| part.name.as_str()).filter(|name| is_path(name))
}

impl Place {
    /// The place to build a kernel of these parts; an error if that would be the sandbox, and there
    /// can be none.
    pub fn of(
        source: &Source,
        parts: &Parts,
        toolchain: &Toolchain,
        cache: &Cache,
    ) -> Result<Self, BuildError> {
        let Some(company) = company(source, parts) else { return Ok(Place::Host) };
        let what = match named(parts).next() {
            _ if !source.is_debians() => source.description(),
            Some(name) => name.to_owned(),
            None => source.description(),
        };
        let walls = Walls::new().map_err(|reason| BuildError::NoWalls { what, reason })?;
        inside_usr(toolchain)?;
        Ok(Place::Behind { walls, ccache: Ccache::open(&company, cache)? })
    }

    /// A program with nothing of the user's environment but where programs and temporary files are.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env_clear().env("LC_ALL", "C");
        match self {
            Place::Host => {
                let set = |name: &str| Some((name.to_owned(), std::env::var_os(name)?));
                command.envs(["PATH", "TMPDIR"].into_iter().filter_map(set));
                // Python would run what a home has for it, which with `sudo -E` is another user's.
                command.env("HOME", "/nonexistent");
            }
            Place::Behind { .. } => {
                command.env("PATH", programs::path_in_usr()).env("HOME", "/tmp");
            }
        }
        command
    }

    /// A command as it is run here, where it may read and write these.
    pub fn command(&self, inner: Command, read: &[&Path], write: &[&Path]) -> Result<Command, NotSeen> {
        let Place::Behind { walls, .. } = self else { return Ok(inner) };
        let walls = read.iter().fold(walls.clone(), |walls, path| walls.read(path));
        write.iter().fold(walls, |walls, path| walls.write(path)).around(&inner)
    }

    /// Lets what runs here write a folder.
    pub fn give(&self, folder: &Path) -> Result<(), CacheError> {
        match self {
            Place::Host => Ok(()),
            Place::Behind { .. } => confine::give(folder).map_err(|error| CacheError::from_io(folder, error)),
        }
    }

    /// A folder in the workspace that what runs here may write.
    pub fn folder(&self, space: &Workspace, name: &str) -> Result<PathBuf, CacheError> {
        let folder = space.folder(name)?;
        self.give(&folder)?;
        Ok(folder)
    }
}

/// Behind walls there are the programs in /usr alone: others of the same name would build another kernel
/// than its key says.
fn inside_usr(toolchain: &Toolchain) -> Result<(), BuildError> {
    let helpers = toolchain.helpers.iter().map(|(program, _)| *program);
    for program in
        toolchain::programs().chain(helpers).chain(["ccache"].into_iter().filter(|_| toolchain.ccache))
    {
        let place = programs::find(program).and_then(|path| path.canonicalize().ok()).unwrap_or_default();
        if !place.starts_with("/usr") {
            return Err(BuildError::OutsideUsr { program: program.to_owned(), place });
        }
    }
    Ok(())
}

/// The builds with untrusted parts that share a ccache: those of one source, or of the commits of
/// one repository, and of files from the same folders. `None` if no part is untrusted.
pub fn company(source: &Source, parts: &Parts) -> Option<String> {
    if !is_strangers(source, parts) {
        return None;
    }
    let mut hash = Sha256::new_with_prefix(&source.family);
    let folders = parts.config.iter().chain(&parts.patches).filter_map(|part| part.folder.as_deref());
    for folder in folders.collect::<BTreeSet<_>>() {
        hash.update([0]);
        hash.update(folder.as_os_str().as_bytes());
    }
    Some(hex::encode(&hash.finalize()[..16]))
}

/// The ccache of a company. No other user of the machine gets there: a build may leave a set-user-ID file.
pub struct Ccache {
    folder: PathBuf,
    in_use: Option<InUse>,
}

/// Removes ccaches that were not used for long, and those above their limit: a kill of dyntick leaves
/// them as they are.
pub fn remove_unused(cache: &Cache) {
    let all = cache.path(CCACHES);
    unused::remove_old(&all, UNUSED);
    unused::remove_large(&all, MOST_BYTES_OF_ONE);
    unused::keep_at_most(&all, MOST_BYTES);
}

impl Ccache {
    pub(super) fn open(company: &str, cache: &Cache) -> Result<Self, CacheError> {
        let folder = cache.private(CCACHES)?.join(company);
        let made = match folder.exists() {
            true => confine::give(&folder),
            false => seed(&cache.path(CCACHE), &folder),
        };
        made.map_err(|error| CacheError::from_io(&folder, error))?;
        let in_use = InUse::of(&folder).ok_or_else(|| CacheError::Unsteady(folder.clone()))?;
        Ok(Self { folder, in_use: Some(in_use) })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Fills a new ccache with a copy of the trusted one, so that a patched kernel is not compiled from nothing where the
/// same kernel without the patch was built before. Nothing comes back.
fn seed(trusted: &Path, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    confine::give(folder)?;
    for entry in walkdir::WalkDir::new(trusted).min_depth(1).into_iter().flatten() {
        let to = folder.join(entry.path().strip_prefix(trusted).unwrap_or(entry.path()));
        // Another build may remove an object meanwhile: it is only compiled again.
        let copied = match entry.file_type().is_dir() {
            true => std::fs::create_dir(&to),
            false => std::fs::copy(entry.path(), &to).map(|_| ()),
        };
        if copied.is_ok() {
            confine::give(&to)?;
        }
    }
    Ok(())
}

/// ccache keeps its limit itself, and an untrusted Makefile writes there too.
impl Drop for Ccache {
    fn drop(&mut self) {
        self.in_use = None;
        unused::remove_if_large(&self.folder, MOST_BYTES_OF_ONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_ccaches_have_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Ccache::open("company", &Cache::at(folder.path())).unwrap();
        let left = |bytes| {
            let place = open().folder().join("left");
            std::fs::File::create(&place).unwrap().set_len(bytes).unwrap();
            drop(open());
            place.exists()
        };
        assert!(left(1 << 20) && !left(MOST_BYTES_OF_ONE + 1));
    }

    #[test]
    fn a_new_ccache_begins_with_the_trusted_objects() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let trusted = cache.path(CCACHE).join("0/1");
        std::fs::create_dir_all(&trusted).unwrap();
        std::fs::write(trusted.join("object"), "trusted").unwrap();
        let own = Ccache::open("company", &cache).unwrap();
        let copy = own.folder().join("0/1/object");
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "trusted");
        std::fs::write(&copy, "own").unwrap();
        drop(Ccache::open("company", &cache).unwrap());
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "own");
        assert_eq!(std::fs::read_to_string(trusted.join("object")).unwrap(), "trusted");
    }
}
