// SPDX-License-Identifier: GPL-2.0-only
//! The studies that come with dyntick, as they are listed.

use schemars::JsonSchema;
use serde::Serialize;

/// The studies that come with dyntick.
#[derive(Serialize, JsonSchema)]
pub struct Studies {
    /// Each of them.
    pub studies: Vec<Listed>,
}

/// A study as it is listed.
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    /// The name or path to run it by.
    pub name: String,
    /// The title.
    pub title: String,
    /// The question.
    pub question: String,
    /// The number of cases.
    pub cases: usize,
    /// The number of runs of all cases.
    pub runs: u32,
    /// The kernels that are built for it.
    pub kernels: Vec<OwnKernel>,
    /// The tools of this machine that its cases need.
    pub tools: Vec<Tool>,
    /// The estimated time, s.
    pub estimated_s: u64,
}

/// A kernel that a study has built.
#[derive(Serialize, JsonSchema)]
pub struct OwnKernel {
    /// The name in the study.
    pub name: String,
    /// True if it is built already.
    pub built: bool,
}

/// A tool of this machine that a study needs.
#[derive(Serialize, JsonSchema)]
pub struct Tool {
    /// The name or path.
    pub name: String,
    /// The package of Debian that holds it, where that is known.
    pub package: Option<&'static str>,
    /// True if it is on this machine.
    pub installed: bool,
}
