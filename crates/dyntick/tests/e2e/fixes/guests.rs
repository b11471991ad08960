// SPDX-License-Identifier: GPL-2.0-only
//! Guests that are disturbed and fixed.

use super::judge::{ENOUGH, counts};
use crate::harness::{dyntick, trials_program};
use dyntick_explain::rules::UNTRIED;
use dyntick_model::CommandLine;
use dyntick_model::boot::Composed;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::{Condvar, Mutex};

/// The number of guests that run at a time, in all tests together.
const AT_A_TIME: usize = 2;

/// The guests that may still begin.
static FREE: (Mutex<usize>, Condvar) = (Mutex::new(AT_A_TIME), Condvar::new());

/// A guest, and what is tried in it.
#[derive(Clone)]
pub struct Group {
    pub kernel: &'static str,
    /// The parameters that the guest is booted with, in addition to those that it needs.
    pub line: &'static str,
    pub trials: Vec<Trial>,
}

/// A disturbance of CPU 1.
#[derive(Clone, Copy)]
pub struct Trial {
    /// As `dyntick-trials disturb` knows it, or `computing`.
    pub disturbance: &'static str,
    /// The causes whose commands are tried.
    pub commands: &'static [&'static str],
    /// The causes whose boot parameters are tried.
    pub boots: &'static [&'static str],
    /// The length of the recording.
    pub ms: u64,
}

impl Trial {
    /// True if the fixes of a cause are tried here.
    pub fn is_about(&self, cause: &Value) -> bool {
        self.commands.iter().chain(self.boots).any(|id| cause["cause"] == **id)
    }
}

/// A fix, and what was seen before and after.
pub struct Tried {
    pub kernel: &'static str,
    pub line: &'static str,
    pub trial: Trial,
    pub fix: String,
    /// The reason, if it could not be applied.
    pub failed: Option<String>,
    pub before: Value,
    pub after: Value,
    pub checked: Value,
    pub checked_after: Value,
}

/// Tries all fixes of all groups: commands in the guest that is disturbed, boot parameters in another that is
/// booted with them. Returns also which guests failed.
pub fn tried(groups: &[Group]) -> (Vec<Tried>, Vec<String>) {
    let told = in_parallel(groups, |group| in_guest(group.kernel, group.line, &group.trials, true));
    let (mut all, mut failed) = (Vec::new(), Vec::new());
    let mut reboots: BTreeMap<(&'static str, String), Vec<Tried>> = BTreeMap::new();
    for (group, (lines, failure)) in groups.iter().zip(told) {
        failed.extend(failure);
        for trial in &group.trials {
            let own: Vec<&Value> = of(&lines, trial).collect();
            let Some(alone) = own.first() else {
                failed.push(format!("{}: nothing was told", trial.disturbance));
                continue;
            };
            failed.extend(missing(group, trial, alone));
            let done = own.iter().filter(|line| line["fix"].is_string());
            all.extend(done.map(|line| tried_as(group, trial, line["fix"].as_str().unwrap(), line, line)));
            for fix in boot_fixes(trial, alone) {
                let line = rebooted(group.line, &fix);
                let before = tried_as(group, trial, &fix, alone, &Value::Null);
                reboots.entry((group.kernel, line)).or_default().push(before);
            }
        }
    }
    let reboots: Vec<_> = reboots.into_iter().collect();
    let after =
        in_parallel(&reboots, |((kernel, line), tried)| in_guest(kernel, line, &trials_of(tried), false));
    for ((_, tried), (lines, failure)) in reboots.into_iter().zip(after) {
        failed.extend(failure);
        for mut one in tried {
            match of(&lines, &one.trial).next() {
                Some(own) => (one.after, one.checked_after) = (own["before"].clone(), own["checked"].clone()),
                None => one.failed = Some("nothing was told after the reboot".to_owned()),
            }
            all.push(one);
        }
    }
    (all, failed)
}

/// The lines about a trial.
fn of<'a>(lines: &'a [Value], trial: &Trial) -> impl Iterator<Item = &'a Value> {
    let name = trial.disturbance;
    lines.iter().filter(move |line| line["disturbance"] == name)
}

/// The causes in question that are not there, or so seldom that nothing could be known of a fix.
fn missing(group: &Group, trial: &Trial, alone: &Value) -> Vec<String> {
    let counts = counts(&alone["before"]);
    let asked: BTreeSet<&str> = trial.commands.iter().chain(trial.boots).copied().collect();
    let count = |id: &str| counts.get(id).copied().unwrap_or(0);
    let told = |id: &str| {
        format!("{} on {} '{}': {id} came {} times", trial.disturbance, group.kernel, group.line, count(id))
    };
    asked.into_iter().filter(|id| count(id) < ENOUGH).map(told).collect()
}

