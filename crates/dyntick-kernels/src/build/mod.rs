// SPDX-License-Identifier: GPL-2.0-only
//! Kernels made to order: a source, configuration fragments and patches, built once and kept.
//!
//! A [`Recipe`] names the parts, [`Parts`] are the same with every text read, and their
//! [`key`] names the kernel in the cache: equal parts and an equal compiler give an equal kernel,
//! to the bit.

mod compile;
mod configure;
mod diff;
mod foreseen;
mod fragment;
pub mod governors;
mod kconfig;
mod key;
mod module;
mod parts;
mod patches;
mod products;
mod program;
mod run;
pub mod sizes;
mod source;
mod toolchain;
mod walls;
mod workspace;

pub(crate) mod built;

pub use built::{Built, all};
pub use diff::changed_files;
pub use foreseen::foresee;
pub use fragment::FragmentError;
pub use module::{give_all, make_module, module, take_module};
pub use parts::{Part, Parts, private_note};
pub use patches::{Fitted, PatchError};
pub use source::{SourceError, commit_of, halving, mails_of, subject_of};
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
    /// Options that the source's series does not have.
    #[error("cannot configure a kernel of {source_text}:\n{}", .options.join("\n"))]
    TooOld {
        /// The source as the recipe names it.
        source_text: String,
        /// Each option with its place and the first series that has it.
        options: Vec<String>,
    },
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
pub fn remove_left(cache: &Cache, progress: &dyn Fn(&str)) {
    unused::remove_unfinished_of_all(cache.root(), progress);
    workspace::remove_abandoned(cache, progress);
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
    with_newest(|| build_from_newest(recipe, cache, progress, accept))
}

/// Refuses recipes of which one cannot be built, as far as that is known before the first of them is compiled: by
/// their texts before any source is asked for, then by their patches, which are applied to what they change. A recipe
/// without patches, and a kernel that is in the cache, need no source for that.
pub fn ensure_all(
    recipes: &[&Recipe],
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<(), (usize, BuildError)> {
    let numbered = || recipes.iter().enumerate();
    numbered().try_for_each(|(at, recipe)| foresee(recipe, &|_| Vec::new()).map_err(|error| (at, error)))?;
    // The only one is checked as it is built.
    let patched = numbered().filter(|(_, recipe)| recipes.len() > 1 && !recipe.patches.is_empty());
    for (at, recipe) in patched {
        with_newest(|| ensure_applied(recipe, cache, progress)).map_err(|error| (at, error))?;
    }
    Ok(())
}

/// Does what needs the newest source of a name, and once more if the index that named it was older than the mirror,
/// and was asked for by now.
fn with_newest<T>(work: impl Fn() -> Result<T, BuildError>) -> Result<T, BuildError> {
    match work() {
        Err(BuildError::Source(SourceError::Superseded(_))) => work(),
        done => done,
    }
}

/// A recipe of which all that decides its kernel is known.
struct Order {
    parts: Parts,
    source: source::Source,
    toolchain: toolchain::Toolchain,
    /// The name of the kernel in the cache.
    key: String,
}

impl Order {
    fn of(recipe: &Recipe, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Self, BuildError> {
        let parts = Parts::load(recipe)?;
        let toolchain = toolchain::find(&parts)?;
        let source = source::identify(&parts.source, cache, progress)?;
        let company = walls::company(&source, &parts);
        let key = key::of(&parts, &source.id, &toolchain, company.as_deref());
        Ok(Self { parts, source, toolchain, key })
    }

    fn place(&self, cache: &Cache) -> Result<walls::Place, BuildError> {
        walls::Place::of(&self.source, &self.parts, &self.toolchain, cache)
    }
}

/// The patches of a recipe, with surroundings that may differ, as patches that fit its source exactly.
///
/// # Errors
/// A patch that does not fit in this way either.
pub fn fitted(recipe: &Recipe, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Vec<Fitted>, BuildError> {
    let order = Order::of(recipe, cache, progress)?;
    let (pristine, _in_use) = order.source.fetch(cache, progress)?;
    patches::fit(&order.parts.patches, &pristine, &order.source.key, cache, &order.place(cache)?)
}

fn ensure_applied(recipe: &Recipe, cache: &Cache, progress: &dyn Fn(&str)) -> Result<(), BuildError> {
    // A series of Debian changes little, and that much the build itself finds out; a tree or a branch may change more.
    let parts = Parts::load(recipe)?;
    let is_like = |built: &Built| {
        built.patch_sha256 == hashes(&parts.patches)
            && built.recipe.as_ref().is_some_and(|built| built.source == parts.source)
    };
    if parts.source.starts_with("debian:") && all(cache).iter().any(is_like) {
        return Ok(());
    }
    let order = Order::of(recipe, cache, progress)?;
    if cache.path(&built::entry(&order.key)).exists() {
        return Ok(());
    }
    let place = order.place(cache)?;
    let (pristine, _in_use) = order.source.fetch(cache, progress)?;
    patches::check(&order.parts.patches, &pristine, &order.source.key, cache, &place)
}

fn build_from_newest(
    recipe: &Recipe,
    cache: &Cache,
    progress: &dyn Fn(&str),
    accept: Accept<'_>,
) -> Result<Built, BuildError> {
    foresee(recipe, accept)?;
    let order = Order::of(recipe, cache, progress)?;
    let waiting = workspace::waiting(cache, &order.source.family, progress);
    let mut is_new = false;
    let folder = cache.folder_after(&built::entry(&order.key), Some(&waiting), |folder| {
        is_new = true;
        make(&order, folder, cache, progress, accept)
    })?;
    unused::touch(&folder);
    let patch_files = patches::files_of_all(&order.parts.patches);
    Ok(Built { fallback: order.source.fallback, is_new, patch_files, ..built::read(&folder)? })
}

/// Fills `folder` with the kernel.
fn make(
    order: &Order,
    folder: &Path,
    cache: &Cache,
    progress: &dyn Fn(&str),
    accept: Accept<'_>,
) -> Result<(), BuildError> {
    let Order { parts, source, toolchain, key } = order;
    let begin = std::time::Instant::now();
    // For it to have room.
    remove_left(cache, progress);
    unused::keep_at_most(&cache.path(built::FOLDER), built::MOST_BYTES);
    let place = order.place(cache)?;
    let (pristine, _in_use) = source.fetch(cache, progress)?;
    // Before it waits for other builds.
    patches::check(&parts.patches, &pristine, &source.key, cache, &place)?;
    let space = Workspace::open(cache, &source.family, &pristine, progress)?;
    place.give(&space.objects())?;
    patches::apply(&parts.patches, &space, &place, progress)?;
    let builder = program::Builder { space: &space, toolchain, cache, place: &place };
    progress("configuring the kernel");
    let config = configure::configure(parts, &builder)?;
    let problems = accept(&config);
    if !problems.is_empty() {
        return Err(BuildError::Unfit(problems));
    }
    let estimate = estimate(&all(cache), &built::names(&parts.config));
    let compiled = compile::compile(&builder, &config, estimate, progress)?;
    let record = Built {
        key: key.clone(),
        source: source.description(),
        compiler: toolchain.version.clone(),
        config: built::names(&parts.config),
        patches: built::names(&parts.patches),
        patch_sha256: hashes(&parts.patches),
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

/// The SHA-256 of each patch, in hexadecimal.
fn hashes(patches: &[Part]) -> Vec<String> {
    patches.iter().map(|part| hex::encode(Sha256::digest(&part.text))).collect()
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
