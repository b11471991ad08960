// SPDX-License-Identifier: GPL-2.0-only
//! `[[effects]]`: a matrix whose axes are the factors of an experiment.

use super::Case;
use super::claims::refuse_figure;
use super::keys::claims::EFFECTS;
use super::reader::{Section, Value};
use dyntick_model::text::nearest;
use dyntick_stats::Factor;
use schemars::JsonSchema;
use serde::Serialize;

/// The effects of each axis of a case's matrix on some figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effects {
    /// The title.
    pub title: String,
    /// The case's name.
    pub case: String,
    /// The axes of its matrix with the labels of their values, also those with one value only.
    pub axes: Vec<Factor>,
    /// The figures.
    pub figures: Vec<String>,
}

/// Each figure is looked up in each cell.
const MOST_EFFECTS: usize = 16;
const MOST_FIGURES: usize = 16;

const NAME: &str = "[[effects]]";

/// Reads all of a study; `matrices` has the axes of each `[[case]]` with its name.
pub fn read(root: Section<'_, '_, '_>, cases: &[Case], matrices: &[(String, Vec<Factor>)]) -> Vec<Effects> {
    let sections = root.sections("effects", NAME);
    if let Some(section) = sections.get(MOST_EFFECTS) {
        section.source.problem(section.at, format!("a study has at most {MOST_EFFECTS} {NAME}"));
    }
    sections.into_iter().take(MOST_EFFECTS).map(|section| one(section, cases, matrices)).collect()
}

fn one(section: Section<'_, '_, '_>, cases: &[Case], matrices: &[(String, Vec<Factor>)]) -> Effects {
    section.only(&EFFECTS);
    let case = section.required_text("case").unwrap_or_default();
    let place = section.get("case").filter(|value| value.get_ref().is_str());
    let found = place.map(|_| axes(&case, cases, matrices));
    if let (Some(value), Some(Err(message))) = (place, &found) {
        section.source.problem(value.span().start, format!("case: {message}"));
    }
    Effects {
        title: section.text("title").unwrap_or_else(|| format!("Effects of the options of {case}")),
        figures: figures(section, &case, cases),
        axes: found.and_then(Result::ok).unwrap_or_default(),
        case,
    }
}

/// The axes of this case's matrix, or why they are no factors.
fn axes(case: &str, cases: &[Case], matrices: &[(String, Vec<Factor>)]) -> Result<Vec<Factor>, String> {
    let mut of_name = matrices.iter().filter(|(name, _)| name == case);
    let Some((_, axes)) = of_name.next() else {
        let names: Vec<&str> = matrices.iter().map(|(name, _)| name.as_str()).collect();
        let hint = match case.split_once('/') {
            Some((name, _)) if names.contains(&name) => {
                format!("; write '{name}', which means all of its matrix")
            }
            _ => nearest(case, &names).map_or(String::new(), |right| format!("; did you mean '{right}'?")),
        };
        return Err(format!("there is no case '{case}'{hint}"));
    };
    if of_name.next().is_some() {
        return Err(format!(
            "two [[case]] are called '{case}', and each has a matrix of its own: rename one"
        ));
    }
    if axes.iter().all(|axis| axis.levels.len() < 2) {
        return Err(format!(
            "'{case}' has no matrix with two values on any axis, so there is no effect to estimate"
        ));
    }
    let mut clocks = cases.iter().filter(|other| other.name == case).map(|other| other.clock);
    let first = clocks.next();
    if clocks.any(|clock| Some(clock) != first) {
        Err(format!(
            "'{case}' is run on both clocks, and figures of one are never compared with figures of the other"
        ))
    } else {
        Ok(axes.clone())
    }
}

fn figures(section: Section<'_, '_, '_>, case: &str, cases: &[Case]) -> Vec<String> {
    let Some(value) = section.required("figures") else { return Vec::new() };
    let list = section.source.list("figures", value);
    let places = list.unwrap_or_default();
    if value.get_ref().as_array().is_some() && !(1..=MOST_FIGURES).contains(&places.len()) {
        let message = format!("figures: name at least one, and at most {MOST_FIGURES}");
        section.source.problem(value.span().start, message);
    }
    places
        .into_iter()
        .take(MOST_FIGURES)
        .filter_map(|place| one_figure(section, place, case, cases))
        .collect()
}

fn one_figure(section: Section<'_, '_, '_>, place: &Value<'_>, case: &str, cases: &[Case]) -> Option<String> {
    let figure = section.source.text("figures", place)?;
    let meant: Vec<&Case> = cases.iter().filter(|other| other.answers_to(case)).collect();
    refuse_figure(section.source, place, &figure, &meant);
    Some(figure)
}
