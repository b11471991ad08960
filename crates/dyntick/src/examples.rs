// SPDX-License-Identifier: GPL-2.0-only
//! The command line for parsing and for printing its help: every verb's help ends with examples.

use crate::output::Sheet;
use clap::{Command, CommandFactory};

/// The examples of each verb that has none next to its arguments.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "top",
        "\
  dyntick top                       all online CPUs, until q
  dyntick top -C 2-3 -d 0.5         CPUs 2 and 3, twice a second
  dyntick top -b -n 1               one table, for a log or a pipe
  dyntick top -C 3 -n 60 --json     a minute of CPU 3, one JSON document a line",
    ),
    (
        "latency",
        "\
  dyntick latency -mSp90 -i1000 -D 1m
                                    as cyclictest: a thread on each CPU, for 1 min
  dyntick latency -C 3 --why 50     why wake-ups of CPU 3 were later than 50 µs
  dyntick latency -a3 -t1 -p90 -b 100 --html late.html
                                    stop at the first above 100 µs, and explain it",
    ),
    (
        "compare",
        "\
  dyntick compare before.txt after.txt
                                    two outputs of one tool, with verdicts
  dyntick compare fifo=out/a/runs/1 other=out/a/runs/2
                                    two runs of the laboratory, with names
  dyntick compare before/ after/    all repetitions in two folders",
    ),
    (
        "completions",
        "\
  dyntick completions bash > /usr/share/bash-completion/completions/dyntick
  dyntick completions zsh > ~/.zfunc/_dyntick",
    ),
    (
        "lab",
        "\
  dyntick lab shell                 a guest to try things in
  dyntick lab studies               what can be run
  dyntick lab run adaptive-ticks    run one of them, and print its report
  dyntick lab doctor                what this machine lacks for that",
    ),
    (
        "lab run",
        "\
  dyntick lab run adaptive-ticks    one of `dyntick lab studies`
  dyntick lab run mine.toml --jobs 2 --out /tmp/mine
                                    your own, two guests at a time
  dyntick lab run mine.toml --kernel old=debian:6.1 --kernel new=./bzImage
                                    on two kernels, side by side
  dyntick lab run mine.toml --kernel arch/x86/boot/bzImage --bisect
                                    what `git bisect run` runs, after
                                    make bzImage || exit 125",
    ),
    (
        "lab report",
        "\
  dyntick lab report adaptive-ticks
  dyntick lab report adaptive-ticks --format html -o report.html
  dyntick lab report adaptive-ticks --case nohz-full --format mail",
    ),
    (
        "lab studies",
        "\
  dyntick lab studies               list them
  dyntick lab studies adaptive-ticks > mine.toml
                                    begin your own with one of them",
    ),
    (
        "lab plan",
        "\
  dyntick lab plan adaptive-ticks   the ids of its cases, for --case
  dyntick lab plan mine.toml --json
                                    and the CPUs, memory and tools of each",
    ),
    (
        "lab build",
        "\
  dyntick lab build mine.toml       the kernels of a study
  dyntick lab build --source debian:6.12 --config lab,hz-1000
  dyntick lab build --source ~/linux --patch fix.patch",
    ),
    (
        "lab cache",
        "\
  dyntick lab cache                 what there is, and how large
  dyntick lab cache --unused-for 30 --keep ccache
                                    remove what was not used for a month",
    ),
    (
        "lab kernels",
        "\
  dyntick lab kernels               what can be booted here
  dyntick lab kernels diff debian:6.1 debian:6.12
                                    how their configurations differ",
    ),
    (
        "lab kernels diff",
        "\
  dyntick lab kernels diff debian:6.1 debian:6.12
  dyntick lab kernels diff debian:6.12 ./bzImage --json",
    ),
    (
        "lab machines",
        "\
  dyntick lab machines              list them
  dyntick lab machines sapphire-rapids
                                    its idle states, with their sources",
    ),
    (
        "lab shell",
        "\
  dyntick lab shell                 a shell in a guest; exit ends it
  dyntick lab shell --append \"isolcpus=domain,1 nohz_full=1\" -- dyntick check
                                    one command in a guest that isolates CPU 1
  dyntick lab shell --kernel ./bzImage --share ~/tests
                                    your kernel, with your files in /share",
    ),
    (
        "lab verify",
        "\
  dyntick lab verify adaptive-ticks
                                    every run of it in virtual time
  dyntick lab verify out/adaptive-ticks/runs/*",
    ),
    (
        "lab doctor",
        "\
  dyntick lab doctor                only look
  dyntick lab doctor --fetch        fetch what a first study needs, and try KVM",
    ),
    (
        "lab profile",
        "\
  dyntick lab profile entry-costs --kind getppid
                                    two runs of a study, side by side
  dyntick lab profile out/entry-costs/runs/a out/entry-costs/runs/b --top 3",
    ),
    (
        "lab bench",
        "\
  dyntick lab bench adaptive-ticks  the first case: boot, window, decoding
  dyntick lab bench adaptive-ticks --case nohz-full --json",
    ),
];

/// The command line, with all examples.
pub fn command() -> Command {
    with_examples(crate::Arguments::command(), "")
}

/// The same, with help as wide as the terminal.
pub fn command_for(sheet: Sheet) -> Command {
    command().term_width(sheet.width)
}

fn with_examples(command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let verbs = names.iter().fold(command, |command, name| {
        let path = format!("{path} {name}").trim_start().to_owned();
        command.mut_subcommand(name, |verb| with_examples(verb, &path))
    });
    let Some((_, examples)) = EXAMPLES.iter().find(|(verb, _)| *verb == path) else { return verbs };
    let before = verbs.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    // Rust's line continuation removes the space at the beginning of the first line.
    verbs.after_help(format!("{before}Examples:\n  {examples}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help of each visible verb on 80 columns, with the verb's path.
    fn helps(command: &mut Command, path: &str, found: &mut Vec<(String, String)>) {
        let shown = |verb: &&mut Command| !verb.is_hide_set() && verb.get_name() != "help";
        for verb in command.get_subcommands_mut().filter(shown) {
            let path = format!("{path} {}", verb.get_name()).trim_start().to_owned();
            let mut alone = verb.clone().term_width(80);
            found.push((path.clone(), alone.render_help().to_string()));
            found.push((path.clone(), alone.render_long_help().to_string()));
            helps(verb, &path, found);
        }
    }

    #[test]
    fn every_help_has_two_to_four_examples_and_fits_80_columns() {
        let mut found = Vec::new();
        helps(&mut command(), "", &mut found);
        assert!(found.len() > 40, "{found:?}");
        for (path, help) in found {
            let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(wide.is_empty(), "{path}: {wide:#?}");
            let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{path}: {help}"));
            let count = examples.lines().filter(|line| line.starts_with("  dyntick ")).count();
            assert!((2..=6).contains(&count), "{path}: {examples}");
            let begins = |line: &str| line.starts_with("  dyntick ") || line.starts_with(&" ".repeat(20));
            assert!(examples.lines().all(begins), "{path}: an example is cut: {examples}");
        }
    }

    /// The examples of help are valid commands.
    #[test]
    fn examples_are_parsed() {
        let mut found = Vec::new();
        helps(&mut command(), "", &mut found);
        for (path, help) in found {
            let (_, examples) = help.split_once("\nExamples:\n").unwrap();
            for line in examples.lines().filter_map(|line| line.strip_prefix("  dyntick ")) {
                let (line, _) = line.split_once("  ").unwrap_or((line, ""));
                let (line, _) = line.split_once(" > ").unwrap_or((line, ""));
                let words = line.split('"').enumerate().flat_map(|(at, part)| match at % 2 {
                    0 => part.split_whitespace().map(str::to_owned).collect(),
                    _ => vec![part.to_owned()],
                });
                let words = ["dyntick".to_owned()].into_iter().chain(words);
                if let Err(error) = command().try_get_matches_from(words) {
                    panic!("{path}: {line}: {error}");
                }
            }
        }
    }
}
