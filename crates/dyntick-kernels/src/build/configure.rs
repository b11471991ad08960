// SPDX-License-Identifier: GPL-2.0-only
//! From fragments to a kernel's configuration, and whether it became what they say.

use super::BuildError;
use super::fragment::{self, Need, Options, Wanted, merged, split};
use super::kconfig::{self, Definition};
use super::parts::Parts;
use super::products;
use super::program::Builder;
use crate::cache::write_whole;
use dyntick_model::KernelConfig;
use dyntick_model::text::nearest;
use dyntick_model::text::shortened;

/// The configuration of kbuild, in the folder of the objects.
pub const CONFIG: &str = ".config";
/// The fragments as one, which `allnoconfig` starts from.
const ALL: &str = "dyntick.config";

/// Writes the `.config` of these parts. Options that did not become what a fragment says are an
/// error that names each with its conditions.
pub fn configure(parts: &Parts, builder: &Builder<'_>) -> Result<KernelConfig, BuildError> {
    let (whole, fragments) = split(parts);
    let wanted = merged(fragments)?;
    let objects = builder.space.objects();
    match whole {
        // Of two values for an option kconfig takes the last.
        Some(whole) => {
            // Its options alone: the source's Makefile reads it, and a study may name any file that begins as one.
            let all = fragment::parse(&whole.file, &whole.text)?;
            let text = format!("{}\n{}", fragment::render(&all), fragment::render(&wanted));
            write_whole(&objects.join(CONFIG), text.as_bytes())?;
            builder.run("configure the kernel", builder.make(&["olddefconfig"]), &[])?;
        }
        None => {
            write_whole(&objects.join(ALL), fragment::render(&wanted).as_bytes())?;
            let mut make = builder.make(&["allnoconfig"]);
            make.env("KCONFIG_ALLCONFIG", objects.join(ALL));
            builder.run("configure the kernel", make, &[])?;
        }
    }
    let config = KernelConfig::parse(&products::text(&objects, CONFIG)?);
    let different = different(&wanted, &config);
    if different.is_empty() {
        return Ok(config);
    }
    let told = explain(&different, &config, &kconfig::definitions(&builder.space.tree()));
    if told.is_empty() { Ok(config) } else { Err(BuildError::NotTaken(told)) }
}

/// The options whose value is another than wanted.
fn different<'a>(wanted: &'a Options, config: &KernelConfig) -> Vec<(&'a str, &'a Wanted)> {
    let differs = |(option, wanted): &(&'a String, &'a Wanted)| {
        config.get(option).unwrap_or("n") != wanted.value.trim_matches('"')
    };
    wanted.iter().filter(differs).map(|(option, wanted)| (option.as_str(), wanted)).collect()
}

/// The part of an option's value that is shown, characters.
const LONGEST_VALUE: usize = 300;

/// The limits of an error: options, definitions of each, conditions of each. An untrusted tree
/// has any number.
const MOST_OPTIONS: usize = 50;
const MOST_DEFINITIONS: usize = 10;
const MOST_CONDITIONS: usize = 20;

/// Each of these options with what it became and what it depends on, leaving out those that the
/// source need not know or take.
fn explain(different: &[(&str, &Wanted)], config: &KernelConfig, definitions: &[Definition]) -> Vec<String> {
    let is_known = |option: &str| definitions.iter().any(|definition| definition.option == option);
    let needed = |(option, wanted): &&(&str, &Wanted)| match wanted.need {
        Need::WherePossible => false,
        Need::WhereKnown => is_known(option),
        Need::Always => true,
    };
    let needed: Vec<_> = different.iter().filter(needed).collect();
    let mut told = Vec::new();
    for (option, wanted) in needed.iter().take(MOST_OPTIONS) {
        let here: Vec<&Definition> =
            definitions.iter().filter(|d| d.option == *option).take(MOST_DEFINITIONS).collect();
        let became = config.get(option).unwrap_or("n (not set)");
        let (value, became) = (shortened(&wanted.value, LONGEST_VALUE), shortened(became, LONGEST_VALUE));
        told.push(format!("  {}: CONFIG_{option}={value} became {became}", wanted.place));
        if here.is_empty() {
            told.push(format!("    this source has no such option{}", hint(option, definitions)));
        }
        for definition in here {
            let conditions = definition.depends.iter().take(MOST_CONDITIONS);
            let conditions = conditions.map(|condition| kconfig::with_values(condition, config));
            let conditions = conditions.collect::<Vec<_>>().join(" && ");
            told.push(if conditions.is_empty() {
                format!("    {}: depends on nothing; a choice may exclude it", definition.place)
            } else {
                format!("    {}: depends on {conditions}", definition.place)
            });
        }
        told.extend(selectors(option, wanted, config, definitions));
    }
    if let Some(more) = needed.len().checked_sub(MOST_OPTIONS).filter(|more| *more > 0) {
        told.push(format!("  and {more} options more"));
    }
    told
}

