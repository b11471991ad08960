// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab profile`: instructions by entry point and by function.

mod tables;

use super::which_runs;
use crate::output::{self, Target};
use anyhow::{Result, bail};
use clap::Args;
use dyntick_contract::Printed;
use dyntick_contract::lab::{Compared, Profile, Profiles, Spans, compared};
use dyntick_kernels::cache::Cache;
use dyntick_lab::seal::Sealer;
use dyntick_lab::{profiles, store};
use dyntick_model::CpuList;
use dyntick_model::text::known_words;
use dyntick_profile::Kind;
use dyntick_report::Document;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `dyntick lab profile`.
#[derive(Args)]
pub struct Arguments {
    /// Folder of a run with `profile = true`, or a study with one or two such runs; two are compared
    #[arg(value_name = "RUN", required = true, num_args = 1..=2)]
    runs: Vec<PathBuf>,
    /// Read the runs of a study from DIR [default: out/STUDY]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Show only spans on these CPUs; give it twice for two runs [default: each run's measured CPUs]
    #[arg(short = 'C', long, visible_alias = "cpus", value_name = "LIST")]
    cpu: Vec<CpuList>,
    /// Show only kinds of spans whose name contains TEXT, with their functions
    #[arg(long, value_name = "TEXT")]
    kind: Option<String>,
    /// Show the functions of every kind
    #[arg(long)]
    functions: bool,
    /// Show the N largest functions of each kind
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

impl Arguments {
    /// The number of functions to show for each kind, if they are requested.
    fn functions(&self) -> Option<usize> {
        (self.functions || self.kind.is_some()).then_some(self.top)
    }
}

/// Prints one profile, or two side by side.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    let spans = |(number, folder): (usize, &PathBuf)| {
        output::step(format_args!("reading the profile of {}", folder.display()));
        let cpus = arguments.cpu.get(number).or(arguments.cpu.first());
        load(folder, cpus, arguments.kind.as_deref().unwrap_or_default())
    };
    let runs = runs(&arguments.runs, arguments.out.as_deref())?;
    let spans: Vec<Spans> = runs.iter().enumerate().map(spans).collect::<Result<_>>()?;
    let blocks = match &spans[..] {
        [one] if arguments.json => return print(&arguments.target, &Profile::of(one)),
        [one] => tables::one_run(one, arguments.functions()),
        [a, b, ..] => {
            let compared = in_common(a, b)?;
            if arguments.json {
                let differences = &compared;
                let profiles = Profiles { a: Profile::of(a), b: Profile::of(b), differences };
                return print(&arguments.target, &profiles);
            }
            tables::two_runs(a, b, &compared, arguments.functions())
        }
        [] => Vec::new(),
    };
    let title = "Instructions by kernel entry point".into();
    let lead = spans.iter().filter_map(of_others).collect();
    let document = Document { title, lead, blocks, ..Document::default() };
    arguments.target.page(&document)?;
    Ok(ExitCode::SUCCESS)
}

/// The runs that have a profile.
const PROFILED: which_runs::Wants =
    which_runs::Wants { is_one: |run| run.plan.case.profile, with: "whose case has `profile = true`" };

/// One run, or two.
fn runs(named: &[PathBuf], out: Option<&Path>) -> Result<Vec<PathBuf>> {
    let mut runs = Vec::new();
    for named in named {
        runs.extend(which_runs::folders(named, out, &PROFILED)?);
    }
    if runs.len() > 2 {
        let all: Vec<String> = runs.iter().map(|run| format!("\n  {}", run.display())).collect();
        bail!("a profile is of one run, or of two that are compared; name them:{}", all.concat());
    }
    Ok(runs)
}

/// Says so where the figures came from elsewhere.
fn of_others(spans: &Spans) -> Option<String> {
    (!spans.made_here).then(|| {
        format!(
            "The run of {} was not made by this user's laboratory: its figures are unverified.",
            spans.name
        )
    })
}

