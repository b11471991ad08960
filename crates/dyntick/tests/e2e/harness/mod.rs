// SPDX-License-Identifier: GPL-2.0-only
//! Shared by all end-to-end tests: the binary under test, and what it printed.

pub mod documents;
mod guests;
pub mod hog;
pub mod kills;
pub mod schema;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The binary under test: the one that `DYNTICK` names, or the one that was built with these tests.
pub fn binary() -> PathBuf {
    std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into()).into()
}

/// The program that disturbs CPUs of guests and applies fixes there (crate `dyntick-trials`). It is built with these
/// tests, and a guest has it at the same place as the host (`--tool`).
pub fn trials_program() -> String {
    let path = Path::new(env!("CARGO_BIN_EXE_dyntick")).with_file_name("dyntick_trials");
    path.to_str().expect("a target folder with a name in UTF-8").to_owned()
}

/// True if everything is asked for (`make test-full`): repetitions that only widen what is covered are few otherwise.
pub fn is_full() -> bool {
    std::env::var("DYNTICK_TESTS").is_ok_and(|size| size == "full")
}

/// A command of the binary under test.
pub fn dyntick() -> Command {
    let mut command = Command::new(binary());
    guests::mark(&mut command);
    command
}

/// Runs the binary under test in a folder.
pub fn dyntick_in(folder: &Path, arguments: &[&str]) -> Output {
    dyntick().args(arguments).current_dir(folder).output().unwrap()
}

/// The console of a guest in virtual time, by options of `lab shell`, in which a command runs and succeeds.
pub fn in_guest(options: &[&str], command: &[&str]) -> String {
    let mut shell = dyntick();
    shell.args(["lab", "shell", "--virtual"]).args(options).arg("--").args(command);
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let console = text(&output.stdout).replace('\r', "");
    assert!(output.status.success(), "{options:?}: {console}{}", text(&output.stderr));
    console
}

/// The options of `lab shell` for programs of the host.
pub fn tools<'t>(tools: &[&'t str]) -> Vec<&'t str> {
    tools.iter().flat_map(|tool| ["--tool", tool]).collect()
}

/// A command's output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The cache of the binary under test.
pub fn cache() -> PathBuf {
    std::env::var_os("DYNTICK_CACHE")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cache/dyntick"))
}

/// The image of a series that the cache has.
pub fn image_of(series: &str) -> PathBuf {
    let images =
        std::fs::read_dir(cache().join("kernels")).unwrap().flatten().map(|entry| entry.path().join("boot"));
    let mut files =
        images.filter_map(|boot| std::fs::read_dir(boot).ok()).flatten().flatten().map(|file| file.path());
    let begin = format!("vmlinuz-{series}.");
    files.find(|path| path.file_name().unwrap().to_string_lossy().starts_with(&begin)).unwrap()
}
