// SPDX-License-Identifier: GPL-2.0-only
//! The closed loop of `check`: a guest is set up badly, does what `check` says to the letter, is booted with the
//! line that is printed, and again, until nothing is left that a command or a parameter fixes.

use super::guests::{in_parallel, lab};
use crate::harness::trials_program;
use dyntick_model::CommandLine;
use dyntick_model::boot::Composed;
use serde_json::Value;
use std::collections::BTreeSet;

/// A guest that is wrong.
pub struct Start {
    pub kernel: &'static str,
    /// The parameters that it is booted with, in addition to those that it needs.
    pub line: &'static str,
    /// The CPUs that are named to `check`.
    pub named: Option<&'static str>,
    /// True if the alternatives are tried, too. They are not if the settings would undo them.
    pub alternatives: bool,
    /// The commands that run first at each boot. They make it wrong again.
    pub settings: &'static str,
}

/// A rule whose finding was fixed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fixed {
    rule: String,
    by: &'static str,
    kernel: &'static str,
}

impl std::fmt::Display for Fixed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernel = self.kernel.strip_prefix("debian:").unwrap();
        write!(f, "| `{}` | {} | {kernel} |", self.rule, self.by)
    }
}

/// The commands that the script runs.
const SCRIPT: &str = "the script";
/// The line to boot with that is printed for all findings together.
const REBOOT: &str = "the composed line";
/// A command that the script leaves to the owner.
const CHOICE: &str = "its command, by choice";
/// A parameter that the composed line leaves to the owner.
const BOOT_CHOICE: &str = "its parameter, by choice";
/// A command for those who cannot boot now.
const INSTEAD: &str = "its command, until the reboot";
/// A parameter that does for good what the command does for now.
const FOR_GOOD: &str = "its parameter";

/// More boots than any start took.
const BOOTS: usize = 8;

/// Closes the loop from each start: what is fixed by what, and what is not as `check` said.
pub fn closed(starts: &[Start]) -> (BTreeSet<Fixed>, Vec<String>) {
    let told = in_parallel(starts, |start| {
        let mut run = Run { start, rows: BTreeSet::new(), wrong: Vec::new() };
        run.close();
        (run.rows, run.wrong)
    });
    let (rows, wrong): (Vec<_>, Vec<_>) = told.into_iter().unzip();
    (rows.into_iter().flatten().collect(), wrong.into_iter().flatten().collect())
}

struct Run<'a> {
    start: &'a Start,
    rows: BTreeSet<Fixed>,
    wrong: Vec<String>,
}

/// The report of one guest.
struct Checked {
    /// The command line that it was booted with.
    line: CommandLine,
    found: Value,
    steps: Vec<Value>,
    /// The reason of its failure, if it failed.
    failed: Option<String>,
}

impl Checked {
    /// The findings at its end.
    fn left(&self) -> &Value {
        self.steps.last().map_or(&self.found, |step| &step["report"])
    }
}

