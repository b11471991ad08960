// SPDX-License-Identifier: GPL-2.0-only
//! The program of a case that measures wake-up latencies.

use crate::Case;
use dyntick_guest::Work;
use dyntick_guest::names::{OWN_NAME, PACKETS};
use serde::{Deserialize, Serialize};

/// The program that measures latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Meter {
    /// cyclictest of rt-tests: from a timer to the woken thread.
    Cyclictest,
    /// `dyntick guest-packets`: from a packet's sending to the woken receiver.
    Packets,
}

/// The program of a case that measures latencies: its script, else the first such task.
#[derive(Clone, Copy, Debug)]
pub struct Measuring<'a> {
    /// The program.
    pub meter: Meter,
    /// The position among the tasks, if it is a task.
    pub task: Option<usize>,
    /// The program and its arguments.
    words: &'a [String],
}

impl<'a> Measuring<'a> {
    /// That of a case, if it has one.
    pub fn of(case: &'a Case) -> Option<Self> {
        let script = case.script.iter().map(|script| (None, script.run.as_slice()));
        let tasks = case.tasks.iter().enumerate().filter_map(|(number, task)| match &task.work {
            Work::Tool(words) => Some((Some(number), words.as_slice())),
            _ => None,
        });
        let mut programs = script.chain(tasks);
        programs.find_map(|(task, words)| Some(Self { meter: meter(words)?, task, words }))
    }

    /// The unit in which cyclictest counts, ns: a µs, with `--nsecs` or `-N` a ns.
    pub fn unit_ns(&self) -> u64 {
        let is_letter = |word: &str| {
            let letters = word.strip_prefix('-').unwrap_or_default();
            letters.contains('N') && letters.chars().all(|c| c.is_ascii_alphabetic())
        };
        let ns = self.words.iter().any(|word| word == "--nsecs" || is_letter(word));
        if ns { 1 } else { 1000 }
    }

    /// Returns false if cyclictest is asked for no histogram: `-h`, `-H`, `--histogram`, `--histofall` or a part of
    /// these words.
    pub fn has_histogram(&self) -> bool {
        let is_letter = |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.contains(['h', 'H']));
        self.words
            .iter()
            .any(|word| if word.starts_with("--") { word.starts_with("--h") } else { is_letter(word) })
    }
}

fn meter(words: &[String]) -> Option<Meter> {
    match words.first()?.rsplit('/').next()? {
        "cyclictest" => Some(Meter::Cyclictest),
        OWN_NAME if words.get(1).is_some_and(|verb| verb == PACKETS) => Some(Meter::Packets),
        _ => None,
    }
}
