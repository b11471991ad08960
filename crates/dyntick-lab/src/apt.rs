// SPDX-License-Identifier: GPL-2.0-only
//! A private apt: it reads the machine's package sources and keyring, and keeps its own lists and
//! downloads in the cache. The system's sources, lists and packages stay as they are, and no
//! privilege is needed.

use crate::cache::{Cache, CacheError, write_whole};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The index is asked for anew after this time.
const INDEX_AGE: Duration = Duration::from_secs(24 * 3600);

/// The private apt, ready to be asked.
pub struct Apt {
    folder: PathBuf,
    /// The release of the machine, as `bookworm`.
    pub release: String,
}

/// Why packages cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum AptError {
    /// No apt, or not Debian.
    #[error(
        "packages come from Debian by apt, and this machine has no {0}; give a kernel by path, or run on Debian 12 or 13"
    )]
    NotDebian(String),
    /// The machine's sources name no Debian mirror.
    #[error(
        "no Debian mirror is named in /etc/apt/sources.list or /etc/apt/sources.list.d (an entry with the suite '{0}')"
    )]
    NoMirror(String),
    /// apt failed.
    #[error("apt could not {what}: {message}")]
    Failed {
        /// What was tried.
        what: String,
        /// Its message.
        message: String,
    },
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// The mirrors that a machine's sources name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mirrors {
    main: String,
    security: String,
}

impl Apt {
    /// Opens the private apt, and asks the mirror for its index if the last one is a day old.
    pub fn open(cache: &Cache, progress: &dyn Fn(&str)) -> Result<Self, AptError> {
        let release = release()?;
        if !Path::new(KEYRING).exists() {
            return Err(AptError::NotDebian(format!("{KEYRING} (package debian-archive-keyring)")));
        }
        let apt = Self { folder: cache.path("apt"), release };
        let _lock = cache.lock("apt")?;
        if apt.is_stale() {
            progress("asking the Debian mirror for its index");
            apt.refresh()?;
        }
        Ok(apt)
    }

    fn is_stale(&self) -> bool {
        let age = std::fs::metadata(self.folder.join("fresh"))
            .and_then(|file| file.modified())
            .ok()
            .and_then(|time| SystemTime::now().duration_since(time).ok());
        age.is_none_or(|age| age > INDEX_AGE)
    }

    fn refresh(&self) -> Result<(), AptError> {
        let mirrors = mirrors(&source_texts(), &self.release)
            .ok_or_else(|| AptError::NoMirror(self.release.clone()))?;
        write_whole(&self.folder.join("sources.list"), sources(&mirrors, &self.release).as_bytes())?;
        for folder in ["lists/partial", "cache/archives/partial"] {
            let path = self.folder.join(folder);
            std::fs::create_dir_all(&path).map_err(|error| CacheError::from_io(&path, error))?;
        }
        let updated = self.run("refresh its index", self.command("apt-get").arg("update"));
        // Without network an older index, and what was fetched before, still serve.
        if updated.is_err() && self.folder.join("fresh").exists() {
            return Ok(());
        }
        updated?;
        Ok(write_whole(&self.folder.join("fresh"), b"")?)
    }

    /// Names of all packages that begin with `prefix`.
    pub fn packages(&self, prefix: &str) -> Result<Vec<String>, AptError> {
        let output = self.run("list its packages", self.command("apt-cache").args(["pkgnames", prefix]))?;
        Ok(output.lines().map(str::to_owned).collect())
    }

    /// The newest version of a package that is on offer, from whichever suite.
    pub fn newest(&self, package: &str) -> Result<Option<String>, AptError> {
        let output = self.run("look up a package", self.command("apt-cache").args(["madison", package]))?;
        // Columns: package | version | source; the newest comes first.
        Ok(output.lines().next().and_then(|line| line.split('|').nth(1)).map(|v| v.trim().to_owned()))
    }

    /// The packages with versions that must be there besides those that are installed so that
    /// `package` at `version` can run.
    pub fn closure(&self, package: &str, version: &str) -> Result<Vec<(String, String)>, AptError> {
        let mut command = self.command("apt-get");
        command.args(["install", "-s", "--no-install-recommends", &format!("{package}={version}")]);
        command.args(["-t", &format!("{}-backports", self.release)]);
        let output = self.run("work out what a package needs", &mut command)?;
        // Lines such as `Inst NAME [OLD] (VERSION SUITE [ARCH])`.
        let install = |line: &str| {
            let mut words = line.strip_prefix("Inst ")?.split_ascii_whitespace();
            let name = words.next()?.to_owned();
            let version = words.find_map(|word| word.strip_prefix('('))?.to_owned();
            Some((name, version))
        };
        Ok(output.lines().filter_map(install).collect())
    }

