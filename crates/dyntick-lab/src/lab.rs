// SPDX-License-Identifier: GPL-2.0-only
//! Running studies: every case that is not yet whole, several at a time.

mod fault;
mod present;
mod small;
pub mod tools;

pub use fault::Fault;
pub use present::Absent;
pub use small::{MemoryError, TooSmall};

use crate::budget::{self, Budget};
use crate::emulator::{self, EmulatorError};
use crate::expected::{Expected, expected};
use crate::image::{self, Contents, Image, ImageError, Module, Share};
use crate::order;
use crate::perturb;
use crate::qemu::probe::{self, KvmProbe};
use crate::qemu::{self, Accelerator, Disk, Host, Machine, Profile, Qemu, QemuError, RunError, provide, run};
use crate::room::{Part, Room};
use crate::running::{RunningFolder, remove_abandoned};
use crate::seal::Sealer;
use crate::store::{self, Asked, CONSOLE, Run, StoreError};
use dyntick_explain::fixes::missing_options;
use dyntick_guest::{Job, SHELL_STATUS, Shell, Stage, console};
use dyntick_kernels::build::{self, Accept, BuildError};
use dyntick_kernels::cache::unused::InUse;
use dyntick_kernels::cache::{Cache, CacheError, free_bytes, write_whole};
use dyntick_kernels::find::{self, Kernel, KernelError};
use dyntick_model::{Clock, CommandLine, KernelConfig, Recipe};
use dyntick_stats::interleaved;
use dyntick_study::{Case, check};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Why a case did not run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The case asks for something that its kernel cannot do.
    #[error("case '{case}' cannot run:\n  {}", problems.join("\n  "))]
    Impossible {
        /// The case.
        case: String,
        /// What, in words.
        problems: Vec<String>,
    },
    /// Only what was run already is asked for.
    #[error("not run yet, or the study was changed since")]
    NotRun,
    /// No kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No QEMU.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// No emulator of idle states.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// No image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The machine or its guest.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The run could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Another run of the same case could not be prepared, for a reason that holds for all.
    #[error("not tried: the case could not be prepared, see its first run")]
    NotTried,
    /// One of the others, with more words than are held.
    #[error("{words}")]
    Shortened {
        /// The first of them.
        words: String,
        /// What is at fault.
        fault: Fault,
    },
}

impl LabError {
    /// As it is held beside thousands of others.
    fn in_few_words(self) -> Self {
        const MOST: usize = 4096;
        let words = self.to_string();
        match words.len() > MOST {
            true => Self::Shortened { words: beginning(&words, MOST), fault: self.fault() },
            false => self,
        }
    }
}

/// What is happening, for a progress display.
#[derive(Clone, Debug)]
pub enum Progress {
    /// These runs are to be made, or found, in this order.
    Runs {
        /// What each is expected to take.
        runs: Vec<Expected>,
        /// How many at a time.
        jobs: usize,
    },
    /// A run of this case is prepared now, or found.
    Begun(String),
    /// Something is fetched or prepared.
    Preparing(String),
    /// A case reached a stage.
    Stage {
        /// The case.
        case: String,
        /// The stage.
        stage: Stage,
        /// The clock of its window.
        clock: Clock,
        /// The length of its window, ns.
        window_ns: u64,
    },
    /// A case ended.
    Ended {
        /// The case.
        case: String,
        /// How: the reason where it failed.
        failure: Option<String>,
        /// Whether it had been run before and was kept.
        kept: bool,
    },
}

/// Takes progress from any thread.
pub type Watch<'a> = &'a (dyn Fn(Progress) + Sync);

/// A laboratory: this machine with its cache.
pub struct Lab<'a> {
    cache: Cache,
    qemu: Qemu,
    /// What keeps virtual time steady.
    steady: PathBuf,
    init: PathBuf,
    watch: Watch<'a>,
    sealer: Sealer,
    /// The memory of this machine, for guests that run, and for runs that are read, at the same time.
    memory: Room,
    /// The part of it that this program may have itself (`dyntick_system::leave_half_of_memory`).
    own_memory: Room,
    /// The space for the disks of such guests.
    disks: Room,
    /// Kernels found so far: asking apt for one takes longer than all else in preparing a case.
    kernels: Mutex<KnownKernels>,
}

/// By what a study calls them; of one that could not be built why: each of its cases would try again.
type KnownKernels = BTreeMap<(String, Option<Recipe>), Result<Kernel, String>>;

