// SPDX-License-Identifier: GPL-2.0-only
//! What is said of a cause: its words, its fixes, and the kernels that have it.

use dyntick_model::{Fix, KernelVersion, Template};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// What the effect of a fix says that nobody has seen work in a guest.
pub const UNTRIED: &str = "Not tried here";

/// The kernels on which fixes were tried: those of the table in `docs/src/fixes.md`.
const TRIED_ON: [(u32, u32); 2] = [(6, 1), (6, 12)];

/// One cause, in words, and what removes it.
#[derive(Debug)]
pub struct Rule {
    /// `class` or `class:member`, as in [`CauseId`].
    pub id: &'static str,
    /// What happened: the kernel's term first, then plain English.
    pub title: &'static str,
    /// How it comes about, in two or three sentences.
    pub explanation: &'static str,
    /// What removes it or makes it rarer, the most effective first. Empty where nothing does.
    pub fixes: &'static [RuleFix],
    /// The kernels that have this cause.
    pub versions: Versions,
    /// The kernel's file and function behind it.
    pub source: &'static str,
    /// Whether it names the origin. If not, its interruptions count as unattributed.
    pub names_origin: bool,
}

/// One way to remove a cause.
#[derive(Debug)]
pub struct RuleFix {
    /// What to do.
    pub action: Template,
    /// What it does and costs.
    pub effect: &'static str,
    /// The kernels on which it helps.
    pub versions: Versions,
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

    /// From a kernel on until another that no longer has it.
    pub const fn between(since: (u32, u32), until: (u32, u32)) -> Self {
        Self { since: Some(since), until: Some(until) }
    }

    /// Whether a kernel is in the range.
    pub fn contains(self, kernel: &KernelVersion) -> bool {
        let kernel = (kernel.major, kernel.minor);
        self.since.is_none_or(|since| kernel >= since) && self.until.is_none_or(|until| kernel < until)
    }
}

impl RuleFix {
    /// Parameters for the kernel's command line, on every kernel.
    pub const fn boot(parameters: &'static str, effect: &'static str) -> Self {
        Self { action: Fix::Boot(parameters), effect, versions: Versions::ALL }
    }

    /// A shell command, on every kernel.
    pub const fn command(command: &'static str, effect: &'static str) -> Self {
        Self { action: Fix::Command(command), effect, versions: Versions::ALL }
    }

    /// Advice in words, on every kernel.
    pub const fn advice(words: &'static str, effect: &'static str) -> Self {
        Self { action: Fix::Advice(words), effect, versions: Versions::ALL }
    }

    /// The same fix, on these kernels only.
    pub const fn on(self, versions: Versions) -> Self {
        Self { versions, ..self }
    }

    /// What it does and costs, and where no guest has shown it, that it was not tried. Words cannot be tried as
    /// they stand.
    pub fn told(&self) -> Cow<'static, str> {
        match self.action {
            Fix::Advice(_) if !self.effect.contains(UNTRIED) => {
                format!("{} {UNTRIED}: no command does it.", self.effect).into()
            }
            _ => self.effect.into(),
        }
    }

    /// The same on one kernel: what guests have shown, they have shown of other kernels.
    pub fn told_on(&self, kernel: &KernelVersion) -> Cow<'static, str> {
        let told = self.told();
        match told.contains(UNTRIED) || TRIED_ON.contains(&(kernel.major, kernel.minor)) {
            true => told,
            false => format!("{told} Tried on 6.1 or 6.12, not on this kernel.").into(),
        }
    }
}

/// Each has its own id, and there is only one of each.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Rule {}

impl Hash for Rule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self, state);
    }
}

impl Rule {
    /// A rule for every kernel, whose interruptions count as attributed. It has no words.
    pub const DEFAULT: Self = Self {
        id: "",
        title: "",
        explanation: "",
        fixes: &[],
        versions: Versions::ALL,
        source: "",
        names_origin: true,
    };

    /// The fixes that help on one kernel.
    pub fn fixes_for(&self, kernel: &KernelVersion) -> impl Iterator<Item = &'static RuleFix> {
        self.fixes.iter().filter(|fix| fix.versions.contains(kernel))
    }
}
