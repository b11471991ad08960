// SPDX-License-Identifier: GPL-2.0-only
//! Checks that a fix keeps its promise.

use super::guests::Tried;
use dyntick_explain::CauseId;
use dyntick_explain::rules;
use dyntick_model::KernelVersion;
use serde_json::Value;
use std::collections::BTreeMap;

/// The number of interruptions that are needed before a fix, so that a tenth of them is one.
pub const ENOUGH: u64 = 10;
/// By what at least a cause has to fall.
const FALLS: u64 = 10;
/// The advice that says how much remains, the ticks per second of Debian's kernels, and the fraction to fall to.
const TICKS: (&str, f64, u64, u64) = ("at most one softirq per tick remains", 250.0, 2, 3);
/// A recording itself, and programs that begin and end, leave a few interruptions.
const SMALL: u64 = 5;
/// The cause that remains on a CPU that nothing else disturbs, and its highest rate per second. About once a second,
/// 6.12 has two interrupts and a tick for its fair server, unless something else charged it. It has its own fixes.
const BARED: (&str, f64) = ("fair-server", 3.0);

/// A fix of a cause that holds.
#[derive(Clone, Debug)]
pub struct Row {
    pub rule: &'static str,
    pub setting: String,
    pub kernel: String,
    /// Interruptions per second before and after; none where the cause is not counted, and was there and is gone.
    pub rates: Option<(f64, f64)>,
}

impl Row {
    /// The cells that identify it.
    pub fn key(&self) -> String {
        format!("| `{}` | `{}` | {}", self.rule, self.setting, self.kernel)
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.rates {
            Some((before, after)) => write!(f, "{} | {} | {} |", self.key(), rate(before), rate(after)),
            None => write!(f, "{} | there | gone |", self.key()),
        }
    }
}

fn rate(rate: f64) -> String {
    match rate {
        0.0 => "0".to_owned(),
        rate if rate < 10.0 => format!("{rate:.2}"),
        rate => format!("{rate:.0}"),
    }
}

/// The rows of a fix, one for each cause that advises it.
///
/// # Errors
/// It does not do what it promises, or makes something else worse.
pub fn judged(tried: &Tried) -> Result<Vec<Row>, String> {
    let what = format!("{} on {} '{}': {}", tried.trial.disturbance, tried.kernel, tried.line, tried.fix);
    let wrong = |why: String| Err(format!("{what}: {why}"));
    if let Some(why) = &tried.failed {
        return wrong(why.clone());
    }
    let (before, after) = (counts(&tried.before), counts(&tried.after));
    if [&tried.before, &tried.after]
        .iter()
        .any(|one| one["lost"].as_object().is_none_or(|lost| !lost.is_empty()))
    {
        return wrong("events were lost".to_owned());
    }
    let (mut rows, mut effects) = (Vec::new(), String::new());
    for (cause, fix) in advised(tried) {
        effects += &fix;
        let (then, now) = (before[&cause], after.get(&cause).copied().unwrap_or(0));
        let (words, hz, share, of) = TICKS;
        let left = match fix.contains(words) {
            true => (then * share / of).min((hz * seconds(&tried.after)) as u64),
            false => then / FALLS,
        };
        if then < ENOUGH || now > left {
            return wrong(format!("{cause} goes from {then} to {now}"));
        }
        rows.push(row(tried, &cause, fix, then, now));
    }
    let gone: u64 = before.iter().map(|(cause, then)| then - after.get(cause).unwrap_or(&0).min(then)).sum();
    for (cause, now) in &after {
        let then = before.get(cause).copied().unwrap_or(0);
        let bared = if cause == BARED.0 { (BARED.1 * seconds(&tried.after)) as u64 } else { 0 };
        if *now > then + SMALL + (gone / FALLS).max(bared) {
            return wrong(format!("{cause} rises from {then} to {now}"));
        }
    }
    if let Some(worse) = worse(&tried.checked, &tried.checked_after, &effects) {
        return wrong(format!("check finds {worse} afterwards: {:#}", tried.checked_after));
    }
    Ok(rows)
}

