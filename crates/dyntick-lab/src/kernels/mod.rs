// SPDX-License-Identifier: GPL-2.0-only
//! Kernels to boot: Debian's by apt, the host's, any by path.

mod catalog;
mod vmlinux;

pub use catalog::{Entry, catalog};
pub use vmlinux::ImageError;

use crate::apt::{Apt, AptError};
use crate::cache::{Cache, CacheError, write_whole};
use dyntick_model::{KernelConfig, KernelVersion, KernelVersionError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What a user writes for a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// `debian:6.12`, `debian:6.12-rt`, `debian:6.12-cloud`: the newest of a series.
    Series {
        /// As `6.12`.
        series: String,
        /// As `rt` or `cloud`; empty for the plain one.
        flavour: String,
    },
    /// `debian:6.12.117+deb12-amd64`: one exact package.
    Exact(String),
    /// `host`: the running machine's.
    Host,
    /// A bzImage or vmlinux.
    Path(PathBuf),
}

/// A text that names no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' names no kernel: write debian:6.1, debian:6.12, debian:6.12-rt, debian:6.12-cloud, host, or a path"
)]
pub struct SpecError(pub String);

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text == "host" {
            return Ok(Spec::Host);
        }
        if let Some(name) = text.strip_prefix("debian:") {
            return debian(name).ok_or_else(|| SpecError(text.to_owned()));
        }
        if text.contains('/') { Ok(Spec::Path(text.into())) } else { Err(SpecError(text.to_owned())) }
    }
}

fn debian(name: &str) -> Option<Spec> {
    if name.ends_with("-amd64") && name.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(Spec::Exact(name.to_owned()));
    }
    let (series, flavour) = name.split_once('-').unwrap_or((name, ""));
    let numbers: Option<Vec<u32>> = series.split('.').map(|n| n.parse().ok()).collect();
    (numbers?.len() == 2 && ["", "rt", "cloud"].contains(&flavour))
        .then(|| Spec::Series { series: series.to_owned(), flavour: flavour.to_owned() })
}

/// A kernel, ready to boot.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What was asked for.
    pub spec: String,
    /// Its release.
    pub release: KernelVersion,
    /// What QEMU is given: the uncompressed kernel where it has a PVH entry, else the bzImage.
    pub image: PathBuf,
    /// Its `lib/modules/RELEASE` folder.
    pub modules: Option<PathBuf>,
    /// Its configuration; empty where it cannot be known.
    pub config: KernelConfig,
    /// SHA-256 of the image that is booted.
    pub sha256: String,
    /// How it came here.
    pub source: String,
}

/// Why there is no such kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The text names none.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// apt.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// No package of that series.
    #[error("Debian offers no kernel '{0}'; see `dyntick lab kernels`")]
    NotOffered(String),
    /// The running kernel left no image on the disk.
    #[error(
        "the running kernel {0} has no image in /boot or /lib/modules (as in a virtual machine that was given its kernel from outside); name another kernel"
    )]
    NoHostImage(String),
    /// A file cannot be read.
    #[error("cannot read the kernel {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An image that is not understood.
    #[error("{path}: {source}")]
    Image {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ImageError,
    },
    /// A kernel that does not tell its version.
    #[error("{path}: {source}")]
    Version {
        /// The file.
        path: PathBuf,
        /// Why.
        source: KernelVersionError,
    },
    /// A package without a kernel in it.
    #[error("the package {0} holds no boot/vmlinuz-*")]
    EmptyPackage(String),
}

