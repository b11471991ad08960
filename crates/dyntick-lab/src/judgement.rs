// SPDX-License-Identifier: GPL-2.0-only
//! The judgement of a study's runs: verdicts on its claims, its comparisons of two cases, and the effects of its axes.

use crate::lab::{CaseResult, Fault};
use crate::latency::Latency;
use crate::lookup::{RunFigures, unit_of};
use crate::store::Run;
use dyntick_profile::{Difference, Sums, compare};
use dyntick_stats::{Factor, Factorial, Histogram, LevelMean, Summary, factorial};
use dyntick_study::claims::{self, Figures, Verdict, known};
use dyntick_study::figure::QUANTILES;
use dyntick_study::{Comparison, Effects, Study};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The runs of a study, judged.
pub struct Judgement<'a> {
    /// The study.
    pub study: &'a Study,
    /// The runs, including those that failed.
    pub results: Vec<CaseResult>,
    /// The verdicts on its claims.
    pub verdicts: Vec<Verdict>,
    /// The comparisons (`[[compare]]`).
    pub comparisons: Vec<Compared>,
    /// The effects (`[[effects]]`).
    pub effects: Vec<Found>,
}

impl<'a> Judgement<'a> {
    /// Judges the runs.
    pub fn of(study: &'a Study, results: Vec<CaseResult>) -> Self {
        let verdicts = claims::judge(study, &RunFigures(&results));
        let comparisons = compare_all(study, &results);
        let effects = all_effects(study, &results);
        Self { study, results, verdicts, comparisons, effects }
    }

    /// Returns true if there is nothing to report: no case has a run, and no failure is a result.
    pub fn is_empty(&self) -> bool {
        self.results
            .iter()
            .all(|result| result.run.as_ref().is_err_and(|error| error.fault() != Fault::Guest))
    }
}

/// Two runs compared. Figures of `with` come first; `more` is what those of `case` exceed them by.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Compared {
    /// The title.
    pub title: String,
    /// The id of the case.
    pub case: String,
    /// The id of the case that it is compared with.
    pub with: String,
    /// The distributions of latencies, ns; empty where one has none.
    pub latency: Vec<Shift>,
    /// The distributions themselves, `with` first; of two runs that both have one.
    #[serde(skip)]
    pub histograms: Option<[Histogram; 2]>,
    /// Mean instructions of each kind of span that both have.
    pub spans: Vec<SpanShift>,
    /// The functions of the kinds that were asked for.
    pub functions: Vec<(String, Difference)>,
    /// The kinds that were asked for and that one of both has not.
    pub missing: Vec<String>,
}

impl Compared {
    /// The kinds of spans that were asked for; all if none was.
    pub fn asked(&self) -> impl Iterator<Item = &SpanShift> {
        let is_asked = |span: &&SpanShift| self.functions.iter().any(|(kind, _)| *kind == span.kind);
        self.spans.iter().filter(move |span| self.functions.is_empty() || is_asked(span))
    }
}

/// The shift of one point of a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Shift {
    /// `min`, `p50`, …, `max`, `mean`.
    pub point: String,
    /// The same as a quantile, 0 to 1; null for the mean.
    pub quantile: Option<f64>,
    /// There in the run that is compared with, ns.
    pub with: f64,
    /// There in the run, ns.
    pub case: f64,
}

/// Mean instructions of one kind of span.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SpanShift {
    /// The kind.
    pub kind: String,
    /// The number of spans in each run.
    pub counts: (u64, u64),
    /// Mean instructions in the run that is compared with.
    pub with: f64,
    /// Mean instructions in the run.
    pub case: f64,
}

/// All comparisons of a study among the runs that there are, in virtual time of the first repetition.
pub(crate) fn compare_all(study: &Study, results: &[CaseResult]) -> Vec<Compared> {
    study.comparisons.iter().flat_map(|comparison| pairs(study, comparison, results)).collect()
}

