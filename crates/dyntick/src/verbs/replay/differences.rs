// SPDX-License-Identifier: GPL-2.0-only
//! The sleeps for which governors chose another state than the first one.

use super::Limit;
use super::grounds::Grounds;
use super::rows::{Choice, Choices};
use dyntick_contract::replay::{Difference, DifferentChoice, DifferentWake};
use dyntick_idle::Wake;
use dyntick_model::function_of;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// No timer is set half as far (`KTIME_MAX` less the uptime stands for none).
const NO_TIMER_NS: i64 = i64::MAX / 2;

/// The name of the recorded choices among governors.
const RECORDED: &str = "recorded";

/// Choices that are compared with those of the first governor.
struct Compared<'a> {
    name: &'a str,
    limit: Limit,
    chosen: &'a [Vec<u8>],
}

/// The differences of all governors, and of the recorded choices if they are known, from the first governor; with the
/// first `first` sleeps of each.
pub fn of(grounds: &Grounds, choices: &Choices, first: usize) -> Vec<Difference> {
    let Some(base) = choices.all.first() else { return Vec::new() };
    let others = choices.all.iter().filter(|choice| choice.name != base.name);
    let compared = others.filter_map(|other| {
        let is_base = |choice: &&Choice| choice.name == base.name && choice.limit == other.limit;
        let base = choices.all.iter().find(is_base)?;
        let other = Compared { name: &other.name, limit: other.limit, chosen: &other.chosen };
        Some(difference(grounds, &base.chosen, &other, first))
    });
    let recorded: Option<Vec<Vec<u8>>> = grounds.records.iter().map(|record| record.chosen()).collect();
    let recorded = recorded.filter(|_| base.limit == Limit(None)).map(|chosen| {
        let other = Compared { name: RECORDED, limit: base.limit, chosen: &chosen };
        difference(grounds, &base.chosen, &other, first)
    });
    compared.chain(recorded).collect()
}

/// The key of sleeps that are counted together: the wake-up, and the two states.
type Key = (String, usize, usize);

#[derive(Default)]
struct Count {
    sleeps: u64,
    first_right: u64,
    other_right: u64,
}

fn difference(grounds: &Grounds, base: &[Vec<u8>], other: &Compared<'_>, most: usize) -> Difference {
    let mut counts: BTreeMap<Key, Count> = BTreeMap::new();
    let mut first: Vec<DifferentChoice> = Vec::new();
    let name = |state: usize| grounds.states.get(state).map(|state| state.name.clone()).unwrap_or_default();
    for ((record, one), two) in grounds.records.iter().zip(base).zip(other.chosen) {
        let ground = grounds.ground(record, &record.seen, other.limit.ns());
        let pairs = one.iter().zip(two).enumerate();
        for (number, (one, two)) in pairs.filter(|(_, (one, two))| one != two) {
            let (one, two) = (usize::from(*one), usize::from(*two));
            let decision = &record.seen.decisions[number];
            let oracle = ground.oracle_of(decision);
            let wake = in_words(&record.seen.sleeps[number].wake);
            let count = counts.entry((wake.clone(), one, two)).or_default();
            count.sleeps += 1;
            count.first_right += u64::from(one == oracle);
            count.other_right += u64::from(two == oracle);
            if first.len() < most {
                let timer = Some(decision.sleep_length_ns).filter(|ns| *ns < NO_TIMER_NS);
                first.push(DifferentChoice {
                    file: record.file.clone(),
                    decision: number as u64 + 1,
                    at_ns: decision.select_ns,
                    cpu: decision.cpu,
                    idle_ns: decision.idle_ns(),
                    next_timer_ns: timer.map(|ns| ns.max(0) as u64),
                    wake,
                    first: name(one),
                    other: name(two),
                    oracle: name(oracle),
                });
            }
        }
    }
    let sleeps = counts.values().map(|count| count.sleeps).sum();
    let row = |((wake, one, two), count): (Key, Count)| DifferentWake {
        wake,
        first: name(one),
        other: name(two),
        sleeps: count.sleeps,
        first_right: count.first_right,
        other_right: count.other_right,
    };
    let mut wakes: Vec<DifferentWake> = counts.into_iter().map(row).collect();
    wakes.sort_by_key(|row| Reverse(row.sleeps));
    Difference { name: other.name.to_owned(), limit_ns: other.limit.0, sleeps, wakes, first }
}

/// The cause of a wake-up in words.
fn in_words(wake: &Wake) -> String {
    match wake {
        Wake::Timer(Some(function)) => format!("timer {}", function_of(function)),
        Wake::Timer(None) => "timer".to_owned(),
        Wake::Interrupt(source) => format!("{source:?}").to_lowercase(),
        Wake::Device(name) => format!("device {name}"),
        Wake::Flag => "no interrupt".to_owned(),
        Wake::Unknown => "unknown".to_owned(),
    }
}
