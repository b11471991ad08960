// SPDX-License-Identifier: GPL-2.0-only
//! The sandbox of programs that process untrusted input. Such a program sees the programs of this machine and the
//! files that are named for it, and nothing else. No network, no privilege, no process of the host;
//! what it leaves running ends with it.
//!
//! bubblewrap (`bwrap`) puts up the walls. An ordinary user needs unprivileged user namespaces for
//! that. Root needs none: there the program runs with an unused user ID, so that not even a file that it makes
//! belongs to root, and the kernel's own exceptions for user 0 do not hold.

mod filter;

use crate::owner::is_mapped;
use crate::programs::find_program;
use dyntick_model::text::shown;
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;

/// The reason why no sandbox can be set up here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWalls {
    /// A program is not installed.
    #[error("'{program}' is not installed: apt-get install {package}")]
    NotInstalled {
        /// Its name.
        program: &'static str,
        /// Its package in Debian.
        package: &'static str,
    },
    /// The machine does not permit them.
    #[error("this machine does not allow programs to be confined ({said}){fix}")]
    Refused {
        /// The message of bwrap.
        said: String,
        /// The remedy, if it is known: text that begins with a separator.
        fix: &'static str,
    },
    /// It permits them, and another error occurred.
    #[error("programs cannot be confined at present: {said}")]
    Failed {
        /// The message.
        said: String,
    },
}

impl NoWalls {
    /// True if this machine permits none at all. Another failure may be caused by another user.
    pub fn is_final(&self) -> bool {
        !matches!(self, NoWalls::Failed { .. })
    }
}

/// The reason why a confined program cannot see a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSeen {
    /// It was there when its place was chosen.
    #[error("{} is not there any more", shown(.0))]
    Gone(PathBuf),
    /// A folder of the system, which confined programs see as theirs is.
    #[error("{} is in {folder}, and confined programs (QEMU, compilers) write nothing there", shown(.path))]
    OfSystem {
        /// The file or folder.
        path: PathBuf,
        /// The folder of the system.
        folder: &'static str,
    },
    /// Its real path has changed.
    #[error("{} is behind a symbolic link now", shown(.0))]
    Moved(PathBuf),
}

/// The user that confined programs run as if dyntick runs as root: one that no distribution assigns
/// (above systemd's container range, which ends at 1879048191), because other processes of `nobody` could
/// open their files by `/proc`. A container that has fewer users has `nobody` only.
fn nobody() -> u32 {
    const OURS: u32 = 1_900_000_000;
    const NOBODY: u32 = 65534;
    let is_mapped = |file: &str| is_mapped(OURS, &std::fs::read_to_string(file).unwrap_or_default());
    if is_mapped("/proc/self/uid_map") && is_mapped("/proc/self/gid_map") { OURS } else { NOBODY }
}

const BWRAP: &str = "bwrap";
const SETPRIV: &str = "/usr/bin/setpriv";
const PRLIMIT: &str = "/usr/bin/prlimit";
const ENV: &str = "/usr/bin/env";

/// A core's pipe (`core(5)`) is the host's program.
const NO_CORE: &str = "--core=0:0";

/// The limit of processes and threads in all sandboxes together: a build has some ten for each of its
/// jobs, QEMU one for each CPU.
const PROCESSES: u64 = 4096;

/// The memory that a kernel's build may use for temporary files, bytes.
const TEMPORARY: u64 = 2 << 30;

/// Folders outside `/usr` that programs are found by; on Debian they are links into it.
const BESIDE_USR: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"];

/// Files of `/etc` that programs do not start without: links to alternatives, and the list of
/// libraries. They say nothing of the machine's users.
const OF_ETC: [&str; 2] = ["/etc/alternatives", "/etc/ld.so.cache"];

/// Files of `/etc` by which names and certificates of the network are found (resolv.conf(5), nsswitch.conf(5)).
const OF_NETWORK: [&str; 14] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// The user that a confined program runs as if dyntick runs as root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum User {
    /// One that owns no file ([`nobody`]).
    #[default]
    Unused,
    /// Root, with no privilege but that to read all files that are bound.
    Reader,
}