/// Finds a kernel, fetching and unpacking it where needed.
pub fn resolve(spec: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Kernel, KernelError> {
    let files = match spec.parse()? {
        Spec::Series { series, flavour } => {
            let apt = Apt::open(cache, progress)?;
            let package =
                newest_package(&apt.packages(&format!("linux-image-{series}."))?, &series, &flavour)
                    .ok_or_else(|| KernelError::NotOffered(spec.to_owned()))?;
            from_package(&apt, &package, cache, progress)?
        }
        Spec::Exact(name) => {
            from_package(&Apt::open(cache, progress)?, &format!("linux-image-{name}"), cache, progress)?
        }
        Spec::Host => host_files()?,
        Spec::Path(path) => Files::at(path, None),
    };
    prepare(spec, files, cache, progress)
}

/// The files of a kernel as they came.
struct Files {
    image: PathBuf,
    config: Option<PathBuf>,
    modules: Option<PathBuf>,
    source: String,
}

impl Files {
    fn at(image: PathBuf, modules: Option<PathBuf>) -> Self {
        let beside = |prefix: &str| {
            let release = image.file_name()?.to_str()?.split_once('-')?.1.to_owned();
            Some(image.with_file_name(format!("{prefix}-{release}"))).filter(|path| path.is_file())
        };
        Files { config: beside("config"), modules, source: format!("file {}", image.display()), image }
    }
}

fn host_files() -> Result<Files, KernelError> {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy().into_owned();
    let modules = Some(PathBuf::from(format!("/lib/modules/{release}"))).filter(|path| path.is_dir());
    let candidates = [format!("/boot/vmlinuz-{release}"), format!("/lib/modules/{release}/vmlinuz")];
    let image = candidates.iter().map(PathBuf::from).find(|path| path.is_file());
    Ok(Files::at(image.ok_or(KernelError::NoHostImage(release))?, modules))
}

fn from_package(
    apt: &Apt,
    package: &str,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<Files, KernelError> {
    let version = apt.newest(package)?.ok_or_else(|| KernelError::NotOffered(package.to_owned()))?;
    let release = package.trim_start_matches("linux-image-").to_owned();
    let entry = format!("kernels/{release}_{}", version.replace([':', '/'], "_"));
    let folder = cache.folder::<KernelError>(&entry, |folder| {
        let packages = [(package.to_owned(), version.clone())];
        let (download, _) = apt.size(&packages)?;
        progress(&format!("fetching {package} {version} ({} MiB)", download >> 20));
        apt.unpack(&packages, folder)?;
        // Documentation is most of what is left besides the kernel and its modules.
        let _ = std::fs::remove_dir_all(folder.join("usr/share"));
        Ok(())
    })?;
    let image = folder.join(format!("boot/vmlinuz-{release}"));
    if !image.is_file() {
        return Err(KernelError::EmptyPackage(package.to_owned()));
    }
    let modules = ["lib/modules", "usr/lib/modules"].map(|place| folder.join(place).join(&release));
    let mut files = Files::at(image, modules.into_iter().find(|path| path.is_dir()));
    files.source = format!("Debian package {package} {version}");
    Ok(files)
}

/// What is known of an uncompressed kernel; kept beside it, since finding it out takes a second.
#[derive(Serialize, Deserialize)]
struct Known {
    release: String,
    sha256: String,
    has_pvh_entry: bool,
    config: Option<String>,
}

const VMLINUX: &str = "vmlinux";
const KNOWN: &str = "known.json";

/// Uncompresses the kernel into the cache, by the hash of its image.
fn prepare(spec: &str, files: Files, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Kernel, KernelError> {
    let bytes = read(&files.image)?;
    let image_hash = hex::encode(Sha256::digest(&bytes));
    let folder = cache.folder::<KernelError>(&format!("vmlinux/{image_hash}"), |folder| {
        progress(&format!("uncompressing {}", files.image.display()));
        let kernel = vmlinux::extract(&bytes)
            .map_err(|source| KernelError::Image { path: files.image.clone(), source })?;
        let known = serde_json::to_vec(&examine(&bytes, &kernel)).unwrap_or_default();
        write_whole(&folder.join(VMLINUX), &kernel)?;
        Ok(write_whole(&folder.join(KNOWN), &known)?)
    })?;
    let known: Known = serde_json::from_slice(&read(&folder.join(KNOWN))?)
        .map_err(|source| KernelError::Read { path: folder.join(KNOWN), source: source.into() })?;
    let release =
        known.release.parse().map_err(|source| KernelError::Version { path: files.image.clone(), source })?;
    let config = match &files.config {
        Some(path) => Some(String::from_utf8_lossy(&read(path)?).into_owned()),
        None => known.config,
    };
    let (image, sha256) = match known.has_pvh_entry {
        true => (folder.join(VMLINUX), known.sha256),
        false => (files.image, image_hash),
    };
    Ok(Kernel {
        spec: spec.to_owned(),
        release,
        image,
        modules: files.modules,
        config: config.as_deref().map(KernelConfig::parse).unwrap_or_default(),
        sha256,
        source: files.source,
    })
}

fn examine(image: &[u8], kernel: &[u8]) -> Known {
    let release = vmlinux::release(image).or_else(|| vmlinux::release_of_vmlinux(kernel));
    Known {
        release: release.unwrap_or_default(),
        sha256: hex::encode(Sha256::digest(kernel)),
        has_pvh_entry: vmlinux::has_pvh_entry(kernel),
        config: vmlinux::embedded_config(kernel),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, KernelError> {
    std::fs::read(path).map_err(|source| KernelError::Read { path: path.to_owned(), source })
}

/// The package with the highest numbers among those of one series and flavour.
fn newest_package(packages: &[String], series: &str, flavour: &str) -> Option<String> {
    let numbers = |package: &String| {
        let release = package.strip_prefix("linux-image-")?.strip_suffix("-amd64")?;
        let (release, this) = match release.rsplit_once('-') {
            Some((rest, this @ ("rt" | "cloud"))) => (rest, this),
            _ => (release, ""),
        };
        let rest = release.strip_prefix(series)?.strip_prefix('.')?;
        // "117+deb12" and "0-56": all numbers in order decide.
        let numbers: Vec<u32> =
            rest.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
        (this == flavour && rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains("unsigned"))
            .then_some(numbers)
    };
    packages
        .iter()
        .filter_map(|package| Some((numbers(package)?, package)))
        .max()
        .map(|(_, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_write() {
        let series =
            |series: &str, flavour: &str| Spec::Series { series: series.into(), flavour: flavour.into() };
        assert_eq!("debian:6.12".parse(), Ok(series("6.12", "")));
        assert_eq!("debian:6.12-rt".parse(), Ok(series("6.12", "rt")));
        assert_eq!("debian:6.12.117+deb12-amd64".parse(), Ok(Spec::Exact("6.12.117+deb12-amd64".into())));
        assert_eq!("./vmlinuz".parse(), Ok(Spec::Path("./vmlinuz".into())));
        for wrong in ["debian:6.12-rtt", "debian:six", "6.12", "debian:"] {
            assert_eq!(wrong.parse::<Spec>(), Err(SpecError(wrong.into())));
        }
    }

    #[test]
    fn newest_of_a_series() {
        let packages: Vec<String> = [
            "linux-image-6.12.9+deb12-amd64",
            "linux-image-6.12.111+deb12-amd64",
            "linux-image-6.12.117+deb12-rt-amd64",
            "linux-image-6.12.117+deb12-amd64-unsigned",
            "linux-image-6.12.117+deb12-amd64-dbg",
            "linux-image-6.1.0-9-amd64",
            "linux-image-6.1.0-56-amd64",
        ]
        .map(String::from)
        .to_vec();
        let newest = |series, flavour| newest_package(&packages, series, flavour);
        assert_eq!(newest("6.12", "").as_deref(), Some("linux-image-6.12.111+deb12-amd64"));
        assert_eq!(newest("6.12", "rt").as_deref(), Some("linux-image-6.12.117+deb12-rt-amd64"));
        assert_eq!(newest("6.1", "").as_deref(), Some("linux-image-6.1.0-56-amd64"));
        assert_eq!(newest("6.1", "cloud"), None);
    }
}
