// SPDX-License-Identifier: GPL-2.0-only
//! Compiling a module out of the kernel's tree.

use super::program::{Builder, run};
use super::workspace::Workspace;
use super::{BuildError, Built, Recipe, configure, patches, source, toolchain};
use crate::cache::{Cache, CacheError};
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
    let parts = recipe.load()?;
    let source = source::identify(&parts.source, cache, progress)?;
    let toolchain = toolchain::find(&parts)?;
    let pristine = source.fetch(cache, progress)?;
    let space = Workspace::open(cache, &source.key, &pristine)?;
    patches::apply(&parts.patches, &space.tree(), progress)?;
    let builder = Builder { space: &space, toolchain: &toolchain, cache };
    let config = space.objects().join(configure::CONFIG);
    std::fs::copy(built.config_file(), &config).map_err(|error| CacheError::from_io(&config, error))?;
    run("prepare the kernel's tree for a module", &mut builder.make(&["olddefconfig", "modules_prepare"]))?;
    let mut make = builder.make(&[]);
    // Without the symbols of the whole kernel, which only a kernel that checks their versions asks for.
    make.arg("KBUILD_MODPOST_WARN=1").arg(format!("M={}", folder.display()));
    make_module(make)
}

/// Has make, told where, compile a module without debug information, which would name the folder.
pub fn make_module(mut make: Command) -> Result<(), BuildError> {
    run("compile the module", make.args(["KCFLAGS=-g0", "modules"])).map(|_| ())
}