fn print(target: &Target, value: &impl Printed) -> Result<ExitCode> {
    target.json(value)?;
    Ok(ExitCode::SUCCESS)
}

fn load(folder: &Path, cpus: Option<&CpuList>, wanted: &str) -> Result<Spans> {
    let sealer = Cache::of_user_as_it_is().ok().and_then(|cache| Sealer::known(&cache));
    let (profile, made_here) = store::profile_judged(folder, sealer.as_ref())?;
    let profile = profile.ok_or_else(|| profiles::ProfileError::NotRecorded(folder.to_owned()))?;
    if let Some(strange) = cpus.map(|cpus| cpus.difference(&CpuList::first(profile.cpus))) {
        ensure_there(&strange, profile.cpus, folder)?;
    }
    let cpus = cpus.cloned().unwrap_or(profile.measured_cpus);
    ensure_known(wanted, profile.phases.iter().map(|(_, phase)| profiles::kinds_on(phase, &cpus)))?;
    let of_phase = |phase: &dyntick_profile::Phase| {
        let mut kinds = profiles::kinds_on(phase, &cpus);
        kinds.retain(|kind, _| kind.contains(wanted));
        kinds
    };
    Ok(Spans {
        name: profile.case,
        made_here,
        phases: profile.phases.iter().map(|(name, phase)| (*name, of_phase(phase))).collect(),
        instructions: profile.phases.iter().map(|(_, phase)| phase.profile.instructions()).collect(),
        cpus,
    })
}

/// The kinds of spans of both runs; refuses runs that have none in common.
fn in_common(a: &Spans, b: &Spans) -> Result<Vec<Compared>> {
    let compared = compared(a, b);
    if compared.is_empty() {
        bail!("{} and {} have no kind of span in common on CPUs {} and {}", a.name, b.name, a.cpus, b.cpus);
    }
    Ok(compared)
}

/// Refuses CPUs that are none of the guest's.
fn ensure_there(strange: &CpuList, cpus: u32, folder: &Path) -> Result<()> {
    if strange.is_empty() {
        Ok(())
    } else {
        bail!("-C {strange}: the guest of {} had CPUs {}", folder.display(), CpuList::first(cpus))
    }
}

/// Refuses a name that no kind of span has, where there are kinds.
fn ensure_known(wanted: &str, phases: impl Iterator<Item = BTreeMap<String, Kind>>) -> Result<()> {
    let kinds: BTreeSet<String> = phases.flat_map(BTreeMap::into_keys).collect();
    if kinds.is_empty() || kinds.iter().any(|kind| kind.contains(wanted)) {
        return Ok(());
    }
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    bail!(
        "--kind {wanted}: no kind of span has it in its name; there are {}",
        known_words(wanted, &kinds, "without --kind the table")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_the_guest_had_not_is_refused() {
        let message = |strange: &str| ensure_there(&strange.parse().unwrap(), 4, Path::new("out/x/runs/a"));
        assert!(ensure_there(&CpuList::default(), 4, Path::new("a")).is_ok());
        assert_eq!(message("9").unwrap_err().to_string(), "-C 9: the guest of out/x/runs/a had CPUs 0-3");
    }

    #[test]
    fn a_kind_that_is_not_there_is_refused_with_those_that_are() {
        let kinds = |names: &[&str]| -> BTreeMap<String, Kind> {
            names.iter().map(|name| (name.to_string(), Kind::default())).collect()
        };
        let error = ensure_known("nosuch", [kinds(&["getpid", "irq:timer"])].into_iter()).unwrap_err();
        assert!(error.to_string().ends_with("there are getpid, irq:timer"), "{error}");
        ensure_known("timer", [kinds(&[]), kinds(&["irq:timer"])].into_iter()).unwrap();
        ensure_known("x", [kinds(&[])].into_iter()).unwrap();
    }
}
