// SPDX-License-Identifier: GPL-2.0-only
//! Kernels to boot: Debian's by apt, the host's, any by path.

mod catalog;
mod debian;
mod files;
mod instead;
mod packages;
pub(crate) mod pauses;
pub(crate) mod vmlinux;

pub use catalog::{Entry, State, at_hand, catalog};
pub use debian::other_suite;
pub use instead::instead;
pub use vmlinux::ImageError;

use crate::apt::{AptError, Package};
use crate::build::{self, Accept, BuildError, Built, LARGEST_CONFIG};
use crate::cache::{Cache, CacheError, ensure_space, is_intact, unused, write_whole};
use debian::Wanted;
use dyntick_model::text::shown;
use dyntick_model::{KernelConfig, KernelVersion, KernelVersionError, Recipe, Spec, SpecError};
use dyntick_system::InputError;
use files::Files;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A kernel, ready to boot.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name that was asked for.
    pub spec: String,
    /// Its release.
    pub release: KernelVersion,
    /// The file for QEMU: the uncompressed kernel if it has a PVH entry, else the bzImage.
    pub image: PathBuf,
    /// Its `lib/modules/RELEASE` folder.
    pub modules: Option<PathBuf>,
    /// Its configuration; empty where it cannot be known.
    pub config: KernelConfig,
    /// SHA-256 of the image that is booted.
    pub sha256: String,
    /// Its origin.
    pub source: String,
    /// The package that it is from, where it is of Debian.
    pub package: Option<Package>,
    /// A note if Debian could not be asked, and the name may mean another kernel today.
    pub fallback: Option<String>,
    /// Its record, if it was built here.
    pub built: Option<Built>,
    /// The source tree that it was compiled in, if it was given by its path.
    pub tree: Option<PathBuf>,
}

/// The reason why there is no such kernel.
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
    #[error(
        "no Debian kernel {name}{}; `dyntick lab kernels` lists all",
        nearest.as_ref().map_or(String::new(), |nearest| format!(" (did you mean debian:{nearest}?)"))
    )]
    NotOffered {
        /// Its name, without `debian:`.
        name: String,
        /// The series that is there and the nearest.
        nearest: Option<String>,
    },
    /// It could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// It could not be built for an earlier case of the study.
    #[error("{0} (as for an earlier case)")]
    FailedBefore(String),
    /// No built kernel, or more than one.
    #[error("no kernel, or more than one, was built here as '{0}'; see `dyntick lab kernels`")]
    NotBuilt(String),
    /// The running kernel left no image on the disk.
    #[error(
        "the running kernel {0} has no image in /boot or /lib/modules (as in a virtual machine that was given its kernel from outside); name another kernel"
    )]
    NoHostImage(String),
    /// A file cannot be read.
    #[error("the kernel: {0}")]
    Input(#[from] InputError),
    /// An image that this user may not read, as Ubuntu's in /boot.
    #[error("cannot read {}: this user may not; run dyntick by sudo, or have it copied to where you may", shown(.0))]
    NotReadable(PathBuf),
    /// The file is damaged.
    #[error("cannot read the kernel {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// An image that is not understood.
    #[error("{path}: {source}")]
    Image {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ImageError,
    },
    /// A kernel that does not tell its version.
    #[error("{path}: {source}")]
    Version {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: KernelVersionError,
    },
    /// The cache's copy is not what was unpacked.
    #[error("{0} differs from the file of its package: remove its folder, and it is fetched again")]
    Damaged(PathBuf),
    /// A package without a kernel in it.
    #[error("the package {0} holds no kernel, neither in boot nor beside its modules")]
    EmptyPackage(String),
    /// A package file that cannot be unpacked.
    #[error("cannot unpack {}: {reason}", shown(.path))]
    Package {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A package file without a kernel in it.
    #[error(
        "cannot find a kernel in {}: name the package of its image (linux-image-RELEASE, kernel-core); those beside it give the modules",
        shown(.0)
    )]
    NoImageInPackage(PathBuf),
}

