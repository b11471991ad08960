// SPDX-License-Identifier: GPL-2.0-only
//! The preparation of a case: the kernel is found and checked, the guest image is built, and the plan is made.

use super::Lab;
use crate::emulator;
use crate::error::LabError;
use crate::execute::Inputs;
use crate::image::{self, Contents, Image, Module, Share};
use crate::order;
use crate::perturb;
use crate::plan::Plan;
use crate::qemu::{self, Host};
use crate::running::RunningFolder;
use dyntick_explain::fixes::missing_options;
use dyntick_guest::Stage;
use dyntick_kernels::build::BuildError;
use dyntick_kernels::cache::CacheError;
use dyntick_kernels::cache::unused::InUse;
use dyntick_kernels::find::{Kernel, KernelError};
use dyntick_model::{Clock, CommandLine, KernelConfig};
use dyntick_study::{Case, check};
use sha2::{Digest, Sha256};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A case that is ready to run: its plan, and the files that the plan names by hash.
pub struct Prepared {
    /// The plan of the run.
    pub plan: Plan,
    kernel: Kernel,
    _in_use: Vec<InUse>,
    initramfs: PathBuf,
    /// The folder of the initramfs, which is not kept: building it again takes no longer than reading it, and the
    /// images of a large study would fill the disk.
    _folder: RunningFolder,
}

impl Prepared {
    /// The files for the executor; it writes the console and the profile into `folder`.
    pub(super) fn inputs<'i>(&'i self, folder: &'i Path, watch: &'i dyn Fn(Stage)) -> Inputs<'i> {
        Inputs { kernel: &self.kernel.image, initramfs: &self.initramfs, folder, watch }
    }
}

impl Lab<'_> {
    /// Finds the kernel, checks the case against it, and builds the image. The repetition decides the change of a
    /// perturbed run ([`perturb::of`]).
    ///
    /// # Errors
    /// A kernel or tool that cannot be had, or a case that the kernel cannot run.
    pub fn prepare(&self, case: &Case, repetition: u32) -> Result<Prepared, LabError> {
        self.prepare_with(case, repetition, None)
    }

    /// The same, with a folder of the user's in the image.
    pub(super) fn prepare_with(
        &self,
        case: &Case,
        repetition: u32,
        share: Option<&Share>,
    ) -> Result<Prepared, LabError> {
        let (kernel, in_use) = self.kernel_of(case)?;
        let perturbation = perturb::of(case.clock, repetition);
        let padding = perturbation.map_or(0, |perturbation| perturbation.padding);
        let image = self.image(case, &kernel, padding, share)?;
        let folder = self.scratch()?;
        let initramfs = keep_image(&folder, &image)?;
        let mut plan = Plan {
            repetition,
            accelerator: self.accelerator(case.clock, &kernel)?,
            qemu: self.qemu().full_version(),
            firmware_sha256: self.firmware_sha256()?,
            release: kernel.release.clone(),
            kernel_source: kernel.source.clone(),
            kernel_fallback: kernel.fallback.clone(),
            kernel_sha256: kernel.sha256.clone(),
            hz: kernel.config.hz().unwrap_or(0),
            missing_options: missing_options(&kernel.config),
            program_sha256: Some(image.init_sha256),
            image_sha256: image.sha256,
            command_line: CommandLine::default(),
            idle_states: order::idle_states(case),
            perturbation,
            host: (case.clock == Clock::Wall).then(Host::of_this_machine),
            case: case.clone(),
        };
        plan.command_line = self.executor.command_line(&plan, &kernel.image, &initramfs);
        Ok(Prepared { plan, kernel, _in_use: in_use, initramfs, _folder: folder })
    }

    /// The kernel of a case, if it can do what the case asks for.
    fn kernel_of(&self, case: &Case) -> Result<(Kernel, Vec<InUse>), LabError> {
        let impossible = |problems| LabError::Impossible { case: case.id.clone(), problems };
        let accept = |config: &KernelConfig| check::against_kernel(case, config);
        let found = match self.kernel_in_use(&case.kernel, case.recipe.as_ref(), &accept) {
            Err(KernelError::Build(BuildError::Unfit(problems))) => return Err(impossible(problems)),
            found => found?,
        };
        // A build is checked before it begins; a kernel that was there is checked here.
        let mut problems = check::against_kernel(case, &found.0.config);
        let lack = case.machine.as_ref().and_then(|_| emulator::lacking(&found.0, case.recipe.as_ref()));
        match lack {
            Some(lack) if problems.is_empty() => return Err(lack.into()),
            lack => problems.extend(lack.map(|lack| lack.to_string())),
        }
        if problems.is_empty() { Ok(found) } else { Err(impossible(problems)) }
    }

    fn image(
        &self,
        case: &Case,
        kernel: &Kernel,
        padding: u32,
        share: Option<&Share>,
    ) -> Result<Image, LabError> {
        let emulator = case.machine.as_ref().map(|_| self.emulator(case, kernel)).transpose()?;
        let modules = order::modules(case, kernel);
        let looking = self.memory.for_this_program(image::LARGEST);
        let tools = image::programs(&case.tools)?;
        drop(looking);
        // Tools that no guest of this case has room for are not read, and no image of them is kept.
        qemu::ensure_room(tools.bytes + share.map_or(0, Share::bytes), case.memory)?;
        let _memory = self.memory.for_this_program(image::memory_to_build(&tools, &modules, share));
        let contents = Contents {
            tools: Some(&tools),
            modules: &modules,
            own: emulator,
            files: Some(&case.files),
            share,
            padding,
        };
        let image = image::build(&self.init, kernel, contents)?;
        qemu::ensure_room(image.bytes.len() as u64, case.memory)?;
        Ok(image)
    }

    fn emulator(&self, case: &Case, kernel: &Kernel) -> Result<Module, LabError> {
        let say = |text: &str| self.say(text);
        let contents = emulator::module(kernel, case.recipe.as_ref(), &self.cache, &say)?;
        Ok(Module { name: emulator::NAME.to_owned(), contents })
    }

    fn firmware_sha256(&self) -> Result<Option<String>, CacheError> {
        let Some(path) = self.qemu().minimal_firmware() else { return Ok(None) };
        let bytes = std::fs::read(&path).map_err(|error| CacheError::from_io(&path, error))?;
        Ok(Some(hex::encode(Sha256::digest(bytes))))
    }
}

/// The name of a guest image, in a folder of its own.
const INITRAMFS: &str = "initramfs.cpio";

/// Writes a guest image for QEMU.
pub(super) fn keep_image(folder: &RunningFolder, image: &Image) -> Result<PathBuf, CacheError> {
    let path = folder.path().join(INITRAMFS);
    let write = || {
        std::fs::write(&path, &image.bytes)?;
        // QEMU reads it as another user.
        std::fs::set_permissions(&path, Permissions::from_mode(0o644))
    };
    write().map_err(|error| CacheError::from_io(&path, error))?;
    Ok(path)
}
