// SPDX-License-Identifier: GPL-2.0-only
//! Sources in git repositories, here or elsewhere: one commit of them.

pub mod command;
mod folders;

use super::{BuildError, unpack};
use crate::build::run::{run, run_unquoted};
use crate::cache::{Cache, CacheError, unused};
use crate::programs::{end_after, end_with_this_one};
use crate::remove::remove_tree;
use command::{MOST_BYTES_OF_A_FETCH, TRANSPORTS, ask, fetching, git, walls, walls_of};
use dyntick_system::confine::{Walls, real_path};
use rustix::process::Signal;
use sha2::{Digest, Sha256};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

/// A commit, and where it is on this machine.
pub struct Commit {
    /// The repository on this machine, or the copy of it.
    pub repository: PathBuf,
    /// The walls that the repository is seen in.
    walls: Walls,
    /// The full hash.
    pub hash: String,
}

/// The folder of the cache with copies of remote repositories.
const COPIES: &str = "git";
/// The limit of all together, bytes; a commit of a kernel has 250 MiB.
const MOST_BYTES: u64 = 8 << 30;
/// The limit of one before another commit is fetched into it, bytes.
const MOST_BYTES_OF_ONE: u64 = 4 << 30;

/// Removes copies with more than any may have, and of what is left those that were used longest ago.
pub fn remove_unused(cache: &Cache) {
    let copies = cache.path(COPIES);
    unused::remove_large(&copies, MOST_BYTES_OF_ONE + MOST_BYTES_OF_A_FETCH);
    unused::keep_at_most(&copies, MOST_BYTES);
}

/// The time to look a revision up, s: it takes seconds on a slow disk.
const LOOK_UP: u32 = 60;

/// The files that [`find`] reads of a repository on this machine, as far as they are known before it is read.
pub fn reads(text: &str) -> Vec<PathBuf> {
    let (repository, _) = split(text);
    if is_elsewhere(repository) {
        return Vec::new();
    }
    let mut all = vec![PathBuf::from(repository)];
    all.extend(folders::of(Path::new(repository)).unwrap_or_default());
    all
}

/// The repository and the revision; without one, what is checked out.
fn split(text: &str) -> (&str, &str) {
    text.split_once('#').unwrap_or((text, "HEAD"))
}

fn is_elsewhere(repository: &str) -> bool {
    repository.split_once("://").is_some_and(|(way, _)| TRANSPORTS.contains(&way))
}

