// SPDX-License-Identifier: GPL-2.0-only
//! Sources in git repositories, here or elsewhere: one commit of them.

use super::{BuildError, unpack};
use crate::build::program::run;
use crate::cache::Cache;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A commit, and the repository on this machine that has it.
pub struct Commit {
    repository: PathBuf,
    /// Its whole hash.
    pub hash: String,
}

/// Finds `REPOSITORY#REVISION`; without a revision, what is checked out. A repository elsewhere is
/// asked for that one commit only.
pub fn find(text: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Commit, BuildError> {
    let (repository, revision) = text.split_once('#').unwrap_or((text, "HEAD"));
    if Path::new(repository).exists() {
        let repository = PathBuf::from(repository);
        return Ok(Commit { hash: resolve(&repository, revision)?, repository });
    }
    let name = hex::encode(&Sha256::digest(repository)[..6]);
    let copy = cache.path(&format!("git/{name}"));
    let _lock = cache.lock(&format!("git/{name}"))?;
    progress(&format!("fetching {revision} of {repository}"));
    run("prepare a git repository", Command::new("git").args(["init", "--quiet", "--bare"]).arg(&copy))?;
    let what = format!("fetch {revision} of {repository}");
    run(&what, git(&copy).args(["fetch", "--quiet", "--depth=1", "--", repository, revision]))?;
    Ok(Commit { hash: resolve(&copy, "FETCH_HEAD")?, repository: copy })
}

fn resolve(repository: &Path, revision: &str) -> Result<String, BuildError> {
    let what = format!("find the revision '{revision}' in {}", repository.display());
    let revision = format!("{revision}^{{commit}}");
    let output = run(&what, git(repository).args(["rev-parse", "--verify", "--end-of-options", &revision]))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Unpacks the files of a commit.
pub fn unpack(commit: &Commit, folder: &Path) -> Result<(), BuildError> {
    let what = format!("read commit {}", commit.hash);
    let failed = |message: String| BuildError::Failed { what: what.clone(), message };
    let mut archive = git(&commit.repository);
    archive.args(["archive", "--prefix=linux/", &commit.hash]).stdout(Stdio::piped());
    let mut child = archive.spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(stdout) = child.stdout.take() {
        unpack::stream(stdout, folder, &format!("commit {}", commit.hash))?;
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(format!("git ended with {status}"))),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn git(repository: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository);
    command
}
