// SPDX-License-Identifier: GPL-2.0-only
//! The idle states that a guest has, and who chooses among them.

use anyhow::{Context, Result, ensure};
use dyntick_guest::Job;
use std::fs;
use std::io::Write;

/// The kernel's file for requests of a latency, us; a request lives as long as the file is open.
pub use dyntick_observe::latency_limit::PATH as LATENCY_REQUEST;

const FOLDER: &str = "/sys/devices/system/cpu/cpuidle";

/// Puts the governor in force, and refuses to go on with any other driver or governor than those
/// that were asked for.
pub fn prepare(job: &Job) -> Result<()> {
    if let Some(governor) = &job.governor {
        let file = format!("{FOLDER}/current_governor");
        let available = fs::read_to_string(format!("{FOLDER}/available_governors")).unwrap_or_default();
        fs::write(&file, governor).with_context(|| {
            format!("set the idle governor '{governor}'; this kernel has: {}", available.trim())
        })?;
        expect("governor", governor)?;
    }
    job.idle_driver.iter().try_for_each(|driver| expect("driver", driver))
}

/// Keeps all CPUs out of deep idle states while this lives. Rewriting kernel code interrupts every CPU and waits
/// for it, hundreds of times, and what a wait for a deep sleeper takes is emulated instruction by instruction.
pub fn keep_shallow(job: &Job) -> Option<fs::File> {
    const LONGEST_US: i32 = 2;
    job.idle_driver.as_ref()?;
    let mut request = fs::File::options().write(true).open(LATENCY_REQUEST).ok()?;
    request.write_all(&LONGEST_US.to_ne_bytes()).ok()?;
    Some(request)
}

fn expect(what: &str, wanted: &str) -> Result<()> {
    let file = format!("{FOLDER}/current_{what}");
    let found = fs::read_to_string(&file).with_context(|| format!("read {file}"))?;
    ensure!(found.trim() == wanted, "the current idle {what} is '{}' and not '{wanted}'", found.trim());
    Ok(())
}
