// SPDX-License-Identifier: GPL-2.0-only
//! Disturbances by what looks at the CPU again and again.

use super::Disturbance;
use super::stage::{Stage, write};
use anyhow::{Context, Result};
use dyntick_agent::spin_block;
use std::os::unix::fs::FileExt;
use std::time::Duration;

pub(super) const ALL: &[Disturbance] = &[
    ("watchdog", watchdog),
    ("machine-check", machine_check),
    ("read-registers", read_registers),
    ("read-perf", read_perf),
    ("vmstat", vmstat),
];

/// The factor of the window for events that happen once a second.
const SECONDS: u32 = 25;

/// The soft-lockup watchdog, set to watch this CPU too, and as often as it can.
fn watchdog(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    write("/proc/sys/kernel/watchdog_cpumask", &stage.cpu.to_string())?;
    write("/proc/sys/kernel/watchdog_thresh", "1")?;
    write("/proc/sys/kernel/soft_watchdog", "1")?;
    stage.wait_times(SECONDS);
    write("/proc/sys/kernel/soft_watchdog", "0")
}

/// Corrected hardware errors are polled for, each second: a timer on each CPU.
fn machine_check(stage: &Stage) -> Result<()> {
    const INTERVAL: &str = "/sys/devices/system/machinecheck/machinecheck0/check_interval";
    let _victim = stage.victim()?;
    write(INTERVAL, "1")?;
    stage.wait_times(SECONDS);
    write(INTERVAL, "300")
}

/// A register of the CPU is read from elsewhere, as monitors do. Needs the module msr.
fn read_registers(stage: &Stage) -> Result<()> {
    const TIME_STAMP_COUNTER: u64 = 0x10;
    let _victim = stage.victim()?;
    let path = format!("/dev/cpu/{}/msr", stage.cpu);
    let file = std::fs::File::open(&path).with_context(|| format!("open {path}: load the module msr"))?;
    stage.repeat(Duration::from_millis(2), || Ok(file.read_exact_at(&mut [0; 8], TIME_STAMP_COUNTER)?))
}

/// A counter of the CPU is read from elsewhere, as `perf stat -a -I` does.
fn read_perf(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let event = super::timers::PerfEvent::counting(stage.cpu)?;
    stage.repeat(Duration::from_millis(2), || event.read().map(drop))
}

/// Memory statistics are folded each second, as always, while the task on the CPU changes them.
fn vmstat(stage: &Stage) -> Result<()> {
    let _victim = stage.task("victim", |over| {
        while !over.load(std::sync::atomic::Ordering::Relaxed) {
            // A page of the kernel comes and goes; no page of the task, which would be a fault.
            if let Ok((_out, pipe)) = rustix::pipe::pipe() {
                let _ = rustix::io::write(&pipe, b"x");
            }
            (0..20_000).for_each(|_| spin_block());
        }
    })?;
    write("/proc/sys/vm/stat_interval", "1")?;
    stage.wait_times(SECONDS);
    Ok(())
}
