// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's accounts of idle states and the limits that their selection is subject to, before and after the window.

use super::idle::LATENCY_REQUEST;
use anyhow::{Context, Result};
use dyntick_guest::{Archive, Job, pieces};
use dyntick_model::CpuList;
use dyntick_observe::{cpuidle, latency_limit};
use std::time::Duration;

/// A request that allows every state, and yet another one than the kernel's default of 2,000 s.
const ANY_LATENCY_US: i32 = 1_999_999_999;

/// Lets every CPU end the sleep that it began before recording did, of which the trace does not know the state,
/// and reads the accounts.
pub fn before(job: &Job, archive: &mut Archive, notes: &mut Vec<String>) -> Result<()> {
    if !has_states(job) {
        return Ok(());
    }
    // A changed request wakes all idle CPUs (kernel/power/qos.c: cpu_latency_qos_apply); so does its end.
    if let Err(error) = std::fs::write(LATENCY_REQUEST, ANY_LATENCY_US.to_ne_bytes()) {
        notes.push(format!(
            "{LATENCY_REQUEST}: {error}; the first sleep of each CPU is counted by the kernel only"
        ));
    }
    std::thread::sleep(Duration::from_millis(1));
    read(pieces::IDLE_BEFORE, archive)
}

/// Reads the accounts again.
pub fn after(job: &Job, archive: &mut Archive) -> Result<()> {
    if has_states(job) { read(pieces::IDLE_AFTER, archive) } else { Ok(()) }
}

/// Reads the latency limits, while nothing is recorded: who holds one is found in all of /proc.
pub fn limits(job: &Job, piece: &str, archive: &mut Archive, notes: &mut Vec<String>) -> Result<()> {
    if !has_states(job) {
        return Ok(());
    }
    match latency_limit::read(&cpus()?) {
        Ok(limits) => archive.insert(piece, serde_json::to_vec(&limits)?),
        Err(error) => notes.push(format!("{LATENCY_REQUEST}: {error}; the latency limit is not known")),
    }
    Ok(())
}

fn has_states(job: &Job) -> bool {
    job.idle_driver.is_some()
}

fn read(piece: &str, archive: &mut Archive) -> Result<()> {
    let accounts = cpuidle::read(&cpus()?);
    archive.insert(piece, serde_json::to_vec(&accounts)?);
    Ok(())
}

/// All that are online, the first ones.
fn cpus() -> Result<CpuList> {
    let count = std::fs::read_to_string("/proc/stat").context("read /proc/stat")?;
    let cpus = count.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    Ok(CpuList::first(cpus as u32))
}
