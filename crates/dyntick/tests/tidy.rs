// SPDX-License-Identifier: GPL-2.0-only
//! The rules of ARCHITECTURE.md and CONTRIBUTING.md for every file and crate.

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/words.rs"]
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A crate as the table of floors in ARCHITECTURE.md has it.
struct Room {
    floor: u32,
    is_pure: bool,
}

/// The rows `| FLOOR | `CRATE` | what lives there | … |` with a number.
fn floors() -> BTreeMap<String, Room> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let floor = cells.get(1)?.parse().ok()?;
        let is_pure = floor == 0 || cells.get(3)?.ends_with("; pure") || cells.get(3)?.contains("; pure ");
        Some((cells.get(2)?.trim_matches('`').to_owned(), Room { floor, is_pure }))
    };
    text.lines().filter_map(row).collect()
}

/// The crates of this workspace that a crate is built with, tests aside.
fn dependencies(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let mut table = "";
    let mut found = Vec::new();
    for line in text.lines() {
        table = if line.starts_with('[') { line } else { table };
        if table == "[dependencies]" && line.starts_with("dyntick-") {
            found.extend(line.split(['.', ' ', '=']).next().map(str::to_owned));
        }
    }
    found
}

#[test]
fn code_depends_downward() {
    let floors = floors();
    assert!(floors.len() > 10, "the table was found");
    for (name, room) in &floors {
        for below in dependencies(name) {
            let other = floors.get(&below).unwrap_or_else(|| panic!("{below} is not in the table"));
            assert!(
                other.floor < room.floor,
                "{name} is on floor {}, {below} on {}",
                room.floor,
                other.floor
            );
        }
    }
    let is_crate = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    for name in std::fs::read_dir(root().join("crates")).unwrap().flatten().map(is_crate) {
        assert!(
            floors.contains_key(&name) || name == "dyntick-fuzz",
            "{name} is not in ARCHITECTURE.md's table"
        );
    }
}

/// All files of a kind below a folder.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    all_files(folder).into_iter().filter(|path| path.extension().is_some_and(|it| it == ending)).collect()
}

/// All files below a folder, without what is built there.
fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true if path.ends_with("target") || path.ends_with(".git") => {}
            true => found.extend(all_files(&path)),
            false => found.push(path),
        }
    }
    found
}

#[test]
fn what_is_pure_touches_nothing() {
    const IO: [&str; 6] =
        ["std::fs", "std::net", "std::process::Command", "std::env::", "Instant::now", "SystemTime::now"];
    for (name, _) in floors().iter().filter(|(_, room)| room.is_pure) {
        for file in files(&root().join("crates").join(name).join("src"), "rs") {
            let text = std::fs::read_to_string(&file).unwrap();
            // Tests may read what they want, in a module at the end or in a file of their own.
            if file.ends_with("tests.rs") {
                continue;
            }
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let used = IO.iter().find(|word| code.contains(**word));
            assert_eq!(used, None, "{} is of a pure crate", file.display());
        }
    }
}

#[test]
fn each_file_says_whose_it_is_and_what_it_is_about() {
    for file in files(&root().join("crates"), "rs") {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("// SPDX-License-Identifier: GPL-2.0-only"), "{}", file.display());
        // A rule's title says what it is about.
        let is_rule = file.parent().is_some_and(|folder| folder.ends_with("rules"));
        let opens = lines.next().is_some_and(|line| line.starts_with("//!"));
        assert!(opens || is_rule || file.ends_with("tests.rs"), "{} has no opening comment", file.display());
    }
}

/// rustfmt keeps code narrow, where a text or a macro lets it, and leaves comments alone.
#[test]
fn no_comment_is_wide() {
    for file in files(&root().join("crates"), "rs") {
        let text = std::fs::read_to_string(&file).unwrap();
        let wide = |line: &str| line.trim_start().starts_with("//") && line.chars().count() > 120;
        let found = text.lines().position(wide).map(|line| line + 1);
        assert_eq!(found, None, "{} has a comment of more than 120 columns", file.display());
    }
}

/// Perl reads a literal as bytes otherwise, and writes each of its bytes as a character.
#[test]
fn perl_scripts_with_letters_beyond_ascii_use_utf8() {
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("scripts")).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&entry).unwrap_or_default();
        if !text.starts_with("#!/usr/bin/perl") {
            continue;
        }
        seen += 1;
        let has_letters = text.lines().any(|line| !line.is_ascii() && !line.starts_with('#'));
        assert!(!has_letters || text.lines().any(|line| line == "use utf8;"), "{}", entry.display());
    }
    assert!(seen > 0);
}

/// Files and folders that the map names, as `CRATE/FILE`, by the end of that path, or by the path from the top.
#[test]
fn each_place_on_the_map_is_there() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut there = BTreeSet::new();
    for file in all_files(&root()) {
        let path = file.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let short = path.strip_prefix("crates/dyntick-").map(|rest| rest.replacen("/src/", "/", 1));
        there.extend([path, short.unwrap_or_default()].map(|path| format!("/{path}")));
    }
    let is_there = |place: &str| {
        let (place, folder) = (format!("/{}", place.trim_end_matches('/')), place.ends_with('/'));
        there
            .iter()
            .any(|path| if folder { path.contains(&format!("{place}/")) } else { path.ends_with(&place) })
    };
    // Every other piece between backticks is code.
    let places = map.split('`').skip(1).step_by(2).filter(|text| {
        let is_path = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        is_path
            && !text.starts_with('/')
            && (text.ends_with(".rs") || (text.ends_with('/') && text.contains("src/")))
    });
    let missing: Vec<&str> = places.filter(|place| !is_there(place)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Each invariant of the map is cited by code, and no other is.
#[test]
fn each_invariant_is_kept_somewhere() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let of_map = map.split("## Invariants").nth(1).unwrap().split("\n## ").next().unwrap();
    let number = |line: &str| line.split_once(". **")?.0.parse().ok();
    let stated: BTreeSet<u32> = of_map.lines().filter_map(number).collect();
    assert!(stated.len() > 10, "they were found");
    let mut cited = BTreeSet::new();
    for file in
        files(&root().join("crates"), "rs").into_iter().filter(|file| !file.ends_with("tests/tidy.rs"))
    {
        let text = std::fs::read_to_string(file).unwrap();
        let numbers =
            text.split("invariant ").skip(1).map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        cited.extend(numbers.filter_map(|number| number?.parse::<u32>().ok()));
    }
    assert_eq!(cited, stated);
}

#[test]
fn no_files_of_a_crate_use_one_another_in_a_circle() {
    let is_crate = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    for name in std::fs::read_dir(root().join("crates")).unwrap().flatten().map(is_crate) {
        let src = root().join("crates").join(&name).join("src");
        let found = circles::circles(&src, &files(&src, "rs"));
        assert!(found.is_empty(), "{name}: files use one another in a circle: {found:?}");
    }
}
