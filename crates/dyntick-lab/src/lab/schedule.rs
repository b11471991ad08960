// SPDX-License-Identifier: GPL-2.0-only
//! The order in which cases and their repetitions run.

use dyntick_stats::interleaved;
use dyntick_study::Case;
use std::sync::Arc;

/// One run to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// The position of the case.
    pub case: usize,
    /// The repetition, from 0.
    pub repetition: u32,
}

/// The runs in their order: as given if no case is repeated, and then the perturbed runs. Otherwise every case runs
/// once before one runs again, in a random order that is always the same: slow changes, e.g. the host's heat, then
/// affect all cases alike.
pub fn schedule(cases: &[Arc<Case>]) -> Vec<Task> {
    const SEED: u64 = 1;
    let most = cases.iter().map(|case| case.runs()).max().unwrap_or(0);
    let mut tasks = Vec::new();
    if cases.iter().all(|case| case.repeat <= 1) {
        for repetition in 0..most {
            tasks.extend((0..cases.len()).map(|case| Task { case, repetition }));
        }
    } else {
        let slots = interleaved(cases.len(), most as usize, SEED);
        tasks.extend(slots.iter().map(|slot| Task { case: slot.case, repetition: slot.repetition as u32 }));
    }
    tasks.retain(|task| task.repetition < cases[task.case].runs());
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_interleaved() {
        let case = |name: &str, repeat| Arc::new(Case { repeat, ..Case::new(name, "debian:6.12") });
        let names = |cases: &[Arc<Case>]| -> Vec<(String, u32)> {
            schedule(cases).into_iter().map(|task| (cases[task.case].id.clone(), task.repetition)).collect()
        };
        let once = [case("a", 1), case("b", 1), case("c", 1)];
        assert_eq!(names(&once), [("a".into(), 0), ("b".into(), 0), ("c".into(), 0)], "as given");
        let perturbed = [case("a", 1), Arc::new(Case { perturb: 2, ..Case::new("b", "debian:6.12") })];
        let wanted = [("a", 0), ("b", 0), ("b", 1), ("b", 2)].map(|(name, run)| (name.to_owned(), run));
        assert_eq!(names(&perturbed), wanted);
        let often = [case("a", 20), case("b", 20), case("c", 2)];
        let order = names(&often);
        assert_eq!(order.len(), 42);
        assert_eq!(order, names(&often), "always the same");
        let of =
            |name: &str| order.iter().filter(|(of, _)| of == name).map(|(_, r)| *r).collect::<Vec<u32>>();
        assert_eq!(of("a"), (0..20).collect::<Vec<u32>>());
        assert_eq!(of("c"), [0, 1]);
        let first: Vec<&str> = order[6..].chunks(2).map(|pair| pair[0].0.as_str()).collect();
        assert!(first.contains(&"a") && first.contains(&"b"), "neither goes first each time");
    }
}
