// SPDX-License-Identifier: GPL-2.0-only
//! The changes of `lab run` and `lab report` to a study: options that choose its cases, and options that set keys.

use super::named::place;
use crate::few::few;
use crate::output;
use anyhow::{Context, Result};
use dyntick_study::{Case, Given, Size, Study, shipped};
use dyntick_system::{read_regular, write_unasked};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The options that choose cases and the number, size and clock of their runs.
#[derive(Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
pub struct Chosen {
    /// Run only cases of this name or id; may be given several times
    #[arg(long = "case", value_name = "NAME")]
    pub cases: Vec<String>,
    /// Run each case at the size of the published experiment, if the study has one
    #[arg(long)]
    full_size: bool,
    /// Run on this clock instead of the study's
    #[arg(long, value_enum)]
    clock: Option<ClockArgument>,
    /// Run each case N times (wall clock only)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(Case::MOST_REPEATED)))]
    repeat: Option<u32>,
    /// Run each case N more times with an irrelevant change each time (virtual clock only)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(Case::MOST_PERTURBED)))]
    perturb: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum, Serialize, Deserialize)]
enum ClockArgument {
    Virtual,
    Wall,
}

/// The options that set keys of all cases.
#[derive(Clone, Default, PartialEq, clap::Args, Serialize, Deserialize)]
pub struct Changes {
    /// Run each case on this kernel instead: as in a study, the path of a bzImage, or the folder of a tree in which a
    /// kernel was compiled; NAME=SPEC gives it that name;
    /// given twice, on both, which the report sets side by side
    #[arg(long = "kernel", value_name = "[NAME=]SPEC")]
    kernels: Vec<String>,
    /// Run each case on each of these kernels, as --kernel for each does: debian:6.1,debian:6.12,debian:sid
    #[arg(long, value_name = "SPEC,…", value_delimiter = ',')]
    across: Vec<String>,
    /// Add TEXT to the kernel command line of each case; given twice, run each case with either
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    append: Vec<String>,
    /// Set a key of each case, as cpus=4 or sysctl.vm.stat_interval=60; the same key twice, run each case with either
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// The options that a study was run with last, but for its cases, in the folder of its runs.
#[derive(Serialize, Deserialize)]
pub struct LastRun {
    chosen: Chosen,
    changes: Changes,
}

const LAST_RUN: &str = "options.json";
/// The options of one command line have less.
const LARGEST: u64 = 1 << 20;

impl LastRun {
    /// Notes the options of this run.
    pub fn keep(out: &Path, chosen: &Chosen, changes: &Changes) -> Result<()> {
        let chosen = chosen.with_cases(&[]);
        let text = serde_json::to_vec(&LastRun { chosen, changes: changes.clone() })?;
        let path = out.join(LAST_RUN);
        let written = write_unasked(&path, |to| to.write_all(&text));
        written.map(|_| ()).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The options of the last run into a folder, if it had any.
    pub fn of(out: &Path) -> Option<(Chosen, Changes)> {
        let LastRun { chosen, changes } =
            serde_json::from_slice(&read_regular(&out.join(LAST_RUN), LARGEST).ok()?).ok()?;
        (chosen != Chosen::default() || changes != Changes::default()).then_some((chosen, changes))
    }
}

impl Changes {
    /// The options as they are typed, with those of `chosen` apart from its cases.
    pub fn typed(&self, chosen: &Chosen) -> String {
        let texts = |option: &'static str, all: &[String]| -> Vec<String> {
            all.iter().map(|text| format!("{option} {text}")).collect()
        };
        let across = self.across.join(",");
        let across = if across.is_empty() { Vec::new() } else { vec![across] };
        let numbers = [("--repeat", chosen.repeat), ("--perturb", chosen.perturb)];
        let numbers = numbers.into_iter().filter_map(|(name, number)| Some(format!("{name} {}", number?)));
        let parts = [texts("--kernel", &self.kernels), texts("--across", &across)]
            .into_iter()
            .chain([texts("--append", &self.append), texts("--set", &self.set)])
            .flatten()
            .chain(chosen.full_size.then(|| "--full-size".to_owned()))
            .chain(chosen.clock.map(|clock| format!("--clock {}", clock.word())))
            .chain(numbers);
        parts.collect::<Vec<_>>().join(" ")
    }

    /// Reads a study as these options change it. Notes the number of claims that are not judged because of them.
    pub fn study(&self, name: &Path, chosen: &Chosen) -> Result<Study> {
        let mut given = Given::default();
        for typed in self.kernels.iter().chain(&self.across) {
            let (name, spec) = named(typed);
            let place = place(spec).with_context(|| format!("--kernel {typed}"))?;
            given.kernel(typed, &place, name);
        }
        for text in &self.append {
            given.text(&format!("--append '{text}'"), "append", text);
        }
        for text in &self.set {
            given.set(text)?;
        }
        chosen.add_to(&mut given);
        let (study, left_out) = shipped::find_changed(name, chosen.size(), &given)?;
        if left_out > 0 {
            output::note(skipped(left_out));
        }
        if !chosen.cases.is_empty() {
            bound(&study).into_iter().for_each(output::note);
        }
        Ok(study)
    }
}

impl Chosen {
    /// The same with other cases.
    pub fn with_cases(&self, cases: &[String]) -> Self {
        Chosen { cases: cases.to_vec(), ..self.clone() }
    }

