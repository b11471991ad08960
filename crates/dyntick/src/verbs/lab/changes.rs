// SPDX-License-Identifier: GPL-2.0-only
//! The changes of `lab run` and `lab report` to the cases of a study: --kernel, --append and --set.

use crate::output;
use anyhow::{Context, Result, bail};
use dyntick_study::{Given, Size, Study, shipped};
use std::path::Path;

/// The options that change cases.
#[derive(clap::Args)]
pub struct Changes {
    /// Run each case on this kernel instead: as in a study, or the path of a bzImage; given twice, on both, which the
    /// report sets side by side
    #[arg(long = "kernel", value_name = "SPEC")]
    kernels: Vec<String>,
    /// Add TEXT to the kernel command line of each case; given twice, run each case with either
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    append: Vec<String>,
    /// Set a key of each case, as cpus=4 or sysctl.vm.stat_interval=60; the same key twice, run each case with either
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Changes {
    /// The settings of these options.
    ///
    /// # Errors
    /// A `--set` that is not `KEY=VALUE`.
    pub fn given(&self) -> Result<Given> {
        let mut given = Given::default();
        for typed in &self.kernels {
            given.kernel(typed, &place(typed)?);
        }
        for text in &self.append {
            given.text(&format!("--append '{text}'"), "append", text);
        }
        for text in &self.set {
            given.set(text)?;
        }
        Ok(given)
    }
}

/// Reads a study with these settings. Notes the number of claims that are not judged because of them.
pub fn study(name: &Path, size: Size, given: &Given) -> Result<Study> {
    if let Some(option) = given.repeated() {
        bail!("{option}: given twice, which would run each case twice; give it once");
    }
    let (mut study, left_out) = shipped::find_given(name, size, given)?;
    if size == Size::Full && shipped::find_given(name, Size::Scaled, given)?.0.cases == study.cases {
        bail!("--full-size: no case of {} has a full size ([case.full-size])", name.display());
    }
    if left_out > 0 {
        output::note(format_args!(
            "claims that are not judged: {left_out}, which name a variant that --kernel or --set replaces"
        ));
    }
    study.keep_named(given)?;
    Ok(study)
}

/// An absolute path, since paths in a study are relative to it; a name is unchanged.
fn place(typed: &str) -> Result<String> {
    let path = Path::new(typed);
    if !typed.contains('/') && !path.is_file() {
        return Ok(typed.to_owned());
    }
    let absolute = std::path::absolute(path).with_context(|| format!("--kernel {typed}"))?;
    Ok(absolute.to_string_lossy().into_owned())
}
