// SPDX-License-Identifier: GPL-2.0-only
//! Scores choices: missed states, modelled latency and modelled energy; beside an oracle and static limits.

use crate::{Decision, Part, Recorded};
use dyntick_idle::{Energy, Inputs, Miss, Observed, Sleep, States, Tick, Wake, energy};
use dyntick_model::{CpuList, Machine};
use dyntick_stats::Histogram;
use std::collections::BTreeMap;

/// A recording with the machine on which it is replayed.
pub struct Ground<'a> {
    /// The decisions.
    pub recorded: &'a Recorded,
    /// The states.
    pub states: &'a States,
    /// The powers, for the energy.
    pub machine: Option<&'a Machine>,
    /// The CPUs.
    pub cpus: &'a CpuList,
    /// The recorded window, ns.
    pub window: (u64, u64),
    /// The latency limit that is added to the recorded ones, ns.
    pub limit_ns: i64,
}

/// The score of one governor on one recording, or on several.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// The recorded sleeps.
    pub decisions: u64,
    /// The choices: one for each sleep, and one more for each cut of a sleep.
    pub choices: u64,
    /// The choices of each state.
    pub states: Vec<u64>,
    /// The sleeps that were too short for their state, as the kernel counts them (`above`).
    pub too_deep: u64,
    /// The sleeps that were long enough for the next deeper state (`below`).
    pub too_shallow: u64,
    /// The sleeps in the state that the oracle would have chosen.
    pub right: u64,
    /// The modelled time to leave the state at the end of each sleep, ns.
    pub latency: Histogram,
    /// The modelled energy.
    pub energy: Option<Energy>,
    /// The sleeps with the recorded state, of those whose recorded state is known.
    pub same: u64,
    /// The sleeps whose recorded state is known.
    pub known: u64,
    /// The sleeps for which the governor would have stopped a tick that ended the recorded sleep, and slept on.
    pub would_go_on: u64,
}

impl Score {
    /// Adds the score on another recording.
    pub fn merge(&mut self, other: &Score) {
        self.decisions += other.decisions;
        self.choices += other.choices;
        self.states.resize(self.states.len().max(other.states.len()), 0);
        for (count, more) in self.states.iter_mut().zip(&other.states) {
            *count += more;
        }
        self.too_deep += other.too_deep;
        self.too_shallow += other.too_shallow;
        self.right += other.right;
        self.latency.merge(&other.latency);
        self.same += other.same;
        self.known += other.known;
        self.would_go_on += other.would_go_on;
        self.energy = match (self.energy.take(), &other.energy) {
            (Some(one), Some(other)) => Some(Energy {
                window_ns: one.window_ns + other.window_ns,
                active: one.active.plus(other.active),
                transitions: one.transitions.plus(other.transitions),
                idle: one.idle.plus(other.idle),
                package: one.package.plus(other.package),
                package_ns: one
                    .package_ns
                    .iter()
                    .zip(&other.package_ns)
                    .map(|(one, other)| one + other)
                    .collect(),
            }),
            (one, other) => one.or_else(|| other.clone()),
        };
    }

    /// The modelled energy in joules.
    pub fn joules(&self) -> Option<f64> {
        self.energy.as_ref().map(|energy| energy.total().value)
    }
}

