// SPDX-License-Identifier: GPL-2.0-only
//! A source tree on this machine, with whatever is being changed in it. It is read and never written.

use super::git::command::{ask, git, walls_of};
use super::unpack::{BYTES, of_itself};
use super::{BuildError, SourceError};
use crate::cache::CacheError;
use dyntick_system::{open_beneath, place_beneath};
use sha2::{Digest, Sha256};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A tree, looked through.
pub struct Tree {
    /// Its path.
    pub root: PathBuf,
    /// Its source files, from the root.
    files: Vec<PathBuf>,
    /// The hash of all of them.
    pub hash: String,
}

/// Looks through a tree.
pub fn look(root: &Path) -> Result<Tree, BuildError> {
    // Before anything else is read: a study names any folder, and some of the kernel's do something when they are read.
    for file in ["Kconfig", "Makefile"] {
        if root.join(file).symlink_metadata().is_err() {
            return Err(SourceError::NotAKernel(root.display().to_string()).into());
        }
    }
    refuse_home(root)?;
    let mut files = if root.join(".git").exists() { tracked(root)? } else { sources(root)? };
    keep_sources(root, &mut files)?;
    files.sort();
    let size = |file: &PathBuf| {
        let contents = root.join(file).symlink_metadata().map_or(0, |found| found.len());
        // A copy of what is too deep takes what no limit allows.
        of_itself(file).map_or(u64::MAX, |own| own.saturating_add(contents))
    };
    if files.iter().map(size).fold(0, u64::saturating_add) > BYTES {
        let message = format!("its files have more than {} GiB, and a kernel has 1.5 GiB", BYTES >> 30);
        return Err(BuildError::Failed { what: format!("read the source tree {}", root.display()), message });
    }
    let hash = hash(root, &files)?;
    Ok(Tree { root: root.to_owned(), files, hash })
}

/// Refuses a home folder: a study that was unpacked in one may name all of it as a kernel's source.
fn refuse_home(root: &Path) -> Result<(), BuildError> {
    const OF_HOMES: [&str; 5] = [".profile", ".bashrc", ".ssh", ".cache", ".local"];
    match OF_HOMES.iter().find(|name| root.join(name).symlink_metadata().is_ok()) {
        None => Ok(()),
        Some(name) => Err(BuildError::Failed {
            what: format!("read the source tree {}", root.display()),
            message: format!("it looks like a home folder ({name}); move the source to a folder of its own"),
        }),
    }
}

/// The names in the top folder of a kernel's source, Linux 5.10 to 7.2.
const OF_A_KERNEL: [&str; 33] = [
    "COPYING",
    "CREDITS",
    "Documentation",
    "Kbuild",
    "Kconfig",
    "LICENSES",
    "MAINTAINERS",
    "Makefile",
    "README",
    "arch",
    "block",
    "certs",
    "crypto",
    "debian",
    "drivers",
    "fs",
    "include",
    "init",
    "io_uring",
    "ipc",
    "kernel",
    "lib",
    "localversion",
    "mm",
    "net",
    "rust",
    "samples",
    "scripts",
    "security",
    "sound",
    "tools",
    "usr",
    "virt",
];

/// Keeps the files that belong to a kernel by their names. A hidden file does not, nor the private key that a build
/// makes (`certs/signing_key.pem`): a build can print each file that it gets.
fn keep_sources(root: &Path, files: &mut Vec<PathBuf>) -> Result<(), BuildError> {
    let is_hidden = |file: &Path| file.components().any(|part| part.as_os_str().as_bytes().starts_with(b"."));
    let is_key = |file: &Path| file.extension().is_some_and(|extension| extension == "pem");
    let is_kernels = |file: &Path| {
        let top = file.components().next().map(|top| top.as_os_str().to_string_lossy());
        // Distributions and developers have several (`localversion-rt`).
        top.is_some_and(|top| OF_A_KERNEL.contains(&top.split('-').next().unwrap_or_default()))
    };
    files.retain(|file| is_kernels(file) && !is_hidden(file) && !is_key(file));
    if ["Kconfig", "Makefile"].iter().all(|file| files.iter().any(|kept| kept == Path::new(file))) {
        return Ok(());
    }
    Err(SourceError::NotAKernel(root.display().to_string()).into())
}

