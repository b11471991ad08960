// SPDX-License-Identifier: GPL-2.0-only
//! The command line on the host, and PID 1 in a guest.

mod classes;
mod examples;
mod failure;
mod few;
mod file_limit;
mod gate;
mod hints;
mod measuring;
mod occurrences;
mod output;
mod progress;
mod verbs;

use clap::{FromArgMatches, Parser};
use dyntick_model::text::clean;
use std::process::ExitCode;
use verbs::lab::status;

/// The version and, in a release build, the commit (`build.rs`).
const VERSION: &str = env!("DYNTICK_VERSION");

/// The end of `dyntick --help` and of its man page.
const EXIT_STATUS: &str = "Exit status: 0 ok; 1 a comparison or check failed; 2 the input or the environment was wrong; 3 a limit was exceeded.";

/// A laboratory for Linux timer ticks, CPU isolation and CPU idle.
#[derive(Parser)]
#[command(version = VERSION, arg_required_else_help = true, after_help = EXIT_STATUS)]
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
            let result = dyntick_agent::run_task(&words.next().unwrap_or_default());
            return finish(result.map(|()| ExitCode::SUCCESS), false);
        }
        Some(dyntick_isolate::GUARD_COMMAND) => {
            return finish(verbs::isolate::guard(&words.next().unwrap_or_default()), false);
        }
        _ => {}
    }
    let parsed = examples::command_for(output::Sheet::output()).try_get_matches();
    let wants_json = parsed.as_ref().is_ok_and(failure::wants_json);
    match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => finish(arguments.verb.run(), wants_json),
        Err(error) => finish(refused(error), false),
    }
}

/// Prints clap's message: help, version, or an error that quotes the argument.
fn refused(mut error: clap::Error) -> anyhow::Result<ExitCode> {
    hints::suggest_no_hidden_verb(&mut error);
    let error = &error;
    let text = error.render();
    let is_harmless = std::env::args_os().all(|word| word.to_str().is_some_and(|word| clean(word) == word));
    let wanted = if error.use_stderr() { output::colours_aside() } else { output::colours() };
    // clap's own colours, if it quotes nothing that can contain escapes.
    let coloured = is_harmless && wanted;
    match (error.use_stderr(), coloured) {
        (true, true) => {
            output::rendered_aside(hints::plain_ranges(&text.ansi().to_string())).unwrap_or_default()
        }
        (true, false) => output::aside(hints::plain_ranges(&text.to_string())),
        (false, true) => output::rendered(text.ansi())?,
        (false, false) => output::text(&text)?,
    }
    if let Some(tip) = hints::tip(error) {
        output::aside(format_args!("\n  tip: {tip}\n"));
    }
    // A wrong command line must not look like a bad commit to git bisect.
    let is_wrong_for_git = error.use_stderr() && status::is_asked_to_bisect();
    Ok(ExitCode::from(if is_wrong_for_git { status::ABORT } else { error.exit_code() as u8 }))
}

/// Ends with the status of the result, or of the kind of the error, which is also printed as JSON if that was asked for
/// and no result was printed.
///
/// In `dyntick … | head` the reader leaves early. That ends dyntick as it ends other tools, silently and with the
/// status of SIGPIPE, but in order: all settings are restored, and no trace instance is left.
fn finish(result: anyhow::Result<ExitCode>, wants_json: bool) -> ExitCode {
    result.unwrap_or_else(|error| {
        if output::reader_left(&error) {
            return ExitCode::from(128 + libc::SIGPIPE as u8);
        }
        let failure = failure::tell(&error);
        if wants_json && !output::has_printed() {
            // The text is on standard error already.
            let _ = output::json(&failure);
        }
        ExitCode::from(failure.kind.status())
    })
}
