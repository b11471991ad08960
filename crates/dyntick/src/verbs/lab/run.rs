// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab run`: a study from its file to its report.

use super::baseline::{Against, Baseline};
use super::changes::{Changes, Chosen, LastRun};
use super::outcome::{Outcome, Wanted};
use super::own_binary;
use super::status::{ABORT, Statuses};
use crate::progress::Display;
use crate::{failure, output};
use anyhow::{Context, Result};
use clap::Args;
use dyntick_lab::judgement::Judgement;
use dyntick_lab::lab::Place;
use dyntick_lab::shared::Shared;
use dyntick_lab::study::Accepted;
use dyntick_model::text::clean_line;
use dyntick_study::Study;
use dyntick_system::signals;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `dyntick lab run`.
#[derive(Args)]
pub struct Arguments {
    /// Study: a name of `dyntick lab studies`, or a file
    study: PathBuf,
    #[command(flatten)]
    chosen: Chosen,
    /// Run N guests at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Write runs and report to DIR [default: out/STUDY]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Take runs that others made from DIR, a shared folder, if all that they say of themselves holds, and give it mine
    #[arg(long, value_name = "DIR", value_parser = store_folder)]
    store: Option<PathBuf>,
    #[command(flatten)]
    against: Against,
    #[command(flatten)]
    statuses: Statuses,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    wanted: Wanted,
}

/// Runs the study.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    match run_study(&arguments) {
        Err(error) if arguments.statuses.bisect() && !output::reader_left(&error) => {
            failure::tell(&error);
            Ok(ExitCode::from(ABORT))
        }
        ended => ended,
    }
}

fn run_study(arguments: &Arguments) -> Result<ExitCode> {
    arguments.wanted.ensure_possible()?;
    let study = arguments.changes.study(&arguments.study, &arguments.chosen)?;
    arguments.statuses.ensure_possible(&study)?;
    let out = Place::of(arguments.out.as_deref(), &study.name);
    let baseline = arguments.against.open(&study, &out)?;
    say_what_is_kept(out.runs())?;
    let display = Display::new();
    let watch = |progress| display.show(progress);
    let accepted = Accepted::of(&study, &arguments.study, &out, &watch)?;
    let shared = arguments.store.as_deref().map(opened).transpose()?;
    let judgement = accepted.open(own_binary()?, shared)?.run(arguments.jobs.into())?;
    display.end();
    // The reasons were printed as each case ended.
    if judgement.is_empty() {
        say_refused(&arguments.study, &judgement);
        output::note("nothing was measured, and no report was written");
        return Ok(ExitCode::from(arguments.statuses.of(&judgement.results, &[])));
    }
    arguments.report(judgement, &out, baseline.as_ref())
}

/// The folder of `--store`.
fn store_folder(text: &str) -> Result<PathBuf, String> {
    match text.split_once("://") {
        Some((kind, _)) => Err(format!(
            "this program reads stores in folders, not by {kind}: mount it, or use the Python package: \
             `python -m dyntick.fleet run STUDY --store {text}`"
        )),
        None => Ok(text.into()),
    }
}

fn opened(folder: &Path) -> Result<Shared> {
    Shared::at(folder).with_context(|| format!("cannot use the store {}", folder.display()))
}

impl Arguments {
    /// Stores and prints the report. It is printed even if it cannot be stored.
    fn report(
        &self,
        judgement: Judgement<'_>,
        out: &Place,
        baseline: Option<&Baseline<'_>>,
    ) -> Result<ExitCode> {
        let is_whole =
            self.chosen.cases.is_empty() && judgement.results.iter().all(|result| result.run.is_ok());
        let outcome = Outcome::of(judgement, &self.wanted);
        let kept = outcome.keep(out.folder(), is_whole);
        let noted = LastRun::keep(out.folder(), &self.chosen, &self.changes);
        outcome.print(&self.wanted, &self.study)?;
        say_refused(&self.study, &outcome.judgement);
        self.wanted.print_place(&kept?)?;
        noted?;
        let judged = &outcome.judgement;
        let has_changed =
            baseline.map(|baseline| baseline.judge(judged.study, &judged.results)).transpose()?;
        let status = self.statuses.of(&judged.results, &outcome.open());
        Ok(ExitCode::from(status.max(u8::from(has_changed == Some(true)))))
    }
}

/// From now on SIGINT and SIGTERM end this process with a note about the complete runs. The kernel ends guests and
/// builds with it (invariant 10). Call it before any other thread is started.
fn say_what_is_kept(runs: PathBuf) -> Result<()> {
    signals::read_by_thread(&[libc::SIGINT, libc::SIGTERM], move |signal| {
        let kept = runs.display();
        output::note(format_args!(
            "stopped: complete runs are kept in {kept}; the same command continues from there"
        ));
        signals::end_by(signal);
        false
    })?;
    Ok(())
}

/// Prints the position in the study's file of each setting that a guest's kernel has refused.
fn say_refused(file: &Path, judgement: &Judgement<'_>) {
    let errors = judgement.results.iter().filter_map(|result| result.run.as_ref().err());
    let refused: BTreeSet<&str> = errors.filter_map(|error| error.refused_path()).collect();
    for line in refused.into_iter().flat_map(|refused| positions(judgement.study, refused)) {
        output::note(clean_line(&format!("{}:{line}", file.display())));
    }
}

/// `LINE:COLUMN: …` of each setting that writes this file of the kernel; nothing if it came by the command line.
fn positions(study: &Study, refused: &str) -> Vec<String> {
    let settings = study.settings.iter().filter(|setting| setting.file == refused);
    settings
        .map(|at| format!("{}:{}: the kernel of the guest refuses '{}'", at.line, at.column, at.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_setting_is_shown_with_its_position() {
        let text = "question = 'q'\ntitle = 't'\n[defaults]\nkernel = 'debian:6.12'\n\
                    sysctl = { \"vm.stat_intervall\" = 60, \"vm.stat_interval\" = 60 }\n[[case]]\nname = 'a'\n";
        let study = Study::parse(Path::new("s.toml"), text).unwrap();
        assert_eq!(
            positions(&study, "/proc/sys/vm/stat_intervall"),
            ["5:13: the kernel of the guest refuses 'vm.stat_intervall'"]
        );
        assert!(positions(&study, "/proc/sys/vm/swappiness").is_empty(), "it came by the command line");
    }
}
