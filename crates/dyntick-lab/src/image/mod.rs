// SPDX-License-Identifier: GPL-2.0-only
//! The guest's first and only file system: this binary as `/init`, the real tools with what
//! they need to start, and kernel modules.

mod cpio;
mod disk;
mod elf;
mod modules;
pub mod packages;
mod share;

pub use disk::modules as disk_modules;
pub use elf::{ElfError, Programs};
pub use modules::{Module, ModuleError};
pub use share::{Share, ShareError};

use cpio::Cpio;
use dyntick_guest::names::{INIT, MODULE_FOLDER, STUDY_FOLDER};
use dyntick_kernels::find::Kernel;
use dyntick_kernels::programs;
use dyntick_system::{InputError, open_regular, read_open, read_solid};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The same by the name under which it is called: `dyntick stat` works in a guest as on a host.
const COMMAND: &str = "/bin/dyntick";

const PADDING: &str = "/padding";

/// A finished initramfs.
pub struct Image {
    /// The archive, uncompressed: under emulation the kernel copies faster than it decompresses.
    pub bytes: Vec<u8>,
    /// SHA-256 of the archive, in hexadecimal.
    pub sha256: String,
    /// SHA-256 of the program that is its `/init`, in hexadecimal.
    pub init_sha256: String,
}

/// The reason why no image could be made.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A tool that the study names is not on this machine.
    #[error("the tool '{0}' is not on this machine: {advice}", advice = packages::advice(.0))]
    NoSuchTool(String),
    /// A tool cannot be brought into the guest.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// A module cannot be brought into the guest.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] InputError),
}

/// The memory that making an image of these takes, bytes: the archive as it grows, and a file.
pub fn memory_to_build(tools: &Programs, modules: &[String], share: Option<&Share>) -> u64 {
    const TIMES: u64 = 3;
    let modules = if modules.is_empty() { 0 } else { modules::LARGEST };
    TIMES * (tools.bytes + modules + share.map_or(0, Share::bytes))
}

/// The contents of an image in addition to this program.
#[derive(Default)]
pub struct Contents<'a> {
    /// The programs that [`programs`] finds.
    pub tools: Option<&'a Programs>,
    /// Names of kernel modules.
    pub modules: &'a [String],
    /// A module that does not come with the kernel.
    pub own: Option<Module>,
    /// Texts by their paths from [`STUDY_FOLDER`].
    pub files: Option<&'a BTreeMap<String, String>>,
    /// A folder of the user's.
    pub share: Option<&'a Share>,
    /// The length of an unused file before all others, which moves these to other addresses; 0 for none.
    pub padding: u32,
}

/// Builds the initramfs; `init` is this program's own static binary.
pub fn build(init: &Path, kernel: &Kernel, contents: Contents<'_>) -> Result<Image, ImageError> {
    let Contents { tools, modules, own, files, share, padding } = contents;
    let mut cpio = Cpio::default();
    if padding > 0 {
        cpio.file(PADDING, &vec![0; padding as usize]);
    }
    for folder in ["/proc", "/sys", "/dev", "/tmp", "/run", STUDY_FOLDER] {
        cpio.directory(folder);
    }
    cpio.character_device("/dev/console", 5, 1);
    let init = read_solid(init, LARGEST)?;
    cpio.file(INIT, &init);
    cpio.link(COMMAND, INIT);
    for (path, file) in tools.iter().flat_map(|tools| &tools.files) {
        cpio.file(&path.to_string_lossy(), &read_open(file, path, LARGEST)?);
    }
    let modules = modules::with_dependencies(kernel, modules)?.into_iter().chain(own);
    for (position, module) in modules.enumerate() {
        cpio.file(&format!("{MODULE_FOLDER}/{position:02}-{}.ko", module.name), &module.contents);
    }
    for (name, text) in files.into_iter().flatten() {
        cpio.file(&format!("{STUDY_FOLDER}/{name}"), text.as_bytes());
    }
    if let Some(share) = share {
        share.put(&mut cpio);
    }
    let bytes = cpio.finish();
    let sha256 = hex::encode(Sha256::digest(&bytes));
    Ok(Image { bytes, sha256, init_sha256: hex::encode(Sha256::digest(init)) })
}

/// The path of a tool on this machine; the guest finds it at the same one.
pub fn find_tool(name: &str) -> Result<PathBuf, ImageError> {
    let missing = || ImageError::NoSuchTool(name.to_owned());
    if name.contains('/') {
        return Path::new(name).canonicalize().map_err(|_| missing());
    }
    programs::find(name).ok_or_else(missing)
}

/// Tools, which are names on the PATH or paths, with what they need.
pub fn programs(tools: &[String]) -> Result<Programs, ImageError> {
    let mut all = Programs::default();
    for tool in tools {
        all.add(&find_tool(tool)?)?;
    }
    Ok(all)
}

/// The size of this program's own binary, which each image has as its `/init`, bytes.
pub fn program_bytes(init: &Path) -> Result<u64, ImageError> {
    let found = open_regular(init)?.metadata();
    Ok(found.map_err(|source| InputError::Io { path: init.to_owned(), source })?.len())
}

/// More than any program that a guest has room for.
pub const LARGEST: u64 = 512 << 20;