/// Finds a kernel, fetching and unpacking it where needed.
pub fn resolve(spec: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Kernel, KernelError> {
    let files = match spec.parse()? {
        Spec::Built(key) => return made(spec, find_built(&key, cache)?, cache, progress),
        Spec::Series { series, flavour } => {
            debian::newest(Wanted { series: Some(&series), flavour: &flavour }, cache, progress)?
        }
        Spec::Unstable { flavour } => {
            debian::newest(Wanted { series: None, flavour: &flavour }, cache, progress)?
        }
        Spec::Exact(release) => debian::exact(&release, cache, progress)?,
        Spec::Host => files::of_host()?,
        Spec::Path(path) => match packages::files(&path, cache, progress)? {
            Some(files) => files,
            None => Files::at(path),
        },
    };
    prepare(spec, files, cache, progress)
}

/// The kernel of a recipe, built first where it never was. `accept` looks at its configuration
/// before it is compiled.
pub fn made_to_order(
    name: &str,
    recipe: &Recipe,
    cache: &Cache,
    progress: &dyn Fn(&str),
    accept: Accept<'_>,
) -> Result<Kernel, KernelError> {
    made(name, build::build(recipe, cache, progress, accept)?, cache, progress)
}

fn made(spec: &str, built: Built, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Kernel, KernelError> {
    let kernel = prepare(spec, Files::built(&built), cache, progress)?;
    Ok(Kernel { fallback: built.fallback.clone(), built: Some(built), ..kernel })
}

fn find_built(key: &str, cache: &Cache) -> Result<Built, KernelError> {
    let mut found = build::all(cache).into_iter().filter(|built| built.key.starts_with(key));
    match (found.next(), found.next()) {
        (Some(built), None) => Ok(built),
        _ => Err(KernelError::NotBuilt(key.to_owned())),
    }
}

/// The facts of an uncompressed kernel, kept in its folder because finding them takes a second.
#[derive(Serialize, Deserialize)]
struct Known {
    release: String,
    sha256: String,
    has_pvh_entry: bool,
    config: Option<String>,
    /// The number of PAUSE instructions of its `.init.text` that became NOPs.
    pauses: usize,
}

/// The folder of the cache with uncompressed kernels.
const UNCOMPRESSED: &str = "vmlinux";
/// The limit of all together, bytes: a study of a thousand kernels that differ in a byte is a
/// small file.
const MOST_BYTES: u64 = 8 << 30;
/// One that no run has used for so long is removed.
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
/// Part of an entry's name; another one where what is kept of a kernel changes.
const FORM: &str = "nop";
/// The image as it came, for a kernel that cannot be entered directly: what QEMU boots is what was hashed.
const IMAGE: &str = "bzImage";
const VMLINUX: &str = "vmlinux";
const KNOWN: &str = "known.json";

/// Removes the uncompressed kernels that no run has used for a week.
pub fn remove_old(cache: &Cache) {
    unused::remove_old(&cache.path(UNCOMPRESSED), WEEK);
}

/// Uncompresses the kernel into the cache, by the hash of its image.
fn prepare(spec: &str, files: Files, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Kernel, KernelError> {
    let bytes = read(&files.image)?;
    let image_hash = hex::encode(Sha256::digest(&bytes));
    let entry = format!("{UNCOMPRESSED}/{image_hash}-{FORM}");
    let uncompress = |folder: &Path| {
        progress(&format!("uncompressing {}", files.image.display()));
        let mut kernel = vmlinux::extract(&bytes)
            .map_err(|source| KernelError::Image { path: files.image.clone(), source })?;
        // What names no release is no kernel, and is neither copied nor kept.
        parsed_release(&release_of(&bytes, &kernel), &files.image)?;
        let pauses = pauses::replace(kernel.to_mut());
        let known = examine(&bytes, &kernel, pauses);
        ensure_space(folder, (kernel.len() + bytes.len()) as u64)?;
        write_whole(&folder.join(VMLINUX), &kernel)?;
        if !known.has_pvh_entry {
            write_whole(&folder.join(IMAGE), &bytes)?;
        }
        let known = serde_json::to_vec(&known).unwrap_or_default();
        write_whole(&folder.join(KNOWN), &known)?;
        // For it to have room among the others.
        unused::keep_at_most(&cache.path(UNCOMPRESSED), MOST_BYTES);
        Ok::<_, KernelError>(())
    };
    let mut folder = cache.folder(&entry, uncompress)?;
    if known(&folder, &image_hash).is_none() {
        progress(&format!("the cache's copy of {} is damaged", files.image.display()));
        cache.discard(&entry)?;
        folder = cache.folder(&entry, uncompress)?;
    }
    let known = known(&folder, &image_hash).ok_or(CacheError::Unsteady(folder.clone()))?;
    let release = parsed_release(&known.release, &files.image)?;
    let config = match (&files.config, known.config) {
        (Some(path), _) => Some(config_text(path)?),
        (None, None) => config_beside(&files.image, &known.release)?,
        (None, embedded) => embedded,
    };
    if config.is_none() {
        let image = files.image.display();
        progress(&format!(
            "the configuration of {image} is not known: the options that a case needs are not checked"
        ));
    }
    let (image, sha256, source) = if known.has_pvh_entry {
        (folder.join(VMLINUX), known.sha256, with_nops(files.source, known.pauses))
    } else {
        (folder.join(IMAGE), image_hash, files.source)
    };
    Ok(Kernel {
        spec: spec.to_owned(),
        release,
        image,
        modules: files.modules,
        config: config.as_deref().map(KernelConfig::parse).unwrap_or_default(),
        sha256,
        source,
        package: files.package,
        fallback: files.fallback,
        built: None,
        tree: files.tree,
    })
}

fn with_nops(source: String, pauses: usize) -> String {
    match pauses {
        0 => source,
        _ => format!(
            "{source}; {pauses} PAUSE instructions of its start-up code replaced by NOP (why: the book, clocks.md)"
        ),
    }
}

/// The names of a configuration beside an image, apart from `config-RELEASE`.
const CONFIGS: [&str; 2] = ["config", ".config"];

/// The configuration beside an image whose file name does not name its release.
fn config_beside(image: &Path, release: &str) -> Result<Option<String>, KernelError> {
    let named = image.with_file_name(format!("config-{release}"));
    if !release.contains('/') && named.is_file() {
        return config_text(&named).map(Some);
    }
    for path in CONFIGS.map(|name| image.with_file_name(name)).into_iter().filter(|path| path.is_file()) {
        let text = config_text(&path)?;
        if is_of(&text, release) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// The version in the head of a configuration, e.g. of "# Linux/x86 6.12.117 Kernel Configuration".
fn version_in_head(config: &str) -> Option<&str> {
    config.lines().take(5).find_map(|line| line.strip_prefix("# Linux/")?.split_whitespace().nth(1))
}

/// Returns true if the head of a configuration names the version of this release.
fn is_of(config: &str, release: &str) -> bool {
    let rest = version_in_head(config).and_then(|version| release.strip_prefix(version));
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit() || next == '.'))
}

fn parsed_release(text: &str, image: &Path) -> Result<KernelVersion, KernelError> {
    text.parse().map_err(|source| KernelError::Version { path: image.to_owned(), source })
}

/// The facts of the uncompressed kernel in this folder, if it is unchanged.
fn known(folder: &Path, image_hash: &str) -> Option<Known> {
    let known: Known = serde_json::from_slice(&read(&folder.join(KNOWN)).ok()?).ok()?;
    let bootable = known.has_pvh_entry || is_intact(&folder.join(IMAGE), image_hash);
    (bootable && is_intact(&folder.join(VMLINUX), &known.sha256)).then_some(known)
}

fn release_of(image: &[u8], kernel: &[u8]) -> String {
    vmlinux::release(image).or_else(|| vmlinux::release_of_vmlinux(kernel)).unwrap_or_default()
}

fn examine(image: &[u8], kernel: &[u8], pauses: usize) -> Known {
    Known {
        release: release_of(image, kernel),
        sha256: hex::encode(Sha256::digest(kernel)),
        has_pvh_entry: vmlinux::has_pvh_entry(kernel),
        config: vmlinux::embedded_config(kernel),
        pauses,
    }
}

/// A configuration in a file, without its kernel.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The version in its head, if there is one.
    pub version: Option<KernelVersion>,
    /// Its options.
    pub options: KernelConfig,
}

/// Reads the file of a configuration, plain or by gzip, as .config, config-6.12 or /proc/config.gz; `None` if the file
/// is another one, as an image.
///
/// # Errors
/// A file that cannot be read, or is damaged.
pub fn configuration(path: &Path) -> Result<Option<Configuration>, KernelError> {
    let text = match config_text(path) {
        // An image is larger.
        Err(KernelError::Input(InputError::TooLarge { .. })) => return Ok(None),
        text => text?,
    };
    let options = KernelConfig::parse(&text);
    let version = version_in_head(&text).and_then(|version| version.parse().ok());
    Ok((!options.is_empty()).then_some(Configuration { version, options }))
}

/// The text of a configuration file; /proc/config.gz is compressed.
fn config_text(path: &Path) -> Result<String, KernelError> {
    let bytes = match path == Path::new(files::CONFIG_OF_HOST) {
        // The kernel's own, which no other user names.
        true => std::fs::read(path).map_err(|source| KernelError::Read { path: path.to_owned(), source })?,
        false => dyntick_system::read_regular(path, LARGEST_CONFIG)?,
    };
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..])
        .take(LARGEST_CONFIG + 1)
        .read_to_string(&mut text)
        .map_err(|source| KernelError::Read { path: path.to_owned(), source })?;
    if text.len() as u64 > LARGEST_CONFIG {
        Err(InputError::TooLarge { path: path.to_owned(), limit: LARGEST_CONFIG }.into())
    } else {
        Ok(text)
    }
}

