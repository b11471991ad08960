// SPDX-License-Identifier: GPL-2.0-only
//! The idle states that a guest has, and who chooses among them.

use crate::guest::Job;
use anyhow::{Context, Result, ensure};
use std::fs;

const FOLDER: &str = "/sys/devices/system/cpu/cpuidle";

/// Puts the governor in force, and refuses to go on with any other driver or governor than those
/// that were asked for.
pub fn prepare(job: &Job) -> Result<()> {
    if let Some(governor) = &job.governor {
        let file = format!("{FOLDER}/current_governor");
        let available = fs::read_to_string(format!("{FOLDER}/available_governors")).unwrap_or_default();
        fs::write(&file, governor).with_context(|| {
            format!("put the idle governor '{governor}' in force; this kernel has: {}", available.trim())
        })?;
        expect("governor", governor)?;
    }
    job.idle_driver.iter().try_for_each(|driver| expect("driver", driver))
}

fn expect(what: &str, wanted: &str) -> Result<()> {
    let file = format!("{FOLDER}/current_{what}");
    let found = fs::read_to_string(&file).with_context(|| format!("read {file}"))?;
    ensure!(found.trim() == wanted, "the idle {what} in force is '{}' and not '{wanted}'", found.trim());
    Ok(())
}
