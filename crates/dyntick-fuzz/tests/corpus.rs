// SPDX-License-Identifier: GPL-2.0-only
//! Each file of the corpus, as it is and changed in some ways. The time that it takes says whether a
//! reader hangs; `scripts/fuzz` searches for longer.

use dyntick_fuzz::{TARGETS, run};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::path::{Path, PathBuf};

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).unwrap();
        (path, bytes)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn each_target_has_a_corpus_and_each_corpus_a_target() {
    let folders = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")).unwrap();
    let mut names: Vec<String> =
        folders.map(|folder| folder.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    assert!(names.iter().all(|name| !corpus(name).is_empty()));
}

#[test]
fn every_file_of_the_corpus_is_read_or_refused() {
    for (target, reader) in TARGETS {
        for (path, bytes) in corpus(target) {
            println!("{}", path.display());
            reader(&bytes);
        }
        reader(b"");
    }
}

/// One change of an input.
#[derive(Clone, Debug)]
enum Change {
    /// Some bytes become others, from a place on.
    Overwrite(usize, Vec<u8>),
    /// Bytes are put in.
    Insert(usize, Vec<u8>),
    /// Removes this many bytes.
    Remove(usize, usize),
    /// Repeats this many bytes.
    Repeat(usize, usize),
    /// All behind a place is cut off.
    Cut(usize),
    /// A decimal number becomes another: the nth of them.
    Number(usize, &'static str),
}

/// Numbers at which something may break.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "255",
    "8192",
    "65536",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "18446744073709551615",
];

/// Bytes that mean something to one reader or another.
const WORDS: &[&[u8]] = &[
    b"\x00",
    b"\xff\xff\xff\xff",
    b"\x1b]0;x\x07",
    b"\n",
    b"\"",
    b"'",
    b"\\",
    b",",
    b"=",
    b"-",
    b"/../",
    b"== ",
    b"\n== x\n",
    b"[",
    b"]",
    b"{",
    b"}",
    b"0-8191",
    b"1-",
    b"N",
    b"all",
    b"$(id)",
    b"\xc3\x28",
    b"1e999",
    b"nan",
];

fn change() -> impl Strategy<Value = Change> {
    let bytes = prop_oneof![
        prop::sample::select(WORDS).prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 1..9),
    ];
    let at = any::<usize>();
    prop_oneof![
        4 => (at, bytes.clone()).prop_map(|(at, bytes)| Change::Overwrite(at, bytes)),
        2 => (at, bytes).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        2 => (at, 1usize..100).prop_map(|(at, length)| Change::Remove(at, length)),
        2 => (at, 1usize..400).prop_map(|(at, length)| Change::Repeat(at, length)),
        1 => at.prop_map(Change::Cut),
        4 => (at, prop::sample::select(NUMBERS)).prop_map(|(at, number)| Change::Number(at, number)),
    ]
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        let place = |at: &usize| at % (length + 1);
        match self {
            Change::Overwrite(at, new) => {
                let at = place(at);
                let end = length.min(at + new.len());
                bytes.splice(at..end, new.iter().copied());
            }
            Change::Insert(at, new) => _ = bytes.splice(place(at)..place(at), new.iter().copied()),
            Change::Remove(at, count) => _ = bytes.drain(place(at)..length.min(place(at) + count)),
            Change::Repeat(at, count) => {
                let piece = bytes[place(at)..length.min(place(at) + count)].to_vec();
                bytes.splice(place(at)..place(at), piece);
            }
            Change::Cut(at) => bytes.truncate(place(at)),
            Change::Number(which, number) => replace_number(bytes, *which, number),
        }
    }
}

fn replace_number(bytes: &mut Vec<u8>, which: usize, number: &str) {
    let begins = |at: &usize| bytes[*at].is_ascii_digit() && (*at == 0 || !bytes[at - 1].is_ascii_digit());
    let begins: Vec<usize> = (0..bytes.len()).filter(begins).collect();
    if begins.is_empty() {
        return;
    }
    let begin = begins[which % begins.len()];
    let end =
        bytes[begin..].iter().position(|byte| !byte.is_ascii_digit()).map_or(bytes.len(), |n| begin + n);
    bytes.splice(begin..end, number.bytes());
}

/// The number of changed inputs for each target, and the most changes of one.
const CASES: u32 = 200;
const CHANGES: usize = 6;

#[test]
fn every_changed_file_is_read_or_refused() {
    for (target, _) in TARGETS {
        let corpus = corpus(target);
        let input = (any::<prop::sample::Index>(), prop::collection::vec(change(), 1..=CHANGES));
        let config =
            Config { cases: CASES, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
        let outcome = TestRunner::new(config).run(&input, |(file, changes)| {
            let mut bytes = file.get(&corpus).1.clone();
            changes.iter().for_each(|change| change.apply(&mut bytes));
            run(target, &bytes);
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{target}: {error}"));
    }
}
