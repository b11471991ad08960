// SPDX-License-Identifier: GPL-2.0-only
//! One virtual machine from start to end.

use super::stolen::{self, NAMED_THREADS, Stolen};
use super::walls::{self, Started, Streams};
use super::{Disk, DiskError, Profile, Qemu};
use dyntick_guest::names::{EXIT_PORT, EXIT_VALUE};
use dyntick_guest::{Archive, MAILBOX_AT, MAILBOX_BYTES, Mailbox, MailboxError, Stage};
use dyntick_guest::{console, pieces, received};
use dyntick_model::CommandLine;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// What executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accelerator {
    /// Emulation in which time is the number of executed instructions: the virtual clock.
    Icount,
    /// Hardware virtualisation, on the wall clock.
    Kvm,
    /// Emulation with one thread per CPU, on the wall clock.
    EmulatedThreads,
}

impl std::fmt::Display for Accelerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Accelerator::Icount => "emulated, one instruction a nanosecond",
            Accelerator::Kvm => "hardware virtualisation (KVM)",
            Accelerator::EmulatedThreads => "emulated, a thread per CPU",
        })
    }
}

/// A machine to run.
pub struct Machine<'a> {
    /// The QEMU to run it with.
    pub qemu: &'a Qemu,
    /// What executes it.
    pub accelerator: Accelerator,
    /// What keeps virtual time steady (`dyntick_plugin::STEADY`), where the time is virtual.
    pub steady: Option<&'a Path>,
    /// Number of CPUs.
    pub cpus: u32,
    /// Memory in bytes, the mailbox included.
    pub memory: u64,
    /// Uncompressed kernel with a PVH entry, or a bzImage.
    pub kernel: &'a Path,
    /// Initramfs.
    pub initramfs: &'a Path,
    /// What the user adds to the command line.
    pub append: &'a CommandLine,
    /// Where the serial console goes.
    pub console: &'a Path,
    /// How its instructions are recorded, if they are.
    pub profile: Option<&'a Profile>,
    /// Its disk, if it has one.
    pub disk: Option<Disk>,
}

/// Wall time that each stage took, in the order of [`Stage::ALL`] without the last.
pub type StageTimes = Vec<(Stage, Duration)>;

/// A guest that finished its job.
pub struct Ended {
    /// What the agent sent.
    pub archive: Archive,
    /// Where the time went.
    pub stages: StageTimes,
    /// What the host took from the guest's CPUs in the window; nothing in virtual time, where it has no part.
    pub stolen: Stolen,
}

/// How a guest failed; the run is marked failed and the study goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The kernel panicked.
    #[error("the guest's kernel panicked: {0}")]
    Panic(String),
    /// The guest ran out of memory.
    #[error("the guest ran out of memory: give it more with `memory = …`")]
    OutOfMemory,
    /// The agent gave up.
    #[error("the agent in the guest failed: {0}")]
    Agent(String),
    /// It did not finish in time.
    #[error("the guest had not finished after {0:?}, during '{1}': it hangs, or needs a longer `timeout`")]
    Hung(Duration, Stage),
    /// The kernel never started the agent.
    #[error("the guest exited before the agent started")]
    NeverSpoke,
    /// It went away in the middle.
    #[error("the guest exited during '{0}'; results are incomplete")]
    Vanished(Stage),
    /// QEMU refused or crashed.
    #[error("QEMU ended with {status}: {message}")]
    Qemu {
        /// Its exit status in words.
        status: String,
        /// What it said.
        message: String,
    },
    /// The agent could not even leave an error.
    #[error("the agent ended the guest during '{0}' and sent no results; see the guest's console")]
    Undelivered(Stage),
    /// It wrote and wrote.
    #[error("the guest wrote more than {} MiB to its console and was stopped", console::LIMIT >> 20)]
    Flood,
    /// The observations arrived damaged.
    #[error("{0}")]
    Damaged(String),
}

