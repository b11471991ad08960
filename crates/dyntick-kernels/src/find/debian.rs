// SPDX-License-Identifier: GPL-2.0-only
//! Debian's kernels: offered by apt, unpacked in the cache.

use super::{Files, KernelError};
use crate::apt::{Apt, AptError, Package, of_cache};
use crate::cache::{Cache, CacheError, is_intact, write_whole};
use crate::hash::Contents;
use dyntick_model::kernel_name::{UNSTABLE, older_suite};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The folder of the cache with unpacked packages, each in a folder RELEASE_VERSION.
const FOLDER: &str = "kernels";
const PREFIX: &str = "linux-image-";

/// The kernels of which the newest is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// The series, e.g. `6.12`; `None` for all that Debian's suite unstable has.
    pub series: Option<&'a str>,
    /// `rt` or `cloud`; empty for the plain one.
    pub flavour: &'a str,
}

impl Wanted<'_> {
    fn name(self) -> String {
        let series = self.series.unwrap_or(UNSTABLE);
        if self.flavour.is_empty() { series.to_owned() } else { format!("{series}-{}", self.flavour) }
    }

    /// True if a package of the cache can stand for what the mirror would say. By its release alone it cannot be known
    /// to come from Debian's suite unstable.
    fn may_be(self, package: &Unpacked) -> bool {
        self.series.is_some() || package.is_of(UNSTABLE)
    }

    /// The release with the highest numbers among these.
    fn newest_of<'r>(self, releases: impl Iterator<Item = &'r str>) -> Option<&'r str> {
        let fits = |release: &&str| {
            let Some(release) = release.strip_suffix("-amd64") else { return false };
            let (numbers, this) = match release.rsplit_once('-') {
                Some((numbers, this @ ("rt" | "cloud"))) => (numbers, this),
                _ => (release, ""),
            };
            let point = match self.series {
                Some(series) => numbers.strip_prefix(series).and_then(|rest| rest.strip_prefix('.')),
                None => Some(numbers),
            };
            this == self.flavour && point.is_some_and(|point| point.starts_with(|c: char| c.is_ascii_digit()))
        };
        releases.filter(fits).max_by_key(|release| numbers(release))
    }
}

/// A package that is unpacked in the cache.
pub(super) struct Unpacked {
    /// The release, e.g. `6.12.117+deb12-amd64`.
    pub release: String,
    /// The version of the package.
    pub version: String,
    /// Its path.
    pub folder: PathBuf,
}

/// The suite that a package was fetched from, in its folder, where that was not one of the machine's own.
const SUITE: &str = "suite";

