// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab shell`: an interactive guest.

use super::{named, own_binary};
use crate::output;
use anyhow::{Context, Result};
use clap::Args;
use dyntick_kernels::cache::Cache;
use dyntick_lab::lab::{Lab, Progress};
use dyntick_report::message;
use dyntick_study::{Case, Study};
use std::io::IsTerminal;
use std::process::ExitCode;

/// What may be said to `lab shell`.
#[derive(Args)]
pub struct Arguments {
    /// Kernel: debian:6.1, debian:6.12, debian:6.12-rt, debian:6.12-cloud, debian:sid, built:KEY, STUDY.toml:NAME, host, or a path
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

/// Runs the guest on this terminal. What comes from a terminal or a pipe comes at no known time, so it
/// does not reach a command in virtual time that nobody sits at. The exit status is the command's; 1 where the guest failed.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let watch = |progress| {
        if let Progress::Preparing(text) = progress {
            output::step(text);
        }
    };
    let lab = Lab::open(Cache::of_user()?, own_binary()?, &watch)?;
    let case = case(&arguments)?;
    let command = match arguments.command.is_empty() {
        true => vec![SHELL.to_owned(), "sh".to_owned()],
        false => arguments.command.clone(),
    };
    if arguments.command.is_empty() {
        output::step("end the guest with 'exit', or with Ctrl-A X");
    }
    let interactive =
        !arguments.in_virtual_time || arguments.command.is_empty() || std::io::stdin().is_terminal();
    match lab.shell(&case, command, interactive) {
        Ok(Some(status)) => Ok(ExitCode::from(status)),
        Ok(None) => {
            output::note("the guest exited before its shell");
            Ok(ExitCode::from(1))
        }
        Err(error) if error.is_guest_failure() => {
            output::note(message(&error.to_string()));
            Ok(ExitCode::from(1))
        }
        Err(error) => Err(error.into()),
    }
}

/// The case that a study file with these words would describe, so that both obey the same rules.
fn case(arguments: &Arguments) -> Result<Case> {
    let mut tools = arguments.tools.clone();
    tools.push(SHELL.to_owned());
    let own = named::of_study(&arguments.kernel)?;
    // The kernel of a study has its own recipe, and no name that is valid elsewhere.
    let kernel = if own.is_some() { "host" } else { &arguments.kernel };
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let optional = |key: &str, value: &Option<String>| {
        value.as_ref().map_or_else(String::new, |value| format!("{key} = {}\n", quoted(value)))
    };
    let text = format!(
        "title = 'shell'\nquestion = 'shell'\n[[case]]\nname = 'shell'\nkernel = {}\nclock = '{}'\ncpus = {}\n\
         memory = {}\nappend = {}\ntools = {}\nmodules = {}\n{}{}{}",
        quoted(kernel),
        if arguments.in_virtual_time { "virtual" } else { "wall" },
        arguments.cpus,
        quoted(&arguments.memory),
        quoted(&arguments.append),
        serde_json::to_string(&tools)?,
        serde_json::to_string(&arguments.modules)?,
        optional("disk", &arguments.disk),
        optional("machine", &arguments.machine),
        optional("governor", &arguments.governor),
    );
    let study = Study::parse("lab shell".as_ref(), &text)?;
    let mut case = study.cases.into_iter().next().context("no guest was described")?;
    if let Some((name, recipe)) = own {
        (case.kernel, case.recipe) = (name, Some(recipe));
    }
    Ok(case)
}