fn pairs(study: &Study, comparison: &Comparison, results: &[CaseResult]) -> Vec<Compared> {
    let run_of = |id: &str| {
        let of_case = results.iter().find(|result| result.case.id == id && result.repetition == 0);
        of_case.and_then(|result| result.run.as_ref().ok())
    };
    let compared = |case: &dyntick_study::Case| {
        let [with] = claims::references(case, &comparison.with, &study.cases)[..] else { return None };
        // Figures of two clocks are never compared.
        if with.clock != case.clock {
            return None;
        }
        Some(compared(comparison, run_of(&case.id)?, run_of(&with.id)?))
    };
    study.select(&comparison.case).filter_map(compared).collect()
}

fn compared(comparison: &Comparison, case: &Run, with: &Run) -> Compared {
    let none = BTreeMap::new();
    let kinds = [with, case].map(|run| run.analysis.spans.as_ref().map_or(&none, |spans| &spans.kinds));
    let functions = comparison.spans.iter().filter_map(|kind| {
        let difference = compare(kinds[0].get(kind)?, kinds[1].get(kind)?);
        Some((kind.clone(), difference))
    });
    let latencies = with.analysis.latency.as_ref().zip(case.analysis.latency.as_ref());
    Compared {
        title: comparison.title.clone(),
        case: case.plan.case.id.clone(),
        with: with.plan.case.id.clone(),
        latency: latencies.map_or(Vec::new(), |(a, b)| shifts(a, b)),
        histograms: latencies.map(|(a, b)| [a.all(), b.all()]),
        functions: functions.collect(),
        missing: comparison
            .spans
            .iter()
            .filter(|kind| !kinds.iter().all(|kinds| kinds.contains_key(*kind)))
            .cloned()
            .collect(),
        spans: span_shifts(kinds[0], kinds[1]),
    }
}

/// Kinds with fewer spans than this differ by chance.
const FEWEST: u64 = 20;

fn span_shifts(with: &BTreeMap<String, Sums>, case: &BTreeMap<String, Sums>) -> Vec<SpanShift> {
    let shift = |(kind, b): (&String, &Sums)| {
        let a = with.get(kind)?;
        (a.count.min(b.count) >= FEWEST).then(|| SpanShift {
            kind: kind.clone(),
            counts: (a.count, b.count),
            with: a.mean(),
            case: b.mean(),
        })
    };
    let mut shifts: Vec<SpanShift> = case.iter().filter_map(shift).collect();
    shifts.sort_by(|a, b| (b.case - b.with).abs().total_cmp(&(a.case - a.with).abs()));
    shifts
}

fn shifts(with: &Latency, case: &Latency) -> Vec<Shift> {
    let (a, b) = (with.all(), case.all());
    let point = |name: &str, share: f64| {
        let (with, case) = (a.quantile(share)? as f64, b.quantile(share)? as f64);
        Some(Shift { point: name.to_owned(), quantile: Some(share), with, case })
    };
    let ends = [("min", 0.0)].into_iter().chain(QUANTILES).chain([("max", 1.0)]);
    let mut shifts: Vec<Shift> = ends.filter_map(|(name, share)| point(name, share)).collect();
    let means = a.mean().zip(b.mean());
    shifts.extend(means.map(|(with, case)| Shift { point: "mean".to_owned(), quantile: None, with, case }));
    shifts
}

/// The effects that a study asks for.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Found {
    /// The title.
    pub title: String,
    /// The case's name.
    pub case: String,
    /// The axes with two values or more.
    pub factors: Vec<Factor>,
    /// Each figure.
    pub figures: Vec<FigureEffects>,
}

/// The effects on one figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FigureEffects {
    /// The figure.
    pub figure: String,
    /// The unit; empty for counts, and if no run has it.
    pub unit: String,
    /// The experiment taken apart; none where the figure of a cell is not known.
    pub factorial: Option<Factorial>,
    /// The spread of the runs of a cell, if cells were run several times.
    pub repeats: Option<Repeats>,
    /// The effect of each level in the runs with an irrelevant change, in the order of the factorial's; empty if not
    /// every cell has such runs.
    pub perturbed: Vec<Range>,
    /// The first few cells without a value, or the reason for which there is no result.
    pub lacking: Vec<String>,
    /// The number of further such cells.
    pub more_lacking: usize,
}

