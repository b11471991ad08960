// SPDX-License-Identifier: GPL-2.0-only
//! Reading `[[claim]]`, and refusing what could never be judged.

use super::{Against, Check, Claim, How};
use crate::Case;
use crate::figure::{self, Figure};
use crate::keys::claims as keys;
use crate::reader::{Section, Source, Value};
use dyntick_guest::name_of_file;
use dyntick_model::text::nearest;

/// Reads a claim.
pub fn read(section: Section<'_, '_, '_>, cases: &[Case]) -> Claim {
    section.only(&keys::CLAIM);
    let only = section.get("only").and_then(|value| section.source.texts("only", value));
    let mut claim = Claim {
        text: section.required_text("text").unwrap_or_default(),
        cannot_tell: section.text("cannot-tell"),
        only: only.unwrap_or_default(),
        checks: Vec::new(),
        evidence: Vec::new(),
        comment: section.text("comment"),
    };
    refuse_labels(section, &claim, cases);
    let checks = section.sections("check", "a check").into_iter();
    claim.checks = checks.filter_map(|check| read_check(check, &claim, cases, true)).collect();
    let evidence = section.sections("evidence", "evidence").into_iter();
    claim.evidence = evidence.filter_map(|check| read_check(check, &claim, cases, false)).collect();
    match (section.get("check"), section.get("cannot-tell")) {
        (None, None) => section.source.problem(section.at, "[[claim]] has neither 'check' nor 'cannot-tell'"),
        (Some(checks), None) if checks.get_ref().as_array().is_some_and(|list| list.is_empty()) => {
            section.source.problem(start(checks), "a claim needs at least one check");
        }
        (Some(_), Some(reason)) => {
            let message =
                "a claim has either 'check' or 'cannot-tell'; figures that are not judged are 'evidence'";
            section.source.problem(start(reason), message);
        }
        _ => {}
    }
    claim
}

fn start(value: &Value<'_>) -> usize {
    value.span().start
}

fn refuse_labels(section: Section<'_, '_, '_>, claim: &Claim, cases: &[Case]) {
    let labels: Vec<&str> = cases.iter().flat_map(Case::labels).collect();
    for label in claim.only.iter().filter(|label| !labels.contains(&label.as_str())) {
        let at = section.get("only").map_or(section.at, start);
        section.source.problem(at, format!("no matrix has the label '{label}'{}", meant(label, &labels)));
    }
}

fn read_check(section: Section<'_, '_, '_>, claim: &Claim, cases: &[Case], judged: bool) -> Option<Check> {
    section.only(if judged { &keys::CHECK } else { &keys::EVIDENCE });
    let is = if judged { section.required("is") } else { section.get("is") };
    let cpu = section.get("cpu").map(|value| section.source.number("cpu", value, 0..=8191));
    let check = Check {
        case: case_reference(section, "case", cases),
        figure: figure_of(section, cases, &|case| claim.speaks_of(case)),
        cpu: cpu.flatten(),
        against: against(section, cases),
        is: is.and_then(|value| section.source.parse("is", value)),
    };
    let meant: Vec<&Case> = cases.iter().filter(|case| case.answers_to(&check.case)).collect();
    if !meant.is_empty() && !meant.iter().any(|case| claim.speaks_of(case)) {
        let message = format!("'{}' has no variant among those that the claim speaks of (only)", check.case);
        section.source.problem(section.get("case").map_or(section.at, start), message);
    }
    refuse_cpu_of_machine(section, &check);
    for case in meant.into_iter().filter(|case| claim.speaks_of(case)) {
        refuse_cpu(section, &check, case);
        refuse_untraced(section, &check, case);
        refuse_against(section, &check, case, cases);
    }
    Some(check)
}

fn against(section: Section<'_, '_, '_>, cases: &[Case]) -> Option<Against> {
    let asked = |how: &How| section.get(how.key()).is_some();
    if let (true, Some(value)) = (asked(&How::Ratio), section.get(How::Difference.key())) {
        section.source.problem(start(value), "a check has either 'ratio-to' or 'minus'");
    }
    let how = [How::Ratio, How::Difference].into_iter().find(asked)?;
    Some(Against { case: case_reference(section, how.key(), cases), how })
}

/// Reads the name of a case, with or without labels, and refuses one that means none.
pub fn case_reference(section: Section<'_, '_, '_>, key: &'static str, cases: &[Case]) -> String {
    let reference = section.required_text(key).unwrap_or_default();
    let Some(value) = section.get(key).filter(|value| value.get_ref().is_str()) else { return reference };
    // A study without cases has been refused already.
    if cases.is_empty() || cases.iter().any(|case| case.answers_to(&reference)) {
        return reference;
    }
    let name = reference.split('/').next().unwrap_or_default();
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    let message = if names.contains(&name) {
        let ids: Vec<&str> =
            cases.iter().filter(|case| case.name == name).map(|case| case.id.as_str()).collect();
        format!("{key}: '{reference}' has no variant{}", meant(&reference, &ids))
    } else {
        format!("{key}: there is no case '{name}'{}", meant(name, &names))
    };
    section.source.problem(start(value), message);
    reference
}

/// Reads the name of a figure and refuses one that does not exist, or not for its case.
pub fn figure_reference(section: Section<'_, '_, '_>, cases: &[Case]) -> String {
    figure_of(section, cases, &|_| true)
}

