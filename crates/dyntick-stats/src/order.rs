// SPDX-License-Identifier: GPL-2.0-only
//! The order in which runs are executed.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// One run to be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// The position of the case.
    pub case: usize,
    /// The repetition, from 0.
    pub repetition: usize,
}

/// The order of all runs of `cases` cases with `repetitions` each, decided by the seed alone: in each block every
/// case has one run, and within the block their order is random. Whatever changes slowly (heat, a filling disk)
/// then meets all cases alike. (Randomised complete blocks: Fisher, The Design of Experiments, 1935; Box, Hunter and
/// Hunter, Statistics for Experimenters, 2nd ed., chapter 4.)
pub fn interleaved(cases: usize, repetitions: usize, seed: u64) -> Vec<Slot> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut block: Vec<usize> = (0..cases).collect();
    let mut order = Vec::new();
    for repetition in 0..repetitions {
        block.shuffle(&mut random);
        order.extend(block.iter().map(|&case| Slot { case, repetition }));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_seed_is_an_order() {
        assert_eq!(interleaved(4, 6, 1), interleaved(4, 6, 1));
        assert_ne!(interleaved(4, 6, 1), interleaved(4, 6, 2));
        let cases: Vec<usize> = interleaved(3, 3, 1).iter().map(|slot| slot.case).collect();
        // Reports are printed with their seed: it must mean the same order in every version.
        assert_eq!(cases, [1, 2, 0, 0, 1, 2, 2, 1, 0]);
    }

    #[test]
    fn every_case_is_as_often_first_as_any_other() {
        let mut first = [0; 3];
        interleaved(3, 9000, 7).chunks(3).for_each(|block| first[block[0].case] += 1);
        // Each is binomial (9000, 1/3): five deviations are 224.
        assert!(first.iter().all(|count| (2776..=3224).contains(count)), "{first:?}");
    }

    proptest! {
        #[test]
        fn each_block_has_every_case_once(cases in 0usize..9, repetitions in 0usize..9, seed: u64) {
            let order = interleaved(cases, repetitions, seed);
            prop_assert_eq!(order.len(), cases * repetitions);
            for (number, block) in order.chunks(cases.max(1)).enumerate() {
                let mut seen: Vec<usize> = block.iter().map(|slot| slot.case).collect();
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..cases).collect::<Vec<_>>());
                prop_assert!(block.iter().all(|slot| slot.repetition == number));
            }
        }
    }
}
