// SPDX-License-Identifier: GPL-2.0-only
//! The common arguments of the verbs that count: the CPUs, the source of the counts, and the fixes of this machine.

use anyhow::{Context, Result, bail};
use dyntick_contract::Adviser;
use dyntick_model::CpuList;
use dyntick_observe::live::Choice;
use dyntick_record::this_machine;

/// Parses the source of the counts.
pub fn source(text: &str) -> Result<Choice, String> {
    match text {
        "auto" => Ok(Choice::Auto),
        "bpf" => Ok(Choice::Bpf),
        "tracefs" => Ok(Choice::Tracefs),
        _ => Err("must be bpf, tracefs or auto".to_owned()),
    }
}

/// Makes an adviser for this machine. Fixes leave out what cannot be read of it, e.g. its CPUs.
pub fn adviser() -> Result<Adviser> {
    if let Ok(machine) = this_machine() {
        return Ok(Adviser::of(machine));
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(Adviser::of_kernel(release.trim().parse()?))
}

/// The CPUs of the user, or all; fails if one of them is not online.
pub fn cpus(named: Option<&CpuList>) -> Result<CpuList> {
    let online: CpuList = std::fs::read_to_string("/sys/devices/system/cpu/online")
        .context("cannot read /sys/devices/system/cpu/online")?
        .parse()?;
    let Some(cpus) = named else { return Ok(online) };
    if cpus.is_empty() {
        bail!("-C names no CPU; online: {online}");
    }
    let missing = cpus.difference(&online);
    if !missing.is_empty() {
        bail!("CPU {missing} is not online; online: {online}");
    }
    Ok(cpus.clone())
}
