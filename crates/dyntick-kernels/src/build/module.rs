// SPDX-License-Identifier: GPL-2.0-only
//! Compiling a module out of the kernel's tree.

use super::program::Builder;
use super::run::run;
use super::walls::Place;
use super::workspace::{Workspace, replace};
use super::{BuildError, Built, Parts, configure, key, patches, products, source, toolchain, walls};
use crate::cache::{Cache, CacheError};
use dyntick_model::Recipe;
use dyntick_system::confine;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Compiles the module in `folder` for a kernel that was built here: its tree is made anew, as far
/// as modules need it.
pub fn module(
    recipe: &Recipe,
    built: &Built,
    folder: &Path,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<(), BuildError> {
    let parts = Parts::load(recipe)?;
    let source = source::identify(&parts.source, cache, progress)?;
    let toolchain = toolchain::find(&parts)?;
    let company = walls::company(&source, &parts);
    if key::of(&parts, &source.id, &toolchain, company.as_deref()) != built.key {
        return Err(BuildError::Changed(built.key.clone()));
    }
    let place = Place::of(&source, &parts, &toolchain, cache)?;
    let (pristine, _in_use) = source.fetch(cache, progress)?;
    let space = Workspace::open(cache, &source.family, &pristine, progress)?;
    place.give(&space.objects())?;
    patches::apply(&parts.patches, &space, &place, progress)?;
    let builder = Builder { space: &space, toolchain: &toolchain, cache, place: &place };
    let config = space.objects().join(configure::CONFIG);
    let copied = File::open(built.config_file()).and_then(|mut from| replace(&config, &mut from));
    copied.map_err(|error| CacheError::from_io(&config, error))?;
    builder.run(
        "prepare the kernel's tree for a module",
        builder.make(&["olddefconfig", "modules_prepare"]),
        &[],
    )?;
    let mut make = builder.make(&[]);
    // Without the symbols of the kernel, which only a kernel that checks their versions asks for.
    make.arg("KBUILD_MODPOST_WARN=1").arg(format!("M={}", folder.display())).args(MODULE);
    if let Place::Behind { .. } = place {
        give_all(folder)?;
    }
    builder.run(WHAT, make, &[folder]).map(|_| ())
}

/// Lets what runs behind walls write a module's folder and what is in it.
pub fn give_all(folder: &Path) -> Result<(), CacheError> {
    let mut all = walkdir::WalkDir::new(folder).into_iter().flatten();
    all.try_for_each(|entry| confine::give(entry.path())).map_err(|error| CacheError::from_io(folder, error))
}

/// Takes the module that was compiled in `folder`; an untrusted Makefile may have left something
/// else than a module.
pub fn take_module(folder: &Path, file: &str, to: &Path) -> Result<(), BuildError> {
    products::copy(folder, Path::new(file), to, products::MODULE).map(|_| ())
}

const WHAT: &str = "compile the module";
/// Without debug information, which would name the folder.
const MODULE: [&str; 2] = ["KCFLAGS=-g0", "modules"];

/// Has make compile a module without debug information, which would name the folder.
pub fn make_module(mut make: Command) -> Result<(), BuildError> {
    run(WHAT, make.args(MODULE)).map(|_| ())
}
