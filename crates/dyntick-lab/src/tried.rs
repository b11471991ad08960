// SPDX-License-Identifier: GPL-2.0-only
//! The effect of a patch: the runs of each case on the kernel without it and with it, figure by figure, function by
//! function, and what the patched kernel logs.

use crate::judgement::Judgement;
use crate::lab::CaseResult;
use crate::lookup::{RunFigures, figure_of, unit_of};
use crate::names::RAW;
use crate::store::Run;
use dyntick_guest::pieces;
use dyntick_profile::{Row, compare};
use dyntick_study::claims::Figures;
use dyntick_study::figure::table;
use dyntick_study::{Case, Study};
use dyntick_system::read_beneath;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The name of the kernel without the patch, in cases.
pub const BASE: &str = "base";
/// The name of the kernel with it.
pub const PATCHED: &str = "patched";

/// The effect on a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CaseEffect {
    /// The case, without the name of the kernel.
    pub case: String,
    /// Its title.
    pub title: String,
    /// The number of figures that are equal in all runs.
    pub equal: usize,
    /// The figures that are not.
    pub figures: Vec<FigureEffect>,
    /// The kinds of kernel entries whose instructions differ, with the functions that do.
    pub entries: Vec<EntryEffect>,
}

/// The effect on a figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigureEffect {
    /// The figure.
    pub figure: String,
    /// The unit.
    pub unit: String,
    /// Without the patch.
    pub before: Spread,
    /// With it.
    pub after: Spread,
    /// True if the gap between the two ranges is wider than either of them. Otherwise no effect is shown.
    pub is_shown: bool,
}

/// A figure of a case's own run, and its range over the runs with an irrelevant change too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// The figure of the case's own run.
    pub own: f64,
    /// The least of all runs.
    pub least: f64,
    /// The most of all runs.
    pub most: f64,
}

/// The effect on the instructions of one kind of kernel entry.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EntryEffect {
    /// The kind.
    pub kind: String,
    /// Mean instructions without the patch.
    pub before: f64,
    /// With it.
    pub after: f64,
    /// True if the mean or the median of the kind differs by more than irrelevant changes make it.
    pub is_shown: bool,
    /// The functions that differ, the largest difference first.
    pub functions: Vec<Row>,
}

/// The effects on all cases that have runs of both kernels.
pub fn effects(judgement: &Judgement<'_>) -> Vec<CaseEffect> {
    let results = &judgement.results[..];
    let effect = |pair: Pair<'_>| {
        let labels: Vec<&str> = pair.base.labels().filter(|label| *label != BASE).collect();
        let (before, after) = (Side { case: pair.base, results }, Side { case: pair.patched, results });
        effect(before, after, &labels)
    };
    pairs(judgement.study).filter_map(effect).collect()
}

/// The changes of all cases that have runs among both results, of an earlier time and of a later one.
pub fn changes(before: &[CaseResult], after: &[CaseResult]) -> Vec<CaseEffect> {
    let own = after.iter().filter(|result| result.repetition == 0);
    let change = |result: &CaseResult| {
        let (before, after) =
            (Side { case: &result.case, results: before }, Side { case: &result.case, results: after });
        effect(before, after, &result.case.labels().collect::<Vec<_>>())
    };
    own.filter_map(change).collect()
}

/// A case among results.
#[derive(Clone, Copy)]
struct Side<'a> {
    case: &'a Case,
    results: &'a [CaseResult],
}

impl<'a> Side<'a> {
    /// The case's own run.
    fn own(self) -> Option<&'a Run> {
        let is_own = |result: &&CaseResult| result.case.id == self.case.id && result.repetition == 0;
        self.results.iter().find(is_own)?.run.as_ref().ok()
    }

    fn spread(self, run: &Run, figure: &str) -> Option<Spread> {
        let others = RunFigures(self.results).perturbed(self.case, figure, None);
        Some(Spread::of(figure_of(run, figure, None)?, others.into_values().flatten()))
    }
}

/// The effect on a case with these labels.
fn effect(before: Side<'_>, after: Side<'_>, labels: &[&str]) -> Option<CaseEffect> {
    let (base, changed) = (before.own()?, after.own()?);
    let title = &before.case.title;
    let mut effect = CaseEffect {
        case: [&[before.case.name.as_str()][..], labels].concat().join("/"),
        title: if labels.is_empty() { title.clone() } else { format!("{title}: {}", labels.join(", ")) },
        ..CaseEffect::default()
    };
    for figure in names(base).union(&names(changed)) {
        let spreads = before.spread(base, figure).zip(after.spread(changed, figure));
        match spreads {
            Some((before, after)) if before != after => effect.figures.push(FigureEffect {
                unit: unit(base, changed, figure),
                is_shown: before.is_apart(after),
                figure: figure.clone(),
                before,
                after,
            }),
            Some(_) => effect.equal += 1,
            None => {}
        }
    }
    effect.entries = entries(base, changed, &effect.figures);
    Some(effect)
}

