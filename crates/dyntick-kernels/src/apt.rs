// SPDX-License-Identifier: GPL-2.0-only
//! A private apt: it reads the machine's package sources and keyring, and keeps its own lists and
//! downloads in the cache. The system's sources, lists and packages stay as they are, and no
//! privilege is needed.

mod sources;
mod user;

use crate::cache::{Cache, CacheError, ensure_space, write_whole};
use crate::programs::end_with_this_one;
use dyntick_model::text::shortened;
use sources::KEYRING;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// The index is asked for anew after this time.
const INDEX_AGE: Duration = Duration::from_secs(24 * 3600);
/// A mirror that did not answer is asked again after this time: without network, waiting for it
/// once a case would make a study slow.
const RETRY_AGE: Duration = Duration::from_secs(600);

/// The index of two releases, and what apt makes of it.
const INDEX_BYTES: u64 = 256 << 20;

/// Written when the mirror was asked, with why it gave nothing, and when it gave all that was asked for, with what that
/// was.
const ASKED: &str = "asked";
const FRESH: &str = "fresh";

/// More of apt's reason is not repeated.
const LONGEST_REASON: usize = 300;

/// A machine may run commands of its own after an update; ours is none of their business.
const NO_HOOKS: &str = "no-hooks.conf";
const CLEAR_HOOKS: &str = "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n\
    #clear APT::Update::Post-Invoke-Success;\n";

/// A machine may be set to accept unsigned packages; what is taken here runs as this user.
const SIGNED_ONLY: [&str; 4] = [
    "APT::Get::AllowUnauthenticated=false",
    "Acquire::AllowInsecureRepositories=false",
    "Acquire::AllowWeakRepositories=false",
    "Acquire::AllowDowngradeToInsecureRepositories=false",
];

/// One more try, after a second. The three of apt take seven seconds, for which a machine without a network would wait
/// at each index; there is the cache to fall back to.
const RETRIES: &str = "Acquire::Retries=1";

/// The note that the newest package of the cache may not be Debian's newest.
pub fn of_cache(why: &str) -> String {
    format!("the newest in the cache, and Debian may have a newer one ({why})")
}

/// A package and its version.
pub type Package = (String, String);

/// The private apt, ready to be asked.
pub struct Apt {
    folder: PathBuf,
    suites: Suites,
    /// True if a package could not be fetched.
    missed: Cell<bool>,
    /// The release of the machine, as `bookworm`.
    pub release: String,
}

/// A request to the mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suites {
    /// This machine's, and those that have the kernels of the studies.
    OfMachine,
    /// One other suite alone.
    Only(&'static str),
}

impl Suites {
    /// The folder in the cache, and the name of its lock.
    fn place(self) -> String {
        match self {
            Suites::OfMachine => "apt".to_owned(),
            Suites::Only(suite) => format!("apt-{suite}"),
        }
    }
}

/// One version of a package, and the suite that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The full version.
    pub version: String,
    /// Its name, e.g. `bookworm-backports`.
    pub suite: String,
}

/// The reason why packages cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum AptError {
    /// No keyring.
    #[error("Debian's packages cannot be verified without {KEYRING}: apt-get install debian-archive-keyring")]
    NoKeyring,
    /// No apt, or not Debian.
    #[error(
        "packages are fetched from Debian by apt, and this machine has no {0}; give a kernel by path, or run on Debian 12 or 13"
    )]
    NotDebian(String),
    /// The machine's sources name no Debian mirror.
    #[error(
        "no Debian mirror is named in /etc/apt/sources.list or /etc/apt/sources.list.d: add an entry for the suite '{0}' with the component 'main'"
    )]
    NoMirror(String),
    /// apt failed.
    #[error("apt could not {what}: {message}")]
    Failed {
        /// The step that failed.
        what: String,
        /// Its message.
        message: String,
    },
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl AptError {
    /// The reason in a few words, for a report.
    pub fn in_short(&self) -> String {
        shortened(&self.to_string(), LONGEST_REASON)
    }
}

impl Apt {
    /// Opens the private apt, and asks the mirror for its index if the last one is a day old.
    pub fn open(cache: &Cache, progress: &dyn Fn(&str)) -> Result<Self, AptError> {
        Self::of(Suites::OfMachine, cache, progress)
    }