/// The trials of fixes that one guest is booted for, each once.
fn trials_of(tried: &[Tried]) -> Vec<Trial> {
    let mut trials: Vec<Trial> = Vec::new();
    for one in tried {
        if !trials.iter().any(|known| known.disturbance == one.trial.disturbance) {
            trials.push(one.trial);
        }
    }
    trials
}

fn tried_as(group: &Group, trial: &Trial, fix: &str, before: &Value, after: &Value) -> Tried {
    Tried {
        kernel: group.kernel,
        line: group.line,
        trial: *trial,
        fix: fix.to_owned(),
        failed: after["failed"].as_str().map(str::to_owned),
        before: before["before"].clone(),
        after: after["after"].clone(),
        checked: before["checked"].clone(),
        checked_after: after["checked_after"].clone(),
    }
}

/// Each boot parameter that is advised and not marked as untried.
fn boot_fixes(trial: &Trial, told: &Value) -> BTreeSet<String> {
    let causes = told["before"]["causes"].as_array().into_iter().flatten();
    let asked = causes.filter(|cause| trial.boots.iter().any(|id| cause["cause"] == **id));
    let fixes = asked.flat_map(|cause| cause["fixes"].as_array().into_iter().flatten());
    let tried = fixes.filter(|fix| !fix["effect"].as_str().unwrap().contains(UNTRIED));
    let settings = tried.filter_map(|fix| fix["setting"].as_str());
    settings.filter(|setting| setting.starts_with("boot with ")).map(str::to_owned).collect()
}

/// The line with what is advised: each parameter takes the place of all of its name.
fn rebooted(line: &str, fix: &str) -> String {
    let with = fix["boot with ".len()..].split(' ').map(str::to_owned).collect();
    Composed { with, without: Vec::new() }.applied(&CommandLine::parse(line)).to_string()
}

/// Disturbs CPU 1 of a guest, and tries the commands if `fixes` is set. Returns the lines that the guest prints, and
/// the reason if it failed.
fn in_guest(kernel: &str, line: &str, trials: &[Trial], fixes: bool) -> (Vec<Value>, Option<String>) {
    let mut command = vec![trials_program(), "fix".to_owned(), "-C".to_owned(), "1".to_owned()];
    for Trial { disturbance, commands, ms, .. } in trials {
        let causes = if fixes { commands.join(",") } else { String::new() };
        command.push(format!("{disturbance}:{causes}:{ms}"));
    }
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    // The RAM disk of `writeback`, and what fixes are typed with.
    let mut with = vec!["--cpus", "3", "--module", "brd"];
    let tools = [&trials_program(), "pgrep", "taskset", "chrt"];
    with.extend(tools.iter().flat_map(|tool| ["--tool", tool]));
    lab(kernel, line, &with, &command)
}

/// Runs a command in a guest. Returns the lines of JSON that it prints, and how it failed if it did.
pub fn lab(kernel: &str, line: &str, with: &[&str], command: &[&str]) -> (Vec<Value>, Option<String>) {
    let mut lab = dyntick();
    lab.args(["lab", "shell", "--virtual", "--kernel", kernel, "--append", line])
        .args(with)
        .arg("--")
        .args(command);
    let (free, freed) = (&FREE.0, &FREE.1);
    *freed.wait_while(free.lock().unwrap(), |free| *free == 0).unwrap() -= 1;
    let output = lab.stdin(Stdio::null()).output();
    *free.lock().unwrap() += 1;
    freed.notify_one();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().last().unwrap_or_default();
    let failure = (!output.status.success()).then(|| format!("{kernel} '{line}': {errors}{last}"));
    // The console may have something before it.
    let told = |line: &str| serde_json::from_str(line[line.find("{\"")?..].trim_end()).ok();
    (text.lines().filter_map(told).collect(), failure)
}

/// Does one thing for each, a few at a time; the results are in order.
pub fn in_parallel<T: Sync, R: Send>(all: &[T], what: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (Mutex::new(0), Mutex::new(BTreeMap::new()));
    let work = || {
        loop {
            let mut at = next.lock().unwrap();
            let own = *at;
            *at += 1;
            drop(at);
            let Some(one) = all.get(own) else { return };
            let result = what(one);
            done.lock().unwrap().insert(own, result);
        }
    };
    std::thread::scope(|scope| (0..AT_A_TIME).for_each(|_| _ = scope.spawn(work)));
    done.into_inner().unwrap().into_values().collect()
}
