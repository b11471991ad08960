// SPDX-License-Identifier: GPL-2.0-only
//! Configuration fragments: read, laid over one another, and written as one.

use super::parts::{Part, Parts};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The condition under which an option is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Take it.
    Always,
    /// Take it if it has such an option.
    WhereKnown,
    /// Take it if the option's conditions hold.
    WherePossible,
}

/// Lines that say so of the options that follow, up to an empty line.
const NEEDS: [(&str, Need); 2] =
    [("# dyntick: where known", Need::WhereKnown), ("# dyntick: where possible", Need::WherePossible)];

/// A value that an option shall have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The same as in a configuration file; `n` if it is not set.
    pub value: String,
    /// File and line.
    pub place: Place,
    /// The sources in which it is wanted.
    pub need: Need,
}

/// The place of an option. A path has up to 4 KiB, and a fragment some thousand options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    file: Arc<str>,
    line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Options by name, without `CONFIG_`.
pub type Options = BTreeMap<String, Wanted>;

/// A line that no fragment has. It is not quoted: a study may name any file of the machine, and an error in the log of
/// a CI would show it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: this line is neither 'CONFIG_NAME=value' nor '# CONFIG_NAME is not set' nor a comment")]
pub struct FragmentError {
    /// File and line.
    pub place: Place,
}

/// Reads a fragment; `file` names it in messages. If an option is set twice, the last line counts.
pub fn parse(file: &str, text: &str) -> Result<Options, FragmentError> {
    let file: Arc<str> = file.into();
    let mut options = Options::new();
    let mut need = Need::Always;
    for (number, line) in text.lines().map(str::trim).enumerate() {
        let place = Place { file: Arc::clone(&file), line: number + 1 };
        need = match NEEDS.iter().find(|(marker, _)| *marker == line) {
            Some((_, marked)) => *marked,
            None if line.is_empty() => Need::Always,
            None => need,
        };
        match setting(line) {
            Some((option, value)) => {
                options.insert(option.to_owned(), Wanted { value: value.to_owned(), place, need });
            }
            None if line.is_empty() || line.starts_with('#') => {}
            None => return Err(FragmentError { place }),
        }
    }
    Ok(options)
}

/// The kernel's longest has some 60 characters; one that is unknown is compared with all that are known.
const LONGEST_OPTION: usize = 200;

/// Option and value of a line, if it has any.
fn setting(line: &str) -> Option<(&str, &str)> {
    let unset = line.strip_prefix("# CONFIG_").and_then(|rest| rest.strip_suffix(" is not set"));
    let (option, value) = match unset {
        Some(option) => (option, "n"),
        None => line.strip_prefix("CONFIG_")?.split_once('=')?,
    };
    let named = (1..=LONGEST_OPTION).contains(&option.len())
        && option.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (named && !value.is_empty()).then_some((option, value))
}

/// The later fragment wins.
pub fn merge(fragments: impl IntoIterator<Item = Options>) -> Options {
    fragments.into_iter().fold(Options::new(), |mut all, fragment| {
        all.extend(fragment);
        all
    })
}

/// The text of a configuration file.
pub fn render(options: &Options) -> String {
    let line = |(option, wanted): (&String, &Wanted)| match wanted.value.as_str() {
        "n" => format!("# CONFIG_{option} is not set\n"),
        value => format!("CONFIG_{option}={value}\n"),
    };
    options.iter().map(line).collect()
}

/// True for a full configuration, as kconfig itself writes it.
pub fn is_whole(text: &str) -> bool {
    text.lines().take(3).any(|line| line.starts_with("# Automatically generated file"))
}

/// The full configuration, if the first part is one, and the fragments.
pub fn split(parts: &Parts) -> (Option<&Part>, &[Part]) {
    match parts.config.split_first() {
        Some((first, rest)) if is_whole(&first.text) => (Some(first), rest),
        _ => (None, &parts.config),
    }
}

