// SPDX-License-Identifier: GPL-2.0-only
//! What a rule found.

use crate::tried::is_tried;
use dyntick_model::CpuList;
use dyntick_model::boot::Composed;
use serde::{Serialize, Serializer};

/// How much a finding counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; costs little, rarely, or only some workloads.
    Note,
    /// Isolated CPUs are, or will be, disturbed.
    Warning,
    /// What was asked for is not in effect.
    Error,
}

impl Severity {
    /// The word for it, as SARIF has it too.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A file, and what of its content matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The file's path on the machine that was examined.
    pub file: String,
    /// The value, or the part of it, that was judged.
    pub value: String,
}

/// One way to fix it, exact enough to be copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind", content = "text")]
pub enum Fix {
    /// A shell command, as root; at once, and lost with the next boot.
    Command(String),
    /// Parameters for the kernel's command line, each in place of all of its name; takes a reboot.
    Boot(String),
    /// A parameter to take off the kernel's command line; takes a reboot.
    Unboot(String),
    /// Anything else, in words.
    Advice(String),
}

impl std::fmt::Display for Fix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fix::Command(text) | Fix::Advice(text) => f.write_str(text),
            Fix::Boot(parameter) => write!(f, "boot with {parameter}"),
            Fix::Unboot(parameter) => write!(f, "boot without {parameter}"),
        }
    }
}

/// What a rule found on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// How much it counts here.
    pub severity: Severity,
    /// What is the matter, in one sentence without a full stop.
    pub message: String,
    /// The CPUs that suffer; empty where it concerns the machine as a whole.
    pub cpus: CpuList,
    /// What it was read from.
    pub evidence: Vec<Evidence>,
    /// What it does to the machine, as far as the kernel's source or a measurement tells.
    pub effect: String,
    /// How to fix it, the best way first.
    pub fixes: Vec<Fix>,
}

/// A fix as it is shown.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Offered<'a> {
    /// What to do.
    #[serde(flatten)]
    pub fix: &'a Fix,
    /// Whether a guest has shown that it fixes what the rule found.
    pub tried: bool,
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            rule: &'static str,
            severity: Severity,
            message: &'a str,
            cpus: &'a CpuList,
            evidence: &'a [Evidence],
            effect: &'a str,
            fixes: Vec<Offered<'a>>,
        }
        let Self { rule, severity, message, cpus, evidence, effect, fixes: _ } = self;
        let fixes = self.offered().collect();
        Shown { rule, severity: *severity, message, cpus, evidence, effect, fixes }.serialize(serializer)
    }
}

impl Finding {
    /// Its fixes, the best first.
    pub fn offered(&self) -> impl Iterator<Item = Offered<'_>> {
        self.fixes.iter().map(|fix| Offered { fix, tried: is_tried(self.rule, fix) })
    }

    /// Adds the CPUs that suffer.
    pub(crate) fn on(mut self, cpus: &CpuList) -> Self {
        self.cpus = cpus.clone();
        self
    }

    /// Adds evidence, where there is some.
    pub(crate) fn seen(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Says what it does.
    pub(crate) fn so(mut self, effect: impl Into<String>) -> Self {
        self.effect = effect.into();
        self
    }

    pub(crate) fn command(self, command: impl Into<String>) -> Self {
        self.fix(Fix::Command(command.into()))
    }

    pub(crate) fn boot(self, parameter: impl Into<String>) -> Self {
        self.fix(Fix::Boot(parameter.into()))
    }

    /// Adds the parameters about isolation as a whole, and those that they make needless.
    pub(crate) fn composed(self, composed: Option<Composed>) -> Self {
        let Some(composed) = composed else {
            return self.advice("leave at least one CPU out, for housekeeping");
        };
        let with = (!composed.with.is_empty()).then(|| Fix::Boot(composed.to_string()));
        let without = composed.without.into_iter().map(Fix::Unboot);
        with.into_iter().chain(without).fold(self, Finding::fix)
    }

    pub(crate) fn unboot(self, parameter: impl Into<String>) -> Self {
        self.fix(Fix::Unboot(parameter.into()))
    }

    pub(crate) fn advice(self, advice: impl Into<String>) -> Self {
        self.fix(Fix::Advice(advice.into()))
    }

    fn fix(mut self, fix: Fix) -> Self {
        self.fixes.push(fix);
        self
    }
}
