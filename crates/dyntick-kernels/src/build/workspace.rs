// SPDX-License-Identifier: GPL-2.0-only
//! The folder that a kernel is built in: a source tree of hard links and an empty folder for the objects, at a
//! path that is the same for every build of a source, so that ccache knows its files again.

use crate::cache::unused::REMOVING;
use crate::cache::{Cache, CacheError, ensure_space};
use crate::remove::remove_tree;
use dyntick_model::text::shortened;
use rustix::fs::{FlockOperation, flock};
use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder of the cache with workspaces, each hidden: it is never complete.
const FOLDER: &str = "building";
const PREFIX: &str = ".building-";

/// A lab kernel's objects take a tenth of it; a distribution's configuration without debug
/// information fits.
const BYTES: u64 = 4 << 30;

/// A place to build in. It is removed with this value; what a killed process left is removed by
/// the next that builds.
pub struct Workspace {
    folder: PathBuf,
    /// The file that others read while they wait.
    doing: PathBuf,
    _lock: File,
}

impl Workspace {
    /// Takes the place of this source, waiting until no other process has it, and fills it with
    /// hard links to the pristine tree.
    pub fn open(
        cache: &Cache,
        source: &str,
        pristine: &Path,
        progress: &dyn Fn(&str),
    ) -> Result<Self, CacheError> {
        let waiting = waiting(cache, source, progress);
        let lock = cache.lock_after(&format!("{FOLDER}/{source}"), &waiting)?;
        let folder = cache.path(FOLDER).join(format!("{PREFIX}{source}"));
        ensure_space(&folder, BYTES)?;
        let space = Self { folder, doing: doing(cache, source), _lock: lock };
        space.note(PREPARING);
        progress(PREPARING);
        let filled = space.fill(pristine);
        filled.map_err(|error| CacheError::from_io(&space.folder, error))?;
        Ok(space)
    }

    /// Writes down for other processes what this one does here. It only informs them, so a failure does no harm.
    pub fn note(&self, what: &str) {
        let _ = std::fs::write(&self.doing, format!("{} {what}", std::process::id()));
    }

    fn fill(&self, pristine: &Path) -> std::io::Result<()> {
        remove_tree(&self.folder)?;
        // Closed to other users, who could run a set-user-ID file of an untrusted build.
        make_folder(&self.folder, 0o700)?;
        make_folder(&self.objects(), ENTERED)?;
        link_tree(pristine, &self.tree())
    }

    /// The source tree. Its files are shared with the pristine one: [`replace`] one, and never write
    /// to it.
    pub fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// A new folder in addition to the two; it replaces an older one.
    pub fn folder(&self, name: &str) -> Result<PathBuf, CacheError> {
        let folder = self.folder.join(name);
        let made = remove_tree(&folder).and_then(|()| make_folder(&folder, ENTERED));
        made.map_err(|error| CacheError::from_io(&folder, error))?;
        Ok(folder)
    }

    /// A file in addition to them, for one of the programs that work here.
    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf, CacheError> {
        let file = self.folder.join(name);
        std::fs::write(&file, text).map_err(|error| CacheError::from_io(&file, error))?;
        Ok(file)
    }

    /// The folder of the objects.
    pub fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.doing);
        let _ = remove_tree(&self.folder);
    }
}

/// The step of linking each file of a source tree.
const PREPARING: &str = "preparing the source tree";

fn doing(cache: &Cache, source: &str) -> PathBuf {
    cache.path(FOLDER).join(format!("{source}.doing"))
}

/// A function to call while another process builds from this source. Once a minute it reports who does, and how far
/// that is.
pub fn waiting<'a>(cache: &Cache, source: &str, progress: &'a dyn Fn(&str)) -> impl Fn() + use<'a> {
    const MINUTE: Duration = Duration::from_secs(60);
    let (doing, told) = (doing(cache, source), Cell::new(None));
    move || {
        if told.get().is_none_or(|told: Instant| told.elapsed() >= MINUTE) {
            told.set(Some(Instant::now()));
            progress(&other_build(&dyntick_system::read_regular(&doing, LONGEST_NOTE).unwrap_or_default()));
        }
    }
}

/// A note is a number and a few words.
const LONGEST_NOTE: u64 = 4096;

