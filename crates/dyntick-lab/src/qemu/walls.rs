// SPDX-License-Identifier: GPL-2.0-only
//! QEMU behind walls: a guest that breaks out of it finds no network, no file but those of its own
//! machine, no other process and no privilege. Where this machine permits no walls, what is left is
//! that QEMU refuses itself system calls.

use super::machine::{Accelerator, Machine, RunError};
use super::{Disk, Profile, Qemu, disk, profile};
use dyntick_guest::console;
use dyntick_kernels::programs::{end_with_this_one, limit};
use dyntick_system::confine::{self, NoWalls, Walls};
use rustix::process::Resource;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// The confinement of QEMU on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// The reason for which there is no sandbox around it, if there is none.
    pub walls: Result<(), NoWalls>,
    /// True if it restricts its own system calls.
    pub seccomp: bool,
}

/// The confinement of this QEMU here.
pub fn confinement(qemu: &Qemu) -> Confinement {
    Confinement { walls: Walls::new().map(|_| ()), seccomp: qemu.has_seccomp() }
}

impl Confinement {
    /// The lacks, in words; `None` if there are none.
    pub fn note(&self) -> Option<String> {
        // What is not final ends the run.
        let reason = self.walls.as_ref().err().filter(|reason| reason.is_final())?;
        let left = if self.seccomp {
            "guests run with seccomp only"
        } else {
            "guests run unconfined: this QEMU has no seccomp either"
        };
        Some(format!("{left}: {reason}"))
    }
}

/// A QEMU that runs, and the files that were given to it.
pub(super) struct Started {
    pub(super) child: Child,
    _given: Given,
}

/// Files that QEMU writes; they are this user's again when it has ended.
struct Given(Vec<PathBuf>);

impl Given {
    fn new(files: &[&Path]) -> std::io::Result<Self> {
        let mut given = Self(Vec::new());
        for file in files {
            drop(File::options().create(true).append(true).open(file)?);
            confine::give(file)?;
            given.0.push(file.to_path_buf());
        }
        Ok(given)
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        for file in &self.0 {
            let _ = confine::take_back(file);
        }
    }
}

/// The standard streams of QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Streams {
    /// No input, and a pipe for errors: a guest that breaks out of QEMU holds no terminal.
    Apart,
    /// This process's own, for a console on the terminal.
    OfThisProcess,
}

/// Starts QEMU, in a sandbox if possible. `written` are the files that it writes in addition to the stream of a
/// profile; `memory` is the guest's.
pub(super) fn spawn(
    machine: &Machine,
    mut command: Command,
    memory: &File,
    written: &[&Path],
    streams: Streams,
) -> Result<Started, RunError> {
    let host = |what: String| move |source| RunError::Host { what, source };
    let device = match machine.accelerator {
        Accelerator::Kvm => Some(kvm(&mut command).map_err(host("open /dev/kvm".to_owned()))?),
        _ => None,
    };
    let disk = machine.disk.as_ref().map(Disk::make).transpose()?;
    command.args(disk.as_ref().map(disk::arguments).into_iter().flatten());
    let given = [Some(memory), device.as_ref(), disk.as_ref()];
    let descriptors: Vec<_> = given.into_iter().flatten().map(|file| file.as_raw_fd()).collect();
    let mut written = written.to_vec();
    written.extend(machine.profile.map(|profile| profile.files()[1]));
    let (mut command, given) = match Walls::new() {
        Ok(walls) => {
            // The paths of its files may be relative to the folder of this process.
            command.current_dir(std::env::current_dir().unwrap_or_else(|_| "/".into()));
            let given = Given::new(&written).map_err(host("make the files that QEMU writes".to_owned()))?;
            let confined = seen(walls, machine, &written).around(&command);
            (confined.map_err(|error| host("confine QEMU".to_owned())(std::io::Error::other(error)))?, given)
        }
        Err(reason) if reason.is_final() => (command, Given(Vec::new())),
        // Who fills a disk takes no walls away.
        Err(reason) => {
            return Err(host("confine QEMU".to_owned())(std::io::Error::other(reason.to_string())));
        }
    };
    // Of the command behind the walls bwrap takes no streams over.
    if streams == Streams::Apart {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    }
    limit(&mut command, Resource::Fsize, largest_file(machine));
    limit(&mut command, Resource::Data, own_memory(machine));
    confine::hand_on(&mut command, &descriptors);
    // A guest must not outlive a study that is killed.
    end_with_this_one(&mut command, rustix::process::Signal::KILL);
    let child = command.spawn().map_err(host(format!("start {}", machine.qemu.binary.display())))?;
    Ok(Started { child, _given: given })
}

/// The memory of QEMU in addition to the guest's, which is a file, bytes: 1 GiB of translated code, the plugin's
/// records of each block that was ever translated, and the threads' stacks. A guest that changes its own code has any
/// number of blocks.
fn own_memory(machine: &Machine) -> u64 {
    (3 << 30) + u64::from(machine.cpus) * (64 << 20)
}

/// The largest file that QEMU writes, bytes. This process enforces the limits of the console and of a profile's stream,
/// but may be stopped (Ctrl-Z) while a guest goes on writing.
fn largest_file(machine: &Machine) -> u64 {
    let disk = machine.disk.as_ref().map_or(0, |disk| disk.bytes);
    let stream = machine.profile.map_or(0, |_| profile::LIMIT);
    // Room for what comes between two looks.
    disk.max(stream).max(console::LIMIT) + (16 << 20)
}

/// Opens KVM's device and passes it to QEMU: it is not in the sandbox, and another user could not open it.
fn kvm(command: &mut Command) -> std::io::Result<File> {
    let device = File::options().read(true).write(true).open("/dev/kvm")?;
    command.arg("-add-fd").arg(format!("fd={},set=1", device.as_raw_fd()));
    command.args(["-accel", "kvm,device=/dev/fdset/1"]);
    Ok(device)
}

/// The files that a machine's QEMU sees.
fn seen(walls: Walls, machine: &Machine, written: &[&Path]) -> Walls {
    let walls = machine.qemu.folders().fold(walls, |walls, folder| walls.read(&folder));
    let libraries = machine.steady.into_iter().chain(machine.profile.map(library));
    let read = libraries.chain([machine.kernel, machine.initramfs]);
    let walls = read.fold(walls, Walls::read);
    written.iter().fold(walls, |walls, file| walls.write(file))
}

fn library(profile: &Profile) -> &Path {
    profile.files()[0]
}

/// The end of QEMU in words. bwrap reports a signal as a status, as shells do.
pub(super) fn in_words(status: ExitStatus) -> String {
    match status.code() {
        Some(code) if code > 128 && code < 128 + 65 => ExitStatus::from_raw(code - 128).to_string(),
        _ => status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_one_note() {
        let lack = NoWalls::NotInstalled { program: "bwrap", package: "bubblewrap" };
        let note = |seccomp| Confinement { walls: Err(lack.clone()), seccomp }.note();
        let message = note(true).unwrap_or_default();
        assert!(
            message.contains("seccomp only") && message.ends_with("apt-get install bubblewrap"),
            "{message}"
        );
        assert!(note(false).is_some_and(|note| note.contains("unconfined")));
        assert_eq!(Confinement { walls: Ok(()), seccomp: true }.note(), None);
    }

    #[test]
    fn signal_is_reported_as_one() {
        assert!(in_words(ExitStatus::from_raw(139 << 8)).contains("signal: 11"));
        assert_eq!(in_words(ExitStatus::from_raw(1 << 8)), "exit status: 1");
    }
}
