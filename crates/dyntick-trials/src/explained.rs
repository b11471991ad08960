// SPDX-License-Identifier: GPL-2.0-only
//! The words of `dyntick explain` on disturbances, of which it must name each.

use crate::disturb::{self, Arguments};
use crate::product;
use anyhow::Result;
use serde_json::{Value, json};

/// Explains each disturbance, as the command that is recorded.
pub fn run(arguments: &Arguments) -> Result<()> {
    disturb::keep_off(arguments.cpu)?;
    for name in arguments.names() {
        let line = explained(&name, arguments)
            .unwrap_or_else(|error| json!({ "disturbance": name, "errors": format!("{error:#}") }));
        println!("{line}");
    }
    Ok(())
}

/// The causes of a disturbance, and the unattributed rest.
fn explained(name: &str, arguments: &Arguments) -> Result<Value> {
    let own = std::env::current_exe()?.display().to_string();
    let (cpu, ms) = (arguments.cpu.to_string(), arguments.ms.to_string());
    let disturbance = [own.as_str(), "disturb", name, "-C", &cpu, "--ms", &ms];
    let found =
        product::json(&[&["explain", "--json", "-o", "-", "-C", &cpu, "--"], &disturbance[..]].concat())?;
    Ok(in_short(name, &found))
}

/// Explains each trace.
pub fn run_files(cpu: u32, files: &[String]) -> Result<()> {
    for file in files {
        let found = product::json(&["explain", "--json", "-C", &cpu.to_string(), file]);
        let line = found.map_or_else(
            |error| json!({ "disturbance": file, "errors": format!("{error:#}") }),
            |found| in_short(file, &found),
        );
        println!("{line}");
    }
    Ok(())
}

/// The causes on the first CPU, and the unattributed rest.
fn in_short(name: &str, found: &Value) -> Value {
    let on_cpu = &found["cpus"][0];
    let cause = |cause: &Value| {
        json!({
            "cause": cause["cause"], "count": cause["count"], "ns": cause["total_ns"],
            "chain": cause["chains"][0]["steps"],
        })
    };
    let causes: Vec<Value> = on_cpu["causes"].as_array().into_iter().flatten().map(cause).collect();
    json!({
        "disturbance": name, "causes": causes, "interruptions": on_cpu["interruptions"],
        "unattributed": on_cpu["unattributed"]["count"], "lost": found["lost_events"],
        "events": found["source"]["events"], "limits": found["source"]["limits"],
    })
}
