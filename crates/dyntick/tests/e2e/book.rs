// SPDX-License-Identifier: GPL-2.0-only
//! The book's examples that a guest can run in virtual time: a block of a page that begins with
//! `$ dyntick lab shell --virtual` is that command and what it prints. Rows and words must be the page's; figures
//! follow the kernel and the program, to the instruction, so they may have changed. `make test-book` runs them,
//! and with `INSTA_UPDATE=always` writes what was printed into the pages.

use crate::harness::binary;
use std::path::{Path, PathBuf};
use std::process::Command;

const BEGIN: &str = "$ dyntick lab shell --virtual";

/// A block of a page: where its output is in the text, and the command.
struct Example {
    output: std::ops::Range<usize>,
    command: String,
}

fn pages() -> Vec<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src"));
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages
}

fn examples(page: &str) -> Vec<Example> {
    let begins = page.match_indices(BEGIN).map(|(at, _)| at).filter(|at| page[..*at].ends_with("```\n"));
    begins
        .map(|at| {
            let block = &page[at..at + page[at..].find("```").expect("the block ends")];
            let lines = block.split_inclusive('\n');
            let more = lines.clone().take_while(|line| line.ends_with("\\\n")).count();
            let command: String = lines.take(more + 1).collect();
            Example { output: at + command.len()..at + block.len(), command: command[2..].to_owned() }
        })
        .collect()
}

/// The output of the command, without its steps.
fn printed(command: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(binary(), folder.path().join("dyntick")).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh").args(["-c", command]).env("PATH", path).output().unwrap();
    let (told, steps) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command}{told}{steps}");
    let lines: Vec<&str> = told.trim_end().lines().map(str::trim_end).collect();
    format!("\n{}\n", lines.join("\n").trim_start_matches('\n'))
}

/// A text without its figures: each number is one sign, units and bars are left out, and of rows that then are alike
/// one is left.
fn shape(text: &str) -> Vec<String> {
    let word = |word: &str| match word {
        "ns" | "µs" | "ms" | "s" | "%" => None,
        bar if bar.chars().all(|c| c == '@' || c == '─') => None,
        figure if figure.contains(|c: char| c.is_ascii_digit()) => Some("#".to_owned()),
        other => Some(other.to_owned()),
    };
    let line = |line: &str| line.split_whitespace().filter_map(word).collect::<Vec<_>>().join(" ");
    let mut lines: Vec<String> = text.lines().map(line).collect();
    lines.dedup();
    lines
}

#[test]
#[ignore = "make test-book: it boots a guest for each example"]
fn examples_print_what_the_pages_say() {
    let update = std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always");
    let mut count = 0;
    for path in pages() {
        let mut page = std::fs::read_to_string(&path).unwrap();
        // The last first, so that places stay where they are.
        for example in examples(&page).into_iter().rev() {
            let told = printed(&example.command);
            count += 1;
            if update {
                page.replace_range(example.output, &told);
            } else {
                let written = &page[example.output];
                assert_eq!(shape(&told), shape(written), "{}: $ {}{told}", path.display(), example.command);
            }
        }
        if update {
            std::fs::write(&path, page).unwrap();
        }
    }
    assert!(count >= 3, "the pages have examples");
}

#[test]
fn figures_may_change_and_words_may_not() {
    let table = "CPU 1\ntick   4    0.7   11.4 µs  2.9 ns\n";
    assert_eq!(shape(table), shape("CPU 1\ntick  12   <0.1   1.4 ms   276   ns\n"));
    assert_ne!(shape(table), shape("CPU 1\nticks   4    0.7   11.4 µs  2.9 ns\n"));
    assert_ne!(shape(table), shape("CPU 1\ntick   4    0.7   11.4 µs\n"), "a column less");
}