/// The number of times that each cause came. A cause that is known from counters alone is only present or absent.
pub fn counts(explained: &Value) -> BTreeMap<String, u64> {
    let causes = explained["causes"].as_array().into_iter().flatten();
    let count = |cause: &Value| {
        (cause["cause"].as_str().unwrap().to_owned(), cause["count"].as_u64().unwrap_or(ENOUGH))
    };
    causes.map(count).collect()
}

/// True if the interruptions of a cause were counted, and not only seen to be present.
fn is_counted(explained: &Value, cause: &str) -> bool {
    let causes = explained["causes"].as_array().into_iter().flatten();
    causes.filter(|one| one["cause"] == cause).all(|one| one["count"].is_u64())
}

/// The length of the recording.
fn seconds(explained: &Value) -> f64 {
    explained["seconds"].as_f64().unwrap()
}

/// The number of findings of each rule, of one severity.
fn findings(checked: &Value, is_asked: impl Fn(&str) -> bool) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    let all = checked.as_array().unwrap().iter();
    for finding in all.filter(|finding| is_asked(finding[1].as_str().unwrap())) {
        *found.entry(finding[0].as_str().unwrap()).or_default() += 1;
    }
    found
}

/// A rule that finds more than before. What the advice names beforehand is no surprise; and as many notes may come
/// as graver findings went: a CPU that is isolated in one way is judged by what it still lacks.
fn worse(before: &Value, after: &Value, effects: &str) -> Option<String> {
    let more = |is_asked: fn(&str) -> bool| {
        let found = findings(before, is_asked);
        let left = findings(after, is_asked).into_iter();
        let left = left.filter(|(rule, _)| !effects.contains(rule));
        let more = left
            .map(move |(rule, count)| (rule, count.saturating_sub(found.get(rule).copied().unwrap_or(0))));
        more.filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };
    let graver = |severity: &str| severity != "note";
    if let Some((rule, _)) = more(graver).first() {
        return Some((*rule).to_owned());
    }
    let count = |checked: &Value| findings(checked, graver).values().sum::<usize>();
    let gone = count(before).saturating_sub(count(after));
    let notes = more(|severity| severity == "note");
    (notes.iter().map(|(_, count)| count).sum::<usize>() > gone).then(|| format!("{notes:?}"))
}

/// The causes in question for which this fix is advised, with what the advice says of it.
fn advised(tried: &Tried) -> Vec<(String, String)> {
    let causes = tried.before["causes"].as_array().into_iter().flatten();
    let mut advised = Vec::new();
    for cause in causes.filter(|cause| tried.trial.is_about(cause)) {
        let fixes = cause["fixes"].as_array().into_iter().flatten();
        for fix in fixes.filter(|fix| fix["setting"] == *tried.fix) {
            let effect = fix["effect"].as_str().unwrap().to_owned();
            advised.push((cause["cause"].as_str().unwrap().to_owned(), effect));
        }
    }
    advised
}

/// The row names the fix as its rule does, without the numbers of this guest.
fn row(tried: &Tried, cause: &str, effect: String, then: u64, now: u64) -> Row {
    let id = CauseId::parse(cause).unwrap_or_else(|| panic!("no rule is about {cause}"));
    let rule = rules::get(&id);
    let kernel: KernelVersion = tried.before["kernel"].as_str().unwrap().parse().unwrap();
    // A fix that moves a task begins with its name and number.
    let general = effect.split_once("]: ").map_or(effect.as_str(), |(_, general)| general);
    let of_text = rule.fixes_for(&kernel).find(|fix| fix.remarked_effect() == general);
    let fix = of_text.unwrap_or_else(|| panic!("{cause} has no fix '{effect}'"));
    let rate = |count: u64, explained: &Value| count as f64 / seconds(explained);
    let rates = || (rate(then, &tried.before), rate(now, &tried.after));
    Row {
        rule: rule.id,
        setting: fix.action.unfilled().to_string(),
        kernel: format!("{}.{}", kernel.major, kernel.minor),
        rates: is_counted(&tried.before, cause).then(rates),
    }
}
