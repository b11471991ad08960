// SPDX-License-Identifier: GPL-2.0-only
//! Debian's kernel sources, by the private apt.

use super::{BuildError, FOLDER, SourceError, unpack};
use crate::apt::{Apt, AptError, Package, of_cache};
use crate::cache::{Cache, CacheError};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PREFIX: &str = "linux-source-";

/// The newest package of a series. Where the mirror cannot be asked, what the cache holds serves; the second part is
/// how it may be another one than the newest.
pub fn newest(
    series: &str,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<(Package, Option<String>), BuildError> {
    let name = format!("{PREFIX}{series}");
    let asked = Apt::open(cache, progress)
        .and_then(|apt| Ok(apt.newest(&name)?.map(|version| (version, apt.of_earlier_index()))));
    let why = match (asked, in_cache(&name, cache)) {
        (Ok(Some((version, earlier))), _) => return Ok(((name, version), earlier)),
        (Ok(None), Some(version)) => (version, format!("the mirror has no {name} now")),
        (Err(error @ (AptError::Failed { .. } | AptError::NotDebian(_))), Some(version)) => {
            (version, error.in_short())
        }
        (Ok(None), None) => return Err(SourceError::NotOffered(series.to_owned()).into()),
        (Err(error), _) => return Err(error.into()),
    };
    let (version, why) = why;
    progress(&format!("{why}; using the cached {name} {version}"));
    Ok(((name, version), Some(of_cache(&why))))
}

/// The version that was unpacked last.
fn in_cache(name: &str, cache: &Cache) -> Option<String> {
    let entries = std::fs::read_dir(cache.path(FOLDER)).into_iter().flatten().flatten();
    let version = |entry: std::fs::DirEntry| {
        let file = entry.file_name().into_string().ok()?;
        let version = file.strip_prefix(name)?.strip_prefix('_')?.to_owned();
        (!version.ends_with(".lock")).then_some((entry.metadata().ok()?.modified().ok()?, version))
    };
    entries.filter_map(version).max().map(|(_, version)| version)
}

/// Fetches a package and unpacks the archive in it.
pub fn fetch(
    package: &Package,
    folder: &Path,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<(), BuildError> {
    let apt = Apt::open(cache, progress)?;
    let packages = [package.clone()];
    // Inside the folder, so that the two go together where this process is killed.
    let place = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(folder)
        .map_err(|error| CacheError::from_io(folder, error))?;
    apt.looking_again(cache, progress, || {
        if apt.newest(&package.0)?.is_some_and(|newest| newest != package.1) {
            return Err(BuildError::from(SourceError::Superseded(package.0.clone())));
        }
        let (download, _) = apt.size(&packages)?;
        progress(&format!("fetching {} {} ({} MiB)", package.0, package.1, download >> 20));
        Ok(apt.unpack(&packages, place.path())?)
    })?;
    progress(&format!("unpacking {}", package.0));
    let archive = archive(&place.path().join("usr/src"))
        .ok_or_else(|| SourceError::NotAKernel(format!("the package {}", package.0)))?;
    Ok(unpack::file(&archive, folder)?)
}

/// `linux-source-6.12.tar.xz`; patches are in the same folder.
fn archive(folder: &Path) -> Option<PathBuf> {
    let mut files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".tar.")))
}
