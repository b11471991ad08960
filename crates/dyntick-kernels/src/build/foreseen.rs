// SPDX-License-Identifier: GPL-2.0-only
//! The refusals that the texts of a recipe decide, before any source is asked for, fetched or unpacked.

use super::diff::changed_files;
use super::fragment::{self, Need, Options, merged, split};
use super::parts::Parts;
use super::{Accept, BuildError, patches};
use dyntick_model::{KernelConfig, Recipe};

/// An option that the sources of Debian have from a series on.
struct Since {
    option: &'static str,
    series: (u32, u32),
}

/// Options of fragments that come with dyntick: x86 selects ARCH_SUPPORTS_RT from 6.12 on (`arch/x86/Kconfig`), and
/// RCU_LAZY came with 6.2 (`kernel/rcu/Kconfig`).
const SINCE: [Since; 2] =
    [Since { option: "PREEMPT_RT", series: (6, 12) }, Since { option: "RCU_LAZY", series: (6, 2) }];

/// The members of the choice "Timer tick handling": one of them excludes the others (`kernel/time/Kconfig`, 6.12 and
/// 7.2).
const TICK_MODES: [&str; 3] = ["HZ_PERIODIC", "NO_HZ_IDLE", "NO_HZ_FULL"];

/// Refuses a recipe for its texts alone: files that cannot be read, lines that no fragment has, damaged patches,
/// options that the named series of Debian does not have, and what `accept` says of the options that the fragments
/// decide.
pub fn foresee(recipe: &Recipe, accept: Accept<'_>) -> Result<(), BuildError> {
    let parts = Parts::load(recipe)?;
    patches::sound(&parts.patches)?;
    let (whole, fragments) = split(&parts);
    if let Some(whole) = whole {
        fragment::parse(&whole.file, &whole.text)?;
    }
    let wanted = merged(fragments)?;
    // Options may be made or freed by a patch.
    let changes_options = parts.patches.iter().any(|patch| {
        patch.is_semantic() || changed_files(&patch.text).iter().any(|file| file.contains("Kconfig"))
    });
    let options = if changes_options { Vec::new() } else { too_new(&parts.source, &wanted) };
    if !options.is_empty() {
        return Err(BuildError::TooOld { source_text: parts.source, options });
    }
    let problems = accept(&decided(&wanted, !changes_options));
    if problems.is_empty() { Ok(()) } else { Err(BuildError::Unfit(problems)) }
}

/// The options that a series of Debian does not have, with the first one that has each.
fn too_new(source: &str, wanted: &Options) -> Vec<String> {
    let series = source.strip_prefix("debian:").and_then(|series| series.split_once('.'));
    let series = series.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let Some(series): Option<(u32, u32)> = series else { return Vec::new() };
    let lacked = SINCE.iter().filter(|since| series < since.series);
    let line = |since: &Since| {
        let asked =
            wanted.get(since.option).filter(|asked| asked.need == Need::Always && asked.value != "n")?;
        let (major, minor) = since.series;
        Some(format!(
            "  {}: CONFIG_{}={} needs Linux {major}.{minor} or newer: choose debian:6.12, or leave the option out",
            asked.place, since.option, asked.value
        ))
    };
    lacked.filter_map(line).collect()
}

/// The part of the configuration that the fragments decide: if an option does not become what is always wanted of it,
/// the kernel is not built.
fn decided(wanted: &Options, with_choices: bool) -> KernelConfig {
    let always = || wanted.iter().filter(|(_, wanted)| wanted.need == Need::Always);
    let is_on = |option: &str| always().any(|(name, wanted)| name == option && wanted.value == "y");
    let mut values: Vec<(&str, &str)> =
        always().map(|(option, wanted)| (option.as_str(), wanted.value.as_str())).collect();
    if with_choices && TICK_MODES.iter().any(|mode| is_on(mode)) {
        values.extend(TICK_MODES.iter().filter(|mode| !is_on(mode)).map(|mode| (*mode, "n")));
    }
    KernelConfig::part(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(source: &str, config: &[&str]) -> Recipe {
        let config = config.iter().map(|name| (*name).to_owned()).collect();
        Recipe { source: source.into(), config, patches: Vec::new() }
    }

    #[test]
    fn options_of_later_series_are_refused_by_the_text() {
        let foreseen = |source: &str, config: &[&str]| {
            foresee(&recipe(source, config), &|_| Vec::new()).map_err(|error| error.to_string())
        };
        assert_eq!(
            foreseen("debian:6.1", &["lab", "preempt-rt"]).unwrap_err(),
            "cannot configure a kernel of debian:6.1:\n  preempt-rt.config:4: CONFIG_PREEMPT_RT=y needs Linux 6.12 \
             or newer: choose debian:6.12, or leave the option out"
        );
        assert!(
            foreseen("debian:6.1", &["lab", "rcu-lazy"]).unwrap_err().contains("RCU_LAZY=y needs Linux 6.2")
        );
        for source in ["debian:6.12", "debian:sid", "git:.#v6.1-rt", "./linux-6.1-rt.tar.xz"] {
            foreseen(source, &["lab", "preempt-rt", "rcu-lazy"]).unwrap();
        }
    }

    #[test]
    fn fragments_decide_what_they_say_and_the_choice_of_the_tick() {
        let has = |config: &[&str], option: &str| {
            let of = recipe("debian:6.12", config);
            let seen = std::cell::Cell::new(false);
            foresee(&of, &|config| {
                seen.set(config.is_enabled(option));
                Vec::new()
            })
            .unwrap();
            seen.get()
        };
        assert!(!has(&["lab", "no-hz-idle"], "NO_HZ_FULL"), "it is switched off");
        assert!(!has(&["lab"], "NO_HZ_FULL"), "NO_HZ_IDLE excludes it");
        assert!(has(&["lab", "no-hz-full"], "NO_HZ_FULL") && !has(&["lab", "no-hz-full"], "NO_HZ_IDLE"));
        assert!(has(&["lab"], "RCU_LAZY"), "no fragment decides it");
        assert!(has(&["lab"], "PREEMPT_VOLUNTARY"), "it is wanted where possible");
        assert!(!has(&["lab", "no-rcu-nocb"], "RCU_NOCB_CPU"));
    }

    #[test]
    fn every_text_that_is_wrong_is_refused_before_the_source_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let problem = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let path = path.to_string_lossy().into_owned();
            let mut recipe = recipe("./no-such-folder", &["lab"]);
            if name.ends_with(".config") {
                recipe.config.push(path)
            } else {
                recipe.patches.push(path)
            }
            foresee(&recipe, &|_| Vec::new()).unwrap_err().to_string()
        };
        assert!(problem("a.config", "NO_HZ_FULL=y\n").contains("a.config:1: this line is neither"));
        assert!(problem("a.txt", "").contains("neither a .patch, .diff nor .cocci file"));
        assert!(problem("empty.patch", "no diff\n").contains("contains no change"));
        let outside = "--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b\n";
        assert!(problem("outside.patch", outside).contains("not a file inside the source tree"));
        let damaged = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\nb\n";
        assert!(problem("damaged.patch", damaged).contains("damaged at line 5"));
    }
}
