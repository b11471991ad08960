// SPDX-License-Identifier: GPL-2.0-only
//! All output to a terminal goes through one file, which cleans it and survives write errors. No other source of the
//! host's side prints.

use std::path::{Path, PathBuf};

/// The sources that may print, each with the reason.
const MAY: [(&str, &str); 9] = [
    ("dyntick/src/output.rs", "is the one place"),
    ("dyntick-system/src/output.rs", "writes files that users name, standard output among them"),
    ("dyntick-agent/src/", "prints to the guest's console, in the guest"),
    ("dyntick-trials/src/", "is a program of the tests, in the guest"),
    ("dyntick-lab/src/qemu/shell.rs", "shows the console of `lab shell`, as it is and for its user"),
    ("dyntick-plugin/src/plugin/", "runs in QEMU, whose words are cleaned when they are told"),
    ("dyntick-plugin/src/steady/", "runs in QEMU, whose words are cleaned when they are told"),
    ("dyntick-replay/examples/speed/", "is a program of `make bench`, which is not shipped"),
    ("build.rs", "speaks to cargo"),
];

/// In code; a name within another, as in `my_println!`, is none of them.
const PRINTS: [&str; 7] = ["println!", "eprintln!", "print!", "eprint!", "dbg!", "stdout()", "stderr()"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Tests print why they are skipped, but no user runs them on a terminal.
        if path.is_dir() && name != "tests" && name != "target" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The lines that print: without comments, and without the tests at a file's end.
fn printing(text: &str) -> Vec<(usize, String)> {
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]" || !ends_with_tests(text, line));
    code.enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .filter(|(_, line)| PRINTS.iter().any(|word| stands_in(word, line)))
        .map(|(number, line)| (number + 1, line.trim().to_owned()))
        .collect()
}

/// True if this line is followed by the module of tests, and not by a single item.
fn ends_with_tests(text: &str, line: &str) -> bool {
    let at = line.as_ptr() as usize - text.as_ptr() as usize;
    text[at + line.len()..].trim_start().starts_with("mod tests")
}

fn stands_in(word: &str, line: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(is_name))
}

#[test]
fn only_the_output_layer_prints() {
    let (root, mut found) = (crates(), Vec::new());
    sources(&root, &mut found);
    assert!(found.len() > 200, "the sources are found: {}", found.len());
    let mut wrong = Vec::new();
    for path in &found {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if MAY.iter().any(|(place, _)| name.starts_with(place) || name.ends_with("/build.rs")) {
            continue;
        }
        for (line, code) in printing(&std::fs::read_to_string(path).unwrap()) {
            wrong.push(format!("crates/{name}:{line}: {code}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "print by crates/dyntick/src/output.rs, or return what is to be told:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn what_prints_is_seen() {
    let text = "fn a() {\n    eprintln!(\"x\");\n    let o = std::io::stdout().lock();\n    my_println!();\n    // print!()\n}\n";
    let seen: Vec<usize> = printing(text).into_iter().map(|(line, _)| line).collect();
    assert_eq!(seen, [2, 3]);
    assert!(printing("#[cfg(test)]\nmod tests {\n    println!();\n}\n").is_empty());
    for (place, why) in MAY {
        assert!(
            place == "build.rs" || crates().join(place).exists(),
            "{place} ({why}) is gone: leave it out"
        );
    }
}
