// SPDX-License-Identifier: GPL-2.0-only
//! Debian's kernel sources, by the private apt.

use super::{BuildError, FOLDER, SourceError, unpack};
use crate::apt::{Apt, AptError, Package, of_cache};
use crate::cache::{Cache, unused};
use dyntick_model::kernel_name::UNSTABLE;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    progress(&format!("asking Debian's package index for {PREFIX}{series}"));
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
        (Ok(None), None) => return Err(not_offered(series, cache, progress).into()),
        (Err(error), _) => return Err(error.into()),
    };
    let (package, why) = why;
    progress(&format!("{why}; using the cached {} {}", package.0, package.1));
    Ok((Offered { package, suite }, Some(of_cache(&why))))
}

/// The error that there is no such package, with the series of all that there are.
fn not_offered(series: &str, cache: &Cache, progress: &dyn Fn(&str)) -> SourceError {
    let names = Apt::open(cache, progress).and_then(|apt| apt.packages(PREFIX)).unwrap_or_default();
    SourceError::NotOffered {
        series: series.to_owned(),
        offered: series_of(names.into_iter().chain(unpacked(cache))),
    }
}

/// The series in names of packages, the oldest first, and the unstable suite.
fn series_of(names: impl Iterator<Item = String>) -> Vec<String> {
    let numbers: BTreeSet<(u32, u32)> = names.filter_map(|name| number_of(&name)).collect();
    let named = numbers.iter().map(|(major, minor)| format!("{major}.{minor}"));
    named.chain([UNSTABLE.to_owned()]).collect()
}

/// The names of the packages that are unpacked in the cache.
fn unpacked(cache: &Cache) -> Vec<String> {
    let entries = std::fs::read_dir(cache.path(FOLDER)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| !name.ends_with(".lock"))
        .filter_map(|name| Some(name.split_once('_')?.0.to_owned()))
        .collect()
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

/// The folder of the cache with packages whose archive is not unpacked yet.
const PACKAGES: &str = "source-packages";

/// The time that a package stays whose archive no build has unpacked.
const UNUSED: Duration = Duration::from_secs(7 * 24 * 3600);

/// Removes what builds have fetched and, since they were ended, did not unpack.
pub fn remove_unused(cache: &Cache) {
    unused::remove_old(&cache.path(PACKAGES), UNUSED);
}

/// Fetches a package and unpacks the archive in it. The package stays in the cache until it is unpacked: where this
/// process is killed meanwhile, the next one need not fetch it again.
pub fn fetch(
    offered: &Offered,
    folder: &Path,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<(), BuildError> {
    let (name, version) = &offered.package;
    let entry = format!("{PACKAGES}/{name}_{}", version.replace([':', '/'], "_"));
    let place = cache.folder(&entry, |place| fetch_package(offered, place, cache, progress))?;
    progress(&format!("unpacking {name}"));
    let archive = archive(&place.join("usr/src"))
        .ok_or_else(|| SourceError::NotAKernel(format!("the package {name}")))?;
    let unpacked = unpack::file(&archive, folder);
    cache.discard(&entry)?;
    Ok(unpacked?)
}

fn fetch_package(
    offered: &Offered,
    folder: &Path,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<(), BuildError> {
    let (apt, package) = (Apt::of_suite(offered.suite, cache, progress)?, &offered.package);
    let packages = [package.clone()];
    apt.looking_again(cache, progress, || {
        if apt.newest(&package.0)?.is_some_and(|newest| newest != package.1) {
            return Err(BuildError::from(SourceError::Superseded(package.0.clone())));
        }
        let (download, _) = apt.size(&packages)?;
        progress(&format!("fetching {} {} ({} MiB)", package.0, package.1, download >> 20));
        Ok(apt.unpack(&packages, folder)?)
    })
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
        let offered = ["linux-source", "linux-source-6.1"].map(str::to_owned);
        let series = series_of(offered.into_iter().chain(unpacked(&cache)));
        assert_eq!(series, ["6.1", "6.12", "7.2", "sid"]);
        let error = SourceError::NotOffered { series: "9.99".into(), offered: series };
        assert_eq!(
            error.to_string(),
            "Debian offers no package linux-source-9.99, and none is cached: \
             choose debian:6.1, debian:6.12, debian:7.2, debian:sid"
        );
    }

    #[test]
    fn a_package_that_was_fetched_is_not_fetched_again() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let package = ("linux-source-6.12".to_owned(), "6.12.9-1".to_owned());
        let place = cache.path(PACKAGES).join("linux-source-6.12_6.12.9-1");
        std::fs::create_dir_all(place.join("usr/src")).unwrap();
        // Not compressed: a bare Debian has no xz.
        let packed = std::process::Command::new("sh")
            .args(["-c", "mkdir linux && echo mainmenu > linux/Kconfig && tar -cf usr/src/linux-source-6.12.tar.xz linux"])
            .current_dir(&place)
            .status()
            .unwrap();
        assert!(packed.success());
        let (folder, told) = (tempfile::tempdir().unwrap(), std::cell::RefCell::new(Vec::new()));
        let offered = Offered { package, suite: None };
        fetch(&offered, folder.path(), &cache, &|text| told.borrow_mut().push(text.to_owned())).unwrap();
        assert_eq!(told.into_inner(), ["unpacking linux-source-6.12"], "no apt was asked");
        assert!(
            folder.path().join("Kconfig").exists() && !place.exists(),
            "it is unpacked, and needed no more"
        );
    }
}
