// SPDX-License-Identifier: GPL-2.0-only
//! Waiting for a guest to come to rest after its boot.

use anyhow::{Context, Result, bail};
use dyntick_guest::{Job, Settled};
use dyntick_model::CpuList;
use dyntick_observe::thread::now_ns;
use dyntick_system::run_on;
use std::collections::BTreeMap;
use std::time::Duration;

/// The period at which the CPUs are checked.
const STEP: Duration = Duration::from_millis(100);

/// A CPU that was busy for at most this number of clock ticks (10 ms, `USER_HZ`) counts as idle:
/// the kernel samples, so a single short interrupt can be charged as a full one.
const TOLERATED_TICKS: u64 = 1;

/// Lets this thread run on these CPUs only.
pub fn pin(cpus: &CpuList) -> Result<()> {
    run_on(None, cpus).with_context(|| format!("run on CPUs {cpus}"))
}

/// Keeps the agent off the measured CPUs.
pub fn keep_off(measured: &CpuList) -> Result<()> {
    let online: CpuList = busy_ticks()?.into_keys().collect();
    let others = online.difference(measured);
    if others.is_empty() {
        bail!("CPUs {measured} are measured and no other CPU is online: give the guest one more");
    }
    pin(&others)
}

/// Waits until every CPU but the agent's own has been idle for the stated time, or to the limit.
pub fn wait(job: &Job) -> Result<Settled> {
    let begin = now_ns();
    let mut quiet_since = BTreeMap::new();
    let mut reference = busy_ticks()?;
    loop {
        std::thread::sleep(STEP);
        let time = now_ns();
        let here = rustix::thread::sched_getcpu() as u32;
        for (cpu, busy) in busy_ticks()? {
            let before = reference.entry(cpu).or_insert(busy);
            if busy > *before + TOLERATED_TICKS {
                (*before, _) = (busy, quiet_since.insert(cpu, time));
            }
        }
        let restless: CpuList = reference
            .keys()
            .copied()
            .filter(|cpu| *cpu != here)
            .filter(|cpu| time - quiet_since.get(cpu).copied().unwrap_or(begin) < job.settle_ns)
            .collect();
        if restless.is_empty() || time - begin >= job.settle_limit_ns {
            return Ok(Settled { waited_ns: time - begin, restless });
        }
    }
}

/// Per CPU, the clock ticks that were neither idle nor waiting for I/O (`/proc/stat`).
fn busy_ticks() -> Result<BTreeMap<u32, u64>> {
    let text = std::fs::read_to_string("/proc/stat").context("read /proc/stat")?;
    let cpu_line = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let cpu = fields.next()?.parse().ok()?;
        let ticks: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
        let busy = [0, 1, 2, 5, 6].iter().filter_map(|column| ticks.get(*column)).sum();
        Some((cpu, busy))
    };
    // "cpu " is the sum over all CPUs; its number is missing.
    Ok(text.lines().filter(|line| !line.starts_with("cpu ")).filter_map(cpu_line).collect())
}
