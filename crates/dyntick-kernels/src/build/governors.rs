// SPDX-License-Identifier: GPL-2.0-only
//! Source files of idle governors: out of a kernel's source, and patched if asked for.

use super::parts::Parts;
use super::walls::{Ccache, Place};
use super::workspace::{Workspace, replace};
use super::{BuildError, patches, source};
use crate::cache::unused::InUse;
use crate::cache::{Cache, CacheError};
use dyntick_model::Recipe;
use dyntick_system::confine::Walls;
use dyntick_system::{open_beneath, place_beneath};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The folder of the governors in a kernel's source.
pub const GOVERNORS: &str = "drivers/cpuidle/governors";

/// An unpacked source of a kernel, which stays in the cache while this lives.
pub struct Unpacked {
    /// Its top folder. Nothing may write there.
    pub tree: PathBuf,
    /// A package with its version, a commit, or a hash.
    pub origin: String,
    /// A note if Debian could not be asked, and the name may mean another one today.
    pub fallback: Option<String>,
    _in_use: InUse,
}

/// Finds a kernel's source and unpacks it.
///
/// # Errors
/// If there is none.
pub fn unpacked(text: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Unpacked, BuildError> {
    super::with_newest(|| {
        let source = source::identify(text, cache, progress)?;
        let (tree, in_use) = source.fetch(cache, progress)?;
        let origin = source.description();
        Ok(Unpacked { tree, origin, fallback: source.fallback, _in_use: in_use })
    })
}

/// The name of the package that a text such as `debian:sid` means, e.g. `linux-source-7.2`, with its version.
///
/// # Errors
/// If there is none.
pub fn origin(text: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<String, BuildError> {
    Ok(source::identify(text, cache, progress)?.description())
}

/// A file to which patches are applied, by its path in a kernel's source.
pub struct Patched<'a> {
    /// The path of the file itself, and of those beside it that it needs.
    pub files: Vec<(&'a Path, PathBuf)>,
    /// The source tree, for other files that a patch changes; none for a file that is in none.
    pub tree: Option<&'a Path>,
    /// The patches by name or path, as for a kernel.
    pub patches: &'a [String],
}

/// Copies files, applies patches to the copies, and puts them into a folder under their names without folders.
///
/// # Errors
/// A patch that does not apply; no sandbox.
pub fn patch(
    wanted: &Patched<'_>,
    into: &Path,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<(), BuildError> {
    let recipe = Recipe { patches: wanted.patches.to_vec(), ..Recipe::default() };
    let parts = Parts::load(&recipe)?.patches;
    patches::sound(&parts)?;
    let walls =
        Walls::new().map_err(|reason| BuildError::NoWalls { what: wanted.patches.join(", "), reason })?;
    let place = Place::Behind { walls, ccache: Ccache::open("governors", cache)? };
    let empty = tempfile::tempdir().map_err(|error| CacheError::from_io(&std::env::temp_dir(), error))?;
    let space = Workspace::open(cache, "governors", empty.path(), &|_| ())?;
    let tree = space.tree();
    for (from, to) in &wanted.files {
        let copied = File::open(from)
            .and_then(|mut from| place_beneath(&tree, to).and_then(|to| replace(&to, &mut from)));
        copied.map_err(|error| CacheError::from_io(from, error))?;
    }
    if let Some(pristine) = wanted.tree {
        patches::copy_changed(&parts, pristine, &tree)?;
    }
    patches::apply(&parts, &space, &place, progress)?;
    for (_, to) in &wanted.files {
        let name = to.file_name().unwrap_or_default();
        let copied = open_beneath(&tree, to).and_then(|mut from| replace(&into.join(name), &mut from));
        copied.map_err(|error| CacheError::from_io(to, error))?;
    }
    Ok(())
}
