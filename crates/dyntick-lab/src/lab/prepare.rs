// SPDX-License-Identifier: GPL-2.0-only
//! The preparation of a case: the kernel is found, fetched or built once and stays in the cache while it is in use, KVM
//! is probed, the guest image is built, and the plan is made.

use super::Lab;
use crate::emulator;
use crate::error::LabError;
use crate::execute::Inputs;
use crate::image::{self, Contents, Image, Module, Share};
use crate::names::CONSOLE;
use crate::plan::{self, KernelParts, Plan};
use crate::qemu::probe::{self, KvmProbe};
use crate::qemu::{self, Accelerator, Host};
use crate::running::RunningFolder;
use dyntick_explain::fixes::missing_options;
use dyntick_guest::Stage;
use dyntick_kernels::build::{Accept, BuildError};
use dyntick_kernels::cache::unused::InUse;
use dyntick_kernels::cache::{Cache, CacheError, write_whole};
use dyntick_kernels::find::{self, Kernel, KernelError};
use dyntick_model::{Clock, CommandLine, KernelConfig, Recipe};
use dyntick_study::{Case, check};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::MutexGuard;
use std::time::Duration;

/// The kernels by their name and recipe in a study, each with the reason if it could not be built: each of its cases
/// would try again.
pub type KnownKernels = BTreeMap<(String, Option<Recipe>), Result<Kernel, String>>;

impl Lab<'_> {
    fn known_kernels(&self) -> MutexGuard<'_, KnownKernels> {
        self.kernels.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A kernel that stays in the cache until the last [`InUse`] is dropped.
    pub(super) fn kernel_in_use(
        &self,
        name: &str,
        recipe: Option<&Recipe>,
        accept: Accept<'_>,
    ) -> Result<(Kernel, Vec<InUse>), KernelError> {
        let kernel = self.kernel(name, recipe, accept)?;
        if let Some(in_use) = hold(&kernel) {
            return Ok((kernel, in_use));
        }
        // It was removed since it was found, to make room for other kernels.
        self.known_kernels().remove(&(name.to_owned(), recipe.cloned()));
        let kernel = self.kernel(name, recipe, accept)?;
        let in_use = hold(&kernel).ok_or(CacheError::Unsteady(kernel.image.clone()))?;
        Ok((kernel, in_use))
    }

    /// The kernel of this name, fetched or built if it is not in the cache.
    pub(super) fn kernel(
        &self,
        name: &str,
        recipe: Option<&Recipe>,
        accept: Accept<'_>,
    ) -> Result<Kernel, KernelError> {
        let mut known = self.known_kernels();
        let question = (name.to_owned(), recipe.cloned());
        if let Some(known) = known.get(&question) {
            return known.clone().map_err(KernelError::FailedBefore);
        }
        let say = |text: &str| self.say(text);
        let _memory = self.memory.for_this_program(find::memory_to_examine(name));
        let kernel = match recipe {
            Some(recipe) => find::made_to_order(name, recipe, &self.cache, &say, accept),
            None => find::resolve(name, &self.cache, &say),
        };
        let result = match &kernel {
            Ok(kernel) => Ok(kernel.clone()),
            Err(KernelError::Build(error @ BuildError::Failed { .. })) => Err(error.to_string()),
            // Any other error may not occur the next time.
            Err(_) => return kernel,
        };
        // A study may have a thousand names for one kernel.
        const MOST_KERNELS: usize = 64;
        if known.len() >= MOST_KERNELS {
            known.clear();
        }
        known.insert(question, result);
        kernel
    }
}

/// Keeps a kernel and its modules in the cache; `None` if one of them was removed meanwhile.
fn hold(kernel: &Kernel) -> Option<Vec<InUse>> {
    let built = kernel.built.iter().map(|built| InUse::of(&built.folder));
    std::iter::once(InUse::hold(&kernel.image)).chain(built).collect()
}