/// The least and the most that a difference is: in a cell's own runs, and in those with an irrelevant change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Range {
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl FigureEffects {
    /// Returns true if irrelevant changes move the difference of a level by no less than what it is.
    pub fn is_drowned(&self, level: &LevelMean) -> bool {
        let place = self.factorial.iter().flat_map(|found| &found.levels).position(|other| other == level);
        let range = place.and_then(|place| self.perturbed.get(place));
        range.is_some_and(|range| range.most - range.least >= level.difference.abs())
    }
}

/// The spread of the runs of a cell, of which the mean is taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Repeats {
    /// The fewest and the most runs of a cell.
    pub runs: (usize, usize),
    /// Standard deviation of the runs of a cell, of all cells together (the root of the pooled variance).
    pub deviation: f64,
}

/// The number of cells without a value that are named.
const MOST_LACKING: usize = 8;

/// All effects that a study asks for.
pub(crate) fn all_effects(study: &Study, results: &[CaseResult]) -> Vec<Found> {
    let unit = |case: &str, figure: &str| {
        let runs = results.iter().filter(|result| result.case.name == case);
        let mut units = runs.filter_map(|result| Some(unit_of(result.run.as_ref().ok()?, figure)));
        units.find(|unit| !unit.is_empty() && *unit != "1").unwrap_or_default().to_owned()
    };
    study.effects.iter().map(|effects| found(study, effects, &RunFigures(results), &unit)).collect()
}

fn found(
    study: &Study,
    effects: &Effects,
    figures: &dyn Figures,
    unit: &dyn Fn(&str, &str) -> String,
) -> Found {
    let factors: Vec<Factor> = effects.axes.iter().filter(|axis| axis.levels.len() > 1).cloned().collect();
    let ids = ids(effects);
    let of_figure = |figure: &String| {
        let found = of_figure(study, figure, &factors, &ids, figures);
        FigureEffects { unit: unit(&effects.case, figure), ..found }
    };
    let figures = effects.figures.iter().map(of_figure).collect();
    Found { title: effects.title.clone(), case: effects.case.clone(), factors, figures }
}

/// The ids of all cells, the values of the last axis next to one another.
fn ids(effects: &Effects) -> Vec<String> {
    effects.axes.iter().fold(vec![effects.case.clone()], |ids, axis| {
        let of_id = |id: &String| axis.levels.iter().map(|level| format!("{id}/{level}")).collect::<Vec<_>>();
        ids.iter().flat_map(of_id).collect()
    })
}

fn of_figure(
    study: &Study,
    figure: &str,
    factors: &[Factor],
    ids: &[String],
    figures: &dyn Figures,
) -> FigureEffects {
    let of_cell = |id: &String| match study.case(id) {
        Some(case) => known(case, figure, None, figures)
            .map_err(|why| if why.contains(id.as_str()) { why } else { format!("{id}: {why}") }),
        None => Err(format!("{id} was not run")),
    };
    let (known, lacking): (Vec<_>, Vec<_>) = ids.iter().map(of_cell).partition(Result::is_ok);
    let cells: Vec<Summary> = known.into_iter().flatten().filter_map(|runs| Summary::of(&runs)).collect();
    let mut lacking: Vec<String> = lacking.into_iter().filter_map(Result::err).collect();
    let more_lacking = lacking.len().saturating_sub(MOST_LACKING);
    lacking.truncate(MOST_LACKING);
    let means: Vec<f64> = cells.iter().map(|cell| cell.mean).collect();
    let taken_apart = lacking.is_empty().then(|| factorial(factors, &means));
    let factorial = match taken_apart {
        Some(Err(why)) => {
            lacking.push(why.to_string());
            None
        }
        found => found.and_then(Result::ok),
    };
    FigureEffects {
        figure: figure.to_owned(),
        unit: String::new(),
        repeats: factorial.as_ref().and_then(|_| repeats(&cells)),
        perturbed: factorial
            .as_ref()
            .map_or(Vec::new(), |own| perturbed(own, &perturbed_cells(study, figure, ids, figures), factors)),
        factorial,
        lacking,
        more_lacking,
    }
}

