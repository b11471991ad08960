// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab run`: a study from its file to its report.

use super::changes::Changes;
use super::fail_on::open;
use super::outcome::{Outcome, Wanted};
use super::status::{ABORT, Statuses};
use super::{kept, own_binary, refused, stopped};
use crate::output;
use crate::progress::Display;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use dyntick_kernels::cache::Cache;
use dyntick_lab::lab::{CaseResult, Fault, Lab, tools};
use dyntick_model::Clock;
use dyntick_study::{Case, Size, Study, check};
use std::fs::{Metadata, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The folder of all results that are given no name.
const DEFAULT_OUT: &str = "out";

/// What may be said to `lab run`.
#[derive(Args)]
pub struct Arguments {
    /// Study: a name of `dyntick lab studies`, or a file
    study: PathBuf,
    /// Run only cases of this name or id; may be given several times
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// Run each case at the size of the published experiment, if the study has one
    #[arg(long)]
    full_size: bool,
    /// Run on this clock instead of the study's
    #[arg(long, value_enum)]
    clock: Option<ClockArgument>,
    /// Run each case N times (wall clock only)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: Option<u32>,
    /// Run each case N more times with an irrelevant change each time (virtual clock only)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(Case::MOST_PERTURBED)))]
    perturb: Option<u32>,
    /// Run N guests at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Write runs and report to DIR [default: out/STUDY]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    statuses: Statuses,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    wanted: Wanted,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ClockArgument {
    Virtual,
    Wall,
}

/// Runs the study.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    match run_study(&arguments) {
        Err(error) if arguments.statuses.bisect() && !output::reader_left(&error) => {
            crate::tell(&error);
            Ok(ExitCode::from(ABORT))
        }
        ended => ended,
    }
}

fn run_study(arguments: &Arguments) -> Result<ExitCode> {
    arguments.wanted.ensure_possible()?;
    let size = if arguments.full_size { Size::Full } else { Size::Scaled };
    let mut study = arguments.changes.study(&arguments.study, size)?;
    study.cases = chosen(&study, arguments)?;
    arguments.statuses.ensure_possible(&study)?;
    ensure_few(&study.cases)?;
    note_spelling(&study.cases);
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_OUT).join(&study.name));
    tools::ensure(&study.cases)?;
    ensure_unmoved(arguments.out.as_deref(), &out)?;
    stopped::say_what_is_kept(&out.join("runs"))?;
    let display = Display::new();
    let watch = |progress| display.show(progress);
    let lab = Lab::open(Cache::of_user()?, own_binary()?, &watch)?;
    // Before anything is written: a report of nothing would take the place of an earlier one.
    lab.ensure_kernels(&study.cases)?;
    let runs = place_of_runs(arguments.out.as_deref(), &out)?;
    let results = lab.run_all(&study.cases, &runs, arguments.jobs.into());
    if is_refused(&results) {
        refused::say_where(&arguments.study, &results);
        output::note("nothing was measured, and no report was written");
        return Ok(ExitCode::from(arguments.statuses.of(&results, &[])));
    }
    let outcome = Outcome::of(&study, &results);
    // What was measured is printed also where it cannot be kept.
    let is_whole = arguments.cases.is_empty() && results.iter().all(|result| result.run.is_ok());
    let kept = kept::keep(&outcome.document, &out, is_whole);
    outcome.print(&arguments.wanted)?;
    refused::say_where(&arguments.study, &results);
    let kept = kept?;
    if arguments.wanted.is_for_a_terminal() {
        output::line(format_args!("\nReport: {kept}"))?;
    }
    let open = open(&study, &results, outcome.verdicts());
    Ok(ExitCode::from(arguments.statuses.of(&results, &open)))
}

/// Whether there is nothing to report: no case has a run, and for none that is a result. Why was told as each ended.
fn is_refused(results: &[CaseResult]) -> bool {
    let refused = |result: &CaseResult| result.run.as_ref().is_err_and(|error| error.fault() != Fault::Guest);
    results.iter().all(refused)
}

/// Says which parameters look misspelt where the kernel may be patched. Those of other kernels were refused when the
/// study was read.
fn note_spelling(cases: &[Case]) {
    for case in cases.iter().filter(|case| check::may_be_patched(case)) {
        for problem in check::misspelt(case) {
            output::note(format_args!("case '{}': {problem}", case.id));
        }
    }
}

/// The folder for the runs, made now: what somebody else has made there by then is refused, and what is this
/// user's nobody else can move. Nobody else may enter it: what a study names, and what its kernels print, is
/// in its runs.
fn place_of_runs(typed: Option<&Path>, out: &Path) -> Result<PathBuf> {
    let runs = out.join("runs");
    // Before, so that no folder is made through a link.
    ensure_unmoved(typed, out)?;
    std::fs::create_dir_all(&runs).with_context(|| format!("cannot make {}", runs.display()))?;
    ensure_unmoved(typed, out)?;
    shut(&runs).with_context(|| format!("cannot close {} to other users", runs.display()))?;
    Ok(runs)
}

