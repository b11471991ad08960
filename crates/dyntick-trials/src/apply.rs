// SPDX-License-Identifier: GPL-2.0-only
//! Trials of the fixes that `dyntick check` prints, applied exactly as printed.
//!
//! A bundle is packed and checked, the resulting script is run, and the machine is checked again. Then each choice is
//! taken that the script leaves to the owner: the commands of notes.

use crate::product;
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;

/// The arguments of `apply`.
#[derive(Args)]
pub struct Arguments {
    /// CPUs to check, as for `check`
    #[arg(short = 'C', long, value_name = "CPUS")]
    cpus: Option<String>,
    /// Print the findings and change nothing
    #[arg(long)]
    look: bool,
    /// Instead of the script, run the command that finding RULE offers in place of a reboot
    #[arg(long, value_name = "RULE")]
    instead: Option<String>,
}

const BUNDLE: &str = "/tmp/guest-apply.tar.gz";
const SCRIPT: &str = "/tmp/guest-apply.sh";

/// Applies the fixes, with a line of JSON for each step.
pub fn run(arguments: &Arguments) -> Result<()> {
    let cpus: Vec<&str> = arguments.cpus.iter().flat_map(|cpus| ["-C", cpus]).collect();
    let mut packed = vec!["check", "--json", "--fail-on", "never", "--bundle", BUNDLE];
    packed.extend(&cpus);
    let found = product::json(&packed)?;
    let line = std::fs::read_to_string("/proc/cmdline")?;
    print(&json!({ "step": "found", "line": line.trim(), "report": found }));
    if arguments.look {
        return Ok(());
    }
    if let Some(rule) = &arguments.instead {
        return instead(&cpus, &found, rule);
    }
    let mut from = vec!["check", "--from", BUNDLE, "--format", "script", "--fail-on", "never"];
    from.extend(&cpus);
    let script = product::dyntick(&from).output()?;
    ensure!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
    std::fs::write(SCRIPT, &script.stdout)?;
    // Each command must succeed.
    let failed = failure(Command::new("sh").args(["-e", SCRIPT]))?;
    let mut left = checked(&cpus)?;
    let text = String::from_utf8_lossy(&script.stdout);
    print(&json!({ "step": "script", "script": text, "failed": failed, "report": left }));
    let mut taken = BTreeSet::new();
    while let Some((rule, command)) = choice(&left, &taken) {
        let failed = typed(&command)?;
        left = checked(&cpus)?;
        print(&json!({ "step": "choice", "rule": rule, "fix": command, "failed": failed, "report": left }));
        taken.insert(rule);
    }
    Ok(())
}

/// Applies the first command of a finding, for a machine that cannot be rebooted now.
fn instead(cpus: &[&str], found: &Value, rule: &str) -> Result<()> {
    let finding = findings(found).find(|finding| finding["rule"] == rule);
    let command = finding.and_then(command).with_context(|| format!("{rule} offers no command"))?;
    let failed = typed(&command)?;
    let left = checked(cpus)?;
    print(&json!({ "step": "instead", "rule": rule, "fix": command, "failed": failed, "report": left }));
    Ok(())
}

/// Prints a step as a line of JSON.
fn print(step: &Value) {
    println!("{step}");
}

fn checked(cpus: &[&str]) -> Result<Value> {
    let mut arguments = vec!["check", "--json", "--fail-on", "never"];
    arguments.extend(cpus);
    product::json(&arguments)
}

/// The command of the first note that was not applied yet.
fn choice(report: &Value, taken: &BTreeSet<String>) -> Option<(String, String)> {
    let notes = findings(report).filter(|finding| finding["severity"] == "note");
    let open = notes.filter(|finding| finding["rule"].as_str().is_some_and(|rule| !taken.contains(rule)));
    open.filter_map(|note| Some((note["rule"].as_str()?.to_owned(), command(note)?))).next()
}

fn findings(report: &Value) -> impl Iterator<Item = &Value> {
    report["findings"].as_array().into_iter().flatten()
}

fn command(finding: &Value) -> Option<String> {
    let fixes = finding["fixes"].as_array().into_iter().flatten();
    fixes.filter(|fix| fix["kind"] == "command").find_map(|fix| fix["text"].as_str()).map(str::to_owned)
}

/// Runs a command as root; returns the reason if it failed.
fn typed(command: &str) -> Result<Option<String>> {
    failure(Command::new("sh").args(["-c", command]))
}

fn failure(command: &mut Command) -> Result<Option<String>> {
    let done = command.output()?;
    let said = format!("{}: {}", done.status, String::from_utf8_lossy(&done.stderr));
    Ok((!done.status.success()).then_some(said))
}
