// SPDX-License-Identifier: GPL-2.0-only
//! The command line on the host, and PID 1 in a guest.

mod causes;
mod classes;
mod few;
mod file_limit;
mod json;
mod output;
mod progress;
mod verbs;

use clap::Parser;
use dyntick_model::text::clean;
use std::process::ExitCode;

/// At the end of `dyntick --help` and of its man page.
const EXIT_STATUS: &str =
    "Exit status: 0 ok; 1 a comparison or check failed; 2 the input or the environment was wrong.";

/// A laboratory for Linux timer ticks, CPU isolation and CPU idle.
#[derive(Parser)]
#[command(version, arg_required_else_help = true, after_help = EXIT_STATUS)]
struct Arguments {
    #[command(subcommand)]
    verb: verbs::Verb,
}

fn main() -> ExitCode {
    if dyntick_agent::is_agent() {
        dyntick_agent::main();
    }
    file_limit::is_an_error();
    let mut words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    match words.next().as_deref() {
        Some(dyntick_agent::TASK_COMMAND) => {
            return finish(
                dyntick_agent::run_task(&words.next().unwrap_or_default()).map(|()| ExitCode::SUCCESS),
            );
        }
        Some(dyntick_isolate::GUARD_COMMAND) => {
            return finish(verbs::isolate::guard(&words.next().unwrap_or_default()));
        }
        _ => {}
    }
    match Arguments::try_parse() {
        Ok(arguments) => finish(arguments.verb.run()),
        Err(error) => finish(refused(&error)),
    }
}

/// What clap says: help and version, or what is wrong with an argument and quotes it.
fn refused(error: &clap::Error) -> anyhow::Result<ExitCode> {
    let text = error.render();
    let is_harmless = std::env::args_os().all(|word| word.to_str().is_some_and(|word| clean(word) == word));
    let on_terminal = if error.use_stderr() { output::asides_on_terminal() } else { output::is_terminal() };
    // clap's own colours, where nothing that it quotes can have any.
    let coloured = is_harmless && on_terminal && wants_colours();
    match (error.use_stderr(), coloured) {
        (true, true) => output::rendered_aside(text.ansi()).unwrap_or_default(),
        (true, false) => output::aside(&text),
        (false, true) => output::rendered(text.ansi())?,
        (false, false) => output::text(&text)?,
    }
    Ok(ExitCode::from(error.exit_code() as u8))
}

fn wants_colours() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_some_and(|terminal| terminal != "dumb")
}

/// Exit status 2 is for input and environment; a verb says itself when a check failed (1).
///
/// In `dyntick … | head` the reader leaves early: that ends dyntick as it ends other tools, without a word
/// and with the status of SIGPIPE, but in order, so that no setting and no trace instance stays behind.
fn finish(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| match output::reader_left(&error) {
        true => ExitCode::from(128 + libc::SIGPIPE as u8),
        false => {
            output::note(in_full(&error));
            ExitCode::from(2)
        }
    })
}

/// An error with its causes, leaving out those that it already quotes.
fn in_full(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}
