// SPDX-License-Identifier: GPL-2.0-only
//! A QEMU that is fit for virtual time.
//!
//! QEMU 7.2 (Debian 12) hangs in virtual time when a second CPU comes up; 10.0 (Debian 13, and
//! Debian 12's backports) works. Where the machine's own is too old or missing, the one of the
//! distribution or its backports is unpacked into the cache together with the libraries that the
//! machine lacks, and used from there.

use dyntick_kernels::apt::{Apt, AptError, Offer, Package};
use dyntick_kernels::cache::{Cache, CacheError, is_noexec};
use dyntick_kernels::programs;
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "qemu-system-x86_64";
/// The oldest version that is known to work.
const MINIMUM: u32 = 10;
/// The folder of the cache for unpacked ones.
const FOLDER: &str = "qemu";

/// A QEMU to run.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// The program.
    pub binary: PathBuf,
    /// The version, e.g. `10.0.2`.
    pub version: String,
    /// The build, e.g. `Debian 1:10.0.2+ds-2`; often empty.
    pub build: String,
    /// The origin.
    pub source: String,
    /// The folder under which its files are unpacked; none for an installed one.
    root: Option<PathBuf>,
    /// True if it can restrict its own system calls (seccomp).
    has_seccomp: bool,
}

/// The reason for which there is no QEMU.
#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    /// No recent QEMU is installed, and none can be fetched.
    #[error(
        "QEMU {MINIMUM}.0 or newer is needed for virtual time; this machine has {found}, and none could be fetched: {reason}"
    )]
    Unfit {
        /// The version found.
        found: String,
        /// The reason for which none was fetched.
        reason: String,
    },
    /// One that is unpacked could not be started.
    #[error(
        "the disk of {0} is mounted noexec, so no QEMU in the cache can be started: set DYNTICK_CACHE to a folder on another disk, or install QEMU {MINIMUM}.0 or newer"
    )]
    NoExec(PathBuf),
    /// The unpacked one does not start.
    #[error(
        "the QEMU in {folder} does not start: {message}; install it with `apt-get install -t {release}-backports qemu-system-x86`, or remove that folder to fetch it again"
    )]
    DoesNotStart {
        /// The folder.
        folder: PathBuf,
        /// The output.
        message: String,
        /// The machine's release.
        release: String,
    },
}

impl Qemu {
    /// The command with which this QEMU starts.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        if let Some(root) = &self.root {
            command.env("LD_LIBRARY_PATH", library_path(root));
            for folder in data_folders(root) {
                command.arg("-L").arg(folder);
            }
        }
        command
    }

    /// The folders that its files are in, where it is not installed.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.root.iter().flat_map(|root| ["usr", "lib", "etc"].map(|name| root.join(name)));
        folders.filter(|folder| folder.is_dir())
    }

    /// Returns true if it can restrict its own system calls.
    pub fn has_seccomp(&self) -> bool {
        self.has_seccomp
    }

    /// The arguments that restrict its own system calls.
    pub(super) fn system_calls(&self) -> &'static [&'static str] {
        if self.has_seccomp { &SANDBOX } else { &[] }
    }

    /// The version with its build.
    pub fn full_version(&self) -> String {
        if self.build.is_empty() {
            self.version.clone()
        } else {
            format!("{} ({})", self.version, self.build)
        }
    }

    /// The minimal firmware qboot, where it is there: it starts the kernel without option ROMs.
    pub fn minimal_firmware(&self) -> Option<PathBuf> {
        let root = self.root.as_deref().unwrap_or(Path::new("/"));
        data_folders(root).map(|folder| folder.join("qboot.rom")).into_iter().find(|path| path.is_file())
    }
}

/// No programs, no other user, no system calls of old. Scheduling stays allowed: what keeps virtual time
/// steady keeps two of QEMU's threads on one CPU, without which a sleeping guest takes far longer.
const SANDBOX: [&str; 2] = ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny"];

/// Asks for nothing but the list of accelerators: a QEMU without seccomp refuses the option. What fails
/// otherwise, as for lack of memory or of process numbers, does not say that it has none.
fn has_seccomp(mut command: Command) -> bool {
    let output = command.args(SANDBOX).args(["-accel", "help"]).output();
    !output.is_ok_and(|output| lacks_seccomp(output.status.code(), &String::from_utf8_lossy(&output.stderr)))
}

fn lacks_seccomp(status: Option<i32>, said: &str) -> bool {
    status == Some(1) && said.contains("sandbox") && !said.contains("Cannot allocate memory")
}

fn data_folders(root: &Path) -> [PathBuf; 2] {
    ["usr/share/qemu", "usr/share/seabios"].map(|folder| root.join(folder))
}

