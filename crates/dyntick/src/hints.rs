// SPDX-License-Identifier: GPL-2.0-only
//! Better words for clap's errors, and a tip where the cause of one is known.

use crate::examples;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The verbs whose command comes behind `--`, since a file or options may come before it.
const COMMAND_BEHIND_DASHES: [&str; 3] = ["explain", "isolate", "record"];

/// Removes hidden verbs from the verbs that an error suggests.
pub fn suggest_no_hidden_verb(error: &mut clap::Error) {
    let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand) else { return };
    let all = examples::command();
    let is_hidden = |name: &String| all.find_subcommand(name).is_some_and(|verb| verb.is_hide_set());
    let shown: Vec<String> = names.iter().filter(|name| !is_hidden(name)).cloned().collect();
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(shown));
}

/// The text of an error with ranges in words: `5 is not in 1..=99` becomes `5 is not from 1 to 99`.
pub fn plain_ranges(text: &str) -> String {
    const RANGE: &str = " is not in ";
    let Some((before, after)) = text.split_once(RANGE) else { return text.to_owned() };
    let end = after.find('\n').unwrap_or(after.len());
    let (range, rest) = after.split_at(end);
    match range.split_once("..=") {
        Some((first, last)) if last.trim() == u64::MAX.to_string() => {
            format!("{before} is less than {first}{rest}")
        }
        Some((first, last)) => format!("{before} is not from {first} to {last}{rest}"),
        None => text.to_owned(),
    }
}

/// A tip for an error.
pub fn tip(error: &clap::Error) -> Option<String> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    tip_for(error, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn tip_for(error: &clap::Error, words: &[&str]) -> Option<String> {
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) {
        let all = examples::command();
        let verb = all.find_subcommand("lab")?.find_subcommand(typed)?;
        return Some(format!("it is a verb of the laboratory: dyntick lab {}", verb.get_name()));
    }
    match (words, error.kind()) {
        (["latency", "-h", ..], ErrorKind::InvalidValue) => {
            Some("-h is cyclictest's histogram; --help prints the help".to_owned())
        }
        ([verb, ..], ErrorKind::UnknownArgument) if COMMAND_BEHIND_DASHES.contains(verb) => {
            Some(format!("put -- before the command: dyntick {verb} -C 1 -- COMMAND"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(words: &[&str]) -> clap::Error {
        examples::command().try_get_matches_from(["dyntick"].iter().chain(words)).unwrap_err()
    }

    #[test]
    fn no_hidden_verb_is_suggested() {
        let mut error = error(&["guest-pack"]);
        assert!(error.to_string().contains("guest-packets"), "{error}");
        suggest_no_hidden_verb(&mut error);
        assert!(!error.to_string().contains("guest-packets"), "{error}");
    }

    #[test]
    fn ranges_are_in_words() {
        assert_eq!(plain_ranges("200 is not in 0..=99\n\nFor"), "200 is not from 0 to 99\n\nFor");
        assert_eq!(plain_ranges("0 is not in 1..=18446744073709551615"), "0 is less than 1");
        assert_eq!(plain_ranges("unexpected argument"), "unexpected argument");
    }

    #[test]
    fn tips_name_the_way() {
        let tip = |words: &[&str]| tip_for(&error(words), words);
        assert_eq!(tip(&["run"]).as_deref(), Some("it is a verb of the laboratory: dyntick lab run"));
        assert!(tip(&["latency", "-h"]).unwrap().contains("--help"));
        assert!(tip(&["explain", "-C", "1", "sleep", "1"]).unwrap().starts_with("put -- before"));
        assert_eq!(tip(&["stat", "--nope"]), None);
    }
}
