// SPDX-License-Identifier: GPL-2.0-only
//! The judge: from figures to verdicts.

use super::perturbed::Perturbed;
use super::read::references;
use super::{Against, Agreement, Check, Claim, Condition, Failed, Figures, How, Ruling, Verdict, number};
use crate::machine::exits;
use crate::{Case, Study};
use dyntick_stats::Summary;

/// Judges all claims of a study.
pub fn judge(study: &Study, figures: &dyn Figures) -> Vec<Verdict> {
    study.claims.iter().map(|claim| judge_one(study, claim, figures)).collect()
}

fn judge_one(study: &Study, claim: &Claim, figures: &dyn Figures) -> Verdict {
    let rulings = variants(study, claim);
    let (evidence, unknown, failed) = Default::default();
    let mut court = Court { study, claim, figures, rulings, evidence, unknown, failed, agreement: None };
    if let Some(reason) = &claim.cannot_tell {
        court.rulings = vec![(String::new(), Ruling::CannotTell)];
        court.evidence.push(reason.clone());
    }
    for check in &claim.checks {
        court.hear(check, true);
    }
    for check in &claim.evidence {
        court.hear(check, false);
    }
    let rests_on = rests_on(study, claim, &court.rulings);
    let Court { rulings, evidence, unknown, failed, agreement, .. } = court;
    Verdict { claim: claim.clone(), rulings, evidence, unknown, failed, agreement, rests_on }
}

/// The sources of exit times of the machines of the judged cases, if anything was judged.
fn rests_on(study: &Study, claim: &Claim, rulings: &[(String, Ruling)]) -> Vec<String> {
    let meant = |case: &&Case| claim.checks.iter().any(|check| case.answers_to(&check.case));
    let machines = study.cases.iter().filter(|case| claim.speaks_of(case)).filter(meant);
    let mut all: Vec<String> = Vec::new();
    for words in machines.filter_map(|case| case.machine.as_ref()).map(exits::in_words) {
        if !all.contains(&words) {
            all.push(words);
        }
    }
    let message = rulings.iter().any(|(_, ruling)| *ruling != Ruling::CannotTell);
    if message { all } else { Vec::new() }
}

/// The variants that get a ruling of their own, in the order of the study. A variant all of whose
/// labels another has too, and more, gets none: its checks count for the other.
fn variants(study: &Study, claim: &Claim) -> Vec<(String, Ruling)> {
    let meant = |case: &&Case| claim.checks.iter().any(|check| case.answers_to(&check.case));
    let judged: Vec<&Case> = study.cases.iter().filter(|case| claim.speaks_of(case)).filter(meant).collect();
    let is_part = |case: &Case| judged.iter().any(|other| other.covers(case) && !case.covers(other));
    let mut variants: Vec<(String, Ruling)> = Vec::new();
    for case in judged.iter().filter(|case| !is_part(case)) {
        if !variants.iter().any(|(variant, _)| *variant == case.variant) {
            variants.push((case.variant.clone(), Ruling::Reproduced));
        }
    }
    variants
}

struct Court<'a> {
    study: &'a Study,
    claim: &'a Claim,
    figures: &'a dyn Figures,
    rulings: Vec<(String, Ruling)>,
    evidence: Vec<String>,
    unknown: Vec<String>,
    failed: Vec<Failed>,
    agreement: Option<Agreement>,
}

