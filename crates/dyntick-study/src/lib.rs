// SPDX-License-Identifier: GPL-2.0-only
//! Study files: one question, the cases that answer it, and the claims that are judged; machine files.
//! The book's chapter "Study files" documents every key.

mod case;
pub mod check;
pub mod claims;
mod effects;
pub mod figure;
mod given;
pub mod keys;
mod limits;
pub mod machine;
mod matrix;
pub mod measuring;
mod parse;
mod parts;
pub(crate) mod reader;
pub mod shipped;

#[cfg(test)]
mod tests;

pub use effects::Effects;
pub use given::{Given, SetError};
pub use limits::is_id;
pub use parse::SettingAt;
pub use parts::{Pick, Place, private_note};
pub use reader::{Problem, Problems};

use claims::Claim;
use dyntick_guest::pieces::Guest;
use dyntick_guest::{Script, Task};
use dyntick_model::text::known_words;
use dyntick_model::{Clock, CommandLine, CpuList, Machine, Recipe};
use dyntick_stats::Factor;
use dyntick_system::InputError;
use dyntick_trace::events::{EVENTS, Guests, TraceEvent, of_interrupts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A study.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Study {
    /// A short name: the file's, without its ending.
    pub name: String,
    /// The title.
    pub title: String,
    /// The question.
    pub question: String,
    /// The background that a reader needs to understand the answer.
    pub description: String,
    /// The published figures.
    pub published: Option<Published>,
    /// The kernels that are built to order, by name.
    pub kernels: BTreeMap<String, Recipe>,
    /// The cases, matrices expanded.
    pub cases: Vec<Case>,
    /// The claims to judge.
    pub claims: Vec<Claim>,
    /// The pairs of cases that are set side by side in detail.
    pub comparisons: Vec<Comparison>,
    /// The matrices whose axes are judged by what they do.
    pub effects: Vec<Effects>,
    /// The values that the command line gives each case, one after the other: an axis of all cases, which the report
    /// sets side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<Factor>,
    /// The names of the kernels of the command line, by what its cases call them.
    #[serde(skip)]
    pub kernel_names: BTreeMap<String, String>,
    /// The figures that the claims of its file judge, in their order; also those of claims about other cases than the
    /// command line leaves.
    #[serde(skip)]
    pub judged: Vec<String>,
    /// The settings in its file with their positions, for errors that are known only once a guest has booted.
    #[serde(skip)]
    pub settings: Vec<SettingAt>,
}

/// Published figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Published {
    /// The publication: authors, venue and year.
    pub source: String,
    /// The figures.
    pub figures: Vec<PublishedFigure>,
}

/// A published figure, shown next to the measured one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PublishedFigure {
    /// The label.
    pub label: String,
    /// The value, as published.
    pub value: String,
    /// The measured case, as [`Case::answers_to`] reads it.
    pub case: String,
    /// The figure of ours.
    pub figure: String,
    /// The unit of both.
    pub unit: String,
    /// The unit of ours where it is another one.
    pub our_unit: Option<String>,
    /// The case whose figure both are divided by, as it was published and as it is here.
    pub ratio_to: Option<String>,
    /// A note to show with it; often empty.
    pub note: String,
}

impl Published {
    /// The figure to divide by: the same figure, published for the case that `ratio_to` names.
    pub fn base_of(&self, figure: &PublishedFigure) -> Option<&PublishedFigure> {
        let base = figure.ratio_to.as_ref()?;
        self.figures.iter().find(|other| other.figure == figure.figure && other.case == *base)
    }
}

/// Two cases that are set side by side: latencies quantile by quantile, profiles function by function.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The title.
    pub title: String,
    /// The case, as [`Case::answers_to`] reads it.
    pub case: String,
    /// The case to compare with.
    pub with: String,
    /// The kinds of spans whose functions are shown.
    pub spans: Vec<String>,
}

/// The size of a study's cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The case as defined: the size for a small machine.
    Scaled,
    /// The case with the settings of its `full-size`.
    Full,
}

