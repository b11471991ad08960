// SPDX-License-Identifier: GPL-2.0-only
//! Records and support bundles. What begins as gzip does is read as it is; all else is taken as the
//! pieces of an archive, which is made of them.

use crate::Pieces;
use dyntick_record::Record;
use dyntick_snapshot::bundle;
use std::path::Path;

/// A record of format 1: read, explained and shown.
pub fn record(bytes: &[u8]) {
    told(&packed(bytes));
}

/// A record of the format that is written. What begins as a tar does is read as it is.
pub fn record_file(bytes: &[u8]) {
    match bytes.starts_with(b"dyntick-record\0") {
        true => told(bytes),
        false => told(&Pieces::split(bytes).members()),
    }
}

fn told(bytes: &[u8]) {
    let Ok(record) = Record::read_from(bytes, Path::new("x.dt")) else { return };
    let Ok(explained) = record.explain() else { return };
    let findings = explained.findings();
    serde_json::to_string(&findings).expect("findings are JSON");
}

/// A bundle: read and checked.
pub fn bundle(bytes: &[u8]) {
    if let Ok(files) = bundle::read_from(&packed(bytes)[..], Path::new("b.tar.gz")) {
        super::check::judge(&files);
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => bytes.to_vec(),
        false => Pieces::split(bytes).archive(),
    }
}
