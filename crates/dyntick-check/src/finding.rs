// SPDX-License-Identifier: GPL-2.0-only
//! What a rule found.

use crate::machine::NoLine;
use crate::tried::is_tried;
use dyntick_model::boot::Composed;
use dyntick_model::{CpuList, Fix};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// How much a finding counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// The file's path on the machine that was examined.
    pub file: String,
    /// The value, or the part of it, that was judged.
    pub value: String,
}

/// What a rule found on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// How much it counts here.
    pub severity: Severity,
    /// What is the matter, in one sentence without a full stop; of many names the first ones.
    pub message: String,
    /// The same sentence with all names.
    pub full_message: String,
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
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Offered<'a> {
    /// What to do.
    #[serde(flatten)]
    pub fix: &'a Fix,
    /// Whether a guest has shown that it fixes what the rule found.
    pub tried: bool,
}

/// A finding as it is printed as JSON: its fixes say whether they were tried.
#[derive(Serialize, JsonSchema)]
struct Shown<'a> {
    /// The rule's id.
    rule: &'static str,
    /// How much it counts here.
    severity: Severity,
    /// What is the matter, in one sentence without a full stop.
    message: &'a str,
    /// The CPUs that suffer; empty where it concerns the machine as a whole.
    cpus: &'a CpuList,
    /// What it was read from.
    evidence: &'a [Evidence],
    /// What it does to the machine, as far as the kernel's source or a measurement tells.
    effect: &'a str,
    /// How to fix it, the best way first.
    fixes: Vec<Offered<'a>>,
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { rule, severity, message, full_message: _, cpus, evidence, effect, fixes: _ } = self;
        let fixes = self.offered().collect();
        Shown { rule, severity: *severity, message, cpus, evidence, effect, fixes }.serialize(serializer)
    }
}

impl JsonSchema for Finding {
    fn schema_name() -> Cow<'static, str> {
        "Finding".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Shown::json_schema(generator)
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
    pub(crate) fn composed(self, composed: Result<Composed, NoLine>) -> Self {
        let composed = match composed {
            Ok(composed) => composed,
            Err(reason) => return self.advice(reason.advice()),
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
