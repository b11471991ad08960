// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab kernels diff`: in what two kernels' configurations and patches differ, or two files of configurations.

use super::super::build::ensure_all;
use super::super::named::{kernel, of_study, place};
use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dyntick_contract::lab::{Change, Group, KernelsDiff, OFF, Patches};
use dyntick_kernels::cache::Cache;
use dyntick_kernels::find::{Configuration, Kernel, KernelError, configuration};
use dyntick_model::{KernelConfig, KernelVersion};
use dyntick_report::numbers;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

/// The arguments of `dyntick lab kernels diff`.
#[derive(Args)]
pub struct Arguments {
    /// Kernel, as in a study (debian:6.12, built:KEY, a path) or as STUDY:NAME; or the file of a configuration
    /// (.config, config-6.12, /proc/config.gz)
    old: String,
    /// Kernel or file to compare it with
    new: String,
    /// Compare only options of these groups, and neither patches nor releases; they also decide the exit status
    #[arg(long, value_parser = groups(), value_delimiter = ',', value_name = "GROUP,…", ignore_case = true)]
    only: Vec<Group>,
    /// List all options, also those that only one kernel knows and that are not set there; the latter do not change
    /// the exit status
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The groups of options as values of an argument.
fn groups() -> impl TypedValueParser<Value = Group> {
    let value = |group: &Group| PossibleValue::new(group.name()).help(group.about());
    let of_name =
        |name: String| Group::ALL.iter().copied().find(|group| group.name().eq_ignore_ascii_case(&name));
    PossibleValuesParser::new(Group::ALL.iter().map(value))
        .try_map(move |name| of_name(name).ok_or("no such group"))
}

/// Compares; the status is 1 where they differ, as diff(1) has it.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cache = Cache::of_user()?;
    let mut to_order = Vec::new();
    for name in [&arguments.old, &arguments.new] {
        to_order.extend(of_study(name)?.map(|(_, recipe)| (name.clone(), recipe)));
    }
    ensure_all(&to_order, &cache)?;
    // One that need not be compiled is looked for before one that must be.
    let (old, new) = if of_study(&arguments.new)?.is_none() {
        let new = Side::of(&arguments.new, &cache)?;
        (Side::of(&arguments.old, &cache)?, new)
    } else {
        (Side::of(&arguments.old, &cache)?, Side::of(&arguments.new, &cache)?)
    };
    let only = &arguments.only[..];
    let mut changes = changes(&old.config, &new.config);
    let mut off = off_in_one(&old.config, &new.config);
    let parts: Vec<&KernelConfig> =
        [&old, &new].into_iter().filter(|side| side.is_part()).map(|side| &side.config).collect();
    for all in [&mut changes, &mut off] {
        all.retain(|change| only.is_empty() || only.iter().any(|group| group.has(change.option)));
        all.retain(|change| parts.iter().all(|part| names(part, change.option)));
    }
    if let [part, ..] = &parts[..] {
        let named =
            numbers::counted(part.iter().chain(part.off().map(|off| (off, OFF))).count() as u64, "option");
        output::note(format_args!(
            "one side is a part of a configuration: only the {named} that it names are compared"
        ));
    }
    // A configuration alone has neither patches nor a complete release.
    let kernels = old.kernel.as_ref().zip(new.kernel.as_ref()).filter(|_| only.is_empty());
    let patches =
        kernels.map(|(old, new)| Patches { old: patches_without(old, new), new: patches_without(new, old) });
    let another_release = kernels.is_some_and(|(old, new)| old.release != new.release);
    let same_patches = patches.as_ref().is_none_or(Patches::is_empty);
    let same = changes.is_empty() && same_patches && !another_release;
    // A part of a configuration says nothing of the choices that it does not name.
    let choices = if parts.is_empty() { choices(&old.config, &new.config, only) } else { Vec::new() };
    let hidden = if arguments.full { 0 } else { off.len() };
    if arguments.full {
        changes.append(&mut off);
        changes.sort_by_key(|change| change.option);
    }
    if arguments.json {
        let releases = [old.release.as_ref(), new.release.as_ref()];
        output::json(&KernelsDiff { releases, only, options: changes, off_in_one: hidden, patches })?;
    } else if same && changes.is_empty() {
        output::line(alike(only, kernels.is_some()))?;
        choices.iter().try_for_each(output::line)?;
    } else {
        let names = [(&arguments.old, &old), (&arguments.new, &new)];
        heading(names.map(|(name, side)| named(name, side.release.as_ref())))
            .iter()
            .try_for_each(output::line)?;
        choices.iter().try_for_each(output::line)?;
        output::line("")?;
        let folded = if arguments.full { 0 } else { fold(&mut changes) };
        options(&changes, hidden).iter().try_for_each(output::line)?;
        if folded > 0 {
            let more = numbers::counted(folded as u64, "option");
            output::line(format_args!("{more} of other groups differ; --full lists them"))?;
        }
        patches.iter().flat_map(Patches::lines).try_for_each(output::line)?;
    }
    Ok(ExitCode::from(u8::from(!same)))
}

