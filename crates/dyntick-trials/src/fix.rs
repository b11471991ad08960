// SPDX-License-Identifier: GPL-2.0-only
//! Trials of the fixes that `dyntick explain` prints.
//!
//! Each fix gets its own disturbance: it starts, is explained, the fix is applied by the shell, and it is explained
//! again. `check` examines the machine before and after.

use crate::{disturb, product};
use anyhow::{Context, Result, ensure};
use clap::Args;
use dyntick_explain::rules::UNTRIED;
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

/// The arguments of `fix`.
#[derive(Args)]
pub struct Arguments {
    /// Trials, each as DISTURBANCE:CAUSE,CAUSE:MS: the causes whose fixes are tried, and the length of a
    /// recording
    #[arg(required = true)]
    tries: Vec<Try>,
    /// CPU to disturb
    #[arg(short = 'C', long, value_name = "CPU")]
    cpu: u32,
}

/// One disturbance.
#[derive(Clone)]
struct Try {
    disturbance: String,
    causes: Vec<String>,
    ms: u64,
}

impl FromStr for Try {
    type Err = &'static str;

    /// Parses a trial, whose causes contain colons too.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = || {
            let (disturbance, rest) = text.split_once(':')?;
            let (causes, ms) = rest.rsplit_once(':')?;
            let causes = causes.split(',').map(str::to_owned).collect();
            Some(Self { disturbance: disturbance.to_owned(), causes, ms: ms.parse().ok()? })
        };
        parts().ok_or("not of the form DISTURBANCE:CAUSE,CAUSE:MS")
    }
}

/// The time that a disturbance needs to prepare itself before it is recorded.
const SETTLING: Duration = Duration::from_millis(500);

/// A time longer than any recording.
const FOREVER_MS: &str = "100000000";

/// The disturbance that is only a command of the shell: it computes.
const COMPUTING: &str = "computing";

/// The placeholders for names that only the user knows, and the names in these disturbances.
const KNOWN: [(&str, &str); 1] = [("GROUP", "limited")];

/// Runs the trials, with a line of JSON for each disturbance alone and for each fix.
pub fn run(arguments: &Arguments) -> Result<()> {
    disturb::keep_off(arguments.cpu)?;
    for one in &arguments.tries {
        let mut trial = Trial { one, cpu: arguments.cpu.to_string(), running: None };
        trial.run().with_context(|| one.disturbance.clone())?;
    }
    Ok(())
}

/// The state of a trial.
struct Trial<'a> {
    one: &'a Try,
    cpu: String,
    running: Option<Child>,
}

impl Trial<'_> {
    fn run(&mut self) -> Result<()> {
        self.begin(None)?;
        let (mut before, mut checked) = (self.explained()?, self.checked()?);
        self.print(json!({ "before": before, "checked": checked }));
        for number in 0..self.settings(&before).len() {
            if number > 0 {
                self.begin(None)?;
                (before, checked) = (self.explained()?, self.checked()?);
            }
            // A fix may name a task of the present disturbance.
            let Some(setting) = self.settings(&before).into_iter().nth(number) else { break };
            let failed = self.apply(&setting).err().map(|error| format!("{error:#}"));
            let after = json!({
                "fix": setting, "failed": failed, "before": before, "checked": checked,
                "after": self.explained()?, "checked_after": self.checked()?,
            });
            self.print(after);
        }
        self.end()
    }

    /// Prints a line of JSON with the name of the disturbance.
    fn print(&self, mut line: Value) {
        line["disturbance"] = self.one.disturbance.as_str().into();
        println!("{line}");
    }

    /// Starts the disturbance again, by itself or as the command of a line.
    fn begin(&mut self, line: Option<&str>) -> Result<()> {
        self.end()?;
        let command = self.command()?;
        let line = line.map_or(command.clone(), |line| line.replace("COMMAND", &command));
        let mut shell = Command::new("sh");
        self.running = Some(shell.args(["-c", &format!("exec {line}")]).stdout(Stdio::null()).spawn()?);
        std::thread::sleep(SETTLING);
        Ok(())
    }

    /// The command of the disturbance, as it would be typed.
    fn command(&self) -> Result<String> {
        let (cpu, name) = (&self.cpu, &self.one.disturbance);
        if name == COMPUTING {
            return Ok(format!("taskset -c {cpu} sh -c 'while :; do :; done'"));
        }
        let own = std::env::current_exe()?;
        Ok(format!("{} disturb {name} -C {cpu} --ms {FOREVER_MS}", own.display()))
    }

    fn end(&mut self) -> Result<()> {
        let Some(mut child) = self.running.take() else { return Ok(()) };
        ensure!(child.try_wait()?.is_none(), "the disturbance ended by itself");
        // SAFETY: a child of this process that was not reaped. The program that isolates it restores everything.
        unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
        child.wait()?;
        Ok(())
    }

    /// Applies a fix exactly as printed.
    fn apply(&mut self, setting: &str) -> Result<()> {
        let line = KNOWN.iter().fold(setting.to_owned(), |line, (word, known)| line.replace(word, known));
        if line.ends_with(" COMMAND") {
            return self.begin(Some(&line));
        }
        let done = Command::new("sh").args(["-c", &line]).output()?;
        ensure!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        std::thread::sleep(SETTLING);
        Ok(())
    }

    /// The fixes of the given causes that can be typed, each once.
    fn settings(&self, explained: &Value) -> Vec<String> {
        let causes = explained["causes"].as_array().into_iter().flatten();
        let asked = causes.filter(|cause| self.one.causes.iter().any(|id| cause["cause"] == **id));
        let fixes = asked.flat_map(|cause| cause["fixes"].as_array().into_iter().flatten());
        let tried = fixes.filter(|fix| !fix["effect"].as_str().unwrap_or_default().contains(UNTRIED));
        let mut settings = Vec::new();
        for setting in tried.filter_map(|fix| fix["setting"].as_str()) {
            if !setting.starts_with("boot with ") && !settings.iter().any(|known| known == setting) {
                settings.push(setting.to_owned());
            }
        }
        settings
    }

    /// The present explanation.
    fn explained(&self) -> Result<Value> {
        let seconds = (self.one.ms as f64 / 1000.0).to_string();
        let findings =
            product::json(&["explain", "--json", "-o", "-", "-C", &self.cpu, "--", "sleep", &seconds])?;
        let on_cpu = &findings["cpus"][0];
        let cause = |cause: &Value| {
            json!({
                "cause": cause["cause"], "count": cause["count"], "ns": cause["total_ns"],
                "fixes": cause["fixes"], "chain": cause["chains"][0]["steps"],
            })
        };
        let causes: Vec<Value> = on_cpu["causes"].as_array().into_iter().flatten().map(cause).collect();
        Ok(json!({
            "kernel": findings["kernel"], "seconds": findings["seconds"], "lost": findings["lost_events"],
            "interruptions": on_cpu["interruptions"], "causes": causes,
        }))
    }

    /// The present findings of `check`.
    fn checked(&self) -> Result<Value> {
        let report = product::json(&["check", "--json", "--fail-on", "never", "-C", &self.cpu])?;
        let finding = |finding: &Value| json!([finding["rule"], finding["severity"], finding["message"]]);
        Ok(report["findings"].as_array().into_iter().flatten().map(finding).collect())
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        if let Some(child) = &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
