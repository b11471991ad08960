// SPDX-License-Identifier: GPL-2.0-only
//! Scores choices: missed states, modelled latency and modelled energy; beside an oracle and static limits.

use crate::Input;
use crate::layout::{self, GOES_ON, MOST_STATES, RIGHT, Record, SAME, VERDICTS};
use crate::outcome::{Counts, CutPart, Outcome};
use dyntick_idle::{Energy, Meter, Miss, States};
use dyntick_model::{CpuList, Machine};
use dyntick_stats::Histogram;
use std::collections::BTreeMap;
use std::io::Result;

/// A recording with the machine on which it is replayed.
pub struct Ground<'a> {
    /// The decisions.
    pub input: &'a Input,
    /// The states.
    pub states: &'a States,
    /// The powers, for the energy.
    pub machine: Option<&'a Machine>,
    /// The CPUs.
    pub cpus: &'a CpuList,
    /// The recorded window, ns.
    pub window: (u64, u64),
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

/// Choices that need no governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The recorded choices; polling where they are not known.
    Recorded,
    /// An oracle that knows the end of each sleep: the deepest state whose target residency that reaches.
    Oracle,
    /// Always the deepest state within this latency, ns.
    Within(i64),
}

/// A rule within a latency limit in addition to the recorded ones, ns; [`crate::Decision::NO_LIMIT`] for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruled {
    /// The rule.
    pub rule: Rule,
    /// The limit.
    pub limit_ns: i64,
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
            (Some(one), Some(other)) => Some(one.plus(other)),
            (one, other) => one.or_else(|| other.clone()),
        };
    }

    /// The modelled energy in joules.
    pub fn joules(&self) -> Option<f64> {
        self.energy.as_ref().map(|energy| energy.total().value)
    }

    /// The score of sleeps that nothing cut.
    fn of(counts: &Counts, states: &States, input: &Input) -> Self {
        let mut score = Score {
            decisions: input.decisions,
            known: input.known,
            states: vec![0; states.0.len()],
            ..Score::default()
        };
        for (place, (state, verdicts)) in states.0.iter().zip(counts).enumerate() {
            for (verdict, count) in verdicts.iter().enumerate().filter(|(_, count)| **count > 0) {
                score.chose(place, *count, layout::miss(verdict));
                score.latency.add(state.leaving_ns, *count);
                let counted = |flag: usize| if verdict & flag != 0 { *count } else { 0 };
                score.right += counted(RIGHT);
                score.same += counted(SAME);
                score.would_go_on += counted(GOES_ON);
            }
        }
        score
    }

    fn chose(&mut self, place: usize, count: u64, miss: Option<Miss>) {
        self.choices += count;
        self.states[place] += count;
        match miss {
            Some(Miss::Above) => self.too_deep += count,
            Some(Miss::Below) => self.too_shallow += count,
            None => {}
        }
    }

    /// Adds a part of a sleep that was cut.
    fn add(&mut self, part: &CutPart, states: &States) {
        let Some(state) = states.get(part.state) else { return };
        self.chose(part.state, 1, states.judge(part.state, part.duration_ns));
        if let Some(last) = part.last {
            self.latency.add(state.leaving_ns, 1);
            self.right += u64::from(last.right);
            self.same += u64::from(last.same);
            self.would_go_on += u64::from(last.goes_on);
        }
    }
}

