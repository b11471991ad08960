// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick guest-disturb`: disturbs a CPU in one known way, which `explain` must name.

use crate::output;
use anyhow::{Context, Result};
use clap::Args;
use dyntick_agent::disturb;
use serde_json::{Value, json};
use std::process::{Command, ExitCode};

/// The arguments of `dyntick guest-disturb`.
#[derive(Args)]
pub struct Arguments {
    /// Disturbances to run [default: all]
    names: Vec<String>,
    /// CPU to disturb
    #[arg(short = 'C', long, value_name = "CPU")]
    cpu: u32,
    /// Disturb for MS ms
    #[arg(long, value_name = "MS", default_value_t = 300)]
    ms: u64,
    /// Run `explain` on each and print its first causes, one line of JSON per disturbance
    #[arg(long)]
    explain: bool,
}

/// Runs the disturbances.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    disturb::keep_off(arguments.cpu)?;
    let all = || disturb::names().map(str::to_owned).collect();
    let names = if arguments.names.is_empty() { all() } else { arguments.names.clone() };
    for name in names {
        if arguments.explain {
            output::unnamed_json_line(&explained(&name, arguments))?
        } else {
            disturb::run(&name, arguments.cpu, arguments.ms)?
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The explanation of a disturbance: its causes, and the unattributed rest.
fn explained(name: &str, arguments: &Arguments) -> Value {
    let explanation = || -> Result<Value> {
        let own = std::env::current_exe()?;
        let cpu = arguments.cpu.to_string();
        let mut command = Command::new(&own);
        command.args(["explain", "--json", "-o", "-", "-C", &cpu, "--"]).arg(&own);
        command.args(["guest-disturb", name, "-C", &cpu, "--ms", &arguments.ms.to_string()]);
        let output = command.output()?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let found: Value = serde_json::from_slice(&output.stdout).with_context(|| errors.clone())?;
        let on_cpu = &found["cpus"][0];
        let cause = |cause: &Value| {
            json!({
                "cause": cause["cause"], "count": cause["count"], "ns": cause["total_ns"],
                "chain": cause["chains"][0]["steps"],
            })
        };
        let causes: Vec<Value> = on_cpu["causes"].as_array().into_iter().flatten().map(cause).collect();
        Ok(json!({
            "disturbance": name, "causes": causes, "interruptions": on_cpu["interruptions"],
            "unattributed": on_cpu["unattributed"]["count"], "lost": found["lost_events"], "errors": errors,
        }))
    };
    explanation().unwrap_or_else(|error| json!({ "disturbance": name, "errors": format!("{error:#}") }))
}
