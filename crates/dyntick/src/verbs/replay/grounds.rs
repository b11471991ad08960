// SPDX-License-Identifier: GPL-2.0-only
//! The records of a replay: their decisions, and the states between which governors choose. Each is read once, for all
//! governors, and no more of it is kept in memory than some thousand sleeps of each CPU.

use super::lacking::{DEFAULT_HZ, Lacking};
use anyhow::{Context, Result, bail};
use dyntick_contract::replay::{Assumed, IdleState};
use dyntick_idle::{Observer, Sleep, State, States, Wake};
use dyntick_model::{CpuList, Machine, StateReading, function_of};
use dyntick_record::{About, IdleStates, Record};
use dyntick_replay::{
    Decider, Decision, Facts, Ground, Input, Inputs, ReplayError, Setting, Settings, Sorter,
};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The events after which sleeps are handed on.
const AT_ONCE: u64 = 1 << 16;
/// The most causes of wake-ups that have names of their own.
const MOST_WAKES: usize = 1 << 12;

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
    /// Ticks per second.
    pub hz: u32,
    /// The decisions; the bounds only if timers are not known.
    pub inputs: Inputs,
    cpus: CpuList,
    window_ns: (u64, u64),
    wakes: Vec<String>,
    assumed: dyntick_replay::Assumed,
}

impl Replayed {
    /// True if the recorded states are known.
    pub fn is_chosen(&self) -> bool {
        self.inputs.seen.known == self.inputs.seen.decisions
    }

    /// The cause of a wake-up in words.
    pub fn wake(&self, number: u16) -> &str {
        self.wakes.get(usize::from(number)).map_or("another", String::as_str)
    }
}

impl Grounds {
    /// Reads records for each of these machines, or for the recorded states; with bounds or without.
    pub fn open(files: &[PathBuf], machines: &[Option<Machine>], bounds: bool) -> Result<Vec<Self>> {
        let states = |machine: &Option<Machine>| machine.as_ref().map(|machine| States::from(&machine.idle));
        let ground = |machine: &Option<Machine>| Self {
            records: Vec::new(),
            states: states(machine).unwrap_or_default(),
            machine: machine.clone(),
            governor: String::new(),
            notes: Vec::new(),
        };
        let mut all: Vec<Self> = machines.iter().map(ground).collect();
        for file in files {
            read(file, &mut all, bounds)?;
        }
        Ok(all)
    }

    fn prepare(&mut self, file: &str, about: &About, lacking: &Lacking<'_>, bounds: bool) -> Result<Target> {
        let idle = about.idle.clone().unwrap_or_default();
        let (recorded, is_same) =
            self.choose_states(file, &idle, about.foreign.is_some(), about.idle.is_some())?;
        match (self.records.is_empty(), self.governor == idle.governor) {
            (true, _) => self.governor = idle.governor.clone(),
            (false, false) => self.governor = String::new(),
            (false, true) => {}
        }
        let hz = hz(about);
        let facts =
            Facts { states: recorded, hz, cpus: about.cpus.clone(), timers_known: lacking.timers_known() };
        let settings = settings(&idle, &about.cpus, is_same);
        let (decider, sorter) = (Decider::new(facts), Sorter::new(&self.states, hz, settings, bounds)?);
        Ok(Target { decider, sorter, is_same, decisions: 0 })
    }

    fn finish(&mut self, file: &str, about: &About, target: Target, read: &Reading) -> Result<()> {
        let lacking = Lacking::of(about);
        if target.decisions == 0 {
            bail!("cannot replay {file}: {}", lacking.no_sleep(read.sleeps));
        }
        if read.lost > 0 {
            self.notes.push(format!("{file}: {} events were lost, and with them idle periods", read.lost));
        }
        self.notes.extend(lacking.note(file));
        let left_out = read.sleeps - target.decisions;
        if left_out > 0 && about.foreign.is_some() {
            self.notes.push(format!(
                "{file}: {left_out} sleeps are in states that the machine does not have, and left out: it is of another one"
            ));
        }
        let assumed = target.decider.assumed;
        let mut inputs = target.sorter.finish()?;
        if assumed.timer == 0 {
            (inputs.earliest, inputs.latest) = (None, None);
        }
        self.records.push(Replayed {
            file: file.to_owned(),
            hz: hz(about),
            inputs,
            cpus: about.cpus.clone(),
            window_ns: about.window_ns,
            wakes: read.wakes.clone(),
            assumed,
        });
        Ok(())
    }