impl Ground<'_> {
    /// The limit of a decision, ns.
    fn limit_ns(&self, decision: &Decision) -> i64 {
        decision.latency_ns.min(self.limit_ns)
    }

    /// Scores the choices of a governor.
    pub fn score(&self, parts: &[Part]) -> Score {
        let decisions = &self.recorded.decisions;
        let mut score = Score {
            decisions: decisions.len() as u64,
            choices: parts.len() as u64,
            states: vec![0; self.states.0.len()],
            ..Score::default()
        };
        let mut latencies: BTreeMap<usize, u64> = BTreeMap::new();
        for (part, end) in parts.iter().zip(ends(parts)) {
            let decision = &decisions[part.decision as usize];
            let Some(state) = self.states.get(part.state) else { continue };
            score.states[part.state] += 1;
            let is_recorded =
                decision.chosen == Some(part.state as u8) && part.select_ns == decision.select_ns;
            let duration_ns = match end {
                Some(end_ns) => end_ns.saturating_sub(part.select_ns),
                None if is_recorded => decision.residency_ns,
                None => decision.wake_ns.saturating_sub(part.select_ns) + state.leaving_ns,
            };
            match self.states.judge(part.state, duration_ns) {
                Some(Miss::Above) => score.too_deep += 1,
                Some(Miss::Below) => score.too_shallow += 1,
                None => {}
            }
            if end.is_none() {
                *latencies.entry(part.state).or_default() += 1;
                score.right += u64::from(self.ideal(decision) == Some(part.state));
                score.known += u64::from(decision.chosen.is_some());
                score.same += u64::from(is_recorded);
                let went_on = part.stop_tick && decision.got_tick && !decision.tick_was_off;
                score.would_go_on += u64::from(went_on);
            }
        }
        for (state, count) in latencies {
            score.latency.add(self.states.0[state].leaving_ns, count);
        }
        score.energy = self.machine.map(|machine| {
            let observed = Observed { sleeps: self.sleeps(parts), ..Observed::default() };
            energy(machine, &observed, self.cpus, self.window)
        });
        score
    }

    /// The best state for a sleep whose end is known.
    fn ideal(&self, decision: &Decision) -> Option<usize> {
        let limit_ns = self.limit_ns(decision).max(0) as u64;
        let fits = |place: usize| {
            let state = &self.states.0[place];
            let is_enabled = decision.disabled >> place & 1 == 0;
            is_enabled && state.target_residency_ns <= decision.idle_ns() && state.exit_latency_ns <= limit_ns
        };
        let enabled = || (0..self.states.0.len()).find(|place| decision.disabled >> place & 1 == 0);
        (0..self.states.0.len()).rev().find(|place| fits(*place)).or_else(enabled)
    }

    /// The recorded choices; polling where they are not known.
    pub fn recorded(&self) -> Vec<Part> {
        self.always(|decision| decision.chosen.map_or(0, usize::from))
    }

    /// The state of the oracle for a decision.
    pub fn oracle_of(&self, decision: &Decision) -> usize {
        self.ideal(decision).unwrap_or(0)
    }

    /// The choices of an oracle: the deepest state whose target residency the sleep reached.
    pub fn oracle(&self) -> Vec<Part> {
        self.always(|decision| self.oracle_of(decision))
    }

    /// The choices under a static latency limit, ns: always the deepest state that it allows.
    pub fn within(&self, limit_ns: u64) -> Vec<Part> {
        self.always(|decision| {
            let limit_ns = self.limit_ns(decision).max(0).min(limit_ns.min(i64::MAX as u64) as i64);
            let fits = |place: &usize| {
                let is_enabled = decision.disabled >> place & 1 == 0;
                is_enabled && self.states.0[*place].exit_latency_ns as i64 <= limit_ns
            };
            (0..self.states.0.len()).rev().find(fits).unwrap_or(0)
        })
    }

    fn always(&self, choose: impl Fn(&Decision) -> usize) -> Vec<Part> {
        let part = |(number, decision): (usize, &Decision)| Part {
            select_ns: decision.select_ns,
            decision: number as u32,
            state: choose(decision),
            stop_tick: true,
            asked: false,
            is_cut: false,
        };
        self.recorded.decisions.iter().enumerate().map(part).collect()
    }

    /// The sleeps that these choices lead to. A sleep whose state takes longer to leave ends no later than the next
    /// one begins.
    fn sleeps(&self, parts: &[Part]) -> Vec<Sleep> {
        let decisions = &self.recorded.decisions;
        let mut next: BTreeMap<u32, u64> = BTreeMap::new();
        let mut latest = vec![u64::MAX; decisions.len()];
        for (number, decision) in decisions.iter().enumerate().rev() {
            latest[number] = next.insert(decision.cpu, decision.select_ns).unwrap_or(u64::MAX);
        }
        let sleep = |(part, end): (&Part, Option<u64>)| {
            let decision = &decisions[part.decision as usize];
            let leaving_ns = self.states.get(part.state).map_or(0, |state| state.leaving_ns);
            let left = decision.wake_ns.saturating_add(leaving_ns).min(latest[part.decision as usize]);
            Sleep {
                cpu: decision.cpu,
                state: part.state,
                entry_ns: part.select_ns,
                exit_ns: end.unwrap_or(left).max(part.select_ns),
                counted_ns: u64::MAX,
                tick: Tick::Unknown,
                next_timer_ns: None,
                prediction: None,
                inputs: Inputs::default(),
                wake: Wake::Unknown,
            }
        };
        parts.iter().zip(ends(parts)).map(sleep).collect()
    }
}

/// The end of each part that another of its sleep follows, ns; none for the last one of a sleep. The parts of a sleep
/// follow one another.
fn ends(parts: &[Part]) -> impl Iterator<Item = Option<u64>> + '_ {
    let next = parts.iter().skip(1).map(Some).chain([None]);
    parts.iter().zip(next).map(|(part, next)| next.filter(|_| part.is_cut).map(|next| next.select_ns))
}