/// The files that a confined program sees in addition to the programs of this machine. A later entry lies over an
/// earlier one.
#[derive(Clone, Debug, Default)]
pub struct Walls {
    seen: Vec<(Access, PathBuf)>,
    user: User,
    is_online: bool,
}

impl Walls {
    /// Walls that nothing but programs is inside of.
    ///
    /// # Errors
    /// If it cannot be set up; that is tried once.
    pub fn new() -> Result<Self, NoWalls> {
        static TRIED: OnceLock<Result<(), NoWalls>> = OnceLock::new();
        TRIED.get_or_init(attempt).clone().map(|()| Self::default())
    }

    /// Lets a file or folder be read, under its own path, which must be its real one ([`real_path`]).
    #[must_use]
    pub fn read(mut self, path: &Path) -> Self {
        self.seen.push((Access::Read, path.to_owned()));
        self
    }

    /// Lets a file or folder be written, under its own path, which must be its real one; [`give`] it first.
    #[must_use]
    pub fn write(mut self, path: &Path) -> Self {
        self.seen.push((Access::Write, path.to_owned()));
        self
    }

    /// Lets the program read files that only their owner may read, e.g. a repository that was made with umask 077. As
    /// root it stays root then, for the files may be those of any user, and loses every other privilege.
    #[must_use]
    pub fn as_reader(mut self) -> Self {
        self.user = User::Reader;
        self
    }

    /// Lets the program use the host's network, and the files of `/etc` by which names and certificates are found.
    #[must_use]
    pub fn online(mut self) -> Self {
        self.is_online = true;
        self
    }

    /// The command that runs `inner` inside. Of its environment it has what `inner` sets, and nothing
    /// of this process's own; of open files the three standard ones, and those that it is then
    /// given by [`hand_on`].
    ///
    /// # Errors
    /// If a file that is named for it cannot be seen inside.
    pub fn around(&self, inner: &Command) -> Result<Command, NotSeen> {
        let mut outer = Command::new(BWRAP);
        // The first of what is done before bwrap starts: what is handed on comes after it.
        close_all(&mut outer);
        first_to_go(&mut outer);
        filtered(&mut outer);
        outer.args(self.namespaces()).args(system());
        if self.is_online {
            outer.args(OF_NETWORK.iter().flat_map(|file| ["--ro-bind-try", file, file]));
        }
        for (access, path) in &self.seen {
            let path = match place(path)? {
                Place::Bind(path) => path,
                Place::Visible if *access == Access::Write => return Err(of_usr(path)),
                Place::Visible => continue,
            };
            folders(&mut outer, path.parent().unwrap_or(&path));
            match access {
                Access::Read if !self.is_readable(&path) => copied(&mut outer, &path),
                Access::Read => outer.arg("--ro-bind").arg(&path).arg(&path),
                Access::Write => outer.arg("--bind").arg(&path).arg(&path),
            };
        }
        if let Some(Ok(Place::Bind(folder))) = inner.get_current_dir().map(place) {
            folders(&mut outer, &folder);
            outer.arg("--chdir").arg(folder);
        }
        outer.args(["--remount-ro", "/dev", "--remount-ro", "/"]);
        // Last of all what runs inside: bwrap itself must not load libraries that are meant for it.
        outer.arg("--").args(self.unprivileged());
        outer.args([PRLIMIT, &format!("--nproc={}", processes()), NO_CORE, "--", ENV, "-i"]);
        for (name, value) in inner.get_envs() {
            if let Some(value) = value {
                outer.arg([name, value].join(OsStr::new("=")));
            }
        }
        outer.arg(inner.get_program()).args(inner.get_args());
        Ok(outer)
    }

    /// True if the program inside is another user than this process.
    fn is_another_user(&self) -> bool {
        is_root() && self.user == User::Unused
    }

    /// True if the program inside may read a file by the file's mode.
    fn is_readable(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        !self.is_another_user()
            || std::fs::metadata(path).is_ok_and(|file| file.is_dir() || file.mode() & 0o004 != 0)
    }

