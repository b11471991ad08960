// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab bisect`: from two revisions to the commit between them. `make test-kernels` runs what compiles kernels.

use crate::harness::{dyntick, dyntick_in, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const CONDITION: &str = "ticks_per_s < 2";

fn git(tree: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0", "-c", "commit.gpgsign=false"]);
    let output = git.args(arguments).current_dir(tree).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
}

fn commit(tree: &Path, subject: &str) {
    git(tree, &["commit", "--quiet", "--all", "--message", subject]);
}

/// Replaces a text of a file, which has it once.
fn replace(tree: &Path, file: &str, old: &str, new: &str) {
    let file = tree.join(file);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches(old).count(), 1, "{old} in {}", file.display());
    std::fs::write(file, text.replace(old, new)).unwrap();
}

#[test]
fn revisions_in_the_wrong_order_are_an_error_before_anything_is_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    git(&tree, &["init", "--quiet"]);
    for number in ["1", "2"] {
        std::fs::write(tree.join("file"), number).unwrap();
        git(&tree, &["add", "file"]);
        commit(&tree, number);
    }
    let refused = |good: &str, bad: &str, condition: &str| {
        let arguments = ["lab", "bisect", "--tree", "tree", "--good", good, "--bad", bad, "--", condition];
        let output = dyntick_in(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        text(&output.stderr)
    };
    let said = refused("HEAD", "HEAD~1", CONDITION);
    assert!(said.contains("HEAD~1 is not after HEAD"), "{said}");
    assert!(refused("HEAD~1", "no-such-branch", CONDITION).contains("no-such-branch"));
    assert!(refused("HEAD~1", "HEAD", "ticks").contains("cannot read the condition 'ticks'"));
}

/// A tree of Debian's source with six commits: a comment, a build that is broken and repaired, the change, a comment.
fn kernel(folder: &Path) -> PathBuf {
    let sources = std::fs::read_dir(crate::harness::cache().join("sources"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let is_one = |path: &PathBuf| {
        path.is_dir() && path.file_name().unwrap().to_string_lossy().starts_with("linux-source-6.12_")
    };
    let source = sources.into_iter().find(is_one).expect("the source of a kernel that was built here");
    let tree = folder.join("linux");
    let copied = Command::new("cp").args(["-a", "--reflink=auto"]).args([&source, &tree]).status().unwrap();
    assert!(copied.success());
    let _ = std::fs::remove_file(tree.join(".gitignore"));
    git(&tree, &["init", "--quiet"]);
    git(&tree, &["add", "--all"]);
    commit(&tree, "the release");
    let common = "kernel/time/tick-common.c";
    let comment = |subject: &str| {
        replace(
            &tree,
            common,
            "void __init tick_init(void)",
            &format!("/* {subject} */\nvoid __init tick_init(void)"),
        );
        commit(&tree, subject);
    };
    comment("a first comment");
    replace(&tree, common, "void __init tick_init(void)\n{", "void __init tick_init(void)\n{ no such thing");
    commit(&tree, "break the build");
    replace(&tree, common, "{ no such thing", "{");
    commit(&tree, "repair the build");
    let stop = "static bool can_stop_full_tick(int cpu, struct tick_sched *ts)\n{";
    replace(&tree, "kernel/time/tick-sched.c", stop, &format!("{stop}\n\tif (cpu)\n\t\treturn false;\n"));
    commit(&tree, "keep the tick");
    comment("a second comment");
    tree
}

#[test]
#[ignore = "builds kernels: make test-kernels"]
fn the_commit_is_found_and_an_interrupted_search_continues() {
    let folder = tempfile::tempdir().unwrap();
    // The source is in the cache as soon as a kernel of it was built.
    let built = dyntick_in(
        folder.path(),
        &["lab", "build", "--source", "debian:6.12", "--config", "lab,no-hz-full,ipv6"],
    );
    assert!(built.status.success(), "{}", text(&built.stderr));
    kernel(folder.path());
    let words =
        ["lab", "bisect", "--tree", "linux", "--good", "HEAD~5", "--bad", "HEAD", "--json", "--", CONDITION];
    let mut first = dyntick();
    first.args(words).current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let first = first.spawn().unwrap();
    let state = folder.path().join("out/bisect/bisect.json");
    ended_once_there(first, &state);
    let tested =
        |text: &str| serde_json::from_str::<Value>(text).unwrap()["tested"].as_array().unwrap().len();
    let before = tested(&std::fs::read_to_string(&state).unwrap());
    let output = dyntick_in(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["first_bad"]["subject"], "keep the tick", "{found:#}");
    assert!(before >= 1 && tested(&text(&output.stdout)) >= before, "{found:#}");
    let page = text(
        &dyntick_in(
            folder.path(),
            &words.map(|word| if word == "--json" { "--out=out/bisect" } else { word }),
        )
        .stdout,
    );
    assert!(page.contains("keep the tick") && page.contains("at it."), "{page}");
}

/// Ends a search by Ctrl-C's signal once it has tested a commit.
fn ended_once_there(mut search: Child, state: &Path) {
    while !state.exists() {
        assert!(search.try_wait().unwrap().is_none(), "it ended before it tested a commit");
        std::thread::sleep(Duration::from_millis(100));
    }
    crate::harness::kills::kill(&search, libc::SIGINT);
    assert!(!search.wait().unwrap().success());
}
