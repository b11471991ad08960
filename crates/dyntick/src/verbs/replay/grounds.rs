// SPDX-License-Identifier: GPL-2.0-only
//! The records of a replay: their decisions, and the states between which governors choose.

use anyhow::{Context, Result, bail};
use dyntick_contract::replay::{Assumed, IdleState};
use dyntick_idle::{State, States, observe};
use dyntick_model::{Machine, StateReading};
use dyntick_record::{About, Record};
use dyntick_replay::{Facts, Ground, Recorded, Timers, decisions};
use std::path::{Path, PathBuf};

/// The records.
pub struct Grounds {
    /// Each record.
    pub records: Vec<Replayed>,
    /// The states.
    pub states: States,
    /// The machine, for the energy.
    pub machine: Option<Machine>,
    /// The governor of the recorded kernels; empty if it is not known or they differ.
    pub governor: String,
    /// Remarks.
    pub notes: Vec<String>,
}

/// A record, read once for all governors.
pub struct Replayed {
    /// Its name.
    pub file: String,
    /// Its facts, with the window and the CPUs.
    pub about: About,
    /// The decisions with the timers that were seen.
    pub seen: Recorded,
    /// The same with the earliest possible timers; none if all are known.
    pub earliest: Option<Recorded>,
    /// The same with the latest.
    pub latest: Option<Recorded>,
}

impl Replayed {
    /// The recorded state of each sleep; none if one is not known.
    pub fn chosen(&self) -> Option<Vec<u8>> {
        self.seen.decisions.iter().map(|decision| decision.chosen).collect()
    }

    /// Ticks per second.
    pub fn hz(&self) -> u32 {
        self.about.machine.hz
    }
}

impl Grounds {
    /// Reads records.
    pub fn open(files: &[PathBuf], machine: Option<Machine>) -> Result<Self> {
        let mut grounds = Self {
            records: Vec::new(),
            states: machine.as_ref().map(|machine| States::from(&machine.idle)).unwrap_or_default(),
            machine,
            governor: String::new(),
            notes: Vec::new(),
        };
        for file in files {
            let record = Record::open(file)?;
            grounds.add(file, record)?;
        }
        Ok(grounds)
    }

    fn add(&mut self, path: &Path, record: Record) -> Result<()> {
        let file = path.display().to_string();
        let about = record.about.clone();
        let idle = about.idle.clone().unwrap_or_default();
        let readings = idle.states.values().next().map(Vec::as_slice).unwrap_or_default();
        let recorded = states_of(readings, self.machine.as_ref());
        if recorded.0.is_empty() && self.machine.is_none() {
            let why = if about.idle.is_some() {
                "its machine has no idle states (no cpuidle driver)"
            } else {
                "it was recorded without --idle"
            };
            bail!("cannot replay {file}: {why}; name a machine with --machine, or record with --idle");
        }
        if self.states.0.is_empty() {
            self.states = recorded.clone();
        }
        let is_same = recorded == self.states || is_alike(&recorded, &self.states);
        if !is_same && !recorded.0.is_empty() && self.machine.is_none() {
            bail!(
                "{file} has other idle states than {}: name a machine with --machine",
                self.records[0].file
            );
        }
        if !is_same {
            self.notes.push(format!(
                "{file} was recorded with other idle states: its wake-ups are kept, and its choices are not compared"
            ));
        }
        match (self.records.is_empty(), self.governor == idle.governor) {
            (true, _) => self.governor = idle.governor.clone(),
            (false, false) => self.governor = String::new(),
            (false, true) => {}
        }
        let trace = record.trace.decode().with_context(|| format!("{file} is damaged"))?;
        let observed = observe(&trace.events, about.machine.hz);
        if observed.sleeps.is_empty() {
            bail!("cannot replay {file}: it has no idle period; record with `dyntick record --idle`");
        }
        let lost: u64 = trace.lost.values().sum();
        if lost > 0 {
            self.notes.push(format!("{file}: {lost} events were lost, and with them idle periods"));
        }
        let bits = |states: &Vec<StateReading>| {
            states
                .iter()
                .take(16)
                .enumerate()
                .fold(0, |bits, (place, state)| bits | u16::from(state.disabled) << place)
        };
        let limits = idle.limits.clone().unwrap_or_default();
        let limit = |cpu: u32| Some((cpu, u64::from(limits.of_cpu(cpu)?) * 1000));
        let facts = Facts {
            states: if recorded.0.is_empty() { self.states.clone() } else { recorded },
            hz: about.machine.hz,
            disabled: idle.states.iter().map(|(cpu, states)| (*cpu, bits(states))).collect(),
            limits_ns: about.cpus.iter().filter_map(limit).collect(),
            cpus: about.cpus.clone(),
        };
        let make = |timers| {
            let mut recorded = decisions(&observed, &facts, timers);
            if !is_same {
                recorded.decisions.iter_mut().for_each(|decision| {
                    decision.chosen = None;
                    decision.disabled = 0;
                });
            }
            recorded
        };
        let seen = make(Timers::Seen);
        let is_assumed = seen.assumed.timer > 0;
        let [earliest, latest] =
            [Timers::Earliest, Timers::Latest].map(|timers| is_assumed.then(|| make(timers)));
        self.records.push(Replayed { file, about, seen, earliest, latest });
        Ok(())
    }

    /// The ground of a record with some of its decisions.
    pub fn ground<'a>(&'a self, record: &'a Replayed, recorded: &'a Recorded, limit_ns: i64) -> Ground<'a> {
        Ground {
            recorded,
            states: &self.states,
            machine: self.machine.as_ref(),
            cpus: &record.about.cpus,
            window: record.about.window_ns,
            limit_ns,
        }
    }

    /// The states, for printing.
    pub fn states(&self) -> Vec<IdleState> {
        let state = |state: &State| IdleState {
            name: state.name.clone(),
            exit_latency_ns: state.exit_latency_ns,
            target_residency_ns: state.target_residency_ns,
        };
        self.states.0.iter().map(state).collect()
    }

    /// The inputs that no event shows, over all records.
    pub fn assumed(&self) -> Assumed {
        let mut sum = Assumed::default();
        for record in &self.records {
            sum.decisions += record.seen.decisions.len() as u64;
            sum.timer += record.seen.assumed.timer;
            sum.tick += record.seen.assumed.tick;
            sum.next_tick += record.seen.assumed.next_tick;
        }
        sum
    }
}

/// The recorded states. The machine has their times to the nanosecond; sysfs does not.
fn states_of(readings: &[StateReading], machine: Option<&Machine>) -> States {
    let table = machine.map(|machine| States::from(&machine.idle)).unwrap_or_default();
    let state = |(place, reading): (usize, &StateReading)| {
        let us = 1000;
        let exact = table.get(place).filter(|state| {
            state.name == reading.name
                && state.exit_latency_ns / us == reading.latency_us
                && state.target_residency_ns / us == reading.residency_us
        });
        exact.cloned().unwrap_or_else(|| reading.into())
    };
    States(readings.iter().enumerate().map(state).collect())
}

/// True if two tables have the same states: they may be disabled in one.
fn is_alike(one: &States, other: &States) -> bool {
    let key = |state: &State| (state.name.clone(), state.exit_latency_ns, state.target_residency_ns);
    one.0.iter().map(key).eq(other.0.iter().map(key))
}