    fn namespaces(&self) -> Vec<&'static str> {
        let mut all = vec![
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-uts",
            "--unshare-cgroup-try",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
        ];
        if !self.is_online {
            all.push("--unshare-net");
        }
        if !is_root() {
            all.extend(["--unshare-user", "--uid", "65534", "--gid", "65534"]);
        } else if self.is_another_user() {
            // setpriv(1) needs these, and drops them.
            all.extend(["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"].iter().flat_map(|c| ["--cap-add", c]));
        } else {
            all.extend(["--cap-add", "CAP_DAC_READ_SEARCH"]);
        }
        all
    }

    /// The command that turns root into another user, if the program is to be one.
    fn unprivileged(&self) -> Vec<String> {
        if !self.is_another_user() {
            return Vec::new();
        }
        [
            SETPRIV,
            &format!("--reuid={}", nobody()),
            &format!("--regid={}", nobody()),
            "--clear-groups",
            "--no-new-privs",
            "--bounding-set=-all",
            "--inh-caps=-all",
            "--",
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

/// [`PROCESSES`], or the hard limit of this user, which takes a privilege to raise.
fn processes() -> u64 {
    let hard = rustix::process::getrlimit(rustix::process::Resource::Nproc).maximum;
    hard.map_or(PROCESSES, |hard| hard.min(PROCESSES))
}

/// The real path of a file, without links and `..`; the path itself if there is no file.
pub fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The way in which a file is seen in the sandbox.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// It is bound, under its own path.
    Bind(PathBuf),
    /// It is there with the programs of the machine.
    Visible,
}

const ROOT: &str = "/";
const USR: &str = "/usr";

/// Folders of the system behind the walls. Nothing is put into them, for what is there is run before
/// privileges are given up.
const OF_SYSTEM: [&str; 5] = [USR, "/etc", "/proc", "/dev", "/sys"];

/// A disk in memory in one of them, with files of any user.
const SHARED_MEMORY: &str = "/dev/shm";

/// The folder of the system that a real path is in.
fn system_folder(real: &Path) -> Option<&'static str> {
    let mut all = OF_SYSTEM.into_iter().chain(BESIDE_USR);
    if real == Path::new(ROOT) {
        return Some(ROOT);
    }
    all.find(|folder| real.starts_with(folder)).filter(|_| !real.starts_with(SHARED_MEMORY))
}

fn of_usr(path: &Path) -> NotSeen {
    NotSeen::OfSystem { path: path.to_owned(), folder: USR }
}

/// bwrap follows `..` and symbolic links of a path as they are behind the walls while it builds them, where
/// they lead elsewhere than here: out of the new root, or over its programs. So only real paths are given to
/// it, which have neither.
fn place(path: &Path) -> Result<Place, NotSeen> {
    let real = path.canonicalize().map_err(|_| NotSeen::Gone(path.to_owned()))?;
    match system_folder(&real) {
        Some(USR) => Ok(Place::Visible),
        Some(folder) => Err(NotSeen::OfSystem { path: path.to_owned(), folder }),
        None if real == path => Ok(Place::Bind(real)),
        None => Err(NotSeen::Moved(path.to_owned())),
    }
}

/// Looks whether confined programs could write in a folder, which need not be there yet.
///
/// # Errors
/// If it is, or would be, in a folder of the system.
pub fn ensure_outside_system(folder: &Path) -> Result<(), NotSeen> {
    let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let there = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let real =
        there.map_or(path.clone(), |(above, real)| real.join(path.strip_prefix(above).unwrap_or(above)));
    match system_folder(&real) {
        Some(system) => Err(NotSeen::OfSystem { path: folder.to_owned(), folder: system }),
        None => Ok(()),
    }
}

/// Has bwrap make a folder with all above it. The unused user may not enter those that bwrap makes by itself.
fn folders(outer: &mut Command, folder: &Path) {
    let all: Vec<&Path> = folder.ancestors().collect();
    for one in all.iter().rev().skip(1) {
        outer.args(["--perms", "0755", "--dir"]).arg(one);
    }
}

/// True if confined programs run as another user than this process.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Lets confined programs write a file or folder of this process. As root, that makes it theirs.
///
/// # Errors
/// If its owner cannot be changed.
pub fn give(path: &Path) -> std::io::Result<()> {
    if is_root() { std::os::unix::fs::lchown(path, Some(nobody()), Some(nobody())) } else { Ok(()) }
}

