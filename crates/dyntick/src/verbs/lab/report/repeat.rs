// SPDX-License-Identifier: GPL-2.0-only
//! The command that makes a report again: the one that made it, without what says how it is printed, and into
//! which file.

use dyntick_check::shell;
use dyntick_report::Origin;

/// Options that change nothing of what is run, and how many words follow each.
const ELSEWHERE: [(&str, usize); 9] = [
    ("--output", 1),
    ("-o", 1),
    ("--format", 1),
    ("--jobs", 1),
    ("--json", 0),
    ("--brief", 0),
    ("--with-study", 0),
    ("--full", 0),
    ("--quiet", 0),
];

/// The origin of a report of this process.
pub fn origin() -> Origin {
    let program = format!("dyntick {}", crate::VERSION);
    Origin { command: command(), program }
}

/// The command that runs a study again; what was run before it takes from its runs.
pub fn command() -> String {
    of(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

fn of(words: impl Iterator<Item = String>) -> String {
    let mut command = vec!["dyntick".to_owned()];
    let mut words = words.enumerate();
    while let Some((place, word)) = words.next() {
        let option = word.split_once('=').map_or(word.as_str(), |(option, _)| option);
        match ELSEWHERE.iter().find(|(name, _)| *name == option) {
            Some((_, values)) if !word.contains('=') => (0..*values).for_each(|_| drop(words.next())),
            Some(_) => {}
            // `lab report` is asked of what `lab run` runs.
            None if place == 1 && word == "report" => command.push("run".to_owned()),
            None => command.push(shell::quoted(&word).unwrap_or_else(|_| "…".to_owned())),
        }
    }
    command.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> String {
        of(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn what_is_run_stays_and_how_it_is_printed_goes() {
        assert_eq!(
            command(
                "lab run studies/x.toml --jobs 2 --case idle --out /tmp/x --format=mail --brief --full --with-study"
            ),
            "dyntick lab run studies/x.toml --case idle --out /tmp/x"
        );
        assert_eq!(command("lab report x.toml --full-size --json"), "dyntick lab run x.toml --full-size");
        assert_eq!(command("lab run x.toml -o y.txt --output=z"), "dyntick lab run x.toml");
        assert_eq!(command("lab run a;b.toml"), "dyntick lab run 'a;b.toml'");
    }
}
