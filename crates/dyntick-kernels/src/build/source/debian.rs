// SPDX-License-Identifier: GPL-2.0-only
//! Debian's kernel sources, by the private apt.

use super::{BuildError, FOLDER, SourceError, unpack};
use crate::apt::{Apt, AptError, Package, of_cache};
use crate::cache::{Cache, CacheError};
use dyntick_model::kernel_name::UNSTABLE;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PREFIX: &str = "linux-source-";

/// A package, and the suite of Debian that has it.
pub struct Offered {
    pub package: Package,
    suite: Option<&'static str>,
}

/// The newest package of a series, or of all in Debian's unstable suite. Where the mirror cannot be asked, what the
/// cache holds serves; the second part is how it may be another one than the newest.
pub fn newest(
    series: &str,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<(Offered, Option<String>), BuildError> {
    let suite = (series == UNSTABLE).then_some(UNSTABLE);
    let asked = Apt::of_suite(suite, cache, progress).and_then(|apt| {
        let name = if suite.is_some() {
            newest_name(apt.packages(PREFIX)?)
        } else {
            Some(format!("{PREFIX}{series}"))
        };
        let Some(name) = name else { return Ok(None) };
        Ok(apt.newest(&name)?.map(|version| ((name, version), apt.of_earlier_index())))
    });
    let why = match (asked, in_cache(series, cache)) {
        (Ok(Some((package, earlier))), _) => return Ok((Offered { package, suite }, earlier)),
        (Ok(None), Some(package)) => (package, format!("the mirror has no {PREFIX}{series} now")),
        (Err(error @ (AptError::Failed { .. } | AptError::NotDebian(_))), Some(package)) => {
            (package, error.in_short())
        }
        (Ok(None), None) => return Err(SourceError::NotOffered(series.to_owned()).into()),
        (Err(error), _) => return Err(error.into()),
    };
    let (package, why) = why;
    progress(&format!("{why}; using the cached {} {}", package.0, package.1));
    Ok((Offered { package, suite }, Some(of_cache(&why))))
}

/// The name with the highest version of a kernel in it, e.g. `linux-source-7.2`.
fn newest_name(names: impl IntoIterator<Item = String>) -> Option<String> {
    names.into_iter().filter_map(|name| Some((number_of(&name)?, name))).max().map(|(_, name)| name)
}

/// The series in the name of a package.
fn number_of(name: &str) -> Option<(u32, u32)> {
    let (major, minor) = name.strip_prefix(PREFIX)?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The package of a series that was unpacked last; of the unstable suite that of the newest series.
fn in_cache(series: &str, cache: &Cache) -> Option<Package> {
    let entries = std::fs::read_dir(cache.path(FOLDER)).into_iter().flatten().flatten();
    let package = |entry: std::fs::DirEntry| {
        let file = entry.file_name().into_string().ok()?;
        let (name, version) = file.split_once('_')?;
        let number = number_of(name)?;
        let fits = series == UNSTABLE || name.strip_prefix(PREFIX) == Some(series);
        let when = entry.metadata().ok()?.modified().ok()?;
        let rank = (number, when, (name.to_owned(), version.to_owned()));
        (fits && !version.ends_with(".lock")).then_some(rank)
    };
    entries.filter_map(package).max().map(|(.., package)| package)
}

/// Fetches a package and unpacks the archive in it.
pub fn fetch(
    offered: &Offered,
    folder: &Path,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<(), BuildError> {
    let (apt, package) = (Apt::of_suite(offered.suite, cache, progress)?, &offered.package);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_series_is_by_number() {
        let names =
            ["linux-source", "linux-source-6.12", "linux-source-7.2", "linux-source-6.9", "linux-source-x.y"];
        assert_eq!(newest_name(names.map(str::to_owned)).as_deref(), Some("linux-source-7.2"));
    }

    #[test]
    fn unpacked_sources_serve_without_a_mirror() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        for name in [
            "linux-source-6.12_6.12.9-1",
            "linux-source-7.2_7.2.1-1",
            "linux-source-7.2_7.2.1-1.lock",
            "else",
        ] {
            std::fs::create_dir_all(folder.path().join(FOLDER).join(name)).unwrap();
        }
        let found = |series| in_cache(series, &cache).map(|(name, version)| format!("{name} {version}"));
        assert_eq!(found("6.12").as_deref(), Some("linux-source-6.12 6.12.9-1"));
        assert_eq!(found(UNSTABLE).as_deref(), Some("linux-source-7.2 7.2.1-1"));
        assert_eq!(found("6.1"), None);
    }
}
