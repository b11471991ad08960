// SPDX-License-Identifier: GPL-2.0-only
//! The seal of a run, which proves that this user made it. A folder may also have come with a study, and its contents
//! would then be believed instead of run (invariant 8). The seal covers the files by which runs are compared
//! (invariant 2).

use crate::names::{ANALYSIS, RAW, SEAL, SUMS, TIMING};
use dyntick_kernels::cache::{Cache, CacheError, write_whole};
use dyntick_kernels::hash::Contents;
use dyntick_system::{open_beneath, read_beneath};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The file of the cache with the secret.
const SECRET: &str = "seal.secret";
const LENGTH: usize = 32;

/// Seals runs, and knows its own seal (HMAC-SHA-256 over the names and contents of a run's files) by a secret
/// in the user's cache.
pub struct Sealer {
    secret: [u8; LENGTH],
}

impl Sealer {
    /// A sealer with the secret of this cache, which is made if there is none.
    pub fn of(cache: &Cache) -> Result<Self, CacheError> {
        let _lock = cache.lock(SECRET)?;
        if let Some(sealer) = Self::known(cache) {
            return Ok(sealer);
        }
        let path = cache.path(SECRET);
        let failed = |error| CacheError::from_io(&path, error);
        let mut secret = [0; LENGTH];
        let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut secret));
        random.map_err(failed)?;
        // A temporary file is readable by its owner only, and stays so.
        let mut file = tempfile::NamedTempFile::new_in(cache.root()).map_err(failed)?;
        file.write_all(hex::encode(secret).as_bytes()).map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(Self { secret })
    }

    /// A sealer with the secret of this cache, if there is one.
    pub fn known(cache: &Cache) -> Option<Self> {
        let text = std::fs::read(cache.path(SECRET)).ok()?;
        let mut secret = [0; LENGTH];
        hex::decode_to_slice(text, &mut secret).ok()?;
        Some(Self { secret })
    }

    /// Seals a run as it is now.
    pub fn seal(&self, folder: &Path) -> Result<(), CacheError> {
        let path = folder.join(SEAL);
        let seal = self.over(folder).map_err(|error| CacheError::from_io(&path, error))?;
        write_whole(&path, hex::encode(seal.finalize().into_bytes()).as_bytes())?;
        close_to_others(folder).map_err(|error| CacheError::from_io(folder, error))
    }

    /// Returns true if the run is as this user sealed it, and no other user can change it any more.
    pub fn holds(&self, run: &Opened) -> bool {
        let folder = run.place();
        if !run.is_own(RAW) {
            return false;
        }
        let seal = seal_of(folder).and_then(|text| hex::decode(text).ok());
        let over = self.over(folder).ok();
        over.zip(seal).is_some_and(|(over, seal)| over.verify_slice(&seal).is_ok())
    }

    /// The seal of the analysis that this program made of a run; none without the run's own seal.
    pub fn seal_analysis(&self, folder: &Path, text: &[u8]) -> Option<String> {
        self.over_analysis(folder, text).map(|over| hex::encode(over.finalize().into_bytes()))
    }

    /// Returns true if this program made this analysis of a run, and this user sealed it.
    pub fn holds_analysis(&self, folder: &Path, seal: &[u8], text: &[u8]) -> bool {
        let over = self.over_analysis(folder, text).zip(hex::decode(seal).ok());
        over.is_some_and(|(over, seal)| over.verify_slice(&seal).is_ok())
    }

    /// The analysis of another run, or by another program, has another seal.
    fn over_analysis(&self, folder: &Path, text: &[u8]) -> Option<Hmac<Sha256>> {
        static PROGRAM: LazyLock<Option<String>> = LazyLock::new(own_sha256);
        let mut over = Hmac::new_from_slice(&self.secret).ok()?;
        // All but the last have a known length.
        for part in [b"analysis\0".as_slice(), PROGRAM.as_ref()?.as_bytes(), &seal_of(folder)?, text] {
            over.update(part);
        }
        Some(over)
    }

    fn over(&self, folder: &Path) -> io::Result<Hmac<Sha256>> {
        let mut over = Hmac::new_from_slice(&self.secret).map_err(io::Error::other)?;
        for (name, contents) in comparable_files(folder)? {
            // A name ends with a NUL, which none has within.
            over.update(format!("{name}\0{}\0{}\n", contents.bytes, contents.sha256).as_bytes());
        }
        Ok(over)
    }
}

