// SPDX-License-Identifier: GPL-2.0-only
//! Claims and the verdicts on them.

use super::parse::{required, text_of};
use super::reader::{Source, nearest};
use super::{Case, Study};
use dyntick_model::Clock;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::de::DeTable;

/// A claim: reproduced for a variant if all its checks hold there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What is claimed.
    pub text: String,
    /// Why it cannot be told here at all, where that is so.
    pub cannot_tell: Option<String>,
    /// What must hold.
    pub checks: Vec<Check>,
    /// Figures that are shown beside, without being judged.
    pub evidence: Vec<Check>,
    /// What the answer means, said with the verdict.
    pub comment: Option<String>,
}

/// One figure of one case, and what it must be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Name of the case; every variant of it is checked.
    pub case: String,
    /// Figure, or `figure:key`.
    pub figure: String,
    /// On this CPU; on all measured CPUs together where not given.
    pub cpu: Option<u32>,
    /// Divide by the same figure of this case.
    pub ratio_to: Option<String>,
    /// What it must be; none for evidence.
    pub is: Option<Condition>,
}

/// A bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// How the two compare.
    pub relation: Relation,
    /// With what.
    pub bound: f64,
}

/// How a figure and its bound compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub enum Relation {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

/// A text that is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a condition such as \"<= 2\", \"== 0\" or \"> 0.99\"")]
pub struct ConditionError(String);

const RELATIONS: [(&str, Relation); 5] = [
    ("<=", Relation::LessOrEqual),
    (">=", Relation::GreaterOrEqual),
    ("==", Relation::Equal),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

impl std::str::FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let error = || ConditionError(text.to_owned());
        let (sign, relation) =
            RELATIONS.into_iter().find(|(sign, _)| text.starts_with(sign)).ok_or_else(error)?;
        let bound = text[sign.len()..].trim().parse().map_err(|_| error())?;
        Ok(Self { relation, bound })
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign =
            RELATIONS.iter().find(|(_, relation)| *relation == self.relation).map_or("", |(sign, _)| sign);
        write!(f, "{sign} {}", self.bound)
    }
}

impl Condition {
    /// Whether a value meets it.
    pub fn holds(&self, value: f64) -> bool {
        match self.relation {
            Relation::Less => value < self.bound,
            Relation::LessOrEqual => value <= self.bound,
            Relation::Equal => value == self.bound,
            Relation::GreaterOrEqual => value >= self.bound,
            Relation::Greater => value > self.bound,
        }
    }
}

/// Figures by which claims are judged. Without `:` they stand alone; with it they are counted by key.
const FIGURES: [&str; 23] = [
    "ticks",
    "ticks_per_s",
    "ticks_share_of_hz",
    "local_timer",
    "local_timer_per_s",
    "interruptions",
    "interrupted_ns",
    "context_switches",
    "unattributed",
    "unattributed_share",
    "tick_stop_success",
    "script_s",
    "script_user_ns",
    "script_system_ns",
    "window_ns",
    "interruption",
    "cause",
    "tick_cause",
    "function",
    "called_function",
    "softirq",
    "tick_stop_failed",
    "interrupts",
];

/// Reads a `[[claim]]`.
pub(super) fn parse(source: &Source<'_>, table: &DeTable<'_>, cases: &[Case]) -> Option<Claim> {
    source.only(table, "[[claim]]", &["text", "cannot-tell", "comment", "check", "evidence"]);
    let checks = |key: &str| {
        let tables = table.get(key).map_or(Vec::new(), |value| source.tables(key, value));
        tables
            .into_iter()
            .filter_map(|check| parse_check(source, check, cases, key == "check"))
            .collect::<Vec<_>>()
    };
    let text = |key: &str| table.get(key).and_then(|value| source.text(key, value));
    let claim = Claim {
        text: text_of(source, table, "text")?,
        cannot_tell: text("cannot-tell"),
        checks: checks("check"),
        evidence: checks("evidence"),
        comment: text("comment"),
    };
    if claim.checks.is_empty() && claim.cannot_tell.is_none() && table.get("check").is_none() {
        required(source, table, "check");
    }
    Some(claim)
}

fn parse_check(source: &Source<'_>, table: &DeTable<'_>, cases: &[Case], judged: bool) -> Option<Check> {
    source.only(table, "a check", &["case", "figure", "cpu", "ratio-to", "is"]);
    check_reference(source, table, cases);
    let is = match table.get("is") {
        Some(value) => Some(source.parse("is", value)?),
        None if judged => {
            required(source, table, "is");
            return None;
        }
        None => None,
    };
    Some(Check {
        case: text_of(source, table, "case")?,
        figure: text_of(source, table, "figure")?,
        cpu: table.get("cpu").and_then(|value| source.number("cpu", value)).map(|cpu| cpu as u32),
        ratio_to: table.get("ratio-to").and_then(|value| source.text("ratio-to", value)),
        is,
    })
}

/// Refuses cases and figures that do not exist, and comparisons across clocks.
pub(super) fn check_reference(source: &Source<'_>, table: &DeTable<'_>, cases: &[Case]) {
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    let text =
        |key: &str| table.get(key).and_then(|value| Some((value.span().start, value.get_ref().as_str()?)));
    for (at, name) in ["case", "ratio-to"].iter().filter_map(|key| text(key)) {
        refuse_unknown(source, at, "case", name, &names);
    }
    if let Some((at, figure)) = text("figure") {
        refuse_unknown(source, at, "figure", figure.split(':').next().unwrap_or_default(), &FIGURES);
    }
    let clocks = |name: &str| -> Vec<Clock> {
        cases.iter().filter(|case| case.name == name).map(|case| case.clock).collect()
    };
    if let (Some((_, case)), Some((at, other))) = (text("case"), text("ratio-to")) {
        let mut all = clocks(case);
        all.extend(clocks(other));
        all.dedup();
        if all.len() > 1 {
            let message =
                format!("'{case}' and '{other}' are on different clocks: their figures are not compared");
            source.problem(at, message);
        }
    }
}