/// One side: a kernel, or the file of a configuration.
struct Side {
    release: Option<KernelVersion>,
    config: KernelConfig,
    kernel: Option<Kernel>,
}

/// The options of a configuration that is certainly complete: one has thousands.
const COMPLETE: usize = 200;

impl Side {
    /// Returns true for a part of a configuration, which says nothing of options that it does not name.
    fn is_part(&self) -> bool {
        self.kernel.is_none() && self.config.iter().count() < COMPLETE
    }

    fn of(name: &str, cache: &Cache) -> Result<Self> {
        if let Some(Configuration { version, options }) = configuration_of(name)? {
            return Ok(Side { release: version, config: options, kernel: None });
        }
        let kernel = kernel(name, cache, &|text| output::step(text)).map_err(|error| {
            match error.downcast_ref::<KernelError>() {
                Some(KernelError::Image { .. }) => error.context(format!(
                    "cannot compare {name}: it is no configuration, plain or by gzip, and no kernel"
                )),
                _ => error,
            }
        })?;
        if kernel.config.is_empty() {
            bail!(
                "the configuration of {name} is not known: it is not in the image, and beside it is neither \
                 config-{release} nor a config or .config of this version; copy it there",
                release = kernel.release
            );
        }
        Ok(Side {
            release: Some(kernel.release.clone()),
            config: kernel.config.clone(),
            kernel: Some(kernel),
        })
    }
}

/// The configuration in the file of this name, if there is one and it is no image.
fn configuration_of(name: &str) -> Result<Option<Configuration>> {
    let place = place(name)?;
    let path = Path::new(&place);
    Ok(if path.is_file() { configuration(path)? } else { None })
}

/// The line for two sides that do not differ in what was compared; `are_kernels` is false if one is a configuration.
fn alike(only: &[Group], are_kernels: bool) -> String {
    let groups: Vec<&str> = only.iter().map(|group| group.name()).collect();
    if !groups.is_empty() {
        format!("no difference in {}", groups.join(", "))
    } else if are_kernels {
        "no difference in options, patches and release".to_owned()
    } else {
        "no difference in options".to_owned()
    }
}

/// A side as it was asked for, with its release where that is known and not said by the name.
fn named(name: &str, release: Option<&KernelVersion>) -> String {
    let Some(release) = release.map(KernelVersion::to_string) else { return name.to_owned() };
    if name.contains(&release) { name.to_owned() } else { format!("{name} ({release})") }
}

/// The heading: the sign of each kernel, and the word for no value.
fn heading([old, new]: [String; 2]) -> [String; 3] {
    [
        format!("--- {old}"),
        format!("+++ {new}"),
        "- is set in the first only, + in the second only; off: not set".to_owned(),
    ]
}