/// Why a machine could not be run or what became of its guest.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The guest failed.
    #[error(transparent)]
    Guest(#[from] Failure),
    /// The guest image leaves no room.
    #[error(
        "the guest image has {image} MiB, so the guest needs at least `memory = \"{needed}M\"`, and has {memory} MiB"
    )]
    NoRoom {
        /// Size of the initramfs, MiB.
        image: u64,
        /// What would do, MiB.
        needed: u64,
        /// What was given, MiB.
        memory: u64,
    },
    /// More memory than there is.
    #[error("the guest needs {wanted} MiB of memory, and this machine has {there} MiB: lower `memory`")]
    TooMuch {
        /// What was asked for, MiB.
        wanted: u64,
        /// What this machine has, MiB.
        there: u64,
    },
    /// The host could not do its part.
    #[error("cannot {what}: {source}")]
    Host {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The memory shared with the guest.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
    /// The guest's disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// With which QEMU ends where the agent has left the machine.
pub(super) const EXIT_STATUS: i32 = 2 * EXIT_VALUE as i32 + 1;

/// How often the host looks at the guest's stage.
const POLL: Duration = Duration::from_millis(10);

/// What the guest's kernel is always told.
///
/// No ASLR and no hardware randomness, so that runs are alike. The second half only shortens the boot, which is emulated instruction by instruction:
/// no self tests, key rings, security modules, PCI bus, surplus serial ports or read-only kernel
/// text, and no wait for drivers that never come. None of it has a part in ticks or idleness.
const COMMAND_LINE: &str = "console=ttyS0 quiet loglevel=3 panic=-1 nokaslr random.trust_cpu=off \
    no_timer_check mitigations=off \
    initcall_blacklist=load_system_certificate_list,jent_mod_init cryptomgr.notests=1 lsm= pci=off \
    8250.nr_uarts=1 rodata=off deferred_probe_timeout=0";

/// Left out where the guest has a disk, which is on that bus.
const NO_BUS: &str = "pci=off";

/// The TSC is emulated and needs no checks. Left out where a case has a `tsc=` of its own: this one would
/// hold beside it, and a clock that is trusted cannot turn unstable.
const TRUSTED_CLOCK: &str = "tsc=reliable";

/// One instruction is one nanosecond, so the TSC ticks at 1 GHz and needs no measuring.
const VIRTUAL_COMMAND_LINE: &str = "tsc_early_khz=1000000";

impl Machine<'_> {
    /// The kernel's whole command line.
    pub fn command_line(&self) -> CommandLine {
        let mut line = match self.disk {
            None => CommandLine::parse(COMMAND_LINE),
            Some(_) => CommandLine::parse(&COMMAND_LINE.replace(NO_BUS, "")),
        };
        if self.append.get("tsc").is_none() {
            line.extend(&CommandLine::parse(TRUSTED_CLOCK));
        }
        if self.accelerator == Accelerator::Icount {
            line.extend(&CommandLine::parse(VIRTUAL_COMMAND_LINE));
        }
        line.extend(&CommandLine::parse(&Mailbox::parameter()));
        line.extend(self.append);
        line
    }

    /// `memory` is handed on when the command is started.
    pub(super) fn command(&self, memory: &File) -> Command {
        let mut command = self.qemu.command();
        command.args(self.qemu.system_calls());
        if let Some(library) = self.steady {
            command.env("LD_PRELOAD", library);
        }
        command.args(NAMED_THREADS);
        command.args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]);
        command.args(self.clock_arguments());
        command.args(self.profile.map(Profile::arguments).unwrap_or_default());
        command.args(["-machine", "pc,hpet=off,usb=off,vmport=off,smbus=off,memory-backend=ram"]);
        if let Some(firmware) = self.qemu.minimal_firmware() {
            command.arg("-bios").arg(firmware);
        }
        command.args(["-smp", &self.cpus.to_string(), "-m", &format!("{}B", self.memory)]);
        command.arg("-object").arg(format!(
            "memory-backend-file,id=ram,size={}B,share=on,mem-path=/proc/self/fd/{}",
            self.memory,
            memory.as_raw_fd()
        ));
        command.args(["-device", &format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=1")]);
        command.arg("-kernel").arg(self.kernel).arg("-initrd").arg(self.initramfs);
        command.arg("-append").arg(self.command_line().to_string());
        command
    }

    fn clock_arguments(&self) -> Vec<&'static str> {
        match self.accelerator {
            Accelerator::Icount => vec![
                "-accel",
                "tcg",
                "-icount",
                "shift=0,sleep=off",
                "-rtc",
                "base=2020-01-01,clock=vm",
                "-cpu",
                // The newest model without the features that make an emulated boot slower
                // (five-level page tables, extended register state); it has no hardware randomness.
                "Nehalem",
            ],
            // The accelerator itself is told where the device is handed on.
            Accelerator::Kvm => vec!["-cpu", "host"],
            Accelerator::EmulatedThreads => vec!["-accel", "tcg,thread=multi", "-cpu", "max"],
        }
    }
}

/// Runs a machine until its guest has delivered, failed, or `timeout` (wall time) is over.
/// `watch` is told each stage as it begins.
pub fn run(
    machine: &Machine,
    job: &[u8],
    timeout: Duration,
    watch: &dyn Fn(Stage),
) -> Result<Ended, RunError> {
    let (memory, mailbox) = memory_with_job(machine, job)?;
    let mut command = machine.command(&memory);
    command.arg("-serial").arg(format!("file:{}", machine.console.display()));
    let mut child = Reaped(walls::spawn(machine, command, &memory, &[machine.console], Streams::Apart)?);
    let mut stolen = stolen::Watch::new(child.0.child.id());
    let mut watch = |stage| {
        watch(stage);
        if machine.accelerator != Accelerator::Icount {
            stolen.stage(stage);
        }
    };
    let stages = follow(&mut child.0.child, &mailbox, machine.console, timeout, &mut watch)?;
    let status =
        child.0.child.wait().map_err(|source| RunError::Host { what: "wait for QEMU".into(), source })?;
    if status.code() != Some(EXIT_STATUS) {
        return Err(failure(machine.console, mailbox.stage(), status, &mut child.0.child).into());
    }
    Ok(Ended { archive: delivered(&mailbox)?, stages, stolen: stolen.in_window() })
}

