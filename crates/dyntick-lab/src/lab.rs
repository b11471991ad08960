// SPDX-License-Identifier: GPL-2.0-only
//! The laboratory: each case of a study that has no complete run is prepared, executed and ingested.

mod memory;
mod prepare;
mod refusal;
mod shell;

pub use crate::error::{Fault, LabError};
pub use prepare::Prepared;
pub use prepare::kvm_as_learnt;
pub use refusal::Place;
pub use refusal::{Refusal, needed_tools};
pub(crate) use refusal::{ensure_few, ensure_recipes, ensure_tools, first_of};

use crate::execute::{Executor, OnQemu};
use crate::expected::{Expected, Task, expected, schedule};
use crate::qemu::{self, Qemu, provide};
use crate::running::{RunningFolder, remove_abandoned};
use crate::seal::Sealer;
use crate::shared::Shared;
use crate::store::{self, Held, Run};
use crate::{ingest, plan};
use dyntick_guest::Stage;
use dyntick_kernels::cache::Cache;
use dyntick_kernels::{build, find};
use dyntick_model::Clock;
use dyntick_study::Case;
use memory::{Memory, allow_open_files};
use prepare::KnownKernels;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A step of the work, for a progress display.
#[derive(Clone, Debug)]
pub enum Progress {
    /// These runs are to be made, or found, in this order.
    Runs {
        /// The time that each is expected to take.
        runs: Vec<Expected>,
        /// The number of guests at a time.
        jobs: usize,
    },
    /// A run of this case is prepared now, or found.
    Begun(String),
    /// A note about the study or this machine.
    Note(String),
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
        /// The time after which its guest counts as hung, ns.
        limit_ns: u64,
    },
    /// A case ended.
    Ended {
        /// The case.
        case: String,
        /// The reason if it failed.
        failure: Option<String>,
        /// True if a stored run was found.
        kept: bool,
    },
}

/// A callback for progress, from any thread.
pub type Watch<'a> = &'a (dyn Fn(Progress) + Sync);

/// A laboratory: this machine with its cache.
pub struct Lab<'a> {
    cache: Cache,
    executor: OnQemu,
    init: PathBuf,
    watch: Watch<'a>,
    sealer: Sealer,
    shared: Option<Shared>,
    memory: Memory,
    /// The kernels found so far: a query to apt takes longer than all else in preparing a case.
    kernels: Mutex<KnownKernels>,
}

/// The result of one run of one case.
pub struct CaseResult {
    /// The case, which all its runs share.
    pub case: Arc<Case>,
    /// The repetition, from 0.
    pub repetition: u32,
    /// The run, or the reason for which there is none.
    pub run: Result<Run, LabError>,
}

impl CaseResult {
    /// Returns true if this is a perturbed run.
    pub fn is_perturbed(&self) -> bool {
        plan::perturbation_of(self.case.clock, self.repetition).is_some()
    }

    /// The last lines of the guest's console, if a guest failed.
    pub fn console_tail(&self) -> &[String] {
        self.run.as_ref().err().map_or(&[], LabError::console_tail)
    }

    /// The same result, with its run held next to others.
    fn held(self, held: &mut Held) -> Self {
        Self { run: self.run.and_then(|run| Ok(held.hold(run)?)), ..self }
    }
}

/// The results so far, with the memory that is left for others.
struct Results {
    all: Vec<(Task, CaseResult)>,
    held: Held,
}

impl<'a> Lab<'a> {
    /// Opens the laboratory. `init` is this program's own static binary.
    ///
    /// # Errors
    /// A cache that cannot be used, or no QEMU.
    pub fn open(cache: Cache, init: PathBuf, watch: Watch<'a>) -> Result<Self, LabError> {
        let qemu = provide::find(&cache, &|text| watch(Progress::Preparing(text.to_owned())))?;
        let executor = OnQemu::new(qemu, &cache, cache.path(SCRATCH))?;
        if let Some(note) = qemu::confinement(executor.qemu()).note() {
            watch(Progress::Preparing(note.clone()));
        }
        remove_abandoned(&cache.path(SCRATCH));
        build::remove_left(&cache, &|text| watch(Progress::Preparing(text.to_owned())));
        allow_open_files();
        find::remove_old(&cache);
        let memory = Memory::of_this_machine(&cache);
        let sealer = Sealer::of(&cache)?;
        Ok(Self { cache, executor, init, watch, sealer, shared: None, memory, kernels: Mutex::default() })
    }

    /// The laboratory that takes runs from a store and gives it those that it makes.
    pub fn sharing(self, shared: Option<Shared>) -> Self {
        Self { shared, ..self }
    }

    /// The QEMU that executes the guests.
    pub fn qemu(&self) -> &Qemu {
        self.executor.qemu()
    }

    /// A folder for runs that are not kept. The next process removes what a killed one leaves there.
    ///
    /// # Errors
    /// A cache that cannot be written.
    pub fn scratch(&self) -> Result<RunningFolder, LabError> {
        Ok(RunningFolder::new(&self.cache.private(SCRATCH)?)?)
    }

    fn say(&self, text: &str) {
        (self.watch)(Progress::Preparing(text.to_owned()));
    }

