// SPDX-License-Identifier: GPL-2.0-only
//! How many runs are done, and how long the others will take.

use std::time::{Duration, Instant};

/// The runs of a study.
pub struct Ahead {
    /// How many there are, where there are several.
    all: usize,
    done: usize,
    /// Of these, the ones that were run now and not before.
    run: u32,
    /// When the runs before the first of those were over: to find them takes no time.
    begun: Instant,
    /// When the last one was over.
    last: Instant,
    /// The number of the last one that began.
    number: usize,
}

impl Ahead {
    pub fn new(now: Instant) -> Self {
        Self { all: 0, done: 0, run: 0, begun: now, last: now, number: 0 }
    }

    /// So many runs will be made.
    pub fn expect(&mut self, runs: usize) {
        self.all = runs;
    }

    /// A run begins: `[2/3] `; nothing of a single run.
    pub fn begin(&mut self) -> String {
        self.number = self.number.max(self.done) + 1;
        if self.all < 2 { String::new() } else { format!("[{}/{}] ", self.number, self.all) }
    }

    /// How long all others will take, by those that were run; none before the first of them has ended.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        let left = self.all.saturating_sub(self.done) as u32;
        let each = (self.run > 0).then(|| self.last.saturating_duration_since(self.begun) / self.run)?;
        Some((each * left).saturating_sub(now.saturating_duration_since(self.last)))
    }

    /// A run has ended: `, 3 of 96, about 12 min left`, in brackets; nothing of a single run.
    pub fn after(&mut self, now: Instant, kept: bool) -> String {
        self.done += 1;
        self.last = now;
        self.number += usize::from(kept);
        match (kept, self.run) {
            (false, _) => self.run += 1,
            (true, 0) => self.begun = now,
            (true, _) => {}
        }
        if self.all < 2 {
            return String::new();
        }
        let left = self.left(now).filter(|_| self.done < self.all);
        let time = left.map(|left| format!(", about {} left", rounded(left)));
        format!(" ({} of {}{})", self.done, self.all, time.unwrap_or_default())
    }
}

/// As exact as an estimate is.
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

    #[test]
    fn what_is_left_is_told_by_what_was_run() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut ahead = Ahead::new(start);
        ahead.expect(5);
        assert_eq!(ahead.after(at(2), true), " (1 of 5)", "nothing is known yet");
        assert_eq!(ahead.after(at(12), false), " (2 of 5, about 30 s left)");
        assert_eq!(ahead.after(at(12), true), " (3 of 5, about 20 s left)");
        assert_eq!(ahead.after(at(222), false), " (4 of 5, about 2 min left)");
        assert_eq!(ahead.after(at(223), false), " (5 of 5)");
        let mut one = Ahead::new(start);
        one.expect(1);
        assert_eq!(one.after(at(5), false), "");
    }

    #[test]
    fn runs_are_numbered_as_they_begin() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut ahead = Ahead::new(start);
        assert_eq!(ahead.begin(), "", "of one run");
        let mut ahead = Ahead::new(start);
        ahead.expect(4);
        assert_eq!(ahead.after(at(0), true), " (1 of 4)");
        assert_eq!([ahead.begin(), ahead.begin()], ["[2/4] ", "[3/4] "]);
        assert_eq!(ahead.left(at(5)), None);
        ahead.after(at(10), false);
        assert_eq!(ahead.left(at(13)), Some(Duration::from_secs(17)), "two of ten seconds each, three ago");
        assert_eq!(ahead.left(at(99)), Some(Duration::ZERO));
        assert_eq!(ahead.begin(), "[4/4] ");
    }

    #[test]
    fn hours_have_one_decimal() {
        assert_eq!(rounded(Duration::from_secs(5699)), "95 min");
        assert_eq!(rounded(Duration::from_secs(5700)), "1.6 h");
    }
}