    /// The states of a record, and if governors choose between the same ones.
    fn choose_states(
        &mut self,
        file: &str,
        idle: &IdleStates,
        is_foreign: bool,
        has_idle: bool,
    ) -> Result<(States, bool)> {
        let readings = idle.states.values().next().map(Vec::as_slice).unwrap_or_default();
        let recorded = states_of(readings, self.machine.as_ref());
        if recorded.0.is_empty() {
            if self.machine.is_none() && is_foreign {
                bail!(
                    "cannot replay {file}: it does not have the machine's idle states; name a machine with --machine"
                );
            }
            if self.machine.is_none() {
                let why = if has_idle {
                    "its machine has no idle states (no cpuidle driver)"
                } else {
                    "it was recorded without --idle"
                };
                bail!("cannot replay {file}: {why}; name a machine with --machine, or record with --idle");
            }
            return Ok((self.states.clone(), is_foreign));
        }
        if self.states.0.is_empty() {
            self.states = recorded.clone();
        }
        let is_same = recorded == self.states || is_alike(&recorded, &self.states);
        if !is_same && self.machine.is_none() {
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
        Ok((recorded, is_same))
    }

    /// The ground of a record with its decisions under one assumption.
    pub fn ground<'a>(&'a self, record: &'a Replayed, input: &'a Input) -> Ground<'a> {
        Ground {
            input,
            states: &self.states,
            machine: self.machine.as_ref(),
            cpus: &record.cpus,
            window: record.window_ns,
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
            sum.decisions += record.inputs.seen.decisions;
            sum.timer += record.assumed.timer;
            sum.tick += record.assumed.tick;
            sum.next_tick += record.assumed.next_tick;
        }
        sum
    }
}

/// Reads a record once, for all grounds.
fn read(path: &Path, all: &mut [Grounds], bounds: bool) -> Result<()> {
    let record = Record::open(path)?;
    let (file, about) = (path.display().to_string(), &record.about);
    let lacking = Lacking::of(about);
    if let Some(reason) = lacking.refusal() {
        bail!("cannot replay {file}: {reason}");
    }
    let targets = all.iter_mut().map(|ground| ground.prepare(&file, about, &lacking, bounds));
    let targets: Vec<Target> = targets.collect::<Result<_>>()?;
    let mut reading = Reading { targets, wakes: Vec::new(), sleeps: 0, lost: 0 };
    reading.read(&record, &file)?;
    let targets = std::mem::take(&mut reading.targets);
    all.iter_mut().zip(targets).try_for_each(|(ground, target)| ground.finish(&file, about, target, &reading))
}

/// Ticks per second of a record.
fn hz(about: &About) -> u32 {
    if about.machine.hz == 0 { DEFAULT_HZ } else { about.machine.hz }
}

/// The decisions of a record for one ground.
struct Target {
    decider: Decider,
    sorter: Sorter,
    is_same: bool,
    decisions: u64,
}

/// A record on its way to decisions.
struct Reading {
    targets: Vec<Target>,
    wakes: Vec<String>,
    sleeps: u64,
    lost: u64,
}

impl Reading {
    fn read(&mut self, record: &Record, file: &str) -> Result<()> {
        let mut observer = Observer::new(hz(&record.about));
        let (mut events, mut failed) = (0u64, None);
        let merged = record.trace.events(|event| {
            observer.step(event);
            events += 1;
            if events % AT_ONCE == 0 {
                failed = self.add(&observer.take().sleeps).err();
            }
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        self.lost = merged.with_context(|| format!("{file} is damaged"))?.lost.values().sum();
        self.add(&observer.finish().sleeps)?;
        Ok(())
    }

    fn add(&mut self, sleeps: &[Sleep]) -> std::result::Result<(), ReplayError> {
        for sleep in sleeps {
            self.sleeps += 1;
            let wake = number_of(&mut self.wakes, &sleep.wake);
            for target in &mut self.targets {
                target.add(sleep, wake)?;
            }
        }
        Ok(())
    }
}

impl Target {
    fn add(&mut self, sleep: &Sleep, wake: u16) -> std::result::Result<(), ReplayError> {
        let Some(decision) = self.decider.decision(sleep) else { return Ok(()) };
        self.decisions += 1;
        let chosen = decision.chosen.filter(|_| self.is_same);
        self.sorter.add(Decision { wake, chosen, ..decision })
    }
}

/// The number of a cause in words; that of all others if there are very many.
fn number_of(wakes: &mut Vec<String>, wake: &Wake) -> u16 {
    let words = in_words(wake);
    if let Some(number) = wakes.iter().position(|known| *known == words) {
        return number as u16;
    }
    if wakes.len() == MOST_WAKES {
        return MOST_WAKES as u16;
    }
    wakes.push(words);
    (wakes.len() - 1) as u16
}

/// The disabled states, one bit each.
fn disabled(states: &[StateReading]) -> u16 {
    states
        .iter()
        .take(16)
        .enumerate()
        .fold(0, |bits, (place, state)| bits | u16::from(state.disabled) << place)
}

/// The limits of the choices of each CPU. Disabled states are those of the recorded machine.
fn settings(idle: &IdleStates, cpus: &CpuList, is_same: bool) -> Settings {
    let limits = idle.limits.clone().unwrap_or_default();
    let setting = |cpu: u32| Setting {
        latency_ns: limits.of_cpu(cpu).map_or(Decision::NO_LIMIT, |us| i64::from(us) * 1000),
        disabled: idle.states.get(&cpu).filter(|_| is_same).map_or(0, |states| disabled(states)),
    };
    cpus.iter().map(|cpu| (cpu, setting(cpu))).collect()
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