/// The text of a run's seal.
fn seal_of(folder: &Path) -> Option<Vec<u8>> {
    read_beneath(folder, Path::new(SEAL), 2 * LENGTH as u64).ok()
}

/// The SHA-256 of this program's file.
fn own_sha256() -> Option<String> {
    let path = Path::new("/proc/self/exe");
    let contents = Contents::of_open(&File::open(path).ok()?, path, u64::MAX);
    contents.ok().map(|contents| contents.sha256)
}

/// Rights by which others than the owner could change a file.
const OTHERS_WRITE: u32 = 0o022;

/// A folder that stays the same one for as long as this lives.
pub struct Opened {
    folder: File,
    /// The path in `/proc/self/fd`, which leads to the open folder and not to its path.
    place: PathBuf,
}

impl Opened {
    /// The folder at this path, or behind the symbolic link there.
    ///
    /// # Errors
    /// If there is none, or it cannot be opened.
    pub fn at(path: &Path) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let place = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        Ok(Self { folder, place })
    }

    /// The path by which its files are opened.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Returns true if only this user, root, or the user who called sudo for it, can change the contents: files and the
    /// folder `raw` of files, all of these users and writable by no other.
    pub fn is_own(&self, raw: &str) -> bool {
        is_own(&self.folder.metadata()) && self.holds_only_own(Path::new(""), raw)
    }

    fn holds_only_own(&self, inner: &Path, raw: &str) -> bool {
        let Ok(mut entries) = std::fs::read_dir(self.place.join(inner)) else { return false };
        entries.all(|entry| {
            let Ok(entry) = entry else { return false };
            // Of a link it is the link's own.
            let found = entry.metadata();
            let is_raw = inner.as_os_str().is_empty() && entry.file_name() == *raw;
            let kind_is_right = found.as_ref().is_ok_and(|f| if is_raw { f.is_dir() } else { f.is_file() });
            kind_is_right && is_own(&found) && (!is_raw || self.holds_only_own(Path::new(raw), raw))
        })
    }
}

fn is_own(found: &io::Result<Metadata>) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let is_own = |uid: u32| [0, me].contains(&uid) || dyntick_system::is_callers(uid);
    found.as_ref().is_ok_and(|f| is_own(f.uid()) && f.mode() & OTHERS_WRITE == 0)
}

/// Takes the right to write from all but the owner of what is in a folder: a umask of 002 leaves it to the group.
///
/// # Errors
/// If that is not allowed.
pub fn close_to_others(folder: &Path) -> io::Result<()> {
    let close = |path: &Path| {
        let mode = path.symlink_metadata()?.mode();
        std::fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 & !OTHERS_WRITE))
    };
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let found = path.symlink_metadata()?;
        if found.is_dir() {
            close_to_others(&path)?
        } else if found.is_file() {
            close(&path)?
        } else {
            return Err(io::Error::other(format!("{} is no file", path.display())));
        }
    }
    close(folder)
}

/// All files of a run together: a profile has up to 1 GiB and what was being written then, all else fits into
/// the mailbox.
pub(crate) const LARGEST_RUN: u64 = 2 << 30;

/// The files of a run that must be the same in every repetition in virtual time: all but the timing, the sums of these
/// files, the seal, which is of one laboratory, and the analysis, which a later program makes again from the others.
pub fn comparable_files(folder: &Path) -> io::Result<BTreeMap<String, Contents>> {
    let mut files = BTreeMap::new();
    let mut left = LARGEST_RUN;
    for place in [PathBuf::new(), PathBuf::from(RAW)] {
        let within = folder.join(&place);
        if !within.symlink_metadata()?.is_dir() {
            return Err(io::Error::other(format!("{} is no folder", within.display())));
        }
        for entry in std::fs::read_dir(within)? {
            let path = entry?.path();
            let inner = path.strip_prefix(folder).unwrap_or(&path);
            let name = inner.to_string_lossy().into_owned();
            // An untrusted run may hold links to files without an end; a run of this laboratory has none.
            if path.symlink_metadata()?.is_file() && ![TIMING, SUMS, SEAL, ANALYSIS].contains(&name.as_str())
            {
                let file = open_beneath(folder, inner)?;
                let contents = Contents::of_open(&file, &path, left).map_err(io::Error::other)?;
                left -= contents.bytes;
                files.insert(name, contents);
            }
        }
    }
    Ok(files)
}