impl Court<'_> {
    fn hear(&mut self, check: &Check, judged: bool) {
        let cases: Vec<&Case> =
            self.study.select(&check.case).filter(|case| self.claim.speaks_of(case)).collect();
        if cases.is_empty() {
            self.note(format!("{}: was not run", check.case));
            let labels: Vec<&str> = check.case.split('/').skip(1).filter(|label| *label != "*").collect();
            self.rule(judged, Ruling::CannotTell, &labels);
        }
        for case in cases {
            let weighed = weigh(self.study, check, case, self.figures);
            if judged && weighed.ruling == Ruling::CannotTell {
                self.unknown.push(weighed.line.clone());
            }
            self.failed.extend(weighed.failed.filter(|_| judged));
            self.note(weighed.line);
            self.rule(judged, weighed.ruling, &case.labels().collect::<Vec<_>>());
            let both = self.agreement.into_iter().chain(weighed.agreement.filter(|_| judged));
            self.agreement = both.reduce(Agreement::weaker);
        }
    }

    /// Several checks may ask for the same figure, which is said once.
    fn note(&mut self, line: String) {
        if !self.evidence.contains(&line) {
            self.evidence.push(line);
        }
    }

    /// Rules for each variant that has these labels; a variant that was not run gets its place here.
    fn rule(&mut self, judged: bool, ruling: Ruling, labels: &[&str]) {
        if !judged {
            return;
        }
        let has = |variant: &str| labels.iter().all(|label| variant.split('/').any(|own| own == *label));
        if !self.rulings.iter().any(|(variant, _)| has(variant)) {
            self.rulings.push((labels.join("/"), ruling));
        }
        for (_, sofar) in self.rulings.iter_mut().filter(|(variant, _)| has(variant)) {
            *sofar = ruling.max(*sofar);
        }
    }
}

/// The answer to one check in one case.
struct Weighed {
    ruling: Ruling,
    /// The evidence.
    line: String,
    /// The check, if it does not hold.
    failed: Option<Failed>,
    /// The agreement of its runs, if there are perturbed ones.
    agreement: Option<Agreement>,
}

fn weigh(study: &Study, check: &Check, case: &Case, figures: &dyn Figures) -> Weighed {
    let what = described(check);
    let weighed = |ruling, line, agreement| Weighed { ruling, line, failed: None, agreement };
    let values = match values(study, check, case, figures) {
        Ok(values) => values,
        Err(why) => {
            return weighed(Ruling::CannotTell, format!("{}: {what} is not known: {why}", case.id), None);
        }
    };
    let mean = mean(&values);
    let shown = match Summary::of(&values) {
        _ if !mean.is_finite() => "not defined: the reference is 0".to_owned(),
        Some(Summary { count, min, max, deviation, .. }) if count > 1 => format!(
            "{} (mean of {count}, from {} to {}, standard deviation {})",
            shown(mean, check.is),
            number(min),
            number(max),
            number(deviation)
        ),
        _ => shown(mean, check.is),
    };
    let perturbed = Perturbed::of(study, check, case, figures);
    let shown = shown + &perturbed.spread();
    let Some(condition) = &check.is else {
        return weighed(Ruling::Reproduced, format!("{}: {what} = {shown}", case.id), None);
    };
    // What falls from nothing has not fallen: no condition holds for what is not defined.
    let holds = mean.is_finite() && condition.holds(mean);
    let (ruling, answer) = match (perturbed.dissent(*condition, holds), holds) {
        (Some(dissent), _) => (Ruling::Inconclusive, format!("inconclusive, {dissent}")),
        (None, true) => (Ruling::Reproduced, "yes".to_owned()),
        (None, false) => (Ruling::NotReproduced, "no".to_owned()),
    };
    let line = format!("{}: {what} = {shown}, wanted {condition}: {answer}", case.id);
    let failed = || Failed {
        case: case.id.clone(),
        check: check.clone(),
        value: Some(mean).filter(|mean| mean.is_finite()),
        runs: values.len(),
    };
    let failed = (ruling == Ruling::NotReproduced).then(failed);
    Weighed { ruling, line, failed, agreement: perturbed.agreement(*condition, holds) }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.value.map_or("not defined".to_owned(), |value| shown(value, self.check.is));
        let of_runs = if self.runs > 1 { format!(" (mean of {})", self.runs) } else { String::new() };
        write!(f, "{} {value}{of_runs}", described(&self.check))?;
        self.check.is.map_or(Ok(()), |wanted| write!(f, ", wanted {wanted}"))
    }
}

/// The number, with all its digits where a rounded one would seem to be on the other side of the bound.
fn shown(value: f64, condition: Option<Condition>) -> String {
    let rounded = number(value);
    let misleads =
        |condition: Condition| rounded.parse().is_ok_and(|r| condition.holds(r) != condition.holds(value));
    if condition.is_some_and(misleads) { value.to_string() } else { rounded }
}