/// The figure of each cell in its perturbed runs, by their numbers.
fn perturbed_cells(
    study: &Study,
    figure: &str,
    ids: &[String],
    figures: &dyn Figures,
) -> Vec<BTreeMap<u32, Option<f64>>> {
    let of_cell = |id: &String| study.case(id).map(|case| figures.perturbed(case, figure, None));
    ids.iter().map(|id| of_cell(id).unwrap_or_default()).collect()
}

/// The range of each level's difference over the own runs and the perturbed ones that every cell has: those of one
/// number were changed in the same way.
fn perturbed(own: &Factorial, cells: &[BTreeMap<u32, Option<f64>>], factors: &[Factor]) -> Vec<Range> {
    let mut ranges: Vec<Range> =
        own.levels.iter().map(|level| Range { least: level.difference, most: level.difference }).collect();
    let mut has_any = false;
    for number in cells.first().into_iter().flat_map(BTreeMap::keys) {
        let values: Option<Vec<f64>> = cells.iter().map(|cell| cell.get(number).copied().flatten()).collect();
        let Some(Ok(found)) = values.map(|values| factorial(factors, &values)) else { continue };
        has_any = true;
        for (range, level) in ranges.iter_mut().zip(&found.levels) {
            range.least = range.least.min(level.difference);
            range.most = range.most.max(level.difference);
        }
    }
    if has_any { ranges } else { Vec::new() }
}

