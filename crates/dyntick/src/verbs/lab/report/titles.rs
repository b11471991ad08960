// SPDX-License-Identifier: GPL-2.0-only
//! The one name that a case has in all of a report.

use dyntick_lab::store::Run;
use dyntick_model::KernelVersion;
use dyntick_study::{Case, Study};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

/// A title that begins with this goes on from the last one that does not.
const CONTINUED: &str = "…";

/// The names of a study's cases and of their kernels.
pub struct Titles {
    /// The titles of the cases, by their names.
    cases: BTreeMap<String, String>,
    /// The names that kernels got on the command line, by what the cases call them.
    kernels: BTreeMap<String, String>,
}

impl Titles {
    /// The titles of a study's cases. `… fair server off` after `nohz_full` becomes `nohz_full, fair server off`: a
    /// legend or a mail does not show the title that it followed.
    pub fn of(study: &Study) -> Self {
        Self {
            cases: complete(study.cases.iter().map(|case| (case.name.as_str(), case.title.as_str()))),
            kernels: study.kernel_names.clone(),
        }
    }

    /// A case that may have no run, with its kernel as the study names it.
    pub fn of_case(&self, case: &Case) -> String {
        let kernel = self.kernel_name(case);
        let labels: Vec<&str> =
            case.labels().filter(|label| *label != case.kernel && *label != kernel).collect();
        format!("{}, {kernel}", self.with_labels(case, &labels))
    }

    /// The name of a case's kernel, which is never a path.
    pub fn kernel_name(&self, case: &Case) -> String {
        let given = self.kernels.get(&case.kernel).map(String::as_str);
        given.unwrap_or(case.kernel.rsplit('/').next().unwrap_or_default()).to_owned()
    }

    /// A case with some of its labels.
    pub fn with_labels(&self, case: &Case, labels: &[&str]) -> String {
        let title = self.cases.get(&case.name).unwrap_or(&case.title);
        if labels.is_empty() { title.clone() } else { format!("{title}: {}", labels.join(", ")) }
    }

    /// Runs with their names: the case's title, the difference to other runs of the case, and the kernel's series.
    /// Where two cases would have one name, all their labels are shown.
    pub fn give<'r>(&self, runs: impl Iterator<Item = &'r Run>) -> Vec<Titled<'r>> {
        let all: Vec<Titled<'r>> = runs.map(|run| self.named(run, &labels_of(run))).collect();
        let mut ids: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for titled in &all {
            ids.entry(&titled.of_case).or_default().insert(&titled.run.plan.case.id);
        }
        let named = |titled: &Titled<'r>| match ids[titled.of_case.as_str()].len() {
            ..=1 => titled.clone(),
            _ => self.named(titled.run, &titled.run.plan.case.labels().collect::<Vec<_>>()),
        };
        all.iter().map(named).collect()
    }

    fn named<'r>(&self, run: &'r Run, labels: &[&str]) -> Titled<'r> {
        let case = &run.plan.case;
        let case_title = self.with_labels(case, labels);
        let of_case = format!("{case_title}, {}", kernel_of(run));
        let title = match case.repeat {
            ..=1 => of_case.clone(),
            _ => format!("{of_case} #{}", run.plan.repetition + 1),
        };
        Titled { run, case_title, of_case, title }
    }
}

/// The kernel of a run as titles have it: its series with the flavour that Debian builds, as `6.12` and `6.12-rt`; the
/// point release too where the study names one.
pub fn kernel_of(run: &Run) -> String {
    kernel_name(&run.plan.case.kernel, &run.plan.release)
}

fn kernel_name(named: &str, release: &KernelVersion) -> String {
    let KernelVersion { major, minor, point, release } = release;
    let named_point = named.contains(&format!("{major}.{minor}.{point}")) && named.starts_with("debian:");
    let point = if named_point { format!(".{point}") } else { String::new() };
    let flavour = FLAVOURS.iter().find(|flavour| release.split('-').any(|part| part == **flavour));
    let flavour = flavour.map_or(String::new(), |flavour| format!("-{flavour}"));
    format!("{major}.{minor}{point}{flavour}")
}

/// The flavours of Debian's packages of a series.
const FLAVOURS: [&str; 2] = ["rt", "cloud"];

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

/// The labels that distinguish a run from the others of its case, e.g. `: stat60`; without that of a kernel of Debian,
/// whose series is shown as well.
fn labels_of(run: &Run) -> Vec<&str> {
    let series = kernel_of(run);
    let case = &run.plan.case;
    let beside = |label: &str| label == series || (label == case.kernel && label.starts_with("debian:"));
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
    fn kernels_of_one_series_have_names_of_their_own() {
        let name = |named: &str, release: &str| kernel_name(named, &release.parse().unwrap());
        assert_eq!(name("debian:6.12", "6.12.117+deb12-amd64"), "6.12");
        assert_eq!(name("debian:6.12-rt", "6.12.117+deb12-rt-amd64"), "6.12-rt");
        assert_eq!(name("debian:6.12-cloud", "6.12.117+deb12-cloud-amd64"), "6.12-cloud");
        assert_eq!(name("debian:6.12.95+deb13-amd64", "6.12.95+deb13-amd64"), "6.12.95");
        assert_eq!(name("built:0123456789ab", "6.12.95-rt"), "6.12-rt");
    }

    #[test]
    fn what_goes_on_from_another_is_named_in_full() {
        let cases =
            [("a", "… alone"), ("b", "nohz_full"), ("c", "… fair server off"), ("d", "idle"), ("e", "… teo")];
        let titles = complete(cases.into_iter().chain([("c", "a second variant")]));
        let titles: Vec<&str> = titles.values().map(String::as_str).collect();
        assert_eq!(titles, ["alone", "nohz_full", "nohz_full, fair server off", "idle", "idle, teo"]);
    }
}
