// SPDX-License-Identifier: GPL-2.0-only
//! Debian's kernels: offered by apt, unpacked in the cache.

use super::{Files, KernelError};
use crate::apt::{Apt, AptError};
use crate::cache::Cache;
use std::path::PathBuf;

/// Where unpacked packages are in the cache, each in a folder RELEASE_VERSION.
const FOLDER: &str = "kernels";
const PREFIX: &str = "linux-image-";

/// A package that is unpacked in the cache.
pub(super) struct Unpacked {
    /// As `6.12.117+deb12-amd64`.
    pub release: String,
    /// The version of the package.
    pub version: String,
    /// Where it is.
    pub folder: PathBuf,
}

/// All packages that are unpacked in the cache, by name.
pub(super) fn unpacked(cache: &Cache) -> Vec<Unpacked> {
    let entries = std::fs::read_dir(cache.path(FOLDER)).into_iter().flatten().flatten();
    let package = |folder: PathBuf| {
        let (release, version) = folder.file_name()?.to_str()?.split_once('_')?;
        // What is being fetched has a hidden name.
        let whole = folder.is_dir() && !release.starts_with('.');
        whole.then(|| Unpacked {
            release: release.to_owned(),
            version: version.to_owned(),
            folder: folder.clone(),
        })
    };
    let mut packages: Vec<Unpacked> = entries.filter_map(|entry| package(entry.path())).collect();
    packages.sort_by_key(|package| (numbers(&package.release), numbers(&package.version)));
    packages
}

/// The release of the newest kernel of a series and flavour that the mirror has.
pub(super) fn newest_offered(apt: &Apt, series: &str, flavour: &str) -> Result<Option<String>, AptError> {
    let packages = apt.packages(&format!("{PREFIX}{series}."))?;
    let releases = packages.iter().filter_map(|package| package.strip_prefix(PREFIX));
    Ok(newest_of(releases, series, flavour).map(str::to_owned))
}

/// The newest kernel of a series and flavour. Where the mirror cannot be reached, the newest in the
/// cache serves, and `progress` is told so.
pub(super) fn newest(
    series: &str,
    flavour: &str,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<Files, KernelError> {
    let offered = || {
        let apt = Apt::open(cache, progress)?;
        let name = format!("{series}{}{flavour}", if flavour.is_empty() { "" } else { "-" });
        let release = newest_offered(&apt, series, flavour)?.ok_or(KernelError::NotOffered(name))?;
        fetched(&apt, &release, cache, progress)
    };
    offered().or_else(|error| {
        let packages = unpacked(cache);
        let release = newest_of(packages.iter().map(|package| package.release.as_str()), series, flavour);
        match (&error, release.and_then(|release| in_cache(release, cache))) {
            (KernelError::Apt(AptError::Failed { .. }), Some(files)) => {
                progress(&format!("{error}; going on with {}, which is in the cache", files.source));
                Ok(files)
            }
            _ => Err(error),
        }
    })
}

/// The kernel of one release: of the cache, where it also outlasts its time at the mirror.
pub(super) fn exact(release: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Files, KernelError> {
    match in_cache(release, cache) {
        Some(files) => Ok(files),
        None => fetched(&Apt::open(cache, progress)?, release, cache, progress),
    }
}

fn in_cache(release: &str, cache: &Cache) -> Option<Files> {
    let newest = unpacked(cache).into_iter().rev().find(|package| package.release == release)?;
    files(&newest).ok()
}

fn fetched(apt: &Apt, release: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Files, KernelError> {
    let package = format!("{PREFIX}{release}");
    let version = apt.newest(&package)?.ok_or_else(|| KernelError::NotOffered(release.to_owned()))?;
    let entry = format!("{FOLDER}/{release}_{}", version.replace([':', '/'], "_"));
    let folder = cache.folder::<KernelError>(&entry, |folder| {
        let packages = [(package.clone(), version.clone())];
        let (download, _) = apt.size(&packages)?;
        progress(&format!("fetching {package} {version} ({} MiB)", download >> 20));
        apt.unpack(&packages, folder)?;
        // Documentation is all that is left besides the kernel and its modules.
        let _ = std::fs::remove_dir_all(folder.join("usr/share"));
        Ok(())
    })?;
    files(&Unpacked { release: release.to_owned(), version, folder })
}

fn files(package: &Unpacked) -> Result<Files, KernelError> {
    let name = format!("{PREFIX}{}", package.release);
    let image = package.folder.join(format!("boot/vmlinuz-{}", package.release));
    if !image.is_file() {
        return Err(KernelError::EmptyPackage(name));
    }
    let source = format!("Debian package {name} {}", package.version);
    Ok(Files { source, package: Some((name, package.version.clone())), ..Files::at(image) })
}

/// The release with the highest numbers among those of one series and flavour.
fn newest_of<'a>(releases: impl Iterator<Item = &'a str>, series: &str, flavour: &str) -> Option<&'a str> {
    let fits = |release: &&str| {
        let Some(release) = release.strip_suffix("-amd64") else { return false };
        let (numbers, this) = match release.rsplit_once('-') {
            Some((numbers, this @ ("rt" | "cloud"))) => (numbers, this),
            _ => (release, ""),
        };
        let point = numbers.strip_prefix(series).and_then(|rest| rest.strip_prefix('.'));
        this == flavour && point.is_some_and(|point| point.starts_with(|c: char| c.is_ascii_digit()))
    };
    releases.filter(fits).max_by_key(|release| numbers(release))
}

/// "6.12.117+deb12" and "6.1.0-56": all numbers in order decide which is newer.
fn numbers(text: &str) -> Vec<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_of_a_series() {
        let releases = [
            "6.12.9+deb12-amd64",
            "6.12.111+deb12-amd64",
            "6.12.117+deb12-rt-amd64",
            "6.12.117+deb12-amd64-unsigned",
            "6.12.117+deb12-amd64-dbg",
            "6.1.0-9-amd64",
            "6.1.0-56-amd64",
        ];
        let newest = |series, flavour| newest_of(releases.into_iter(), series, flavour);
        assert_eq!(newest("6.12", ""), Some("6.12.111+deb12-amd64"));
        assert_eq!(newest("6.12", "rt"), Some("6.12.117+deb12-rt-amd64"));
        assert_eq!(newest("6.1", ""), Some("6.1.0-56-amd64"));
        assert_eq!(newest("6.1", "cloud"), None);
    }

    #[test]
    fn the_cache_tells_what_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        for folder in ["6.1.0-56-amd64_6.1.192-2", "6.1.0-9-amd64_6.1.60-1", ".new-6.1.0-57-amd64_6.1.193-1"]
        {
            std::fs::create_dir_all(cache.path("kernels").join(folder).join("boot")).unwrap();
        }
        std::fs::write(cache.path("kernels/6.1.0-56-amd64_6.1.192-2/boot/vmlinuz-6.1.0-56-amd64"), "")
            .unwrap();
        let releases: Vec<String> = unpacked(&cache).into_iter().map(|package| package.release).collect();
        assert_eq!(releases, ["6.1.0-9-amd64", "6.1.0-56-amd64"]);
        let source = in_cache("6.1.0-56-amd64", &cache).map(|files| files.source);
        assert_eq!(source.as_deref(), Some("Debian package linux-image-6.1.0-56-amd64 6.1.192-2"));
        assert!(in_cache("6.1.0-9-amd64", &cache).is_none(), "it holds no kernel");
    }
}