/// The spread within cells, where any was run more than once.
fn repeats(cells: &[Summary]) -> Option<Repeats> {
    let runs = (cells.iter().map(|cell| cell.count).min()?, cells.iter().map(|cell| cell.count).max()?);
    let freedom: usize = cells.iter().map(|cell| cell.count - 1).sum();
    let squares: f64 = cells.iter().map(|cell| cell.deviation.powi(2) * (cell.count - 1) as f64).sum();
    (freedom > 0).then(|| Repeats { runs, deviation: (squares / freedom as f64).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_study::Case;
    use std::path::Path;

    const STUDY: &str = "title='t'\nquestion='q'\n[defaults]\nclock='wall'\n\
        [matrix]\nkernel=['debian:6.1','debian:6.12']\n[[case]]\nname='a'\n[case.matrix]\ncpus=[2]\n\
        mode=[{label='calm'},{label='loud', append='x'},{label='mute', append='y'}]\n\
        [[effects]]\ncase='a'\nfigures=['ticks_per_s','ticks']\n";

    /// The runs of each cell by its id.
    struct Cells(Vec<(&'static str, Vec<f64>)>);

    impl Figures for Cells {
        fn get(&self, case: &Case, figure: &str, _cpu: Option<u32>) -> Option<Vec<f64>> {
            let of_case = self.0.iter().find(|(id, _)| *id == case.id)?;
            Some(of_case.1.clone()).filter(|_| figure == "ticks_per_s")
        }

        fn doubt(&self, case: &Case, _figure: &str, _cpu: Option<u32>) -> Option<String> {
            (case.id == "a/debian:6.12/2/mute" && self.0.len() == 5).then(|| "3 events were lost".to_owned())
        }
    }

    fn cells() -> Cells {
        Cells(vec![
            ("a/debian:6.12/2/calm", vec![20.0]),
            ("a/debian:6.1/2/calm", vec![9.0, 11.0]),
            ("a/debian:6.1/2/loud", vec![11.0, 13.0]),
            ("a/debian:6.1/2/mute", vec![10.0, 10.0]),
            ("a/debian:6.12/2/loud", vec![22.0]),
            ("a/debian:6.12/2/mute", vec![26.0]),
        ])
    }

    fn message(study: &Study, cells: &Cells) -> Found {
        found(study, &study.effects[0], cells, &|_, _| "1/s".to_owned())
    }

    fn study() -> Study {
        Study::parse(Path::new("s.toml"), STUDY).unwrap_or_else(|problems| panic!("{problems}"))
    }

    /// Cells of which each has its own figure and those of two perturbed runs.
    struct Perturbed(Vec<(&'static str, [f64; 3])>);

    impl Figures for Perturbed {
        fn get(&self, case: &Case, _figure: &str, _cpu: Option<u32>) -> Option<Vec<f64>> {
            self.0.iter().find(|(id, _)| *id == case.id).map(|(_, values)| vec![values[0]])
        }

        fn doubt(&self, _case: &Case, _figure: &str, _cpu: Option<u32>) -> Option<String> {
            None
        }

        fn perturbed(&self, case: &Case, _figure: &str, _cpu: Option<u32>) -> BTreeMap<u32, Option<f64>> {
            let of_case = self.0.iter().find(|(id, _)| *id == case.id);
            of_case
                .map_or_else(BTreeMap::new, |(_, values)| [(1, Some(values[1])), (2, Some(values[2]))].into())
        }
    }

    #[test]
    fn effect_below_the_spread_of_irrelevant_changes_is_drowned() {
        let cells = Perturbed(vec![
            ("a/debian:6.1/2/calm", [10.0, 11.0, 10.0]),
            ("a/debian:6.1/2/loud", [10.5, 10.0, 11.0]),
            ("a/debian:6.1/2/mute", [10.0, 10.0, 10.0]),
            ("a/debian:6.12/2/calm", [20.0, 20.0, 20.0]),
            ("a/debian:6.12/2/loud", [20.0, 20.0, 20.0]),
            ("a/debian:6.12/2/mute", [20.0, 20.0, 20.0]),
        ]);
        let study = study();
        let found = found(&study, &study.effects[0], &cells, &|_, _| String::new());
        let figure = &found.figures[0];
        let levels = &figure.factorial.as_ref().unwrap().levels;
        let drowned =
            |name: &str| figure.is_drowned(levels.iter().find(|level| level.level == name).unwrap());
        assert!(drowned("loud"), "0.25 in its own runs, and from -0.5 to 0.5 in all: {figure:#?}");
        assert!(!drowned("debian:6.12"), "some 10 in all runs");
    }

    #[test]
    fn an_axis_of_one_value_is_no_factor() {
        let found = message(&study(), &cells());
        let names: Vec<&str> = found.factors.iter().map(|factor| factor.name.as_str()).collect();
        assert_eq!(names, ["kernel", "mode"]);
        let rates = &found.figures[0];
        let factorial = rates.factorial.as_ref().unwrap();
        assert_eq!((factorial.cells, rates.unit.as_str()), (6, "1/s"));
        let wanted =
            [("debian:6.1", 0.0), ("debian:6.12", 12.0), ("calm", 0.0), ("loud", 2.0), ("mute", 3.0)];
        assert_eq!(factorial.levels.len(), wanted.len());
        for (level, (name, difference)) in factorial.levels.iter().zip(wanted) {
            assert_eq!(level.level, name);
            assert!((level.difference - difference).abs() < 1e-9, "{level:?}");
        }
        // Variances of 2, 2 and 0 in the cells with two runs.
        let repeats = rates.repeats.unwrap();
        assert_eq!(repeats.runs, (1, 2));
        assert!((repeats.deviation - (4.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn unknown_cell_is_named_and_has_no_result() {
        let found = message(&study(), &cells());
        let ticks = &found.figures[1];
        assert_eq!((ticks.factorial.is_none(), ticks.lacking.len()), (true, 6));
        assert_eq!(ticks.lacking[0], "a/debian:6.1/2/calm has no complete run with it");

        let mut study = study();
        study.cases.retain(|case| case.id != "a/debian:6.1/2/loud");
        let lacking = |cells: &Cells| message(&study, cells).figures[0].lacking.clone();
        assert_eq!(lacking(&cells()), ["a/debian:6.1/2/loud was not run"]);
        let mut doubtful = cells();
        doubtful.0.remove(0);
        assert_eq!(
            lacking(&doubtful),
            [
                "a/debian:6.1/2/loud was not run",
                "a/debian:6.12/2/calm has no complete run with it",
                "a/debian:6.12/2/mute: 3 events were lost"
            ]
        );
    }
}