/// The message about another build, from its note.
fn other_build(note: &[u8]) -> String {
    const LONGEST: usize = 200;
    let note = String::from_utf8_lossy(note);
    let pid = |text: &str| text.parse::<u32>().ok();
    match note.split_once(' ').and_then(|(first, what)| Some((pid(first)?, what))) {
        Some((pid, what)) => {
            format!("waiting for another build of this source (pid {pid}: {})", shortened(what, LONGEST))
        }
        None => "waiting for another build of this source".to_owned(),
    }
}

/// Puts a file of its own in the place of one of the tree, or where none is.
pub fn replace(path: &Path, from: &mut File) -> std::io::Result<()> {
    let mut own = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new("/")))?;
    std::io::copy(from, &mut own)?;
    let rights = from.metadata()?.permissions().mode() & 0o755;
    own.as_file().set_permissions(std::fs::Permissions::from_mode(rights | 0o644))?;
    own.persist(path).map(|_| ()).map_err(|error| error.error)
}

/// The rights of folders in a workspace. Confined programs enter them, where this is root as another user.
const ENTERED: u32 = 0o755;

/// Makes a folder with these rights, whatever the umask.
fn make_folder(folder: &Path, rights: u32) -> std::io::Result<()> {
    std::fs::create_dir(folder)?;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(rights))
}

fn link_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry?;
        let place = to.join(entry.path().strip_prefix(from).map_err(std::io::Error::other)?);
        let kind = entry.file_type();
        if kind.is_dir() {
            make_folder(&place, ENTERED)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, place)?;
        } else if std::fs::hard_link(entry.path(), &place).is_err() {
            // Some file systems have no links.
            std::fs::copy(entry.path(), place)?;
        }
    }
    Ok(())
}

/// Removes the workspaces of processes that have ended: their locks are free.
pub fn remove_abandoned(cache: &Cache, progress: &dyn Fn(&str)) {
    let entries = std::fs::read_dir(cache.path(FOLDER)).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(source) = name.strip_prefix(PREFIX) else { continue };
        let Ok(lock) = File::create(cache.path(&format!("{FOLDER}/{source}.lock"))) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            progress(REMOVING);
            let _ = remove_tree(&entry.path());
        }
        // Held until here: the next to build from this source must find all of it or nothing.
        drop(lock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_says_for_which_process_and_how_far_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let pristine = dir.path().join("pristine");
        std::fs::create_dir(&pristine).unwrap();
        let space = Workspace::open(&cache, "s", &pristine, &|_| ()).unwrap();
        let told = std::cell::RefCell::new(Vec::new());
        let progress = |text: &str| told.borrow_mut().push(text.to_owned());
        space.note("compiled 40 %, about 3 min left");
        let wait = waiting(&cache, "s", &progress);
        (0..3).for_each(|_| wait());
        let pid = std::process::id();
        let expected =
            format!("waiting for another build of this source (pid {pid}: compiled 40 %, about 3 min left)");
        assert_eq!(*told.borrow(), [expected], "not at each look");
        drop(space);
        waiting(&cache, "s", &progress)();
        assert_eq!(
            told.borrow()[1],
            "waiting for another build of this source",
            "nothing is known of it any more"
        );
        assert_eq!(other_build(b"x y"), "waiting for another build of this source");
    }

    #[test]
    fn the_pristine_tree_stays_as_it_is_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        let pristine = dir.path().join("pristine");
        std::fs::create_dir_all(pristine.join("kernel")).unwrap();
        std::fs::write(pristine.join("kernel/a.c"), "old").unwrap();
        let space = Workspace::open(&cache, "s", &pristine, &|_| ()).unwrap();
        let file = space.tree().join("kernel/a.c");
        std::fs::write(dir.path().join("new"), "new").unwrap();
        replace(&file, &mut File::open(dir.path().join("new")).unwrap()).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::read_to_string(pristine.join("kernel/a.c")).unwrap(), "old");
        let left = cache.path("building/.building-dead");
        std::fs::create_dir_all(left.join("tree")).unwrap();
        drop(space);
        assert!(!file.exists());
        remove_abandoned(&cache, &|_| ());
        assert!(!left.exists(), "what a killed process left is gone");
    }
}
