// SPDX-License-Identifier: GPL-2.0-only
//! git as it is run here: without the settings of user and machine, without running anything of a repository's, and
//! opening nothing but the repository.

use super::super::unpack;
use super::folders;
use crate::build::BuildError;
use crate::build::run::run_unquoted;
use crate::programs::{end_after, limit, without_devices};
use dyntick_system::InputError;
use dyntick_system::confine::real_path;
use dyntick_system::landlock::Files;
use rustix::process::Resource;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How repositories elsewhere are reached: by what says nothing of who asks. Not `ssh`, which does as the user's own
/// configuration says and offers the user's keys to whom a study names; not `ext`, which runs a command; and
/// not `file`: what is on this machine is named by its path.
pub const TRANSPORTS: [&str; 2] = ["https", "git"];

/// What a repository's own configuration could otherwise have git run, and what only takes time.
const SETTINGS: [&str; 17] = [
    // `$Format:%G?$` in a file with export-subst has git verify the commit's signature by these.
    "gpg.program=/bin/false",
    "gpg.openpgp.program=/bin/false",
    "gpg.x509.program=/bin/false",
    "gpg.ssh.program=/bin/false",
    // Whose ticket the user has is no server's business.
    "http.emptyAuth=false",
    // What is fetched is of the server that the study names.
    "http.followRedirects=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.alternateRefsCommand=true",
    // Damaged ones end git by a signal; it only saves time to read them.
    "core.multiPackIndex=false",
    "core.commitGraph=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    // Whose a repository is does not matter where nothing of it is run.
    "safe.directory=*",
];

/// The memory of git itself, bytes.
pub const MEMORY: u64 = 2 << 30;

/// The files of a kernel are looked through or copied in a minute, a whole history's packs behind them in some.
const LOOK_THROUGH: u32 = 30 * 60;

/// What one fetch may bring, bytes: a commit of a kernel has 250 MiB.
pub const MOST_BYTES_OF_A_FETCH: u64 = 2 << 30;

/// One commit of a kernel has 250 MiB; a server that says nothing is not waited for without end.
const FETCH: u32 = 3 * 3600;

/// The files of a repository on this machine, with those that are checked out.
///
/// # Errors
/// Where it is not as git makes one ([`refuse_special_files`]).
pub fn files_of(worktree: &Path) -> Result<Files, BuildError> {
    let mut parts = folders::of(worktree)?;
    parts.extend([worktree.join(".git/index")].into_iter().filter(|index| index.exists()));
    refuse_special_files(&parts)?;
    let own = Files::default().read(&real_path(worktree));
    Ok(parts.iter().fold(own, |files, place| files.read(place)))
}

/// git in a repository, which opens these files alone and no device, for the time that it takes to look
/// through a whole one.
pub fn git(repository: &Path, files: &Files) -> Command {
    let mut command = set(repository);
    without_devices(&mut command);
    end_after(&mut command, LOOK_THROUGH);
    files.hold(&mut command);
    command
}

/// git that fetches into a repository of ours, and writes nothing else.
pub fn fetching(repository: &Path) -> Command {
    let mut command = set(repository);
    end_after(&mut command, FETCH);
    limit(&mut command, Resource::Fsize, MOST_BYTES_OF_A_FETCH);
    // What is fetched is one file, with that limit, and not any number of them.
    command.args(["-c", "fetch.unpackLimit=1"]);
    Files::default().online().write(repository).hold(&mut command);
    command.env("GIT_ALLOW_PROTOCOL", TRANSPORTS.join(":")).env("GIT_TERMINAL_PROMPT", "0");
    command
}

/// git without the settings of user and machine, which runs nothing of the repository's own. Objects that a
/// partial clone lacks are not asked for.
fn set(repository: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        // By these one commit is taken for another (git-replace(1), gitrepository-layout(5)), and a hash
        // names what is cached.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null")
        // libcurl takes passwords from ~/.netrc, and Kerberos has tickets and keys, for whichever server asks.
        .env("HOME", "/nonexistent")
        .envs(["KRB5CCNAME", "KRB5_CLIENT_KTNAME", "KRB5_CONFIG"].map(|name| (name, "/dev/null")));
    // Two deltas of some bytes make an object of any size; the largest file of a kernel has some 20 MiB.
    command.env("GIT_ALLOC_LIMIT", "512m");
    command.env("GIT_ALLOW_PROTOCOL", "none").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_PAGER", "cat");
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT",
        "GIT_EXEC_PATH",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "XDG_CONFIG_HOME",
    ] {
        command.env_remove(name);
    }
    // Who serves a repository decides how much it sends, and git writes all of it into one file.
    limit(&mut command, Resource::Fsize, unpack::BYTES);
    // Of trees in trees git keeps all on the way down. For a commit of a kernel it needs some 200 MiB.
    limit(&mut command, Resource::Data, MEMORY);
    // What is no repository is none because a folder above it is one.
    let own = real_path(repository);
    command.env("GIT_CEILING_DIRECTORIES", own.parent().unwrap_or(&own));
    command.arg("-C").arg(repository);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
}

/// Asks git about a repository, whose files may be links to others of this machine: git quotes what it does
/// not understand. No command is named that says more: git as the user would run it runs what a repository's
/// configuration says.
pub fn ask(what: &str, command: &mut Command) -> Result<Output, BuildError> {
    let message = "git finds none, or cannot read the repository, of which the files of its worktree and of what it borrows \
        from are read, and no others";
    run_unquoted(what, command, message)
}

/// Refuses FIFOs and devices among what git reads of a repository, for which it would wait without end, and
/// links in its folders, of which git makes none: they lead to what nobody has asked for. What a repository
/// elsewhere has, which it may name, is met by git's time.
pub fn refuse_special_files(parts: &BTreeSet<PathBuf>) -> Result<(), BuildError> {
    for entry in parts.iter().flat_map(walkdir::WalkDir::new).flatten() {
        let kind = entry.file_type();
        if kind.is_symlink() {
            let path = entry.path().to_owned();
            return Err(InputError::NotRegular { path, kind: "a symbolic link" }.into());
        }
        if kind.is_fifo() || kind.is_char_device() || kind.is_block_device() {
            dyntick_system::open_regular(entry.path())?;
        }
    }
    Ok(())
}

/// A path in a list of git's, whose elements a colon would part.
pub fn quoted(path: &Path) -> OsString {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"").into()
}