/// Finds `REPOSITORY#REVISION`; without a revision, what is checked out. A repository elsewhere is
/// asked for that one commit only.
pub fn find(text: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Commit, BuildError> {
    let (repository, revision) = split(text);
    // Those search by a regular expression, which may take any time and memory.
    if revision.contains(":/") || revision.contains("{/") {
        let message = "name a branch, a tag or a commit, not the text of a message".to_owned();
        return Err(BuildError::Failed { what: format!("find '{revision}'"), message });
    }
    let is_elsewhere = is_elsewhere(repository);
    // A folder may have such a name.
    if !is_elsewhere && Path::new(repository).exists() {
        return here(Path::new(repository), revision);
    }
    if !is_elsewhere {
        let message = "it is no folder here, and its address begins with neither https:// nor git://; clone one that asks \
            who you are yourself, and name its folder";
        return Err(BuildError::Failed { what: format!("fetch {repository}"), message: message.to_owned() });
    }
    if names_a_user(repository) {
        let message = "leave the user and the password out of its address, which the report shows; clone it yourself, and name \
            its folder";
        return Err(BuildError::Failed {
            what: "fetch a repository".to_owned(),
            message: message.to_owned(),
        });
    }
    // `a:b` would write another reference of the copy.
    if revision.starts_with(['+', '^']) || revision.contains([':', '*']) {
        let message = "a revision is a branch, a tag or a commit".to_owned();
        return Err(BuildError::Failed { what: format!("fetch '{revision}'"), message });
    }
    let name = hex::encode(&Sha256::digest(repository)[..6]);
    let copy = cache.path(&format!("{COPIES}/{name}"));
    let _lock = cache.lock(&format!("{COPIES}/{name}"))?;
    // Each commit that was fetched stays in it.
    unused::remove_if_large(&copy, MOST_BYTES_OF_ONE);
    unused::keep_at_most(&cache.path(COPIES), MOST_BYTES);
    progress(&format!("fetching {revision} of {repository}"));
    prepare(&copy)?;
    remove_unfinished(&copy.join("objects/pack"));
    let what = format!("fetch {revision} of {repository}");
    let mut fetch = fetching(&copy)?;
    fetch.args(["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"]);
    run(&what, fetch.args(["--", repository, revision]))?;
    unused::touch(&copy);
    here(&copy, "FETCH_HEAD")
}

/// True if an address has a user before its host, as `https://user:password@host/path`.
fn names_a_user(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().is_some_and(|host| host.contains('@'))
}

/// Removes what a fetch that was ended has left, which nothing reads.
fn remove_unfinished(packs: &Path) {
    for entry in std::fs::read_dir(packs).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("tmp_") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// An empty repository, with neither hooks nor settings of the user's template.
fn prepare(place: &Path) -> Result<(), BuildError> {
    std::fs::create_dir_all(place).map_err(|error| CacheError::from_io(place, error))?;
    let mut init = git(place, &walls()?.write(&real_path(place)))?;
    init.args(["init", "--quiet", "--bare", "--template=", "."]);
    run("prepare a git repository", &mut init).map(|_| ())
}

fn here(repository: &Path, revision: &str) -> Result<Commit, BuildError> {
    let walls = walls_of(repository)?;
    let mut git = git(repository, &walls)?;
    end_after(&mut git, LOOK_UP);
    git.args(["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")]);
    let what = format!("find the revision '{revision}' in {}", repository.display());
    let output = ask(&what, &mut git)?;
    let hash = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
    Ok(Commit { hash, repository: real_path(repository), walls })
}

/// Unpacks the files of a commit. git reads its objects out of a repository without any settings: filters
/// that `.gitattributes` asks for are commands of the repository's configuration.
pub fn unpack(commit: &Commit, folder: &Path) -> Result<(), BuildError> {
    let what = format!("read commit {}", commit.hash);
    let failed = |message: String| BuildError::Failed { what: what.clone(), message };
    let copy = folder_beside(folder).map_err(|error| failed(error.to_string()))?;
    copy_objects(commit, copy.path())?;
    let mut archive = git(copy.path(), &walls()?.read(&real_path(copy.path())))?;
    archive.args(["archive", "--format=tar", "--prefix=linux/", &commit.hash]).stdout(Stdio::piped());
    // git quotes the tree's own attributes as they are, and a terminal would take them.
    archive.stdin(Stdio::null()).stderr(Stdio::null());
    end_with_this_one(&mut archive, Signal::TERM);
    let mut child = archive.spawn().map_err(|error| failed(error.to_string()))?;
    let unpacked =
        child.stdout.take().map(|stdout| unpack::stream(stdout, folder, &format!("commit {}", commit.hash)));
    let ended = child.wait().map_err(|error| failed(error.to_string()))?;
    // If the archive is refused, git ends too, by SIGPIPE.
    unpacked.transpose()?;
    if ended.success() { Ok(()) } else { Err(failed(format!("git ended with {ended}"))) }
}

/// The commits of a range of a repository on this machine as mails, the first one first (git-format-patch(1)).
///
/// # Errors
/// A repository or a range that git cannot read.
pub fn mails_of(repository: &Path, range: &str) -> Result<Vec<u8>, BuildError> {
    let mut git = git(repository, &walls_of(repository)?)?;
    git.args([
        "format-patch",
        "--stdout",
        "--no-signature",
        "--no-ext-diff",
        "--no-textconv",
        "--end-of-options",
    ]);
    git.arg(range);
    let what = format!("read the commits {range} of {}", repository.display());
    Ok(ask(&what, &mut git)?.stdout)
}

/// The hash of the commit that a revision of a repository on this machine names.
///
/// # Errors
/// A repository or a revision that git cannot read.
pub fn commit_of(repository: &Path, revision: &str) -> Result<String, BuildError> {
    Ok(here(repository, revision)?.hash)
}

/// The commits that are reached from `bad` and from none of `good`, the one that halves them best first
/// (`git rev-list --bisect-all`). The last one is `bad` itself.
///
/// # Errors
/// A repository that git cannot read.
pub fn halving(repository: &Path, bad: &str, good: &[String]) -> Result<Vec<String>, BuildError> {
    let mut git = git(repository, &walls_of(repository)?)?;
    git.args(["rev-list", "--bisect-all", "--end-of-options", bad]);
    git.args(good.iter().map(|commit| format!("^{commit}")));
    let output = ask(&format!("list the commits before {bad} in {}", repository.display()), &mut git)?;
    let lines = String::from_utf8_lossy(&output.stdout);
    Ok(lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}

/// The first line of a commit's message.
///
/// # Errors
/// A repository or a commit that git cannot read.
pub fn subject_of(repository: &Path, commit: &str) -> Result<String, BuildError> {
    let mut git = git(repository, &walls_of(repository)?)?;
    git.args(["show", "--no-patch", "--format=%s", "--end-of-options", commit]);
    let output = ask(&format!("read commit {commit} of {}", repository.display()), &mut git)?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

/// An empty folder that no other user may enter. Its name is fixed, so that the next process removes it after a kill.
fn folder_beside(folder: &Path) -> std::io::Result<TempDir> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let (name, place) = (format!("{name}{}", unused::OBJECTS), folder.parent().unwrap_or(folder));
    remove_tree(&place.join(&name))?;
    tempfile::Builder::new()
        .prefix(&name)
        .rand_bytes(0)
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(place)
}

/// Fetches a commit into a repository of its own, where each object has the name that its contents make. git takes an
/// object of a repository for what that repository calls it, so another text could stand under the name of a known
/// commit's file; such a commit lacks that object in the copy, and is refused.
fn copy_objects(commit: &Commit, copy: &Path) -> Result<(), BuildError> {
    // Settings of the command line do not reach the program at the other end.
    const OTHER_END: &str = "--upload-pack=git -c safe.directory=* -c pack.window=0 \
        -c uploadpack.allowAnySHA1InWant=true upload-pack";
    prepare(copy)?;
    let mut fetch = git(copy, &commit.walls.clone().write(&real_path(copy)))?;
    fetch.args(["-c", "fetch.unpackLimit=1", "fetch", "--quiet", "--depth=1", "--no-tags", OTHER_END]);
    fetch.arg("--").arg(&commit.repository).arg(&commit.hash);
    let message = "git could not read its objects: some are damaged or missing";
    run_unquoted(&format!("copy commit {}", commit.hash), &mut fetch, message).map(|_| ())
}

#[cfg(test)]
mod tests;
