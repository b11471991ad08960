// SPDX-License-Identifier: GPL-2.0-only
//! The formats of what verbs print as JSON. A program that reads one finds its name and version in it. A version grows when a key
//! goes or changes its meaning; new keys may come at any time. `latency --json` is cyclictest's, and SARIF is SARIF.

use serde::Serialize;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    name: &'static str,
    version: u32,
}

const fn first(name: &'static str) -> Format {
    Format { name, version: 1 }
}

pub const CHECK: Format = first("dyntick-check");
pub const COMPARE: Format = first("dyntick-compare");
pub const EXPLAIN: Format = first("dyntick-explain");
pub const ISOLATE: Format = first("dyntick-isolate");
pub const ISOLATE_CHANGES: Format = first("dyntick-isolate-changes");
pub const ISOLATE_RESTORED: Format = first("dyntick-isolate-restored");
pub const LAB_BENCH: Format = first("dyntick-lab-bench");
pub const LAB_BUILD: Format = first("dyntick-lab-build");
pub const LAB_DOCTOR: Format = first("dyntick-lab-doctor");
pub const LAB_KERNELS: Format = first("dyntick-lab-kernels");
pub const LAB_KERNELS_DIFF: Format = first("dyntick-lab-kernels-diff");
pub const LAB_MACHINE: Format = first("dyntick-lab-machine");
pub const LAB_MACHINES: Format = first("dyntick-lab-machines");
pub const LAB_PROFILE: Format = first("dyntick-lab-profile");
pub const LAB_PROFILES: Format = first("dyntick-lab-profiles");
pub const LAB_RUN: Format = first("dyntick-lab-run");
pub const STAT: Format = first("dyntick-stat");
pub const TOP: Format = first("dyntick-top");

/// What is printed: an object whose first keys say what it is.
#[derive(Serialize)]
pub struct Named<'a, T: Serialize> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    value: &'a T,
}

impl Format {
    /// A value, which is an object, with this name.
    pub fn of<T: Serialize>(self, value: &T) -> Named<'_, T> {
        Named { format: self.name, version: self.version, value }
    }
}
