// SPDX-License-Identifier: GPL-2.0-only
//! Runs the governors on all cores, and scores them.

use super::Limit;
use super::differences::{self, Named, Ran};
use super::grounds::{Grounds, Replayed};
use anyhow::Result;
use dyntick_contract::replay::{Agreement, Between, Bounds, Difference, Joules, Kind, Latency, Scored};
use dyntick_kernels::cache::Cache;
use dyntick_replay::{Compiler, Governor, Outcome, Program, ReplayError, Rule, Ruled, Score};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// Bounds of more governors than these would say little and take three times as long.
pub const MOST_WITH_BOUNDS: usize = 8;

/// The choices of all governors under all limits, scored.
pub struct Choices {
    /// One for each governor and limit, in this order.
    all: Vec<Choice>,
    limits: Vec<Limit>,
    recorded: Option<Difference>,
}

/// The choices of a governor under a limit.
struct Choice {
    name: String,
    origin: String,
    limit: Limit,
    score: Score,
    /// The scores with the earliest and with the latest timers.
    bounds: Vec<Score>,
    /// From those of the first governor.
    difference: Option<Difference>,
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

/// The manner in which governors are run.
pub struct How<'a> {
    /// The latency limits.
    pub limits: &'a [Limit],
    /// True if a choice delays what follows it.
    pub feedback: bool,
    /// The number of differences that are listed.
    pub first: usize,
}

/// The ground that all governors are run on.
struct Runs<'a> {
    grounds: &'a Grounds,
    governors: &'a [Governor],
    limits: &'a [Limit],
    feedback: bool,
    programs: &'a Programs,
    /// The number of differences that are listed.
    first: usize,
    base: Base,
}

/// Compiled governors: each once, for all machines.
pub struct Programs {
    compiler: Compiler,
    /// By the governor's number and ticks per second.
    compiled: Mutex<BTreeMap<(usize, u32), Arc<Program>>>,
}

impl Programs {
    /// None is compiled yet.
    pub fn new() -> Result<Self> {
        Ok(Self { compiler: Compiler::new(Cache::of_user()?)?, compiled: Mutex::default() })
    }

    fn get(&self, number: usize, governor: &Governor, hz: u32) -> Result<Arc<Program>, ReplayError> {
        let compiled = || self.compiled.lock().unwrap_or_else(|error| error.into_inner());
        if let Some(program) = compiled().get(&(number, hz)) {
            return Ok(program.clone());
        }
        // Others compile theirs meanwhile; no two work on the same governor.
        let program = Arc::new(self.compiler.compile(governor, hz)?);
        compiled().insert((number, hz), program.clone());
        Ok(program)
    }
}

/// The choices of the first governor, under each limit and on each record. They are kept, as those of the others are
/// compared with them; of a sweep's variants no more than a score is.
#[derive(Default)]
struct Base {
    /// None before it ran; without anything if it failed.
    outcomes: Mutex<Option<Arc<[Vec<Ran>]>>>,
    ready: Condvar,
}

impl Base {
    fn set(&self, outcomes: Vec<Vec<Ran>>) {
        *self.outcomes.lock().unwrap_or_else(|error| error.into_inner()) = Some(outcomes.into());
        self.ready.notify_all();
    }

    /// Waits for them. The first governor is the first that is begun.
    fn get(&self) -> Arc<[Vec<Ran>]> {
        let outcomes = self.outcomes.lock().unwrap_or_else(|error| error.into_inner());
        let ready = self.ready.wait_while(outcomes, |outcomes| outcomes.is_none());
        let ready = ready.unwrap_or_else(|error| error.into_inner());
        ready.clone().unwrap_or_default()
    }
}

impl Choices {
    /// Runs the governors, on all cores.
    pub fn of(grounds: &Grounds, governors: &[Governor], programs: &Programs, how: &How<'_>) -> Result<Self> {
        let How { limits, feedback, first } = *how;
        let base = Base::default();
        let runs = Runs { grounds, governors, limits, feedback, programs, first, base };
        let mut all = Vec::new();
        for choices in on_all_cores(governors.len(), &|number| runs.of(number)) {
            all.extend(choices?);
        }
        let unlimited = limits.iter().position(|limit| *limit == Limit(None));
        let base = runs.base.get();
        let recorded = match unlimited.and_then(|place| base.get(place)) {
            Some(base) => differences::of_recorded(grounds, base, Limit(None).ns(), first)?,
            None => None,
        };
        Ok(Self { all, limits: limits.to_vec(), recorded })
    }

    /// The differences of all governors, and of the recorded choices if they are known, from the first governor.
    pub fn differences(&self) -> Vec<Difference> {
        let of = self.all.iter().filter_map(|choice| choice.difference.clone());
        of.chain(self.recorded.clone()).collect()
    }