/// The choices by which two kernels differ most, of each the options that exclude one another. HRTICK is on by
/// default with `HRTIMER_REARM_DEFERRED` (`kernel/sched/features.h` of 7.2).
const CHOICES: &[(Group, &[&str])] = &[
    (Group::Hz, &["HZ"]),
    (Group::Tick, &["NO_HZ_FULL", "NO_HZ_IDLE", "HZ_PERIODIC"]),
    (Group::Tick, &["VIRT_CPU_ACCOUNTING_GEN", "VIRT_CPU_ACCOUNTING_NATIVE", "TICK_CPU_ACCOUNTING"]),
    (Group::Tick, &["HRTIMER_REARM_DEFERRED"]),
    (Group::Preempt, &["PREEMPT_RT", "PREEMPT", "PREEMPT_LAZY", "PREEMPT_VOLUNTARY", "PREEMPT_NONE"]),
    (Group::Rcu, &["RCU_NOCB_CPU"]),
    (Group::Rcu, &["RCU_LAZY"]),
];

/// The answer before the list: the choices on which both agree, then those on which they do not.
fn choices(old: &KernelConfig, new: &KernelConfig, only: &[Group]) -> Vec<String> {
    let mut same = Vec::new();
    let mut different = Vec::new();
    for (_, options) in CHOICES.iter().filter(|(group, _)| only.is_empty() || only.contains(group)) {
        let note = if options == &["HRTIMER_REARM_DEFERRED"] { " (HRTICK by default)" } else { "" };
        match (choice(old, options), choice(new, options)) {
            (old, new) if old == new => same.extend(old),
            (None, Some(new)) => different.push(format!("no {} -> {new}{note}", options[0])),
            (Some(old), None) => different.push(format!("{old} -> no {}", options[0])),
            (Some(old), Some(new)) => different.push(format!("{old} -> {new}")),
            (None, None) => {}
        }
    }
    let line =
        |title: &str, all: &[String]| (!all.is_empty()).then(|| format!("{title}: {}", all.join(", ")));
    [line("the same", &same), line("different", &different)].into_iter().flatten().collect()
}

/// The one of these options that is set, with its value if that is no yes.
fn choice(config: &KernelConfig, options: &[&str]) -> Option<String> {
    let (option, value) = options.iter().find_map(|option| Some((option, config.get(option)?)))?;
    Some(if value == "y" { (*option).to_owned() } else { format!("{option} {value}") })
}

/// The longest list that is shown as it is.
const LONGEST: usize = 32;

/// Leaves the options of groups alone in a list that is too long to be read, and gives the number of the others.
fn fold(changes: &mut Vec<Change<'_>>) -> usize {
    let all = changes.len();
    if all > LONGEST {
        changes.retain(|change| Group::ALL.iter().any(|group| group.has(change.option)));
    }
    all - changes.len()
}

/// The options with two values, then those that only one kernel has.
fn options(changes: &[Change<'_>], hidden: usize) -> Vec<String> {
    let (in_one, in_both): (Vec<&Change<'_>>, Vec<&Change<'_>>) =
        changes.iter().partition(|change| change.is_in_one());
    let mut lines: Vec<String> = in_both.iter().map(ToString::to_string).collect();
    if !in_one.is_empty() {
        let separator = (!lines.is_empty()).then(String::new);
        let title = "Options that only one of them has, or whose dependencies only one meets:".to_owned();
        lines.extend(separator.into_iter().chain([title]));
        lines.extend(in_one.iter().map(ToString::to_string));
    }
    if hidden > 0 {
        let more = numbers::counted(hidden as u64, "more option");
        lines.push(format!("{more} that only one of them has, not set there; --full lists them"));
    }
    lines
}

/// The changed options, by name.
fn changes<'a>(old: &'a KernelConfig, new: &'a KernelConfig) -> Vec<Change<'a>> {
    let names: BTreeSet<&str> = old.iter().chain(new.iter()).map(|(name, _)| name).collect();
    let change = |option| Change { option, old: value(old, option), new: value(new, option) };
    names.into_iter().filter(|option| old.get(option) != new.get(option)).map(change).collect()
}

/// The options that one configuration lists as not set and the other does not have, by name.
fn off_in_one<'a>(old: &'a KernelConfig, new: &'a KernelConfig) -> Vec<Change<'a>> {
    let change = |option| Change { option, old: value(old, option), new: value(new, option) };
    let all: BTreeSet<&str> = old.off().chain(new.off()).collect();
    let is_off_in_one =
        |change: &Change<'_>| matches!((change.old, change.new), (Some(OFF), None) | (None, Some(OFF)));
    all.into_iter().map(change).filter(is_off_in_one).collect()
}

/// A configuration that does not say what is off has everything else so.
fn value<'a>(config: &'a KernelConfig, option: &str) -> Option<&'a str> {
    let is_off = config.is_off(option) || !config.names_what_is_off();
    config.get(option).or(is_off.then_some(OFF))
}

