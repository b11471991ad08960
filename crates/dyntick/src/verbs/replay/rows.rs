// SPDX-License-Identifier: GPL-2.0-only
//! Runs the governors on all cores, and scores them.

use super::Limit;
use super::grounds::{Grounds, Replayed};
use anyhow::Result;
use dyntick_contract::replay::{Agreement, Between, Bounds, Joules, Kind, Latency, Scored};
use dyntick_replay::{Governor, Ground, Input, Part, Program, Recorded, ReplayError, Score, chosen, compile};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The choices of all governors under all limits.
pub struct Choices {
    /// One for each governor and limit, in this order.
    pub all: Vec<Choice>,
    limits: Vec<Limit>,
}

/// The choices of a governor under a limit.
pub struct Choice {
    /// Its name.
    pub name: String,
    /// Its source.
    pub origin: String,
    /// The limit.
    pub limit: Limit,
    /// The last choice for each sleep of each record. A sweep has many variants, so no more of them is kept.
    pub chosen: Vec<Vec<u8>>,
    /// The score.
    score: Score,
    /// The scores with the earliest and with the latest timers.
    bounds: Vec<Score>,
}

/// A row of the table.
pub struct Row {
    name: String,
    origin: String,
    kind: Kind,
    limit: Limit,
    score: Score,
    bounds: Vec<Score>,
}

/// The decisions of a record in shared memory, under each assumption.
struct Inputs {
    seen: Input,
    earliest: Option<Input>,
    latest: Option<Input>,
}

impl Choices {
    /// Runs the governors.
    pub fn of(grounds: &Grounds, governors: &[Governor], limits: &[Limit]) -> Result<Self> {
        let inputs = grounds.records.iter().map(|record| inputs(grounds, record));
        let inputs: Vec<Inputs> = inputs.collect::<Result<_, ReplayError>>()?;
        // Bounds of many variants would say little and take three times as long.
        let with_bounds = governors.len() <= 8;
        let run = |number: usize| choices_of(&governors[number], grounds, &inputs, limits, with_bounds);
        let mut all = Vec::new();
        for choices in on_all_cores(governors.len(), &run) {
            all.extend(choices?);
        }
        Ok(Self { all, limits: limits.to_vec() })
    }

    /// The rows of the table.
    pub fn rows(&self, grounds: &Grounds) -> Vec<Row> {
        let row = |choice: &Choice| Row {
            name: choice.name.clone(),
            origin: choice.origin.clone(),
            kind: Kind::Governor,
            limit: choice.limit,
            score: choice.score.clone(),
            bounds: choice.bounds.clone(),
        };
        let mut rows: Vec<Row> = self.all.iter().map(row).collect();
        rows.extend(recorded(grounds));
        for limit in &self.limits {
            rows.push(oracle(grounds, *limit));
            rows.extend(best_static(grounds, *limit));
        }
        rows
    }
}

fn inputs(grounds: &Grounds, record: &Replayed) -> Result<Inputs, ReplayError> {
    let input = |recorded: &Recorded| Input::new(&grounds.states, record.hz(), &recorded.decisions);
    Ok(Inputs {
        seen: input(&record.seen)?,
        earliest: record.earliest.as_ref().map(input).transpose()?,
        latest: record.latest.as_ref().map(input).transpose()?,
    })
}

/// The results of `work` for all numbers, in their order.
fn on_all_cores<T: Send>(count: usize, work: &(impl Fn(usize) -> T + Sync)) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, T>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..cores.min(count) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let result = work(number);
                    done.lock().unwrap_or_else(|error| error.into_inner()).insert(number, result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(|error| error.into_inner()).into_values().collect()
}

fn choices_of(
    governor: &Governor,
    grounds: &Grounds,
    inputs: &[Inputs],
    limits: &[Limit],
    with_bounds: bool,
) -> Result<Vec<Choice>, ReplayError> {
    // Kernels of several records may have other ticks.
    let mut programs: BTreeMap<u32, Program> = BTreeMap::new();
    for record in &grounds.records {
        if let std::collections::btree_map::Entry::Vacant(entry) = programs.entry(record.hz()) {
            entry.insert(compile(governor, record.hz())?);
        }
    }
    let mut all = Vec::new();
    for limit in limits {
        let (mut last, mut score) = (Vec::new(), Score::default());
        let mut bounds = [Score::default(), Score::default()];
        let mut is_bounded = false;
        for (record, inputs) in grounds.records.iter().zip(inputs) {
            let program = &programs[&record.hz()];
            let parts = program.run(&inputs.seen, limit.ns())?;
            score.merge(&grounds.ground(record, &record.seen, limit.ns()).score(&parts));
            last.push(chosen(&parts, record.seen.decisions.len()));
            let extremes = [(&inputs.earliest, &record.earliest), (&inputs.latest, &record.latest)];
            for (bound, (input, recorded)) in bounds.iter_mut().zip(extremes) {
                let (Some(input), Some(recorded), true) = (input, recorded, with_bounds) else { continue };
                let parts = program.run(input, limit.ns())?;
                bound.merge(&grounds.ground(record, recorded, limit.ns()).score(&parts));
                is_bounded = true;
            }
        }
        all.push(Choice {
            name: governor.name.clone(),
            origin: governor.origin.clone(),
            limit: *limit,
            chosen: last,
            score,
            bounds: if is_bounded { bounds.to_vec() } else { Vec::new() },
        });
    }
    Ok(all)
}

