// SPDX-License-Identifier: GPL-2.0-only
//! The reasons for which no case of a study is run: too many runs, missing tools and kernels, too little memory, or a
//! folder that runs and report cannot be written to.

use super::Lab;
use crate::error::LabError;
use crate::image::{self, ImageError, find_tool, packages};
use crate::qemu;
use dyntick_kernels::build::{self, BuildError};
use dyntick_kernels::cache::CacheError;
use dyntick_kernels::find::{KernelError, instead};
use dyntick_model::Recipe;
use dyntick_model::text::clean_line;
use dyntick_study::{Case, check};
use dyntick_system::confine::ensure_outside_system;
use dyntick_system::{chmod, is_callers, is_sticky, is_trusted, make_folders, others_may_write};
use rustix::fs::Access;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The reason for which no case of a study is run.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// More runs than can be held until the report is made.
    #[error(
        "these are {0} runs, and at most {MOST_RUNS} are possible at once: name fewer cases (--case), or repeat them \
         less (--repeat)"
    )]
    TooMany(u64),
    /// Tools that are not on this machine.
    #[error(transparent)]
    Tools(#[from] Lacking),
    /// A folder that runs cannot be written to.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A cache that cannot be used.
    #[error("{0}")]
    Cache(#[from] CacheError),
    /// A laboratory that cannot be opened.
    #[error("{0}")]
    Lab(#[from] LabError),
    /// Kernels that cannot be had.
    #[error(transparent)]
    Kernels(#[from] Absent),
    /// Cases with too little memory.
    #[error(transparent)]
    Memory(#[from] TooSmall),
    /// A program of the guest image cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
}

/// Makes the file system of a guest's disk, on this machine.
const OF_DISKS: &str = "mke2fs";

/// The largest number of runs of a study at once.
const MOST_RUNS: u64 = 10_000;

/// Refuses more runs than can be held until the report is made.
pub(crate) fn ensure_few(cases: &[Case]) -> Result<(), Refusal> {
    let runs: u64 = cases.iter().map(|case| u64::from(case.runs())).sum();
    if runs > MOST_RUNS { Err(Refusal::TooMany(runs)) } else { Ok(()) }
}

/// The tools that these cases need, by name, with the ids of the cases.
pub fn needed_tools(cases: &[Case]) -> BTreeMap<&str, Vec<&str>> {
    let mut needed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in cases {
        let of_disk = case.disk.map(|_| OF_DISKS);
        let tools: BTreeSet<&str> = case.tools.iter().map(String::as_str).chain(of_disk).collect();
        for tool in tools {
            needed.entry(tool).or_default().push(&case.id);
        }
    }
    needed
}

/// Refuses cases whose tools are not on this machine.
///
/// # Errors
/// All tools that are not here, with the cases that need them.
pub(crate) fn ensure_tools(cases: &[Case]) -> Result<(), Lacking> {
    lacking(cases, |tool| find_tool(tool).is_ok())
}

fn lacking(cases: &[Case], is_here: impl Fn(&str) -> bool) -> Result<(), Lacking> {
    let without = needed_tools(cases).into_iter().filter(|(tool, _)| !is_here(tool));
    let tools: BTreeMap<String, Vec<String>> =
        without.map(|(tool, ids)| (tool.to_owned(), ids.into_iter().map(str::to_owned).collect())).collect();
    if tools.is_empty() {
        return Ok(());
    }
    let stopped: BTreeSet<&String> = tools.values().flatten().collect();
    let others = cases.iter().filter(|case| !stopped.contains(&case.id)).count();
    Err(Lacking { tools, others })
}

/// Refuses kernels to order that are impossible by the texts of their recipes, or that could not run their cases.
///
/// # Errors
/// All such kernels, each with its first case that cannot be.
pub(crate) fn ensure_recipes(cases: &[Case]) -> Result<(), Absent> {
    let mut kernels: BTreeMap<(&str, String), Missing> = BTreeMap::new();
    for case in cases {
        let Some(recipe) = &case.recipe else { continue };
        if let Err(error) = build::foresee(recipe, &|config| check::against_kernel(case, config)) {
            let missing = kernels.entry((&case.kernel, error.to_string()));
            let missing = missing.or_insert_with(|| Missing::to_order(&case.kernel, error));
            missing.cases.push(case.id.clone());
        }
    }
    absent(kernels.into_values().collect(), cases)
}

fn absent(kernels: Vec<Missing>, cases: &[Case]) -> Result<(), Absent> {
    let without: usize = kernels.iter().map(|kernel| kernel.cases.len()).sum();
    if kernels.is_empty() { Ok(()) } else { Err(Absent { kernels, others: cases.len() - without }) }
}

impl Lab<'_> {
    /// Refuses patches that do not apply, before the first of several kernels is compiled.
    ///
    /// # Errors
    /// The first kernel whose patches do not apply.
    pub(crate) fn ensure_patches(&self, cases: &[Case]) -> Result<(), Absent> {
        let mut recipes: BTreeMap<&Recipe, Vec<&Case>> = BTreeMap::new();
        for case in cases {
            if let Some(recipe) = &case.recipe {
                recipes.entry(recipe).or_default().push(case);
            }
        }
        let (recipes, cases_of): (Vec<&Recipe>, Vec<Vec<&Case>>) = recipes.into_iter().unzip();
        let Err((at, error)) = build::ensure_all(&recipes, &self.cache, &|text| self.say(text)) else {
            return Ok(());
        };
        let mut missing = Missing::to_order(&cases_of[at][0].kernel, error);
        missing.cases = cases_of[at].iter().map(|case| case.id.clone()).collect();
        absent(vec![missing], cases)
    }

    /// Finds, and where needed fetches, the kernel of each case that is not to be built.
    ///
    /// # Errors
    /// All kernels that do not exist or cannot be fetched, with what could be meant.
    pub(crate) fn ensure_kernels(&self, cases: &[Case]) -> Result<(), Absent> {
        let mut named: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for case in cases.iter().filter(|case| case.recipe.is_none()) {
            named.entry(&case.kernel).or_default().push(case.id.clone());
        }
        let missing = |(name, cases): (&str, Vec<String>)| {
            let error = self.kernel(name, None, &|_| Vec::new()).err()?;
            let instead = instead(name, &error, &self.cache);
            Some(Missing { name: name.to_owned(), cases, error, instead })
        };
        absent(named.into_iter().filter_map(missing).collect(), cases)
    }

    /// Refuses cases whose memory is below what this program and their tools take. Kernel modules come on top; their
    /// size is known once the image is built.
    ///
    /// # Errors
    /// All cases with too little memory, or a tool that cannot be read.
    pub(crate) fn ensure_memory(&self, cases: &[Case]) -> Result<(), Refusal> {
        let own = image::program_bytes(&self.init)?;
        let mut bytes_of_tools: BTreeMap<&[String], u64> = BTreeMap::new();
        let mut small: BTreeMap<(u64, u64), Small> = BTreeMap::new();
        for case in cases {
            let tools = match bytes_of_tools.get(&case.tools[..]) {
                Some(bytes) => *bytes,
                None => image::programs(&case.tools)?.bytes,
            };
            bytes_of_tools.insert(&case.tools, tools);
            if let Err(error) = qemu::ensure_room(own + tools, case.memory) {
                let alike = small.entry((tools, case.memory));
                alike.or_insert(Small { ids: Vec::new(), error }).ids.push(case.id.clone());
            }
        }
        if small.is_empty() {
            return Ok(());
        }
        let cases_with_less: usize = small.values().map(|small| small.ids.len()).sum();
        let others = cases.len() - cases_with_less;
        Err(TooSmall { cases: small.into_values().collect(), others }.into())
    }
}

/// Tools that cases need and that are not here.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words())]
pub struct Lacking {
    /// The tools by name, each with the cases that need it.
    tools: BTreeMap<String, Vec<String>>,
    /// The number of cases that need none of them.
    others: usize,
}

impl Lacking {
    fn words(&self) -> String {
        let line = |(name, cases): (&String, &Vec<String>)| {
            let (name, advice) = (clean_line(name), packages::advice(name));
            format!("the tool '{name}' of {} is not on this machine: {advice}", first_of(cases))
        };
        let lines: Vec<String> = self.tools.iter().map(line).collect();
        let all = self.all_at_once().map_or(String::new(), |command| format!("\nall of them: {command}"));
        let rest =
            nothing_was_run(self.others, "needs no tool that is missing", "need no tool that is missing");
        format!("{}{all}\n{rest}", lines.join("\n"))
    }

    /// One command for all, where it is another than that of one.
    fn all_at_once(&self) -> Option<String> {
        let packages: BTreeSet<&str> =
            self.tools.keys().filter_map(|name| packages::package_of(name)).collect();
        let packages: Vec<&str> = packages.into_iter().collect();
        (packages.len() > 1).then(|| format!("apt-get install {}", packages.join(" ")))
    }
}

/// Kernels that cases name and that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words())]
pub struct Absent {
    kernels: Vec<Missing>,
    /// The number of cases that have another kernel.
    others: usize,
}

/// One of them.
#[derive(Debug)]
struct Missing {
    name: String,
    cases: Vec<String>,
    error: KernelError,
    /// Similar names.
    instead: Vec<String>,
}

/// The command for all kernels, as errors name it.
const LISTS_ALL: &str = "`dyntick lab kernels` lists all";

impl Absent {
    fn words(&self) -> String {
        let lines: Vec<String> = self.kernels.iter().map(Missing::words).collect();
        let rest = nothing_was_run(self.others, "has another kernel", "have other kernels");
        format!("{}\n{rest}", lines.join("\n"))
    }
}

impl Missing {
    /// A kernel to order; its cases are still to be added.
    fn to_order(name: &str, error: BuildError) -> Self {
        Self { name: name.to_owned(), cases: Vec::new(), error: error.into(), instead: Vec::new() }
    }

    fn words(&self) -> String {
        let error = self.error.to_string();
        let all = if error.contains(LISTS_ALL) { String::new() } else { format!(" ({LISTS_ALL})") };
        let there = match &self.instead[..] {
            [] => String::new(),
            there => format!("; the nearest here are {}{all}", there.join(", ")),
        };
        let error = error.strip_prefix("the kernel: ").unwrap_or(&error);
        let name = clean_line(self.name.rsplit([':', '/']).next().unwrap_or_default());
        // Most errors say the name themselves.
        let name =
            if error.contains(&name) { String::new() } else { format!(" '{}'", clean_line(&self.name)) };
        format!("the kernel{name} of {}: {error}{there}", first_of(&self.cases))
    }
}

/// Cases whose memory is too small.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.words())]
pub struct TooSmall {
    cases: Vec<Small>,
    /// The number of cases that have enough.
    others: usize,
}

/// Cases that have as much memory, and need as much.
#[derive(Debug)]
struct Small {
    ids: Vec<String>,
    error: qemu::RunError,
}

impl TooSmall {
    fn words(&self) -> String {
        let lines: Vec<String> =
            self.cases.iter().map(|small| format!("{}: {}", first_of(&small.ids), small.error)).collect();
        let rest = nothing_was_run(self.others, "has enough memory", "have enough memory");
        format!("{}\n{rest}", lines.join("\n"))
    }
}

/// The first of some cases, and the number of others: `a, b, c and 2 more`.
pub(crate) fn first_of(cases: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = cases.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match cases.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The last line of a refusal before any case is run. It names the number of other cases, which could be run; `has` and
/// `have` say why, of one and of several.
fn nothing_was_run(others: usize, has: &str, have: &str) -> String {
    let rest = match others {
        0 => String::new(),
        1 => format!(" (1 case {has}: name it with --case)"),
        n => format!(" ({n} cases {have}: name them with --case)"),
    };
    format!("nothing was run, and no report was written{rest}")
}

/// The folder of all results that are given no name.
const DEFAULT: &str = "out";

/// The reason for which runs are not written to a folder.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Its place or its owner, with the remedy.
    #[error("{0}")]
    Unfit(String),
    /// A file operation.
    #[error("{what}")]
    Io {
        /// The operation, with the remedy.
        what: String,
        /// The error.
        source: io::Error,
    },
}

/// The folders of the runs and the report.
pub struct Place {
    folder: PathBuf,
    is_typed: bool,
}

impl Place {
    /// The folder that was typed, or that of this study.
    pub fn of(typed: Option<&Path>, study: &str) -> Self {
        let folder = typed.map_or_else(|| Path::new(DEFAULT).join(study), Path::to_owned);
        Self { folder, is_typed: typed.is_some() }
    }

    /// The folder of the report.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the runs.
    pub fn runs(&self) -> PathBuf {
        self.folder.join("runs")
    }

    /// Refuses a folder that could not be written, before anything is fetched, built or booted for it; and one into
    /// which another user has put something that leads elsewhere.
    pub(crate) fn ensure_usable(&self) -> Result<(), PlaceError> {
        ensure_outside_system(&self.folder).map_err(|error| unfit(format!("{error}: {OTHERWISE}")))?;
        self.ensure_unmoved()?;
        for folder in [&self.folder, &self.runs()] {
            ensure_writable(folder)?;
        }
        Ok(())
    }

    /// Makes the folder of the runs. Other users may not enter it: what a study names, and what its kernels print, is
    /// in its runs.
    pub(crate) fn make_runs(&self) -> Result<PathBuf, PlaceError> {
        let runs = self.runs();
        // Before, so that no folder is made through a link, and after, when other users can put none there.
        self.ensure_unmoved()?;
        make_folders(&runs).map_err(io_failed(format!("cannot make {}: {OTHERWISE}", runs.display())))?;
        self.ensure_unmoved()?;
        shut(&runs)
            .map_err(io_failed(format!("cannot close {} to other users: {OTHERWISE}", runs.display())))?;
        Ok(runs)
    }

    /// Refuses symbolic links of other users, runs of other users, and folders that every user may write.
    fn ensure_unmoved(&self) -> Result<(), PlaceError> {
        let runs = self.runs();
        let above = Some(Path::new(DEFAULT)).filter(|_| !self.is_typed);
        for folder in above.into_iter().chain([&*self.folder, &runs]) {
            let Ok(found) = folder.symlink_metadata() else { continue };
            if found.is_symlink() {
                ensure_own_link(folder, &found)?;
            }
            let Ok(found) = folder.metadata() else { continue };
            if folder == runs && !is_ours(found.uid()) {
                return Err(unfit(format!(
                    "{} belongs to user {}, and so would all runs in it: {OTHERWISE}",
                    folder.display(),
                    found.uid()
                )));
            }
            ensure_not_everybodys(folder, &found)?;
        }
        self.above().into_iter().try_for_each(|(folder, found)| ensure_not_everybodys(&folder, &found))
    }

    /// The folders above those of a name that was not typed.
    fn above(&self) -> Vec<(PathBuf, Metadata)> {
        let there = |folder: &Path| Some((folder.to_owned(), folder.metadata().ok()?));
        match std::path::absolute(&self.folder) {
            Ok(whole) if !self.is_typed => whole.ancestors().filter_map(there).collect(),
            _ => Vec::new(),
        }
    }

    /// A note about the first other user who could move what is written while the guests run.
    pub(crate) fn note_of_owners(&self) -> Option<String> {
        let own = || Some((self.folder.clone(), self.folder.metadata().ok()?));
        for (folder, found) in own().into_iter().chain(self.above()) {
            let who = if !is_ours(found.uid()) {
                format!("belongs to user {}", found.uid())
            } else if is_sticky(&found) || !others_may_write(&folder, &found) {
                continue;
            } else {
                format!("may be written by group {}", found.gid())
            };
            let folder = folder.display();
            return Some(format!("{folder} {who}, who could move what is written while the guests run"));
        }
        None
    }
}

/// The end of each refusal.
const OTHERWISE: &str = "name a folder of your own with --out DIR";

fn unfit(why: String) -> PlaceError {
    PlaceError::Unfit(why)
}

fn io_failed(what: String) -> impl FnOnce(io::Error) -> PlaceError {
    |source| PlaceError::Io { what, source }
}

fn is_ours(uid: u32) -> bool {
    is_trusted(uid) || is_callers(uid)
}

/// A link of this user's, or of root's, is a wish, as for a larger disk.
fn ensure_own_link(link: &Path, found: &Metadata) -> Result<(), PlaceError> {
    let name = link.display();
    if !is_ours(found.uid()) {
        let why = format!(
            "{name} is a symbolic link of user {}, who decides where it leads: {OTHERWISE}",
            found.uid()
        );
        return Err(unfit(why));
    }
    if !link.exists() {
        let target = std::fs::read_link(link).unwrap_or_default();
        return Err(unfit(format!(
            "{name} is a symbolic link to {}, which is not there: make that folder, or remove the link",
            target.display()
        )));
    }
    Ok(())
}

fn ensure_not_everybodys(folder: &Path, found: &Metadata) -> Result<(), PlaceError> {
    const WORLD: u32 = 0o002;
    if found.mode() & WORLD == 0 || is_sticky(found) {
        return Ok(());
    }
    let close = chmod("o-w", folder).map_or(String::new(), |close| format!("{close}, or "));
    let folder = folder.display();
    Err(unfit(format!(
        "{folder} may be written by all users, who could move what is written while the guests run: {close}{OTHERWISE}"
    )))
}

/// Refuses a folder in which this process could write nothing, or in whose nearest folder above it could make none.
fn ensure_writable(folder: &Path) -> Result<(), PlaceError> {
    let whole =
        std::path::absolute(folder).map_err(io_failed(format!("cannot find {}", folder.display())))?;
    let Some(there) = whole.ancestors().find(|above| above.symlink_metadata().is_ok()) else { return Ok(()) };
    let refused = |why: String| unfit(format!("cannot write {}: {why}: {OTHERWISE}", there.display()));
    if !there.is_dir() {
        return Err(refused("it is not a folder".to_owned()));
    }
    rustix::fs::access(there, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| refused(io::Error::from(error).to_string()))
}

fn shut(folder: &Path) -> io::Result<()> {
    match folder.metadata()?.mode() & 0o077 {
        0 => Ok(()),
        _ => std::fs::set_permissions(folder, Permissions::from_mode(0o700)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str, tools: &[&str], disk: bool) -> Case {
        let tools = tools.iter().map(|name| (*name).to_owned()).collect();
        Case { tools, disk: disk.then_some(1 << 30), ..Case::new(id, "debian:6.12") }
    }

    #[test]
    fn each_tool_is_named_once_with_its_cases_and_its_package() {
        let mut cases: Vec<Case> = ["a", "b", "c", "d"].map(|id| case(id, &["stress-ng"], false)).to_vec();
        cases.push(case("e", &["cyclictest", "./mine"], true));
        cases.push(case("f", &[], false));
        assert!(lacking(&cases, |_| true).is_ok());
        let message = lacking(&cases, |_| false).unwrap_err().to_string();
        let expected = "\
the tool './mine' of e is not on this machine: give the path of a program of this machine
the tool 'cyclictest' of e is not on this machine: apt-get install rt-tests
the tool 'mke2fs' of e is not on this machine: apt-get install e2fsprogs
the tool 'stress-ng' of a, b, c and 1 more is not on this machine: apt-get install stress-ng
all of them: apt-get install e2fsprogs rt-tests stress-ng
nothing was run, and no report was written (1 case needs no tool that is missing: name it with --case)";
        assert_eq!(message, expected);
        let one = lacking(&cases, |tool| tool != "stress-ng").unwrap_err().to_string();
        assert!(
            !one.contains("all of them") && one.contains("(2 cases need no tool that is missing"),
            "{one}"
        );
    }

    #[test]
    fn each_kernel_is_named_with_its_cases_and_what_there_is() {
        let missing = |name: &str, nearest: Option<&str>, instead: &[&str]| Missing {
            name: format!("debian:{name}"),
            cases: ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(),
            error: KernelError::NotOffered { name: name.into(), nearest: nearest.map(str::to_owned) },
            instead: instead.iter().map(|name| (*name).to_owned()).collect(),
        };
        let kernels = vec![
            missing("6.13", Some("6.12"), &[]),
            missing("7.9", None, &["debian:6.12.117+deb12-amd64", "debian:6.1.0-56-amd64"]),
        ];
        let words = Absent { kernels, others: 2 }.to_string();
        let lines: Vec<&str> = words.lines().collect();
        assert_eq!(lines.len(), 3, "{words}");
        assert!(lines[0].starts_with("the kernel of a, b, c and 2 more: no Debian kernel 6.13 ("), "{words}");
        assert!(lines[0].contains("did you mean debian:6.12?") && !lines[0].contains("nearest"), "{words}");
        assert!(
            lines[1].ends_with("; the nearest here are debian:6.12.117+deb12-amd64, debian:6.1.0-56-amd64"),
            "{words}"
        );
        assert_eq!(
            lines[2],
            "nothing was run, and no report was written (2 cases have other kernels: name them with --case)"
        );
    }

    #[test]
    fn cases_that_need_as_much_share_a_line() {
        let error = qemu::ensure_room(26 << 20, 300 << 20).unwrap_err();
        let cases = vec![Small { ids: ["a", "b"].map(str::to_owned).to_vec(), error }];
        let words = TooSmall { cases, others: 1 }.to_string();
        assert_eq!(
            words,
            "\
a, b: the guest image has 26 MiB, so the guest needs at least `memory = \"308M\"`, and has 300 MiB
nothing was run, and no report was written (1 case has enough memory: name it with --case)"
        );
    }
}
