// SPDX-License-Identifier: GPL-2.0-only
//! The progress of a long command: on a terminal a line for each running case, e.g.
//! `[2/3] fifo  measuring 3.1 of 5 s · 0:41 · about 30 s left`; elsewhere a plain line at the start and end of each,
//! and of more than ten runs one for each tenth of them or each minute.

mod ahead;
mod left;

use crate::output;
use ahead::{Ahead, rounded};
use dyntick_guest::Stage;
use dyntick_lab::lab::Progress;
use dyntick_model::Clock;
use dyntick_model::text::{clean, clean_line};
use dyntick_report::{message, numbers};
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The interval between updates of a line on a terminal.
const TICK: Duration = Duration::from_millis(200);

/// Shows progress on standard error.
pub struct Display {
    terminal: bool,
    bars: MultiProgress,
    running: Mutex<BTreeMap<String, ProgressBar>>,
    ahead: Arc<Mutex<Ahead>>,
    /// The reasons of failed cases, each with the first such case.
    reasons: Mutex<BTreeMap<String, String>>,
}

impl Display {
    /// Makes a display for the present standard error.
    pub fn new() -> Self {
        let terminal = output::asides_on_terminal();
        let ahead = Arc::new(Mutex::new(Ahead::new()));
        Self {
            terminal,
            bars: MultiProgress::new(),
            running: Mutex::default(),
            ahead,
            reasons: Mutex::default(),
        }
    }

    /// Takes one step of progress, from any thread.
    pub fn show(&self, progress: Progress) {
        match progress {
            Progress::Runs { runs, jobs } => known(&self.ahead).expect(runs, jobs),
            Progress::Begun(case) => known(&self.ahead).begin(Instant::now(), &case),
            Progress::Note(text) => output::note(text),
            Progress::Preparing(text) => self.line(&format!("  {text}")),
            Progress::Stage { case, stage, clock, window_ns } => {
                let bar = self.bar(&case);
                bar.set_message(in_words(stage));
                if stage == Stage::Measure {
                    bar.set_style(self.style(Measured::since(bar.elapsed(), clock, window_ns)));
                } else {
                    bar.set_style(self.style(Measured::Not));
                }
            }
            Progress::Ended { case, failure, kept } => {
                self.remove(&case);
                let (ahead, is_due) = {
                    let mut ahead = known(&self.ahead);
                    let words = ahead.after(Instant::now(), &case, kept);
                    (words, ahead.is_report_due(Instant::now()))
                };
                if failure.is_none() && !is_due && !self.terminal {
                    return;
                }
                self.line(&match failure {
                    Some(reason) => format!("✗ {case}: {}{ahead}", self.shown_once(&case, &reason)),
                    None if kept => format!("✓ {case} (cached){ahead}"),
                    None => format!("✓ {case}{ahead}"),
                });
            }
        }
    }

    /// A reason in full if it is new, else the name of the first case with it.
    fn shown_once(&self, case: &str, reason: &str) -> String {
        let mut reasons = self.reasons.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match reasons.get(reason) {
            Some(first) => format!("the same as {first}"),
            None => {
                reasons.insert(reason.to_owned(), case.to_owned());
                message(reason).replace('\n', "\n    ")
            }
        }
    }

    /// The line of a case, which starts with its first stage.
    fn bar(&self, case: &str) -> ProgressBar {
        let mut running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(bar) = running.get(case) {
            return bar.clone();
        }
        let name = clean_line(&format!("{}{case}", known(&self.ahead).number()));
        let bar =
            if self.terminal { self.bars.add(ProgressBar::new_spinner()) } else { ProgressBar::hidden() };
        if self.terminal {
            bar.enable_steady_tick(TICK);
        } else if known(&self.ahead).has_few() {
            output::aside(format_args!("  {name}: started\n"));
        }
        bar.set_prefix(name);
        running.insert(case.to_owned(), bar.clone());
        bar
    }

    fn style(&self, measured: Measured) -> ProgressStyle {
        let ahead = self.ahead.clone();
        ProgressStyle::with_template("{spinner} {prefix}  {msg}{measured} · {took}{left}")
            .expect("a valid template")
            .with_key("measured", move |state: &ProgressState, text: &mut dyn Write| {
                let _ = text.write_str(&measured.words(state.elapsed()));
            })
            .with_key("took", |state: &ProgressState, text: &mut dyn Write| {
                let seconds = state.elapsed().as_secs();
                let _ = write!(text, "{}:{:02}", seconds / 60, seconds % 60);
            })
            .with_key("left", move |_: &ProgressState, text: &mut dyn Write| {
                let left = known(&ahead).left(Instant::now());
                let _ = left.map_or(Ok(()), |left| write!(text, " · about {} left", rounded(left)));
            })
    }

    fn remove(&self, case: &str) {
        let mut running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(bar) = running.remove(case) {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        if self.terminal {
            // Printed above the spinners; a failure cannot be reported anywhere.
            let _ = self.bars.println(clean(text));
        } else {
            output::aside(format_args!("{text}\n"));
        }
    }
}

fn known(ahead: &Mutex<Ahead>) -> MutexGuard<'_, Ahead> {
    ahead.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The progress of the window.
#[derive(Clone, Copy)]
enum Measured {
    /// No window is open.
    Not,
    /// A window in virtual time, which only the guest knows: its length, ns.
    Virtual(u64),
    /// A window in real time: its start, and its length, ns.
    Wall(Duration, u64),
}

impl Measured {
    fn since(begin: Duration, clock: Clock, window_ns: u64) -> Self {
        match clock {
            Clock::Virtual => Self::Virtual(window_ns),
            Clock::Wall => Self::Wall(begin, window_ns),
        }
    }

    fn words(self, elapsed: Duration) -> String {
        let seconds = |ns: u64| numbers::plain((ns as f64 / 1e8).round() / 10.0);
        match self {
            Self::Not => String::new(),
            Self::Virtual(window) => format!(" {} s of virtual time", seconds(window)),
            Self::Wall(begin, window) => {
                let passed = elapsed.saturating_sub(begin).min(Duration::from_nanos(window)).as_secs_f64();
                format!(" {passed:.1} of {} s", seconds(window))
            }
        }
    }
}

fn in_words(stage: Stage) -> &'static str {
    match stage {
        Stage::Boot => "booting",
        Stage::Settle => "waiting for the other CPUs to become idle",
        Stage::Measure => "measuring",
        Stage::Script => "timing the script",
        Stage::Collect => "collecting",
        Stage::Done => "done",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_of_many_cases_is_shown_once() {
        let display = Display::new();
        assert_eq!(display.shown_once("a", "no kernel\nnor source"), "no kernel\n    nor source");
        assert_eq!(display.shown_once("b", "no kernel\nnor source"), "the same as a");
        assert_eq!(display.shown_once("c", "another"), "another");
    }

    #[test]
    fn window_on_the_wall_clock_is_followed() {
        let begin = Duration::from_secs(10);
        let words = |clock, seconds| {
            Measured::since(begin, clock, 5_000_000_000).words(Duration::from_secs_f64(seconds))
        };
        assert_eq!(words(Clock::Wall, 13.14), " 3.1 of 5 s");
        assert_eq!(words(Clock::Wall, 99.0), " 5.0 of 5 s");
        assert_eq!(words(Clock::Virtual, 13.14), " 5 s of virtual time");
        assert_eq!(Measured::Not.words(begin), "");
    }
}