    /// The private apt as it was last asked, without asking anybody now; none where it never was.
    ///
    /// # Errors
    /// If this machine cannot have one.
    pub fn known(cache: &Cache) -> Result<Option<Self>, AptError> {
        let release = release()?;
        if !Path::new(KEYRING).exists() {
            return Err(AptError::NoKeyring);
        }
        let apt = Self {
            folder: cache.path(&Suites::OfMachine.place()),
            suites: Suites::OfMachine,
            missed: Cell::default(),
            release,
        };
        Ok(apt.has_index().then_some(apt))
    }

    /// The same as [`Apt::open`] for another suite of Debian, only for kernels: its other packages
    /// need each other.
    pub fn only(suite: &'static str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Self, AptError> {
        Self::of(Suites::Only(suite), cache, progress)
    }

    /// The one of a suite if it is given, else that of this machine's.
    pub fn of_suite(
        suite: Option<&'static str>,
        cache: &Cache,
        progress: &dyn Fn(&str),
    ) -> Result<Self, AptError> {
        Self::of(suite.map_or(Suites::OfMachine, Suites::Only), cache, progress)
    }

    fn of(suites: Suites, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Self, AptError> {
        let release = release()?;
        if !Path::new(KEYRING).exists() {
            return Err(AptError::NoKeyring);
        }
        let apt = Self { folder: cache.path(&suites.place()), suites, missed: Cell::default(), release };
        let _lock = cache.lock(&suites.place())?;
        if !apt.has_index() || apt.age(FRESH) > INDEX_AGE && apt.age(ASKED) > RETRY_AGE {
            progress("updating the package index of the Debian mirror");
            apt.refresh(progress)?;
        }
        Ok(apt)
    }

    /// The suite of Debian that it has alone, where it is not this machine's.
    pub fn only_suite(&self) -> Option<&'static str> {
        match self.suites {
            Suites::OfMachine => None,
            Suites::Only(suite) => Some(suite),
        }
    }

    /// A note if the mirror did not give today's index, and its newest package may not be Debian's.
    pub fn of_earlier_index(&self) -> Option<String> {
        let reason = || {
            format!("the newest of an earlier index, and Debian may have a newer one ({})", self.why_not())
        };
        (self.age(FRESH) > INDEX_AGE).then(reason)
    }

    /// Does what looks packages up and fetches them. Where one cannot be fetched the index is asked for whatever its
    /// age, and all of it is done once more: a mirror soon removes a package that was superseded.
    pub fn looking_again<T, E: From<AptError>>(
        &self,
        cache: &Cache,
        progress: &dyn Fn(&str),
        fetch: impl Fn() -> Result<T, E>,
    ) -> Result<T, E> {
        self.missed.set(false);
        match fetch() {
            Err(_) if self.missed.get() && self.renew(cache, progress).unwrap_or(false) => fetch(),
            done => done,
        }
    }

    /// Asks for the index, unless that was just done. Returns whether it came.
    fn renew(&self, cache: &Cache, progress: &dyn Fn(&str)) -> Result<bool, AptError> {
        const JUST_NOW: Duration = Duration::from_secs(60);
        let _lock = cache.lock(&self.suites.place())?;
        if self.age(FRESH).min(self.age(ASKED)) < JUST_NOW {
            return Ok(false);
        }
        progress("updating the package index of the Debian mirror: it may be older than the mirror");
        self.refresh(progress)
    }

    /// The reason why the last request to the mirror failed.
    fn why_not(&self) -> String {
        match std::fs::read_to_string(self.folder.join(ASKED)).unwrap_or_default() {
            none if none.is_empty() => "the mirror did not answer".to_owned(),
            said => shortened(&said, LONGEST_REASON),
        }
    }

    /// The age of a mark.
    fn age(&self, mark: &str) -> Duration {
        let time = std::fs::metadata(self.folder.join(mark)).and_then(|file| file.modified());
        time.map_or(Duration::MAX, |time| match SystemTime::now().duration_since(time) {
            Ok(age) => age,
            // Set while the clock was wrong; a server's may be a little ahead.
            Err(ahead) if ahead.duration() > INDEX_AGE => Duration::MAX,
            Err(_) => Duration::ZERO,
        })
    }