/// A case, ready to run.
pub struct Prepared {
    /// What is asked.
    pub asked: Asked,
    kernel: Kernel,
    _in_use: Vec<InUse>,
    initramfs: PathBuf,
    /// Where the initramfs is. It is not kept: making it again takes no longer than reading it, and a study
    /// of many cases with an image each would fill the disk.
    _folder: RunningFolder,
}

/// What became of one run of one case.
pub struct CaseResult {
    /// The case, which all its runs share.
    pub case: Arc<Case>,
    /// Which repetition.
    pub repetition: u32,
    /// The run, or why there is none.
    pub run: Result<Run, LabError>,
    /// The last lines of the guest's console, where it failed.
    pub console_tail: Vec<String>,
}

impl CaseResult {
    /// Whether it is a run with an irrelevant change, which stands beside the case's own.
    pub fn is_perturbed(&self) -> bool {
        perturb::of(self.case.clock, self.repetition).is_some()
    }

    /// The same, with its run held beside others.
    fn within(self, budget: &Budget) -> Self {
        Self { run: self.run.and_then(|run| Ok(run.within(budget)?)), ..self }
    }
}

impl<'a> Lab<'a> {
    /// Opens the laboratory. `init` is this program's own static binary.
    pub fn open(cache: Cache, init: PathBuf, watch: Watch<'a>) -> Result<Self, LabError> {
        let qemu = provide::find(&cache, &|text| watch(Progress::Preparing(text.to_owned())))?;
        let steady = qemu::unpacked(&cache, dyntick_plugin::STEADY)?;
        qemu::confinement(&qemu).note().inspect(|note| watch(Progress::Preparing(note.clone())));
        remove_abandoned(&cache.path(SCRATCH));
        build::remove_left(&cache);
        allow_open_files();
        find::remove_old(&cache);
        let (memory, own_memory) =
            (Room::new(dyntick_system::memory()), Room::new(dyntick_system::own_memory()));
        // The other half is for runs, builds and images.
        let disks = Room::new(free_bytes(cache.root()) / 2);
        let sealer = Sealer::of(&cache)?;
        Ok(Self {
            cache,
            qemu,
            steady,
            init,
            watch,
            sealer,
            memory,
            own_memory,
            disks,
            kernels: Mutex::default(),
        })
    }

    /// The QEMU that it uses.
    pub fn qemu(&self) -> &Qemu {
        &self.qemu
    }

    /// A folder for runs that are not kept. What a killed process leaves there, the next removes.
    pub fn scratch(&self) -> Result<RunningFolder, LabError> {
        Ok(RunningFolder::new(&self.cache.private(SCRATCH)?)?)
    }

    fn say(&self, text: &str) {
        (self.watch)(Progress::Preparing(text.to_owned()));
    }

    /// Finds the kernel, checks the case against it, builds the image. What is changed in a perturbed run
    /// follows from the repetition ([`perturb::of`]).
    pub fn prepare(&self, case: &Case, repetition: u32) -> Result<Prepared, LabError> {
        self.prepare_with(case, repetition, None)
    }

