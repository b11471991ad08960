// SPDX-License-Identifier: GPL-2.0-only
//! Kernels in package files of any distribution: .deb (Debian, Ubuntu) and .rpm (Fedora, RHEL, SUSE).

use super::KernelError;
use super::files::Files;
use crate::cache::{Cache, CacheError, ensure_space};
use crate::programs;
use dyntick_model::text::clean_line;
use dyntick_system::InputError;
use dyntick_system::confine::{Walls, real_path};
use rustix::process::Resource;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the cache with the kernels of package files.
const FOLDER: &str = "packages";
/// The limit of what a kernel's packages hold, bytes: a distribution's modules are not half of it.
const MOST_BYTES: u64 = 4 << 30;
/// Parts of the names of packages that go with a kernel and have no file that a guest needs.
const OTHERS: [&str; 8] = ["headers", "devel", "dbg", "debug", "tools", "doc", "buildinfo", "source"];

/// A kind of packages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Deb,
    Rpm,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "deb" => Some(Kind::Deb),
            "rpm" => Some(Kind::Rpm),
            _ => None,
        }
    }

    /// The program that writes the files of a package as a tar archive, and its package in Debian.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            Kind::Deb => ("dpkg-deb", "dpkg"),
            Kind::Rpm => ("bsdtar", "libarchive-tools"),
        }
    }

    fn command(self, package: &Path) -> Command {
        let mut command = Command::new(self.program().0);
        match self {
            Kind::Deb => command.arg("--fsys-tarfile").arg(package),
            Kind::Rpm => {
                let mut all = std::ffi::OsString::from("@");
                all.push(package);
                command.args(["-c", "-f", "-"]).arg(all)
            }
        };
        command
    }
}

/// The files of the kernel in a package file, with those of the packages beside it that go with it; none if the path
/// names no package.
pub(super) fn files(
    path: &Path,
    cache: &Cache,
    progress: &dyn Fn(&str),
) -> Result<Option<Files>, KernelError> {
    let Some(kind) = Kind::of(path).filter(|_| path.is_file()) else { return Ok(None) };
    let path = real_path(path);
    // The package that was named is unpacked last, so that its image is the one that is booted.
    let all: Vec<PathBuf> = beside(&path, kind).into_iter().chain([path.clone()]).collect();
    let entry = format!("{FOLDER}/{}", hash(&all)?);
    let folder = cache.folder(&entry, |folder| {
        let names: Vec<String> = all.iter().map(|package| name(package)).collect();
        progress(&format!("unpacking {}", names.join(", ")));
        let mut left = MOST_BYTES;
        all.iter().try_for_each(|package| unpack(kind, package, folder, &mut left))
    })?;
    let image = image(&folder).ok_or_else(|| KernelError::NoImageInPackage(path.clone()))?;
    let others = all.len() - 1;
    let source = match others {
        0 => format!("package {}", name(&path)),
        _ => format!("package {} with {others} beside it", name(&path)),
    };
    let files = Files { source, ..Files::at(image) };
    if files.modules.is_none() {
        progress(&format!(
            "no modules of {} are in its package or beside it; put the package of its modules there",
            name(&path)
        ));
    }
    Ok(Some(files))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The release that a package's name has: from the first `-` before a digit, in a .deb up to the `_` of its version.
fn release(name: &str, kind: Kind) -> Option<&str> {
    let named = match kind {
        Kind::Deb => name.split('_').next()?,
        Kind::Rpm => name.strip_suffix(".rpm")?,
    };
    let is_begin = |(at, _): &(usize, &str)| named.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
    named.match_indices('-').find(is_begin).map(|(at, _)| &named[at + 1..])
}

/// The packages of the same release in the same folder, by name.
fn beside(package: &Path, kind: Kind) -> Vec<PathBuf> {
    let named = name(package);
    let Some(wanted) = release(&named, kind) else { return Vec::new() };
    let entries = package.parent().map(std::fs::read_dir).into_iter().flatten().flatten().flatten();
    let belongs = |path: &PathBuf| {
        let other = name(path);
        path != package
            && path.is_file()
            && Kind::of(path) == Some(kind)
            && release(&other, kind) == Some(wanted)
            && !OTHERS.iter().any(|part| other.contains(part))
    };
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(belongs).collect();
    all.sort();
    all
}

/// The hash of all packages together.
fn hash(packages: &[PathBuf]) -> Result<String, KernelError> {
    let mut hash = Sha256::new();
    for path in packages {
        let io = |source| InputError::Io { path: path.clone(), source };
        std::io::copy(&mut File::open(path).map_err(io)?, &mut hash).map_err(io)?;
    }
    Ok(hex::encode(hash.finalize()))
}

/// Unpacks the files of a kernel. The program that reads the untrusted package is confined and writes to a pipe only.
fn unpack(kind: Kind, package: &Path, folder: &Path, left: &mut u64) -> Result<(), KernelError> {
    let fault = |reason: String| KernelError::Package { path: package.to_owned(), reason };
    let (program, of) = kind.program();
    if programs::find(program).is_none() {
        return Err(fault(format!("'{program}' is not installed: apt-get install {of}")));
    }
    let walls = Walls::new().map_err(|reason| fault(reason.to_string()))?.read(package);
    let mut command = walls.around(&kind.command(package)).map_err(|reason| fault(reason.to_string()))?;
    // A file, since no thread reads a pipe of complaints while the archive is read.
    let io = |error: std::io::Error| fault(error.to_string());
    let mut complaints = tempfile::tempfile().map_err(io)?;
    programs::limit(&mut command, Resource::Fsize, MOST_COMPLAINTS);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(complaints.try_clone().map_err(io)?);
    let mut child = command.spawn().map_err(io)?;
    let pipe = child.stdout.take();
    let done = pipe.map_or(Ok(()), |archive| extract(archive, folder, left));
    // A program that still writes is ended by its closed pipe.
    let ended = child.wait().map_err(io)?;
    let mut said = Vec::new();
    complaints.rewind().and_then(|()| complaints.read_to_end(&mut said)).map_err(io)?;
    let said = String::from_utf8_lossy(&said);
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
            Err(CacheError::from_io(folder, error).into())
        }
        Err(error) => Err(fault(error.to_string())),
        Ok(()) if !ended.success() => {
            Err(fault(clean_line(said.lines().next_back().unwrap_or("it is damaged").trim())))
        }
        Ok(()) => Ok(()),
    }
}