    /// True if the index is complete: any file of a cache can be removed at any time.
    fn has_index(&self) -> bool {
        let there = self.lists();
        let given = std::fs::read_to_string(self.folder.join(FRESH)).unwrap_or_default();
        !there.is_empty() && given.lines().all(|list| there.contains(list))
    }

    /// The names of the files of its index.
    fn lists(&self) -> BTreeSet<String> {
        let files = std::fs::read_dir(self.folder.join("lists")).into_iter().flatten().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.contains("_Packages")).collect()
    }

    /// Asks for the index. Where it does not come, an earlier one serves; returns whether it came.
    fn refresh(&self, progress: &dyn Fn(&str)) -> Result<bool, AptError> {
        let mirrors = sources::mirrors_of_machine(&self.release)
            .ok_or_else(|| AptError::NoMirror(self.release.clone()))?;
        let list = match self.suites {
            Suites::OfMachine => sources::list(&mirrors, &self.release),
            Suites::Only(suite) => sources::only(&mirrors, suite),
        };
        write_whole(&self.folder.join("sources.list"), list.as_bytes())?;
        write_whole(&self.folder.join(NO_HOOKS), CLEAR_HOOKS.as_bytes())?;
        for folder in ["lists/partial", "cache/archives/partial"] {
            let path = self.folder.join(folder);
            std::fs::create_dir_all(&path)
                .and_then(|()| user::give(&path, user::downloader(&self.folder)))
                .map_err(|error| CacheError::from_io(&path, error))?;
        }
        ensure_space(&self.folder, INDEX_BYTES)?;
        let mut update = self.command("apt-get");
        // By default apt is content with a mirror that does not answer.
        update.arg("-c").arg(self.folder.join(NO_HOOKS)).args([
            "-o",
            "APT::Update::Error-Mode=any",
            "update",
        ]);
        let updated = self.run("refresh its index", &mut update);
        let said = updated.as_ref().err().map(ToString::to_string).unwrap_or_default();
        write_whole(&self.folder.join(ASKED), said.as_bytes())?;
        match updated {
            Ok(_) => {
                let lists: Vec<String> = self.lists().into_iter().collect();
                write_whole(&self.folder.join(FRESH), lists.join("\n").as_bytes())?;
                Ok(true)
            }
            Err(error @ AptError::Failed { .. }) if self.has_index() => {
                progress(&format!("using the previous index: {error}"));
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Names of all packages that begin with `prefix`.
    pub fn packages(&self, prefix: &str) -> Result<Vec<String>, AptError> {
        let output = self.run("list its packages", self.command("apt-cache").args(["pkgnames", prefix]))?;
        Ok(output.lines().map(str::to_owned).collect())
    }

    /// All versions of a package that are on offer, the newest first.
    pub fn offers(&self, package: &str) -> Result<Vec<Offer>, AptError> {
        let output = self.run("look up a package", self.command("apt-cache").args(["madison", package]))?;
        Ok(output.lines().filter_map(offer).collect())
    }

    /// The newest version of a package that is on offer, from whichever suite.
    pub fn newest(&self, package: &str) -> Result<Option<String>, AptError> {
        Ok(self.offers(package)?.into_iter().next().map(|offer| offer.version))
    }

    /// The names of all packages that this version of a package depends on, alternatives included.
    pub fn depends(&self, package: &str, version: &str) -> Result<Vec<String>, AptError> {
        let mut show = self.command("apt-cache");
        let output = self.run("look up a package", show.arg("show").arg(format!("{package}={version}")))?;
        let lists = output.lines().filter_map(|line| line.strip_prefix("Depends:"));
        let names =
            lists.flat_map(|list| list.split([',', '|'])).filter_map(|one| one.split_whitespace().next());
        Ok(names.map(str::to_owned).collect())
    }

    /// The packages with versions that must be there besides those that are installed so that
    /// `package` can run.
    pub fn closure(&self, package: &str, offer: &Offer) -> Result<Vec<Package>, AptError> {
        let mut command = self.command("apt-get");
        command.args(["install", "-s", "--no-install-recommends", "-t", &offer.suite]);
        command.arg(format!("{package}={}", offer.version));
        let output = self.run("resolve the dependencies of a package", &mut command)?;
        // Lines such as `Inst NAME [OLD] (VERSION SUITE [ARCH])`.
        let install = |line: &str| {
            let mut words = line.strip_prefix("Inst ")?.split_ascii_whitespace();
            let name = words.next()?.to_owned();
            let version = words.find_map(|word| word.strip_prefix('('))?.to_owned();
            Some((name, version))
        };
        Ok(output.lines().filter_map(install).collect())
    }

    /// Bytes to download, and bytes on the disk once they are unpacked.
    pub fn size(&self, packages: &[Package]) -> Result<(u64, u64), AptError> {
        let mut show = self.command("apt-cache");
        let output = self.run("look up a package", show.arg("show").args(named(packages)))?;
        Ok((sum(&output, "Size:"), sum(&output, "Installed-Size:") << 10))
    }

    /// Downloads packages and unpacks them into `folder`; nothing is installed.
    pub fn unpack(&self, packages: &[Package], folder: &Path) -> Result<(), AptError> {
        let (download, unpacked) = self.size(packages)?;
        ensure_space(folder, download + unpacked)?;
        let names = named(packages).collect::<Vec<_>>().join(" ");
        let give = |folder: &Path| user::give(folder, user::downloader(&self.folder));
        // Inside the folder, so that the two go together where this process is killed.
        let downloads =
            dyntick_system::private_folder(folder).map_err(|error| CacheError::from_io(folder, error))?;
        give(downloads.path()).map_err(|error| CacheError::from_io(downloads.path(), error))?;
        let mut command = self.command("apt-get");
        command.current_dir(downloads.path()).arg("download").args(named(packages));
        self.run(&format!("fetch {names}"), &mut command).inspect_err(|_| self.missed.set(true))?;
        let entries = std::fs::read_dir(downloads.path())
            .map_err(|error| CacheError::from_io(downloads.path(), error))?;
        for deb in entries.flatten().map(|entry| entry.path()) {
            let what = format!("unpack {} into {}", deb.display(), folder.display());
            self.run(&what, Command::new("dpkg-deb").arg("-x").arg(&deb).arg(folder))?;
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let option = |key: &str, place: &str| format!("{key}={}", self.folder.join(place).display());
        // It names a configuration that overrides all others.
        command.env("LC_ALL", "C").env_remove("APT_CONFIG");
        for setting in [
            option("Dir::Etc::sourcelist", "sources.list"),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            "Dir::Etc::preferencesparts=/dev/null".to_owned(),
            "Dir::Etc::preferences=/dev/null".to_owned(),
            option("Dir::State::lists", "lists"),
            option("Dir::Cache", "cache"),
            // Images of containers leave it out, and each look-up then reads all lists anew.
            "Dir::Cache::pkgcache=pkgcache.bin".to_owned(),
            format!("APT::Sandbox::User={}", user::downloader(&self.folder).map_or("root", |_| user::APT)),
            "Debug::NoLocking=1".to_owned(),
        ] {
            command.args(["-o", &setting]);
        }
        for setting in SIGNED_ONLY {
            command.args(["-o", setting]);
        }
        command.args(["-o", RETRIES, "-q=2"]);
        command
    }

    fn run(&self, what: &str, command: &mut Command) -> Result<String, AptError> {
        let failed = |message: String| AptError::Failed { what: what.to_owned(), message };
        end_with_this_one(command, rustix::process::Signal::TERM);
        let output = command.output().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                AptError::NotDebian(command.get_program().to_string_lossy().into_owned())
            }
            _ => failed(error.to_string()),
        })?;
        if !output.status.success() {
            // A grandchild reports it, so it is known by its text only.
            let message = String::from_utf8_lossy(&output.stderr);
            if message.contains("No space left on device") {
                return Err(CacheError::from_io(&self.folder, std::io::ErrorKind::StorageFull.into()).into());
            }
            return Err(failed(errors(&message)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The machine's Debian release, by its code name.
fn release() -> Result<String, AptError> {
    let text = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(|v| v.trim_matches('"'));
    match (value("ID="), value("VERSION_CODENAME=")) {
        (Some("debian"), Some(release)) => Ok(release.to_owned()),
        _ => Err(AptError::NotDebian("Debian release in /etc/os-release".to_owned())),
    }
}

/// From a line `PACKAGE | VERSION | URI SUITE/COMPONENT ARCH Packages`.
fn offer(line: &str) -> Option<Offer> {
    let mut columns = line.split('|').skip(1);
    let version = columns.next()?.trim().to_owned();
    let suite = columns.next()?.split_ascii_whitespace().nth(1)?.split('/').next()?.to_owned();
    Some(Offer { version, suite })
}

/// A package as apt takes it: `NAME=VERSION`.
fn named(packages: &[Package]) -> impl Iterator<Item = String> {
    packages.iter().map(|(name, version)| format!("{name}={version}"))
}

/// The sum of a numeric field over all paragraphs of a text.
fn sum(text: &str, field: &str) -> u64 {
    text.lines().filter_map(|line| line.strip_prefix(field)?.trim().parse::<u64>().ok()).sum()
}

/// The first of what apt names an error, since the others mostly follow from it; all that it said
/// where it names none.
fn errors(message: &str) -> String {
    let errors: Vec<&str> = message.lines().filter_map(|line| line.strip_prefix("E: ")).collect();
    match errors[..] {
        [] => message.trim().replace('\n', "; "),
        [only] => only.to_owned(),
        [first, ..] => format!("{first} (and {} more)", errors.len() - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_sizes_of_apt_are_read() {
        assert_eq!(errors("W: a warning\nE: no\nE: not at all\n"), "no (and 1 more)");
        assert_eq!(errors("E: no\n"), "no");
        assert_eq!(errors("dpkg-deb: error: x\n"), "dpkg-deb: error: x");
        let shown = "Package: a\nInstalled-Size: 10\nSize: 3\n\nPackage: b\nSize: 4\nInstalled-Size: 5\n";
        assert_eq!((sum(shown, "Size:"), sum(shown, "Installed-Size:")), (7, 15));
    }

    #[test]
    fn offers_with_their_suites() {
        let line = " seabios | 1.16.3-2~bpo12+1 | http://m/debian bookworm-backports/main amd64 Packages";
        let expected = Offer { version: "1.16.3-2~bpo12+1".into(), suite: "bookworm-backports".into() };
        assert_eq!(offer(line), Some(expected));
        assert_eq!(offer("N: nothing"), None);
    }

    #[test]
    fn unsigned_packages_are_refused_whatever_the_machine_allows() {
        let apt = Apt {
            folder: "/none".into(),
            suites: Suites::OfMachine,
            missed: Cell::default(),
            release: "bookworm".into(),
        };
        let command = apt.command("apt-config");
        let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        for setting in SIGNED_ONLY {
            assert!(arguments.windows(2).any(|pair| pair == ["-o", setting]), "{setting}");
        }
        assert!(command.get_envs().any(|(name, value)| name == "APT_CONFIG" && value.is_none()));
    }

    #[test]
    fn an_index_is_old_when_nothing_tells_its_age() {
        let folder = tempfile::tempdir().unwrap();
        let apt = Apt {
            folder: folder.path().to_owned(),
            suites: Suites::OfMachine,
            missed: Cell::default(),
            release: "bookworm".into(),
        };
        assert!(apt.age(FRESH) > INDEX_AGE && !apt.has_index());
        write_whole(&folder.path().join(FRESH), b"").unwrap();
        assert!(apt.age(FRESH) < RETRY_AGE);
        let main = folder.path().join("lists/m_dists_bookworm_main_binary-amd64_Packages.lz4");
        let more = folder.path().join("lists/m_dists_bookworm-backports_main_binary-amd64_Packages.lz4");
        for list in [&main, &more] {
            write_whole(list, b"").unwrap();
        }
        assert!(apt.has_index());
        let names: Vec<String> = apt.lists().into_iter().collect();
        write_whole(&folder.path().join(FRESH), names.join("\n").as_bytes()).unwrap();
        assert!(apt.has_index() && apt.of_earlier_index().is_none());
        std::fs::remove_file(&more).unwrap();
        assert!(!apt.has_index(), "a part of it is gone");
        let set = |time: SystemTime| {
            std::fs::File::options()
                .write(true)
                .open(folder.path().join(FRESH))
                .unwrap()
                .set_modified(time)
                .unwrap();
        };
        set(SystemTime::now() + Duration::from_secs(60));
        assert!(apt.age(FRESH) < RETRY_AGE, "a server's clock");
        set(SystemTime::now() + 365 * INDEX_AGE);
        assert!(apt.age(FRESH) > INDEX_AGE && apt.of_earlier_index().is_some(), "a wrong clock");
    }
}
