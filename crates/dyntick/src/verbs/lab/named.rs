// SPDX-License-Identifier: GPL-2.0-only
//! Kernels as they are named on the command line: as in a study, the name of a file, or `STUDY:NAME`.

use super::build::recipe_of;
use anyhow::{Context, Result};
use dyntick_kernels::cache::Cache;
use dyntick_kernels::find::{self, Kernel};
use dyntick_model::Recipe;
use dyntick_study::{Size, shipped};
use std::path::Path;

/// Name and recipe of a study's own kernel, where the text names one.
pub fn of_study(text: &str) -> Result<Option<(String, Recipe)>> {
    let is_study = |path: &str| path.ends_with(".toml") || shipped::names().contains(&path);
    let Some((path, name)) = text.rsplit_once(':').filter(|(path, _)| is_study(path)) else {
        return Ok(None);
    };
    let path = Path::new(path);
    Ok(Some((name.to_owned(), recipe_of(&shipped::find(path, Size::Scaled)?, path, name)?)))
}

/// The kernel, fetched or built where needed.
pub fn kernel(text: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Kernel> {
    Ok(match of_study(text)? {
        Some((_, recipe)) => find::made_to_order(text, &recipe, cache, progress, &|_| Vec::new())?,
        None => find::resolve(&place(text)?, cache, progress)?,
    })
}

/// The absolute path of a file, or of the tree of a kernel, since paths in a study are relative to it; another name is
/// unchanged.
pub fn place(typed: &str) -> Result<String> {
    let path = Path::new(typed);
    if !typed.contains('/') && !path.is_file() && !path.join("Makefile").is_file() {
        return Ok(typed.to_owned());
    }
    let absolute = std::path::absolute(path).with_context(|| format!("find the path of {typed}"))?;
    Ok(absolute.to_string_lossy().into_owned())
}