impl Ground<'_> {
    /// Scores the choices of a governor.
    ///
    /// # Errors
    /// An error of reading the temporary files.
    pub fn score(&self, outcome: &Outcome) -> Result<Score> {
        let mut score = Score::of(&outcome.counts, self.states, self.input);
        let mut parts = outcome.cut_parts();
        while let Some(part) = parts.next()? {
            part.iter().for_each(|part| score.add(part, self.states));
        }
        // With feedback the sleeps are at other times, and how they meet in a package is not modelled.
        if let Some(mut meter) = self.meter().filter(|_| !outcome.feedback) {
            // The last part of a sleep ends with it, and those before end with the next one.
            let mut open: Option<(u64, usize)> = None;
            outcome.each_part(self.input, |record, part| {
                meter.reach(record.select_ns);
                if let Some((since_ns, state)) = open.take() {
                    meter.add(record.cpu(), state, since_ns, part.select_ns);
                }
                if part.is_cut {
                    open = Some((part.select_ns, part.state));
                } else {
                    meter.add(record.cpu(), part.state, part.select_ns, self.exit_ns(record, part.state));
                }
            })?;
            score.energy = Some(meter.finish());
        }
        Ok(score)
    }

    fn meter(&self) -> Option<Meter<'_>> {
        self.machine.map(|machine| Meter::new(machine, self.cpus, self.window))
    }

    /// The end of a sleep, ns. One whose state takes longer to leave ends no later than the next one begins.
    fn exit_ns(&self, record: &Record, state: usize) -> u64 {
        let leaving_ns = self.states.get(state).map_or(0, |state| state.leaving_ns);
        let wake_ns = record.select_ns.saturating_add(record.idle_ns);
        wake_ns.saturating_add(leaving_ns.min(record.gap_ns))
    }

    /// Scores choices by rules, in one pass.
    ///
    /// # Errors
    /// An error of reading the temporary files.
    pub fn rules(&self, rules: &[Ruled]) -> Result<Vec<Score>> {
        let mut usable = Usable::default();
        let mut tallies: Vec<(Counts, Option<Meter<'_>>)> =
            rules.iter().map(|_| ([[0; VERDICTS]; MOST_STATES], self.meter())).collect();
        let mut records = self.input.all();
        while let Some(record) = records.next()? {
            let usable = usable.of(&record, rules, self.states);
            for ((one, (limited, ruled)), (counts, meter)) in rules.iter().zip(usable).zip(&mut tallies) {
                let state = one.rule.state(&record, *ruled);
                counts[state][record.verdict(state, *limited, true)] += 1;
                if let Some(meter) = meter {
                    let exit_ns = self.exit_ns(&record, state);
                    meter.reach(record.select_ns);
                    meter.add(record.cpu(), state, record.select_ns, exit_ns);
                }
            }
        }
        let score = |(counts, meter): (Counts, Option<Meter<'_>>)| Score {
            energy: meter.map(Meter::finish),
            ..Score::of(&counts, self.states, self.input)
        };
        Ok(tallies.into_iter().map(score).collect())
    }

    /// The state of the oracle.
    pub fn oracle_of(&self, record: &Record, limit_ns: i64) -> usize {
        Rule::Oracle.state(record, record.usable(limit_ns, self.states))
    }
}

impl Rule {
    /// The choice, of the states that a CPU may choose by this rule.
    fn state(self, record: &Record, usable: u16) -> usize {
        let state = match self {
            Rule::Recorded => record.chosen(),
            Rule::Oracle => record.ideal(usable),
            Rule::Within(_) => layout::deepest(usable),
        };
        state.unwrap_or(0).min(MOST_STATES - 1)
    }
}

/// The states that a CPU may choose within the limit, and also by the rule; for each rule, found once for a CPU.
#[derive(Default)]
struct Usable(BTreeMap<u32, Vec<(u16, u16)>>);

