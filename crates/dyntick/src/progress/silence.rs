// SPDX-License-Identifier: GPL-2.0-only
//! The lines about long steps for a reader without a terminal: what is running, once nothing was printed for a minute.

use super::{Measured, in_words};
use crate::few::few;
use dyntick_guest::Stage;
use std::time::{Duration, Instant};

/// The longest time without a line.
const LONGEST: Duration = Duration::from_secs(60);

/// The number of cases that one report names.
const MOST_NAMED: usize = 4;

/// The steps that are under way, and the time of the last line.
pub struct Silence {
    last: Instant,
    running: Vec<Running>,
    /// The fetched or prepared thing, with its begin.
    preparing: Option<(String, Instant)>,
}

/// A case whose guest runs.
struct Running {
    case: String,
    stage: Stage,
    measured: Measured,
    begun: Instant,
    /// The time after which its guest counts as hung.
    limit: Duration,
}

impl Silence {
    /// Begins now.
    pub fn new(now: Instant) -> Self {
        Self { last: now, running: Vec::new(), preparing: None }
    }

    /// Notes that a line was printed.
    pub fn is_broken(&mut self, now: Instant) {
        self.last = now;
    }

    /// Notes that something is fetched or prepared.
    pub fn prepares(&mut self, now: Instant, what: &str) {
        self.preparing = Some((what.to_owned(), now));
    }

    /// Notes that a case begins, for which something may have to be prepared.
    pub fn begins(&mut self) {
        self.preparing = None;
    }

    /// Notes the stage of a case, whose guest may run for `limit`.
    pub fn reaches(&mut self, now: Instant, case: &str, stage: Stage, measured: Measured, limit: Duration) {
        self.preparing = None;
        match self.running.iter_mut().find(|running| running.case == case) {
            Some(running) => (running.stage, running.measured) = (stage, measured),
            None => {
                self.running.push(Running { case: case.to_owned(), stage, measured, begun: now, limit });
            }
        }
    }

    /// Notes the end of a case.
    pub fn ends(&mut self, case: &str) {
        self.running.retain(|running| running.case != case);
    }

    /// The time until the next report is due.
    pub fn wait(&self, now: Instant) -> Duration {
        LONGEST.saturating_sub(now.saturating_duration_since(self.last))
    }

    /// The lines of the report that is due; none if something was printed a short time ago.
    pub fn report(&mut self, now: Instant) -> Vec<String> {
        if !self.wait(now).is_zero() {
            return Vec::new();
        }
        self.last = now;
        let running = self.running.iter().map(|running| running.line(now));
        let mut lines = few(running, MOST_NAMED);
        if lines.is_empty() {
            let so_far = |begun: Instant| in_minutes(now.saturating_duration_since(begun));
            let preparing = self.preparing.iter();
            lines.extend(preparing.map(|(what, begun)| format!("{what} ({} so far)", so_far(*begun))));
        }
        lines
    }
}

impl Running {
    /// `hogs: measuring 9 s of virtual time (1:00 of at most 5:00)`
    fn line(&self, now: Instant) -> String {
        let elapsed = now.saturating_duration_since(self.begun);
        let (stage, measured) = (in_words(self.stage), self.measured.words(elapsed));
        let (passed, limit) = (in_minutes(elapsed), in_minutes(self.limit));
        format!("{}: {stage}{measured} ({passed} of at most {limit})", self.case)
    }
}

/// A time as on a watch: `1:05`.
pub fn in_minutes(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Clock;

    #[test]
    fn running_cases_are_reported_once_nothing_was_printed_for_a_minute() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let limit = Duration::from_secs(300);
        let mut silence = Silence::new(start);
        assert_eq!(silence.report(at(60)), [""; 0], "nothing runs");
        silence.prepares(at(60), "compiling Linux 6.12");
        assert_eq!(silence.report(at(119)), [""; 0]);
        assert_eq!(silence.report(at(120)), ["compiling Linux 6.12 (1:00 so far)"]);
        silence.begins();
        silence.reaches(at(130), "hogs", Stage::Boot, Measured::Not, limit);
        let window = Measured::since(Duration::ZERO, Clock::Virtual, 9_000_000_000);
        silence.reaches(at(140), "hogs", Stage::Measure, window, limit);
        assert_eq!(silence.wait(at(150)), Duration::from_secs(30));
        assert_eq!(silence.report(at(180)), ["hogs: measuring 9 s of virtual time (0:50 of at most 5:00)"]);
        assert_eq!(silence.report(at(239)), [""; 0]);
        silence.is_broken(at(239));
        assert_eq!(silence.report(at(240)), [""; 0], "another line was printed");
        silence.ends("hogs");
        assert_eq!(silence.report(at(999)), [""; 0]);
    }
}
