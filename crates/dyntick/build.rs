// SPDX-License-Identifier: GPL-2.0-only
//! The version that `dyntick --version` prints: with the commit, in release builds. A test build has none, so that a
//! commit does not have all tests compiled anew.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let version = variable("CARGO_PKG_VERSION");
    let named = match variable("PROFILE").as_str() {
        "release" => format!("{version} ({})", commit(&root)),
        _ => format!("{version} (test build)"),
    };
    println!("cargo:rustc-env=DYNTICK_VERSION={named}");
    println!("cargo:rerun-if-changed=build.rs");
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// The commit that these sources are of: as a source archive says it, or git; else "unknown".
fn commit(root: &Path) -> String {
    let file = root.join("COMMIT");
    println!("cargo:rerun-if-changed={}", file.display());
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // `git archive` writes the commit there (.gitattributes); in a repository it is a template.
    let of_archive = text.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == ' ';
    if !of_archive.is_empty() && of_archive.chars().all(is_plain) {
        let (hash, rest) = of_archive.split_once(' ').unwrap_or((of_archive, ""));
        return format!("{hash:.SHOWN$} {rest}").trim_end().to_owned();
    }
    of_git(root).unwrap_or_else(|| "unknown".to_owned())
}

/// The number of digits of a commit that are shown.
const SHOWN: usize = 12;

/// The sources of the binary; changes elsewhere do not matter.
const SOURCES: [&str; 7] = ["crates", "kernel", "machines", "studies", "Cargo.toml", "Cargo.lock", ".cargo"];

fn of_git(root: &Path) -> Option<String> {
    // Sources that were unpacked within another repository are not of its commit.
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    for place in ["HEAD", "logs/HEAD"] {
        let place = root.join(git(root, &["rev-parse", "--git-path", place])?);
        if place.exists() {
            println!("cargo:rerun-if-changed={}", place.display());
        }
    }
    for place in SOURCES {
        println!("cargo:rerun-if-changed={}", root.join(place).display());
    }
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let changes = git(root, &[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
    Some(format!("{commit:.SHOWN$}{}", if changes.is_empty() { "" } else { " modified" }))
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
