// SPDX-License-Identifier: GPL-2.0-only
//! The number of finished runs, and the estimated time of the others.

use super::left::{Pace, over};
use dyntick_lab::expected::Expected;
use std::time::{Duration, Instant};

/// The runs of a study.
pub struct Ahead {
    /// The number of runs, if there are several.
    all: usize,
    done: usize,
    /// The largest number of runs at a time.
    jobs: usize,
    /// The runs that have not started.
    waiting: Vec<Expected>,
    /// The running ones, with their starts.
    running: Vec<(Expected, Instant)>,
    pace: Pace,
    /// The number of the last run that was shown.
    number: usize,
    /// The last report that was due: the tenth of the runs, and its time.
    reported: Option<(usize, Instant)>,
}

impl Ahead {
    pub fn new() -> Self {
        Self {
            all: 0,
            done: 0,
            jobs: 1,
            waiting: Vec::new(),
            running: Vec::new(),
            pace: Pace::default(),
            number: 0,
            reported: None,
        }
    }

    /// Returns true if a line for each run is not too many.
    pub fn has_few(&self) -> bool {
        self.all <= FEW
    }

    /// Returns true if the end of a run is to be reported: of few runs each, else each tenth of them, and at least one
    /// a minute.
    pub fn is_report_due(&mut self, now: Instant) -> bool {
        let tenth = 10 * self.done / self.all.max(1);
        let is_due = match self.reported {
            _ if self.has_few() => true,
            None => true,
            Some((last, time)) => tenth > last || now.saturating_duration_since(time) >= MINUTE,
        };
        if is_due {
            self.reported = Some((tenth, now));
        }
        is_due
    }

    /// Takes the list of runs, in their order.
    pub fn expect(&mut self, runs: Vec<Expected>, jobs: usize) {
        self.all = runs.len();
        self.jobs = jobs;
        self.waiting = runs;
    }

    /// Marks a run of this case as started, or as found in the cache.
    pub fn begin(&mut self, now: Instant, case: &str) {
        if let Some(next) = self.waiting.iter().position(|run| run.case == case) {
            self.running.push((self.waiting.remove(next), now));
        }
    }

    /// The number of a run: `[2/3] `; empty for a single run.
    pub fn number(&mut self) -> String {
        self.number = self.number.max(self.done) + 1;
        if self.all < 2 { String::new() } else { format!("[{}/{}] ", self.number, self.all) }
    }

    /// The time that all others will take; `None` if no run's time is known.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        let left_of = |(run, begun): &(Expected, Instant)| {
            Some(self.pace.of(run)?.saturating_sub(now.saturating_duration_since(*begun)))
        };
        let running: Vec<Duration> = self.running.iter().map(left_of).collect::<Option<_>>()?;
        let waiting: Vec<Duration> =
            self.waiting.iter().map(|run| self.pace.of(run)).collect::<Option<_>>()?;
        Some(over(&running, &waiting, self.jobs))
    }

    /// Marks a run of this case as finished: ` (3 of 96, about 12 min left)`; empty for a single run.
    pub fn after(&mut self, now: Instant, case: &str, kept: bool) -> String {
        self.done += 1;
        self.number += usize::from(kept);
        if let Some(ended) = self.running.iter().position(|(run, _)| run.case == case) {
            let (run, begun) = self.running.remove(ended);
            // A cached run takes no time.
            if !kept {
                self.pace.learn(&run, now.saturating_duration_since(begun));
            }
        }
        if self.all < 2 {
            return String::new();
        }
        let left = self.left(now).filter(|_| self.done < self.all);
        let time = left.map(|left| format!(", about {} left", rounded(left)));
        format!(" ({} of {}{})", self.done, self.all, time.unwrap_or_default())
    }
}

/// The number of runs of which each is a tenth of all or more.
const FEW: usize = 10;

/// The longest time without a report.
const MINUTE: Duration = Duration::from_secs(60);

/// Rounds a time to the precision of an estimate.
pub fn rounded(time: Duration) -> String {
    match time.as_secs() {
        s @ ..100 => format!("{s} s"),
        s @ 100..5700 => format!("{} min", (s + 30) / 60),
        s => format!("{:.1} h", s as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(case: &str, work: u64, timed: bool) -> Expected {
        let (work, fixed) = (Duration::from_secs(work), Duration::ZERO);
        Expected { case: case.into(), work, fixed, timed }
    }

    #[test]
    fn time_left_is_estimated_from_finished_runs() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut ahead = Ahead::new();
        ahead.expect(["a", "b", "c", "d", "e"].map(|case| run(case, 5, false)).to_vec(), 1);
        let one = |ahead: &mut Ahead, case, begin, end, kept| {
            ahead.begin(at(begin), case);
            ahead.after(at(end), case, kept)
        };
        assert_eq!(one(&mut ahead, "a", 0, 2, true), " (1 of 5)", "nothing is known yet");
        assert_eq!(one(&mut ahead, "b", 2, 12, false), " (2 of 5, about 30 s left)");
        assert_eq!(one(&mut ahead, "c", 12, 12, true), " (3 of 5, about 20 s left)");
        assert_eq!(one(&mut ahead, "d", 12, 42, false), " (4 of 5, about 21 s left)");
        assert_eq!(one(&mut ahead, "e", 42, 43, false), " (5 of 5)");
        let mut ahead = Ahead::new();
        ahead.expect(vec![run("a", 1, false)], 1);
        assert_eq!(one(&mut ahead, "a", 0, 5, false), "");
    }

    #[test]
    fn long_last_case_and_parallel_jobs_are_considered() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut ahead = Ahead::new();
        ahead.expect(vec![run("a", 10, true), run("b", 20, true), run("c", 60, true)], 2);
        assert_eq!(ahead.left(at(0)), Some(Duration::from_secs(70)), "as they took the last time");
        ahead.begin(at(0), "a");
        ahead.begin(at(0), "b");
        assert_eq!([ahead.number(), ahead.number()], ["[1/3] ", "[2/3] "]);
        assert_eq!(ahead.left(at(5)), Some(Duration::from_secs(65)));
        assert_eq!(ahead.after(at(20), "a", false), " (1 of 3, about 2 min left)", "half as fast today");
        ahead.begin(at(20), "c");
        assert_eq!(ahead.number(), "[3/3] ");
        ahead.after(at(40), "b", false);
        assert_eq!(ahead.left(at(41)), Some(Duration::from_secs(99)));
        assert_eq!(ahead.left(at(999)), Some(Duration::ZERO));
    }

    #[test]
    fn many_runs_are_reported_in_tenths_and_each_minute() {
        let reports = |runs: usize, seconds: u64| {
            let start = Instant::now();
            let mut ahead = Ahead::new();
            ahead.expect((0..runs).map(|_| run("a", 5, false)).collect(), 1);
            let end = |number: u64| {
                let now = start + Duration::from_secs(number * seconds);
                ahead.begin(now, "a");
                ahead.after(now, "a", false);
                ahead.is_report_due(now)
            };
            (1..=runs as u64).map(end).filter(|due| *due).count()
        };
        assert_eq!([reports(10, 1), reports(96, 1)], [10, 11], "the first, and each tenth");
        assert!((48..=60).contains(&reports(96, 30)), "every second one: {}", reports(96, 30));
    }

    #[test]
    fn hours_have_one_decimal() {
        assert_eq!(rounded(Duration::from_secs(5699)), "95 min");
        assert_eq!(rounded(Duration::from_secs(5700)), "1.6 h");
    }
}
