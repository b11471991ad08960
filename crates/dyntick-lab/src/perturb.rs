// SPDX-License-Identifier: GPL-2.0-only
//! Irrelevant changes: the difference between a perturbed run and the case's own.
//!
//! Runs of virtual time are equal to the bit, so one run of a case does not show how much its figures depend on
//! irrelevant details: addresses in memory, and the phase of the tick at which the window begins. Mytkowicz, Diwan,
//! Hauswirth and Sweeney, *Producing Wrong Data Without Doing Anything Obviously Wrong!* (ASPLOS 2009), found that such
//! changes alone may be larger than the effect in question, and vary them at random.

use dyntick_model::Clock;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The change of one perturbed run. Recorded in its `run.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Perturbation {
    /// Bytes of a file that the guest image has before all others, and that nothing reads.
    pub padding: u32,
    /// The delay of the window after the start of the tasks, ns.
    pub shift_ns: u64,
}

/// Longest padding: a few pages more than the allocators of a kernel keep at hand for one CPU.
const MOST_PADDING: u32 = 256 << 10;

/// Longest shift: beyond two ticks of the slowest kernel (HZ=100), so that every phase of every tick is met.
const MOST_SHIFT_NS: u64 = 23_000_000;

/// Periods of ticks: HZ=1000, which those of 250 and 100 are multiples of, and HZ=300.
const TICKS_NS: [u64; 2] = [1_000_000, 1_000_000_000 / 300];

/// The least distance of a shift from a multiple of any tick.
const FROM_TICK_NS: u64 = 50_000;

/// The change of this repetition of a case: none for the first, and none on the wall clock, where runs differ anyway.
/// The same number means the same change in every case.
pub fn of(clock: Clock, repetition: u32) -> Option<Perturbation> {
    (clock == Clock::Virtual && repetition > 0).then(|| drawn(repetition))
}

/// The number of a perturbed run is its seed.
fn drawn(number: u32) -> Perturbation {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(number.into());
    let padding = random.random_range(1..=MOST_PADDING);
    let shift_ns = std::iter::repeat_with(|| random.random_range(FROM_TICK_NS..=MOST_SHIFT_NS));
    // Nine of ten pass.
    let off_ticks = |shift: &u64| TICKS_NS.iter().all(|tick| is_off(*shift, *tick));
    Perturbation { padding, shift_ns: shift_ns.take(1000).find(off_ticks).unwrap_or(FROM_TICK_NS) }
}

fn is_off(shift_ns: u64, tick_ns: u64) -> bool {
    let phase = shift_ns % tick_ns;
    phase.min(tick_ns - phase) >= FROM_TICK_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_number_is_a_change_and_always_the_same() {
        assert_eq!(of(Clock::Virtual, 0), None, "the run itself");
        assert_eq!(of(Clock::Wall, 3), None, "a repetition");
        // Runs are kept under what was changed: a number must mean the same in every version.
        assert_eq!(of(Clock::Virtual, 1), Some(Perturbation { padding: 212_760, shift_ns: 17_196_053 }));
        assert_eq!(of(Clock::Virtual, 2), Some(Perturbation { padding: 200_602, shift_ns: 12_377_884 }));
    }

    #[test]
    fn changes_differ_and_no_shift_is_a_number_of_ticks() {
        let all: Vec<Perturbation> = (1..=100).map(drawn).collect();
        let different = |of: fn(&Perturbation) -> u64| all.iter().map(of).collect::<BTreeSet<u64>>().len();
        assert_eq!((different(|one| one.padding.into()), different(|one| one.shift_ns)), (100, 100));
        for Perturbation { padding, shift_ns } in all {
            assert!((1..=MOST_PADDING).contains(&padding) && shift_ns <= MOST_SHIFT_NS);
            for hz in [100, 250, 300, 1000] {
                assert!(is_off(shift_ns, 1_000_000_000 / hz), "{shift_ns} at HZ={hz}");
            }
        }
    }
}
