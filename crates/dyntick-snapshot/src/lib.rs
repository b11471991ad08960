// SPDX-License-Identifier: GPL-2.0-only
//! A machine's files for `dyntick check`: from a running Linux, a folder, or a support bundle.

pub mod archive;
pub mod bundle;
mod root;

use dyntick_check::sources::{RELEASE, Read, SOURCES};
use dyntick_check::{Content, Snapshot};
use dyntick_model::KernelVersion;
use root::Root;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// `include/uapi/linux/utsname.h`: a release has at most 64 bytes.
const LONGEST_RELEASE: usize = 64;

/// The reason why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file system refused the root itself.
    #[error("cannot read {0}: {1}")]
    Io(PathBuf, io::Error),
    /// It has more or longer files than any machine.
    #[error("{0} contains more than the files of any machine: it is not a copy of a root file system")]
    TooLarge(PathBuf),
}

/// Reads all sources behind a root folder, `/` for the running machine. What does not exist is left
/// out; what may not be read is noted as such.
///
/// # Errors
/// Where the folder cannot be opened, or holds more than any machine.
pub fn read(folder: &Path) -> Result<Snapshot, SnapshotError> {
    let root = Root::open(folder).map_err(|error| SnapshotError::Io(folder.to_owned(), error))?;
    let mut files = Snapshot::default();
    let refusal = Refusal { is_root: rustix::process::geteuid().is_root(), lockdown: lockdown(&root) };
    let release = root.text(Path::new(RELEASE)).unwrap_or_default().trim().to_owned();
    let release = if release.len() > LONGEST_RELEASE { String::new() } else { release };
    let kernel = release.parse::<KernelVersion>().map_or((0, 0), |kernel| (kernel.major, kernel.minor));
    // A fix for this process, or for one of its threads, would name one that has ended when it is read.
    let own = Path::new("/proc").join(std::process::id().to_string());
    let own = if folder == Path::new("/") { own } else { PathBuf::from("/proc/none") };
    for source in SOURCES.iter().filter(|source| source.before.is_none_or(|before| kernel < before)) {
        let found = root.paths(source.pattern);
        if found.denied {
            files.insert(source.pattern, Content::Denied);
        }
        for path in found.paths.into_iter().filter(|path| !path.starts_with(&own)) {
            match one(&root, &path, source.read, &release) {
                Ok(Some(text)) => files.insert(path.to_string_lossy(), Content::Text(text)),
                Ok(None) => {}
                // A task may have ended since its folder was listed.
                Err(error) if is_gone(&error) => {}
                // One word for all files of a pattern is enough.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    files.insert(source.pattern, refusal.content(&error));
                }
                Err(error) => files.insert(path.to_string_lossy(), Content::Failed(error.to_string())),
            }
            if root.is_too_large() {
                return Err(SnapshotError::TooLarge(folder.to_owned()));
            }
        }
    }
    Ok(files)
}

/// The meaning of a denied read to this reader.
struct Refusal {
    is_root: bool,
    /// The mode of lockdown, where it is on.
    lockdown: Option<String>,
}

impl Refusal {
    /// The content after a read error. Root lacks no right to a file: EPERM then means that the kernel refuses every
    /// reader (`security/lockdown/lockdown.c`, `fs/debugfs/file.c: debugfs_locked_down`), or that a container took a
    /// right from root.
    fn content(&self, error: &io::Error) -> Content {
        const EPERM: i32 = rustix::io::Errno::PERM.raw_os_error();
        if !self.is_root || error.raw_os_error() != Some(EPERM) {
            return Content::Denied;
        }
        let why = match &self.lockdown {
            Some(mode) => {
                format!("lockdown={mode}; only a boot without lockdown and Secure Boot changes that")
            }
            None => "lockdown, or a container without the capability".to_owned(),
        };
        Content::Failed(format!("the kernel refuses it even to root: {why}"))
    }
}

/// `security/lockdown/lockdown.c: lockdown_read`: all modes, the one in force in brackets.
fn lockdown(root: &Root) -> Option<String> {
    let modes = root.text(Path::new("/sys/kernel/security/lockdown")).ok()?;
    let (_, rest) = modes.split_once('[')?;
    let (mode, _) = rest.split_once(']')?;
    (mode != "none").then(|| mode.to_owned())
}

fn is_gone(error: &io::Error) -> bool {
    const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();
    error.kind() == ErrorKind::NotFound
        || error.kind() == ErrorKind::NotADirectory
        || error.raw_os_error() == Some(ESRCH)
}

/// Reads one file as its source says; `None` where it holds nothing that any rule needs.
fn one(root: &Root, path: &Path, how: Read, release: &str) -> io::Result<Option<String>> {
    Ok(match how {
        Read::Text | Read::CommandLine => Some(root.text(path)?),
        Read::Gzip => Some(root.unpacked(path)?),
        Read::Number => Some(root.number(path)?),
        Read::Build => build(&root.text(path)?),
        Read::Lines(words) => {
            some(lines(&root.text(path)?, |line| words.iter().any(|word| line.starts_with(word))))
        }
        Read::Mentions(texts) => some(mentions(&root.text(path)?, texts)),
        // A log without such a line was read nevertheless.
        Read::Log(texts) => {
            let log = root.text(path)?;
            Some(format!("{}{}", first_record(&log), mentions(&log, texts)))
        }
        Read::Links(targets) => some(root.links(path, targets)?),
        Read::Partition => partition(root, path)?,
        Read::OwnConfig => {
            let own =
                path.ends_with(format!("config-{release}")) || path.ends_with(format!("{release}/config"));
            if own { Some(root.text(path)?) } else { None }
        }
    })
}

