// SPDX-License-Identifier: GPL-2.0-only
//! Recording the machine at hand, where it can be recorded.

use dyntick_record::{FileError, Options, Record, RecordError, record_command};
use std::path::Path;

fn sleep() -> Option<Record> {
    let options = Options::new("0".parse().unwrap());
    match record_command(&options, &["sleep".to_owned(), "0.3".to_owned()]) {
        Ok((record, status)) => {
            assert!(status.success());
            Some(record)
        }
        Err(RecordError::Session(error)) => {
            eprintln!("skipped: no tracing on this machine: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn records_explains_keeps_and_reads_again() {
    let Some(record) = sleep() else { return };
    let (begin, end) = record.about.window_ns;
    assert!((end - begin) >= 300_000_000);
    let explained = record.explain().unwrap();
    assert_eq!(explained.per_cpu.len(), 1);
    assert_eq!(explained.undecoded, 0);
    let interruptions = record.interruptions(&record.trace.decode().unwrap());
    assert!(interruptions.iter().all(|interruption| interruption.cpu == 0));
    assert_eq!(interruptions.len() as u64, explained.per_cpu[0].listed(), "one pass, or all at once");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.dt");
    record.save(&path).unwrap();
    let again = Record::open(&path).unwrap();
    assert_eq!(again.about, record.about);
    assert_eq!(again.trace.metadata, record.trace.metadata);
    assert_eq!(again.trace.decode().unwrap(), record.trace.decode().unwrap());
    let piped = Record::read_from(&std::fs::read(&path).unwrap()[..], &path).unwrap();
    assert_eq!(piped.about, record.about);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "there is no other file");
    refuses_damage(&path);
}

fn refuses_damage(path: &Path) {
    let complete = std::fs::read(path).unwrap();
    let damage = |bytes: &[u8]| {
        std::fs::write(path, bytes).unwrap();
        Record::open(path).unwrap_err()
    };
    for length in [complete.len() - 1, complete.len() - 9, complete.len() / 2] {
        let error = damage(&complete[..length]);
        assert!(matches!(error, FileError::Damaged { .. }), "{length}: {error}");
    }
    let mut changed = complete.clone();
    changed[complete.len() - 6] ^= 1;
    assert!(matches!(damage(&changed), FileError::Damaged { .. }), "the checksum");
    for foreign in [&b""[..], b"#!/bin/sh\n", &complete[1..]] {
        assert!(matches!(damage(foreign), FileError::Foreign(_)));
    }
}

#[test]
fn a_cpu_that_is_not_there_is_named() {
    let options = Options::new("0,8000".parse().unwrap());
    let error = record_command(&options, &["true".to_owned()]).unwrap_err();
    assert!(error.to_string().contains("CPU 8000 is not online"), "{error}");
}
