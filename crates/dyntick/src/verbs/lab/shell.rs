// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab shell`: an interactive guest.

use super::{named, own_binary};
use crate::output;
use crate::verbs::turns;
use anyhow::{Context, Result};
use clap::Args;
use dyntick_contract::{Failure, FailureKind};
use dyntick_guest::Shell;
use dyntick_kernels::cache::Cache;
use dyntick_lab::image::Share;
use dyntick_lab::lab::{Fault, Lab, Progress};
use dyntick_model::Clock;
use dyntick_report::message;
use dyntick_study::{Case, Given, Study, check};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `dyntick lab shell`.
#[derive(Args)]
pub struct Arguments {
    /// Kernel: debian:6.1, debian:6.12, debian:6.12-rt, debian:6.12-cloud, debian:5.10, debian:sid, built:KEY,
    /// STUDY:NAME, host, or a path
    #[arg(long, default_value = "debian:6.12")]
    kernel: String,
    /// Number of virtual CPUs
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=255))]
    cpus: u32,
    /// Memory of the guest, as 512M
    #[arg(long, default_value = "512M")]
    memory: String,
    /// Add a disk of SIZE, as 256M, with ext4 on /mnt/disk; wall clock only
    #[arg(long, value_name = "SIZE")]
    disk: Option<String>,
    /// Kernel command line, added to what the guest needs
    #[arg(long, default_value = "")]
    append: String,
    /// Give the guest the idle states of this machine: see `dyntick lab machines`, or a path
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Idle governor: menu, teo, ladder, haltpoll
    #[arg(long, value_name = "NAME")]
    governor: Option<String>,
    /// Copy this tool into the guest; may be given several times
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// Load this kernel module; may be given several times
    #[arg(long = "module", value_name = "NAME")]
    modules: Vec<String>,
    /// Copy this folder into the guest, as /share; what the guest changes there is lost with it
    #[arg(long, value_name = "DIR")]
    share: Option<PathBuf>,
    /// Run in virtual time instead of on the wall clock: while a shell waits for input, virtual time passes
    /// very fast; a command reads nothing unless standard input is a terminal, so that it repeats to the byte
    #[arg(long = "virtual")]
    in_virtual_time: bool,
    /// Command to run instead of a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The shell: one static file with all that one expects.
const SHELL: &str = "busybox";