/// The options that all fragments set.
pub fn merged(fragments: &[Part]) -> Result<Options, FragmentError> {
    let read = fragments.iter().map(|part| parse(&part.file, &part.text));
    Ok(merge(read.collect::<Result<Vec<_>, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::shipped::FRAGMENTS;
    use proptest::prelude::*;

    #[test]
    fn the_later_fragment_wins() {
        let lab = parse("lab.config", "# why\nCONFIG_HZ_250=y\nCONFIG_PVH=y\n").unwrap();
        let hz = parse("hz.config", "# CONFIG_HZ_250 is not set\nCONFIG_HZ_1000=y\n").unwrap();
        let merged = merge([lab, hz]);
        assert_eq!(render(&merged), "CONFIG_HZ_1000=y\n# CONFIG_HZ_250 is not set\nCONFIG_PVH=y\n");
        assert_eq!(merged["HZ_250"].place.to_string(), "hz.config:1");
    }

    #[test]
    fn options_that_only_some_sources_have() {
        let text = "CONFIG_A=y\n# dyntick: where known\nCONFIG_B=y\nCONFIG_C=m\n\nCONFIG_D=y\n\
            # dyntick: where possible\nCONFIG_E=y\n";
        let options = parse("f", text).unwrap();
        let needs: Vec<Need> = options.values().map(|wanted| wanted.need).collect();
        assert_eq!(
            needs,
            [Need::Always, Need::WhereKnown, Need::WhereKnown, Need::Always, Need::WherePossible]
        );
    }

    #[test]
    fn malformed_lines_are_reported_by_place_only() {
        let error = |text: &str| parse("f.config", text).unwrap_err().to_string();
        assert!(error("\nNO_HZ_FULL=y\n").starts_with("f.config:2: this line is neither"));
        let secret = error("root:*:20228:0:99999:7:::\n");
        assert!(!secret.contains("20228") && secret.starts_with("f.config:1: "), "{secret}");
        for long in ["x".repeat(5 << 20), format!("CONFIG_{}=y", "X".repeat(5 << 20))] {
            assert!(error(&long).len() < 200);
        }
        assert!(error("CONFIG_A\n").contains("f.config:1"));
        let other = "# Automatically generated file\nBR2_ROOT_PASSWD=\"hunter2\"\n";
        assert!(is_whole(other) && !error(other).contains("hunter2"));
        assert!(is_whole("#\n# Automatically generated file; DO NOT EDIT.\n") && !is_whole("CONFIG_A=y\n"));
    }

    proptest! {
        #[test]
        fn what_is_rendered_is_read_again(
            options in prop::collection::btree_map("[A-Z][A-Z0-9_]{0,9}", "[ynm0-9]|\"[a-z ]{0,5}\"", 0..20)
        ) {
            let wanted = |value: &String| Wanted { value: value.clone(), place: Place { file: "f".into(), line: 1 }, need: Need::Always };
            let options: Options = options.iter().map(|(name, value)| (name.clone(), wanted(value))).collect();
            let read = parse("f", &render(&options)).unwrap();
            let plain = |options: &Options| -> Vec<(String, String)> {
                options.iter().map(|(name, wanted)| (name.clone(), wanted.value.clone())).collect()
            };
            prop_assert_eq!(plain(&read), plain(&options));
        }

        #[test]
        fn never_panics(text in "(?s).{0,200}") { let _ = parse("f", &text); }
    }

    #[test]
    fn every_fragment_says_what_it_is_for_and_can_be_read() {
        assert!(FRAGMENTS.names().len() > 10);
        for name in FRAGMENTS.names() {
            let (file, text) = FRAGMENTS.find(name).unwrap();
            let mut lines = text.lines();
            assert_eq!(lines.next(), Some("# SPDX-License-Identifier: GPL-2.0-only"), "{file}");
            assert!(lines.next().is_some_and(|line| line.starts_with("# ")), "{file} says what it is for");
            assert!(!parse(&file, &text).unwrap().is_empty(), "{file}");
        }
    }
}
