// SPDX-License-Identifier: GPL-2.0-only
//! The findings of rules.

use crate::machine::NoLine;
use crate::tried::is_tried;
use dyntick_model::boot::Composed;
use dyntick_model::{CpuList, Fix};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; costs little, rarely, or only some workloads.
    Note,
    /// Isolated CPUs are, or will be, disturbed.
    Warning,
    /// A setting that was asked for is not in effect.
    Error,
}

impl Severity {
    /// The severity's word, as SARIF spells it.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A file, and the part of its content that matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// The file's path on the machine that was examined.
    pub file: String,
    /// The value, or the part of it, that was judged.
    pub value: String,
}

/// The finding of a rule on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// The severity on this machine.
    pub severity: Severity,
    /// The problem in one sentence without a full stop, with the first of its names.
    pub message: String,
    /// The same sentence with all names.
    pub full_message: String,
    /// The affected CPUs; empty if the finding concerns the complete machine.
    pub cpus: CpuList,
    /// The files behind the finding.
    pub evidence: Vec<Evidence>,
    /// The effect on the machine, as far as the kernel's source or a measurement shows it.
    pub effect: String,
    /// The fixes, the best first.
    pub fixes: Vec<Fix>,
}

/// A fix with its proof.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Offered<'a> {
    /// The fix itself.
    #[serde(flatten)]
    pub fix: &'a Fix,
    /// True if a guest has shown that it fixes what the rule found.
    pub tried: bool,
}

/// A finding as it is printed as JSON: its fixes say if they were tried.
#[derive(Serialize, JsonSchema)]
struct Shown<'a> {
    /// The rule's id.
    rule: &'static str,
    /// The severity on this machine.
    severity: Severity,
    /// The problem in one sentence without a full stop.
    message: &'a str,
    /// The affected CPUs; empty if the finding concerns the complete machine.
    cpus: &'a CpuList,
    /// The files behind the finding.
    evidence: &'a [Evidence],
    /// The effect on the machine, as far as the kernel's source or a measurement shows it.
    effect: &'a str,
    /// The fixes, the best first.
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
    /// The fixes, the best first.
    pub fn offered(&self) -> impl Iterator<Item = Offered<'_>> {
        self.fixes.iter().map(|fix| Offered { fix, tried: is_tried(self.rule, fix) })
    }

    /// Adds the affected CPUs.
    pub(crate) fn on(mut self, cpus: &CpuList) -> Self {
        self.cpus = cpus.clone();
        self
    }

    /// Adds evidence, if there is some.
    pub(crate) fn seen(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Adds the effect.
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

    /// Adds the isolation parameters, and removes those that they make redundant.
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