/// Returns true if a configuration says that the option is on or off.
fn names(config: &KernelConfig, option: &str) -> bool {
    config.get(option).is_some() || config.is_off(option)
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
        let expected =
            ["-GONE y", " HZ 250 -> 1000", "+NEW m", "+NO_HZ_FULL off -> y", "-NO_HZ_IDLE y -> off"];
        assert_eq!(shown, expected, "an option that is new and off changes nothing");
        assert!(changes(&old, &old).is_empty());
        let off: Vec<String> = off_in_one(&old, &new).iter().map(ToString::to_string).collect();
        assert_eq!(off, [" OFF off"], "NO_HZ_FULL and NO_HZ_IDLE are known to both");
        let expected = [
            " HZ 250 -> 1000",
            "+NO_HZ_FULL off -> y",
            "-NO_HZ_IDLE y -> off",
            "",
            "Options that only one of them has, or whose dependencies only one meets:",
            "-GONE y",
            "+NEW m",
            "1 more option that only one of them has, not set there; --full lists them",
        ];
        assert_eq!(options(&changes(&old, &new), off.len()), expected);
        let list = KernelConfig::parse("CONFIG_HZ=250\nCONFIG_SMP=y\n");
        assert_eq!(changes(&old, &list)[0].to_string(), "-GONE y -> off", "it does not say what it has");
    }

    #[test]
    fn the_choices_come_first() {
        let old = KernelConfig::parse("CONFIG_HZ=250\nCONFIG_NO_HZ_FULL=y\nCONFIG_PREEMPT_VOLUNTARY=y\n");
        let new = KernelConfig::parse(
            "CONFIG_HZ=1000\nCONFIG_NO_HZ_FULL=y\nCONFIG_PREEMPT_LAZY=y\nCONFIG_RCU_LAZY=y\n",
        );
        let expected = [
            "the same: NO_HZ_FULL",
            "different: HZ 250 -> HZ 1000, PREEMPT_VOLUNTARY -> PREEMPT_LAZY, no RCU_LAZY -> RCU_LAZY",
        ];
        assert_eq!(choices(&old, &new, &[]), expected);
        assert_eq!(choices(&old, &new, &[Group::Hz]), ["different: HZ 250 -> HZ 1000"]);
    }

    #[test]
    fn a_long_list_leaves_the_options_of_no_group_out() {
        let names: Vec<String> =
            (0..LONGEST).map(|number| format!("DRIVER_{number}")).chain(["HZ".to_owned()]).collect();
        let change = |option| Change { option, old: None, new: Some("y") };
        let mut changes: Vec<Change<'_>> = names.iter().map(|name| change(name.as_str())).collect();
        assert_eq!(fold(&mut changes), LONGEST);
        assert_eq!(changes[0].option, "HZ");
        assert_eq!(fold(&mut changes), 0, "a short one stays");
    }

    #[test]
    fn no_difference_is_said_with_what_was_compared() {
        assert_eq!(alike(&[Group::Tick, Group::Hz], true), "no difference in tick, hz");
        assert_eq!(alike(&[], true), "no difference in options, patches and release");
        assert_eq!(alike(&[], false), "no difference in options");
    }

    #[test]
    fn kernels_are_named_with_their_releases() {
        let release: KernelVersion = "6.12.117+deb12-amd64".parse().unwrap();
        assert_eq!(named("debian:6.12", Some(&release)), "debian:6.12 (6.12.117+deb12-amd64)");
        assert_eq!(named("debian:6.12.117+deb12-amd64", Some(&release)), "debian:6.12.117+deb12-amd64");
        assert_eq!(named(".config", None), ".config");
        assert!(heading(["a".into(), "b".into()]).iter().all(|line| line.len() <= 80));
    }
}
