// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick completions` and `dyntick man`: completions and man pages, generated from the definition of the command
//! line.

use crate::output;
use anyhow::{Context, Result};
use clap::{Command, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;
use std::process::ExitCode;

const NAME: &str = "dyntick";

/// The arguments of `dyntick completions`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Shell to print the script for
    shell: Known,
}

/// The arguments of `dyntick man`.
#[derive(clap::Args)]
pub struct Pages {
    /// Write the man pages into DIR
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The shells with completions in Debian.
#[derive(Clone, Copy, ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

/// Prints the completion script of a shell.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let shell = match arguments.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown(), NAME, &mut script);
    output::rendered(String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for each verb.
pub fn man(pages: &Pages) -> Result<ExitCode> {
    let folder = &pages.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(crate::examples::command(), folder))
        .with_context(|| format!("cannot write man pages into {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The command line without its hidden verbs, which are for guests and studies and would be offered by a script.
fn shown() -> Command {
    let all = crate::examples::command();
    let verbs = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    Command::new(NAME).version(env!("CARGO_PKG_VERSION")).subcommands(verbs)
}