/// The sums of a run's files in the format of sha256sum(1).
pub(crate) fn sums_of(files: &BTreeMap<String, Contents>) -> String {
    files.iter().map(|(name, contents)| format!("{}  {name}\n", contents.sha256)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, remove_dir_all, rename, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn changed_run_does_not_have_its_seal() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path().join("cache"));
        assert!(Sealer::known(&cache).is_none());
        let sealer = Sealer::of(&cache).unwrap();
        let rights = cache.path(SECRET).metadata().unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o600);
        let run = dir.path().join("run");
        std::fs::create_dir_all(run.join("raw")).unwrap();
        std::fs::write(run.join("run.toml"), "asked").unwrap();
        std::fs::write(run.join("raw/trace"), "events").unwrap();
        assert!(!sealer.holds(&Opened::at(&run).unwrap()), "not sealed");
        sealer.seal(&run).unwrap();
        assert!(
            sealer.holds(&Opened::at(&run).unwrap())
                && Sealer::of(&cache).unwrap().holds(&Opened::at(&run).unwrap())
        );
        std::fs::write(run.join("timing.json"), "times differ").unwrap();
        assert!(sealer.holds(&Opened::at(&run).unwrap()));
        let another = Sealer::of(&Cache::at(dir.path().join("another"))).unwrap();
        assert!(!another.holds(&Opened::at(&run).unwrap()), "a run of somebody else");
        std::fs::rename(run.join("raw"), dir.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), run.join("raw")).unwrap();
        assert!(!sealer.holds(&Opened::at(&run).unwrap()), "nothing is read through a link");
        std::fs::remove_file(run.join("raw")).unwrap();
        std::fs::rename(dir.path().join("elsewhere"), run.join("raw")).unwrap();
        for (file, text) in [("raw/trace", "others"), ("raw/more", ""), ("seal", "zz"), ("seal", "")] {
            sealer.seal(&run).unwrap();
            std::fs::write(run.join(file), text).unwrap();
            assert!(!sealer.holds(&Opened::at(&run).unwrap()), "{file}");
        }
    }

    fn run(at: &Path) {
        create_dir(at).unwrap();
        create_dir(at.join("raw")).unwrap();
        write(at.join("run.toml"), "asked").unwrap();
        write(at.join("raw/trace"), "events").unwrap();
        close_to_others(at).unwrap();
    }

    #[test]
    fn what_is_put_at_its_path_meanwhile_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other, link) = (dir.path().join("one"), dir.path().join("other"), dir.path().join("link"));
        run(&one);
        run(&other);
        write(other.join("run.toml"), "forged").unwrap();
        symlink(&one, &link).unwrap();
        let opened = Opened::at(&link).unwrap();
        symlink(&other, dir.path().join("next")).unwrap();
        rename(dir.path().join("next"), &link).unwrap();
        assert_eq!(std::fs::read_to_string(opened.place().join("run.toml")).unwrap(), "asked");
        let again = Opened::at(&link).unwrap();
        assert_eq!(std::fs::read_to_string(again.place().join("run.toml")).unwrap(), "forged");
    }

    #[test]
    fn own_is_what_no_other_can_change() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("run");
        let own_after = |change: &dyn Fn(&Path)| {
            run(&folder);
            change(&folder);
            let own = Opened::at(&folder).unwrap().is_own("raw");
            remove_dir_all(&folder).unwrap();
            own
        };
        let mode = |path: PathBuf, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        assert!(own_after(&|_| ()));
        assert!(!own_after(&|run| mode(run.to_owned(), 0o777)), "anybody renames what is in it");
        assert!(!own_after(&|run| mode(run.join("raw"), 0o775)));
        assert!(!own_after(&|run| mode(run.join("raw/trace"), 0o666)));
        assert!(!own_after(&|run| symlink("/etc/passwd", run.join("raw/link")).unwrap()));
        assert!(!own_after(&|run| create_dir(run.join("raw/more")).unwrap()));
        assert!(!own_after(&|run| create_dir(run.join("more")).unwrap()));
        if rustix::process::geteuid().is_root() {
            let give = |path: PathBuf| std::os::unix::fs::chown(path, Some(65534), None).unwrap();
            assert!(!own_after(&|run| give(run.join("raw/trace"))), "its owner may give itself the right");
        }
    }
}