fn refuse_unknown(source: &Source<'_>, at: usize, what: &str, name: &str, known: &[&str]) {
    if !known.contains(&name) {
        let hint = nearest(name, known).map_or(String::new(), |right| format!("; did you mean '{right}'?"));
        source.problem(at, format!("there is no {what} '{name}'{hint}"));
    }
}

/// Where figures are looked up.
pub trait Figures {
    /// The values of a figure in all runs of a case, by its id: on one CPU, or on the measured
    /// CPUs together. None where the case has no whole run or the figure was not measured; a
    /// count of something that never happened is 0.
    fn get(&self, case: &Case, figure: &str, cpu: Option<u32>) -> Option<Vec<f64>>;
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// Every check holds.
    Reproduced,
    /// One does not.
    NotReproduced,
    /// A run is missing or failed, or it is a question that this laboratory cannot answer.
    CannotTell,
}

/// A claim with what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The claim.
    pub claim: Claim,
    /// The ruling for each variant (as each kernel).
    pub rulings: Vec<(String, Ruling)>,
    /// The figures, one line each.
    pub evidence: Vec<String>,
}

/// Judges all claims of a study.
pub fn judge(study: &Study, figures: &dyn Figures) -> Vec<Verdict> {
    study.claims.iter().map(|claim| judge_one(study, claim, figures)).collect()
}

fn judge_one(study: &Study, claim: &Claim, figures: &dyn Figures) -> Verdict {
    if let Some(reason) = &claim.cannot_tell {
        let rulings = vec![(String::new(), Ruling::CannotTell)];
        return Verdict { claim: claim.clone(), rulings, evidence: vec![reason.clone()] };
    }
    let mut rulings: BTreeMap<String, Ruling> = BTreeMap::new();
    let mut evidence = Vec::new();
    for (check, judged) in
        claim.checks.iter().map(|c| (c, true)).chain(claim.evidence.iter().map(|c| (c, false)))
    {
        for case in study.cases.iter().filter(|case| case.name == check.case) {
            let (ruling, line) = weigh(study, check, case, figures);
            evidence.push(line);
            if judged {
                let sofar = rulings.entry(case.variant.clone()).or_insert(Ruling::Reproduced);
                *sofar = ruling.max(*sofar);
            }
        }
    }
    Verdict { claim: claim.clone(), rulings: rulings.into_iter().collect(), evidence }
}

fn weigh(study: &Study, check: &Check, case: &Case, figures: &dyn Figures) -> (Ruling, String) {
    let what = match (check.cpu, &check.ratio_to) {
        (Some(cpu), _) => format!("{} on CPU {cpu}", check.figure),
        (None, Some(other)) => format!("{} relative to {other}", check.figure),
        (None, None) => check.figure.clone(),
    };
    let Some(values) = values(study, check, case, figures) else {
        return (
            Ruling::CannotTell,
            format!("{}: {what} is not known: no whole run, or nothing to compare with", case.id),
        );
    };
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let shown = match values.len() {
        1 => number(mean),
        count => format!("{} (mean of {count})", number(mean)),
    };
    match &check.is {
        None => (Ruling::Reproduced, format!("{}: {what} = {shown}", case.id)),
        Some(condition) if condition.holds(mean) => {
            (Ruling::Reproduced, format!("{}: {what} = {shown}, wanted {condition}: yes", case.id))
        }
        Some(condition) => {
            (Ruling::NotReproduced, format!("{}: {what} = {shown}, wanted {condition}: no", case.id))
        }
    }
}

fn values(study: &Study, check: &Check, case: &Case, figures: &dyn Figures) -> Option<Vec<f64>> {
    let values = figures.get(case, &check.figure, check.cpu).filter(|values| !values.is_empty())?;
    let Some(other) = &check.ratio_to else { return Some(values) };
    let other = study.cases.iter().find(|c| c.name == *other && c.variant == case.variant)?;
    let references = figures.get(other, &check.figure, check.cpu).filter(|values| !values.is_empty())?;
    let reference = references.iter().sum::<f64>() / references.len() as f64;
    // A share of nothing says nothing.
    if reference == 0.0 {
        return None;
    }
    Some(values.iter().map(|value| value / reference).collect())
}

/// A number with as many digits as tell something.
pub fn number(value: f64) -> String {
    let text = match value.abs() {
        v if v == v.trunc() => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 10.0 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions() {
        let holds = |text: &str, value| text.parse::<Condition>().unwrap().holds(value);
        assert!(holds("<= 2", 2.0) && !holds("< 2", 2.0) && holds("== 0", 0.0) && holds(">=0.99", 1.0));
        assert!("about 2".parse::<Condition>().is_err() && "<= two".parse::<Condition>().is_err());
        assert_eq!("<=2".parse::<Condition>().unwrap().to_string(), "<= 2");
    }

    #[test]
    fn numbers_that_tell() {
        assert_eq!(
            [0.0, 250.0, 0.99271, 1234.56, 12.3].map(number),
            ["0", "250", "0.99271", "1234.6", "12.3"]
        );
    }
}