fn described(check: &Check) -> String {
    let on = check.cpu.map_or(String::new(), |cpu| format!(" on CPU {cpu}"));
    let relative = check.against.as_ref().map_or(String::new(), |against| match against.how {
        How::Ratio => format!(" relative to {}", against.case),
        How::Difference => format!(" more than in {}", against.case),
    });
    format!("{}{on}{relative}", check.figure)
}

/// The figure in each run of the case, or why it is not known.
fn values(study: &Study, check: &Check, case: &Case, figures: &dyn Figures) -> Result<Vec<f64>, String> {
    let values = known(case, &check.figure, check.cpu, figures)?;
    let Some(Against { case: other, how }) = &check.against else { return Ok(values) };
    let [reference] = references(case, other, &study.cases)[..] else {
        return Err(format!("{other} was not run"));
    };
    if reference.clock != case.clock {
        return Err(format!("{} is on the {} clock, not the {}", reference.id, reference.clock, case.clock));
    }
    let reference = mean(&known(reference, &check.figure, check.cpu, figures)?);
    Ok(values.iter().map(|value| how.of(*value, reference)).collect())
}

/// A figure in each run of a case, or why it is not known.
pub fn known(case: &Case, figure: &str, cpu: Option<u32>, figures: &dyn Figures) -> Result<Vec<f64>, String> {
    let values = figures.get(case, figure, cpu).unwrap_or_default();
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return Err(figures.absence(case, figure));
    }
    if let Some(doubt) = figures.doubt(case, figure, cpu) {
        return Err(doubt);
    }
    Ok(values)
}

