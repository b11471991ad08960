// SPDX-License-Identifier: GPL-2.0-only
//! The causes that are known: one file each.
//!
//! To add one, write its file beside the others and name it in the two lists of this file. A rule that
//! describes a single function (`timer:mce_timer_fn`) needs words only; it is found by its name.

mod unknown;

use crate::CauseId;
use dyntick_model::KernelVersion;

/// One cause, in words, and what removes it.
#[derive(Debug)]
pub struct Rule {
    /// `class` or `class:member`, as in [`CauseId`].
    pub id: &'static str,
    /// What happened, for somebody new to the subject.
    pub title: &'static str,
    /// How it comes about, in two or three sentences.
    pub explanation: &'static str,
    /// What removes it or makes it rarer, the most effective first. Empty where nothing does.
    pub fixes: &'static [Fix],
    /// The kernels that have this cause.
    pub versions: Versions,
    /// The kernel's file and function behind it.
    pub source: &'static str,
    /// Whether it names the origin. If not, its interruptions count as unattributed.
    pub names_origin: bool,
}

/// One way to remove a cause.
#[derive(Debug)]
pub struct Fix {
    /// The exact setting.
    pub setting: Setting,
    /// What it does and costs.
    pub effect: &'static str,
    /// The kernels on which it helps.
    pub versions: Versions,
}

/// A change that a user can make. `N` stands for the CPU, upper-case words for what only the user
/// can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A parameter of the kernel's command line; takes a reboot.
    Boot(&'static str),
    /// `sysctl -w` of this.
    Sysctl(&'static str),
    /// A shell command, as root.
    Command(&'static str),
    /// A change of the program that runs.
    Program(&'static str),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Boot(parameter) => write!(f, "boot with {parameter}"),
            Setting::Sysctl(setting) => write!(f, "sysctl -w {setting}"),
            Setting::Command(command) => f.write_str(command),
            Setting::Program(change) => f.write_str(change),
        }
    }
}

/// A range of kernels, `(major, minor)` at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The first that is in it; `None` for all from 6.1, the oldest that is supported.
    pub since: Option<(u32, u32)>,
    /// The first that is no longer in it.
    pub until: Option<(u32, u32)>,
}

impl Versions {
    /// Every kernel.
    pub const ALL: Self = Self { since: None, until: None };

    /// From this kernel on.
    pub const fn since(major: u32, minor: u32) -> Self {
        Self { since: Some((major, minor)), until: None }
    }

    /// Before this kernel.
    pub const fn before(major: u32, minor: u32) -> Self {
        Self { since: None, until: Some((major, minor)) }
    }

    /// Whether a kernel is in the range.
    pub fn contains(self, kernel: &KernelVersion) -> bool {
        let kernel = (kernel.major, kernel.minor);
        self.since.is_none_or(|since| kernel >= since) && self.until.is_none_or(|until| kernel < until)
    }
}

impl Rule {
    /// The fixes that help on one kernel.
    pub fn fixes_for(&self, kernel: &KernelVersion) -> impl Iterator<Item = &'static Fix> {
        self.fixes.iter().filter(|fix| fix.versions.contains(kernel))
    }
}

/// The table of all rules.
static RULES: &[&Rule] = &[&unknown::RULE];

/// All rules.
pub fn all() -> &'static [&'static Rule] {
    RULES
}

/// The rule of a cause: its own, else that of its class, else `unknown`.
pub fn get(cause: &CauseId) -> &'static Rule {
    let find = |id: &str| RULES.iter().copied().find(|rule| rule.id == id);
    find(cause.as_str()).or_else(|| find(cause.class_name())).unwrap_or(&unknown::RULE)
}