    fn size(&self) -> Size {
        if self.full_size { Size::Full } else { Size::Scaled }
    }

    fn add_to(&self, given: &mut Given) {
        given.only(&self.cases);
        if let Some(clock) = self.clock {
            given.text(&format!("--clock {}", clock.word()), "clock", clock.word());
        }
        if let Some(repeat) = self.repeat {
            given.value(&format!("--repeat {repeat}"), "repeat", &repeat.to_string());
        }
        if let Some(perturb) = self.perturb {
            given.value(&format!("--perturb {perturb}"), "perturb", &perturb.to_string());
        }
    }
}

impl ClockArgument {
    fn word(self) -> &'static str {
        match self {
            ClockArgument::Virtual => "virtual",
            ClockArgument::Wall => "wall",
        }
    }
}

/// The message about claims that name a variant which is gone.
fn skipped(claims: usize) -> String {
    match claims {
        1 => "1 claim is skipped: it is about a kernel or setting that --kernel or --set replaces".to_owned(),
        claims => format!(
            "{claims} claims are skipped: they are about kernels or settings that --kernel or --set replaces"
        ),
    }
}

/// The number of cases that a note names.
const MOST_NAMED: usize = 4;

/// The message about cases that --case names with one of several kernels or settings: they are not run with the others.
fn bound(study: &Study) -> Option<String> {
    let levels = &study.compared.as_ref()?.levels;
    let level_of = |case: &Case| {
        case.labels().find(|label| levels.iter().any(|level| level == label)).map(str::to_owned)
    };
    let without = |case: &Case| {
        let others = case.labels().filter(|label| !levels.iter().any(|level| level == label));
        [case.name.as_str()].into_iter().chain(others).collect::<Vec<_>>().join("/")
    };
    let mut found: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
    for case in &study.cases {
        found.entry(without(case)).or_default().push(case);
    }
    found.retain(|_, cases| cases.len() < levels.len());
    let mut missing: BTreeSet<&String> = BTreeSet::new();
    for cases in found.values() {
        let there: Vec<String> = cases.iter().filter_map(|case| level_of(case)).collect();
        missing.extend(levels.iter().filter(|level| !there.contains(level)));
    }
    let ids: Vec<String> = found.values().flatten().map(|case| case.id.clone()).collect();
    let missing: Vec<String> = levels.iter().filter(|level| missing.contains(level)).cloned().collect();
    let example = found.values().flatten().next()?;
    let (is, it) = if ids.len() == 1 { ("is", "it is") } else { ("are", "they are") };
    Some(format!(
        "{} {is} bound by --case: {it} not run with {}; --case {} runs all",
        few(ids.into_iter(), MOST_NAMED).join(", "),
        few(missing.into_iter(), MOST_NAMED).join(", "),
        example.name
    ))
}

/// The name and the kernel of `NAME=SPEC`. A file of that name is no name, and neither is a part of a path.
fn named(typed: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', ':']);
    match typed.split_once('=') {
        Some((name, spec)) if is_name(name) && !Path::new(typed).exists() => (Some(name), spec),
        _ => (None, typed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_may_have_a_name() {
        assert_eq!(named("before=debian:6.12"), (Some("before"), "debian:6.12"));
        assert_eq!(named("after=./a=b/bzImage"), (Some("after"), "./a=b/bzImage"));
        for typed in ["debian:6.12", "./a=b/bzImage", "=debian:6.12", "a/b=c"] {
            assert_eq!(named(typed), (None, typed));
        }
    }

    #[test]
    fn cases_that_name_their_kernel_are_said_to_be_bound() {
        let text = "title='t'\nquestion='q'\n[[case]]\nname='a'\n[case.matrix]\nkernel=['debian:6.12','debian:sid']\n\
                    hrtick=[{label='on',sysctl={'vm.swappiness'=1}},{label='off'}]\n[[case]]\nname='b'\nkernel='host'\n";
        let note = |named: &[&str]| {
            let mut given = Given::default();
            for kernel in ["debian:6.1", "debian:6.12", "debian:sid"] {
                given.kernel(kernel, kernel, None);
            }
            given.only(&named.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
            let study = Study::parse_given(Path::new("s.toml"), text, &given);
            let mut study = study.unwrap_or_else(|problems| panic!("{problems}"));
            study.keep_named(&given, "s").unwrap();
            bound(&study)
        };
        assert_eq!(
            note(&["a/debian:6.12/on", "b"]).unwrap(),
            "a/debian:6.12/on is bound by --case: it is not run with debian:6.1, debian:sid; --case a runs all"
        );
        assert!(
            note(&["a/debian:6.12/on", "b/debian:6.1"])
                .unwrap()
                .contains(" are bound by --case: they are not")
        );
        assert_eq!(note(&["a"]), None);
        assert_eq!(note(&[]), None);
    }

    #[test]
    fn skipped_claims_are_counted() {
        assert!(skipped(1).starts_with("1 claim is skipped: it is about"));
        assert!(skipped(2).starts_with("2 claims are skipped: they are about"));
    }
}