    /// The same with a folder of the user's in the image.
    fn prepare_with(
        &self,
        case: &Case,
        repetition: u32,
        share: Option<&Share>,
    ) -> Result<Prepared, LabError> {
        let accept = |config: &KernelConfig| check::against_kernel(case, config);
        let (kernel, in_use) = match self.kernel_in_use(&case.kernel, case.recipe.as_ref(), &accept) {
            Err(KernelError::Build(BuildError::Unfit(problems))) => {
                return Err(LabError::Impossible { case: case.id.clone(), problems });
            }
            found => found?,
        };
        let problems = check::against_kernel(case, &kernel.config);
        if !problems.is_empty() {
            return Err(LabError::Impossible { case: case.id.clone(), problems });
        }
        let emulator = case.machine.as_ref().map(|_| self.emulator(case, &kernel)).transpose()?;
        let modules = order::modules(case, &kernel);
        let perturbation = perturb::of(case.clock, repetition);
        let padding = perturbation.map_or(0, |perturbation| perturbation.padding);
        let looking = self.own_memory.take(image::LARGEST);
        let tools = image::programs(&case.tools)?;
        drop(looking);
        // What no guest of this case has room for is not read, and no image of it kept.
        qemu::ensure_room(tools.bytes + share.map_or(0, Share::bytes), case.memory)?;
        let _memory = self.own_memory.take(image::memory_to_build(&tools, &modules, share));
        let contents = Contents {
            tools: Some(&tools),
            modules: &modules,
            own: emulator,
            files: Some(&case.files),
            share,
            padding,
        };
        let image = image::build(&self.init, &kernel, contents)?;
        qemu::ensure_room(image.bytes.len() as u64, case.memory)?;
        let folder = self.scratch()?;
        let initramfs = keep_image(&folder, &image)?;
        let accelerator = self.accelerator(case.clock, &kernel)?;
        let asked = Asked {
            repetition,
            accelerator,
            qemu: self.qemu.full_version(),
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
        let mut prepared = Prepared { asked, kernel, _in_use: in_use, initramfs, _folder: folder };
        prepared.asked.command_line = self.machine(&prepared, Path::new("")).command_line();
        Ok(prepared)
    }

    fn known_kernels(&self) -> MutexGuard<'_, KnownKernels> {
        self.kernels.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A kernel that stays in the cache for as long as it is needed.
    fn kernel_in_use(
        &self,
        name: &str,
        recipe: Option<&Recipe>,
        accept: Accept<'_>,
    ) -> Result<(Kernel, Vec<InUse>), KernelError> {
        let kernel = self.kernel(name, recipe, accept)?;
        if let Some(in_use) = hold(&kernel) {
            return Ok((kernel, in_use));
        }
        // Other kernels have needed its space since it was found.
        self.known_kernels().remove(&(name.to_owned(), recipe.cloned()));
        let kernel = self.kernel(name, recipe, accept)?;
        let in_use = hold(&kernel).ok_or(CacheError::Unsteady(kernel.image.clone()))?;
        Ok((kernel, in_use))
    }

    fn kernel(&self, name: &str, recipe: Option<&Recipe>, accept: Accept<'_>) -> Result<Kernel, KernelError> {
        let mut known = self.known_kernels();
        let question = (name.to_owned(), recipe.cloned());
        if let Some(known) = known.get(&question) {
            return known.clone().map_err(KernelError::FailedBefore);
        }
        let say = |text: &str| self.say(text);
        let _memory = self.own_memory.take(find::memory_to_examine(name));
        let kernel = match recipe {
            Some(recipe) => find::made_to_order(name, recipe, &self.cache, &say, accept),
            None => find::resolve(name, &self.cache, &say),
        };
        let result = match &kernel {
            Ok(kernel) => Ok(kernel.clone()),
            Err(KernelError::Build(error @ BuildError::Failed { .. })) => Err(error.to_string()),
            // Something else may be well the next time.
            Err(_) => return kernel,
        };
        // A study may call one kernel by a thousand names.
        const MOST_KERNELS: usize = 64;
        if known.len() >= MOST_KERNELS {
            known.clear();
        }
        known.insert(question, result);
        kernel
    }

    fn emulator(&self, case: &Case, kernel: &Kernel) -> Result<Module, LabError> {
        let say = |text: &str| self.say(text);
        let contents = emulator::module(kernel, case.recipe.as_ref(), &self.cache, &say)?;
        Ok(Module { name: emulator::NAME.to_owned(), contents })
    }

    fn firmware_sha256(&self) -> Result<Option<String>, CacheError> {
        let Some(path) = self.qemu.minimal_firmware() else { return Ok(None) };
        let bytes = std::fs::read(&path).map_err(|error| CacheError::from_io(&path, error))?;
        Ok(Some(hex::encode(Sha256::digest(bytes))))
    }

    fn machine<'m>(&'m self, prepared: &'m Prepared, console: &'m Path) -> Machine<'m> {
        Machine {
            qemu: &self.qemu,
            accelerator: prepared.asked.accelerator,
            steady: (prepared.asked.accelerator == Accelerator::Icount).then_some(self.steady.as_path()),
            cpus: prepared.asked.case.cpus,
            memory: prepared.asked.case.memory,
            kernel: &prepared.kernel.image,
            initramfs: &prepared.initramfs,
            append: &prepared.asked.case.append,
            console,
            profile: None,
            disk: prepared.asked.case.disk.map(|bytes| Disk { bytes, place: self.cache.path(SCRATCH) }),
        }
    }

    fn accelerator(&self, clock: Clock, kernel: &Kernel) -> Result<Accelerator, LabError> {
        Ok(match clock {
            Clock::Virtual => Accelerator::Icount,
            Clock::Wall if self.kvm(kernel)?.works => Accelerator::Kvm,
            Clock::Wall => Accelerator::EmulatedThreads,
        })
    }

    /// Whether KVM works here: asked once for each host kernel, QEMU and guest kernel, by booting, and each day where
    /// it did not. What one kernel, which may be a stranger's, does on it tells nothing of another, and the image
    /// is this program alone: a study's tools have no part in the answer.
    fn kvm(&self, kernel: &Kernel) -> Result<KvmProbe, LabError> {
        let host = rustix::system::uname();
        let (release, version) = (host.release().to_string_lossy(), host.version());
        let limit = probe::LIMIT.as_secs();
        // What was too slow within one limit may not be within another.
        let question = format!("{release} {} {version:?} {} {limit} s", self.qemu.version, kernel.sha256);
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
        match probe::kvm(&self.qemu, &kernel.image, &initramfs, &folder.path().join(CONSOLE)) {
            Ok(probe) => {
                write_whole(&path, &serde_json::to_vec(&probe).unwrap_or_default())?;
                Ok(probe)
            }
            Err(untried) => Ok(untried),
        }
    }

    /// Whether KVM works here, learnt with a stock kernel.
    pub fn probe_kvm(&self) -> Result<KvmProbe, LabError> {
        let kernel = self.kernel("debian:6.12", None, &|_| Vec::new())?;
        self.kvm(&kernel)
    }

    /// Runs a prepared case into `runs`, or takes the whole run that is already there.
    pub fn run(&self, prepared: &Prepared, runs: &Path) -> Result<Run, (LabError, Vec<String>)> {
        let case = &prepared.asked.case;
        let ended = |failure: Option<String>, kept| {
            (self.watch)(Progress::Ended { case: case.id.clone(), failure, kept });
        };
        if let Some(mut run) = self.find(prepared, runs) {
            ended(None, true);
            // The kernel is the same; how well it is known to be the one that is meant may not be.
            run.asked.kernel_fallback = prepared.asked.kernel_fallback.clone();
            return Ok(run);
        }
        let result = self.run_anew(prepared, runs);
        ended(result.as_ref().err().map(|(error, _)| error.reason()), false);
        result
    }

    fn find(&self, prepared: &Prepared, runs: &Path) -> Option<Run> {
        let _memory = self.memory_to_read(&runs.join(prepared.asked.folder_name()));
        store::find(runs, &prepared.asked, &self.sealer)
    }

    /// Always in this order, so that nobody who has one waits for one who waits for the other.
    fn memory_to_read(&self, folder: &Path) -> [Part<'_>; 2] {
        let bytes = budget::to_read(folder);
        [self.own_memory.take(bytes), self.memory.take(bytes)]
    }

    fn run_anew(&self, prepared: &Prepared, runs: &Path) -> Result<Run, (LabError, Vec<String>)> {
        let case = &prepared.asked.case;
        let folder = RunningFolder::new(runs).map_err(|error| (error.into(), Vec::new()))?;
        let console = folder.path().join(CONSOLE);
        let profile = case.profile.then(|| Profile::new(&self.cache, folder.path())).transpose();
        let profile = profile.map_err(|error| (error.into(), Vec::new()))?;
        let machine = Machine { profile: profile.as_ref(), ..self.machine(prepared, &console) };
        let job =
            order::job(case, prepared.asked.perturbation).map_err(|error| (error.into(), Vec::new()))?;
        let job = serde_json::to_vec(&job).unwrap_or_default();
        let watch = |stage: Stage| {
            let (clock, window_ns) = (case.clock, case.measure_ns);
            (self.watch)(Progress::Stage { case: case.id.clone(), stage, clock, window_ns });
        };
        // Always in this order: who waits for memory has its space already, and nobody waits for that one in turn.
        let space = case.disk.map(|bytes| self.disks.take(bytes));
        let guest = self.memory.take(case.memory);
        let result = run(&machine, &job, Duration::from_nanos(case.timeout_ns), &watch);
        drop((guest, space));
        let ended = result.map_err(|error| (error.into(), console::tail(&console)))?;
        store::receive(folder.path(), &ended, case).map_err(|error| (error.into(), Vec::new()))?;
        let _memory = self.memory_to_read(folder.path());
        let kept = store::keep(runs, folder, &prepared.asked, &ended, &self.sealer);
        kept.map_err(|error| (error.into(), Vec::new()))
    }

    /// Runs cases, `jobs` at a time, in the order of [`schedule`]. A run for which there is no memory beside
    /// the others is kept, but its result is an error.
    pub fn run_all(&self, cases: &[Case], runs: &Path, jobs: usize) -> Vec<CaseResult> {
        remove_abandoned(runs);
        let studied = cases;
        let cases: Vec<Arc<Case>> = cases.iter().cloned().map(Arc::new).collect();
        let tasks = schedule(&cases);
        let all = expected(tasks.iter().map(|(case, _)| &***case), studied, runs);
        (self.watch)(Progress::Runs { runs: all, jobs });
        let next = AtomicUsize::new(0);
        let hopeless: Vec<AtomicBool> = cases.iter().map(|_| AtomicBool::new(false)).collect();
        let results = Mutex::new((BTreeMap::new(), Budget::of_many()));
        let work = || {
            while let Some((case, repetition)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let position = position(&cases, case);
                let result = self.run_case(case, *repetition, runs, &hopeless[position]);
                let mut held = results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let (results, budget) = &mut *held;
                let number = results.len();
                let place = (position, *repetition, number);
                results.insert(place, result.within(budget));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..jobs.min(tasks.len()) {
                // Where none can be started, those that there are do its work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        let (results, _) = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        results.into_values().collect()
    }

    /// `hopeless` says whether an earlier run of the case could not be prepared.
    fn run_case(&self, case: &Arc<Case>, repetition: u32, runs: &Path, hopeless: &AtomicBool) -> CaseResult {
        (self.watch)(Progress::Begun(case.id.clone()));
        let run = match hopeless.load(Ordering::Relaxed) {
            true => Err(LabError::NotTried),
            false => self.prepare(case, repetition),
        };
        let run = match run {
            Ok(prepared) => self.run(&prepared, runs),
            Err(error) => {
                hopeless.store(true, Ordering::Relaxed);
                let failure = Some(error.reason());
                (self.watch)(Progress::Ended { case: case.id.clone(), failure, kept: false });
                Err((error, Vec::new()))
            }
        };
        let (run, console_tail) = match run {
            Ok(run) => (Ok(run), Vec::new()),
            Err((error, tail)) => (Err(error.in_few_words()), tail),
        };
        CaseResult { case: case.clone(), repetition, run, console_tail }
    }

    /// Starts a guest that executes a command, with its console on this terminal, or only shown there; `share` is
    /// copied into it. Returns the exit status of the command, or nothing where the guest was ended otherwise.
    pub fn shell(
        &self,
        case: &Case,
        shell: Shell,
        interactive: bool,
        share: Option<&Share>,
    ) -> Result<Option<u8>, LabError> {
        let prepared = self.prepare_with(case, 0, share)?;
        let how = match prepared.asked.accelerator {
            Accelerator::Kvm => "on KVM",
            Accelerator::Icount | Accelerator::EmulatedThreads => "emulated, which takes some ten seconds",
        };
        self.say(&format!("booting Linux {}, {how}", prepared.asked.release));
        let folder = self.scratch()?;
        let console = folder.path().join(CONSOLE);
        let machine = self.machine(&prepared, &console);
        let job = Job { shell: Some(shell), ..order::job(case, None)? };
        let job = serde_json::to_vec(&job).unwrap_or_default();
        let archive = match interactive {
            true => qemu::interactive(&machine, &job)?,
            false => Some(qemu::command(&machine, &job)?),
        };
        let status = archive.as_ref().and_then(|archive| archive.get(SHELL_STATUS));
        Ok(status.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()))
    }
}

/// Each case that is prepared has its tools open; the soft limit of most shells is 1024 files (getrlimit(2)).
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Keeps a kernel and its modules in the cache; nothing where one of them was removed meanwhile.
fn hold(kernel: &Kernel) -> Option<Vec<InUse>> {
    let built = kernel.built.iter().map(|built| InUse::of(&built.folder));
    std::iter::once(InUse::hold(&kernel.image)).chain(built).collect()
}

fn keep_image(folder: &RunningFolder, image: &Image) -> Result<PathBuf, CacheError> {
    let path = folder.path().join(INITRAMFS);
    let write = || {
        std::fs::write(&path, &image.bytes)?;
        // QEMU reads it as nobody.
        std::fs::set_permissions(&path, Permissions::from_mode(0o644))
    };
    write().map_err(|error| CacheError::from_io(&path, error))?;
    Ok(path)
}

/// What an earlier probe found. That a guest failed may have been for lack of memory or time.
fn remembered(path: &Path) -> Option<KvmProbe> {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let probe: KvmProbe = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let age = path.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
    (probe.works || age < DAY).then_some(probe)
}

/// What was learnt last about KVM in this cache, where it still holds: nothing is booted for it.
pub fn kvm_as_learnt(cache: &Cache) -> Option<KvmProbe> {
    let written = |path: &PathBuf| path.metadata().and_then(|file| file.modified()).ok();
    let is_probe = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("kvm-") && name.ends_with(".json")
    };
    let entries = std::fs::read_dir(cache.root()).ok()?;
    let mut probes: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_probe).collect();
    probes.sort_by_key(written);
    probes.iter().rev().find_map(|path| remembered(path))
}

