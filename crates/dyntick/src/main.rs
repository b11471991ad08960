// SPDX-License-Identifier: GPL-2.0-only
//! The command line on the host, and PID 1 in a guest.

mod causes;
mod output;
mod progress;
mod verbs;

use clap::Parser;
use dyntick_lab::agent;
use std::process::ExitCode;

/// A laboratory for Linux timer ticks, CPU isolation and CPU idle.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: verbs::Verb,
}

fn main() -> ExitCode {
    if agent::is_agent() {
        agent::main();
    }
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some(agent::TASK_COMMAND) => {
            return finish(agent::run_task(&words.next().unwrap_or_default()).map(|()| ExitCode::SUCCESS));
        }
        Some(dyntick_isolate::GUARD_COMMAND) => {
            return finish(verbs::isolate::guard(&words.next().unwrap_or_default()));
        }
        _ => {}
    }
    end_quietly_with_the_reader();
    finish(Arguments::parse().verb.run())
}

/// In `dyntick … | head` the reader leaves early: end then, as other tools do, without a word.
fn end_quietly_with_the_reader() {
    // SAFETY: sets a signal back to its default before any thread is started.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// Exit status 2 is for input and environment; a verb says itself when a check failed (1).
fn finish(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("dyntick: {}", in_full(&error));
        ExitCode::from(2)
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