impl Run<'_> {
    fn row(&mut self, rule: &str, by: &'static str) {
        self.rows.insert(Fixed { rule: rule.to_owned(), by, kernel: self.start.kernel });
    }

    fn wrong(&mut self, line: &str, what: impl std::fmt::Display) {
        self.wrong.push(format!("{} '{line}': {what}", self.start.kernel));
    }

    fn close(&mut self) {
        let mut line = self.start.line.to_owned();
        let first = self.guest(&line, &[]);
        // The laboratory's part of the line.
        let asked: BTreeSet<&str> = line.split_ascii_whitespace().collect();
        let own: BTreeSet<String> =
            first.line.iter().filter(|word| !asked.contains(word)).map(str::to_owned).collect();
        if self.start.alternatives {
            self.alternatives(&first);
        }
        let initially: BTreeSet<String> = rules(&first.found).map(str::to_owned).collect();
        if initially.is_empty() || first.found["reboot"].is_null() {
            self.wrong(&line, format!("nothing is to be fixed by a reboot: {initially:?}"));
        }
        let (mut told, mut taken) = (first, BTreeSet::new());
        for _ in 0..BOOTS {
            self.commands(&line, &told);
            let next = match told.found["reboot"]["line"].as_str() {
                Some(printed) => {
                    let asked = asked_to_boot(&told.found, |severity| severity != "note");
                    Some((without(printed, &own), asked, REBOOT))
                }
                None => choice(&told, &taken).map(|(rule, composed)| {
                    let next = composed.applied(&CommandLine::parse(&line)).to_string();
                    taken.insert(rule.clone());
                    (next, vec![rule], BOOT_CHOICE)
                }),
            };
            let Some((next, asked, by)) = next else { return self.end(&line, &told, &initially) };
            let after = self.guest(&next, &[]);
            let printed = told.found["reboot"]["line"].as_str().map(CommandLine::parse);
            if printed.is_some_and(|printed| printed.to_string() != after.line.to_string()) {
                self.wrong(&next, "it was booted with another line than was printed");
            }
            for rule in asked {
                match rules(&after.found).any(|left| left == rule) {
                    true => self.wrong(&next, format!("{rule} is still there: {:#}", after.found)),
                    false => self.row(&rule, by),
                }
            }
            (told, line) = (after, next);
        }
        self.wrong(&line, "it is booted again and again");
    }

    /// Records the findings that commands fix in one guest.
    fn commands(&mut self, line: &str, told: &Checked) {
        if let Some(why) = &told.failed {
            return self.wrong(line, why);
        }
        let mut before = &told.found;
        for step in &told.steps {
            if let Some(why) = step["failed"].as_str() {
                self.wrong(
                    line,
                    format!("{}{}: {why}", step["fix"], step["script"].as_str().unwrap_or_default()),
                );
            }
            let (asked, by): (Vec<String>, _) = match step["step"].as_str() {
                Some("script") => (by_script(before), SCRIPT),
                _ => (step["rule"].as_str().map(str::to_owned).into_iter().collect(), CHOICE),
            };
            let after = &step["report"];
            for rule in asked {
                match rules(after).any(|left| left == rule) {
                    true => self.wrong(line, format!("{rule} is still there after {by}: {after:#}")),
                    false => self.row(&rule, by),
                }
            }
            for rule in rules(after).filter(|rule| !rules(before).any(|known| known == *rule)) {
                self.wrong(line, format!("{rule} is new after {by} {}: {after:#}", step["fix"]));
            }
            before = after;
        }
    }

    /// Nothing is left but words, and nothing that was not there before.
    fn end(&mut self, line: &str, told: &Checked, initially: &BTreeSet<String>) {
        for finding in findings(told.left()) {
            let rule = finding["rule"].as_str().unwrap();
            let kinds = fixes(finding).map(|fix| fix["kind"].as_str().unwrap());
            if !initially.contains(rule) || kinds.clone().any(|kind| kind != "advice") {
                self.wrong(line, format!("{rule} is left: {finding:#}"));
            }
        }
    }

    /// Tries the alternatives that findings offer: commands until the reboot, and permanent parameters.
    fn alternatives(&mut self, told: &Checked) {
        for finding in findings(&told.found) {
            let rule = finding["rule"].as_str().unwrap();
            let kinds: Vec<&str> = fixes(finding).map(|fix| fix["kind"].as_str().unwrap()).collect();
            let boots = |kind: &&str| ["boot", "unboot"].contains(kind);
            if kinds.first().is_some_and(boots) && kinds.contains(&"command") && finding["severity"] != "note"
            {
                let after = self.guest(self.start.line, &["--instead", rule]);
                self.alternative(finding, INSTEAD, told, &after);
            }
            if kinds.first() == Some(&"command") && kinds.contains(&"boot") {
                let line = composed(finding).applied(&CommandLine::parse(self.start.line)).to_string();
                let after = self.guest(&line, &["--look"]);
                self.alternative(finding, FOR_GOOD, told, &after);
            }
        }
    }

    /// Records an alternative that works. A new finding that the fix names in advance is accepted, and notes may
    /// replace graver findings. A CPU that is isolated in one way is judged by the settings that it lacks.
    fn alternative(&mut self, finding: &Value, by: &'static str, told: &Checked, after: &Checked) {
        let rule = finding["rule"].as_str().unwrap();
        let failed = after.steps.iter().find_map(|step| step["failed"].as_str());
        if let Some(why) = after.failed.as_deref().or(failed) {
            return self.wrong(self.start.line, format!("{by} of {rule}: {why}"));
        }
        let named = |left: &str| fixes(finding).any(|fix| fix["text"].as_str().unwrap().contains(left));
        let known = |left: &&str| named(left) || rules(&told.found).any(|known| known == *left);
        let graver = findings(after.left()).filter(|finding| finding["severity"] != "note");
        let new = graver.map(|finding| finding["rule"].as_str().unwrap()).find(|left| !known(left));
        if let Some(new) = new.or(rules(after.left()).find(|left| *left == rule)) {
            return self
                .wrong(self.start.line, format!("{by} of {rule}: {new} is there: {:#}", after.left()));
        }
        self.row(rule, by);
    }

    fn guest(&mut self, line: &str, arguments: &[&str]) -> Checked {
        let settings = self.start.settings;
        let named = self.start.named.map_or(String::new(), |cpus| format!(" -C {cpus}"));
        let script = format!(
            "busybox --install -s /bin\n{settings}\nexec {} apply{named} {}",
            trials_program(),
            arguments.join(" ")
        );
        let command = ["busybox", "sh", "-c", &script];
        let (lines, failed) = lab(
            self.start.kernel,
            line,
            &["--cpus", "4", "--tool", "taskset", "--tool", &trials_program()],
            &command,
        );
        let mut steps = lines.into_iter();
        let first = steps.next().unwrap_or_default();
        let line = CommandLine::parse(first["line"].as_str().unwrap_or_default());
        let found = first["report"].clone();
        Checked { line, found, steps: steps.collect(), failed }
    }
}

