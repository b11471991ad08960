// SPDX-License-Identifier: GPL-2.0-only
//! Errors as values: every error that ends a verb becomes a [`Failure`] here, as text and as JSON.

use crate::output;
use clap::ArgMatches;
use dyntick_contract::{Failure, FailureKind};
use dyntick_count::CountError;
use dyntick_isolate::{IsolateError, JournalError};
use dyntick_lab::lab::LabError;
use dyntick_lab::sides::SideError;
use dyntick_latency::LatencyError;
use dyntick_observe::facts::FactsError;
use dyntick_record::{FileError, RecordError};
use dyntick_study::Problems;
use dyntick_system::InputError;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io::{self, ErrorKind};

/// Prints an error on standard error, and returns it as a value.
pub fn tell(error: &anyhow::Error) -> Failure {
    let problems = error.chain().find_map(dyntick_study::problems);
    let failure = problems.map_or_else(|| of(error), of_problems);
    match problems {
        // Without a prefix: editors look for FILE:LINE:COLUMN at the beginning of a line.
        Some(_) => output::aside(format_args!("{failure}\n")),
        None => output::note(&failure),
    }
    failure
}

/// Returns true if the verb would print JSON on standard output. A command owns standard output, and a named file takes
/// its place.
pub fn wants_json(matches: &ArgMatches) -> bool {
    let mut verb = matches;
    while let Some((_, inner)) = verb.subcommand() {
        verb = inner;
    }
    // `latency --json` names a file.
    let is_json = matches!(verb.try_get_one::<bool>("json"), Ok(Some(true)));
    is_json && !["output", "command"].iter().any(|id| verb.try_contains_id(id).unwrap_or(false))
}

fn of_problems(problems: &Problems) -> Failure {
    let text = problems.annotated();
    // The first problem of the file: those of flags have no line in it.
    let line = problems.problems.iter().find(|problem| problem.flag.is_none()).map(|problem| problem.line);
    let file = line.map(|_| problems.path.to_string_lossy().into_owned());
    Failure { file, line, ..Failure::new(FailureKind::Input, text.trim_end_matches('\n')) }
}

/// The context of an error that is about a file, whose name begins its text.
#[derive(Debug)]
pub struct InFile(pub String);

impl Display for InFile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn of(error: &anyhow::Error) -> Failure {
    let kind = error.chain().find_map(kind).unwrap_or(FailureKind::Input);
    let file = error.downcast_ref::<InFile>().map(|of| of.0.clone()).or_else(|| error.chain().find_map(file));
    Failure { file, ..Failure::new(kind, in_full(error)) }
}

/// The kind of an error, if its type says so. A text without a type is about the input.
fn kind(cause: &(dyn Error + 'static)) -> Option<FailureKind> {
    if let Some(failure) = cause.downcast_ref::<Failure>() {
        return Some(failure.kind);
    }
    if let Some(io) = cause.downcast_ref::<io::Error>() {
        return Some(match io.kind() {
            ErrorKind::FileTooLarge => FailureKind::Limit,
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => FailureKind::Input,
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => FailureKind::Input,
            _ => FailureKind::Environment,
        });
    }
    let is_limit = matches!(input(cause), Some(InputError::TooLarge { .. }));
    let is_of_the_machine = cause.is::<FactsError>()
        || cause.is::<IsolateError>()
        || cause.is::<JournalError>()
        || cause.is::<LatencyError>()
        || matches!(cause.downcast_ref(), Some(CountError::Live(_) | CountError::Place(_)))
        || matches!(cause.downcast_ref(), Some(RecordError::Session(_) | RecordError::Facts(_)))
        || matches!(cause.downcast_ref(), Some(LabError::Qemu(_) | LabError::Cache(_) | LabError::Run(_)));
    match (is_limit, is_of_the_machine) {
        (true, _) => Some(FailureKind::Limit),
        (_, true) => Some(FailureKind::Environment),
        _ => None,
    }
}

/// The file at fault, if the error's type names it.
fn file(cause: &(dyn Error + 'static)) -> Option<String> {
    let path = match cause.downcast_ref() {
        Some(FileError::Io { path, .. }) => path,
        _ => match input(cause)? {
            InputError::Io { path, .. }
            | InputError::NotRegular { path, .. }
            | InputError::TooLarge { path, .. }
            | InputError::NotText { path }
            | InputError::Hole { path } => path,
        },
    };
    Some(path.to_string_lossy().into_owned())
}

/// An error of a named file. A transparent error hides its type.
fn input<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a InputError> {
    match cause.downcast_ref() {
        Some(SideError::Read(input)) => Some(input),
        _ => cause.downcast_ref(),
    }
}

/// An error with its causes, without those that it already quotes, and without a context that its cause repeats.
fn in_full(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if cause.contains(&format!(" {text}: ")) || cause.starts_with(&format!("{text}: ")) {
            text = cause;
        } else if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    fn kind_of(error: anyhow::Error) -> (FailureKind, Option<String>) {
        let failure = of(&error);
        (failure.kind, failure.file)
    }

    #[test]
    fn kind_and_file_follow_from_the_cause() {
        let large = InputError::TooLarge { path: "a.toml".into(), limit: 9 };
        let wrapped = Err::<(), _>(large).context("the study").unwrap_err();
        assert_eq!(kind_of(wrapped), (FailureKind::Limit, Some("a.toml".to_owned())));
        let io = |kind: ErrorKind| anyhow::Error::from(io::Error::from(kind)).context("cannot write x");
        assert_eq!(kind_of(io(ErrorKind::PermissionDenied)), (FailureKind::Environment, None));
        assert_eq!(kind_of(io(ErrorKind::NotFound)), (FailureKind::Input, None));
        assert_eq!(kind_of(anyhow::anyhow!("-C names no CPU")), (FailureKind::Input, None));
        let guest = Failure::new(FailureKind::Check, "the guest exited before its shell");
        assert_eq!(of(&guest.clone().into()), guest);
        let text = of(&anyhow::Error::from(guest.clone()).context("lab shell")).text;
        assert_eq!(text, "lab shell: the guest exited before its shell");
        assert_eq!((guest.kind.status(), FailureKind::Limit.status()), (1, 2));
    }

    #[test]
    fn json_is_printed_in_place_of_a_result() {
        let wants = |words: &str| {
            let command = crate::examples::command();
            wants_json(&command.try_get_matches_from(words.split(' ')).unwrap())
        };
        assert!(wants("dyntick check --json") && wants("dyntick lab run x --json"));
        assert!(wants("dyntick lab kernels diff a b --json") && wants("dyntick stat --json"));
        for other in
            ["check", "stat --json -- true", "check --json -o x", "latency --json=x", "record -- x --json"]
        {
            assert!(!wants(&format!("dyntick {other}")), "{other}");
        }
    }
}