fn mentions(text: &str, texts: &[&str]) -> String {
    lines(text, |line| texts.iter().any(|text| line.contains(text)))
}

/// The head of the record with the sequence number 0, the first since the boot, if newer ones have not overwritten it
/// (`Documentation/ABI/testing/dev-kmsg`).
fn first_record(log: &str) -> String {
    let head = log.lines().next().and_then(|line| Some(line.split_once(';')?.0));
    let head = head.filter(|head| head.split(',').nth(1) == Some("0"));
    head.map_or(String::new(), |head| format!("{head};\n"))
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// `init/version.c: linux_proc_banner`: the builder's name and host stand before the number.
fn build(version: &str) -> Option<String> {
    let (_, build) = version.rsplit_once('#')?;
    Some(format!("#{build}"))
}

/// The lines that are wanted, each once: `/proc/cpuinfo` says most things once per CPU.
fn lines(text: &str, wanted: impl Fn(&str) -> bool) -> String {
    let mut seen = std::collections::BTreeSet::new();
    text.lines().filter(|line| wanted(line) && seen.insert(*line)).map(|line| format!("{line}\n")).collect()
}

/// The state of a partition, and in the second line its CPUs.
fn partition(root: &Root, path: &Path) -> io::Result<Option<String>> {
    let state = root.text(path)?;
    if state.trim() == "member" {
        return Ok(None);
    }
    let cpus = root.text(&path.with_file_name("cpuset.cpus.effective"))?;
    Ok(Some(format!("{}\n{}\n", state.trim(), cpus.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_by(is_root: bool, errno: rustix::io::Errno, lockdown: Option<&str>) -> Content {
        Refusal { is_root, lockdown: lockdown.map(str::to_owned) }.content(&errno.into())
    }

    #[test]
    fn eperm_under_root_is_the_kernels_refusal() {
        use rustix::io::Errno;
        let Content::Failed(why) = read_by(true, Errno::PERM, Some("integrity")) else { panic!() };
        assert!(why.contains("even to root: lockdown=integrity"), "{why}");
        let Content::Failed(why) = read_by(true, Errno::PERM, None) else { panic!() };
        assert!(why.contains("even to root: lockdown, or a container"), "{why}");
        // Users lack a right: EPERM of /dev/kmsg is that of a missing CAP_SYSLOG.
        assert_eq!(read_by(false, Errno::PERM, Some("integrity")), Content::Denied);
        assert_eq!(read_by(true, Errno::ACCESS, Some("integrity")), Content::Denied);
    }

    #[test]
    fn first_record_of_the_log_is_kept_without_its_text() {
        assert_eq!(first_record("5,0,0,-;Linux version 6.12 (me@host)\n6,1,0,-;x"), "5,0,0,-;\n");
        assert_eq!(first_record("5,0,0,-;\n"), "5,0,0,-;\n", "out of a bundle");
        assert_eq!(
            (first_record("6,17,9,-;x"), first_record("[    0.000000] x"), first_record("")),
            Default::default()
        );
    }

    #[test]
    fn who_built_a_kernel_is_not_read() {
        let version = "Linux version 6.1.0 (me@host) (gcc 12) #1 SMP PREEMPT_RT Debian 6.1.133-1\n";
        assert_eq!(build(version).as_deref(), Some("#1 SMP PREEMPT_RT Debian 6.1.133-1\n"));
        assert_eq!(build("Linux"), None);
    }

    /// The kernel's own file is packed; that of an unpacked bundle may not be.
    #[test]
    fn a_configuration_is_read_packed_or_not() {
        use std::io::Write;
        const CONFIG: &str = "CONFIG_NO_HZ_FULL=y\n";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("proc/config.gz");
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(CONFIG.as_bytes()).unwrap();
        for bytes in [packed.finish().unwrap(), CONFIG.into()] {
            std::fs::write(&file, bytes).unwrap();
            assert_eq!(read(folder.path()).unwrap().text("/proc/config.gz"), Some(CONFIG));
        }
    }

    #[test]
    fn the_mode_of_lockdown_is_read_where_it_is_on() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("sys/kernel/security");
        std::fs::create_dir_all(&place).unwrap();
        let mode = |text: &str| {
            std::fs::write(place.join("lockdown"), text).unwrap();
            lockdown(&Root::open(folder.path()).unwrap())
        };
        assert_eq!(mode("none [integrity] confidentiality\n").as_deref(), Some("integrity"));
        assert_eq!(mode("[none] integrity confidentiality\n"), None);
        assert_eq!(mode(""), None);
    }
}