impl Unpacked {
    /// True if Debian had it in this suite when it was fetched.
    fn is_of(&self, suite: &str) -> bool {
        std::fs::read_to_string(self.folder.join(SUITE)).is_ok_and(|noted| noted.trim() == suite)
    }
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

/// The release of the newest kernel of the cache that came from Debian's suite unstable.
pub(super) fn newest_of_unstable(cache: &Cache) -> Option<String> {
    let packages: Vec<Unpacked> =
        unpacked(cache).into_iter().filter(|package| package.is_of(UNSTABLE)).collect();
    let wanted = Wanted { series: None, flavour: "" };
    wanted.newest_of(packages.iter().map(|package| package.release.as_str())).map(str::to_owned)
}

/// The release of the newest of these kernels that the mirror has.
pub(super) fn newest_offered(apt: &Apt, wanted: Wanted<'_>) -> Result<Option<String>, AptError> {
    let series = wanted.series.map(|series| format!("{series}."));
    let packages = apt.packages(&format!("{PREFIX}{}", series.unwrap_or_default()))?;
    let releases = packages.iter().filter_map(|package| package.strip_prefix(PREFIX));
    Ok(wanted.newest_of(releases).map(str::to_owned))
}

/// The newest of these kernels. Where the mirror cannot be asked, the newest in the cache serves, and the files say so.
pub(super) fn newest(
    wanted: Wanted<'_>,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<Files, KernelError> {
    let error = match offered(wanted, cache, progress) {
        Err(KernelError::Apt(error @ AptError::Failed { .. })) => error,
        other => return other,
    };
    let Some(files) = newest_in_cache(wanted, cache) else { return Err(error.into()) };
    progress(&format!("{error}; using the cached {}", files.source));
    let fallback = of_cache(&error.in_short());
    Ok(Files { fallback: Some(fallback), ..files })
}

/// The newest of these that the mirror has, or had when it was asked last.
fn offered(wanted: Wanted<'_>, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Files, KernelError> {
    let suite = wanted.series.map_or(Some(UNSTABLE), older_suite);
    let apt = Apt::of_suite(suite, cache, progress)?;
    let of = |apt: &Apt| {
        let files = apt.looking_again(cache, progress, || {
            let release = newest_offered(apt, wanted)?;
            let release = release.ok_or_else(|| not_offered(&wanted.name(), cache, progress))?;
            fetched(apt, &release, cache, progress)
        })?;
        Ok(Files { fallback: apt.of_earlier_index(), ..files })
    };
    let found = of(&apt);
    if suite.is_none() && matches!(found, Err(KernelError::NotOffered { .. })) {
        // The series of unstable's kernel has no other name for those who know only that.
        if let Ok(unstable) = Apt::only(UNSTABLE, cache, &|_| ()) {
            return of(&unstable).or(found);
        }
    }
    found
}

/// The newest of these in the cache.
fn newest_in_cache(wanted: Wanted<'_>, cache: &Cache) -> Option<Files> {
    let packages: Vec<Unpacked> =
        unpacked(cache).into_iter().filter(|package| wanted.may_be(package)).collect();
    let release = wanted.newest_of(packages.iter().map(|package| package.release.as_str()))?;
    files(packages.iter().rev().find(|package| package.release == release)?).ok()
}

/// The kernel of one release: of the cache, where it also outlasts its time at the mirror, of this machine's suites, or
/// of the older one that has its series, or of unstable.
pub(super) fn exact(release: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Files, KernelError> {
    if let Some(files) = in_cache(release, cache) {
        return Ok(files);
    }
    let of = |apt: Apt| apt.looking_again(cache, progress, || fetched(&apt, release, cache, progress));
    let of_machine = of(Apt::open(cache, progress)?);
    if !matches!(of_machine, Err(KernelError::NotOffered { .. })) {
        return of_machine;
    }
    let suite = other_suite(release);
    match Apt::only(suite, cache, progress) {
        Ok(other) => of(other),
        // Who named a release did not ask for that suite.
        Err(error) => {
            progress(&format!("Debian's suite {suite} cannot be asked for it: {error}"));
            of_machine
        }
    }
}

/// The suite that may have a release of a kernel, or a package that goes with it, where this machine's have not.
pub fn other_suite(release: &str) -> &'static str {
    older_suite(release).unwrap_or(UNSTABLE)
}

/// The error that there is no such kernel, with the nearest of this machine's suites and of the cache.
fn not_offered(name: &str, cache: &Cache, progress: &dyn Fn(&str)) -> KernelError {
    let offered = Apt::open(cache, progress).and_then(|apt| apt.packages(PREFIX)).unwrap_or_default();
    let offered = offered.iter().filter_map(|package| package.strip_prefix(PREFIX)).map(str::to_owned);
    let cached = unpacked(cache).into_iter().map(|package| package.release);
    let nearest = nearest_series(name, offered.chain(cached));
    KernelError::NotOffered { name: name.to_owned(), nearest }
}

/// The series of one of these releases that is the nearest to a name that begins with one: the last one before it of
/// the same major version, else the first one after it there.
fn nearest_series(name: &str, releases: impl Iterator<Item = String>) -> Option<String> {
    let wanted = series(name)?;
    let there: BTreeSet<(u32, u32)> = releases.filter_map(|release| series(&release)).collect();
    let same = || there.iter().filter(|(major, _)| *major == wanted.0);
    let (major, minor) = same().rfind(|one| **one <= wanted).or_else(|| same().next())?;
    Some(format!("{major}.{minor}")).filter(|nearest| nearest != name)
}

fn series(release: &str) -> Option<(u32, u32)> {
    let (major, rest) = release.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn in_cache(release: &str, cache: &Cache) -> Option<Files> {
    let newest = unpacked(cache).into_iter().rev().find(|package| package.release == release)?;
    files(&newest).ok()
}

fn fetched(apt: &Apt, release: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Files, KernelError> {
    let package = format!("{PREFIX}{release}");
    let version = apt.newest(&package)?.ok_or_else(|| not_offered(release, cache, progress))?;
    let entry = format!("{FOLDER}/{release}_{}", version.replace([':', '/'], "_"));
    let unpack = |folder: &Path| {
        // Since 7.2 image and modules are packages of their own, and the package of this name only asks for them.
        let parts = apt.depends(&package, &version)?.into_iter().filter(|part| part.ends_with(release));
        let packages: Vec<Package> =
            [package.clone()].into_iter().chain(parts).map(|name| (name, version.clone())).collect();
        let (download, _) = apt.size(&packages)?;
        progress(&format!("fetching {package} {version} ({} MiB)", download >> 20));
        apt.unpack(&packages, folder)?;
        // Documentation is all that is left besides the kernel and its modules.
        let _ = std::fs::remove_dir_all(folder.join("usr/share"));
        note_image(folder, release)
    };
    let unpacked = |folder| Unpacked { release: release.to_owned(), version: version.clone(), folder };
    let folder = cache.folder(&entry, unpack)?;
    note_suite(&folder, apt)?;
    let files = files(&unpacked(folder));
    if !matches!(files, Err(KernelError::Damaged(_))) {
        return files;
    }
    progress(&format!("the cache's copy of {package} {version} is damaged"));
    cache.discard(&entry)?;
    let folder = cache.folder(&entry, unpack)?;
    note_suite(&folder, apt)?;
    self::files(&unpacked(folder))
}

/// Notes that another suite than the machine's own has the package; it may have come from one of those before.
fn note_suite(folder: &Path, apt: &Apt) -> Result<(), CacheError> {
    match apt.only_suite() {
        Some(suite) => write_whole(&folder.join(SUITE), suite.as_bytes()),
        None => Ok(()),
    }
}

/// The SHA-256 of the image as it came, in its folder.
const IMAGE_HASH: &str = "image.sha256";

fn note_image(folder: &Path, release: &str) -> Result<(), KernelError> {
    // The error of a package without an image names its place.
    let Some(image) = image(folder, release) else { return Ok(()) };
    let known = Contents::of(&image, u64::MAX)?;
    Ok(write_whole(&folder.join(IMAGE_HASH), known.sha256.as_bytes())?)
}

/// The image of a package: above its modules since 7.2.
fn image(folder: &Path, release: &str) -> Option<PathBuf> {
    let places = [format!("boot/vmlinuz-{release}"), format!("usr/lib/modules/{release}/vmlinuz")];
    places.iter().map(|place| folder.join(place)).find(|image| image.is_file())
}

fn files(package: &Unpacked) -> Result<Files, KernelError> {
    let name = format!("{PREFIX}{}", package.release);
    let image = image(&package.folder, &package.release);
    let image = image.ok_or_else(|| KernelError::EmptyPackage(name.clone()))?;
    // Of what was unpacked before this was noted nothing is known.
    let known = std::fs::read_to_string(package.folder.join(IMAGE_HASH));
    if known.is_ok_and(|known| !is_intact(&image, known.trim())) {
        return Err(KernelError::Damaged(image));
    }
    let source = format!("Debian package {name} {}", package.version);
    Ok(Files { source, package: Some((name, package.version.clone())), ..Files::at(image) })
}

/// "6.12.117+deb12" and "6.1.0-56": all numbers in order decide which is newer.
fn numbers(text: &str) -> Vec<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_series_is_named() {
        let there = ["6.1.0-56-amd64", "6.12.117+deb12-amd64", "6.12.90+deb12-rt-amd64", "amd64", "rt-amd64"];
        let nearest = |name: &str| nearest_series(name, there.into_iter().map(str::to_owned));
        assert_eq!(nearest("6.13").as_deref(), Some("6.12"));
        assert_eq!(nearest("6.9-rt").as_deref(), Some("6.1"));
        assert_eq!(nearest("6.0").as_deref(), Some("6.1"));
        assert_eq!(nearest("6.12.0+nobody-amd64").as_deref(), Some("6.12"));
        assert_eq!((nearest("5.10"), nearest("sid"), nearest("6.12")), (None, None, None));
    }

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
        let newest =
            |series, flavour| Wanted { series: Some(series), flavour }.newest_of(releases.into_iter());
        let unstable = Wanted { series: None, flavour: "" };
        assert_eq!(unstable.newest_of(releases.into_iter()), Some("6.12.111+deb12-amd64"));
        let metapackages = ["amd64", "rt-amd64", "7.2.13+deb14-amd64", "7.2.9+deb14-amd64"];
        assert_eq!(unstable.newest_of(metapackages.into_iter()), Some("7.2.13+deb14-amd64"));
        assert_eq!(newest("6.12", ""), Some("6.12.111+deb12-amd64"));
        assert_eq!(newest("6.12", "rt"), Some("6.12.117+deb12-rt-amd64"));
        assert_eq!(newest("6.1", ""), Some("6.1.0-56-amd64"));
        assert_eq!(newest("6.1", "cloud"), None);
    }

    #[test]
    fn complete_entries_of_the_cache_are_known() {
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
        let folder = cache.path("kernels/6.1.0-56-amd64_6.1.192-2");
        note_image(&folder, "6.1.0-56-amd64").unwrap();
        assert!(in_cache("6.1.0-56-amd64", &cache).is_some());
        std::fs::write(folder.join("boot/vmlinuz-6.1.0-56-amd64"), "damaged").unwrap();
        assert!(in_cache("6.1.0-56-amd64", &cache).is_none());
    }

    #[test]
    fn without_a_mirror_the_newest_kernel_is_one_that_came_from_sid() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let unpacked = |release: &str| {
            let folder = cache.path("kernels").join(format!("{release}_1"));
            std::fs::create_dir_all(folder.join("boot")).unwrap();
            std::fs::write(folder.join("boot").join(format!("vmlinuz-{release}")), "").unwrap();
            folder
        };
        let found = |series: Option<&str>| {
            let files = newest_in_cache(Wanted { series, flavour: "" }, &cache)?;
            Some(files.package.unwrap().0)
        };
        unpacked("6.12.117+deb12-amd64");
        let image = |release: &str| Some(format!("linux-image-{release}"));
        assert_eq!((found(None), found(Some("6.12"))), (None, image("6.12.117+deb12-amd64")));
        let of_sid = unpacked("7.2.9+deb14-amd64");
        unpacked("7.3.1-amd64");
        assert_eq!(found(None), None, "nothing says where they came from");
        write_whole(&of_sid.join(SUITE), UNSTABLE.as_bytes()).unwrap();
        assert_eq!(found(None), image("7.2.9+deb14-amd64"));
        let of_older = unpacked("5.10.0-32-amd64");
        write_whole(&of_older.join(SUITE), b"bullseye").unwrap();
        assert_eq!(
            (found(None), found(Some("5.10"))),
            (image("7.2.9+deb14-amd64"), image("5.10.0-32-amd64"))
        );
    }
}
