// SPDX-License-Identifier: GPL-2.0-only
//! The answer of a study in a few sentences, and the runs that it follows from. It is made by fixed rules from the
//! figures of the report; the book's chapter "Reading a report" has them.

use super::figures::{NO_DIFFERENCE, are_alike, named, option, relative, with_unit};
use super::material::Material;
use super::measures::Measure;
use super::sides::{self, Row};
use super::titles::{Titled, kernel_of};
use super::{distinct, overview, window_ns};
use crate::few::few;
use dyntick_lab::compare::Compared;
use dyntick_lab::effects::{FigureEffects, Found};
use dyntick_lab::store::Run;
use dyntick_report::numbers::{self, counted};
use dyntick_report::{Ruling, Verdict, score};
use dyntick_stats::{Factor, Factorial, LevelMean, Summary};
use dyntick_study::claims::number;
use dyntick_study::figure::table::TICKS;
use std::collections::BTreeSet;

/// The number of figures that a sentence names.
const MOST_FIGURES: usize = 3;

/// The answer.
pub fn answer(material: &Material<'_>, measures: &[Measure]) -> String {
    if material.runs.is_empty() {
        return "none: no case has a complete run.".to_owned();
    }
    let sides = material.study.compared.as_ref().filter(|compared| compared.levels.len() == 2);
    let mut sentences = Vec::new();
    sentences.extend(sides.and_then(|sides| of_two_verdicts(material.verdicts, sides)));
    if sentences.is_empty() {
        sentences.extend(of_claims(material.verdicts));
    }
    let of_options = match sides {
        Some(sides) => of_sides(&sides::rows(material, measures), sides).into_iter().collect(),
        None => of_effects(material.effects),
    };
    let is_answered = sides.is_some() || !of_options.is_empty();
    sentences.extend(of_options);
    if material.verdicts.is_empty() {
        sentences.extend(material.comparisons.iter().find_map(of_comparison));
    }
    if !is_answered {
        sentences.extend(of_cases(material.runs, measures));
    }
    sentences.join(" ")
}

