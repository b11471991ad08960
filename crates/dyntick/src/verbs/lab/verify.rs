// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab verify`: the same run again, compared byte for byte.

use super::own_binary;
use crate::progress::Display;
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_lab::cache::Cache;
use dyntick_lab::lab::Lab;
use dyntick_lab::store::{self, Asked};
use dyntick_model::Clock;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What may be said to `lab verify`.
#[derive(Args)]
pub struct Arguments {
    /// Folder of a run, as out/STUDY/runs/CASE…
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
}

/// Verifies each run; the status is 1 where one differs.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let display = Display::new();
    let watch = |progress| display.show(progress);
    let lab = Lab::open(Cache::of_user()?, own_binary()?, &watch)?;
    let mut same = true;
    for folder in &arguments.runs {
        same &= verify(&lab, folder)?;
    }
    Ok(ExitCode::from(u8::from(!same)))
}

fn verify(lab: &Lab, folder: &Path) -> Result<bool> {
    let first = store::load(folder).with_context(|| format!("{} is not a whole run", folder.display()))?;
    let case = &first.asked.case;
    if case.clock != Clock::Virtual {
        bail!(
            "{} was run on the wall clock, which never repeats itself; only virtual time can be verified",
            case.id
        );
    }
    let prepared = lab.prepare(case, first.asked.repetition)?;
    for difference in differences(&first.asked, &prepared.asked) {
        println!("{}: {difference}: another answer may be right", case.id);
    }
    let again = tempfile::tempdir().context("make a folder for the second run")?;
    let second = lab.run(&prepared, again.path()).map_err(|(error, _)| error)?;
    let (old, new) = (store::comparable_files(folder)?, store::comparable_files(&second.folder)?);
    let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
    let changed: Vec<&String> = names.filter(|name| old.get(*name) != new.get(*name)).collect();
    let bytes: usize = old.values().map(Vec::len).sum();
    match changed.is_empty() {
        true => println!("{}: identical, {} files, {bytes} bytes", case.id, old.len()),
        false => println!("{}: DIFFERENT in {changed:?}", case.id),
    }
    Ok(changed.is_empty())
}

/// What was not the same before either ran.
fn differences(first: &Asked, second: &Asked) -> Vec<String> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, first: &str, second: &str| {
        if first != second {
            differences.push(format!("the {what} was {first} and is now {second}"));
        }
    };
    compare("QEMU", &first.qemu, &second.qemu);
    compare("kernel", &first.kernel_source, &second.kernel_source);
    compare("guest image (this program or a tool)", &first.image_sha256, &second.image_sha256);
    compare("command line", &first.command_line.to_string(), &second.command_line.to_string());
    differences
}
