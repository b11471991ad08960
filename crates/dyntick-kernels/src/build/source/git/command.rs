// SPDX-License-Identifier: GPL-2.0-only
//! git as it is run here: in the sandbox that also builds, without the settings of user and machine, and without
//! running any program that a repository names. It sees the repository and the programs of this machine, and nothing
//! else.

use super::super::unpack;
use super::folders;
use crate::build::BuildError;
use crate::build::run::run_unquoted;
use crate::programs::{self, end_after, limit};
use dyntick_system::InputError;
use dyntick_system::confine::{Walls, ensure_outside_system, real_path};
use rustix::process::Resource;
use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The transports of remote repositories: they reveal nothing of the user. Not `ssh`, which does as the user's own
/// configuration says and offers the user's keys to whom a study names; not `ext`, which runs a command; and
/// not `file`: what is on this machine is named by its path.
pub const TRANSPORTS: [&str; 2] = ["https", "git"];

/// Settings that keep a repository's own configuration from running programs, and others that save time.
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

/// The time limit, s: the files of a kernel are copied in a minute, out of the packs of a full history in some.
const LOOK_THROUGH: u32 = 30 * 60;

/// The limit of one fetch, bytes: a commit of a kernel has 250 MiB.
pub const MOST_BYTES_OF_A_FETCH: u64 = 2 << 30;

/// One commit of a kernel has 250 MiB; a server that says nothing is not waited for without end.
const FETCH: u32 = 3 * 3600;

/// Proxies of the network, in capital letters or small ones.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];
/// Files and folders with certificates.
const CERTIFICATES: [&str; 5] =
    ["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"];

/// Walls that git runs in. It reads what this user may read of the repositories that are bound.
///
/// # Errors
/// If this machine cannot confine a program. A kernel of such a source could not be built here either.
pub fn walls() -> Result<Walls, BuildError> {
    let walls = Walls::new();
    let walls =
        walls.map_err(|reason| BuildError::NoWalls { what: "a git repository".to_owned(), reason })?;
    Ok(walls.as_reader())
}

/// Walls that a repository on this machine is seen in, with the files that are checked out.
///
/// # Errors
/// If it is not as git makes one ([`refuse_special_files`]).
pub fn walls_of(repository: &Path) -> Result<Walls, BuildError> {
    let parts = folders::of(repository)?;
    if parts.is_empty() {
        let what = format!("read {}", repository.display());
        return Err(BuildError::Failed { what, message: "there is no git repository".to_owned() });
    }
    refuse_special_files(&parts)?;
    let walls = walls()?.read(&real_path(repository));
    Ok(parts.iter().fold(walls, |walls, part| walls.read(part)))
}

/// git in a repository, inside these walls, for at most [`LOOK_THROUGH`].
///
/// # Errors
/// If git is not installed, or a file that the walls name cannot be bound.
pub fn git(repository: &Path, walls: &Walls) -> Result<Command, BuildError> {
    inside(&inner(repository), walls, LOOK_THROUGH, unpack::BYTES)
}

/// git that fetches into a repository of ours, and writes nothing else.
///
/// # Errors
/// The same as [`git`].
pub fn fetching(repository: &Path) -> Result<Command, BuildError> {
    let mut git = inner(repository);
    // What is fetched is one file, with that limit, and not any number of them.
    git.args(["-c", "fetch.unpackLimit=1"]);
    git.env("GIT_ALLOW_PROTOCOL", TRANSPORTS.join(":")).env("GIT_TERMINAL_PROMPT", "0");
    let mut walls = walls()?.write(&real_path(repository)).online();
    for (name, value) in std::env::vars_os() {
        let key = name.to_string_lossy();
        if PROXIES.contains(&key.to_uppercase().as_str()) {
            git.env(&name, value);
        } else if CERTIFICATES.contains(&&*key) {
            let place = real_path(Path::new(&value));
            // Those of /etc are there for every program that uses the network.
            if ensure_outside_system(&place).is_ok() {
                walls = walls.read(&place);
            }
            git.env(&name, place);
        }
    }
    inside(&git, &walls, FETCH, MOST_BYTES_OF_A_FETCH)
}

/// A repository on this machine decides how long git takes, how much memory it needs and how much it writes.
fn inside(git: &Command, walls: &Walls, seconds: u32, largest_file: u64) -> Result<Command, BuildError> {
    if programs::find("git").is_none() {
        return Err(BuildError::Missing { program: "git".to_owned(), package: "git".to_owned() });
    }
    let mut confined = walls.around(git)?;
    end_after(&mut confined, seconds);
    limit(&mut confined, Resource::Fsize, largest_file);
    // Of trees in trees git keeps all on the way down. For a commit of a kernel it needs some 200 MiB.
    limit(&mut confined, Resource::Data, MEMORY);
    Ok(confined)
}

/// git without the settings of user and machine, which runs nothing of the repository's own. Objects that a
/// partial clone lacks are not asked for.
fn inner(repository: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .env("PATH", programs::path_in_usr())
        .env("LC_ALL", "C")
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        // By these one commit is taken for another (git-replace(1), gitrepository-layout(5)), and a hash
        // names what is cached.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null")
        // Two deltas of some bytes make an object of any size; the largest file of a kernel has some 20 MiB.
        .env("GIT_ALLOC_LIMIT", "512m")
        .env("GIT_ALLOW_PROTOCOL", "file")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_PAGER", "cat");
    // What is no repository is none because a folder above it is one.
    let own = real_path(repository);
    command.env("GIT_CEILING_DIRECTORIES", own.parent().unwrap_or(&own));
    command.arg("-C").arg(own);
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
/// links in its folders, of which git makes none: they lead to files outside. The files that a repository
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