    /// Downloads a package and unpacks it into `folder`; nothing is installed.
    pub fn unpack(&self, package: &str, version: &str, folder: &Path) -> Result<(), AptError> {
        let what = format!("fetch {package} {version}");
        let downloads =
            tempfile::tempdir_in(&self.folder).map_err(|error| CacheError::from_io(&self.folder, error))?;
        let mut download = self.command("apt-get");
        download.current_dir(downloads.path()).args(["download", &format!("{package}={version}")]);
        self.run(&what, &mut download)?;
        let entries = std::fs::read_dir(downloads.path())
            .map_err(|error| CacheError::from_io(downloads.path(), error))?;
        for deb in entries.flatten() {
            let what = format!("unpack {package} {version} into {}", folder.display());
            self.run(&what, Command::new("dpkg-deb").arg("-x").arg(deb.path()).arg(folder))?;
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let option = |key: &str, place: &str| format!("{key}={}", self.folder.join(place).display());
        command.env("LC_ALL", "C");
        for setting in [
            option("Dir::Etc::sourcelist", "sources.list"),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            "Dir::Etc::preferencesparts=/dev/null".to_owned(),
            "Dir::Etc::preferences=/dev/null".to_owned(),
            option("Dir::State::lists", "lists"),
            option("Dir::Cache", "cache"),
            // As root apt would hand downloads to a user who cannot enter the cache.
            "APT::Sandbox::User=root".to_owned(),
            "Debug::NoLocking=1".to_owned(),
        ] {
            command.args(["-o", &setting]);
        }
        command.arg("-q=2");
        command
    }

    fn run(&self, what: &str, command: &mut Command) -> Result<String, AptError> {
        let failed = |message: String| AptError::Failed { what: what.to_owned(), message };
        let output = command.output().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                AptError::NotDebian(command.get_program().to_string_lossy().into_owned())
            }
            _ => failed(error.to_string()),
        })?;
        if !output.status.success() {
            // Told by a child's child, so only its words are left to know it by.
            if String::from_utf8_lossy(&output.stderr).contains("No space left on device") {
                return Err(CacheError::from_io(&self.folder, std::io::ErrorKind::StorageFull.into()).into());
            }
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")));
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

/// All texts of apt sources on this machine.
fn source_texts() -> Vec<String> {
    let parts = std::fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = parts.map(|entry| entry.path()).collect();
    paths.sort();
    paths.insert(0, "/etc/apt/sources.list".into());
    paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// What our own sources.list says: the machine's release with its backports, and the release
/// before or after it, so that both 6.1 and 6.12 are on offer on Debian 12 and on Debian 13.
fn sources(mirrors: &Mirrors, release: &str) -> String {
    let mut lines = String::new();
    let mut line = |uri: &str, suite: &str| {
        lines += &format!("deb [arch=amd64 signed-by={KEYRING}] {uri} {suite} main\n");
    };
    for suite in releases(release) {
        line(&mirrors.main, suite);
        line(&mirrors.security, &format!("{suite}-security"));
    }
    line(&mirrors.main, &format!("{release}-backports"));
    lines
}

/// The releases whose kernels are wanted: 6.1 is bookworm's, 6.12 is in bookworm-security too.
fn releases(release: &str) -> Vec<&str> {
    if release == "bookworm" { vec!["bookworm"] } else { vec![release, "bookworm"] }
}

/// The mirrors, from sources in either of apt's two formats.
fn mirrors(texts: &[String], release: &str) -> Option<Mirrors> {
    let entries: Vec<(String, String)> = texts.iter().flat_map(|text| entries(text)).collect();
    let of_suite = |wanted: &str| {
        entries.iter().find(|(_, suite)| suite == wanted).map(|(uri, _)| uri.trim_end_matches('/').to_owned())
    };
    let main = of_suite(release)?;
    // A mirror without a security suite of its own still tells where Debian's is: beside `debian`.
    let security = of_suite(&format!("{release}-security")).unwrap_or_else(|| format!("{main}-security"));
    Some(Mirrors { main, security })
}

/// All (URI, suite) pairs of one sources file.
fn entries(text: &str) -> Vec<(String, String)> {
    if text.lines().any(|line| line.trim_start().starts_with("deb ")) {
        return text.lines().filter_map(one_line_entry).flatten().collect();
    }
    let field = |paragraph: &str, key: &str| -> Vec<String> {
        let value = paragraph.lines().find_map(|line| line.strip_prefix(key));
        value.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect()
    };
    let pairs = |paragraph: &str| {
        let suites = field(paragraph, "Suites:");
        let of_uri =
            |uri: String| suites.iter().map(move |suite| (uri.clone(), suite.clone())).collect::<Vec<_>>();
        field(paragraph, "URIs:").into_iter().flat_map(of_uri).collect::<Vec<_>>()
    };
    text.split("\n\n").flat_map(pairs).collect()
}

/// A line such as `deb [options] URI SUITE COMPONENT…`.
fn one_line_entry(line: &str) -> Option<Vec<(String, String)>> {
    let rest = line.trim().strip_prefix("deb ")?.trim();
    let rest = if rest.starts_with('[') { rest.split_once(']')?.1 } else { rest };
    let mut words = rest.split_ascii_whitespace();
    Some(vec![(words.next()?.to_owned(), words.next()?.to_owned())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Option<Mirrors> {
        Some(Mirrors { main: "http://m/debian".into(), security: "http://m/debian-security".into() })
    }

    #[test]
    fn both_formats_of_sources() {
        let deb822 = "Types: deb\nURIs: http://m/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\n\
            Types: deb\nURIs: http://m/debian-security\nSuites: bookworm-security\nComponents: main\n";
        let list = "# comment\ndeb [arch=amd64] http://m/debian/ bookworm main\ndeb http://m/debian-security bookworm-security main\n";
        assert_eq!(mirrors(&[deb822.into()], "bookworm"), expected());
        assert_eq!(mirrors(&[list.into()], "bookworm"), expected());
    }

    #[test]
    fn security_is_derived_where_it_is_not_named() {
        let list = "deb http://m/debian bookworm main\n";
        assert_eq!(mirrors(&["deb http://other x main\n".into(), list.into()], "bookworm"), expected());
        assert_eq!(mirrors(&[list.into()], "trixie"), None);
    }

    #[test]
    fn a_newer_release_also_asks_for_the_older_kernel() {
        let list = sources(&expected().unwrap(), "trixie");
        for suite in
            ["trixie main", "trixie-security", "bookworm main", "bookworm-security", "trixie-backports"]
        {
            assert!(list.contains(suite), "{suite} is missing in\n{list}");
        }
    }
}