/// The runs that the answer follows from.
pub fn from(material: &Material<'_>) -> String {
    let runs = material.runs;
    let cases: BTreeSet<&str> = runs.iter().map(|run| run.run().plan.case.id.as_str()).collect();
    let all = |value: fn(&Titled<'_>) -> String| distinct(runs.iter().map(value).collect());
    let kernels: BTreeSet<String> = runs.iter().map(|run| kernel_of(run)).collect();
    let kernels = few(kernels.into_iter(), MOST_FIGURES).join(", ");
    let lost: u64 = runs.iter().map(|run| run.analysis.lost_events.values().sum::<u64>()).sum();
    let perturbed = match material.perturbed {
        0 => String::new(),
        runs => format!(" and {} with an irrelevant change", counted(runs as u64, "run")),
    };
    format!(
        "{} of {}{perturbed}; Linux {kernels}; {} clock; windows of {}; {} lost.",
        counted(runs.len() as u64, "run"),
        counted(cases.len() as u64, "case"),
        all(|run| run.plan.case.clock.to_string()),
        windows(runs),
        if lost == 0 { "no trace event".to_owned() } else { counted(lost, "trace event") },
    )
}

/// The lengths of the windows: `10 s`, or `2 to 10 s`.
pub fn windows(runs: &[Titled<'_>]) -> String {
    let tenths = |run: &Titled<'_>| (window_ns(run) as f64 / 1e8).round() as u64;
    let seconds = |tenths: u64| numbers::plain(tenths as f64 / 10.0);
    match (runs.iter().map(tenths).min(), runs.iter().map(tenths).max()) {
        (Some(least), Some(most)) if least != most => format!("{} to {} s", seconds(least), seconds(most)),
        (least, _) => format!("{} s", seconds(least.unwrap_or(0))),
    }
}

/// The claims of which the two sides have different verdicts.
fn of_two_verdicts(verdicts: &[Verdict], sides: &Factor) -> Option<String> {
    let judged =
        |verdict: &&Verdict| sides.levels.iter().all(|level| side(verdict, level).is_some_and(is_judged));
    let judged: Vec<&Verdict> = verdicts.iter().filter(judged).collect();
    let [a, b] = &sides.levels[..] else { return None };
    let first = *judged.first()?;
    let mut differing = judged.iter().filter(|verdict| differs(verdict, sides));
    let Some(claim) = differing.next() else {
        return Some(match judged.len() {
            1 => format!("{} with {a} and with {b}.", ruled(first, first.only_ruling()?)),
            claims => format!("All {claims} claims have the same verdict with {a} and with {b}."),
        });
    };
    let others = match differing.count() {
        0 => String::new(),
        others => format!(" {} more differ.", counted(others as u64, "claim")),
    };
    let [of_a, of_b] = [side(claim, a)?, side(claim, b)?].map(|ruling| in_words(claim, ruling));
    Some(format!("“{}” {of_b} with {b}, and {of_a} with {a}.{others}", plain(&claim.claim)))
}

/// Returns true if the two sides have different verdicts on the claim.
pub fn differs(verdict: &Verdict, sides: &Factor) -> bool {
    let rulings: Vec<Option<Ruling>> = sides.levels.iter().map(|level| side(verdict, level)).collect();
    rulings.iter().flatten().count() == rulings.len() && rulings.windows(2).any(|pair| pair[0] != pair[1])
}

/// The ruling on all variants of a claim that have this label.
fn side(verdict: &Verdict, level: &str) -> Option<Ruling> {
    let of_level = |(variant, _): &&(String, Ruling)| variant.split('/').any(|label| label == level);
    let mut rulings = verdict.rulings.iter().filter(of_level).map(|(_, ruling)| *ruling);
    let first = rulings.next()?;
    rulings.all(|ruling| ruling == first).then_some(first)
}

fn is_judged(ruling: Ruling) -> bool {
    !matches!(ruling, Ruling::NotRun | Ruling::CannotTell)
}

/// One claim with its ruling, or the number of claims with each.
fn of_claims(verdicts: &[Verdict]) -> Option<String> {
    match verdicts {
        [] => None,
        [only] => Some(match only.only_ruling() {
            Some(ruling) => format!("{}.", ruled(only, ruling)),
            None => format!("{}.", only.in_short()),
        }),
        all => Some(format!("{}.", score(all))),
    }
}

/// `“It has no tick” holds (6 of 6 runs)`
fn ruled(verdict: &Verdict, ruling: Ruling) -> String {
    let agreement =
        if verdict.agreement.is_empty() { String::new() } else { format!(" ({})", verdict.agreement) };
    format!("“{}” {}{agreement}", plain(&verdict.claim), in_words(verdict, ruling))
}

/// A ruling as the end of a sentence: `is reproduced`, `holds`.
fn in_words(verdict: &Verdict, ruling: Ruling) -> String {
    let word = verdict.word(ruling);
    match ruling {
        Ruling::Reproduced | Ruling::NotReproduced if !verdict.published => word.to_owned(),
        Ruling::NotRun => "was not run".to_owned(),
        _ => format!("is {word}"),
    }
}

/// A claim without its full stop, for the middle of a sentence.
fn plain(claim: &str) -> &str {
    claim.trim_end_matches('.')
}

/// The first figures that differ between two kernels or settings.
fn of_sides(rows: &[Row], sides: &Factor) -> Option<String> {
    let [a, b] = &sides.levels[..] else { return None };
    let differing: Vec<&Row> = rows.iter().filter(|row| row.differs()).collect();
    if rows.is_empty() {
        return None;
    }
    if differing.is_empty() {
        return Some(format!("No figure differs by 0.1 % or more between {a} and {b}."));
    }
    let one = |row: &&Row| {
        let values = format!("{} -> {}", row.cells[0], row.cells[1]);
        with_figure(&row.name, &values, row.unit)
    };
    let shown: Vec<String> = differing.iter().take(MOST_FIGURES).map(one).collect();
    Some(format!("From {a} to {b}: {}.", shown.join("; ")))
}

/// `ticks 250 -> 0 1/s`
fn with_figure(name: &str, values: &str, unit: &str) -> String {
    format!("{name} {values} {unit}").trim_end().to_owned()
}

/// The largest effect on each of the first figures.
fn of_effects(effects: &[Found]) -> Vec<String> {
    let figures = effects.iter().flat_map(|found| found.figures.iter().map(move |figure| (found, figure)));
    figures.filter_map(|(found, figure)| of_figure(found, figure)).take(MOST_FIGURES).collect()
}

fn of_figure(found: &Found, figure: &FigureEffects) -> Option<String> {
    let factorial = figure.factorial.as_ref()?;
    let name = named(&figure.figure);
    let Some(level) = largest(found, factorial) else {
        return Some(format!("{}: {NO_DIFFERENCE}.", capital(&name)));
    };
    let base = level.mean - level.difference;
    Some(format!(
        "{}: {name} {} -> {} ({}).",
        option(&level.factor, &level.level),
        number(base),
        with_unit(level.mean, &figure.unit),
        relative(level.difference, level.percent),
    ))
}

/// The level with the largest difference from its base, if it is worth a word.
fn largest<'f>(found: &Found, factorial: &'f Factorial) -> Option<&'f LevelMean> {
    let is_base = |level: &LevelMean| {
        found
            .factors
            .iter()
            .any(|factor| factor.name == level.factor && factor.levels.first() == Some(&level.level))
    };
    let differs =
        |level: &&LevelMean| !is_base(level) && !are_alike(level.mean - level.difference, level.mean);
    factorial.levels.iter().filter(differs).max_by(|a, b| a.difference.abs().total_cmp(&b.difference.abs()))
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + rest.as_str())
}

