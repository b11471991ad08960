// SPDX-License-Identifier: GPL-2.0-only
//! The profile of a run: instructions by entry point and by function.

use dyntick_model::CpuList;
use dyntick_profile::{Difference, Kind, Summary, compare};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The spans of one run, in the order window, script.
pub struct Spans {
    /// The id of its case.
    pub name: String,
    /// True if this user's laboratory made the run.
    pub made_here: bool,
    /// The CPUs whose spans are counted.
    pub cpus: CpuList,
    /// The kinds of spans of each phase, by name.
    pub phases: Vec<(&'static str, BTreeMap<String, Kind>)>,
    /// The instructions of each phase, on all CPUs.
    pub instructions: Vec<u64>,
}

/// The profile of one run.
#[derive(Serialize, JsonSchema)]
pub struct Profile<'a> {
    /// The id of its case.
    pub case: &'a str,
    /// True if this user's laboratory made the run.
    pub made_here: bool,
    /// The CPUs whose spans are counted.
    pub cpus: &'a CpuList,
    /// The window and the script, as far as they were recorded.
    pub phases: Vec<PrintedPhase<'a>>,
}

/// The profiles of two runs and how they differ.
#[derive(Serialize, JsonSchema)]
pub struct Profiles<'a> {
    /// The first run.
    pub a: Profile<'a>,
    /// The second run.
    pub b: Profile<'a>,
    /// The kinds of spans that both have, those with the most instructions in `a` first.
    pub differences: &'a [Compared],
}

/// One phase of a run.
#[derive(Serialize, JsonSchema)]
pub struct PrintedPhase<'a> {
    /// `window` or `script`.
    pub phase: &'static str,
    /// All instructions that were executed in it, on all CPUs and in user mode too.
    pub instructions_of_all_cpus: u64,
    /// The kinds of spans, by name.
    pub kinds: Vec<PrintedKind<'a>>,
}

/// The spans of one kind.
#[derive(Serialize, JsonSchema)]
pub struct PrintedKind<'a> {
    /// The name: the kernel's entry point, or the kind of span.
    pub kind: &'a str,
    /// The instructions of a span; none where there is no span.
    pub summary: Option<Summary>,
    /// The instructions of all spans together.
    pub instructions: u64,
    /// The instructions of each span, in the order in which they ended.
    pub spans: &'a [u64],
    /// Mean instructions a span in each kernel function itself.
    pub functions_per_span: BTreeMap<&'a str, f64>,
}

impl<'a> Profile<'a> {
    /// Converts the spans of a run.
    pub fn of(spans: &'a Spans) -> Self {
        let phase = |((name, kinds), instructions): (&'a (&'static str, BTreeMap<String, Kind>), &u64)| {
            let kinds = kinds.iter().map(PrintedKind::of).collect();
            PrintedPhase { phase: name, instructions_of_all_cpus: *instructions, kinds }
        };
        Self {
            case: &spans.name,
            made_here: spans.made_here,
            cpus: &spans.cpus,
            phases: spans.phases.iter().zip(&spans.instructions).map(phase).collect(),
        }
    }
}

impl<'a> PrintedKind<'a> {
    fn of((name, kind): (&'a String, &'a Kind)) -> Self {
        Self {
            kind: name,
            summary: kind.summary(),
            instructions: kind.instructions(),
            spans: &kind.spans,
            functions_per_span: kind.largest_functions().into_iter().collect(),
        }
    }
}

/// One kind of spans in both runs.
#[derive(Serialize, JsonSchema)]
pub struct Compared {
    /// `window` or `script`.
    pub phase: &'static str,
    /// The name.
    pub kind: String,
    /// The number of its spans in `a` and in `b`.
    pub counts: [u64; 2],
    /// The difference.
    #[serde(flatten)]
    pub difference: Difference,
}

/// The kinds of spans that both runs have, those with the most instructions in the first one first.
pub fn compared(a: &Spans, b: &Spans) -> Vec<Compared> {
    let mut compared = Vec::new();
    for ((phase, in_a), (_, in_b)) in a.phases.iter().zip(&b.phases) {
        for (name, kind) in sorted(in_a) {
            if let Some(other) = in_b.get(name) {
                let counts = [kind, other].map(|kind| kind.spans.len() as u64);
                compared.push(Compared {
                    phase,
                    kind: name.clone(),
                    counts,
                    difference: compare(&kind.sums(), &other.sums()),
                });
            }
        }
    }
    compared
}

/// The kinds, those with the most instructions first.
pub fn sorted(kinds: &BTreeMap<String, Kind>) -> Vec<(&String, &Kind)> {
    let mut sorted: Vec<_> = kinds.iter().collect();
    sorted.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.instructions()));
    sorted
}