fn hint(option: &str, definitions: &[Definition]) -> String {
    let names: Vec<&str> = definitions.iter().map(|definition| definition.option.as_str()).collect();
    nearest(option, &names).map_or(String::new(), |right| format!("; did you mean CONFIG_{right}?"))
}

/// The options that selected one that should be off.
fn selectors(
    option: &str,
    wanted: &Wanted,
    config: &KernelConfig,
    definitions: &[Definition],
) -> Option<String> {
    let by = definitions
        .iter()
        .filter(|d| config.is_enabled(&d.option) && d.selects.iter().any(|selected| selected == option));
    let mut by: Vec<&str> = by.map(|definition| definition.option.as_str()).collect();
    by.dedup();
    by.truncate(MOST_DEFINITIONS);
    (wanted.value == "n" && !by.is_empty()).then(|| format!("    it is selected by {}", by.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KCONFIG: &str = "config PREEMPT_RT\n\tbool \"rt\"\n\tdepends on EXPERT && ARCH_SUPPORTS_RT\n\
        config RCU_NOCB_CPU\n\tbool \"nocb\"\nconfig NO_HZ_FULL\n\tbool \"full\"\n\tselect RCU_NOCB_CPU\n";

    fn told(fragment: &str, config: &str) -> Vec<String> {
        let config = KernelConfig::parse(config);
        let wanted = fragment::parse("f.config", fragment).unwrap();
        explain(&different(&wanted, &config), &config, &kconfig::parse("kernel/Kconfig", KCONFIG))
    }

    #[test]
    fn an_option_that_did_not_take_tells_why() {
        assert_eq!(
            told("CONFIG_PREEMPT_RT=y\n", "CONFIG_EXPERT=y\n"),
            [
                "  f.config:1: CONFIG_PREEMPT_RT=y became n (not set)",
                "    kernel/Kconfig:1: depends on EXPERT (y) && ARCH_SUPPORTS_RT (n)"
            ]
        );
        let selected =
            told("# CONFIG_RCU_NOCB_CPU is not set\n", "CONFIG_RCU_NOCB_CPU=y\nCONFIG_NO_HZ_FULL=y\n");
        assert_eq!(selected[2], "    it is selected by NO_HZ_FULL");
        let unknown = told("CONFIG_PREMPT_RT=y\n", "");
        assert_eq!(unknown[1], "    this source has no such option; did you mean CONFIG_PREEMPT_RT?");
        let many: String = (0..200).map(|number| format!("CONFIG_X{number}=y\n")).collect();
        let many = told(&many, "");
        assert_eq!((many.len(), many.last().unwrap().as_str()), (101, "  and 150 options more"));
        let long = told(&format!("CONFIG_LSM=\"{}\"\n", "a".repeat(5 << 20)), "");
        assert!(long[0].starts_with("  f.config:1: CONFIG_LSM=\"aaa") && long[0].len() < 500);
    }

    #[test]
    fn accepted_and_unknown_options_differ() {
        assert_eq!(
            told("CONFIG_LSM=\"a\"\n# CONFIG_X is not set\n", "CONFIG_LSM=\"a\"\n"),
            [] as [String; 0]
        );
        assert_eq!(told("# dyntick: where known\nCONFIG_NEW=y\n", ""), [] as [String; 0]);
        assert_eq!(told("# dyntick: where known\nCONFIG_PREEMPT_RT=y\n", "").len(), 2, "it is known");
        assert_eq!(told("# dyntick: where possible\nCONFIG_PREEMPT_RT=y\n", ""), [] as [String; 0]);
    }
}