/// The score of choices that need no governor.
fn of_all(grounds: &Grounds, limit: Limit, choose: impl Fn(&Ground<'_>) -> Vec<Part>) -> Score {
    let mut sum = Score::default();
    for record in &grounds.records {
        let ground = grounds.ground(record, &record.seen, limit.ns());
        sum.merge(&ground.score(&choose(&ground)));
    }
    sum
}

fn row(name: String, kind: Kind, limit: Limit, score: Score) -> Row {
    Row { name, origin: String::new(), kind, limit, score, bounds: Vec::new() }
}

/// The recorded choices, if they are of these states.
fn recorded(grounds: &Grounds) -> Option<Row> {
    if grounds.records.iter().any(|record| record.chosen().is_none()) {
        return None;
    }
    let score = of_all(grounds, Limit(None), |ground| ground.recorded());
    let governor = if grounds.governor.is_empty() { "unknown" } else { &grounds.governor };
    Some(row(format!("recorded ({governor})"), Kind::Recorded, Limit(None), score))
}

fn oracle(grounds: &Grounds, limit: Limit) -> Row {
    row("oracle".to_owned(), Kind::Oracle, limit, of_all(grounds, limit, |ground| ground.oracle()))
}

/// The best static limit: of least energy, or without powers the one that agrees with the oracle most often.
fn best_static(grounds: &Grounds, limit: Limit) -> Option<Row> {
    let mut latencies: Vec<u64> = grounds.states.0.iter().map(|state| state.exit_latency_ns).collect();
    latencies.sort_unstable();
    latencies.dedup();
    latencies.retain(|ns| limit.0.is_none_or(|limit_ns| *ns <= limit_ns));
    let rows = latencies.into_iter().map(|ns| {
        let score = of_all(grounds, limit, |ground| ground.within(ns));
        row(format!("at most {}", dyntick_report::numbers::duration(ns as f64)), Kind::Static, limit, score)
    });
    rows.min_by(|one, other| {
        let energy = |row: &Row| row.score.joules().unwrap_or(0.0);
        energy(one).total_cmp(&energy(other)).then(other.score.right.cmp(&one.score.right))
    })
}

impl Row {
    /// The row as it is printed.
    pub fn printed(self) -> Scored {
        let latency = latency(&self.score);
        let bounds = self.bounds();
        let Row { name, origin, kind, limit, score, .. } = self;
        Scored {
            name,
            kind,
            origin,
            limit_ns: limit.0,
            sleeps: score.decisions,
            choices: score.choices,
            states: score.states.clone(),
            too_deep: score.too_deep,
            too_shallow: score.too_shallow,
            right: score.right,
            latency,
            energy: score.energy.as_ref().map(|energy| Joules::from(energy.total())),
            agreement: (score.known > 0).then_some(Agreement { same: score.same, of: score.known }),
            would_go_on: score.would_go_on,
            bounds,
        }
    }

    /// The figures between the extremes, this score among them.
    fn bounds(&self) -> Option<Bounds> {
        if self.bounds.is_empty() {
            return None;
        }
        let all = || self.bounds.iter().chain([&self.score]);
        let between = |of: &dyn Fn(&Score) -> f64| Between {
            least: all().map(of).fold(f64::INFINITY, f64::min),
            most: all().map(of).fold(f64::NEG_INFINITY, f64::max),
        };
        Some(Bounds {
            too_deep: between(&|score| score.too_deep as f64),
            too_shallow: between(&|score| score.too_shallow as f64),
            mean_latency_ns: between(&|score| latency(score).mean_ns),
            energy: self.score.joules().map(|_| between(&|score| score.joules().unwrap_or_default())),
            same: (self.score.known > 0).then(|| between(&|score| score.same as f64)),
        })
    }
}

fn latency(score: &Score) -> Latency {
    let quantile = |share| score.latency.quantile(share).unwrap_or_default();
    Latency {
        mean_ns: score.latency.mean().unwrap_or_default(),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        max_ns: quantile(1.0),
    }
}