/// Takes back what [`give`] gave.
///
/// # Errors
/// If its owner cannot be changed.
pub fn take_back(path: &Path) -> std::io::Result<()> {
    if is_root() { std::os::unix::fs::lchown(path, Some(0), Some(0)) } else { Ok(()) }
}

/// Hands files on to a command, under the same numbers. They must be open when it is started.
pub fn hand_on(command: &mut Command, descriptors: &[RawFd]) {
    let descriptors = descriptors.to_vec();
    // SAFETY: one async-signal-safe system call for each between fork and exec.
    unsafe {
        command.pre_exec(move || descriptors.iter().try_for_each(|fd| inherit(*fd)));
    }
}

fn inherit(descriptor: RawFd) -> std::io::Result<()> {
    // SAFETY: the flags of a number; if no file is open under it, the kernel returns an error.
    match unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) } {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Closes all files but the three standard ones, and leaves the keyring of the session, which a
/// confined program does not need.
fn close_all(command: &mut Command) {
    const KEYCTL_JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: async-signal-safe system calls between fork and exec, on numbers alone.
    unsafe {
        command.pre_exec(|| {
            // Neither is there on every kernel, and both are a second wall.
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
            libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, std::ptr::null::<u8>());
            Ok(())
        });
    }
}

/// Lets the kernel end this program first if the machine runs out of memory (`proc_pid_oom_score_adj(5)`).
fn first_to_go(command: &mut Command) {
    // SAFETY: opening, writing and closing a file between fork and exec are async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            // Without /proc there is nothing to be done, and the walls stand without it.
            let file = std::fs::OpenOptions::new().write(true).open("/proc/self/oom_score_adj");
            drop(file.and_then(|mut file| file.write_all(b"1000")));
            Ok(())
        });
    }
}

/// Has bwrap refuse the system calls that lead around the walls ([`filter`]).
fn filtered(outer: &mut Command) {
    match filter::file() {
        Ok(file) => {
            outer.args(["--seccomp", &file.as_raw_fd().to_string()]);
            // SAFETY: one async-signal-safe system call between fork and exec.
            unsafe { outer.pre_exec(move || inherit(file.as_raw_fd())) };
        }
        // No program runs without it.
        Err(error) => drop(outer.args(["--seccomp", &format!("none: {error}")])),
    }
}

/// bwrap copies a text out of an open file. The command keeps that open until it has been started.
fn copied<'a>(outer: &'a mut Command, path: &Path) -> &'a mut Command {
    let Ok(file) = crate::open_regular(path) else {
        // bwrap then says that it cannot be read.
        return outer.arg("--ro-bind").arg(path).arg(path);
    };
    outer.args(["--perms", "0444", "--ro-bind-data", &file.as_raw_fd().to_string()]).arg(path);
    // SAFETY: one async-signal-safe system call between fork and exec.
    unsafe { outer.pre_exec(move || inherit(file.as_raw_fd())) }
}

/// The programs of this machine, and the empty folders that programs expect.
fn system() -> Vec<OsString> {
    let mut all: Vec<OsString> = ["--ro-bind", "/usr", "/usr"].map(OsString::from).to_vec();
    for place in BESIDE_USR {
        match std::fs::read_link(place) {
            Ok(target) => all.extend(["--symlink".into(), target.into(), place.into()]),
            Err(_) => all.extend(["--ro-bind-try", place, place].map(OsString::from)),
        }
    }
    all.extend(["--perms", "0755", "--dir", "/etc"].map(OsString::from));
    all.extend(OF_ETC.iter().flat_map(|place| ["--ro-bind-try", place, place].map(OsString::from)));
    let size = TEMPORARY.to_string();
    // What uid 0 may write under /proc/sys takes no privilege.
    all.extend(["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"].map(OsString::from));
    all.extend(["--size", &size, "--perms", "1777", "--tmpfs", "/tmp"].map(OsString::from));
    all
}

/// More of bwrap's words is not read.
const LONGEST_WORDS: u64 = 4096;

