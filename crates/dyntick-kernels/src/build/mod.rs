// SPDX-License-Identifier: GPL-2.0-only
//! Kernels made to order: a source, configuration fragments and patches, built once and kept.
//!
//! A [`Recipe`] names the parts, [`Parts`] are the same with every text read, and their
//! [`key`] names the kernel in the cache: equal parts and an equal compiler give an equal kernel,
//! to the bit.

mod compile;
mod configure;
mod diff;
mod fragment;
mod kconfig;
mod key;
mod module;
mod parts;
mod patches;
mod products;
mod program;
mod run;
mod source;
mod toolchain;
mod walls;
mod workspace;

pub(crate) mod built;

pub use built::{Built, all};
pub use fragment::FragmentError;
pub use module::{give_all, make_module, module, take_module};
pub use parts::{Part, Parts, private_note};
pub use patches::PatchError;
pub use source::SourceError;
pub use toolchain::lacks;

use crate::apt::AptError;
use crate::cache::{Cache, CacheError, unused};
use dyntick_model::text::{clean_line, shown};
use dyntick_model::{KernelConfig, Recipe};
use dyntick_system::InputError;
use dyntick_system::confine::{NoWalls, NotSeen};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use workspace::Workspace;

/// A configuration has some 300 KB; what unpacks to more is none, and each of its bytes takes seven of memory.
pub(crate) const LARGEST_CONFIG: u64 = 1 << 20;

/// The reason why a kernel could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A fragment or patch of this name does not come with dyntick.
    #[error("{0}")]
    NoSuchPart(String),
    /// A file of the recipe cannot be read.
    #[error("cannot read {}: {source}", shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file that the recipe names is none that is read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The source.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A fragment.
    #[error(transparent)]
    Fragment(#[from] FragmentError),
    /// A patch.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// apt.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A program that building needs is not installed.
    #[error("building a kernel needs '{program}': apt-get install {package}")]
    Missing {
        /// The program.
        program: String,
        /// Its package in Debian.
        package: String,
    },
    /// A program failed.
    #[error("cannot {}:\n{message}", clean_line(what))]
    Failed {
        /// The step that failed.
        what: String,
        /// The message of the program.
        message: String,
    },
    /// Options that did not become what the fragments say.
    #[error("Kconfig did not accept the configuration:\n{}", .0.join("\n"))]
    NotTaken(Vec<String>),
    /// An untrusted source, and no sandbox to build it in.
    #[error(
        "{what} is not Debian's and does not come with dyntick, so a kernel with it is built only confined, which is not possible: {reason}"
    )]
    NoWalls {
        /// The part from another author.
        what: String,
        /// The reason.
        reason: NoWalls,
    },
    /// A file that a confined build cannot see.
    #[error(transparent)]
    NotSeen(#[from] NotSeen),
    /// A program that is not to be seen behind walls.
    #[error(
        "a confined build uses the programs in /usr, and '{program}' on PATH is {place}: put /usr/bin first in PATH"
    )]
    OutsideUsr {
        /// The program.
        program: String,
        /// Its path.
        place: PathBuf,
    },
    /// A product that is none.
    #[error("cannot use {file} of the build: {reason}")]
    Product {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// The recipe of a built kernel makes another one by now.
    #[error(
        "nothing can be compiled for built:{0}: its source, a fragment, a patch or the compiler has changed since it was built; build it again (dyntick lab build)"
    )]
    Changed(String),
    /// The cases of the kernel are impossible with its configuration.
    #[error("{}", .0.join("\n"))]
    Unfit(Vec<String>),
}

/// Checks a configuration before the kernel is compiled, and returns its errors.
pub type Accept<'a> = &'a dyn Fn(&KernelConfig) -> Vec<String>;

/// Removes what was being made when dyntick was ended, which may fill the disk.
/// For the beginning of a verb, before it takes room itself.
pub fn remove_left(cache: &Cache) {
    unused::remove_unfinished_of_all(cache.root());
    workspace::remove_abandoned(cache);
    walls::remove_unused(cache);
    source::remove_unused(cache);
}

/// The kernel of a recipe: out of the cache, or built now. `progress` is called for each step.
pub fn build(
    recipe: &Recipe,
    cache: &Cache,
    progress: &dyn Fn(&str),
    accept: Accept<'_>,
) -> Result<Built, BuildError> {
    match build_from_newest(recipe, cache, progress, accept) {
        // The index that named the source was older than the mirror, and is asked for by now.
        Err(BuildError::Source(SourceError::Superseded(_))) => {
            build_from_newest(recipe, cache, progress, accept)
        }
        done => done,
    }
}