    /// The rows of the table.
    ///
    /// # Errors
    /// An error of reading the temporary files.
    pub fn rows(self, grounds: &Grounds) -> Result<Vec<Row>> {
        let row = |Choice { name, origin, limit, score, bounds, .. }: Choice| Row {
            name,
            origin,
            kind: Kind::Governor,
            limit,
            score,
            bounds,
        };
        let mut rows: Vec<Row> = self.all.into_iter().map(row).collect();
        rows.extend(by_rules(grounds, &self.limits)?);
        Ok(rows)
    }
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

impl Runs<'_> {
    /// The choices of a governor under each limit.
    fn of(&self, number: usize) -> Result<Vec<Choice>, ReplayError> {
        let run = self.outcomes(number);
        if number > 0 {
            let (mut choices, outcomes) = run?;
            // Empty if the first governor failed: then there is nothing to compare with.
            let base = self.base.get();
            for ((choice, outcomes), base) in choices.iter_mut().zip(&outcomes).zip(&*base) {
                let (name, limit) = (choice.name.as_str(), choice.limit);
                let named = Named { name, limit_ns: limit.0, kernel_limit_ns: limit.ns() };
                let difference = differences::of(self.grounds, base, outcomes, &named, self.first)?;
                choice.difference = Some(difference);
            }
            return Ok(choices);
        }
        match run {
            Ok((choices, outcomes)) => {
                self.base.set(outcomes);
                Ok(choices)
            }
            Err(error) => {
                self.base.set(Vec::new());
                Err(error)
            }
        }
    }

    /// The choices of a governor under each limit, and on each record.
    fn outcomes(&self, number: usize) -> Result<(Vec<Choice>, Vec<Vec<Ran>>), ReplayError> {
        let governor = &self.governors[number];
        let (mut choices, mut all) = (Vec::new(), Vec::new());
        for limit in self.limits {
            let mut choice = Choice {
                name: governor.name.clone(),
                origin: governor.origin.clone(),
                limit: *limit,
                score: Score::default(),
                bounds: Vec::new(),
                difference: None,
            };
            let mut outcomes = Vec::new();
            for record in &self.grounds.records {
                // Kernels of several records may have other ticks.
                let program = self.programs.get(number, governor, record.hz)?;
                outcomes.push(choice.run(self.grounds, record, &program, self.feedback)?);
            }
            choices.push(choice);
            all.push(outcomes);
        }
        Ok((choices, all))
    }
}

impl Choice {
    /// Runs the governor on a record, and adds the scores.
    fn run(
        &mut self,
        grounds: &Grounds,
        record: &Replayed,
        program: &Program,
        feedback: bool,
    ) -> Result<Ran, ReplayError> {
        let (inputs, limit_ns) = (&record.inputs, self.limit.ns());
        let score = |input| -> Result<(Outcome, Score), ReplayError> {
            let outcome = program.run(input, limit_ns, feedback)?;
            let score = grounds.ground(record, input).score(&outcome)?;
            Ok((outcome, score))
        };
        let mut extremes = Vec::new();
        for (place, input) in [&inputs.earliest, &inputs.latest].into_iter().enumerate() {
            let Some(input) = input else { continue };
            let (outcome, extreme) = score(input)?;
            extremes.push(outcome);
            self.bounds.resize(2, Score::default());
            self.bounds[place].merge(&extreme);
        }
        let (outcome, seen) = score(&inputs.seen)?;
        self.score.merge(&seen);
        Ok(Ran { seen: outcome, extremes })
    }
}

fn row(name: String, kind: Kind, limit: Limit, score: Score) -> Row {
    Row { name, origin: String::new(), kind, limit, score, bounds: Vec::new() }
}

/// The choices that need no governor, each record read once: the recorded ones if they are of these states, and for
/// each limit those of an oracle and of the best static limit.
fn by_rules(grounds: &Grounds, limits: &[Limit]) -> Result<Vec<Row>> {
    let mut latencies: Vec<u64> = grounds.states.0.iter().map(|state| state.exit_latency_ns).collect();
    latencies.sort_unstable();
    latencies.dedup();
    let mut rows: Vec<(Ruled, Row)> = Vec::new();
    let mut ask = |rule, limit: Limit, name: String, kind| {
        let row = row(name, kind, limit, Score::default());
        rows.push((Ruled { rule, limit_ns: limit.ns() }, row));
    };
    if grounds.records.iter().all(Replayed::is_chosen) {
        let governor = if grounds.governor.is_empty() { "unknown" } else { &grounds.governor };
        ask(Rule::Recorded, Limit(None), format!("recorded ({governor})"), Kind::Recorded);
    }
    for limit in limits {
        ask(Rule::Oracle, *limit, "oracle".to_owned(), Kind::Oracle);
        for ns in latencies.iter().filter(|ns| limit.0.is_none_or(|limit_ns| **ns <= limit_ns)) {
            let name = format!("at most {}", dyntick_report::numbers::duration(*ns as f64));
            ask(Rule::Within(i64::try_from(*ns).unwrap_or(i64::MAX)), *limit, name, Kind::Static);
        }
    }
    let rules: Vec<Ruled> = rows.iter().map(|(ruled, _)| *ruled).collect();
    for record in &grounds.records {
        let scores = grounds.ground(record, &record.inputs.seen).rules(&rules)?;
        rows.iter_mut().zip(&scores).for_each(|((_, row), score)| row.score.merge(score));
    }
    let mut kept: Vec<Row> = Vec::new();
    for (_, row) in rows {
        match kept.last_mut() {
            // Of the static limits the best: of least energy, or without powers the one that agrees with the oracle
            // most often; of equal ones the first.
            Some(best) if best.kind == Kind::Static && row.kind == Kind::Static => {
                let energy = |row: &Row| row.score.joules().unwrap_or(0.0);
                let order = energy(&row).total_cmp(&energy(best));
                if order.then(best.score.right.cmp(&row.score.right)).is_lt() {
                    *best = row;
                }
            }
            _ => kept.push(row),
        }
    }
    Ok(kept)
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
