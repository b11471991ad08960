// SPDX-License-Identifier: GPL-2.0-only
//! The first inputs of the corpus are accepted by their readers: else a search from there finds little.

use dyntick_fuzz::Pieces;
use dyntick_lab::store;
use dyntick_record::Record;
use dyntick_snapshot::bundle;
use dyntick_study::{Study, machine};
use std::path::{Path, PathBuf};

fn seed(name: &str) -> (PathBuf, Vec<u8>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    (path, bytes)
}

#[test]
fn record_is_explained() {
    let (path, bytes) = seed("record/one-block");
    let record = Record::read_from(&Pieces::split(&bytes).members()[..], &path).unwrap();
    let explained = record.explain().unwrap();
    assert!(explained.per_cpu[0].interruptions > 3);
    assert_eq!(explained.undecoded, 0);
}

#[test]
fn the_bundle_has_all_its_files() {
    let (path, bytes) = seed("bundle/machine");
    let files = bundle::read_from(&Pieces::split(&bytes).archive()[..], &path).unwrap();
    assert!(files.text("/proc/cmdline").is_some());
}

#[test]
fn studies_and_machines_have_no_problem() {
    for name in ["study/adaptive-ticks.toml", "study/entry-costs.toml", "study/effects.toml"] {
        let (path, bytes) = seed(name);
        Study::parse(&path, std::str::from_utf8(&bytes).unwrap()).unwrap();
    }
    machine::load(&seed("machine/neoverse-n2.toml").0).unwrap();
}

#[test]
fn the_mails_have_a_patch() {
    let (_, bytes) = seed("mails/series");
    assert_eq!(dyntick_formats::mails::read(&bytes).unwrap().patches.len(), 1);
}

#[test]
fn the_run_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let (_, bytes) = seed("stored-run/idle");
    for (name, content) in Pieces::split(&bytes).0 {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let run = store::load(folder.path()).unwrap();
    assert!(!run.analysis.observations.is_empty());
}