/// The lines that the patched kernel logs in a case and the base does not, each once and with its numbers as `#`.
pub fn new_lines(judgement: &Judgement<'_>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut new = Vec::new();
    for pair in pairs(judgement.study) {
        known.extend(runs_of(judgement, pair.base).flat_map(log_of));
    }
    for pair in pairs(judgement.study) {
        for line in runs_of(judgement, pair.patched).flat_map(log_of) {
            if known.insert(line.clone()) {
                new.push(line);
            }
        }
    }
    new
}

/// Returns true if a line of the kernel's log reports a fault.
pub fn is_fault(line: &str) -> bool {
    const FAULTS: [&str; 8] = [
        "WARNING:",
        "BUG:",
        "Oops",
        "general protection fault",
        "self-detected stall",
        "blocked for more than",
        "Kernel panic",
        "INFO: possible",
    ];
    FAULTS.iter().any(|fault| line.contains(fault))
}

/// A case on both kernels.
#[derive(Clone, Copy)]
struct Pair<'a> {
    base: &'a Case,
    patched: &'a Case,
}

fn pairs(study: &Study) -> impl Iterator<Item = Pair<'_>> {
    let of = |case: &Case, kernel: &str| case.labels().any(|label| label == kernel);
    let rest = |case: &Case, kernel: &str| -> Vec<String> {
        case.labels().filter(|label| *label != kernel).map(str::to_owned).collect()
    };
    study.cases.iter().filter(move |case| of(case, BASE)).filter_map(move |base| {
        let is_other = |case: &&Case| {
            case.name == base.name && of(case, PATCHED) && rest(case, PATCHED) == rest(base, BASE)
        };
        Some(Pair { base, patched: study.cases.iter().find(is_other)? })
    })
}

fn runs_of<'j>(judgement: &'j Judgement<'_>, case: &Case) -> impl Iterator<Item = &'j Run> {
    let id = case.id.clone();
    judgement
        .results
        .iter()
        .filter(move |result| result.case.id == id)
        .filter_map(|result| result.run.as_ref().ok())
}

/// The lines of a run's kernel log without their times, and with numbers as `#`: addresses and counts differ.
fn log_of(run: &Run) -> Vec<String> {
    const LARGEST: u64 = 16 << 20;
    let text =
        read_beneath(&run.folder, &Path::new(RAW).join(pieces::KERNEL_LOG), LARGEST).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().map(without_numbers).filter(|line| !line.is_empty()).collect()
}

fn without_numbers(line: &str) -> String {
    let line = without_prefix(without_prefix(line.trim_start(), '<', '>'), '[', ']');
    let mut text = String::new();
    for word in line.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        for part in word.split_inclusive(|c: char| !c.is_alphanumeric()) {
            let token = part.trim_end_matches(|c: char| !c.is_alphanumeric());
            text += &if is_number(token) { part.replace(token, "#") } else { part.to_owned() };
        }
    }
    // The sign of a difference is as much chance as its size.
    text.replace(" -#", " #")
}

/// A line without its priority or its time.
fn without_prefix(line: &str, open: char, close: char) -> &str {
    line.strip_prefix(open)
        .and_then(|rest| rest.split_once(close))
        .map_or(line, |(_, rest)| rest.trim_start())
}

/// Returns true for a decimal or hexadecimal number, or one of bytes in K.
fn is_number(token: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_hexdigit() || matches!(c, 'x' | 'K' | 'k');
    token.contains(|c: char| c.is_ascii_digit()) && token.chars().all(is_digit)
}

impl FigureEffect {
    /// Returns true if it is a figure of one kind of kernel entry.
    pub fn is_of_an_entry(&self) -> bool {
        let name = self.figure.split(':').next().unwrap_or_default();
        [&table::SPAN, &table::SPAN_MEDIAN, &table::SPANS].iter().any(|figure| figure.name == name)
    }
}

