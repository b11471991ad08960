// SPDX-License-Identifier: GPL-2.0-only
//! A virtual machine: what it is made of, and how running it can fail.

use super::stolen::NAMED_THREADS;
use super::{Disk, DiskError, Profile, Qemu, command_line};
use dyntick_guest::names::EXIT_PORT;
use dyntick_guest::{MailboxError, Stage, console};
use dyntick_model::CommandLine;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The executor of the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
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
    /// The executor.
    pub accelerator: Accelerator,
    /// The plugin that keeps virtual time steady (`dyntick_plugin::STEADY`), if the time is virtual.
    pub steady: Option<&'a Path>,
    /// The number of CPUs.
    pub cpus: u32,
    /// Memory in bytes, the mailbox included.
    pub memory: u64,
    /// Uncompressed kernel with a PVH entry, or a bzImage.
    pub kernel: &'a Path,
    /// Initramfs.
    pub initramfs: &'a Path,
    /// The parameters that the user adds to the command line.
    pub append: &'a CommandLine,
    /// The file of the serial console.
    pub console: &'a Path,
    /// The recording of its instructions, if any.
    pub profile: Option<&'a Profile>,
    /// The disk, if any.
    pub disk: Option<Disk>,
}

/// The failure of a guest. The run is marked failed and the study goes on.
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
    /// The guest's kernel cannot be set up as the case asks: a setting, a module or a partition is not there.
    #[error("the guest is not as its case asks: {reason}")]
    Refused {
        /// The kernel's answer.
        reason: String,
        /// The file of the setting that the kernel refuses.
        path: Option<String>,
    },
    /// The guest did not finish in time.
    #[error("the guest had not finished after {0:?}, during '{1}': it hangs, or needs a longer `timeout`")]
    Hung(Duration, Stage),
    /// The kernel never started the agent.
    #[error("the guest exited before the agent started")]
    NeverSpoke,
    /// The guest vanished before its end.
    #[error("the guest exited during '{0}'; results are incomplete")]
    Vanished(Stage),
    /// QEMU refused or crashed.
    #[error("QEMU ended with {status}: {message}")]
    Qemu {
        /// The exit status in words.
        status: String,
        /// The output.
        message: String,
    },
    /// The agent could not even leave an error.
    #[error("the agent ended the guest during '{0}' and sent no results; see the guest's console")]
    Undelivered(Stage),
    /// The guest wrote too much to its console.
    #[error("the guest wrote more than {} MiB to its console and was stopped", console::LIMIT >> 20)]
    Flood,
    /// The observations arrived damaged.
    #[error("{0}")]
    Damaged(String),
}

/// The reason for which a machine could not be run, or the failure of its guest.
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
        /// The memory that would be enough, MiB.
        needed: u64,
        /// The memory of the guest, MiB.
        memory: u64,
    },
    /// More memory than there is.
    #[error("the guest needs {wanted} MiB of memory, and this machine has {there} MiB: lower `memory`")]
    TooMuch {
        /// The memory of the guest, MiB.
        wanted: u64,
        /// The memory of this machine, MiB.
        there: u64,
    },
    /// The host could not do its part.
    #[error("cannot {what}: {source}")]
    Host {
        /// The action.
        what: String,
        /// The error.
        source: std::io::Error,
    },
    /// The memory shared with the guest.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
    /// The guest's disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

impl Machine<'_> {
    /// The kernel's complete command line.
    pub fn command_line(&self) -> CommandLine {
        command_line::compose(self.append, self.disk.is_some(), self.accelerator == Accelerator::Icount)
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
            // The accelerator itself is an argument added with the device.
            Accelerator::Kvm => vec!["-cpu", "host"],
            Accelerator::EmulatedThreads => vec!["-accel", "tcg,thread=multi", "-cpu", "max"],
        }
    }
}