/// The limit of what a program says about a package, bytes.
const MOST_COMPLAINTS: u64 = 1 << 20;
/// The limit of what follows the end of an archive, bytes: programs fill their last block.
const MOST_PADDING: u64 = 1 << 20;

/// The folders of a package that hold a kernel, its configuration and its modules.
const PLACES: [&str; 3] = ["boot", "lib/modules", "usr/lib/modules"];

/// Unpacks the regular files of these folders. Links are left out: one could lead out of the folder.
fn extract(archive: impl Read, folder: &Path, left: &mut u64) -> std::io::Result<()> {
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let path = path.strip_prefix(".").unwrap_or(&path);
        if !entry.header().entry_type().is_file() || !PLACES.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        let size = entry.size();
        *left = left.checked_sub(size).ok_or_else(|| {
            std::io::Error::other(format!("its files have more than {} GiB", MOST_BYTES >> 30))
        })?;
        if size > 1 << 20 {
            ensure_space(folder, size).map_err(std::io::Error::other)?;
        }
        entry.set_preserve_permissions(false);
        entry.unpack_in(folder)?;
    }
    // A program whose pipe is closed before it has written all fails.
    std::io::copy(&mut archive.into_inner().take(MOST_PADDING), &mut std::io::sink())?;
    Ok(())
}

/// The image of an unpacked kernel.
fn image(folder: &Path) -> Option<PathBuf> {
    let names = |place: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder.join(place)).into_iter().flatten().flatten();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        all.sort();
        all
    };
    let in_boot = names("boot").into_iter().filter(|path| name(path).starts_with("vmlinuz-"));
    let among = ["lib/modules", "usr/lib/modules"].into_iter().flat_map(names);
    in_boot.chain(among.map(|release| release.join("vmlinuz"))).find(|image| image.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_one_release_go_together() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "linux-image-unsigned-6.8.0-45-generic_6.8.0-45.45_amd64.deb",
            "linux-modules-6.8.0-45-generic_6.8.0-45.45_amd64.deb",
            "linux-modules-extra-6.8.0-45-generic_6.8.0-45.45_amd64.deb",
            "linux-modules-6.8.0-47-generic_6.8.0-47.47_amd64.deb",
            "linux-headers-6.8.0-45-generic_6.8.0-45.45_amd64.deb",
            "linux-image-6.12.9-amd64-dbg_6.12.9-1_amd64.deb",
            "kernel-core-6.11.4-301.fc41.x86_64.rpm",
            "kernel-modules-core-6.11.4-301.fc41.x86_64.rpm",
            "kernel-devel-6.11.4-301.fc41.x86_64.rpm",
            "kernel-modules-core-6.11.5-300.fc41.x86_64.rpm",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let names = |package: &str, kind| -> Vec<String> {
            beside(&folder.path().join(package), kind).iter().map(|path| name(path)).collect()
        };
        assert_eq!(
            names("linux-image-unsigned-6.8.0-45-generic_6.8.0-45.45_amd64.deb", Kind::Deb),
            [
                "linux-modules-6.8.0-45-generic_6.8.0-45.45_amd64.deb",
                "linux-modules-extra-6.8.0-45-generic_6.8.0-45.45_amd64.deb"
            ]
        );
        assert_eq!(
            names("kernel-core-6.11.4-301.fc41.x86_64.rpm", Kind::Rpm),
            ["kernel-modules-core-6.11.4-301.fc41.x86_64.rpm"]
        );
        assert_eq!(names("kernel.rpm", Kind::Rpm), [""; 0], "its name has no release");
    }

    /// An archive with these files, whose names are not checked.
    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, bytes) in files {
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, *bytes).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn files_of_the_kernel_alone_are_unpacked() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        let bytes = archive(&[
            ("./boot/vmlinuz-6.8.0-45-generic", b"image"),
            ("./boot/../../out", b"no"),
            ("./usr/share/doc/copyright", b"no"),
            ("lib/modules/6.8.0-45-generic/kernel/a.ko.zst", b"module"),
        ]);
        extract(&bytes[..], &folder, &mut 100).unwrap();
        assert_eq!(image(&folder), Some(folder.join("boot/vmlinuz-6.8.0-45-generic")));
        let files = Files::at(image(&folder).unwrap());
        assert_eq!(files.modules, Some(real_path(&folder).join("lib/modules/6.8.0-45-generic")));
        assert!(!root.path().join("out").exists() && !folder.join("usr").exists());
        let error = extract(&bytes[..], &folder, &mut 10).unwrap_err();
        assert_eq!(error.to_string(), "its files have more than 4 GiB");
    }
}