/// A comparison of two cases: of latencies if there are any, else of the instructions of the first entry point.
fn of_comparison(compared: &Compared) -> Option<String> {
    let (case, with) = (&compared.case, &compared.with);
    let percent = |a: f64, b: f64| relative(b - a, (a != 0.0).then(|| 100.0 * (b - a) / a));
    if let Some(mean) = compared.latency.iter().find(|shift| shift.point == "mean") {
        return Some(format!(
            "A wake-up takes {} ns in {case} and {} ns in {with}, on average ({}).",
            number(mean.case),
            number(mean.with),
            percent(mean.with, mean.case)
        ));
    }
    let span = compared.spans.first()?;
    Some(format!(
        "{} takes {} instructions in {case} and {} in {with} ({}).",
        span.kind,
        number(span.case),
        number(span.with),
        percent(span.with, span.case)
    ))
}

/// The range of the first figure over the cases, or of the ticks if that is timer interrupts; of a single case the
/// first figures.
fn of_cases(runs: &[Titled<'_>], measures: &[Measure]) -> Option<String> {
    let measures = match measures {
        [_, second, ..] if second.header == TICKS.name => &measures[1..],
        all => all,
    };
    let cases = overview::by_case(runs);
    let of = |measure: &Measure, runs: &[Titled<'_>]| {
        measure.of(runs.iter().map(Titled::run).collect::<Vec<&Run>>())
    };
    if let [only] = &cases[..] {
        let one = |measure: &Measure| {
            let (name, unit) = measure.name_and_unit();
            Some(with_figure(&name, &measure.cell(Some(&of(measure, only)?)).to_string(), unit))
        };
        let shown: Vec<String> = measures.iter().filter_map(one).take(MOST_FIGURES).collect();
        return (!shown.is_empty()).then(|| format!("{}: {}.", only[0].title_of_all(), shown.join("; ")));
    }
    let known = |measure: &Measure| -> Vec<(Summary, &[Titled<'_>])> {
        cases.iter().filter_map(|runs| Some((of(measure, runs)?, *runs))).collect()
    };
    let (measure, all) =
        measures.iter().map(|measure| (measure, known(measure))).find(|(_, all)| !all.is_empty())?;
    let (least, fewest) = all.iter().min_by(|a, b| a.0.mean.total_cmp(&b.0.mean))?;
    let (most, highest) = all.iter().max_by(|a, b| a.0.mean.total_cmp(&b.0.mean))?;
    let (name, unit) = measure.name_and_unit();
    let cell =
        |summary: &Summary| with_figure("", &measure.cell(Some(summary)).to_string(), unit).trim().to_owned();
    Some(if are_alike(least.mean, most.mean) {
        format!("{}: {} in all {} cases.", capital(&name), cell(least), all.len())
    } else {
        format!(
            "{}: from {} in “{}” to {} in “{}”.",
            capital(&name),
            cell(least),
            fewest[0].title_of_all(),
            cell(most),
            highest[0].title_of_all()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_stats::factorial;

    fn verdict(rulings: &[(&str, Ruling)], agreement: &str) -> Verdict {
        let rulings = rulings.iter().map(|(variant, ruling)| ((*variant).to_owned(), *ruling)).collect();
        Verdict {
            claim: "The patch removes every tick.".into(),
            rulings,
            agreement: agreement.into(),
            ..Verdict::default()
        }
    }

    fn sides() -> Factor {
        Factor { name: "kernel".into(), levels: ["before", "after"].map(str::to_owned).to_vec() }
    }

    #[test]
    fn one_claim_is_the_answer_and_several_are_counted() {
        let one = verdict(&[("", Ruling::Reproduced)], "6 of 6 runs");
        assert_eq!(
            of_claims(std::slice::from_ref(&one)).unwrap(),
            "“The patch removes every tick” holds (6 of 6 runs)."
        );
        let published = Verdict { published: true, ..verdict(&[("", Ruling::NotReproduced)], "") };
        assert_eq!(
            of_claims(std::slice::from_ref(&published)).unwrap(),
            "“The patch removes every tick” is not reproduced."
        );
        assert_eq!(
            of_claims(&[one, verdict(&[("", Ruling::NotReproduced)], "")]).unwrap(),
            "1 of 2 claims holds, 1 does not hold."
        );
        assert_eq!(of_claims(&[]), None);
    }

    #[test]
    fn a_verdict_that_differs_between_two_kernels_comes_first() {
        let turned = verdict(&[("before", Ruling::NotReproduced), ("after", Ruling::Reproduced)], "");
        assert_eq!(
            of_two_verdicts(std::slice::from_ref(&turned), &sides()).unwrap(),
            "“The patch removes every tick” holds with after, and does not hold with before."
        );
        let same = verdict(&[("before", Ruling::Reproduced), ("after", Ruling::Reproduced)], "");
        assert_eq!(
            of_two_verdicts(std::slice::from_ref(&same), &sides()).unwrap(),
            "“The patch removes every tick” holds with before and with after."
        );
        let both = of_two_verdicts(&[same.clone(), same, turned], &sides()).unwrap();
        assert!(both.starts_with("“The patch removes every tick” holds with after, and"), "{both}");
        let not_run = verdict(&[("before", Ruling::NotRun), ("after", Ruling::Reproduced)], "");
        assert_eq!(of_two_verdicts(&[not_run], &sides()), None);
    }

    #[test]
    fn the_largest_effect_on_each_figure_is_named() {
        let factors = vec![
            Factor { name: "nohz".into(), levels: ["ticks", "nohz_full"].map(str::to_owned).to_vec() },
            Factor { name: "lazy".into(), levels: ["eager", "lazy"].map(str::to_owned).to_vec() },
        ];
        let figure = |name: &str, values: &[f64]| FigureEffects {
            figure: name.into(),
            unit: "W".into(),
            factorial: Some(factorial(&factors, values).unwrap()),
            repeats: None,
            lacking: Vec::new(),
            more_lacking: 0,
        };
        let figures = vec![
            figure("power:total", &[0.97, 0.98, 1.85, 1.86]),
            figure("tool:stress-ng/matrix/bogo-ops/s", &[612.9, 612.8, 613.0, 612.9]),
        ];
        let found = Found { title: "t".into(), case: "idle".into(), factors: factors.clone(), figures };
        assert_eq!(
            of_effects(&[found]),
            [
                "nohz_full: power, modelled 0.975 -> 1.85 W (+90.3 %).",
                "Stress-ng matrix bogo-ops: no difference."
            ]
        );
    }
}
