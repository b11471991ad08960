// SPDX-License-Identifier: GPL-2.0-only
//! The one name that a case has in all of a report.

use dyntick_lab::store::Run;
use dyntick_study::{Case, Study};
use std::collections::BTreeMap;
use std::ops::Deref;

/// A title that begins with this goes on from the last one that does not.
const CONTINUED: &str = "…";

/// The titles of a study's cases, by their names.
pub struct Titles(BTreeMap<String, String>);

impl Titles {
    /// Of a study. `… fair server off` after `nohz_full` becomes `nohz_full, fair server off`: in a legend or a mail
    /// nobody sees what it followed.
    pub fn of(study: &Study) -> Self {
        Self(complete(study.cases.iter().map(|case| (case.name.as_str(), case.title.as_str()))))
    }

    /// A case that may have no run, with its kernel as the study names it.
    pub fn of_case(&self, case: &Case) -> String {
        let labels: Vec<&str> = case.labels().filter(|label| *label != case.kernel).collect();
        format!("{}, {}", self.with_labels(case, &labels), case.kernel)
    }

    /// A case with some of its labels.
    pub fn with_labels(&self, case: &Case, labels: &[&str]) -> String {
        let title = self.0.get(&case.name).unwrap_or(&case.title);
        if labels.is_empty() { title.clone() } else { format!("{title}: {}", labels.join(", ")) }
    }

    /// A run under its name: the case's title with what tells the run from others of it, and the kernel's series.
    pub fn give<'r>(&self, run: &'r Run) -> Titled<'r> {
        let case = &run.asked.case;
        let version = &run.asked.release;
        let case_title = self.with_labels(case, &labels_of(run));
        let of_case = format!("{case_title}, {}.{}", version.major, version.minor);
        let title = match case.repeat {
            ..=1 => of_case.clone(),
            _ => format!("{of_case} #{}", run.asked.repetition + 1),
        };
        Titled { run, case_title, of_case, title }
    }
}

fn complete<'s>(cases: impl Iterator<Item = (&'s str, &'s str)>) -> BTreeMap<String, String> {
    let mut titles = BTreeMap::new();
    let mut base = "";
    for (name, title) in cases {
        let title = match title.strip_prefix(CONTINUED) {
            Some(rest) if !base.is_empty() => format!("{base}, {}", rest.trim_start()),
            Some(rest) => rest.trim_start().to_owned(),
            None => {
                base = title;
                title.to_owned()
            }
        };
        titles.entry(name.to_owned()).or_insert(title);
    }
    titles
}

/// What tells a run from the others of its case, as `: stat60`: its labels, but not that of a
/// packaged kernel, whose series stands beside.
fn labels_of(run: &Run) -> Vec<&str> {
    let version = &run.asked.release;
    let series = format!("{}.{}", version.major, version.minor);
    let case = &run.asked.case;
    let beside = |label: &str| label == series || (label == case.kernel && case.recipe.is_none());
    case.labels().filter(|label| !beside(label)).collect()
}

/// A run with its name.
#[derive(Clone)]
pub struct Titled<'r> {
    run: &'r Run,
    case_title: String,
    of_case: String,
    title: String,
}

impl<'r> Titled<'r> {
    /// The name of the run, as `nohz_full, fair server off, 6.12`; with `#2` for the second of several.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The same for all runs of the case.
    pub fn title_of_all(&self) -> &str {
        &self.of_case
    }

    /// The name without the kernel's series.
    pub fn case_title(&self) -> &str {
        &self.case_title
    }

    /// The run itself.
    pub fn run(&self) -> &'r Run {
        self.run
    }
}

impl Deref for Titled<'_> {
    type Target = Run;

    fn deref(&self) -> &Run {
        self.run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_from_another_is_named_in_full() {
        let cases =
            [("a", "… alone"), ("b", "nohz_full"), ("c", "… fair server off"), ("d", "idle"), ("e", "… teo")];
        let titles = complete(cases.into_iter().chain([("c", "a second variant")]));
        let titles: Vec<&str> = titles.values().map(String::as_str).collect();
        assert_eq!(titles, ["alone", "nohz_full", "nohz_full, fair server off", "idle", "idle, teo"]);
    }
}
