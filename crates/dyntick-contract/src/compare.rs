// SPDX-License-Identifier: GPL-2.0-only
//! The comparison of `dyntick compare`.

use dyntick_stats::compare::Comparison;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The document that `--json` prints.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Printed {
    /// The comparison.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The origin of each side: true if this user's laboratory made its runs; null for the output of tools.
    pub made_here: Vec<Option<bool>>,
    /// The number of runs of each side in which the host took too much time from a measured CPU.
    pub disturbed_runs: Vec<usize>,
    /// The settings that the files of each side state, each with all of its values. Sides whose settings differ are not
    /// of the same work.
    pub settings: Vec<BTreeMap<String, BTreeSet<String>>>,
    /// Notes on what was assumed, and on what was not used.
    pub notes: Vec<String>,
}