/// The hash of these files with their names.
fn hash(root: &Path, files: &[PathBuf]) -> Result<String, SourceError> {
    let mut hash = Sha256::new();
    for file in files {
        hash.update(file.as_os_str().as_bytes());
        hash.update([0]);
        hash.update(digest(root, file)?);
    }
    Ok(hex::encode(hash.finalize()))
}

/// The files that git tracks or would add, without ignored ones, which are products of builds.
fn tracked(root: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let mut git = git(root, &walls_of(root)?)?;
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = ask(&format!("list the files of {}", root.display()), &mut git)?;
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let paths = names.map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name)));
    // A file that was removed and not yet committed is still listed.
    Ok(paths.filter(|path| root.join(path).symlink_metadata().is_ok_and(|file| !file.is_dir())).collect())
}

/// All files but the products of builds.
fn sources(root: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let product = |name: &str| {
        name.starts_with('.')
            || [".o", ".a", ".ko", ".cmd", ".mod"].iter().any(|ending| name.ends_with(ending))
    };
    let generated = ["include/config", "include/generated", "arch/x86/include/generated"];
    let wanted = |entry: &walkdir::DirEntry| {
        let inner = entry.path().strip_prefix(root).unwrap_or(entry.path());
        entry.depth() == 0
            || !(product(&entry.file_name().to_string_lossy())
                || generated.iter().any(|folder| inner == Path::new(folder)))
    };
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(root).same_file_system(true).into_iter().filter_entry(wanted) {
        let entry =
            entry.map_err(|error| SourceError::Read { path: root.to_owned(), source: error.into() })?;
        if !entry.file_type().is_dir() {
            files.push(entry.path().strip_prefix(root).unwrap_or(entry.path()).to_owned());
        }
    }
    Ok(files)
}

fn digest(root: &Path, file: &Path) -> Result<Vec<u8>, SourceError> {
    let path = root.join(file);
    let read = |source| SourceError::Read { path: path.clone(), source };
    if path.symlink_metadata().map_err(read)?.is_symlink() {
        let target = std::fs::read_link(&path).map_err(read)?;
        return Ok(Sha256::digest([b"link ", target.as_os_str().as_bytes()].concat()).to_vec());
    }
    // A tree may be an untrusted: a pipe in it has no end, and a folder that is a link leads elsewhere.
    let mut opened = open_beneath(root, file).map_err(read)?;
    let kind: &[u8] = if opened.metadata().map_err(read)?.permissions().mode() & 0o100 == 0 {
        b"file "
    } else {
        b"program "
    };
    let mut hash = Sha256::new_with_prefix(kind);
    std::io::copy(&mut opened, &mut hash).map_err(read)?;
    Ok(hash.finalize().to_vec())
}

