// SPDX-License-Identifier: GPL-2.0-only
//! The setups of a short report: kernel, machine, boot parameters, tasks; those that all cases share are named once.

use super::titles::Titled;
use super::{choices, settings};
use crate::few::few;
use dyntick_model::text::shortened;

/// The longest value of one case; a command may be longer than a mail.
const LONGEST: usize = 160;

/// The number of cases that are named for each value.
const MOST_NAMED: usize = 2;

type Setting = (&'static str, fn(&Titled<'_>) -> String);

/// Names with values; of each at most `most` different ones.
pub fn pairs(runs: &[Titled<'_>], most: usize) -> Vec<(String, String)> {
    if most == 0 {
        return Vec::new();
    }
    let all: [Setting; 7] = [
        ("append", |run| run.plan.case.append.to_string()),
        ("machine", |run| run.plan.case.machine.as_ref().map_or(String::new(), |one| one.name.clone())),
        ("governor", |run| run.plan.case.governor.clone().unwrap_or_default()),
        ("latency limit", latency_limit),
        ("settings", |run| settings::written(&run.plan.case)),
        ("tasks", |run| settings::tasks(&run.plan.case)),
        ("script", |run| settings::scripts(&run.plan.case)),
    ];
    let message = |(name, of): &Setting| {
        let of_runs = runs.iter().map(|run| (run.title_of_all().to_owned(), of(run)));
        Some(((*name).to_owned(), by_case(of_runs, most)?))
    };
    all.iter().filter_map(message).collect()
}

/// Within which idle states were selected; empty where there was none.
fn latency_limit(run: &Titled<'_>) -> String {
    let measured = &run.plan.case.measured_cpus;
    let limit = run.analysis.idle.as_ref().map(|idle| choices::limit(idle, measured));
    limit.filter(|limit| limit != choices::NO_LIMIT).unwrap_or_default()
}

/// Each different value, with the cases that have it where there are several values. None where no case has any.
fn by_case(of_runs: impl Iterator<Item = (String, String)>, most: usize) -> Option<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (title, value) in of_runs {
        match all.iter_mut().find(|(other, _)| *other == value) {
            Some((_, titles)) if titles.contains(&title) => {}
            Some((_, titles)) => titles.push(title),
            None => all.push((value, vec![title])),
        }
    }
    let words = |value: &str| if value.is_empty() { "none".to_owned() } else { shortened(value, LONGEST) };
    match &all[..] {
        [] => None,
        [(value, _)] => (!value.is_empty()).then(|| words(value)),
        _ => {
            let named = |(value, titles): &(String, Vec<String>)| {
                format!("{} ({})", words(value), few(titles.iter().cloned(), MOST_NAMED).join("; "))
            };
            Some(few(all.iter().map(named), most).join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_share_is_said_once() {
        let message = |all: &[(&str, &str)], most| {
            by_case(all.iter().map(|(title, value)| ((*title).to_owned(), (*value).to_owned())), most)
        };
        assert_eq!(message(&[("a", "quiet"), ("b", "quiet")], 2).as_deref(), Some("quiet"));
        assert_eq!(message(&[("a", ""), ("b", "")], 2), None);
        let differ = [("a", ""), ("a", ""), ("b", "nohz_full=1"), ("c", "nohz=off"), ("d", "quiet")];
        assert_eq!(message(&differ, 2).as_deref(), Some("none (a); nohz_full=1 (b); and 2 others"));
        assert_eq!(
            message(&differ, 3).as_deref(),
            Some("none (a); nohz_full=1 (b); nohz=off (c); quiet (d)")
        );
    }
}
