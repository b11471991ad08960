// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab doctor`: what this machine can run.

use super::own_binary;
use crate::json;
use crate::output;
use anyhow::Result;
use clap::Args;
use dyntick_kernels::cache::Cache;
use dyntick_lab::doctor::{Check, State, examine};
use dyntick_lab::lab::{Lab, Progress};
use dyntick_lab::qemu::probe::KvmProbe;
use std::process::ExitCode;

/// What may be said to `lab doctor`.
#[derive(Args)]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Do not boot a guest to test whether KVM works
    #[arg(long)]
    no_boot: bool,
}

/// Examines the machine; the status is 1 where no study could run.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let say = |text: &str| output::step(text);
    let cache = Cache::of_user()?;
    let mut checks = examine(&cache, &say);
    let can_run = checks.iter().all(|check| check.state != State::Missing);
    if can_run && !arguments.no_boot {
        checks.push(kvm(cache));
    }
    if arguments.json {
        output::json(&json::LAB_DOCTOR.of(&serde_json::json!({ "checks": checks })))?;
    } else {
        checks.iter().try_for_each(print)?;
    }
    Ok(ExitCode::from(u8::from(!can_run)))
}

fn kvm(cache: Cache) -> Check {
    // Without Debian's kernels none is at hand, and all that was examined is told nevertheless.
    let untried = |error: anyhow::Error| KvmProbe::fails(format!("could not be tested: {error:#}"), None);
    let probe = probed(cache).unwrap_or_else(untried);
    let emulated = "the wall clock then runs emulated, and virtual time needs no KVM";
    let fix = probe.fix.map_or_else(|| emulated.to_owned(), |fix| format!("{fix}; {emulated}"));
    Check {
        what: "KVM".to_owned(),
        state: if probe.works { State::Ok } else { State::Limited },
        detail: probe.detail,
        fix: (!probe.works).then_some(fix),
    }
}

fn probed(cache: Cache) -> Result<KvmProbe> {
    let watch = |progress| {
        if let Progress::Preparing(text) = progress {
            output::step(text);
        }
    };
    Ok(Lab::open(cache, own_binary()?, &watch)?.probe_kvm()?)
}

fn print(check: &Check) -> Result<()> {
    let sign = match check.state {
        State::Ok => "ok     ",
        State::Limited => "limited",
        State::Missing => "MISSING",
    };
    output::line(format_args!("{sign}  {:<22} {}", check.what, check.detail))?;
    if let Some(fix) = &check.fix {
        output::line(format_args!("{:>32} → {fix}", ""))?;
    }
    Ok(())
}
