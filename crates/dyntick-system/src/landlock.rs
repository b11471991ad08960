// SPDX-License-Identifier: GPL-2.0-only
//! What a program of this machine may open while it reads what a stranger made: its own files, and the folders that are
//! named for it. It is still this user, without the walls of [`crate::confine`], which programs need that cannot be
//! given a user of their own: a repository may be readable by its owner alone.
//!
//! The kernel keeps these rules (Landlock, `landlock(7)`, since 5.13; TCP since 6.7, abstract sockets and
//! signals since 6.12). Where it has none, or fewer, the program runs with those that there are.

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The newest rules that are asked for: those of 6.12.
const RULES: ABI = ABI::V6;

/// Where programs, their libraries and their data are; not the sources in /usr/src and /opt, which may be somebody's.
const PROGRAMS: [&str; 18] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/libexec",
    "/usr/share",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/libexec",
    "/usr/local/share",
    "/bin",
    "/lib",
    "/lib64",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
];

/// What programs have always opened.
const DEVICES: [&str; 2] = ["/dev/null", "/dev/urandom"];

/// What a program may open beside the programs of this machine.
#[derive(Clone, Debug, Default)]
pub struct Files {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    is_online: bool,
}

impl Files {
    /// Lets a file, or a folder with all that is in it, be read. What is not there is passed over.
    #[must_use]
    pub fn read(mut self, path: &Path) -> Self {
        self.read.push(path.to_owned());
        self
    }

    /// Lets a folder with all that is in it be read and written.
    #[must_use]
    pub fn write(mut self, path: &Path) -> Self {
        self.write.push(path.to_owned());
        self
    }

    /// Lets the network be used, and all be read: what names are looked up by, the machine's configuration says.
    #[must_use]
    pub fn online(mut self) -> Self {
        self.is_online = true;
        self.read(Path::new("/"))
    }

    /// Holds the program to this. Where the kernel has the rules and they cannot be put up, the program does not start.
    /// Nothing that is mounted by this process is changed after it: call this last.
    pub fn hold(&self, command: &mut Command) {
        let mut rules = Some(self.rules().map_err(std::io::Error::other));
        // SAFETY: prctl(2) and landlock_restrict_self(2) on a descriptor that is open by then.
        unsafe {
            command.pre_exec(move || match rules.take() {
                Some(rules) => enforced(rules?),
                // A command that is started a second time: its rules went with the first.
                None => Err(std::io::ErrorKind::InvalidInput.into()),
            });
        }
    }

    fn rules(&self) -> Result<RulesetCreated, RulesetError> {
        let files = AccessFs::from_all(RULES);
        let rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(files)?;
        let rules = if self.is_online { rules } else { offline(rules)? };
        let run = AccessFs::from_read(RULES);
        let mut rules = rules.create()?;
        rules = beneath(rules, &PROGRAMS.map(PathBuf::from), run)?;
        rules = beneath(rules, &DEVICES.map(PathBuf::from), AccessFs::ReadFile | AccessFs::WriteFile)?;
        rules = beneath(rules, &self.read, AccessFs::ReadFile | AccessFs::ReadDir)?;
        beneath(rules, &self.write, files & !AccessFs::Execute)
    }
}

fn offline(rules: Ruleset) -> Result<Ruleset, RulesetError> {
    rules.handle_access(AccessNet::from_all(RULES))?.scope(Scope::from_all(RULES))
}

fn beneath(
    rules: RulesetCreated,
    places: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    places.iter().try_fold(rules, |rules, place| match PathFd::new(place) {
        Ok(open) if place.is_dir() => rules.add_rule(PathBeneath::new(open, access)),
        Ok(open) => rules.add_rule(PathBeneath::new(open, access & AccessFs::from_file(RULES))),
        // Of what is not there nothing can be opened.
        Err(_) => Ok(rules),
    })
}

fn enforced(rules: RulesetCreated) -> std::io::Result<()> {
    // No allocation, which is not allowed between fork and exec: of an error only its kind is kept.
    match rules.restrict_self() {
        Ok(_) => Ok(()),
        Err(_) => Err(std::io::ErrorKind::PermissionDenied.into()),
    }
}

/// Whether this kernel has rules of its own for files.
pub fn is_there() -> bool {
    version() >= 1
}

/// The kernel's version of the rules; below 1 it has none (landlock_create_ruleset(2),
/// LANDLOCK_CREATE_RULESET_VERSION).
fn version() -> i64 {
    // SAFETY: a system call that looks at numbers alone.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(files: &Files, script: &str) -> String {
        let mut sh = Command::new("sh");
        files.hold(sh.args(["-c", script]));
        let output = sh.output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().replace('\n', " ")
    }

    #[test]
    fn a_program_opens_its_own_files_and_those_that_are_named() {
        if !is_there() {
            return eprintln!("skipped: this kernel has no Landlock");
        }
        let folder = tempfile::tempdir().unwrap();
        let [named, written, other] = ["named", "written", "other"].map(|name| folder.path().join(name));
        for place in [&named, &written, &other] {
            std::fs::create_dir(place).unwrap();
            std::fs::write(place.join("file"), place.file_name().unwrap().as_encoded_bytes()).unwrap();
        }
        std::fs::copy("/bin/true", named.join("program")).unwrap();
        let files = Files::default().read(&named).write(&written).read(Path::new("/not-there"));
        let script = format!(
            "cd {}; cat named/file other/file /etc/passwd; echo; echo new > written/new && cat written/new; \
             echo x > named/new && echo wrote; named/program && echo ran; echo x > /dev/null && echo null",
            folder.path().display()
        );
        assert_eq!(shell(&files, &script), "named new null");
        assert!(shell(&files.online(), "cat /etc/passwd").contains("root:"));
    }

    #[test]
    fn there_is_no_network_unless_it_is_asked_for() {
        if version() < 4 {
            return eprintln!("skipped: this kernel's Landlock does not know TCP");
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connect =
            format!("perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(\"127.0.0.1:{port}\") ? 1 : 0'");
        assert_eq!(shell(&Files::default(), &connect), "0");
        assert_eq!(shell(&Files::default().online(), &connect), "1");
    }
}