/// The memory that examining a kernel takes for each byte of its file: the file, and a copy in which
/// instructions are replaced.
const TIMES: u64 = 2;

/// The memory that a kernel takes which is given as a file, bytes, until it is known.
pub fn memory_to_examine(spec: &str) -> u64 {
    match spec.parse() {
        Ok(Spec::Path(path)) => {
            Files::at(path).image.metadata().map_or(0, |found| TIMES * found.len().min(LARGEST))
        }
        _ => 0,
    }
}

/// A vmlinux with all its debug information has less.
const LARGEST: u64 = 1 << 30;

fn read(path: &Path) -> Result<Vec<u8>, KernelError> {
    let room = dyntick_system::own_memory() / (TIMES + 1);
    dyntick_system::read_solid(path, LARGEST.min(room)).map_err(|error| match &error {
        InputError::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            KernelError::NotReadable(path.to_owned())
        }
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_has_no_megabytes() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            config_text(&folder.path().join(name))
        };
        let text = "CONFIG_A=y\n".repeat(100_000);
        assert!(file("plain", text.as_bytes()).is_err());
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
        assert!(file("packed", &packed.finish().unwrap()).unwrap_err().to_string().contains("1 MiB"));
    }

    #[test]
    fn configuration_beside_an_image_is_of_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("bzImage");
        let found = || config_beside(&image, "6.12.11-own").unwrap();
        let put = |name: &str, version: &str| {
            let text = format!("#\n# Linux/x86 {version} Kernel Configuration\n#\nCONFIG_A=y\n");
            std::fs::write(folder.path().join(name), &text).unwrap();
            Some(text)
        };
        for version in ["6.12.1", "6.12.117", "6.12", "6.1.11"] {
            put("config", version);
            assert_eq!(found(), None, "{version}");
        }
        assert_eq!(put(".config", "6.12.11"), found());
        assert_eq!(put("config-6.12.11-own", "?"), found());
    }

    #[test]
    fn file_of_a_configuration_is_no_image() {
        let folder = tempfile::tempdir().unwrap();
        let read = |bytes: &[u8]| {
            let path = folder.path().join("file");
            std::fs::write(&path, bytes).unwrap();
            configuration(&path)
        };
        let text = b"#\n# Linux/x86 6.12.11 Kernel Configuration\n#\nCONFIG_HZ=250\n";
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packed, text).unwrap();
        for bytes in [&text[..], &packed.finish().unwrap()] {
            let read = read(bytes).unwrap().unwrap();
            assert_eq!(read.version.unwrap().to_string(), "6.12.11");
            assert_eq!(read.options.get("HZ"), Some("250"));
        }
        assert_eq!(read(b"CONFIG_HZ=250\n").unwrap().unwrap().version, None);
        assert!(read(b"\x7fELF").unwrap().is_none());
        assert!(read(&[b'x'; LARGEST_CONFIG as usize + 1]).unwrap().is_none());
        assert!(read(b"\x1f\x8b\x08damaged").is_err());
    }

    #[test]
    fn a_file_that_names_no_release_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (cache, path) = (Cache::at(dir.path().join("cache")), dir.path().join("vm"));
        std::fs::write(&path, b"\x7fELF").unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(64 << 20).unwrap();
        let refused = || resolve(path.to_str().unwrap(), &cache, &|_| ()).err().unwrap();
        assert!(matches!(refused(), KernelError::Input(InputError::Hole { .. })), "{}", refused());
        std::fs::write(&path, [b"\x7fELF".as_slice(), &[0; 1 << 20]].concat()).unwrap();
        assert!(matches!(refused(), KernelError::Version { .. }), "{}", refused());
        let kept = std::fs::read_dir(cache.path(UNCOMPRESSED)).unwrap().flatten();
        let kept: Vec<_> = kept.map(|entry| entry.file_name()).collect();
        assert!(kept.iter().all(|name| name.to_string_lossy().ends_with(".lock")), "{kept:?}");
    }
}
