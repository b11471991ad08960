// SPDX-License-Identifier: GPL-2.0-only
//! The idle states that a guest has, and who chooses among them.

use anyhow::{Context, Result, ensure};
use dyntick_guest::Job;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The kernel's file for requests of a latency, us; a request lives as long as the file is open.
pub use dyntick_observe::latency_limit::PATH as LATENCY_REQUEST;

const CPUS: &str = "/sys/devices/system/cpu";
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

/// A request that keeps all CPUs out of deep idle states while it lives.
pub struct Shallow {
    _request: fs::File,
    /// The files of the states that are disabled otherwise.
    disabled: Vec<PathBuf>,
}

/// Keeps all CPUs out of deep idle states. Rewriting kernel code interrupts every CPU and waits for it, hundreds of
/// times, and what a wait for a deep sleeper takes is emulated instruction by instruction. States that the case
/// disabled are enabled meanwhile: a governor takes the first state that is enabled even if it is above the limit
/// (6.12, `menu_select`).
pub fn keep_shallow(job: &Job) -> Option<Shallow> {
    const LONGEST_US: i32 = 2;
    job.idle_driver.as_ref()?;
    let mut request = fs::File::options().write(true).open(LATENCY_REQUEST).ok()?;
    request.write_all(&LONGEST_US.to_ne_bytes()).ok()?;
    let mut disabled = disabled_states();
    disabled.retain(|file| fs::write(file, "0").is_ok());
    Some(Shallow { _request: request, disabled })
}

impl Drop for Shallow {
    fn drop(&mut self) {
        for file in &self.disabled {
            // It was writable a moment ago.
            let _ = fs::write(file, "1");
        }
    }
}

/// The file `disable` of each disabled state of each CPU.
fn disabled_states() -> Vec<PathBuf> {
    let states = subfolders(CPUS, "cpu").into_iter().flat_map(|cpu| subfolders(cpu.join("cpuidle"), "state"));
    let mut files: Vec<PathBuf> = states.map(|state| state.join("disable")).collect();
    files.retain(|file| fs::read_to_string(file).is_ok_and(|value| value.trim() == "1"));
    files
}

/// The folders in `folder` whose names begin with `name`.
fn subfolders(folder: impl AsRef<Path>, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(name))
        .map(|entry| entry.path())
        .collect()
}

fn expect(what: &str, wanted: &str) -> Result<()> {
    let file = format!("{FOLDER}/current_{what}");
    let found = fs::read_to_string(&file).with_context(|| format!("read {file}"))?;
    ensure!(found.trim() == wanted, "the current idle {what} is '{}' and not '{wanted}'", found.trim());
    Ok(())
}