impl Usable {
    fn of(&mut self, record: &Record, rules: &[Ruled], states: &States) -> &[(u16, u16)] {
        self.0.entry(record.cpu()).or_insert_with(|| {
            let usable = |one: &Ruled| {
                let limited = record.usable(one.limit_ns, states);
                match one.rule {
                    Rule::Within(limit_ns) => (limited, limited & record.usable(limit_ns, states)),
                    _ => (limited, limited),
                }
            };
            rules.iter().map(usable).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Last;
    use crate::{Decision, Settings, Sorter};
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
    fn recorded() -> Input {
        let decision = |select_us: u64, idle_us: u64, chosen: u8| {
            let leaving_ns = states().0[usize::from(chosen)].leaving_ns;
            let wake_ns = (select_us + idle_us) * US;
            Decision {
                select_ns: select_us * US,
                wake_ns,
                exit_ns: wake_ns + leaving_ns,
                residency_ns: idle_us * US + leaving_ns,
                chosen: Some(chosen),
                ..Decision::default()
            }
        };
        let mut sorter = Sorter::new(&states(), 250, Settings::new(), false).unwrap();
        for one in [decision(0, 50, 2), decision(1000, 5000, 1), decision(10_000, 5000, 2)] {
            sorter.add(one).unwrap();
        }
        sorter.finish().unwrap().seen
    }

    fn scores(rules: &[(Rule, i64)]) -> Vec<Score> {
        let (input, states, cpus) = (recorded(), states(), "0".parse().unwrap());
        let window = (0, 20_000 * US);
        let ground = Ground { input: &input, states: &states, machine: None, cpus: &cpus, window };
        let rules: Vec<Ruled> =
            rules.iter().map(|(rule, limit_ns)| Ruled { rule: *rule, limit_ns: *limit_ns }).collect();
        ground.rules(&rules).unwrap()
    }

    #[test]
    fn recorded_choices_are_scored_by_hand() {
        let none = Decision::NO_LIMIT;
        let [score, oracle] = scores(&[(Rule::Recorded, none), (Rule::Oracle, none)]).try_into().unwrap();
        assert_eq!((score.decisions, score.choices, &score.states[..]), (3, 3, &[0, 1, 2][..]));
        assert_eq!((score.too_deep, score.too_shallow, score.right), (1, 1, 1));
        assert_eq!((score.same, score.known), (3, 3));
        assert_eq!(score.latency.iter().collect::<Vec<_>>(), [(US, 1), (200 * US, 2)]);
        assert_eq!((oracle.right, oracle.too_deep, oracle.too_shallow), (3, 0, 0));
        assert_eq!(oracle.states, [0, 1, 2]);
        let mut twice = score.clone();
        twice.merge(&oracle);
        assert_eq!((twice.decisions, &twice.states[..]), (6, &[0, 2, 4][..]));

        let limit = 20 * US as i64;
        let limited = scores(&[(Rule::Oracle, limit), (Rule::Within(i64::MAX), limit)]);
        assert_eq!(limited.iter().map(|score| &score.states[..]).collect::<Vec<_>>(), [[0, 3, 0]; 2]);
    }

    /// A sleep of 5 ms that a tick after 2 ms cuts is two sleeps, and leaves the state at its end alone.
    #[test]
    fn a_cut_sleep_counts_as_several_choices() {
        let (input, states) = (recorded(), states());
        let mut counts = [[0; VERDICTS]; MOST_STATES];
        let mut records = input.all();
        for number in 0..3 {
            let record = records.next().unwrap().unwrap();
            if number != 1 {
                counts[2][record.verdict(2, 0b111, true)] += 1;
            }
        }
        let mut score = Score::of(&counts, &states, &input);
        let part = |state, duration_us: u64, last| CutPart {
            state,
            duration_ns: duration_us * US,
            last,
            ..CutPart::default()
        };
        for part in [part(0, 2000, None), part(2, 3200, Some(Last { right: true, ..Last::default() }))] {
            score.add(&part, &states);
        }
        assert_eq!((score.decisions, score.choices, &score.states[..]), (3, 4, &[1, 0, 3][..]));
        assert_eq!((score.same, score.right), (2, 2));
        assert_eq!(score.latency.iter().collect::<Vec<_>>(), [(200 * US, 3)]);
    }

    /// The end of a sleep is no later than the next choice, even if the state takes longer to leave.
    #[test]
    fn sleeps_end_before_the_next_choice() {
        let (input, states, cpus) = (recorded(), states(), "0".parse().unwrap());
        let ground = Ground { input: &input, states: &states, machine: None, cpus: &cpus, window: (0, 1) };
        let mut records = input.all();
        let mut ends = Vec::new();
        while let Some(record) = records.next().unwrap() {
            ends.push([0, 2].map(|state| ground.exit_ns(&record, state) / US));
        }
        assert_eq!(ends, [[50, 250], [6000, 6200], [15_000, 15_200]]);
        let close = |select_us: u64| Decision {
            select_ns: select_us * US,
            wake_ns: (select_us + 50) * US,
            exit_ns: (select_us + 60) * US,
            ..Decision::default()
        };
        let mut sorter = Sorter::new(&states, 250, Settings::new(), false).unwrap();
        [close(0), close(100)].into_iter().for_each(|one| sorter.add(one).unwrap());
        let input = sorter.finish().unwrap().seen;
        let record = input.all().next().unwrap().unwrap();
        assert_eq!(ground.exit_ns(&record, 2) / US, 100);
    }
}