fn build_from_newest(
    recipe: &Recipe,
    cache: &Cache,
    progress: &dyn Fn(&str),
    accept: Accept<'_>,
) -> Result<Built, BuildError> {
    let parts = Parts::load(recipe)?;
    patches::sound(&parts.patches)?;
    let source = source::identify(&parts.source, cache, progress)?;
    let toolchain = toolchain::find(&parts)?;
    let company = walls::company(&source, &parts);
    let key = key::of(&parts, &source.id, &toolchain, company.as_deref());
    let waiting = workspace::waiting(cache, &source.key, progress);
    let mut is_new = false;
    let folder = cache.folder_after(&built::entry(&key), Some(&waiting), |folder| {
        is_new = true;
        make(&parts, &source, &toolchain, &key, folder, cache, progress, accept)
    })?;
    unused::touch(&folder);
    let patch_files = patches::files_of_all(&parts.patches);
    Ok(Built { fallback: source.fallback, is_new, patch_files, ..built::read(&folder)? })
}

/// Fills `folder` with the kernel.
#[expect(clippy::too_many_arguments, reason = "what a build is made of")]
fn make(
    parts: &Parts,
    source: &source::Source,
    toolchain: &toolchain::Toolchain,
    key: &str,
    folder: &Path,
    cache: &Cache,
    progress: &dyn Fn(&str),
    accept: Accept<'_>,
) -> Result<(), BuildError> {
    let begin = std::time::Instant::now();
    // For it to have room.
    remove_left(cache);
    unused::keep_at_most(&cache.path(built::FOLDER), built::MOST_BYTES);
    let place = walls::Place::of(source, parts, toolchain, cache)?;
    let (pristine, _in_use) = source.fetch(cache, progress)?;
    // Before it waits for other builds.
    patches::check(&parts.patches, &pristine, &source.key, cache, &place)?;
    let space = Workspace::open(cache, &source.key, &pristine, progress)?;
    place.give(&space.objects())?;
    patches::apply(&parts.patches, &space, &place, progress)?;
    let builder = program::Builder { space: &space, toolchain, cache, place: &place };
    let config = configure::configure(parts, &builder)?;
    let problems = accept(&config);
    if !problems.is_empty() {
        return Err(BuildError::Unfit(problems));
    }
    let estimate = estimate(&all(cache), &built::names(&parts.config));
    let compiled = compile::compile(&builder, &config, estimate, progress)?;
    let record = Built {
        key: key.to_owned(),
        source: source.description(),
        compiler: toolchain.version.clone(),
        config: built::names(&parts.config),
        patches: built::names(&parts.patches),
        patch_sha256: parts.patches.iter().map(|part| hex::encode(Sha256::digest(&part.text))).collect(),
        patch_files: patches::files_of_all(&parts.patches),
        recipe: Some(parts.recipe()),
        release: compiled.release.clone(),
        objects: compiled.objects,
        seconds: begin.elapsed().as_secs(),
        fallback: None,
        is_new: true,
        folder: folder.to_owned(),
    };
    built::keep(&record, &compiled, &builder, folder)
}

/// The number of objects to expect of a kernel with these fragments: that of the kernel here which shares the most.
fn estimate(there: &[Built], config: &[String]) -> u32 {
    /// A kernel for the laboratory (6.12 with the fragment `lab`).
    const OF_A_LAB: u32 = 1100;
    let shared = |built: &&Built| built.config.iter().filter(|name| config.contains(name)).count();
    let nearest = there.iter().filter(|built| shared(built) > 0).max_by_key(shared);
    nearest.map_or(OF_A_LAB, |built| built.objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_like_kernel_tells_the_number_of_objects() {
        let built = |config: &[&str], objects: u32| Built { objects, ..built::tests::record("k", config) };
        let config = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        let there = [
            built(&["lab"], 1093),
            built(&["lab", "virtio-disk"], 1400),
            built(&["./distribution.config"], 9000),
        ];
        assert_eq!(estimate(&there, &config(&["lab", "virtio-disk", "hz-100"])), 1400);
        assert_eq!(estimate(&there, &config(&["./other.config"])), 1100);
        assert_eq!(estimate(&[], &config(&["lab"])), 1100);
    }
}
