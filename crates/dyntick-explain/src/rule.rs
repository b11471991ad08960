// SPDX-License-Identifier: GPL-2.0-only
//! The rule of a cause: its words, its fixes, and the kernels that have it.

use dyntick_model::{Fix, KernelVersion, Template};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// The remark in the effect of a fix that no guest has shown to work.
pub const UNTRIED: &str = "Not tried here";

/// The kernels on which fixes were tried, which are those of the table in `docs/src/fixes.md`.
const TRIED_ON: [(u32, u32); 3] = [(6, 1), (6, 12), (7, 2)];

/// One cause in words, with its fixes.
#[derive(Debug)]
pub struct Rule {
    /// The id, `class` or `class:member`, as in [`CauseId`].
    pub id: &'static str,
    /// The title: the kernel's term first, then plain English.
    pub title: &'static str,
    /// The mechanism, in two or three sentences.
    pub explanation: &'static str,
    /// The fixes, which remove it or make it rarer, the most effective first.
    pub fixes: &'static [RuleFix],
    /// The kernels that have this cause.
    pub versions: Versions,
    /// The kernel's file and function behind it.
    pub source: &'static str,
    /// True if it names the origin. If not, its interruptions count as unattributed.
    pub names_origin: bool,
}

/// One way to remove a cause.
#[derive(Debug)]
pub struct RuleFix {
    /// The action.
    pub action: Template,
    /// Its effect and cost.
    pub effect: &'static str,
    /// The kernels on which it helps.
    pub versions: Versions,
}

/// A range of kernels, `(major, minor)` at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The first kernel in the range; `None` for all from 6.1, the oldest supported one.
    pub since: Option<(u32, u32)>,
    /// The first kernel after the range.
    pub until: Option<(u32, u32)>,
}

impl Versions {
    /// Every kernel.
    pub const ALL: Self = Self { since: None, until: None };

    /// All kernels from this one on.
    pub const fn since(major: u32, minor: u32) -> Self {
        Self { since: Some((major, minor)), until: None }
    }

    /// All kernels before this one.
    pub const fn before(major: u32, minor: u32) -> Self {
        Self { since: None, until: Some((major, minor)) }
    }

    /// The kernels from the first one up to, but without, the second.
    pub const fn between(since: (u32, u32), until: (u32, u32)) -> Self {
        Self { since: Some(since), until: Some(until) }
    }

    /// Returns true if a kernel is in the range. One that is not known is in the range of all kernels only.
    pub fn contains(self, kernel: &KernelVersion) -> bool {
        if !kernel.is_known() {
            return self == Self::ALL;
        }
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

    /// Returns true if it changes the affinity of interrupts of devices.
    pub fn moves_interrupts(&self) -> bool {
        let (Fix::Boot(text) | Fix::Unboot(text) | Fix::Command(text) | Fix::Advice(text)) = self.action;
        text.contains("smp_affinity") || text.contains("irqaffinity=")
    }

    /// The effect, with a remark if no guest has shown it. Advice in words has the remark, because it cannot be tried
    /// literally.
    pub fn remarked_effect(&self) -> Cow<'static, str> {
        match self.action {
            Fix::Advice(_) if !self.effect.contains(UNTRIED) => {
                format!("{} {UNTRIED}: no command does it.", self.effect).into()
            }
            _ => self.effect.into(),
        }
    }

    /// The same for one kernel, with a remark if guests have shown it on other kernels only.
    pub fn remarked_effect_on(&self, kernel: &KernelVersion) -> Cow<'static, str> {
        let effect = self.remarked_effect();
        if effect.contains(UNTRIED) || TRIED_ON.contains(&(kernel.major, kernel.minor)) {
            effect
        } else if !kernel.is_known() {
            format!("{effect} Tried on 6.1, 6.12 or 7.2; which kernel this is, the trace does not say.")
                .into()
        } else {
            format!("{effect} Tried on 6.1, 6.12 or 7.2, not on this kernel.").into()
        }
    }
}

/// The remark at the end of an effect: that it was not tried, or not on this kernel. Empty without one.
pub fn remark(effect: &str) -> &str {
    [UNTRIED, "Tried on "]
        .into_iter()
        .find_map(|begin| Some(&effect[effect.rfind(begin)?..]))
        .unwrap_or_default()
}

/// Compares by address, because each rule exists only once.
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
