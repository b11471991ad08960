// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab build`: kernels made to order.

use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_contract::lab::Builds;
use dyntick_kernels::build::{self, Built, build, remove_left};
use dyntick_kernels::cache::Cache;
use dyntick_model::Recipe;
use dyntick_model::text::known_words;
use dyntick_study::{Size, Study, shipped};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `dyntick lab build`.
#[derive(Args)]
#[command(override_usage = "dyntick lab build [OPTIONS] STUDY [NAME]\n       \
                            dyntick lab build --source SOURCE [--config NAME,…] [--patch NAME]")]
pub struct Arguments {
    /// Study whose [kernels] are built: a name of `dyntick lab studies`, or a file
    #[arg(required_unless_present_any = ["source", "patches", "config"], conflicts_with = "source")]
    study: Option<PathBuf>,
    /// Build only this kernel of the study
    #[arg(requires = "study")]
    name: Option<String>,
    /// Without a study: debian:6.12, a tarball, git:REPOSITORY#REVISION, or the folder of a source tree
    #[arg(long)]
    source: Option<String>,
    /// Without a study: fragments by name or path
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "lab",
        value_name = "NAME,…",
        requires = "source",
        conflicts_with = "study"
    )]
    config: Vec<String>,
    /// Without a study: a patch by name or path; may be given several times
    #[arg(long = "patch", value_name = "NAME", requires = "source", conflicts_with = "study")]
    patches: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Builds what is not built yet.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let cache = Cache::of_user()?;
    let recipes = recipes(&arguments)?;
    ensure_all(&recipes, &cache)?;
    remove_left(&cache, &|text| output::step(text));
    let mut kernels = Vec::new();
    for (name, recipe) in recipes {
        let say = |text: &str| output::step(format_args!("{name}: {text}"));
        let built = build(&recipe, &cache, &say, &|_| Vec::new())?;
        if !arguments.json {
            output::line(format_args!("{name}: {}", in_words(&built)))?;
        }
        kernels.push(built);
    }
    if arguments.json {
        output::json(&Builds { kernels })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a kernel that cannot be built, before the first of several is compiled.
pub fn ensure_all(kernels: &[(String, Recipe)], cache: &Cache) -> Result<()> {
    let recipes: Vec<&Recipe> = kernels.iter().map(|(_, recipe)| recipe).collect();
    let ensured = build::ensure_all(&recipes, cache, &|text| output::step(text));
    ensured.map_err(|(at, error)| match kernels {
        [_] => error.into(),
        all => anyhow::Error::new(error).context(format!("cannot build the kernel {}", all[at].0)),
    })
}

fn in_words(built: &Built) -> String {
    let took = format!("{} objects in {} s", built.objects, built.seconds);
    let how = if built.is_new { took } else { format!("there already, nothing was built (it took {took})") };
    format!("Linux {} as built:{}, {how}; {}", built.release, built.key, built.image().display())
}

fn recipes(arguments: &Arguments) -> Result<Vec<(String, Recipe)>> {
    if let Some(source) = &arguments.source {
        let (config, patches) = (arguments.config.clone(), arguments.patches.clone());
        let recipe = Recipe { source: typed(source), config, patches };
        return Ok(vec![(source.clone(), recipe)]);
    }
    let Some(path) = &arguments.study else { return Ok(Vec::new()) };
    let study = shipped::find(path, Size::Scaled)?;
    match &arguments.name {
        Some(name) => Ok(vec![(name.clone(), recipe_of(&study, path, name)?)]),
        None if study.kernels.is_empty() => {
            bail!("{} has no [kernels.NAME]: nothing to build", path.display())
        }
        None => Ok(study.kernels.into_iter().collect()),
    }
}

/// A source as it was typed; a folder or file that is there is one also by a name without a slash, as `.` in a tree.
fn typed(source: &str) -> String {
    if source.contains('/') || source.contains(':') || !Path::new(source).exists() {
        source.to_owned()
    } else {
        format!("./{source}")
    }
}

/// The kernel of this name of a study.
pub fn recipe_of(study: &Study, path: &Path, name: &str) -> Result<Recipe> {
    let names = || {
        let names: Vec<&str> = study.kernels.keys().map(String::as_str).collect();
        known_words(name, &names, "its file")
    };
    match study.kernels.get(name) {
        Some(recipe) => Ok(recipe.clone()),
        None if study.kernels.is_empty() => {
            bail!("{} has no [kernels.{name}], nor any other", path.display())
        }
        None => bail!("{} has no [kernels.{name}]; it has {}", path.display(), names()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_was_there_is_not_called_built() {
        let mut built: Built = serde_json::from_value(serde_json::json!({
            "key": "k", "source": "", "compiler": "", "config": [], "patches": [], "release": "6.12.1",
            "objects": 1093, "seconds": 144,
        }))
        .unwrap();
        let there = in_words(&built);
        assert!(
            there.contains("there already, nothing was built (it took 1093 objects in 144 s)"),
            "{there}"
        );
        built.is_new = true;
        assert!(in_words(&built).contains("as built:k, 1093 objects in 144 s; "), "{}", in_words(&built));
    }
}