/// In which order cases and their repetitions run: as given where none is repeated, and then their perturbed
/// runs. Else every case runs once before one runs again, in an order that is random and always the same:
/// whatever changes slowly, as the host's heat, meets all cases alike.
fn schedule(cases: &[Arc<Case>]) -> Vec<(&Arc<Case>, u32)> {
    const SEED: u64 = 1;
    let most = cases.iter().map(|case| case.runs()).max().unwrap_or(0);
    if cases.iter().all(|case| case.repeat <= 1) {
        let of_round =
            |round| cases.iter().filter(move |case| round < case.runs()).map(move |case| (case, round));
        return (0..most).flat_map(of_round).collect();
    }
    let slots = interleaved(cases.len(), most as usize, SEED);
    let runs = slots.iter().map(|slot| (&cases[slot.case], slot.repetition as u32));
    runs.filter(|(case, repetition)| *repetition < case.runs()).collect()
}

fn position(cases: &[Arc<Case>], case: &Arc<Case>) -> usize {
    cases.iter().position(|other| Arc::ptr_eq(other, case)).unwrap_or_default()
}

/// The beginning of a long text.
fn beginning(text: &str, characters: usize) -> String {
    let shown: String = text.chars().take(characters).collect();
    format!("{shown}\n… ({} bytes in all)", text.len())
}

