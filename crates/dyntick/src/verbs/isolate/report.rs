// SPDX-License-Identifier: GPL-2.0-only
//! What is told at the end.

use super::proof::{Proof, Trace};
use crate::json;
use crate::output;
use anyhow::Result;
use dyntick_isolate::apply::Applied;
use dyntick_isolate::{Isolation, Plan, Request, Restored, Subject};
use dyntick_model::CpuList;
use dyntick_model::text::clean_line;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitStatus;

/// The report of one isolation.
#[derive(Serialize)]
pub struct Report {
    cpus: CpuList,
    command: Vec<String>,
    status: String,
    partition: Option<String>,
    no_partition: Option<String>,
    /// Whether the partition was still one at the end.
    partition_held: Option<bool>,
    changes: usize,
    refused: Vec<(String, String)>,
    proof: Proof,
    restored: Restored,
}

impl Report {
    /// Of what was seen.
    pub fn new(
        request: &Request,
        command: &[OsString],
        status: ExitStatus,
        applied: &Applied,
        held: Option<bool>,
        proof: Proof,
        restored: Restored,
    ) -> Self {
        let refused =
            |(step, reason): &(dyntick_isolate::Step, String)| (step.change.target(), reason.clone());
        Self {
            cpus: request.cpus.clone(),
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            status: status.to_string(),
            partition: applied.partition.as_ref().map(|_| request.kind.kernel_name().to_owned()),
            no_partition: applied.no_partition.clone(),
            partition_held: held,
            changes: applied.made.len(),
            refused: applied.refused.iter().map(refused).collect(),
            proof,
            restored,
        }
    }

    /// How often the CPUs were interrupted.
    pub fn interruptions(&self) -> u64 {
        match &self.proof.trace {
            Some(trace) => trace.interruptions(),
            None => self.proof.rows.iter().map(|(_, count)| count).sum(),
        }
    }

    /// Writes it: into a file; else as JSON on standard output, or as text on standard error, for the
    /// command has had standard output.
    pub fn write(&self, json: bool, file: Option<&Path>) -> Result<()> {
        let text = match json {
            true => output::as_json(&json::ISOLATE.of(self))?,
            false => self.text(),
        };
        match file {
            Some(path) => output::file(path, text.as_bytes()),
            None if json => output::text(text),
            None => {
                output::aside(text);
                Ok(())
            }
        }
    }

    fn text(&self) -> String {
        let mut lines = vec![String::new()];
        let how = match (&self.partition, &self.no_partition) {
            (Some(kind), _) => format!("an {kind} cpuset partition"),
            (None, Some(reason)) => format!("no cpuset partition: {reason}"),
            (None, None) => "pinned only".to_owned(),
        };
        let seconds = self.proof.seconds;
        lines.push(format!(
            "CPU {}, {seconds:.2} s, {how}; {} ({})",
            self.cpus,
            self.command.join(" "),
            self.status
        ));
        if self.partition_held == Some(false) {
            lines.push("another process ended the partition while the command ran".to_owned());
        }
        match &self.proof.trace {
            Some(trace) => traced(trace, seconds, &mut lines),
            None => self.counted(&mut lines),
        }
        if self.changes > 0 || !self.restored.failed.is_empty() {
            restored(&self.restored, &mut |line| lines.push(line));
        }
        // A line is a line, whatever the names in it.
        lines.iter().map(|line| clean_line(line) + "\n").collect()
    }

    fn counted(&self, lines: &mut Vec<String>) {
        if let Some(reason) = &self.proof.no_trace {
            lines.push(format!("no trace ({reason}); counted from /proc/interrupts, without causes:"));
        }
        let (count, seconds) = (self.interruptions(), self.proof.seconds);
        lines.push(if count == 0 { "no interrupt at all".to_owned() } else { format!("{count} interrupts") });
        for (row, count) in &self.proof.rows {
            lines.push(format!("{count:>10} {:>9.1}/s  {row}", *count as f64 / seconds));
        }
    }
}

fn traced(trace: &Trace, seconds: f64, lines: &mut Vec<String>) {
    let count = trace.interruptions();
    let us = |ns: u64| ns as f64 / 1000.0;
    lines.push(match count {
        0 => "quiet: no interruption, no tick".to_owned(),
        _ => format!(
            "{count} interruptions, {} of them ticks; the longest took {:.1} µs",
            trace.ticks(),
            us(trace.longest_ns())
        ),
    });
    if trace.lost > 0 {
        lines.push(format!("{} events of the trace were lost: there may have been more", trace.lost));
    }
    if count > 0 {
        lines.push(format!("{:>10} {:>11} {:>11}  cause", "count", "per second", "longest µs"));
    }
    for cause in &trace.causes {
        let rate = cause.count as f64 / seconds;
        lines.push(format!(
            "{:>10} {rate:>11.2} {:>11.1}  {}",
            cause.count,
            us(cause.longest_ns),
            cause.title
        ));
        lines.extend(cause.chain.iter().map(|step| format!("{:>36}{step}", "")));
    }
    if !trace.boot.is_empty() {
        lines.push(format!(
            "to remove more, reboot with this on the kernel command line: {}",
            trace.boot.join(" ")
        ));
    }
}

/// What was put back, in words.
pub fn restored(restored: &Restored, say: &mut dyn FnMut(String)) {
    let Restored { restored: count, already, gone, released, .. } = restored;
    let mut parts = vec![format!("{count} put back")];
    parts.extend((*already > 0).then(|| format!("{already} were as before")));
    parts.extend((*gone > 0).then(|| format!("{gone} no longer there")));
    parts.extend((*released > 0).then(|| format!("{released} processes still run, on all CPUs")));
    say(format!("settings: {}", parts.join(", ")));
    exceptions(restored, say);
}

/// What was not put back, in words.
pub fn exceptions(restored: &Restored, say: &mut dyn FnMut(String)) {
    for (what, value) in &restored.theirs {
        say(format!("  left as another process has set it: {what} is {value}"));
    }
    restored.notes.iter().for_each(|note| say(format!("  {note}")));
    for (what, why) in &restored.failed {
        say(format!("  not put back: {what}: {why}"));
    }
    if !restored.failed.is_empty() {
        say(format!("  {}", not_whole(restored)));
    }
}

/// What a user must know and do where something could not be put back.
pub fn not_whole(restored: &Restored) -> String {
    let count = restored.failed.len();
    format!("the machine is not put back as it was ({count} failed): `dyntick isolate --restore` tries again")
}

/// What was refused while isolating.
pub fn refusals(isolation: &Isolation) {
    let applied = &isolation.applied;
    if let Some(reason) = &applied.no_partition {
        output::note(clean_line(&format!("no cpuset partition: {reason}; tasks are moved one by one")));
    }
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (step, reason) in &applied.refused {
        reasons.entry(reason).or_default().push(step.change.target());
    }
    for (reason, targets) in reasons {
        output::note(clean_line(&format!("not changed: {}: {reason}", targets.join(", "))));
    }
    isolation.plan.notes.iter().for_each(|note| output::note(clean_line(note)));
}

/// What each change would need.
pub fn without_root(plan: &Plan) {
    let mut needs = BTreeMap::<Subject, &str>::new();
    needs.extend(plan.steps().map(|step| (step.subject, step.subject.needs())));
    for (subject, needs) in needs {
        output::step(format_args!("{}: needs {needs}", subject.name()));
    }
}
