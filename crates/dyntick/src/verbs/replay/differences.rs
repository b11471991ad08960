// SPDX-License-Identifier: GPL-2.0-only
//! The sleeps in which a governor chose otherwise than the first one: what had woken the CPU, and what would have been
//! right.

use super::grounds::{Grounds, Replayed};
use dyntick_contract::replay::{Difference, DifferentChoice, DifferentReason, DifferentWake};
use dyntick_replay::{Ground, Outcome, Reason, Record};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Result;

/// A timer that is further away is none: `KTIME_MAX` less the uptime.
const NO_TIMER_NS: i64 = i64::MAX / 2;

/// The name of the recorded choices.
const RECORDED: &str = "recorded";

/// The choices of a governor on a record.
pub struct Ran {
    /// With the timers that were seen.
    pub seen: Outcome,
    /// With the earliest and the latest that are possible, if some are not known.
    pub extremes: Vec<Outcome>,
}

/// A governor that is compared with the first one.
pub struct Named<'a> {
    /// Its name.
    pub name: &'a str,
    /// The limit of both, ns; none without one.
    pub limit_ns: Option<u64>,
    /// The same for the kernel.
    pub kernel_limit_ns: i64,
}

/// The differences of a governor from the first one over all records, with the first `first` sleeps.
///
/// # Errors
/// An error of reading the temporary files.
pub fn of(
    grounds: &Grounds,
    base: &[Ran],
    other: &[Ran],
    named: &Named<'_>,
    first: usize,
) -> Result<Difference> {
    let mut differing = Differing::new(grounds, named, first);
    for ((record, base), other) in grounds.records.iter().zip(base).zip(other) {
        let input = &record.inputs.seen;
        let ground = grounds.ground(record, input);
        base.seen.each_difference(&other.seen, input, |number, decision, one, two| {
            differing.add(record, &ground, number, decision, [one, two]);
        })?;
    }
    Ok(differing.finish())
}

/// The differences of the recorded choices from the first governor, with their reasons; none if they are not known.
///
/// # Errors
/// An error of reading the temporary files.
pub fn of_recorded(
    grounds: &Grounds,
    base: &[Ran],
    kernel_limit_ns: i64,
    first: usize,
) -> Result<Option<Difference>> {
    if !grounds.records.iter().all(Replayed::is_chosen) {
        return Ok(None);
    }
    let named = Named { name: RECORDED, limit_ns: None, kernel_limit_ns };
    let mut differing = Differing::new(grounds, &named, first);
    let mut reasons: BTreeMap<Reason, u64> = BTreeMap::new();
    for (record, base) in grounds.records.iter().zip(base) {
        let input = &record.inputs.seen;
        let ground = grounds.ground(record, input);
        let others: Vec<&Outcome> = base.extremes.iter().collect();
        base.seen.each_difference_from_recorded(&others, input, |number, decision, one, two, reason| {
            *reasons.entry(reason).or_default() += 1;
            differing.add(record, &ground, number, decision, [one, two]);
        })?;
    }
    let reasons =
        reasons.into_iter().map(|(reason, sleeps)| DifferentReason { reason: in_words(reason), sleeps });
    Ok(Some(Difference { reasons: reasons.collect(), ..differing.finish() }))
}

/// A reason in words.
fn in_words(reason: Reason) -> String {
    match reason {
        Reason::Begin => "soon after the begin, when the kernel's governor had a history",
        Reason::Timer => "another timer that the trace allows leads to the recorded state",
        Reason::Tick => "no event shows the tick",
        Reason::Follows => "a choice shortly before differed, and with it the history",
        Reason::Unknown => "not known: an input that no event shows, or a choice that was given up",
    }
    .to_owned()
}

/// The key of sleeps that are counted together: the wake-up, and the two states.
type Key = (String, usize, usize);

#[derive(Default)]
struct Count {
    sleeps: u64,
    first_right: u64,
    other_right: u64,
}

/// Differences that are counted.
struct Differing<'a> {
    grounds: &'a Grounds,
    named: &'a Named<'a>,
    counts: BTreeMap<Key, Count>,
    most: usize,
    first: Vec<DifferentChoice>,
}

impl<'a> Differing<'a> {
    fn new(grounds: &'a Grounds, named: &'a Named<'a>, most: usize) -> Self {
        Self { grounds, named, counts: BTreeMap::new(), most, first: Vec::new() }
    }

    fn name(&self, state: usize) -> String {
        self.grounds.states.get(state).map(|state| state.name.clone()).unwrap_or_default()
    }

    fn add(
        &mut self,
        record: &Replayed,
        ground: &Ground<'_>,
        number: u64,
        decision: &Record,
        [one, two]: [usize; 2],
    ) {
        let oracle = ground.oracle_of(decision, self.named.kernel_limit_ns);
        let wake = record.wake(decision.wake);
        let count = self.counts.entry((wake.to_owned(), one, two)).or_default();
        count.sleeps += 1;
        count.first_right += u64::from(one == oracle);
        count.other_right += u64::from(two == oracle);
        if self.first.len() < self.most {
            let timer = Some(decision.sleep_length_ns).filter(|ns| *ns < NO_TIMER_NS);
            self.first.push(DifferentChoice {
                file: record.file.clone(),
                decision: number + 1,
                at_ns: decision.select_ns,
                cpu: decision.cpu(),
                idle_ns: decision.idle_ns,
                next_timer_ns: timer.map(|ns| ns.max(0) as u64),
                wake: wake.to_owned(),
                first: self.name(one),
                other: self.name(two),
                oracle: self.name(oracle),
            });
        }
    }

    fn finish(mut self) -> Difference {
        let sleeps = self.counts.values().map(|count| count.sleeps).sum();
        let counts = std::mem::take(&mut self.counts);
        let row = |((wake, one, two), count): (Key, Count)| DifferentWake {
            wake,
            first: self.name(one),
            other: self.name(two),
            sleeps: count.sleeps,
            first_right: count.first_right,
            other_right: count.other_right,
        };
        let mut wakes: Vec<DifferentWake> = counts.into_iter().map(row).collect();
        wakes.sort_by_key(|row| Reverse(row.sleeps));
        let (name, limit_ns) = (self.named.name.to_owned(), self.named.limit_ns);
        Difference { name, limit_ns, sleeps, wakes, reasons: Vec::new(), first: self.first }
    }
}