/// One configuration, complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// Name and matrix labels, as `nohz-full/debian:6.12`.
    pub id: String,
    /// The name in the file.
    pub name: String,
    /// The title, for people.
    pub title: String,
    /// The matrix labels, joined by `/`; empty without a matrix.
    pub variant: String,
    /// The kernel: a [`dyntick_model::Spec`], or the name of one of the study's own.
    pub kernel: String,
    /// The recipe of the kernel, if it is one of the study's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
    /// The clock.
    pub clock: Clock,
    /// The number of virtual CPUs.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory: u64,
    /// Size of its disk, bytes; it has none where that is none. On the wall clock only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
    /// The parameters that are added to the kernel command line.
    pub append: CommandLine,
    /// Settings by sysctl name.
    pub sysctl: BTreeMap<String, String>,
    /// Other files of the guest's kernel to write, by path.
    pub write: BTreeMap<String, String>,
    /// Files of the guest's kernel that are read before and after the window, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Idleness of the other CPUs that counts as settled, ns.
    pub settle_ns: u64,
    /// Longest wait for it, ns.
    pub settle_limit_ns: u64,
    /// Length of the window, ns.
    pub measure_ns: u64,
    /// True if every executed block is recorded, in the window and while the script runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub profile: bool,
    /// Functions of the kernel whose calls are listed one by one, where it is recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// The CPUs that the study is about.
    pub measured_cpus: CpuList,
    /// The number of runs (wall clock only).
    pub repeat: u32,
    /// The number of further runs, each with an irrelevant change (virtual clock only).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub perturb: u32,
    /// Wall time after which the guest counts as hung, ns.
    pub timeout_ns: u64,
    /// Trace events beyond the usual ones.
    pub events: Vec<String>,
    /// The CPUs whose trace events are recorded; all where it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_cpus: Option<CpuList>,
    /// Trace buffer per CPU, bytes.
    pub trace_buffer: u64,
    /// Real tools that go into the guest.
    pub tools: Vec<String>,
    /// Kernel modules that are loaded.
    pub modules: Vec<String>,
    /// Texts that the guest finds as files in [`dyntick_guest::names::STUDY_FOLDER`], by their paths from there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Figures that are picked out of what its programs print, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, Pick>,
    /// The machine whose idle states the guest has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The CPUs of each package of the machine; all in one where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<CpuList>,
    /// The idle governor; the kernel's own choice where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The tasks that run during the window.
    pub tasks: Vec<Task>,
    /// The fixed piece of work, timed after the window.
    pub script: Option<Script>,
}

impl Case {
    /// The most CPUs that an x86 kernel supports (`arch/x86/Kconfig`: NR_CPUS_RANGE_END).
    pub const MOST_CPUS: u32 = 8192;

    /// Tasks that a case may start; the agent starts and watches each.
    pub const MOST_TASKS: usize = 256;

    /// Files of the study that a case may bring into its guest.
    pub const MOST_FILES: usize = 16;

    /// The largest number of repetitions of a case.
    pub const MOST_REPEATED: u32 = 10_000;

    /// Perturbed runs that a case may have.
    pub const MOST_PERTURBED: u32 = 100;

    /// The events that are recorded: those of all guests, those of idle states if there are some, and the case's own.
    pub fn recorded_events(&self) -> Vec<String> {
        let is_wanted = |event: &&TraceEvent| match event.guests {
            Guests::Always => true,
            Guests::WithStates => self.machine.is_some(),
            Guests::OnRequest => false,
        };
        let mut events: Vec<String> = of_interrupts().collect();
        events.extend(EVENTS.iter().filter(is_wanted).map(|event| event.name.to_owned()));
        let own: Vec<String> = self.events.iter().filter(|event| !events.contains(event)).cloned().collect();
        events.extend(own);
        events
    }

    /// The limits of the guest's output.
    pub fn guest(&self) -> Guest<'_> {
        Guest { cpus: self.cpus, tasks: self.tasks.len(), read: &self.read }
    }

    /// Functions whose calls may be listed.
    pub const MOST_CALLS: usize = 8;

    /// Figures of its own that a case may have.
    pub const MOST_FIGURES: usize = 16;

    /// Packages of a guest; the largest machines have 32 sockets.
    pub const MOST_PACKAGES: usize = 64;

    /// A case of this name on this kernel, all else as where a study says nothing: two CPUs in
    /// virtual time, of which the second is measured for ten seconds.
    pub fn new(name: &str, kernel: &str) -> Self {
        const SECOND: u64 = dyntick_model::NANOS_PER_SEC;
        Case {
            id: name.to_owned(),
            name: name.to_owned(),
            title: name.to_owned(),
            variant: String::new(),
            kernel: kernel.to_owned(),
            recipe: None,
            clock: Clock::Virtual,
            cpus: 2,
            memory: 512 << 20,
            disk: None,
            append: CommandLine::default(),
            sysctl: BTreeMap::new(),
            write: BTreeMap::new(),
            read: Vec::new(),
            settle_ns: 2 * SECOND,
            settle_limit_ns: 10 * SECOND,
            measure_ns: 10 * SECOND,
            profile: false,
            calls: Vec::new(),
            measured_cpus: [1].into_iter().collect(),
            repeat: 1,
            perturb: 0,
            timeout_ns: 300 * SECOND,
            events: Vec::new(),
            trace_cpus: None,
            trace_buffer: 8 << 20,
            tools: Vec::new(),
            modules: Vec::new(),
            files: BTreeMap::new(),
            figures: BTreeMap::new(),
            machine: None,
            packages: Vec::new(),
            governor: None,
            tasks: Vec::new(),
            script: None,
        }
    }

    /// The number of runs: repetitions, and on the virtual clock perturbed ones after the first.
    pub fn runs(&self) -> u32 {
        self.repeat.saturating_add(self.perturb)
    }

    /// Returns true if figures that are counted from the trace can be known for this CPU.
    pub fn traces(&self, cpu: u32) -> bool {
        self.trace_cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu))
    }

    /// The id as a folder name.
    pub fn slug(&self) -> String {
        self.id.replace(|c: char| !c.is_ascii_alphanumeric() && !"._+-".contains(c), "-")
    }

    /// The matrix labels.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.variant.split('/').filter(|label| !label.is_empty())
    }

    /// Returns true if a reference, e.g. of a claim, means this case: `NAME` means all its variants, `NAME/LABEL`
    /// those of that label, `NAME/*` all.
    pub fn answers_to(&self, reference: &str) -> bool {
        let mut parts = reference.split('/');
        parts.next() == Some(&self.name)
            && parts.all(|part| part == "*" || self.labels().any(|label| label == part))
    }

    /// Returns true if `other` has no label that this case lacks. A case without an axis covers each value of that
    /// axis.
    pub fn covers(&self, other: &Case) -> bool {
        other.labels().all(|label| self.labels().any(|own| own == label))
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The reason for which a study cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No such name.
    #[error("no study '{name}' comes with dyntick; {hint}")]
    Unknown {
        /// The requested name.
        name: String,
        /// A similar name.
        hint: String,
    },
    /// The file itself.
    #[error("the study: {0}")]
    Read(#[from] InputError),
    /// The working directory, which a relative path begins at.
    #[error("there is no path to {0}: {1}")]
    Path(PathBuf, std::io::Error),
    /// The contents of the file.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// An option that says again what another says.
    #[error(
        "cannot use {0}: another option has this value or name already; leave one out, or give it another NAME="
    )]
    Repeated(String),
    /// `--full-size` of a study that has one size.
    #[error("--full-size: no case of {} has a full size ([case.full-size])", .0.display())]
    NoFullSize(PathBuf),
    /// `--case` of a case that the study does not have.
    #[error(transparent)]
    NoSuchCase(#[from] NoSuchCase),
}