    fn say_ended(&self, case: &Case, failure: Option<&LabError>, kept: bool) {
        let failure = failure.map(LabError::reason);
        (self.watch)(Progress::Ended { case: case.id.clone(), failure, kept });
    }

    /// Runs a prepared case into `runs`, or takes the complete run that is already there.
    ///
    /// # Errors
    /// A guest that failed, or a run that cannot be stored.
    pub fn run(&self, prepared: &Prepared, runs: &Path) -> Result<Run, LabError> {
        let case = &prepared.plan.case;
        if let Some(mut run) = self.find(prepared, runs).or_else(|| self.take(prepared, runs)) {
            self.say_ended(case, None, true);
            self.give(&run);
            // The kernel is the same, but the index that named it may be another one.
            run.plan.kernel_fallback = prepared.plan.kernel_fallback.clone();
            run.plan.kernel_parts = prepared.plan.kernel_parts.clone();
            return Ok(run);
        }
        let result = self.run_anew(prepared, runs);
        self.say_ended(case, result.as_ref().err(), false);
        result.inspect(|run| self.give(run))
    }

    fn find(&self, prepared: &Prepared, runs: &Path) -> Option<Run> {
        let _memory = self.memory.to_read(&runs.join(prepared.plan.folder_name()));
        store::find(runs, &prepared.plan, &self.sealer)
    }

    /// The run of the store, if there is one that holds.
    fn take(&self, prepared: &Prepared, runs: &Path) -> Option<Run> {
        let shared = self.shared.as_ref()?;
        let _memory = self.memory.to_read(&runs.join(prepared.plan.folder_name()));
        shared.take(&prepared.plan, runs, &self.sealer).unwrap_or_else(|reason| {
            let id = &prepared.plan.case.id;
            (self.watch)(Progress::Note(format!(
                "a run of {id} in the store is refused, and made here: {reason}"
            )));
            None
        })
    }

    /// Stores a run for others. The study goes on without.
    fn give(&self, run: &Run) {
        let Some(Err(reason)) = self.shared.as_ref().map(|shared| shared.give(run)) else { return };
        let id = &run.plan.case.id;
        (self.watch)(Progress::Note(format!(
            "cannot give the run of {id} to the store: {reason}; it is kept here"
        )));
    }

    fn run_anew(&self, prepared: &Prepared, runs: &Path) -> Result<Run, LabError> {
        let plan = &prepared.plan;
        let folder = RunningFolder::new(runs)?;
        let watch = |stage| self.say_stage(&plan.case, stage);
        let guest = self.memory.for_guest(&plan.case);
        let raw = self.executor.run(plan, &prepared.inputs(folder.path(), &watch))?;
        drop(guest);
        ingest::receive(folder.path(), &raw, &plan.case)?;
        let _memory = self.memory.to_read(folder.path());
        Ok(ingest::keep(runs, folder, plan, &raw, &self.sealer)?)
    }

    fn say_stage(&self, case: &Case, stage: Stage) {
        (self.watch)(Progress::Stage {
            case: case.id.clone(),
            stage,
            clock: case.clock,
            window_ns: case.measure_ns,
            limit_ns: case.timeout_ns,
        });
    }

    /// Runs cases, `jobs` at a time, each case once before one runs again. A run for which there is no memory next to
    /// the others is stored, but its result is an error.
    pub(crate) fn run_all(&self, cases: &[Case], runs: &Path, jobs: usize) -> Vec<CaseResult> {
        remove_abandoned(runs);
        let shared: Vec<Arc<Case>> = cases.iter().cloned().map(Arc::new).collect();
        let tasks = schedule(&shared);
        let all = expected(tasks.iter().map(|task| &cases[task.case]), cases, runs);
        (self.watch)(Progress::Runs { runs: all, jobs });
        let next = AtomicUsize::new(0);
        let hopeless: Vec<AtomicBool> = cases.iter().map(|_| AtomicBool::new(false)).collect();
        let results = Mutex::new(Results { all: Vec::new(), held: Held::on_this_machine() });
        let work = || {
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = self.run_case(&shared[task.case], task.repetition, runs, &hopeless[task.case]);
                let mut results = results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let result = result.held(&mut results.held);
                results.all.push((*task, result));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..jobs.min(tasks.len()) {
                // If no thread can be started, the others do its work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).all;
        results.sort_by_key(|(task, _)| *task);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Runs one repetition of a case. `hopeless` is true once a run of the case could not be prepared.
    fn run_case(&self, case: &Arc<Case>, repetition: u32, runs: &Path, hopeless: &AtomicBool) -> CaseResult {
        (self.watch)(Progress::Begun(case.id.clone()));
        let prepared = if hopeless.load(Ordering::Relaxed) {
            Err(LabError::NotTried)
        } else {
            self.prepare(case, repetition)
        };
        let run = match prepared {
            Ok(prepared) => self.run(&prepared, runs),
            Err(error) => {
                hopeless.store(true, Ordering::Relaxed);
                self.say_ended(case, Some(&error), false);
                Err(error)
            }
        };
        CaseResult { case: case.clone(), repetition, run: run.map_err(LabError::shortened) }
    }
}

/// The folder of the cache for guest images, and for runs that are not kept.
const SCRATCH: &str = "scratch";
