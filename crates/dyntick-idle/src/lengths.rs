// SPDX-License-Identifier: GPL-2.0-only
//! The lengths of sleeps, in classes that begin where a deeper state begins to pay.

use crate::{Sleep, States};
use schemars::JsonSchema;
use serde::Serialize;

/// The sleeps of similar length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LengthClass {
    /// The least length, ns.
    pub from_ns: u64,
    /// The length at which the next class begins, ns; null for the last class.
    pub below_ns: Option<u64>,
    /// The sleeps of these lengths.
    pub sleeps: u64,
    /// The sleeps among them that the governor chose each state for, by the number of the state.
    pub states: Vec<u64>,
}

/// The bounds of classes of sleeps in unknown states, ns.
const DECADES: [u64; 8] = [0, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Sorts sleeps into classes by their length from entry to exit, which is what the kernel judges a choice by. The
/// classes begin at the target residencies of enabled states; if no states are known, at powers of ten. `states` is the
/// number of states.
pub fn lengths<'a>(
    known: &States,
    states: usize,
    sleeps: impl Iterator<Item = &'a Sleep>,
) -> Vec<LengthClass> {
    let pays_from = known.0.iter().filter(|state| !state.disabled).map(|state| state.target_residency_ns);
    let mut bounds: Vec<u64> = [0].into_iter().chain(pays_from).collect();
    if known.0.is_empty() {
        bounds = DECADES.to_vec();
    }
    bounds.sort_unstable();
    bounds.dedup();
    let next = |place: usize| bounds.get(place + 1).copied();
    let class = |(place, from_ns): (usize, &u64)| LengthClass {
        from_ns: *from_ns,
        below_ns: next(place),
        sleeps: 0,
        states: vec![0; states],
    };
    let mut classes: Vec<LengthClass> = bounds.iter().enumerate().map(class).collect();
    for sleep in sleeps {
        let place = bounds.partition_point(|bound| *bound <= sleep.duration_ns()) - 1;
        classes[place].sleeps += 1;
        if let Some(count) = classes[place].states.get_mut(sleep.state) {
            *count += 1;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Inputs, State, Tick, Wake};

    fn sleep(state: usize, ns: u64) -> Sleep {
        Sleep {
            cpu: 0,
            state,
            entry_ns: 5,
            exit_ns: 5 + ns,
            counted_ns: 5 + ns,
            tick: Tick::Unknown,
            next_timer_ns: None,
            prediction: None,
            inputs: Inputs::default(),
            waker: None,
            wake: Wake::Unknown,
        }
    }

    #[test]
    fn classes_begin_where_a_state_pays() {
        let state = |residency: u64, disabled| State {
            name: "C".to_owned(),
            exit_latency_ns: 1,
            target_residency_ns: residency,
            leaving_ns: 1,
            polling: false,
            disabled,
        };
        let states = States(vec![state(0, false), state(20, false), state(50, true), state(600, false)]);
        let sleeps = [sleep(0, 19), sleep(1, 20), sleep(3, 599), sleep(3, 600), sleep(9, 700)];
        let found = lengths(&states, 4, sleeps.iter());
        let class = |from_ns, below_ns, sleeps, states: [u64; 4]| LengthClass {
            from_ns,
            below_ns,
            sleeps,
            states: states.to_vec(),
        };
        assert_eq!(
            found,
            [
                class(0, Some(20), 1, [1, 0, 0, 0]),
                class(20, Some(600), 2, [0, 1, 0, 1]),
                class(600, None, 2, [0, 0, 0, 1]),
            ]
        );
        let unknown = lengths(&States::default(), 1, sleeps.iter());
        assert_eq!((unknown.len(), unknown[0].sleeps, unknown[0].below_ns), (8, 5, Some(1000)));
    }
}