/// Copies a tree; where the file system can, the copy shares its blocks. A copy of something else than what was looked
/// through is refused: it would be kept under a hash that is not its own.
pub fn copy(tree: &Tree, folder: &Path) -> Result<(), BuildError> {
    let edited = || SourceError::Edited(tree.root.clone());
    for file in &tree.files {
        let (from, to) = (tree.root.join(file), folder.join(file));
        let copied = || {
            place_beneath(folder, file)?;
            if from.symlink_metadata()?.is_symlink() {
                return std::os::unix::fs::symlink(std::fs::read_link(&from)?, &to);
            }
            let mut opened = open_beneath(&tree.root, file)?;
            let rights = if opened.metadata()?.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
            let mut copy = std::fs::File::create_new(&to)?;
            std::io::copy(&mut opened, &mut copy)?;
            copy.set_permissions(std::fs::Permissions::from_mode(rights))
        };
        match copied() {
            Err(_) if from.symlink_metadata().is_err() => return Err(edited().into()),
            copied => copied.map_err(|error: std::io::Error| CacheError::from_io(&to, error))?,
        }
    }
    if hash(folder, &tree.files)? == tree.hash { Ok(()) } else { Err(edited().into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn kernel(root: &Path) {
        ["Kconfig", "Makefile"].iter().for_each(|file| put(root, file, "k"));
    }

    #[test]
    fn a_tree_is_known_by_its_sources_alone() {
        let dir = tempfile::tempdir().unwrap();
        kernel(dir.path());
        put(dir.path(), "kernel/fork.c", "f");
        let clean = look(dir.path()).unwrap();
        for product in [".config", "kernel/fork.o", "include/config/auto.conf", "kernel/.fork.o.cmd"] {
            put(dir.path(), product, "p");
        }
        let built = look(dir.path()).unwrap();
        assert_eq!(clean.hash, built.hash);
        let copied = tempfile::tempdir().unwrap();
        copy(&built, copied.path()).unwrap();
        assert_eq!(look(copied.path()).unwrap().hash, clean.hash);
        assert!(!copied.path().join(".config").exists());
        put(dir.path(), "kernel/fork.c", "g");
        assert_ne!(look(dir.path()).unwrap().hash, clean.hash);
    }

    #[test]
    fn hidden_files_and_keys_are_no_sources() {
        let dir = tempfile::tempdir().unwrap();
        kernel(dir.path());
        let taken = || look(dir.path()).map(|tree| tree.files.len()).map_err(|error| error.to_string());
        for file in ["kernel/fork.c", "certs/signing_key.pem", "kernel/.key", ".npmrc"] {
            put(dir.path(), file, "x");
        }
        assert_eq!(taken(), Ok(3));
        // git would list them, too.
        let mut init = std::process::Command::new("git");
        assert!(init.args(["init", "--quiet"]).arg(dir.path()).status().unwrap().success());
        if crate::build::source::git::command::walls().is_ok() {
            assert_eq!(taken(), Ok(3));
        }
    }

    /// The rights are those that umask 077 leaves.
    #[test]
    fn a_tree_that_only_its_owner_may_read_is_a_source() {
        let dir = tempfile::tempdir().unwrap();
        kernel(dir.path());
        put(dir.path(), "kernel/fork.c", "f");
        for (file, mode) in [("Makefile", 0o600), ("kernel", 0o700), ("kernel/fork.c", 0o600)] {
            let rights = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(dir.path().join(file), rights).unwrap();
        }
        let tree = look(dir.path()).unwrap();
        let copied = tempfile::tempdir().unwrap();
        copy(&tree, copied.path()).unwrap();
        let mode = |file: &str| copied.path().join(file).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (tree.files.len(), mode("kernel/fork.c")),
            (3, 0o644),
            "the confined build reads the copy"
        );
    }

    #[test]
    fn a_home_folder_is_no_source() {
        let dir = tempfile::tempdir().unwrap();
        kernel(dir.path());
        put(dir.path(), "Documents/tax.txt", "x");
        put(dir.path(), "passwords.txt", "x");
        assert_eq!(look(dir.path()).unwrap().files.len(), 2);
        put(dir.path(), ".ssh/id", "x");
        assert!(look(dir.path()).err().unwrap().to_string().contains("a home folder (.ssh)"));
    }

    #[test]
    fn a_tree_that_is_edited_before_it_is_copied_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        kernel(dir.path());
        put(dir.path(), "kernel/fork.c", "f");
        let tree = look(dir.path()).unwrap();
        let copied = || {
            let folder = tempfile::tempdir().unwrap();
            copy(&tree, folder.path()).map_err(|error| error.to_string())
        };
        let told = format!("the source tree {} was changed while", dir.path().display());
        put(dir.path(), "kernel/new.c", "n");
        copied().unwrap();
        put(dir.path(), "kernel/fork.c", "g");
        assert!(copied().unwrap_err().starts_with(&told));
        std::fs::remove_file(dir.path().join("kernel/fork.c")).unwrap();
        assert!(copied().unwrap_err().starts_with(&told));
    }

    #[test]
    fn other_folders_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "Kconfig", "k");
        // To read it would be an error of its own.
        let _listening = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        let error = look(dir.path()).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("is not a kernel source"), "{error}");
    }

    #[test]
    fn links_and_pipes_of_a_tree_lead_nowhere() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(outside.path(), "secret", "secret");
        kernel(dir.path());
        put(dir.path(), "kernel/fork.c", "f");
        std::os::unix::fs::symlink(outside.path(), dir.path().join("kernel/way")).unwrap();
        let copied = tempfile::tempdir().unwrap();
        copy(&look(dir.path()).unwrap(), copied.path()).unwrap();
        assert!(copied.path().join("kernel/way").is_symlink());
        // As an index that was made by hand would list them.
        for file in ["kernel/way/secret", "../secret"] {
            assert!(hash(dir.path(), &[file.into()]).is_err(), "{file}");
            let tree = Tree { root: dir.path().to_owned(), files: vec![file.into()], hash: String::new() };
            assert!(copy(&tree, copied.path()).is_err(), "{file}");
        }
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        let pipe = dir.path().join("kernel/pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(look(dir.path()).is_err_and(|error| error.to_string().contains("not a regular file")));
    }
}
