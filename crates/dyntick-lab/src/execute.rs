// SPDX-License-Identifier: GPL-2.0-only
//! Execution of a plan: from the files that it names to the raw output of its guest.

use crate::error::LabError;
use crate::names::CONSOLE;
use crate::plan::{self, Plan};
use crate::qemu::{self, Accelerator, Disk, Machine, Profile, Qemu, Raw, RunError, run};
use dyntick_guest::{Archive, Job, Stage, console};
use dyntick_kernels::cache::{Cache, CacheError};
use dyntick_model::CommandLine;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files of this machine that a plan names by hash, and the folder for the output.
pub struct Inputs<'a> {
    /// The kernel.
    pub kernel: &'a Path,
    /// The guest image.
    pub initramfs: &'a Path,
    /// The folder that becomes the run; the console and the profile are written there.
    pub folder: &'a Path,
    /// Called with each stage as it begins.
    pub watch: &'a dyn Fn(Stage),
}

/// An executor of plans. It knows neither figures nor claims.
pub trait Executor {
    /// Runs the guest of a plan to its end.
    ///
    /// # Errors
    /// A guest that failed, or a machine that could not do its part.
    fn run(&self, plan: &Plan, inputs: &Inputs<'_>) -> Result<Raw, LabError>;
}

/// The executor of this machine: QEMU.
pub struct OnQemu {
    qemu: Qemu,
    /// The plugin that keeps virtual time steady.
    steady: PathBuf,
    cache: Cache,
    /// The folder for guests' disks.
    disks: PathBuf,
}

impl OnQemu {
    /// Unpacks what QEMU loads into the cache.
    ///
    /// # Errors
    /// A cache that cannot be written.
    pub fn new(qemu: Qemu, cache: &Cache, disks: PathBuf) -> Result<Self, CacheError> {
        let steady = qemu::unpacked(cache, dyntick_plugin::STEADY)?;
        Ok(Self { qemu, steady, cache: cache.clone(), disks })
    }

    /// The QEMU that it runs.
    pub fn qemu(&self) -> &Qemu {
        &self.qemu
    }

    /// The complete kernel command line of a plan.
    pub fn command_line(&self, plan: &Plan, kernel: &Path, initramfs: &Path) -> CommandLine {
        let inputs = Inputs { kernel, initramfs, folder: Path::new(""), watch: &|_| () };
        self.machine(plan, &inputs, Path::new("")).command_line()
    }

    /// Runs a guest whose console is on this terminal if it is interactive, and only shown there otherwise. Returns
    /// the files that its agent sent, or `None` if the guest was ended otherwise.
    ///
    /// # Errors
    /// A guest that failed, or a machine that could not do its part.
    pub fn shell(
        &self,
        plan: &Plan,
        inputs: &Inputs<'_>,
        job: &Job,
        interactive: bool,
    ) -> Result<Option<Archive>, RunError> {
        let console = inputs.folder.join(CONSOLE);
        let machine = self.machine(plan, inputs, &console);
        let job = encoded(job);
        if interactive { qemu::interactive(&machine, &job) } else { qemu::command(&machine, &job).map(Some) }
    }

    fn machine<'m>(&'m self, plan: &'m Plan, inputs: &Inputs<'m>, console: &'m Path) -> Machine<'m> {
        Machine {
            qemu: &self.qemu,
            accelerator: plan.accelerator,
            steady: (plan.accelerator == Accelerator::Icount).then_some(self.steady.as_path()),
            cpus: plan.case.cpus,
            memory: plan.case.memory,
            kernel: inputs.kernel,
            initramfs: inputs.initramfs,
            append: &plan.case.append,
            console,
            profile: None,
            disk: plan.case.disk.map(|bytes| Disk { bytes, place: self.disks.clone() }),
        }
    }
}

impl Executor for OnQemu {
    fn run(&self, plan: &Plan, inputs: &Inputs<'_>) -> Result<Raw, LabError> {
        let console = inputs.folder.join(CONSOLE);
        let profile = if plan.case.profile { Some(Profile::new(&self.cache, inputs.folder)?) } else { None };
        let machine = Machine { profile: profile.as_ref(), ..self.machine(plan, inputs, &console) };
        let job = encoded(&plan::job(&plan.case, plan.perturbation)?);
        let timeout = Duration::from_nanos(plan.case.timeout_ns);
        run(&machine, &job, timeout, inputs.watch).map_err(|error| match error {
            RunError::Guest(failure) => LabError::Guest { failure, console_tail: console::tail(&console) },
            error => LabError::Run(error),
        })
    }
}

fn encoded(job: &Job) -> Vec<u8> {
    serde_json::to_vec(job).expect("plain data")
}
