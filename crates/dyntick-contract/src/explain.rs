// SPDX-License-Identifier: GPL-2.0-only
//! The findings of `dyntick explain`, with the judgement on limits.

use crate::gate::Gate;
use dyntick_record::Findings;
use schemars::JsonSchema;
use serde::Serialize;

/// The findings about a record.
#[derive(Serialize, JsonSchema)]
pub struct Explanation<'a> {
    /// The interruptions, their causes, and fixes.
    #[serde(flatten)]
    pub findings: &'a Findings,
    /// The judgement on the limits of `--at-most`; null without any.
    pub gate: Option<Gate>,
}
