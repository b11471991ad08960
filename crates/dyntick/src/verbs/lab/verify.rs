// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab verify`: the same run again, compared byte for byte.

use super::{in_words, own_binary, which_runs};
use crate::output;
use crate::progress::Display;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_kernels::cache::Cache;
use dyntick_lab::lab::Lab;
use dyntick_lab::plan::Plan;
use dyntick_lab::store;
use dyntick_model::Clock;
use dyntick_model::text::clean_line;
use dyntick_study::Case;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `dyntick lab verify`.
#[derive(Args)]
pub struct Arguments {
    /// Folder of a run, as out/STUDY/runs/CASE…, or a study, of which all runs in virtual time are verified
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Read the runs of a study from DIR [default: out/STUDY]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The runs that repeat to the bit.
const VIRTUAL: which_runs::Wants =
    which_runs::Wants { is_one: |run| run.plan.case.clock == Clock::Virtual, with: "in virtual time" };

/// Verifies each run; the status is 1 where one differs.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let display = Display::new();
    let watch = |progress| display.show(progress);
    let lab = Lab::open(Cache::of_user()?, own_binary()?, &watch)?;
    let mut same = true;
    for named in &arguments.runs {
        for folder in which_runs::folders(named, arguments.out.as_deref(), &VIRTUAL)? {
            same &= verify(&lab, &folder)?;
        }
    }
    Ok(ExitCode::from(u8::from(!same)))
}

fn verify(lab: &Lab, folder: &Path) -> Result<bool> {
    let first = store::load(folder)?;
    let case = &first.plan.case;
    if case.clock != Clock::Virtual {
        bail!(
            "{} was run on the wall clock, which never repeats itself; only virtual time can be verified",
            case.id
        );
    }
    let mut prepared = lab.prepare(&as_it_was(&first.plan), first.plan.repetition)?;
    prepared.plan.case = case.clone();
    for difference in differences(&first.plan, &prepared.plan) {
        let difference = clean_line(&difference);
        output::line(format_args!("{}: {difference}; the observations may differ because of this", case.id))?;
    }
    let again = lab.scratch()?;
    let second = lab.run(&prepared, again.path()).map_err(in_words)?;
    let (old, new) = (store::comparable_files(folder)?, store::comparable_files(&second.folder)?);
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    let changed: Vec<&String> = names.filter(|name| old.get(*name) != new.get(*name)).collect();
    let bytes: u64 = old.values().map(|contents| contents.bytes).sum();
    if changed.is_empty() {
        output::line(format_args!("{}: identical, {} files, {bytes} bytes", case.id, old.len()))?
    } else {
        output::line(format_args!("{}: DIFFERENT in {changed:?}", case.id))?
    }
    Ok(changed.is_empty())
}

/// The case with the very kernel that it ran on, for a series may have a newer one by now.
fn as_it_was(plan: &Plan) -> Case {
    let mut case = plan.case.clone();
    if case.kernel.starts_with("debian:") {
        case.kernel = format!("debian:{}", plan.release);
    }
    case
}

/// The differences between the plans of two runs.
fn differences(first: &Plan, second: &Plan) -> Vec<String> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, first: &str, second: &str| {
        if first != second {
            differences.push(format!("the {what} was {first} and is now {second}"));
        }
    };
    compare("QEMU", &first.qemu, &second.qemu);
    let kernel = |plan: &Plan| format!("{} (SHA-256 {:.12})", plan.kernel_source, plan.kernel_sha256);
    compare("kernel", &kernel(first), &kernel(second));
    let of_program = |plan: &Plan| plan.program_sha256.as_ref().map(|hash| format!("SHA-256 {hash:.12}"));
    let program = |plan: &Plan| of_program(plan).unwrap_or_else(|| "not recorded".to_owned());
    compare("dyntick program", &program(first), &program(second));
    if first.program_sha256 == second.program_sha256 {
        compare("guest image (a tool or a module)", &first.image_sha256, &second.image_sha256);
    }
    let of_change = |plan: &Plan| match plan.perturbation {
        Some(change) => format!("{} bytes of padding and {} ns later", change.padding, change.shift_ns),
        None => "none".to_owned(),
    };
    compare("perturbation", &of_change(first), &of_change(second));
    compare("command line", &first.command_line.to_string(), &second.command_line.to_string());
    differences
}