fn mean(values: &[f64]) -> f64 {
    Summary::of(values).map_or(f64::NAN, |summary| summary.mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use std::collections::HashMap;
    use std::path::Path;

    struct Table(HashMap<(&'static str, &'static str), Vec<f64>>);

    impl Figures for Table {
        fn get(&self, case: &Case, figure: &str, _cpu: Option<u32>) -> Option<Vec<f64>> {
            self.0.iter().find(|((id, name), _)| *id == case.id && *name == figure).map(|(_, v)| v.clone())
        }

        fn doubt(&self, case: &Case, _figure: &str, _cpu: Option<u32>) -> Option<String> {
            self.0.contains_key(&(case.id.as_str(), "lost")).then(|| "3 events were lost".to_owned())
        }
    }

    fn study(claims: &str) -> Study {
        let text = format!(
            "title='t'\nquestion='q'\n[matrix]\nkernel=['debian:6.1','debian:6.12']\n\
             [[case]]\nname='a'\n[[case]]\nname='b'\n[case.matrix]\n\
             mode=[{{label='calm'}},{{label='loud', append='x'}}]\n{claims}"
        );
        parse::study(Path::new("s.toml"), &text, crate::Size::Scaled)
            .unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn verdict(claim: &str, figures: &[(&'static str, &'static str, &[f64])]) -> Verdict {
        let table =
            figures.iter().map(|(case, figure, values)| ((*case, *figure), values.to_vec())).collect();
        judge(&study(claim), &Table(table)).remove(0)
    }

    #[test]
    fn each_kernel_has_its_own_ruling() {
        let verdict = verdict(
            "[[claim]]\ntext='few'\ncheck=[{case='a',figure='ticks_per_s',is='<= 2'}]",
            &[("a/debian:6.1", "ticks_per_s", &[250.0]), ("a/debian:6.12", "ticks_per_s", &[1.0, 2.0])],
        );
        assert_eq!(verdict.summary(), "debian:6.1: not reproduced, debian:6.12: reproduced");
        assert_eq!(
            verdict.evidence,
            [
                "a/debian:6.1: ticks_per_s = 250, wanted <= 2: no",
                "a/debian:6.12: ticks_per_s = 1.5 (mean of 2, from 1 to 2, standard deviation 0.707), wanted <= 2: yes"
            ]
        );
        let failed: Vec<String> = verdict.failed.iter().map(|one| format!("{}: {one}", one.case)).collect();
        assert_eq!(failed, ["a/debian:6.1: ticks_per_s 250, wanted <= 2"]);
    }

    #[test]
    fn failed_check_has_the_compared_value() {
        let failed = |check: &str, figures: &[(&'static str, &'static str, &[f64])]| {
            let claim = format!(
                "[[claim]]\ntext='c'\nonly=['debian:6.12']\ncheck=[{{case='a',figure='ticks',{check}}}]"
            );
            verdict(&claim, figures).failed.iter().map(Failed::to_string).collect::<Vec<_>>()
        };
        let one = ("a/debian:6.12", "ticks", &[10.0][..]);
        assert_eq!(failed("is='<= 1'", &[one]), ["ticks 10, wanted <= 1"]);
        assert_eq!(failed("is='<= 10'", &[one]), [] as [String; 0]);
        assert_eq!(failed("is='<= 1',cpu=1", &[one]), ["ticks on CPU 1 10, wanted <= 1"]);
        let two = ("a/debian:6.12", "ticks", &[10.0, 20.0][..]);
        assert_eq!(failed("is='<= 1'", &[two]), ["ticks 15 (mean of 2), wanted <= 1"]);
        let close = ("a/debian:6.12", "ticks", &[1.0004][..]);
        assert_eq!(failed("is='<= 1'", &[close]), ["ticks 1.0004, wanted <= 1"], "1 would seem to be within");
        assert_eq!(failed("is='<= 1'", &[]), [] as [String; 0], "what is not known has not failed");
    }

    #[test]
    fn a_ruling_on_emulated_exits_says_so() {
        let study = |machine: &str| {
            let text = format!(
                "title='t'\nquestion='q'\n[machine]\nprofile='sapphire-rapids'\n{machine}\n\
                 [[case]]\nname='a'\nkernel='debian:6.12'\n[[claim]]\ntext='few'\n\
                 check=[{{case='a',figure='ticks',is='== 0'}}]"
            );
            parse::study(Path::new("s.toml"), &text, crate::Size::Scaled)
        };
        let summary = |machine: &str, runs: &[((&'static str, &'static str), Vec<f64>)]| {
            let study = study(machine).unwrap_or_else(|problems| panic!("{problems}"));
            judge(&study, &Table(runs.iter().cloned().collect())).remove(0).summary()
        };
        let run = [(("a", "ticks"), vec![0.0])];
        assert_eq!(
            summary("", &run),
            "reproduced (emulated: sapphire-rapids: every exit takes the table's latency, its worst case)"
        );
        assert_eq!(
            summary("exit='measured'\npre-wake=true", &run),
            "reproduced (emulated: sapphire-rapids: exits take the measured median (C6 100 µs), others the \
             table's worst case; CPUs are woken ahead of their timers (pre-wake))"
        );
        assert_eq!(summary("", &[]), "inconclusive");
        let message = study("exit='median'").unwrap_err().to_string();
        assert!(message.contains("exit: 'median' is none of \"table\", \"measured\""), "{message}");
    }

    #[test]
    fn a_missing_run_is_named() {
        let verdict = verdict(
            "[[claim]]\ntext='few'\ncheck=[{case='a',figure='ticks',is='== 0'}]",
            &[("a/debian:6.12", "ticks", &[0.0])],
        );
        assert_eq!(verdict.summary(), "debian:6.1: inconclusive, debian:6.12: reproduced");
        assert_eq!(
            verdict.evidence[0],
            "a/debian:6.1: ticks is not known: a/debian:6.1 has no complete run with it"
        );
    }

    #[test]
    fn what_was_counted_from_a_torn_trace_proves_nothing() {
        let verdict = verdict(
            "[[claim]]\ntext='few'\ncheck=[{case='a/debian:6.1',figure='ticks',is='== 0'}]",
            &[("a/debian:6.1", "ticks", &[0.0]), ("a/debian:6.1", "lost", &[3.0])],
        );
        assert_eq!(verdict.summary(), "inconclusive");
        assert_eq!(verdict.evidence, ["a/debian:6.1: ticks is not known: 3 events were lost"]);
    }

    #[test]
    fn case_without_an_axis_is_compared_with_each_value() {
        let verdict = verdict(
            "[[claim]]\ntext='fewer'\nonly=['debian:6.12']\n\
             check=[{case='b',figure='ticks',ratio-to='a',is='<= 0.5'},{case='a',figure='ticks',is='> 1'}]",
            &[
                ("a/debian:6.12", "ticks", &[10.0]),
                ("b/debian:6.12/calm", "ticks", &[1.0]),
                ("b/debian:6.12/loud", "ticks", &[9.0]),
            ],
        );
        assert_eq!(verdict.summary(), "debian:6.12/calm: reproduced, debian:6.12/loud: not reproduced");
        assert_eq!(verdict.evidence.len(), 3);
    }

    #[test]
    fn a_difference_of_two_cases() {
        let verdict = verdict(
            "[[claim]]\ntext='dearer'\nonly=['debian:6.1']\n\
             check=[{case='b/calm',figure='ticks',minus='a',is='>= 3'}]",
            &[("a/debian:6.1", "ticks", &[10.0]), ("b/debian:6.1/calm", "ticks", &[14.0])],
        );
        assert_eq!(verdict.evidence, ["b/debian:6.1/calm: ticks more than in a = 4, wanted >= 3: yes"]);
    }

    #[test]
    fn a_label_that_the_other_case_is_named_with_may_differ() {
        let verdict = verdict(
            "[[claim]]\ntext='older is slower'\ncheck=[{case='a/debian:6.1',figure='ticks',ratio-to='a/debian:6.12',is='>= 2'}]",
            &[("a/debian:6.1", "ticks", &[10.0]), ("a/debian:6.12", "ticks", &[4.0])],
        );
        assert_eq!(
            verdict.evidence,
            ["a/debian:6.1: ticks relative to a/debian:6.12 = 2.5, wanted >= 2: yes"]
        );
    }

    #[test]
    fn what_falls_from_nothing_has_not_fallen() {
        let verdict = verdict(
            "[[claim]]\ntext='fewer'\ncheck=[{case='b/calm/debian:6.1',figure='ticks',ratio-to='a',is='<= 1'}]",
            &[("a/debian:6.1", "ticks", &[0.0]), ("b/debian:6.1/calm", "ticks", &[0.0])],
        );
        assert_eq!(verdict.rulings, [("debian:6.1/calm".to_owned(), Ruling::NotReproduced)]);
        assert_eq!(
            verdict.evidence,
            ["b/debian:6.1/calm: ticks relative to a = not defined: the reference is 0, wanted <= 1: no"]
        );
    }

    #[test]
    fn cases_that_were_left_out_are_not_taken_for_reproduced() {
        let mut study = study("[[claim]]\ntext='few'\ncheck=[{case='a',figure='ticks',is='== 0'}]");
        study.cases.retain(|case| case.name == "b");
        let verdict = judge(&study, &Table(HashMap::new())).remove(0);
        assert_eq!(verdict.summary(), "inconclusive");
        assert_eq!(verdict.evidence, ["a: was not run"]);
    }

    #[test]
    fn a_kernel_that_was_left_out_says_nothing_of_the_others() {
        let mut study = study(
            "[[claim]]\ntext='few'\ncheck=[{case='a/debian:6.1',figure='ticks',is='== 0'},\
             {case='b/debian:6.12',figure='ticks',is='== 0'}]",
        );
        study.cases.retain(|case| case.id == "a/debian:6.1");
        let figures = Table([(("a/debian:6.1", "ticks"), vec![0.0])].into());
        let verdict = judge(&study, &figures).remove(0);
        assert_eq!(verdict.summary(), "debian:6.1: reproduced, debian:6.12: inconclusive");
    }

    #[test]
    fn claim_that_cannot_be_judged_shows_its_evidence() {
        let verdict = verdict(
            "[[claim]]\ntext='caches'\ncannot-tell='no caches here'\nevidence=[{case='a/debian:6.1',figure='ticks'}]",
            &[("a/debian:6.1", "ticks", &[3.0])],
        );
        assert_eq!(verdict.summary(), "inconclusive");
        assert_eq!(verdict.evidence, ["no caches here", "a/debian:6.1: ticks = 3"]);
    }

    #[test]
    fn rounding_never_contradicts_the_answer() {
        let below = "< 1".parse().unwrap();
        assert_eq!(shown(0.999_999_8, Some(below)), "0.9999998");
        assert_eq!(shown(0.999_999_8, None), "1");
        assert_eq!(shown(0.5, Some(below)), "0.5");
    }
}
