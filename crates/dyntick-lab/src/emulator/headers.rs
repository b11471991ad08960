// SPDX-License-Identifier: GPL-2.0-only
//! The headers that a module is compiled against if the kernel was not built here.

use super::{EmulatorError, libraries};
use dyntick_kernels::apt::{Apt, AptError, Package};
use dyntick_kernels::cache::Cache;
use dyntick_kernels::find::{Kernel, other_suite};
use dyntick_model::KernelConfig;
use dyntick_system::read_regular;
use std::path::{Path, PathBuf};

/// The folder of the cache for unpacked headers, each in a folder RELEASE_VERSION.
const FOLDER: &str = "headers";

/// A folder that kbuild can compile a module in.
pub struct Headers {
    /// The kernel's own part, with its configuration.
    pub folder: PathBuf,
    /// The Makefile, where that in the folder cannot be used: Debian's includes a file by the path
    /// at which it would be installed.
    pub makefile: Option<PathBuf>,
}

impl Headers {
    /// The compiler that the kernel was compiled with, as `gcc-12`.
    pub fn compiler(&self) -> String {
        const LONGEST: u64 = 1 << 20;
        // The file belongs to the user who built the kernel: a FIFO would block.
        let bytes = read_regular(&self.folder.join(".config"), LONGEST).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let config = KernelConfig::parse(&text);
        let version = config.get("CC_VERSION_TEXT").unwrap_or_default();
        let word = version.split_whitespace().next().unwrap_or_default();
        let name = word.rsplit_once("linux-gnu-").map_or(word, |(_, name)| name);
        if name.is_empty() { "gcc".to_owned() } else { name.to_owned() }
    }
}

impl Headers {
    /// Returns true if the Makefile in the folder names the kernel's own part by the path at which it would be
    /// installed, as Debian's does from 7.x on.
    pub fn names_output(&self) -> bool {
        const LONGEST: u64 = 1 << 16;
        let own = read_regular(&self.folder.join("Makefile"), LONGEST).unwrap_or_default();
        self.makefile.is_some() && String::from_utf8_lossy(&own).contains("KBUILD_OUTPUT")
    }
}

/// The headers of Debian's image package, fetched and unpacked where needed.
pub fn of_debian(
    (image, version): &Package,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<Headers, EmulatorError> {
    let package = image.replacen("linux-image-", "linux-headers-", 1);
    let entry = format!("{FOLDER}/{}_{}", package, version.replace([':', '/'], "_"));
    let folder = cache.folder::<EmulatorError>(&entry, |folder| {
        let apt = offering(&package, version, cache, progress)?;
        apt.looking_again(cache, progress, || {
            let packages = all_of(&apt, &package, version)?;
            let (download, _) = apt.size(&packages)?;
            progress(&format!("fetching {package} {version} ({} MiB)", download >> 20));
            apt.unpack(&packages, folder)?;
            Ok(libraries::provide(folder, &apt, progress)?)
        })
    })?;
    let sources = folder.join("usr/src");
    let common = packages_in(&sources).into_iter().find(|name| name.contains("-common"));
    Ok(Headers {
        folder: sources.join(&package),
        makefile: common.map(|name| sources.join(name).join("Makefile")),
    })
}

/// The apt that offers a package: of this machine's suites, or of the other one that may have had the image.
fn offering(
    package: &str,
    version: &str,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<Apt, EmulatorError> {
    let offers =
        |apt: &Apt| Ok::<_, AptError>(apt.offers(package)?.iter().any(|offer| offer.version == version));
    let machine = Apt::open(cache, progress)?;
    if offers(&machine)? {
        return Ok(machine);
    }
    let release = package.replacen("linux-headers-", "", 1);
    let suite = other_suite(&release);
    let other = Apt::only(suite, cache, progress)?;
    if offers(&other)? {
        return Ok(other);
    }
    let why = format!("neither the suites of this machine nor {suite} offer {package} {version}");
    Err(EmulatorError::NoHeaders { kernel: release, why })
}

/// The package with those of its own kind that it needs: what all flavours share, and kbuild.
fn all_of(apt: &Apt, package: &str, version: &str) -> Result<Vec<Package>, EmulatorError> {
    let mut packages = vec![(package.to_owned(), version.to_owned())];
    for name in apt.depends(package, version)? {
        if name.starts_with("linux-headers-") || name.starts_with("linux-kbuild-") {
            let newest = apt.newest(&name)?.ok_or_else(|| AptError::Failed {
                what: format!("find {name}"),
                message: format!("{package} needs it, and no mirror has it"),
            })?;
            packages.push((name, newest));
        }
    }
    Ok(packages)
}

fn packages_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The headers of a kernel that was given as a file: the tree that it was compiled in, else those that are installed
/// for its release. With the folders that they are in; `None` if there are none. `make modules_install` leaves links
/// to the source tree of the user who built the kernel, and its Makefile may run anything.
pub fn of_file(kernel: &Kernel) -> Option<(Headers, Vec<PathBuf>)> {
    if let Some(tree) = &kernel.tree {
        return Some((Headers { folder: tree.clone(), makefile: None }, vec![tree.clone()]));
    }
    let release = kernel.release.to_string();
    let place = Path::new("/lib/modules").join(&release);
    // The release comes from the image; it becomes the name of a folder.
    if release.contains('/') || !place.join("build/Makefile").is_file() {
        return None;
    }
    let folder = place.join("build").canonicalize().ok()?;
    let sources = place.join("source").canonicalize();
    let folders = [folder.clone()].into_iter().chain(sources).collect();
    Some((Headers { folder, makefile: None }, folders))
}