/// The parameters that the laboratory must append to boot with this complete line.
fn without(printed: &str, own: &BTreeSet<String>) -> String {
    let line = CommandLine::parse(printed);
    line.iter().filter(|word| !own.contains(*word)).collect::<Vec<_>>().join(" ")
}

fn findings(report: &Value) -> impl Iterator<Item = &Value> {
    report["findings"].as_array().into_iter().flatten()
}

fn rules(report: &Value) -> impl Iterator<Item = &str> {
    findings(report).filter_map(|finding| finding["rule"].as_str())
}

fn fixes(finding: &Value) -> impl Iterator<Item = &Value> + Clone {
    finding["fixes"].as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn first_kind(finding: &Value) -> Option<&str> {
    fixes(finding).next()?["kind"].as_str()
}

/// The rules of which the script runs a command.
fn by_script(report: &Value) -> Vec<String> {
    let graver = findings(report).filter(|finding| finding["severity"] != "note");
    let asked = graver.filter(|finding| first_kind(finding) == Some("command"));
    asked.filter_map(|finding| finding["rule"].as_str()).map(str::to_owned).collect()
}

/// The rules that a parameter fixes best.
fn asked_to_boot(report: &Value, is_asked: impl Fn(&str) -> bool) -> Vec<String> {
    let asked = findings(report).filter(|finding| is_asked(finding["severity"].as_str().unwrap()));
    let asked = asked.filter(|finding| matches!(first_kind(finding), Some("boot" | "unboot")));
    asked.filter_map(|finding| finding["rule"].as_str()).map(str::to_owned).collect()
}

/// A note that a parameter fixes and that was not taken yet.
fn choice(told: &Checked, taken: &BTreeSet<String>) -> Option<(String, Composed)> {
    let notes = asked_to_boot(told.left(), |severity| severity == "note");
    let rule = notes.into_iter().find(|rule| !taken.contains(rule))?;
    let finding = findings(told.left()).find(|finding| finding["rule"] == *rule)?;
    Some((rule, composed(finding)))
}

/// The parameters that a finding says to boot with and without.
fn composed(finding: &Value) -> Composed {
    let mut composed = Composed::default();
    for fix in fixes(finding) {
        let text = fix["text"].as_str().unwrap();
        match fix["kind"].as_str() {
            Some("boot") => composed.with.extend(text.split(' ').map(str::to_owned)),
            Some("unboot") => composed.without.push(text.to_owned()),
            _ => {}
        }
    }
    composed
}
