// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab run`: a study from its file to its report.

use super::own_binary;
use crate::progress::Display;
use anyhow::{Result, bail};
use clap::Args;
use dyntick_lab::cache::Cache;
use dyntick_lab::lab::{Lab, RunFigures};
use dyntick_lab::study::{Case, Study, claims};
use dyntick_model::Clock;
use std::path::PathBuf;
use std::process::ExitCode;

/// What may be said to `lab run`.
#[derive(Args)]
pub struct Arguments {
    /// Study file
    study: PathBuf,
    /// Only the cases of this name or id; may be given several times
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// Run on this clock instead of the study's
    #[arg(long, value_enum)]
    clock: Option<ClockArgument>,
    /// Run each case so often (wall clock only)
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    /// Run so many guests at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Folder for runs and report [default: out/STUDY]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print everything as JSON instead of the table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ClockArgument {
    Virtual,
    Wall,
}

/// Runs the study.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let mut study = Study::load(&arguments.study)?;
    study.cases = chosen(&study, &arguments)?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("out").join(&study.name));
    let display = Display::new();
    let watch = |progress| display.show(progress);
    let lab = Lab::open(Cache::of_user()?, own_binary()?, &watch)?;
    let results = lab.run_all(&study.cases, &out.join("runs"), arguments.jobs);
    let verdicts = claims::judge(&study, &RunFigures(&results));
    for verdict in &verdicts {
        println!("{} {:?}", verdict.claim.text, verdict.rulings);
        for line in &verdict.evidence {
            println!("    {line}");
        }
    }
    for result in &results {
        match &result.run {
            Ok(run) => {
                println!(
                    "== {} {:?} lost {} undecoded {} {:?} {:?}",
                    result.case.id,
                    run.timing,
                    run.lost_events,
                    run.undecoded,
                    run.missing_events,
                    run.outcome
                );
                for s in &run.explanation.per_cpu {
                    println!(
                        "  cpu{} ticks {} lt {} int {} unattr {}",
                        s.cpu, s.ticks, s.local_timer, s.interruptions, s.unattributed
                    );
                    for c in &s.by_cause {
                        println!("     {} {} {} {:?} {:?}", c.cause, c.count, c.ticks, c.functions, c.chain);
                    }
                }
            }
            Err(error) => println!("== {} {error} {:?}", result.case.id, result.console_tail),
        }
    }
    Ok(ExitCode::SUCCESS)
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
        case.repeat = arguments.repeat.unwrap_or(case.repeat);
        if case.repeat == 0 || (case.repeat > 1 && case.clock == Clock::Virtual) {
            bail!(
                "--repeat {}: virtual time repeats to the bit; repeat on the wall clock (--clock wall)",
                case.repeat
            );
        }
    }
    Ok(cases)
}
