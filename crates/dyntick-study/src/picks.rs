// SPDX-License-Identifier: GPL-2.0-only
//! A case's own figures: numbers that a pattern or a path picks out of what its programs print.

use super::Case;
use super::keys::study::PICK;
use super::reader::{Section, Value};
use dyntick_formats::picked::{PickError, Picker};
use dyntick_stats::{Better, MetricName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The place of a figure in a program's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A regular expression with one group, the number.
    Pattern(String),
    /// A path into JSON.
    Json(String),
}

/// A figure of a case's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pick {
    /// The place.
    pub place: Place,
    /// The unit; empty for a count.
    pub unit: String,
    /// The direction that is better.
    pub better: Better,
}

impl Pick {
    /// The picker of the figure.
    ///
    /// # Errors
    /// A malformed pattern or path.
    pub fn picker(&self) -> Result<Picker, PickError> {
        match &self.place {
            Place::Pattern(pattern) => Picker::pattern(pattern),
            Place::Json(path) => Picker::json(path),
        }
    }
}

/// The value of `figures`.
pub fn read<'v, 't>(all: Section<'_, 'v, 't>) -> BTreeMap<String, Pick> {
    if all.table.len() > Case::MOST_FIGURES {
        all.source.problem(all.at, format!("figures: a case has at most {}", Case::MOST_FIGURES));
        return BTreeMap::new();
    }
    all.table
        .iter()
        .filter_map(|(name, value)| Some((name.get_ref().to_string(), one(all, name.get_ref(), value)?)))
        .collect()
}

fn one<'v, 't>(all: Section<'_, 'v, 't>, name: &str, value: &'v Value<'t>) -> Option<Pick> {
    let source = all.source;
    let section = Section::of(source, "[case.figures]", name, value)?;
    section.only(&PICK);
    let refuse = |message: String| source.problem(section.at, format!("figures: {name}: {message}"));
    if MetricName::new(name).is_none() {
        refuse("its name is empty, too long or has control characters".to_owned());
    }
    let place = match (section.text("pattern"), section.text("json")) {
        (Some(pattern), None) => Place::Pattern(pattern),
        (None, Some(path)) => Place::Json(path),
        _ => {
            refuse("give either pattern = 'took ([0-9.]+) ms' or json = 'jobs.*.read.iops'".to_owned());
            return None;
        }
    };
    let pick = Pick { place, unit: section.text("unit").unwrap_or_default(), better: better(section) };
    pick.picker().map_err(|error| refuse(error.to_string())).ok()?;
    Some(pick)
}

fn better(section: Section<'_, '_, '_>) -> Better {
    let Some(value) = section.get("better") else { return Better::Unknown };
    match section.source.text("better", value).as_deref() {
        Some("lower") => Better::Lower,
        Some("higher") => Better::Higher,
        Some(other) => {
            let message = format!("better: '{other}' is neither \"lower\" nor \"higher\"");
            section.source.problem(value.span().start, message);
            Better::Unknown
        }
        None => Better::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Size, parse};
    use super::*;
    use std::path::Path;

    fn study(figures: &str) -> Result<Case, String> {
        let text = format!(
            "title = 't'\nquestion = 'q'\n[[case]]\nname = 'a'\nkernel = 'debian:6.12'\n[case.figures]\n{figures}\n"
        );
        let study = parse::study(Path::new("x.toml"), &text, Size::Scaled);
        study.map(|mut study| study.cases.remove(0)).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_figure_has_a_place_a_unit_and_a_direction() {
        let case = study(
            "tps = { pattern = 'tps = ([0-9.]+)', unit = '1/s', better = 'higher' }\nn = { json = 'a.b' }",
        );
        let case = case.unwrap();
        assert_eq!(case.figures["tps"].better, Better::Higher);
        assert_eq!(
            case.figures["n"],
            Pick { place: Place::Json("a.b".into()), unit: String::new(), better: Better::Unknown }
        );
        let kept = toml::to_string(&case).unwrap();
        assert_eq!(toml::from_str::<Case>(&kept).unwrap(), case);
    }

    #[test]
    fn what_picks_nothing_is_refused_with_its_place() {
        for (figures, why) in [
            ("a = { unit = 's' }", "give either pattern"),
            ("a = { pattern = '(', unit = 's' }", "is not a valid regular expression"),
            ("a = { pattern = 'x', unit = 's' }", "has no group"),
            ("a = { pattern = '(x)', better = 'more' }", "neither \"lower\" nor \"higher\""),
            ("a = { pattern = '(x)', units = 's' }", "did you mean 'unit'"),
        ] {
            let message = study(figures).unwrap_err();
            assert!(message.contains(why) && message.contains("x.toml:7:"), "{message}");
        }
    }
}