/// Debian 12 still ships some libraries outside /usr.
fn library_path(root: &Path) -> String {
    let folders = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|folder| root.join(folder));
    folders.map(|folder| folder.display().to_string()).join(":")
}

/// Finds a QEMU: the installed one where it is fit, else the cache's, fetched where needed. One that
/// is in the cache already is kept to: it needs no network, and a run in virtual time is repeated by
/// the version that ran it.
pub fn find(cache: &Cache, progress: &dyn Fn(&str)) -> Result<Qemu, QemuError> {
    let found = match at_hand(cache) {
        Ok(qemu) => return Ok(qemu),
        Err(_) if is_noexec(cache.root()) => return Err(QemuError::NoExec(cache.root().to_owned())),
        Err(found) => found,
    };
    fetched(cache, progress).map_err(|error| match error {
        FetchError::Start(error) => error,
        FetchError::Apt(reason) => QemuError::Unfit { found, reason: reason.to_string() },
        FetchError::Nothing => QemuError::Unfit {
            found,
            reason: "the distribution and its backports offer no newer one".to_owned(),
        },
    })
}

/// The QEMU that is used where none is fetched, or the version of the installed one, which is not fit.
///
/// # Errors
/// Where there is none that is fit.
pub fn at_hand(cache: &Cache) -> Result<Qemu, String> {
    match installed() {
        Some(qemu) if is_fit(&qemu.version) => Ok(qemu),
        other => cached(cache).ok_or_else(|| other.map_or("none".to_owned(), |qemu| qemu.version)),
    }
}

/// The QEMU on the PATH, whatever its version.
pub fn installed() -> Option<Qemu> {
    let binary = programs::find(PROGRAM)?;
    let (version, build) = version(&mut Command::new(&binary)).ok()?;
    let has_seccomp = has_seccomp(Command::new(&binary));
    Some(Qemu { binary, version, build, source: "installed".to_owned(), root: None, has_seccomp })
}

/// The one of the cache that is preferred among those that start and are fit.
fn cached(cache: &Cache) -> Option<Qemu> {
    let folders = std::fs::read_dir(cache.path(FOLDER)).ok()?.flatten().map(|entry| entry.path());
    let started = folders
        .filter(|path| path.is_dir() && !path.file_name().is_some_and(|n| n.as_bytes().starts_with(b".")))
        .filter_map(|folder| unpacked(&folder).ok());
    started.filter(|qemu| is_fit(&qemu.version)).min_by_key(|qemu| preference(&qemu.version))
}

/// The QEMU that was unpacked in a folder, or what it said instead of its version.
fn unpacked(root: &Path) -> Result<Qemu, String> {
    let mut qemu = Qemu {
        binary: root.join("usr/bin").join(PROGRAM),
        version: String::new(),
        build: String::new(),
        source: format!("Debian's packages, unpacked in {}", root.display()),
        root: Some(root.to_owned()),
        has_seccomp: false,
    };
    (qemu.version, qemu.build) = version(&mut qemu.command())?;
    qemu.has_seccomp = has_seccomp(qemu.command());
    Ok(qemu)
}

enum FetchError {
    Apt(AptError),
    Start(QemuError),
    Nothing,
}

impl From<AptError> for FetchError {
    fn from(error: AptError) -> Self {
        FetchError::Apt(error)
    }
}

impl From<CacheError> for FetchError {
    fn from(error: CacheError) -> Self {
        FetchError::Apt(error.into())
    }
}

fn fetched(cache: &Cache, progress: &dyn Fn(&str)) -> Result<Qemu, FetchError> {
    let apt = Apt::open(cache, progress)?;
    let root = apt.looking_again(cache, progress, || fetch(&apt, cache, progress))?;
    unpacked(&root).map_err(|message| {
        FetchError::Start(QemuError::DoesNotStart { folder: root, message, release: apt.release.clone() })
    })
}

/// The folder of the one that is preferred among those on offer.
fn fetch(apt: &Apt, cache: &Cache, progress: &dyn Fn(&str)) -> Result<PathBuf, FetchError> {
    let package = "qemu-system-x86";
    let offer = best(apt.offers(package)?).ok_or(FetchError::Nothing)?;
    let version = &offer.version;
    let packages = with_firmware(apt, package, &offer)?;
    cache.folder(&entry(version, &packages), |folder| {
        let (download, _) = apt.size(&packages)?;
        progress(&format!("fetching QEMU {} ({} MiB)", package_version(version), download >> 20));
        Ok(apt.unpack(&packages, folder)?)
    })
}

