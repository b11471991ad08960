// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab doctor`: what this machine can run.

use super::own_binary;
use crate::output;
use anyhow::Result;
use clap::Args;
use dyntick_contract::lab::Doctor;
use dyntick_kernels::cache::Cache;
use dyntick_lab::doctor::{Check, State, fetch, look};
use dyntick_lab::lab::{Lab, Progress, kvm_as_learnt};
use dyntick_lab::qemu::probe::KvmProbe;
use dyntick_report::{Block, Column, Document, Table, row};
use std::process::ExitCode;

/// The arguments of `dyntick lab doctor`.
#[derive(Args)]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Fetch what a first study would fetch, and boot a guest to test whether KVM works
    #[arg(long)]
    fetch: bool,
    /// Do not boot that guest
    #[arg(long, requires = "fetch")]
    no_boot: bool,
}

/// Examines the machine; the status is 1 where no study could run.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let (cache, mut checks) = if arguments.fetch {
        let cache = Cache::of_user()?;
        let checks = fetch(&cache, &|text| output::step(text));
        (cache, checks)
    } else {
        let cache = Cache::of_user_as_it_is()?;
        let checks = look(&cache);
        (cache, checks)
    };
    let can_run = checks.iter().all(|check| check.state != State::Missing);
    if arguments.fetch && can_run && !arguments.no_boot {
        checks.push(kvm(cache))
    } else if arguments.fetch {
    } else {
        checks.push(kvm_known(&cache))
    }
    if arguments.json {
        output::json(&Doctor { checks: &checks })?;
    } else {
        output::page(&document(&checks))?;
    }
    Ok(ExitCode::from(u8::from(!can_run)))
}

/// The loss without KVM.
const EMULATED: &str = "the wall clock then runs emulated, and virtual time needs no KVM";

/// The check that there is a KVM, and that a guest ran on it when it was tested last.
fn kvm_known(cache: &Cache) -> Check {
    if let Err(error) = std::fs::File::options().read(true).write(true).open("/dev/kvm") {
        let detail = format!("/dev/kvm: {error}");
        return Check {
            what: "KVM".to_owned(),
            state: State::Limited,
            detail,
            fix: Some(EMULATED.to_owned()),
        };
    }
    kvm_as_learnt(cache).map_or_else(untested, of_probe)
}

fn untested() -> Check {
    Check {
        what: "KVM".to_owned(),
        state: State::Limited,
        detail: "/dev/kvm can be opened; whether a guest runs on it was not tested".to_owned(),
        fix: Some("`dyntick lab doctor --fetch` boots a guest on it".to_owned()),
    }
}

fn of_probe(probe: KvmProbe) -> Check {
    let fix = probe.fix.map_or_else(|| EMULATED.to_owned(), |fix| format!("{fix}; {EMULATED}"));
    Check {
        what: "KVM".to_owned(),
        state: if probe.works { State::Ok } else { State::Limited },
        // QEMU says some things in several lines.
        detail: probe.detail.split_whitespace().collect::<Vec<_>>().join(" "),
        fix: (!probe.works).then_some(fix),
    }
}

fn kvm(cache: Cache) -> Check {
    // Without Debian's kernels none is at hand, and all that was examined is reported nevertheless.
    let untried = |error: anyhow::Error| KvmProbe::fails(format!("could not be tested: {error:#}"), None);
    of_probe(probed(cache).unwrap_or_else(untried))
}

fn probed(cache: Cache) -> Result<KvmProbe> {
    let watch = |progress| {
        if let Progress::Preparing(text) = progress {
            output::step(text);
        }
    };
    Ok(Lab::open(cache, own_binary()?, &watch)?.probe_kvm()?)
}

fn document(checks: &[Check]) -> Document {
    let state = |check: &Check| match check.state {
        State::Ok => "ok",
        State::Limited => "limited",
        State::Missing => "MISSING",
    };
    let row = |check: &Check| row![state(check), check.what.as_str(), check.detail.as_str()];
    let columns = vec![Column::text("state"), Column::text("what"), Column::text("found")];
    let table = Table { columns, rows: checks.iter().map(row).collect(), ..Table::default() };
    let fixes: Vec<(String, String)> =
        checks.iter().filter_map(|check| Some((check.what.clone(), check.fix.clone()?))).collect();
    let mut blocks = vec![Block::Table(table)];
    if !fixes.is_empty() {
        blocks.extend([Block::Heading("Fixes".into()), Block::Pairs(fixes)]);
    }
    Document { title: "What this machine can run".into(), blocks, ..Document::default() }
}
