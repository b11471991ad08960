// SPDX-License-Identifier: GPL-2.0-only
//! The order in which cases and their repetitions run, and the expected wall time of each run.

use crate::store;
use dyntick_guest::Work;
use dyntick_model::Clock;
use dyntick_stats::interleaved;
use dyntick_study::Case;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

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

/// The wall time that one run is expected to take.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The id of its case.
    pub case: String,
    /// The part that this machine's speed and load decide: boot, emulation, and the explanation of its trace.
    pub work: Duration,
    /// The part that is fixed: settling and the window on the wall clock.
    pub fixed: Duration,
    /// True if `work` is known from runs of this machine. Otherwise it compares runs with one another, and is not a
    /// time.
    pub timed: bool,
}

/// The expected wall time of runs of these cases. It is that of the newest run of the case in `folder`, with any
/// dyntick and kernel; otherwise it is estimated by the window, at the pace of those runs if there are any.
pub fn expected<'a>(runs: impl Iterator<Item = &'a Case>, cases: &[Case], folder: &Path) -> Vec<Expected> {
    let timings = store::timings(folder, cases);
    let pace = pace(&timings, cases);
    let one = |case: &Case| {
        let timed =
            cases.iter().position(|other| other.id == case.id).and_then(|number| timings.get(&number));
        let estimated = scalable(estimated(case), case).mul_f64(pace.unwrap_or(1.0));
        Expected {
            case: case.id.clone(),
            work: timed.map_or(estimated, |timed| scalable(*timed, case)),
            fixed: fixed(case),
            timed: timed.is_some() || pace.is_some(),
        }
    };
    runs.map(one).collect()
}

/// The wall time of the timed runs, divided by the estimate.
fn pace(timings: &BTreeMap<usize, Duration>, cases: &[Case]) -> Option<f64> {
    let cases = || timings.iter().map(|(number, timed)| (&cases[*number], *timed));
    let took: Duration = cases().map(|(case, timed)| scalable(timed, case)).sum();
    let expected: Duration = cases().map(|(case, _)| scalable(estimated(case), case)).sum();
    (!expected.is_zero()).then(|| took.as_secs_f64() / expected.as_secs_f64())
}

fn fixed(case: &Case) -> Duration {
    match case.clock {
        Clock::Virtual => Duration::ZERO,
        Clock::Wall => Duration::from_nanos(case.settle_ns + case.measure_ns),
    }
}

fn scalable(all: Duration, case: &Case) -> Duration {
    all.saturating_sub(fixed(case))
}

/// The wall time of one run without KVM, estimated: booting and decoding took some ten seconds on two emulated
/// CPUs, and a second of virtual time, mostly idle or in a loop without branches, a fifth of one; with a task that
/// is in the kernel all the time, some ten.
pub fn estimated(case: &Case) -> Duration {
    const BESIDE: Duration = Duration::from_secs(10);
    const VIRTUAL_PER_WALL: u32 = 5;
    const WALL_PER_VIRTUAL_IN_KERNEL: u32 = 10;
    let in_kernel = case.tasks.iter().any(|task| matches!(task.work, Work::RcuFree | Work::SyscallLoop));
    let guest = Duration::from_nanos(case.settle_ns + case.measure_ns);
    match case.clock {
        Clock::Virtual if in_kernel => BESIDE + guest * WALL_PER_VIRTUAL_IN_KERNEL,
        Clock::Virtual => BESIDE + guest / VIRTUAL_PER_WALL,
        Clock::Wall => BESIDE + guest,
    }
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

    fn case(clock: Clock, seconds: u64) -> Case {
        Case { clock, settle_ns: 0, measure_ns: seconds * 1_000_000_000, ..Case::new("c", "host") }
    }

    #[test]
    fn a_window_on_the_wall_clock_takes_its_time() {
        let both = [Clock::Virtual, Clock::Wall].map(|clock| estimated(&case(clock, 100)).as_secs());
        assert_eq!(both, [30, 110]);
        let folder = tempfile::tempdir().unwrap();
        let cases = [case(Clock::Wall, 100)];
        let expected = expected(cases.iter(), &cases, folder.path());
        let [one] = &expected[..] else { panic!("{expected:?}") };
        let task = dyntick_guest::Task {
            cpus: "1".parse().unwrap(),
            policy: Default::default(),
            partition: Default::default(),
            to_its_end: false,
            work: Work::RcuFree,
        };
        let busy = Case { tasks: vec![task], ..case(Clock::Virtual, 3) };
        assert_eq!(estimated(&busy).as_secs(), 40, "no second of it is skipped");
        assert_eq!((one.work.as_secs(), one.fixed.as_secs(), one.timed), (10, 100, false));
    }

    #[test]
    fn what_was_timed_is_the_pace_of_the_others() {
        let cases = [case(Clock::Virtual, 50), case(Clock::Wall, 100)];
        let timings = BTreeMap::from([(0, Duration::from_secs(40)), (1, Duration::from_secs(120))]);
        assert_eq!(pace(&timings, &cases), Some(2.0), "60 s of work, where 30 were estimated");
        assert_eq!(pace(&BTreeMap::new(), &cases), None);
    }
}