/// The name in the cache: the version and the packages that come with it, since two machines that share a cache lack
/// different libraries.
fn entry(version: &str, packages: &[Package]) -> String {
    let mut names: Vec<String> =
        packages.iter().map(|(name, version)| format!("{name}={version}\n")).collect();
    names.sort();
    let set = hex::encode(Sha256::digest(names.concat()));
    format!("{FOLDER}/{}-{}", version.replace([':', '/', '~', '+'], "_"), &set[..12])
}

fn best(offers: Vec<Offer>) -> Option<Offer> {
    let fit = offers.into_iter().filter(|offer| is_fit(package_version(&offer.version)));
    fit.min_by_key(|offer| preference(package_version(&offer.version)))
}

/// The newest of the oldest series comes first: that is the one which virtual time was tried with,
/// and the same on Debian 12 and 13.
fn preference(version: &str) -> (Option<u32>, Reverse<Vec<u32>>) {
    let numbers = numbers(version);
    (numbers.first().copied(), Reverse(numbers))
}

/// The packages that QEMU needs and the machine lacks. QEMU's own parts must have its version even if an older one is
/// installed.
fn with_firmware(apt: &Apt, package: &str, offer: &Offer) -> Result<Vec<Package>, AptError> {
    let mut packages = apt.closure(package, offer)?;
    for part in [package, "qemu-system-common", "qemu-system-data", "seabios"] {
        if !packages.iter().any(|(name, _)| name == part) {
            let of_suite = apt.offers(part)?.into_iter().find(|other| other.suite == offer.suite);
            packages.extend(of_suite.map(|other| (part.to_owned(), other.version)));
        }
    }
    Ok(packages)
}

/// `10.0.2` of a package's `1:10.0.2+ds-2+deb13u1~bpo12+1`.
fn package_version(version: &str) -> &str {
    let version = version.split_once(':').map_or(version, |(_, rest)| rest);
    version.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default()
}

fn is_fit(version: &str) -> bool {
    numbers(version).first() >= Some(&MINIMUM)
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

/// Version and build, or what the program said instead.
fn version(command: &mut Command) -> Result<(String, String), String> {
    let output = command.arg("--version").output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    version_in(&text).ok_or_else(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn version_in(text: &str) -> Option<(String, String)> {
    let rest = text.lines().next()?.split_once("version ")?.1;
    let build = rest.split_once('(').and_then(|(_, build)| build.strip_suffix(')')).unwrap_or_default();
    Some((package_version(rest).to_owned(), build.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_that_is_known_is_preferred() {
        let offers = |versions: &[&str]| {
            versions.iter().map(|v| Offer { version: v.to_string(), suite: String::new() }).collect()
        };
        let best = |versions: &[&str]| best(offers(versions)).map(|offer| offer.version);
        let trixie = ["1:11.1.3+ds-1~bpo13+1", "1:10.0.13+ds-0+deb13u1", "1:10.0.2+ds-2", "1:7.2+dfsg-7"];
        assert_eq!(best(&trixie).as_deref(), Some("1:10.0.13+ds-0+deb13u1"));
        assert_eq!(best(&["1:11.1.3+ds-1"]).as_deref(), Some("1:11.1.3+ds-1"));
        assert_eq!(best(&["1:7.2+dfsg-7"]), None);
    }

    #[test]
    fn packages_of_two_machines_are_kept_side_by_side() {
        let package = |name: &str| (name.to_owned(), "1".to_owned());
        let (qemu, library) = (package("qemu-system-x86"), package("libpmem1"));
        let entry = |packages: &[&Package]| {
            entry("1:10.0.2+ds-2", &packages.iter().map(|&package| package.clone()).collect::<Vec<_>>())
        };
        assert_ne!(entry(&[&qemu]), entry(&[&qemu, &library]));
        assert_eq!(entry(&[&qemu, &library]), entry(&[&library, &qemu]), "their order says nothing");
        assert!(entry(&[&qemu]).starts_with("qemu/1_10.0.2_ds-2-"));
    }

    #[test]
    fn what_fails_for_another_reason_says_nothing_of_seccomp() {
        assert!(lacks_seccomp(Some(1), "qemu: -sandbox on: There is no option group 'sandbox'"));
        assert!(
            !lacks_seccomp(None, "")
                && !lacks_seccomp(Some(1), "pthread_create: Resource temporarily unavailable")
        );
    }

    #[test]
    fn versions_of_packages_and_programs() {
        assert_eq!(package_version("1:10.0.2+ds-2+deb13u1~bpo12+1"), "10.0.2");
        let words = "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\nCopyright";
        assert_eq!(version_in(words), Some(("10.0.2".into(), "Debian 1:10.0.2+ds-2".into())));
        assert_eq!(version_in("QEMU emulator version 11.1.0"), Some(("11.1.0".into(), String::new())));
        assert!(is_fit("10.0.2") && is_fit("11.1") && !is_fit("7.2.22") && !is_fit(""));
    }
}