/// What the agent left, unless that is an error.
pub(super) fn delivered(mailbox: &Mailbox) -> Result<Archive, Failure> {
    let result = mailbox.result().ok_or(Failure::Undelivered(mailbox.stage()))?;
    let archive = Archive::from_bytes(result).map_err(|error| Failure::Damaged(error.to_string()))?;
    match archive.get(pieces::ERROR) {
        Some(message) => Err(Failure::Agent(received::message(message))),
        None => Ok(archive),
    }
}

/// What a guest needs beside its mailbox and twice its image (as it was loaded, and unpacked).
const LEAST_FREE: u64 = 64 << 20;

/// Refuses a guest of so much memory for which its image is too large, bytes.
pub fn ensure_room(image: u64, memory: u64) -> Result<(), RunError> {
    let needed = MAILBOX_AT + MAILBOX_BYTES + 2 * image + LEAST_FREE;
    if memory < needed {
        let [image, needed, memory] = [image, needed, memory].map(|bytes| bytes.div_ceil(1 << 20));
        return Err(RunError::NoRoom { image, needed, memory });
    }
    Ok(())
}

pub(super) fn memory_with_job(machine: &Machine, job: &[u8]) -> Result<(File, Mailbox), RunError> {
    let host = |source| RunError::Host { what: format!("read {}", machine.initramfs.display()), source };
    ensure_room(std::fs::metadata(machine.initramfs).map_err(host)?.len(), machine.memory)?;
    // A guest that uses more than there is would have the kernel end something.
    let there = dyntick_system::memory();
    if machine.memory > there {
        return Err(RunError::TooMuch { wanted: machine.memory >> 20, there: there >> 20 });
    }
    let memory = guest_memory(machine.memory)?;
    let mut mailbox = Mailbox::map(&memory)?;
    mailbox.put_job(job)?;
    Ok((memory, mailbox))
}

/// Memory without a name in any file system: nothing is left behind, however this ends.
fn guest_memory(bytes: u64) -> Result<File, RunError> {
    let host = |source: rustix::io::Errno| RunError::Host {
        what: format!("reserve {} MiB of memory for the guest", bytes >> 20),
        source: source.into(),
    };
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = memfd_create("dyntick-guest", flags).map_err(host)?;
    ftruncate(&fd, bytes).map_err(host)?;
    // Who breaks out of QEMU could shorten it, and reading on would end this process (SIGBUS).
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(host)?;
    Ok(File::from(fd))
}

/// A child that never outlives its owner.
pub(super) struct Reaped(pub(super) Started);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.child.kill();
        let _ = self.0.child.wait();
    }
}

/// Waits for the end, noting when each stage began.
fn follow(
    child: &mut Child,
    mailbox: &Mailbox,
    console: &Path,
    timeout: Duration,
    watch: &mut dyn FnMut(Stage),
) -> Result<StageTimes, RunError> {
    let start = Instant::now();
    let mut began = vec![(Stage::Boot, start)];
    watch(Stage::Boot);
    loop {
        let stage = mailbox.stage();
        // Only forward: a guest that says otherwise has no word.
        if stage > began[began.len() - 1].0 {
            began.push((stage, Instant::now()));
            watch(stage);
        }
        match child.try_wait() {
            Ok(Some(_)) => return Ok(durations(&began)),
            Ok(None) if console::is_flooded(console) => return Err(Failure::Flood.into()),
            Ok(None) if start.elapsed() > timeout => return Err(Failure::Hung(timeout, stage).into()),
            Ok(None) => std::thread::sleep(POLL),
            Err(source) => return Err(RunError::Host { what: "wait for QEMU".into(), source }),
        }
    }
}

fn durations(began: &[(Stage, Instant)]) -> StageTimes {
    let end = Instant::now();
    let ends = began.iter().skip(1).map(|(_, begin)| *begin).chain([end]);
    began.iter().zip(ends).map(|((stage, begin), end)| (*stage, end - *begin)).collect()
}

/// More of QEMU's words is not read.
const LONGEST_WORDS: u64 = 64 << 10;

/// What became of a guest that did not leave by the agent's own exit.
fn failure(path: &Path, stage: Stage, status: std::process::ExitStatus, child: &mut Child) -> Failure {
    let text = console::end(path);
    let panic = text.lines().find_map(|line| line.split_once("Kernel panic - not syncing: "));
    if text.contains("Out of memory") || text.contains("System is deadlocked on memory") {
        return Failure::OutOfMemory;
    }
    if let Some((_, reason)) = panic {
        return Failure::Panic(received::line(reason.trim()));
    }
    if !status.success() {
        let said = child.stderr.take().map(|pipe| std::io::read_to_string(pipe.take(LONGEST_WORDS)));
        return Failure::Qemu {
            status: walls::in_words(status),
            message: said.and_then(Result::ok).unwrap_or_default().trim().to_owned(),
        };
    }
    if stage == Stage::Boot { Failure::NeverSpoke } else { Failure::Vanished(stage) }
}
