// SPDX-License-Identifier: GPL-2.0-only
//! What a long command is doing: a line per case on a terminal, plain lines elsewhere.

mod ahead;

use crate::output;
use ahead::Ahead;
use dyntick_guest::Stage;
use dyntick_lab::lab::Progress;
use dyntick_model::text::{clean, clean_line};
use dyntick_report::message;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Shows progress on standard error.
pub struct Display {
    terminal: bool,
    bars: MultiProgress,
    running: Mutex<BTreeMap<String, ProgressBar>>,
    ahead: Mutex<Ahead>,
}

impl Display {
    /// For whatever standard error is.
    pub fn new() -> Self {
        let terminal = output::asides_on_terminal();
        let ahead = Mutex::new(Ahead::new(Instant::now()));
        Self { terminal, bars: MultiProgress::new(), running: Mutex::default(), ahead }
    }

    /// Takes one step of progress, from any thread.
    pub fn show(&self, progress: Progress) {
        match progress {
            Progress::Runs(runs) => self.ahead().expect(runs),
            Progress::Preparing(text) => self.line(&format!("  {text}")),
            Progress::Stage { case, stage } => self.stage(case, stage),
            Progress::Ended { case, failure, kept } => {
                self.remove(&case);
                let ahead = self.ahead().after(Instant::now(), kept);
                self.line(&match failure {
                    Some(reason) => format!("✗ {case}: {}{ahead}", message(&reason).replace('\n', "\n    ")),
                    None if kept => format!("✓ {case} (cached){ahead}"),
                    None => format!("✓ {case}{ahead}"),
                });
            }
        }
    }

    fn ahead(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn stage(&self, case: String, stage: Stage) {
        if !self.terminal {
            return;
        }
        let mut running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let bar = running.entry(case.clone()).or_insert_with(|| {
            let bar = self.bars.add(ProgressBar::new_spinner());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar.set_style(ProgressStyle::default_spinner());
            bar
        });
        bar.set_message(clean_line(&format!("{case}: {}", in_words(stage))));
    }

    fn remove(&self, case: &str) {
        let mut running = self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(bar) = running.remove(case) {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        if self.terminal {
            // Printed above the spinners; when that fails there is nobody to tell.
            let _ = self.bars.println(clean(text));
        } else {
            output::aside(format_args!("{text}\n"));
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