/// Runs the guest on this terminal. Input from a terminal or a pipe comes at no known time, so it does not reach a
/// command in virtual time unless a user types it. The exit status is the command's, or 1 if the guest failed.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let watch = |progress| {
        if let Progress::Preparing(text) = progress {
            output::step(text);
        }
    };
    let case = case(&arguments)?;
    for problem in check::misspelt(&case) {
        output::note(format_args!("--append: {problem}"));
    }
    let share = arguments.share.as_deref().map(Share::read).transpose().context("--share")?;
    let lab = Lab::open(Cache::of_user()?, own_binary()?, &watch)?;
    let command = if arguments.command.is_empty() {
        vec![SHELL.to_owned(), "sh".to_owned()]
    } else {
        arguments.command.clone()
    };
    if arguments.command.is_empty() {
        output::step("end the guest with 'exit', or with Ctrl-A X");
    }
    if arguments.in_virtual_time {
        output::step(format_args!("{} (the book: clocks.md)", turns::REMARK));
    }
    let interactive =
        !arguments.in_virtual_time || arguments.command.is_empty() || std::io::stdin().is_terminal();
    let shell = Shell { clock: case.clock, ..shell(command, interactive) };
    match lab.shell(&case, shell, interactive, share.as_ref()) {
        Ok(Some(status)) => Ok(ExitCode::from(status)),
        Ok(None) => Err(Failure::new(FailureKind::Check, "the guest exited before its shell").into()),
        Err(error) if error.fault() == Fault::Guest => {
            Err(Failure::new(FailureKind::Check, message(&error.to_string())).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The command with what it is to know of the terminal that its output goes to: nothing where that is none, and where
/// what it does is repeated to the byte. A width that is asked for by COLUMNS is asked for of the guest too.
fn shell(command: Vec<String>, interactive: bool) -> Shell {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let columns = text("COLUMNS").filter(|columns| columns.parse::<u16>().is_ok());
    shell_of(command, output::size().filter(|_| interactive), text, columns)
}

fn shell_of(
    command: Vec<String>,
    size: Option<(usize, usize)>,
    text: impl Fn(&str) -> Option<String>,
    columns: Option<String>,
) -> Shell {
    let mut environment: BTreeMap<String, String> = match size {
        Some(_) => ["TERM", "COLORTERM", "NO_COLOR"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), text(name)?)))
            .collect(),
        None => [("TERM", "dumb"), ("NO_COLOR", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
    };
    environment.extend(columns.map(|columns| ("COLUMNS".to_owned(), columns)));
    let small = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    Shell {
        command,
        environment,
        size: size.map(|(columns, rows)| (small(rows), small(columns))),
        clock: Clock::default(),
        plain: size.is_none(),
    }
}

/// The guest, as a study that says nothing else.
const STUDY: &str = "title = 'shell'\nquestion = 'shell'\n[[case]]\nname = 'shell'\nkernel = 'host'\n";

/// The case that a study file with these words would describe, so that both obey the same rules, and what is wrong is
/// reported in the same words, with the flag.
fn case(arguments: &Arguments) -> Result<Case> {
    let own = named::of_study(&arguments.kernel)?;
    let mut given = Given::default();
    given.allow_any_parameter();
    // The kernel of a study has its own recipe, and no name that is valid elsewhere.
    if own.is_none() {
        given.kernel(&arguments.kernel, &arguments.kernel, None);
    }
    let texts = [
        ("memory", Some(&arguments.memory)),
        ("append", Some(&arguments.append)),
        ("disk", arguments.disk.as_ref()),
        ("machine", arguments.machine.as_ref()),
        ("governor", arguments.governor.as_ref()),
    ];
    for (key, value) in texts.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        given.text(&format!("--{key} {value}"), key, value);
    }
    let clock = if arguments.in_virtual_time { "virtual" } else { "wall" };
    given.text("--virtual", "clock", clock);
    given.value(&format!("--cpus {}", arguments.cpus), "cpus", &arguments.cpus.to_string());
    let mut tools = arguments.tools.clone();
    tools.push(SHELL.to_owned());
    given.texts("--tool", "tools", &tools);
    given.texts("--module", "modules", &arguments.modules);
    let study = Study::parse_given("lab shell".as_ref(), STUDY, &given)?;
    let mut case = study.cases.into_iter().next().context("no guest was described")?;
    if let Some((name, recipe)) = own {
        (case.kernel, case.recipe) = (name, Some(recipe));
    }
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn asked(words: &str) -> Result<Case, String> {
        let line = Line::parse_from(["shell"].into_iter().chain(words.split_whitespace()));
        case(&line.arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn problem_is_reported_with_its_flag() {
        let answer = |words: &str| asked(words).unwrap_err();
        assert!(
            answer("--kernel 6.12")
                .starts_with("--kernel 6.12: kernel: '6.12' is not a kernel: write debian:6.1,")
        );
        assert_eq!(answer("--memory 1X"), "--memory 1X: memory: '1X' is not a size such as 512M or 2G");
        assert!(
            answer("--governor tea")
                .starts_with("--governor tea: governor: the kernel has no idle governor 'tea'")
        );
        assert!(answer("--machine x").starts_with("--machine x: machine: no machine 'x' comes with dyntick"));
    }

    /// A machine with a misspelt parameter is there to be looked at; the parameter is noted.
    #[test]
    fn a_misspelt_parameter_is_the_guests() {
        let case = asked("--append nohz_ful=1").unwrap();
        let noted: Vec<String> = check::misspelt(&case).iter().map(ToString::to_string).collect();
        assert_eq!(noted, ["'nohz_ful=1' is not a kernel parameter: 'nohz_full' was probably meant"]);
    }

    #[test]
    fn a_guest_is_what_a_study_would_describe() {
        let case = asked("--kernel debian:6.1 --cpus 4 --append nohz_full=1-3 --tool fio --virtual").unwrap();
        assert_eq!((case.kernel.as_str(), case.cpus), ("debian:6.1", 4));
        assert_eq!(case.append.to_string(), "nohz_full=1-3");
        assert_eq!(
            (case.tools, case.clock),
            (vec!["fio".into(), "busybox".into()], dyntick_model::Clock::Virtual)
        );
    }

    #[test]
    fn a_width_that_is_asked_for_is_asked_for_of_the_guest() {
        for size in [None, Some((100, 30))] {
            let one = shell_of(vec!["true".into()], size, |_| None, Some("72".into()));
            assert_eq!(one.environment["COLUMNS"], "72");
            assert_eq!(one.plain, size.is_none());
        }
    }

    #[test]
    fn nothing_is_said_of_the_terminal_where_a_run_is_repeated() {
        let one = shell(vec!["true".into()], false);
        assert!(one.plain && one.size.is_none() && one.environment["NO_COLOR"] == "1");
    }
}