/// Puts up walls around a program that does nothing.
fn attempt() -> Result<(), NoWalls> {
    let lack = |program, package| Err(NoWalls::NotInstalled { program, package });
    if find_program(BWRAP).is_none() {
        return lack(BWRAP, "bubblewrap");
    }
    if is_root() && !Path::new(SETPRIV).exists() {
        return lack("setpriv", "util-linux");
    }
    // Into memory: a pipe would be waited for until everybody has closed it, and bwrap can leave a process.
    let tried = || -> std::io::Result<(ExitStatus, String)> {
        let mut said = File::from(memfd_create("dyntick-bwrap", MemfdFlags::CLOEXEC)?);
        let walls = Walls::default().around(&Command::new("/usr/bin/true"));
        let mut walls = walls.map_err(std::io::Error::other)?;
        let status = walls.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone()?).status()?;
        said.rewind()?;
        Ok((status, std::io::read_to_string(said.take(LONGEST_WORDS))?))
    };
    match tried() {
        Ok((status, _)) if status.success() => Ok(()),
        Ok((_, said)) => Err(judged(said.lines().next().unwrap_or("bwrap exited without a message"))),
        Err(error) => Err(NoWalls::Failed { said: format!("bwrap: {error}") }),
    }
}

/// The meaning of bwrap's message: the machine permits no sandbox, or another error occurred.
fn judged(said: &str) -> NoWalls {
    // Not its other messages on namespaces: another user may have used up memory or process numbers.
    const REFUSALS: [&str; 7] = [
        "does not support user namespaces",
        "max_*_namespaces exceeded",
        "No permissions",
        "Operation not permitted",
        "Permission denied",
        "Function not implemented",
        "Invalid argument",
    ];
    let said = said.to_owned();
    if !REFUSALS.iter().any(|words| said.contains(words)) {
        return NoWalls::Failed { said };
    }
    let fix = setting().unwrap_or(": in a container, start it with the permission to create namespaces");
    NoWalls::Refused { said, fix }
}