fn shut(folder: &Path) -> std::io::Result<()> {
    match folder.metadata()?.mode() & 0o077 {
        0 => Ok(()),
        _ => std::fs::set_permissions(folder, Permissions::from_mode(0o700)),
    }
}

/// Refuses places from which somebody else could lead what is written to another file, now or while the guests
/// run: symbolic links in the names that nobody typed, for a study may come in a folder that has an `out` of
/// its own, and folders of other users.
fn ensure_unmoved(typed: Option<&Path>, out: &Path) -> Result<()> {
    let runs = out.join("runs");
    let mut own = vec![out, &runs];
    if typed.is_none() {
        own.push(Path::new(DEFAULT_OUT));
    }
    for folder in own {
        let Ok(found) = folder.symlink_metadata() else { continue };
        match found.is_symlink() {
            // Who typed a name may mean a link; where it leads is judged.
            true if Some(folder) == typed => {
                ensure_trusted(folder, &found)?;
                if let Ok(target) = folder.canonicalize() {
                    ensure_nobody_elses(&target, &target.symlink_metadata()?)?;
                }
            }
            true => bail!(
                "{} is a symbolic link, and runs are not written through one: name a folder with --out",
                folder.display()
            ),
            false => ensure_nobody_elses(folder, &found)?,
        }
    }
    if typed.is_some() {
        return Ok(());
    }
    let whole = std::path::absolute(out).with_context(|| format!("cannot find {}", out.display()))?;
    for folder in whole.ancestors() {
        if let Ok(found) = folder.symlink_metadata() {
            ensure_nobody_elses(folder, &found)?;
        }
    }
    Ok(())
}

fn ensure_nobody_elses(folder: &Path, found: &Metadata) -> Result<()> {
    const STICKY: u32 = 0o1000;
    ensure_trusted(folder, found)?;
    match dyntick_system::others_may_write(folder, found) && found.mode() & STICKY == 0 {
        true => Err(moved(folder, "may be written by other users")),
        false => Ok(()),
    }
}

fn ensure_trusted(path: &Path, found: &Metadata) -> Result<()> {
    let who_called_sudo = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    match dyntick_system::is_trusted(found.uid()) || who_called_sudo == Some(found.uid()) {
        true => Ok(()),
        false => Err(moved(path, "belongs to another user")),
    }
}

fn moved(path: &Path, why: &str) -> anyhow::Error {
    anyhow!(
        "{} {why}, who could move what is written while the guests run: name a folder of your own with --out",
        path.display()
    )
}

/// What became of each run is held until the report is made.
fn ensure_few(cases: &[Case]) -> Result<()> {
    const MOST_RUNS: u64 = 10_000;
    let runs: u64 = cases.iter().map(|case| u64::from(case.runs())).sum();
    if runs > MOST_RUNS {
        bail!(
            "these are {runs} runs, and at most {MOST_RUNS} are possible at once: name fewer cases (--case), or repeat \
             them less (--repeat)"
        );
    }
    Ok(())
}

fn chosen(study: &Study, arguments: &Arguments) -> Result<Vec<Case>> {
    let wanted = |case: &Case| arguments.cases.iter().any(|name| *name == case.name || *name == case.id);
    let all = arguments.cases.is_empty();
    let mut cases: Vec<Case> = study.cases.iter().filter(|case| all || wanted(case)).cloned().collect();
    for name in &arguments.cases {
        if !study.cases.iter().any(|case| *name == case.name || *name == case.id) {
            let ids: Vec<&str> = study.cases.iter().map(|case| case.id.as_str()).collect();
            bail!("the study has no case '{name}'; it has {}", ids.join(", "));
        }
    }
    for case in &mut cases {
        match arguments.clock {
            Some(ClockArgument::Virtual) => case.clock = Clock::Virtual,
            Some(ClockArgument::Wall) => case.clock = Clock::Wall,
            None => {}
        }
        if case.profile && case.clock != Clock::Virtual {
            bail!("{}: a profile counts instructions on the virtual clock only; omit --clock wall", case.id);
        }
        case.repeat = arguments.repeat.unwrap_or(case.repeat);
        if case.repeat > 1 && case.clock == Clock::Virtual {
            bail!(
                "--repeat {}: virtual time repeats to the bit; repeat on the wall clock (--clock wall)",
                case.repeat
            );
        }
        case.perturb = arguments.perturb.unwrap_or(case.perturb);
        if case.perturb > 0 && case.clock != Clock::Virtual {
            bail!(
                "{}: --perturb is for virtual time; on the wall clock runs differ by themselves: --perturb 0, and --repeat",
                case.id
            );
        }
    }
    Ok(cases)
}
