// SPDX-License-Identifier: GPL-2.0-only
//! The progress of a long command: on a terminal a line for each running case, e.g.
//! `[2/3] fifo  measuring 3.1 of 5 s · 0:41 · about 30 s left`; elsewhere a plain line at the start and end of each,
//! and of more than ten runs one for each tenth of them or each minute. Where nothing was printed for a minute, it says
//! what is running.

mod ahead;
mod left;
mod silence;

use crate::few::few;
use crate::output;
use ahead::{Ahead, rounded};
use dyntick_guest::Stage;
use dyntick_lab::lab::Progress;
use dyntick_model::Clock;
use dyntick_model::text::{clean, clean_line};
use dyntick_report::{message, numbers};
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use silence::{Silence, in_minutes};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
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
    failures: Mutex<Failures>,
    silence: Arc<Mutex<Silence>>,
    /// Ends the thread that reports long steps, with the display; none on a terminal.
    _reports: Option<Sender<()>>,
}

/// Reports long steps until the display ends.
fn report(silence: &Mutex<Silence>, ended: &Receiver<()>) {
    loop {
        let wait = known(silence).wait(Instant::now());
        if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let lines = known(silence).report(Instant::now());
        for line in lines {
            output::aside(format_args!("  {}\n", clean_line(&line)));
        }
    }
}

/// Starts the thread that reports long steps. Without it only beginnings and ends are printed.
fn start_reports(silence: Arc<Mutex<Silence>>) -> Sender<()> {
    let (display, ended) = channel();
    let _ = std::thread::Builder::new().spawn(move || report(&silence, &ended));
    display
}

impl Display {
    /// Makes a display for the present standard error.
    pub fn new() -> Self {
        let terminal = output::asides_on_terminal();
        let ahead = Arc::new(Mutex::new(Ahead::new()));
        let silence = Arc::new(Mutex::new(Silence::new(Instant::now())));
        Self {
            _reports: (!terminal).then(|| start_reports(silence.clone())),
            silence,
            terminal,
            bars: MultiProgress::new(),
            running: Mutex::default(),
            ahead,
            failures: Mutex::default(),
        }
    }

    /// Takes one step of progress, from any thread.
    pub fn show(&self, progress: Progress) {
        match progress {
            Progress::Runs { runs, jobs } => known(&self.ahead).expect(runs, jobs),
            Progress::Begun(case) => {
                known(&self.silence).begins();
                known(&self.ahead).begin(Instant::now(), &case);
            }
            Progress::Note(text) => output::note(text),
            Progress::Preparing(text) => {
                known(&self.silence).prepares(Instant::now(), &text);
                self.line(&format!("  {text}"));
            }
            Progress::Stage { case, stage, clock, window_ns, limit_ns } => {
                let bar = self.bar(&case);
                let measured = if stage == Stage::Measure {
                    Measured::since(bar.elapsed(), clock, window_ns)
                } else {
                    Measured::Not
                };
                let limit = Duration::from_nanos(limit_ns);
                known(&self.silence).reaches(Instant::now(), &case, stage, measured, limit);
                bar.set_message(in_words(stage));
                bar.set_style(self.style(measured));
            }
            Progress::Ended { case, failure, kept } => {
                known(&self.silence).ends(&case);
                self.remove(&case);
                let (ahead, is_due) = {
                    let mut ahead = known(&self.ahead);
                    let words = ahead.after(Instant::now(), &case, kept);
                    (words, ahead.is_report_due(Instant::now()))
                };
                let failed = failure.map(|reason| known(&self.failures).add(&case, &reason));
                let is_wanted = match &failed {
                    Some(failed) => !failed.is_repeated,
                    None => is_due,
                };
                if !is_wanted && !self.terminal {
                    return;
                }
                self.line(&match failed {
                    Some(failed) => format!("✗ {case}: {}{ahead}", failed.words),
                    None if kept => format!("✓ {case} (cached){ahead}"),
                    None => format!("✓ {case}{ahead}"),
                });
            }
        }
    }

    /// Names the cases that failed as an earlier one, which have no line of their own without a terminal.
    pub fn end(&self) {
        let folded = std::mem::take(&mut *known(&self.failures)).folded();
        if !self.terminal {
            folded.iter().for_each(|line| self.line(line));
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
            known(&self.silence).is_broken(Instant::now());
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
                let _ = text.write_str(&in_minutes(state.elapsed()));
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
            known(&self.silence).is_broken(Instant::now());
            output::aside(format_args!("{text}\n"));
        }
    }
}

/// The reasons of failed cases.
#[derive(Default)]
struct Failures {
    /// The cases of each reason, in the order in which they ended.
    cases: BTreeMap<String, Vec<String>>,
}

/// One failure.
struct Failed {
    /// The reason in full if it is new, else the name of the first case with it.
    words: String,
    is_repeated: bool,
}

/// The number of cases that failed alike that are named.
const MOST_NAMED: usize = 12;

impl Failures {
    fn add(&mut self, case: &str, reason: &str) -> Failed {
        let cases = self.cases.entry(reason.to_owned()).or_default();
        let words = match cases.first() {
            Some(first) => format!("the same as {first}"),
            None => message(reason).replace('\n', "\n    "),
        };
        let is_repeated = !cases.is_empty();
        cases.push(case.to_owned());
        Failed { words, is_repeated }
    }

    /// A line for each reason of several runs, with the cases after the first.
    fn folded(self) -> Vec<String> {
        let line = |cases: Vec<String>| {
            let (first, others) = cases.split_first()?;
            let runs = numbers::counted(others.len() as u64, "more run");
            let mut names: Vec<String> = others.iter().filter(|case| *case != first).cloned().collect();
            names.dedup();
            if others.is_empty() {
                None
            } else if names.is_empty() {
                Some(format!("✗ {runs} of {first} failed as its first"))
            } else {
                let names = few(names.into_iter(), MOST_NAMED).join(", ");
                Some(format!("✗ {runs} failed as {first}: {names}"))
            }
        };
        self.cases.into_values().filter_map(line).collect()
    }
}

fn known<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
        let mut failures = Failures::default();
        let mut add = |case: &str, reason: &str| failures.add(case, reason).words;
        assert_eq!(add("a", "no kernel\nnor source"), "no kernel\n    nor source");
        assert_eq!(add("b", "no kernel\nnor source"), "the same as a");
        assert_eq!(add("c", "another"), "another");
        for number in 0..31 {
            assert!(failures.add(&format!("d{number}"), "no kernel\nnor source").is_repeated);
        }
        let folded = failures.folded();
        assert_eq!(folded.len(), 1, "{folded:?}");
        assert!(folded[0].starts_with("✗ 32 more runs failed as a: b, d0, d1"), "{folded:?}");
        assert!(folded[0].ends_with("d10, and 20 others"), "{folded:?}");
        let mut repeated = Failures::default();
        (0..3).for_each(|_| drop(repeated.add("a", "no kernel")));
        assert_eq!(repeated.folded(), ["✗ 2 more runs of a failed as its first"]);
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