/// The same for those cases alone that `is_meant` returns true for.
fn figure_of(section: Section<'_, '_, '_>, cases: &[Case], is_meant: &dyn Fn(&Case) -> bool) -> String {
    let figure = section.required_text("figure").unwrap_or_default();
    let Some(value) = section.get("figure").filter(|value| value.get_ref().is_str()) else { return figure };
    let reference = section.get("case").and_then(|value| value.get_ref().as_str()).unwrap_or_default();
    let meant: Vec<&Case> =
        cases.iter().filter(|case| case.answers_to(reference) && is_meant(case)).collect();
    refuse_figure(section.source, value, &figure, &meant);
    figure
}

/// Refuses a figure that does not exist, or that one of these cases cannot have; `value` is where it is named.
pub fn refuse_figure(source: &Source<'_>, value: &Value<'_>, figure: &str, meant: &[&Case]) {
    let known = match figure::read(figure) {
        Ok(known) => known,
        Err(message) => return source.problem(start(value), format!("figure: {message}")),
    };
    if let Some(reason) = meant.iter().find_map(|case| figure::lack(known, figure, case)) {
        source.problem(start(value), format!("figure: '{figure}' {reason}"));
    }
    refuse_unread(source, value, figure, meant);
}

/// A number in a file can be known only where the case reads that file.
fn refuse_unread(source: &Source<'_>, value: &Value<'_>, figure: &str, meant: &[&Case]) {
    let Some(file) = figure::file_of(figure).filter(|file| !file.is_empty()) else { return };
    let reads = |case: &Case| case.read.iter().any(|path| name_of_file(path) == file);
    if let Some(case) = meant.iter().find(|case| !reads(case)) {
        let message = format!(
            "figure: the case '{}' reads no file named '{file}': add its full path to read = […]",
            case.id
        );
        source.problem(start(value), message);
    }
}

/// Refuses a figure that is counted from the trace, on a CPU whose events are not recorded.
fn refuse_untraced(section: Section<'_, '_, '_>, check: &Check, case: &Case) {
    let (Some(cpu), Some(value)) = (check.cpu, section.get("cpu")) else { return };
    if Figure::named(&check.figure).is_some_and(Figure::is_of_trace) && !case.traces(cpu) {
        let message = format!(
            "cpu: '{}' is counted from the trace, and the case '{}' records none of CPU {cpu} (trace-cpus)",
            check.figure, case.id
        );
        section.source.problem(start(value), message);
    }
}

/// Refuses a CPU for a figure that no CPU has by itself: it would be ignored.
fn refuse_cpu_of_machine(section: Section<'_, '_, '_>, check: &Check) {
    let of_machine = Figure::named(&check.figure).is_some_and(Figure::is_of_machine);
    if let (true, Some(value)) = (of_machine, section.get("cpu")) {
        let message = format!("cpu: '{}' has no value for one CPU: remove cpu", check.figure);
        section.source.problem(start(value), message);
    }
}

fn refuse_cpu(section: Section<'_, '_, '_>, check: &Check, case: &Case) {
    if let (Some(cpu), Some(value)) = (check.cpu.filter(|cpu| *cpu >= case.cpus), section.get("cpu")) {
        let message = format!("cpu: the case '{}' has no CPU {cpu} (cpus = {})", case.id, case.cpus);
        section.source.problem(start(value), message);
    }
}

/// A figure is set against that of exactly one other case, which ran on the same clock.
fn refuse_against(section: Section<'_, '_, '_>, check: &Check, case: &Case, cases: &[Case]) {
    let Some(Against { case: other, how }) = &check.against else { return };
    let Some(value) = section.get(how.key()) else { return };
    if !cases.iter().any(|case| case.answers_to(other)) {
        return; // refused by its name already
    }
    let message = match references(case, other, cases)[..] {
        [reference] if reference.clock != case.clock => format!(
            "'{}' is on the {} clock and '{}' on the {} clock: figures of one are never compared with \
             figures of the other",
            case.id, case.clock, reference.id, reference.clock
        ),
        [reference] => {
            let known = Figure::named(&check.figure);
            match known.and_then(|known| figure::lack(known, &check.figure, reference)) {
                Some(reason) => format!("figure: '{}' {reason}", check.figure),
                None => return,
            }
        }
        [] => format!("'{other}' has no variant to compare with '{}'", case.id),
        [first, second, ..] => format!(
            "'{other}' is not one case to compare with '{}': both '{}' and '{}' match; name a label",
            case.id, first.id, second.id
        ),
    };
    section.source.problem(start(value), message);
}

/// The cases that `reference` means next to `case`: those with no other labels than it and the reference have.
pub fn references<'c>(case: &Case, reference: &str, cases: &'c [Case]) -> Vec<&'c Case> {
    let beside = |other: &&Case| {
        let mut labels = other.labels();
        labels.all(|label| {
            case.labels().any(|own| own == label) || reference.split('/').skip(1).any(|named| named == label)
        })
    };
    cases.iter().filter(|other| other.answers_to(reference)).filter(beside).collect()
}

fn meant(word: &str, known: &[&str]) -> String {
    nearest(word, known).map_or(String::new(), |right| format!("; did you mean '{right}'?"))
}
