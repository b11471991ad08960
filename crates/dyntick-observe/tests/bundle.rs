// SPDX-License-Identifier: GPL-2.0-only
//! A machine's files, read behind a root, and through a bundle.

use dyntick_check::Content;
use dyntick_observe::snapshot::{self, bundle};
use std::path::Path;

#[test]
fn this_machine_comes_back_whole_out_of_its_bundle() {
    let files = snapshot::read(Path::new("/"));
    assert!(files.text("/proc/sys/kernel/osrelease").is_some());
    assert!(files.iter().any(|(path, _)| path.ends_with("/status")), "this test's own thread, at least");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.tar.gz");
    bundle::write(&files, &path).unwrap();
    assert_eq!(bundle::read(&path).unwrap(), files);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn nothing_private_is_read() {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("proc/cmdline", "nohz_full=1 quiet -- --password hush-hush\n");
    put("proc/7/task/7/status", "Name:\tx\nUid:\t1000\nCpus_allowed_list:\t0-1\n");
    put("proc/7/environ", "SECRET=hush-hush");
    put("proc/7/cmdline", "x\0hush-hush");
    put("dev/kmsg", "6,1,2,-;user hush-hush logged in\n6,2,3,-;Housekeeping: must include one present CPU\n");
    let files = snapshot::read(root.path());
    let all: Vec<(&str, &Content)> = files.iter().collect();
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!(files.text("/proc/cmdline"), Some("nohz_full=1 quiet"));
    assert_eq!(files.text("/proc/7/task/7/status"), Some("Cpus_allowed_list:\t0-1\n"));
    assert!(!format!("{all:?}").contains("hush-hush"));
}

#[test]
fn other_files_and_damaged_bundles_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.tar.gz");
    let said = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        bundle::read(&path).unwrap_err().to_string()
    };
    assert!(said(b"hello").contains("is not a support bundle"));
    assert!(said(b"").contains("is not a support bundle"));
    bundle::write(&snapshot::read(Path::new("/")), &path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let half = said(&whole[..whole.len() / 2]);
    assert!(half.contains("is damaged") && half.contains("make it again"), "{half}");
    assert!(
        bundle::read(&folder.path().join("none")).unwrap_err().to_string().contains("none: No such file")
    );
    let nowhere = folder.path().join("no/such/folder/b.tar.gz");
    assert!(bundle::write(&snapshot::read(Path::new("/")), &nowhere).is_err());
}
