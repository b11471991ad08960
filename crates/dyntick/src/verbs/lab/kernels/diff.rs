// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab kernels diff`: in what two kernels' configurations and patches differ.

use super::super::named;
use super::groups::Group;
use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_kernels::cache::Cache;
use dyntick_kernels::find::Kernel;
use dyntick_model::{KernelConfig, KernelVersion};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::process::ExitCode;

/// What may be said to `lab kernels diff`.
#[derive(Args)]
pub struct Arguments {
    /// Kernel, as in a study (debian:6.12, built:KEY, a path) or as STUDY:NAME
    old: String,
    /// Kernel to compare it with
    new: String,
    /// Compare only options of these groups, and neither patches nor releases; they also decide the exit status
    #[arg(long, value_enum, value_delimiter = ',', value_name = "GROUP,…")]
    only: Vec<Group>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One option that is not the same; `None` where it is not set.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Change<'a> {
    /// Its name, without `CONFIG_`.
    option: &'a str,
    /// Its value in the first kernel.
    old: Option<&'a str>,
    /// Its value in the second kernel.
    new: Option<&'a str>,
}

/// How two kernels differ.
#[derive(Serialize, JsonSchema)]
pub struct KernelsDiff<'a> {
    /// The releases of both.
    releases: [&'a KernelVersion; 2],
    /// The groups of options that were compared; all options and the patches where there are none.
    #[serde(skip_serializing_if = "<[Group]>::is_empty")]
    only: &'a [Group],
    /// The options that are not the same, by name.
    options: Vec<Change<'a>>,
    /// The patches that only one of both has.
    patches: Patches,
}

/// Patches by name that only one kernel has.
#[derive(Serialize, JsonSchema)]
struct Patches {
    /// Those of the first.
    old: Vec<String>,
    /// Those of the second.
    new: Vec<String>,
}

impl std::fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.old, self.new) {
            (Some(old), Some(new)) => write!(f, " {} {old} -> {new}", self.option),
            (Some(old), None) => write!(f, "-{} {old}", self.option),
            (None, new) => write!(f, "+{} {}", self.option, new.unwrap_or_default()),
        }
    }
}

/// Compares; the status is 1 where they differ, as diff(1) has it.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cache = Cache::of_user()?;
    let find = |name: &str| {
        let kernel = named::kernel(name, &cache, &|text| output::step(text))?;
        if kernel.config.is_empty() {
            bail!("the configuration of {name} is not known: it is neither next to the image nor in it");
        }
        Ok(kernel)
    };
    let (old, new) = (find(&arguments.old)?, find(&arguments.new)?);
    let only = &arguments.only[..];
    let mut changes = changes(&old.config, &new.config);
    changes.retain(|change| only.is_empty() || only.iter().any(|group| group.has(change.option)));
    let patches = match only.is_empty() {
        true => Patches { old: patches_without(&old, &new), new: patches_without(&new, &old) },
        false => Patches { old: Vec::new(), new: Vec::new() },
    };
    let another_release = only.is_empty() && old.release != new.release;
    let same = changes.is_empty() && patches.old.is_empty() && patches.new.is_empty() && !another_release;
    if arguments.json {
        let releases = [&old.release, &new.release];
        output::json(&KernelsDiff { releases, only, options: changes, patches })?;
    } else {
        changes.iter().try_for_each(output::line)?;
        patches.old.iter().try_for_each(|patch| output::line(format_args!("-patch {patch}")))?;
        patches.new.iter().try_for_each(|patch| output::line(format_args!("+patch {patch}")))?;
        if another_release {
            output::line(format_args!(" release {} -> {}", old.release, new.release))?;
        }
    }
    Ok(ExitCode::from(u8::from(!same)))
}

/// In the order of the options' names.
fn changes<'a>(old: &'a KernelConfig, new: &'a KernelConfig) -> Vec<Change<'a>> {
    let names: BTreeSet<&str> = old.iter().chain(new.iter()).map(|(name, _)| name).collect();
    let change = |option| Change { option, old: old.get(option), new: new.get(option) };
    names.into_iter().map(change).filter(|change| change.old != change.new).collect()
}

/// The patches of `kernel` whose texts the other has not.
fn patches_without(kernel: &Kernel, other: &Kernel) -> Vec<String> {
    let known: Vec<&String> = other.built.iter().flat_map(|built| &built.patch_sha256).collect();
    let of_built = kernel.built.iter().flat_map(|built| built.patches.iter().zip(&built.patch_sha256));
    of_built.filter(|(_, sha256)| !known.contains(sha256)).map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_diffconfig_has_it() {
        let old = KernelConfig::parse("CONFIG_HZ=250\nCONFIG_NO_HZ_IDLE=y\nCONFIG_SMP=y\n");
        let new = KernelConfig::parse("CONFIG_HZ=1000\nCONFIG_NO_HZ_FULL=y\nCONFIG_SMP=y\n");
        let shown: Vec<String> = changes(&old, &new).iter().map(ToString::to_string).collect();
        assert_eq!(shown, [" HZ 250 -> 1000", "+NO_HZ_FULL y", "-NO_HZ_IDLE y"]);
        assert!(changes(&old, &old).is_empty());
    }
}