/// The last state that was chosen for each decision. A table has at most ten states.
pub fn chosen(parts: &[Part], decisions: usize) -> Vec<u8> {
    let mut all = vec![0; decisions];
    for part in parts.iter().filter(|part| !part.is_cut) {
        all[part.decision as usize] = part.state as u8;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_idle::State;

    const US: u64 = 1000;

    fn states() -> States {
        let table = [("POLL", 0, 0), ("C1", 1, 1), ("C6", 200, 600)];
        let state = |(name, exit, residency): &(&str, u64, u64)| State {
            name: (*name).to_owned(),
            exit_latency_ns: exit * US,
            target_residency_ns: residency * US,
            leaving_ns: exit * US,
            polling: *name == "POLL",
            disabled: false,
        };
        States(table.iter().map(state).collect())
    }

    /// Sleeps of 50 µs in C6, 5 ms in C1 and 5 ms in C6.
    fn recorded() -> Recorded {
        let decision = |select_us: u64, idle_us: u64, chosen: u8| {
            let leaving_ns = states().0[usize::from(chosen)].leaving_ns;
            let wake_ns = (select_us + idle_us) * US;
            Decision {
                select_ns: select_us * US,
                wake_ns,
                exit_ns: wake_ns + leaving_ns,
                residency_ns: idle_us * US + leaving_ns,
                latency_ns: Decision::NO_LIMIT,
                chosen: Some(chosen),
                ..Decision::default()
            }
        };
        let decisions = vec![decision(0, 50, 2), decision(1000, 5000, 1), decision(10_000, 5000, 2)];
        Recorded { decisions, ..Recorded::default() }
    }

    fn with_ground<T>(limit_ns: i64, work: impl FnOnce(&Ground<'_>) -> T) -> T {
        let (recorded, states, cpus) = (recorded(), states(), "0".parse().unwrap());
        let window = (0, 20_000 * US);
        work(&Ground { recorded: &recorded, states: &states, machine: None, cpus: &cpus, window, limit_ns })
    }

    #[test]
    fn recorded_choices_are_scored_by_hand() {
        with_ground(Decision::NO_LIMIT, |ground| {
            let score = ground.score(&ground.recorded());
            assert_eq!((score.decisions, score.choices, &score.states[..]), (3, 3, &[0, 1, 2][..]));
            assert_eq!((score.too_deep, score.too_shallow, score.right), (1, 1, 1));
            assert_eq!((score.same, score.known), (3, 3));
            assert_eq!(score.latency.iter().collect::<Vec<_>>(), [(US, 1), (200 * US, 2)]);
            let oracle = ground.score(&ground.oracle());
            assert_eq!((oracle.right, oracle.too_deep, oracle.too_shallow), (3, 0, 0));
            assert_eq!(chosen(&ground.oracle(), 3), [1, 2, 2]);
            let mut twice = score.clone();
            twice.merge(&oracle);
            assert_eq!((twice.decisions, &twice.states[..]), (6, &[0, 2, 4][..]));
        });
        with_ground(20 * US as i64, |ground| {
            assert_eq!(chosen(&ground.oracle(), 3), [1, 1, 1]);
            assert_eq!(chosen(&ground.within(u64::MAX), 3), [1, 1, 1]);
        });
    }

    /// A sleep of 5 ms that a tick after 2 ms cuts is two sleeps, and leaves the state at its end alone.
    #[test]
    fn a_cut_sleep_counts_as_several_choices() {
        with_ground(Decision::NO_LIMIT, |ground| {
            let mut parts = ground.recorded();
            let part = Part { state: 0, ..parts[1].clone() };
            parts[1] = Part { is_cut: true, ..part.clone() };
            parts.insert(2, Part { select_ns: 3000 * US, state: 2, ..part });
            let score = ground.score(&parts);
            assert_eq!((score.decisions, score.choices, &score.states[..]), (3, 4, &[1, 0, 3][..]));
            assert_eq!((score.same, score.right), (2, 2));
            assert_eq!(score.latency.iter().collect::<Vec<_>>(), [(200 * US, 3)]);
            assert_eq!(chosen(&parts, 3), [2, 2, 2]);
            let sleeps = ground.sleeps(&parts);
            let spans: Vec<_> =
                sleeps.iter().map(|sleep| (sleep.entry_ns / US, sleep.exit_ns / US)).collect();
            assert_eq!(spans, [(0, 250), (1000, 3000), (3000, 6200), (10_000, 15_200)]);
        });
    }
}