/// The setting that forbids a sandbox, if it is a known one.
fn setting() -> Option<&'static str> {
    let value = |name: &str| {
        std::fs::read_to_string(Path::new("/proc/sys").join(name)).unwrap_or_default().trim().to_owned()
    };
    // To root none of these matters.
    if is_root() {
        None
    } else if value("user/max_user_namespaces") == "0" {
        Some(": user namespaces are disabled; as root, sysctl user.max_user_namespaces=10000")
    } else if value("kernel/unprivileged_userns_clone") == "0" {
        Some(
            ": unprivileged users may not create user namespaces; as root, sysctl kernel.unprivileged_userns_clone=1",
        )
    } else if value("kernel/apparmor_restrict_unprivileged_userns") == "1" {
        Some(
            ": AppArmor restricts user namespaces; give bwrap a profile with 'userns,' in /etc/apparmor.d, as Ubuntu's notes say",
        )
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prints the reason if this machine cannot confine a program.
    fn walls() -> Option<Walls> {
        Walls::new().inspect_err(|error| eprintln!("skipped: {error}")).ok()
    }

    #[test]
    fn a_full_disk_is_no_refusal() {
        let full = judged("bwrap: Can't make tmpfs: No space left on device");
        assert!(matches!(full, NoWalls::Failed { .. }), "{full}");
        let full = judged("bwrap: Creating new namespace failed: Resource temporarily unavailable");
        assert!(matches!(full, NoWalls::Failed { .. }), "{full}");
        assert!(judged("bwrap: No permissions to create new namespace").is_final());
    }

    fn shell(walls: &Walls, script: &str) -> std::process::Output {
        let mut inner = Command::new("/bin/sh");
        inner.args(["-c", script]).env("PATH", "/usr/bin:/bin").env("WORD", "a b");
        walls.around(&inner).unwrap().output().unwrap()
    }

    fn said(output: &std::process::Output) -> String {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    #[test]
    fn named_files_alone_are_seen() {
        let Some(walls) = walls() else { return };
        let dir = tempfile::tempdir().unwrap();
        let [named, other, written] = ["named", "other", "written"].map(|name| dir.path().join(name));
        std::fs::write(&named, "yes").unwrap();
        std::fs::write(&other, "no").unwrap();
        std::fs::create_dir(&written).unwrap();
        give(&written).unwrap();
        let walls = walls.read(&named).write(&written);
        let (named, other, written) = (named.display(), other.display(), written.display());
        let output = shell(
            &walls,
            &format!(
                "cat {named}; echo x 2>/dev/null > {named}; cat {other} /etc/shadow /root/.profile; echo $WORD $HOME; \
                 echo z > {written}/z; echo w > /tmp/dyntick-walls-test; ls /home /var /run /sys"
            ),
        );
        assert_eq!(said(&output), "yesa b");
        assert_eq!(std::fs::read_to_string(dir.path().join("named")).unwrap(), "yes");
        assert_eq!(std::fs::read_to_string(dir.path().join("written/z")).unwrap(), "z\n");
        assert!(!Path::new("/tmp/dyntick-walls-test").exists());
    }

    #[test]
    fn paths_lead_neither_out_nor_over_programs() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let deep = root.join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        let file = root.join("file name\nwith lines");
        std::fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(&deep, root.join("link")).unwrap();
        assert_eq!(place(&file), Ok(Place::Bind(file.clone())));
        let around = root.join("link/../../../file name\nwith lines");
        assert!(around.exists(), "it names the file, by way of a link and back");
        for path in [around, root.join("link"), root.join("./a"), root.join("a/../a"), root.join("absent")] {
            // A path compares by its components, of which `.` is none.
            let plain = path == root.join("a");
            assert_eq!(place(&path).is_err(), !plain, "{path:?}");
        }
        assert_eq!(place(&root.join("absent")), Err(NotSeen::Gone(root.join("absent"))));
        assert_eq!(place(Path::new("/usr/bin/setpriv")), Ok(Place::Visible));
        let told = place(Path::new("/etc/passwd")).unwrap_err().to_string();
        assert!(told.starts_with("/etc/passwd is in /etc, and confined programs"), "{told}");
        let Some(walls) = walls() else { return };
        let sneaked = root.join("link/../../../file name\nwith lines");
        assert!(walls.clone().read(&sneaked).around(&Command::new("true")).is_err(), "nothing runs then");
        let text =
            said(&shell(&walls.read(&file), "cat \"$0\" /proc/self/mounts | grep -c ' /proc proc ro'"));
        assert_eq!(text, "1", "/proc cannot be written");
    }

    #[test]
    fn the_disk_in_memory_is_no_folder_of_the_system() {
        let shared = Path::new(SHARED_MEMORY);
        if !shared.is_dir() || shared.canonicalize().is_ok_and(|real| real != shared) {
            eprintln!("skipped: no {SHARED_MEMORY}");
            return;
        }
        let dir = tempfile::tempdir_in(shared).unwrap();
        ensure_outside_system(&dir.path().join("not/yet")).unwrap();
        for folder in ["/usr/local/x", "/etc/x/y", "/dev/x", "/lib/x"] {
            assert!(ensure_outside_system(Path::new(folder)).is_err(), "{folder}");
        }
        std::os::unix::fs::symlink("/usr/local", dir.path().join("link")).unwrap();
        assert!(ensure_outside_system(&dir.path().join("link/x")).is_err());
        let Some(walls) = walls() else { return };
        give(dir.path()).unwrap();
        let script = format!(
            "echo y > {0}/y; cat {0}/y; ls -A /dev/shm | wc -l; touch /dev/shm/z",
            dir.path().display()
        );
        assert_eq!(said(&shell(&walls.write(dir.path()), &script)), "y\n1");
    }

    #[test]
    fn memory_and_processes_of_the_host_are_not_taken() {
        let Some(walls) = walls() else { return };
        let script = "ulimit -u; ulimit -Hc; cat /proc/self/oom_score_adj; for place in / /dev /usr /proc; do touch $place/x && echo $place; done";
        let mut bash = Command::new("/bin/bash");
        bash.args(["-c", script]).env("PATH", "/usr/bin:/bin");
        assert_eq!(
            said(&walls.around(&bash).unwrap().output().unwrap()),
            format!("{}\n0\n1000", processes())
        );
    }

    #[test]
    fn a_file_of_root_alone_is_copied_in() {
        use std::os::unix::fs::PermissionsExt;
        let Some(walls) = walls() else { return };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("private");
        std::fs::write(&file, "kernel").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(said(&shell(&walls.read(&file), &format!("cat {}", file.display()))), "kernel");
    }

    #[test]
    fn a_reader_reads_private_files_and_has_no_other_privilege() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let Some(walls) = walls() else { return };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("private");
        std::fs::write(&file, "yes").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let capability = if is_root() { "4" } else { "0" };
        if is_root() {
            chown(&file, Some(12345), Some(12345)).unwrap();
        }
        let script = format!(
            "cat {0}; (echo no > {0}) 2>/dev/null; grep -E 'CapPrm|CapEff' /proc/self/status",
            file.display()
        );
        let text = said(&shell(&walls.read(dir.path()).as_reader(), &script));
        assert_eq!(text, format!("yesCapPrm:\t{capability:0>16}\nCapEff:\t{capability:0>16}"));
    }

    #[test]
    fn there_is_no_privilege_and_no_process_of_the_host() {
        let Some(walls) = walls() else { return };
        let output = shell(&walls, "id -u; grep -E 'CapPrm|CapBnd|NoNewPrivs' /proc/self/status; ls /proc");
        let text = said(&output);
        let uid = if is_root() { nobody() } else { 65534 };
        assert!(text.starts_with(&format!("{uid}\n")) && text.contains("NoNewPrivs:\t1"), "{text}");
        assert!(text.contains("CapPrm:\t0000000000000000"), "{text}");
        assert!(!text.lines().any(|line| line == std::process::id().to_string()), "{text}");
    }

    #[test]
    fn the_network_is_not_there() {
        let Some(walls) = walls() else { return };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connect =
            format!("perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(\"127.0.0.1:{port}\") ? 0 : 7)'");
        assert!(Command::new("sh").args(["-c", &connect]).status().unwrap().success(), "the test's own way");
        let output = shell(&walls, &connect);
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(7), ""));
    }

    #[test]
    fn other_sockets_and_namespaces_are_refused() {
        let Some(walls) = walls() else { return };
        // AF_VSOCK is 40, AF_ALG 38, AF_PACKET 17; io_uring_setup(2) is 425, unshare(2) 272 with CLONE_NEWUSER.
        let script = "use Socket; for $f (40, 38, 17) { print \"open $f \" if socket(S, $f, SOCK_STREAM, 0) } \
             print 'unix ' if socket(S, AF_UNIX, SOCK_STREAM, 0); $r = \"\\0\" x 120; \
             print 'ring ' if syscall(425, 1, $r) >= 0; print 'ns ' if syscall(272, 0x10000000) == 0; print 'end'";
        let mut inner = Command::new("/usr/bin/perl");
        inner.args(["-e", script]);
        assert_eq!(said(&walls.around(&inner).unwrap().output().unwrap()), "unix end");
    }

    #[test]
    fn daemons_end_with_the_sandbox() {
        let Some(walls) = walls() else { return };
        let dir = tempfile::tempdir().unwrap();
        give(dir.path()).unwrap();
        let file = dir.path().join("alive");
        let daemon = format!(
            "(setsid sh -c 'for i in $(seq 200); do date +%N > {0}; sleep 0.05; done' >/dev/null 2>&1 &) ; while ! [ -s {0} ]; do sleep 0.02; done",
            file.display()
        );
        assert!(shell(&walls.write(dir.path()), &daemon).status.success());
        let at_end = std::fs::read_to_string(&file).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), at_end, "it no longer writes");
    }

    #[test]
    fn files_are_closed_unless_they_are_handed_on() {
        let Some(walls) = walls() else { return };
        let [kept, other] = [(); 2].map(|()| tempfile::tempfile().unwrap());
        // As a shell leaves one open for all that it starts.
        inherit(other.as_raw_fd()).unwrap();
        let script = [("kept", &kept), ("other", &other)]
            .map(|(name, file)| format!("[ -e /proc/self/fd/{} ] && echo {name}; ", file.as_raw_fd()));
        let mut inner = Command::new("/bin/sh");
        inner.args(["-c", &script.concat()]);
        let mut outer = walls.around(&inner).unwrap();
        hand_on(&mut outer, &[kept.as_raw_fd()]);
        let text = said(&outer.output().unwrap());
        assert_eq!(text, "kept");
    }
}