impl Lab<'_> {
    pub(super) fn accelerator(&self, clock: Clock, kernel: &Kernel) -> Result<Accelerator, LabError> {
        Ok(match clock {
            Clock::Virtual => Accelerator::Icount,
            Clock::Wall if self.kvm(kernel)?.works => Accelerator::Kvm,
            Clock::Wall => Accelerator::EmulatedThreads,
        })
    }

    /// Finds out if KVM works here, by booting: once for each host kernel, QEMU and guest kernel, and each day if it
    /// did not. One guest kernel says nothing of another. The image has no tools of a study, so that they have no
    /// part in the result.
    fn kvm(&self, kernel: &Kernel) -> Result<KvmProbe, LabError> {
        let host = rustix::system::uname();
        let (release, version) = (host.release().to_string_lossy(), host.version());
        let limit = probe::LIMIT.as_secs();
        // A guest that was too slow within one limit may not be within another.
        let question = format!("{release} {} {version:?} {} {limit} s", self.qemu().version, kernel.sha256);
        let entry = format!("kvm-{}.json", hex::encode(&Sha256::digest(question)[..6]));
        let path = self.cache.path(&entry);
        let _lock = self.cache.lock(&entry)?;
        if let Some(probe) = remembered(&path) {
            return Ok(probe);
        }
        self.say(&format!("booting a probe guest to test whether KVM works ({limit} s at most)"));
        let image = image::build(&self.init, kernel, Contents::default())?;
        let folder = self.scratch()?;
        let initramfs = keep_image(&folder, &image)?;
        match probe::kvm(self.qemu(), &kernel.image, &initramfs, &folder.path().join(CONSOLE)) {
            Ok(probe) => {
                write_whole(&path, &serde_json::to_vec(&probe).expect("plain data"))?;
                Ok(probe)
            }
            Err(untried) => Ok(untried),
        }
    }

    /// Finds out if KVM works here, with a stock kernel.
    ///
    /// # Errors
    /// A kernel or an image that cannot be had.
    pub fn probe_kvm(&self) -> Result<KvmProbe, LabError> {
        let kernel = self.kernel("debian:6.12", None, &|_| Vec::new())?;
        self.kvm(&kernel)
    }
}

/// The result of an earlier probe. A failure holds for a day: it may have been for lack of memory or time.
fn remembered(path: &Path) -> Option<KvmProbe> {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let probe: KvmProbe = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let age = path.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
    (probe.works || age < DAY).then_some(probe)
}

/// The newest result about KVM in this cache that still holds. Boots nothing.
pub fn kvm_as_learnt(cache: &Cache) -> Option<KvmProbe> {
    let is_probe = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("kvm-") && name.ends_with(".json")
    };
    let entries = std::fs::read_dir(cache.root()).ok()?;
    let mut probes: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_probe).collect();
    probes.sort_by_key(|path| path.metadata().and_then(|file| file.modified()).ok());
    probes.iter().rev().find_map(|path| remembered(path))
}

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
    /// perturbed run ([`plan::perturbation_of`]).
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
        let perturbation = plan::perturbation_of(case.clock, repetition);
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
            kernel_parts: kernel.built.as_ref().map(KernelParts::of),
            kernel_sha256: kernel.sha256.clone(),
            hz: kernel.config.hz().unwrap_or(0),
            missing_options: missing_options(&kernel.config),
            program_sha256: Some(image.init_sha256),
            image_sha256: image.sha256,
            command_line: CommandLine::default(),
            idle_states: plan::idle_states(case),
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
        let modules = plan::modules(case, kernel);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_result_about_kvm_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        assert!(kvm_as_learnt(&cache).is_none());
        let learn = |entry: &str, probe: &KvmProbe| {
            std::fs::write(cache.path(entry), serde_json::to_vec(probe).unwrap()).unwrap();
        };
        learn("kvm-0.json", &KvmProbe::fails("refuses", None));
        learn("kvm-0.json.lock", &KvmProbe::fails("no probe", None));
        assert_eq!(kvm_as_learnt(&cache).unwrap().detail, "refuses");
        std::fs::write(cache.path("kvm-0.json"), "damaged").unwrap();
        assert!(kvm_as_learnt(&cache).is_none());
    }
}
