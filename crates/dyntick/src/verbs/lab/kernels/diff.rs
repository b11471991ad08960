// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab kernels diff`: in what two kernels' configurations and patches differ.

use super::super::named::kernel;
use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dyntick_contract::lab::{Change, Group, KernelsDiff, OFF, Patches};
use dyntick_kernels::cache::Cache;
use dyntick_kernels::find::Kernel;
use dyntick_model::{KernelConfig, KernelVersion};
use std::collections::BTreeSet;
use std::process::ExitCode;

/// The arguments of `dyntick lab kernels diff`.
#[derive(Args)]
pub struct Arguments {
    /// Kernel, as in a study (debian:6.12, built:KEY, a path) or as STUDY:NAME
    old: String,
    /// Kernel to compare it with
    new: String,
    /// Compare only options of these groups, and neither patches nor releases; they also decide the exit status
    #[arg(long, value_parser = groups(), value_delimiter = ',', value_name = "GROUP,…")]
    only: Vec<Group>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The groups of options as values of an argument.
fn groups() -> impl TypedValueParser<Value = Group> {
    let value = |group: &Group| PossibleValue::new(group.name()).help(group.about());
    let of_name = |name: String| Group::ALL.iter().copied().find(|group| group.name() == name);
    PossibleValuesParser::new(Group::ALL.iter().map(value))
        .try_map(move |name| of_name(name).ok_or("no such group"))
}

/// Compares; the status is 1 where they differ, as diff(1) has it.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cache = Cache::of_user()?;
    let find = |name: &str| {
        let kernel = kernel(name, &cache, &|text| output::step(text))?;
        if kernel.config.is_empty() {
            bail!("the configuration of {name} is not known: it is neither next to the image nor in it");
        }
        Ok(kernel)
    };
    let (old, new) = (find(&arguments.old)?, find(&arguments.new)?);
    let only = &arguments.only[..];
    let mut changes = changes(&old.config, &new.config);
    changes.retain(|change| only.is_empty() || only.iter().any(|group| group.has(change.option)));
    let compared = || Patches { old: patches_without(&old, &new), new: patches_without(&new, &old) };
    let patches = only.is_empty().then(compared);
    let another_release = only.is_empty() && old.release != new.release;
    let same_patches = patches.as_ref().is_none_or(Patches::is_empty);
    let same = changes.is_empty() && same_patches && !another_release;
    if arguments.json {
        let releases = [&old.release, &new.release];
        output::json(&KernelsDiff { releases, only, options: changes, patches })?;
    } else if !same {
        let names = [(&arguments.old, &old), (&arguments.new, &new)];
        heading(names.map(|(name, kernel)| named(name, &kernel.release)))
            .iter()
            .try_for_each(output::line)?;
        changes.iter().try_for_each(output::line)?;
        patches.iter().flat_map(Patches::lines).try_for_each(output::line)?;
    }
    Ok(ExitCode::from(u8::from(!same)))
}

/// A kernel as it was asked for, with its release where that is not said by the name.
fn named(name: &str, release: &KernelVersion) -> String {
    let release = release.to_string();
    if name.contains(&release) { name.to_owned() } else { format!("{name} ({release})") }
}

/// The heading: the sign of each kernel, and the words for no value.
fn heading([old, new]: [String; 2]) -> [String; 5] {
    [
        format!("--- {old}"),
        format!("+++ {new}"),
        "- is set in the first only, + in the second only; off: not set; absent: no such".to_owned(),
        "option, or one whose dependencies are not met".to_owned(),
        String::new(),
    ]
}

/// The changed options, by name.
fn changes<'a>(old: &'a KernelConfig, new: &'a KernelConfig) -> Vec<Change<'a>> {
    let names: BTreeSet<&str> = old.iter().chain(new.iter()).map(|(name, _)| name).collect();
    let change = |option| Change { option, old: value(old, option), new: value(new, option) };
    names.into_iter().filter(|option| old.get(option) != new.get(option)).map(change).collect()
}

/// A configuration that does not say what is off has everything else so.
fn value<'a>(config: &'a KernelConfig, option: &str) -> Option<&'a str> {
    let is_off = config.is_off(option) || !config.names_what_is_off();
    config.get(option).or(is_off.then_some(OFF))
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
        let old = KernelConfig::parse(
            "CONFIG_HZ=250\nCONFIG_NO_HZ_IDLE=y\nCONFIG_SMP=y\nCONFIG_GONE=y\n# CONFIG_NO_HZ_FULL is not set\n",
        );
        let new = KernelConfig::parse(
            "CONFIG_HZ=1000\nCONFIG_NO_HZ_FULL=y\nCONFIG_SMP=y\nCONFIG_NEW=m\n# CONFIG_NO_HZ_IDLE is not set\n# CONFIG_OFF is not set\n",
        );
        let shown: Vec<String> = changes(&old, &new).iter().map(ToString::to_string).collect();
        let expected = [
            "-GONE y -> absent",
            " HZ 250 -> 1000",
            "+NEW absent -> m",
            "+NO_HZ_FULL off -> y",
            "-NO_HZ_IDLE y -> off",
        ];
        assert_eq!(shown, expected, "an option that is new and off changes nothing");
        assert!(changes(&old, &old).is_empty());
        let list = KernelConfig::parse("CONFIG_HZ=250\nCONFIG_SMP=y\n");
        assert_eq!(changes(&old, &list)[0].to_string(), "-GONE y -> off", "it does not say what it has");
    }

    #[test]
    fn kernels_are_named_with_their_releases() {
        let release: KernelVersion = "6.12.117+deb12-amd64".parse().unwrap();
        assert_eq!(named("debian:6.12", &release), "debian:6.12 (6.12.117+deb12-amd64)");
        assert_eq!(named("debian:6.12.117+deb12-amd64", &release), "debian:6.12.117+deb12-amd64");
        assert!(heading(["a".into(), "b".into()]).iter().all(|line| line.len() <= 80));
    }
}
