// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab run`: a study from its file to its report.

use super::changes::Changes;
use super::outcome::{Outcome, Wanted};
use super::place::Place;
use super::rulings::Ran;
use super::status::{ABORT, Statuses};
use super::{kept, own_binary, refused, stopped};
use crate::output;
use crate::progress::Display;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_kernels::cache::Cache;
use dyntick_lab::lab::{CaseResult, Fault, Lab, tools};
use dyntick_model::Clock;
use dyntick_study::{Case, Size, Study, check};
use std::path::PathBuf;
use std::process::ExitCode;

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
    for (name, recipe) in &study.kernels {
        recipe
            .private_source()
            .into_iter()
            .for_each(|told| output::note(format_args!("the kernel {name} is {told}")));
    }
    let out = Place::of(arguments.out.as_deref(), &study.name);
    tools::ensure(&study.cases)?;
    out.ensure_usable()?;
    stopped::say_what_is_kept(&out.runs())?;
    let display = Display::new();
    let watch = |progress| display.show(progress);
    let lab = Lab::open(Cache::of_user()?, own_binary()?, &watch)?;
    // Before anything is written: a report of nothing would take the place of an earlier one.
    lab.ensure_kernels(&study.cases)?;
    lab.ensure_memory(&study.cases)?;
    let runs = out.make_runs()?;
    let results = lab.run_all(&study.cases, &runs, arguments.jobs.into());
    if is_refused(&results) {
        refused::say_where(&arguments.study, &results);
        output::note("nothing was measured, and no report was written");
        return Ok(ExitCode::from(arguments.statuses.of(&results, &[])));
    }
    let outcome = Outcome::of(&study, &results);
    // What was measured is printed also where it cannot be kept.
    let is_whole = arguments.cases.is_empty() && results.iter().all(|result| result.run.is_ok());
    let kept = kept::keep(&outcome.document, out.folder(), is_whole);
    outcome.print(&arguments.wanted)?;
    refused::say_where(&arguments.study, &results);
    let kept = kept?;
    if arguments.wanted.is_for_a_terminal() {
        output::line(format_args!("\nReport: {kept}"))?;
    }
    let open = Ran::of(&study, &results).open(outcome.verdicts());
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