impl Spread {
    /// Returns true if irrelevant changes do not explain the distance of another range: the gap is wider than either
    /// of the ranges. By chance the ranges of two times four runs of a normal distribution are as far apart in 1 of
    /// 2000 draws, those of two times three in 1 of 130 (by simulation).
    fn is_apart(self, other: Self) -> bool {
        // A report prints less as 0.0 %.
        const NEGLIGIBLE: f64 = 0.0005;
        let gap = (other.least - self.most).max(self.least - other.most);
        let widest = (self.most - self.least).max(other.most - other.least);
        gap > widest.max(NEGLIGIBLE * self.own.abs())
    }

    fn of(own: f64, others: impl Iterator<Item = f64>) -> Self {
        others.fold(Self { own, least: own, most: own }, |spread, other| Self {
            own,
            least: spread.least.min(other),
            most: spread.most.max(other),
        })
    }
}

/// The unit of a figure, which one of both runs may lack.
fn unit(base: &Run, patched: &Run, figure: &str) -> String {
    let units = [base, patched].map(|run| unit_of(run, figure));
    units.into_iter().find(|unit| !unit.is_empty()).unwrap_or_default().to_owned()
}

/// The names of a run's figures, with their keys.
fn names(run: &Run) -> BTreeSet<String> {
    let name =
        |figure: &str, key: &str| if key.is_empty() { figure.to_owned() } else { format!("{figure}:{key}") };
    run.analysis.observations.iter().map(|row| name(&row.figure, &row.key)).collect()
}

/// Returns true if the instructions of a kind of kernel entry are among the figures with an effect.
fn is_shown(figures: &[FigureEffect], kind: &str) -> bool {
    let names = [&table::SPAN, &table::SPAN_MEDIAN].map(|figure| format!("{}:{kind}", figure.name));
    figures.iter().any(|effect| effect.is_shown && names.contains(&effect.figure))
}

/// Kinds with fewer spans than this differ by chance.
const FEWEST: u64 = 20;

fn entries(base: &Run, patched: &Run, figures: &[FigureEffect]) -> Vec<EntryEffect> {
    let Some((before, after)) = base.analysis.spans.as_ref().zip(patched.analysis.spans.as_ref()) else {
        return Vec::new();
    };
    let effect = |(kind, sums): (&String, _)| {
        let other = after.kinds.get(kind)?;
        let sums: &dyntick_profile::Sums = sums;
        if sums.count.min(other.count) < FEWEST {
            return None;
        }
        let difference = compare(sums, other);
        let mut functions = difference.rows;
        functions.retain(|row| row.more != 0.0);
        (!functions.is_empty()).then(|| EntryEffect {
            kind: kind.clone(),
            before: difference.a,
            after: difference.b,
            is_shown: is_shown(figures, kind),
            functions,
        })
    };
    let mut entries: Vec<EntryEffect> = before.kinds.iter().filter_map(effect).collect();
    entries.sort_by(|a, b| (b.after - b.before).abs().total_cmp(&(a.after - a.before).abs()));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_log_are_no_difference() {
        assert_eq!(without_numbers("[    1.234567] Freeing 12K at 0xffff1234: ok"), "Freeing # at #: ok");
        assert_eq!(
            without_numbers("[    0.1] WARNING: CPU: 1 PID: 12 at kernel/x.c:3"),
            "WARNING: CPU: # PID: # at kernel/x.c:#"
        );
        assert_eq!(
            without_numbers("<6>[ 0.2] sched_clock: Marking stable (4, 412061)->(163206538, -7)"),
            "sched_clock: Marking stable (#, #)->(#, #)"
        );
        assert_eq!(without_numbers("[ 0.2] RIP: 0010:f+0x1a/0x30 [cpu1]"), "RIP: #:f+#/# [cpu1]");
        assert!(is_fault("WARNING: CPU: # PID: #") && !is_fault("warning: deprecated"));
    }

    #[test]
    fn ranges_near_each_other_show_no_effect() {
        let spread = Spread::of(2.0, [1.0, 4.0].into_iter());
        assert_eq!(spread, Spread { own: 2.0, least: 1.0, most: 4.0 });
        let of = |least: f64, most: f64| Spread { own: least, least, most };
        assert!(!of(1.0, 4.0).is_apart(of(4.0, 5.0)));
        assert!(!of(1.0, 2.0).is_apart(of(2.9, 3.0)), "as wide as a range");
        assert!(of(1.0, 2.0).is_apart(of(3.1, 4.0)) && of(3.1, 4.0).is_apart(of(1.0, 2.0)));
        assert!(of(64.0, 64.0).is_apart(of(32.0, 32.0)) && of(0.0, 0.0).is_apart(of(1.0, 1.0)));
        assert!(!of(250.0, 250.0).is_apart(of(250.0001, 250.0001)), "printed as no difference");
    }
}
