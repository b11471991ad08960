// SPDX-License-Identifier: GPL-2.0-only
//! Records and support bundles. An input that begins as such an archive does is read unchanged; any other is taken for
//! the pieces of one, which is made of them.

use crate::Pieces;
use dyntick_record::Record;
use dyntick_snapshot::bundle;
use std::path::Path;

/// Reads, explains and prints a record.
pub fn record(bytes: &[u8]) {
    let is_tar = bytes.starts_with(b"dyntick-record\0");
    let tar = if is_tar { bytes.to_vec() } else { Pieces::split(bytes).members() };
    let Ok(record) = Record::read_from(&tar[..], Path::new("x.dt")) else { return };
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
