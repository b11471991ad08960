// SPDX-License-Identifier: GPL-2.0-only
//! The laboratory's files: studies, machines, runs that were kept, what a guest sends.

use super::assert_clean;
use crate::Pieces;
use dyntick_guest::Archive;
use dyntick_lab::store;
use dyntick_study::Study;
use dyntick_study::machine;
use std::path::{Component, Path};

/// A study. Its relative paths lead into an empty folder.
pub fn study(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Err(problems) = Study::parse(Path::new("/nonexistent/study.toml"), &text) {
        let _ = problems.to_string();
    }
}

/// A machine's file.
pub fn machine(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("machine.toml");
    std::fs::write(&path, bytes).expect("a file");
    if let Err(error) = machine::load(&path) {
        let _ = error.to_string();
    }
}

/// The folder of a run.
pub fn stored_run(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in Pieces::split(bytes).0 {
        let name = Path::new(&name);
        let plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        if plain && name.components().count() <= 2 {
            let path = folder.path().join(name);
            let _ = path.parent().map(std::fs::create_dir_all);
            let _ = std::fs::write(path, content);
        }
    }
    if let Err(error) = store::load(folder.path()) {
        let _ = error.to_string();
    }
}

/// The archive of a guest: as it is, and with the right checksum before it, which is no secret.
pub fn guest_archive(bytes: &[u8]) {
    let _ = Archive::from_bytes(bytes);
    let checksum = twox_hash::XxHash64::oneshot(0, bytes).to_le_bytes();
    match Archive::from_bytes(&[&checksum[..], bytes].concat()) {
        Err(error) => assert_clean(&error.to_string()),
        Ok(archive) => {
            let plain =
                |name: &String| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
            assert!(archive.0.keys().all(plain), "a name of the guest's is a path: {:?}", archive.0.keys());
            assert_eq!(Archive::from_bytes(&archive.to_bytes()).as_ref(), Ok(&archive));
        }
    }
}
