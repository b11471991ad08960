// SPDX-License-Identifier: GPL-2.0-only
//! The laboratory without a network: what it falls back to is said, and is never another kernel than was named.
//!
//! `DYNTICK` names the binary under test, as in `lab.rs`.

use crate::harness::{binary, dyntick, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const STUDY: &str = "
title = 't'
question = 'q'
[defaults]
kernel = 'debian:6.12'
settle = '100ms'
measure = '100ms'
[[case]]
name = 'a'
";

/// A folder with a study, and a cache that has QEMU and the newest 6.12, as if nothing had ever been asked of Debian.
/// The files that were made from a kernel are there too, by the hash of its contents: to unpack one takes long.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("s.toml"), STUDY).unwrap();
        let place = Self { folder };
        // A case that is over at once has what it needs fetched, too.
        let mut run = dyntick();
        run.args(["lab", "run", "s.toml", "--set", "timeout=1ms", "--out", "first"]);
        run.current_dir(place.folder.path()).output().unwrap();
        let all = dyntick_kernels::cache::Cache::of_user().unwrap();
        std::fs::create_dir_all(place.cache().join("kernels")).unwrap();
        for made in ["qemu", "vmlinux", "plugins"] {
            copy(&all.path(made), &place.cache());
        }
        copy(&all.path("CACHEDIR.TAG"), &place.cache());
        let is_6_12 =
            |name: &str| name.starts_with("6.12.") && name.contains("-amd64_") && !name.ends_with(".lock");
        let kernels = std::fs::read_dir(all.path("kernels")).unwrap().flatten();
        for kernel in kernels.filter(|entry| is_6_12(&entry.file_name().to_string_lossy())) {
            copy(&kernel.path(), &place.cache().join("kernels"));
        }
        place
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn without_network(&self, words: &[&str]) -> Output {
        let mut run = Command::new("unshare");
        // An ordinary user gets a network namespace only in a user namespace.
        let user: &[&str] =
            if rustix::process::geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
        run.args(user).arg("--net").arg(binary()).args(["lab", "run", "s.toml"]).args(words);
        run.env("DYNTICK_CACHE", self.cache()).current_dir(self.folder.path()).output().unwrap()
    }
}

/// With links, which take no room.
fn copy(from: &Path, to: &Path) {
    let linked =
        Command::new("cp").args(["-al", "--"]).args([from, to]).stderr(std::process::Stdio::null()).status();
    if !linked.unwrap().success() {
        assert!(Command::new("cp").args(["-a", "--"]).args([from, to]).status().unwrap().success());
    }
}

fn has_namespaces() -> bool {
    let user: &[&str] =
        if rustix::process::geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    let tried = Command::new("unshare").args(user).args(["--net", "true"]).output();
    let works = tried.is_ok_and(|tried| tried.status.success());
    if !works {
        eprintln!("skipped: no network namespaces here");
    }
    works
}

#[test]
fn a_kernel_that_cannot_be_asked_for_is_no_other_one() {
    if !has_namespaces() {
        return;
    }
    let place = Place::new();
    let sid = place.without_network(&["--kernel", "debian:6.12", "--kernel", "debian:sid", "--out", "sid"]);
    let told = text(&sid.stderr);
    assert_eq!(sid.status.code(), Some(2), "{told}");
    assert!(
        told.contains("debian:sid") && told.contains("nothing was run, and no report was written"),
        "{told}"
    );
    assert!(!place.folder.path().join("sid").exists(), "{}", text(&sid.stdout));

    let series = place.without_network(&["--out", "series"]);
    assert!(series.status.success(), "{}", text(&series.stderr));
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "is the newest in the cache, and Debian may have a newer one";
    assert!(words(text(&series.stdout)).contains(said), "{}", text(&series.stdout));
    let json = place.without_network(&["--out", "series", "--json"]);
    assert!(words(text(&json.stdout)).contains("the newest in the cache"), "{}", text(&json.stdout));
}