/// Where runs that are not kept and guest images are, in the cache.
const SCRATCH: &str = "scratch";
/// A guest image, in a folder of its own.
const INITRAMFS: &str = "initramfs.cpio";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_held_in_few_words() {
        let guest = |words: String| LabError::from(RunError::from(qemu::Failure::Agent(words)));
        let short = guest("no".into()).in_few_words();
        assert!(matches!(short, LabError::Run(_)));
        let long = guest("é".repeat(10_000)).in_few_words();
        let told = long.to_string();
        assert!(long.fault() == Fault::Guest && told.len() < 9000, "{} bytes", told.len());
        assert!(told.ends_with("bytes in all)"), "{told}");
    }

    #[test]
    fn what_was_learnt_last_about_kvm_is_known() {
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

    #[test]
    fn repetitions_take_turns() {
        let case = |name: &str, repeat| Arc::new(Case { repeat, ..Case::new(name, "debian:6.12") });
        let names = |cases: &[Arc<Case>]| -> Vec<(String, u32)> {
            schedule(cases).into_iter().map(|(case, repetition)| (case.id.clone(), repetition)).collect()
        };
        let once = [case("a", 1), case("b", 1), case("c", 1)];
        assert_eq!(names(&once), [("a".into(), 0), ("b".into(), 0), ("c".into(), 0)], "as given");
        let perturbed = [case("a", 1), Arc::new(Case { perturb: 2, ..Case::new("b", "debian:6.12") })];
        let wanted = [("a", 0), ("b", 0), ("b", 1), ("b", 2)].map(|(name, run)| (name.to_owned(), run));
        assert_eq!(names(&perturbed), wanted);
        let often = [case("a", 20), case("b", 20), case("c", 2)];
        let order = names(&often);
        assert_eq!(order.len(), 42);
        assert_eq!(order, names(&often), "always the same");
        let of =
            |name: &str| order.iter().filter(|(of, _)| of == name).map(|(_, r)| *r).collect::<Vec<u32>>();
        assert_eq!(of("a"), (0..20).collect::<Vec<u32>>());
        assert_eq!(of("c"), [0, 1]);
        let first: Vec<&str> = order[6..].chunks(2).map(|pair| pair[0].0.as_str()).collect();
        assert!(first.contains(&"a") && first.contains(&"b"), "neither goes first each time");
    }
}
