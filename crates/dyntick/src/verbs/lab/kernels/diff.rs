// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab kernels diff`: in what two kernels' configurations and patches differ.

use super::super::named;
use crate::json;
use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_kernels::cache::Cache;
use dyntick_kernels::find::Kernel;
use dyntick_model::KernelConfig;
use serde_json::json;
use std::collections::BTreeSet;
use std::process::ExitCode;

/// What may be said to `lab kernels diff`.
#[derive(Args)]
pub struct Arguments {
    /// Kernel, as in a study (debian:6.12, built:KEY, a path) or as STUDY.toml:NAME
    old: String,
    /// Kernel to compare it with
    new: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One option that is not the same; `None` where it is not set.
#[derive(Debug, PartialEq, Eq)]
struct Change<'a> {
    option: &'a str,
    old: Option<&'a str>,
    new: Option<&'a str>,
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
    let changes = changes(&old.config, &new.config);
    let (gone, added) = (patches_without(&old, &new), patches_without(&new, &old));
    if arguments.json {
        let of =
            |change: &Change<'_>| json!({ "option": change.option, "old": change.old, "new": change.new });
        let options: Vec<_> = changes.iter().map(of).collect();
        let patches = json!({ "old": gone, "new": added });
        let releases = json!([old.release, new.release]);
        let all = json!({ "releases": releases, "options": options, "patches": patches });
        output::json(&json::LAB_KERNELS_DIFF.of(&all))?;
    } else {
        changes.iter().try_for_each(output::line)?;
        gone.iter().try_for_each(|patch| output::line(format_args!("-patch {patch}")))?;
        added.iter().try_for_each(|patch| output::line(format_args!("+patch {patch}")))?;
        if old.release != new.release {
            output::line(format_args!(" release {} -> {}", old.release, new.release))?;
        }
    }
    let same = changes.is_empty() && gone.is_empty() && added.is_empty() && old.release == new.release;
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