/// A case that a study does not have.
#[derive(Debug, thiserror::Error)]
#[error(
    "the study has no case '{name}'; it has {}",
    known_words(
        name,
        &known.iter().map(String::as_str).collect::<Vec<_>>(),
        &format!("`dyntick lab plan {study}`")
    )
)]
pub struct NoSuchCase {
    name: String,
    /// The study, as it was named.
    study: String,
    /// The ids of all cases.
    known: Vec<String>,
}

/// The problems in a study or machine file, if this error is about them.
pub fn problems<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Problems> {
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(StudyError::Problems(problems)), _) => Some(problems),
        (_, Some(machine::MachineError::Problems(problems))) => Some(problems),
        _ => error.downcast_ref(),
    }
}

impl Study {
    /// Reads a study file. Kernels that are named by a relative path are sought from its folder.
    pub fn load(path: &Path) -> Result<Self, StudyError> {
        Self::load_sized(path, Size::Scaled)
    }

    /// Reads a study file, its cases in this size.
    pub fn load_sized(path: &Path, size: Size) -> Result<Self, StudyError> {
        Self::load_given(path, size, &Given::default()).map(|(study, _)| study)
    }

    /// Reads a study file with what the command line sets in its cases; the second part is how many of its claims
    /// speak of cases that are there no more.
    fn load_given(path: &Path, size: Size, given: &Given) -> Result<(Self, usize), StudyError> {
        /// Some hundred times the longest that dyntick comes with.
        const LARGEST: u64 = 4 << 20;
        let text = dyntick_system::read_named(path, LARGEST)?;
        let (mut study, left_out) = parse::given(path, &text, size, given)?;
        let folder = std::path::absolute(path).map_err(|error| StudyError::Path(path.to_owned(), error))?;
        let folder = folder.parent().unwrap_or(Path::new("/"));
        for case in study.cases.iter_mut().filter(|case| case.kernel.contains('/')) {
            case.kernel = folder.join(&case.kernel).to_string_lossy().into_owned();
        }
        Ok((study, left_out))
    }

    /// Reads a study's text; `path` names it in messages.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Problems> {
        parse::study(path, text, Size::Scaled)
    }

    /// Reads a study's text with what the command line sets in its cases.
    pub fn parse_given(path: &Path, text: &str, given: &Given) -> Result<Self, Problems> {
        parse::given(path, text, Size::Scaled, given).map(|(study, _)| study)
    }

    /// The cases that a reference means, as [`Case::answers_to`] reads it.
    pub fn select(&self, reference: &str) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| case.answers_to(reference))
    }

    /// Removes all cases but those that were named on the command line; `named` is what the study was called there.
    ///
    /// # Errors
    /// A name or id that no case has.
    pub fn keep_named(&mut self, given: &Given, named: &str) -> Result<(), NoSuchCase> {
        for name in given.named() {
            if !self.cases.iter().any(|case| *name == case.name || *name == case.id) {
                let known = self.cases.iter().map(|case| case.id.clone()).collect();
                return Err(NoSuchCase { name: name.clone(), study: named.to_owned(), known });
            }
        }
        self.cases.retain(|case| given.concerns(case));
        Ok(())
    }

    /// The case of this id.
    pub fn case(&self, id: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.id == id)
    }
}
