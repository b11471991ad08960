// SPDX-License-Identifier: GPL-2.0-only
//! The cpusets of control groups v1, which isolate CPUs by switching load balancing off.

use crate::snapshot::Snapshot;
use crate::sources::{BALANCE, BALANCE_ROOT, CPUSET_CPUS};
use dyntick_model::CpuList;

/// A cpuset without load balancing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbalanced {
    /// Its file `sched_load_balance`.
    pub file: String,
    /// Its CPUs.
    pub cpus: CpuList,
}

/// The cpusets of control groups v1, as far as they decide which CPUs are load balanced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpusets {
    /// The root's file `sched_load_balance`, if it exists.
    pub root: Option<&'static str>,
    /// The cpusets that are not balanced.
    pub unbalanced: Vec<Unbalanced>,
    /// The CPUs of these that are in no balanced cpuset, if the root is not balanced either
    /// (`kernel/cgroup/cpuset.c: generate_sched_domains`).
    pub isolated: CpuList,
}

impl Cpusets {
    pub(super) fn read(files: &Snapshot, online: &CpuList) -> Self {
        let off = |file: &str| files.text(file).is_some_and(|text| text.trim() == "0");
        let Some(root) = BALANCE_ROOT.into_iter().find(|file| files.text(file).is_some()) else {
            return Self::default();
        };
        let (mut unbalanced, mut balanced) = (Vec::new(), CpuList::default());
        for (pattern, flag) in CPUSET_CPUS.into_iter().zip(BALANCE) {
            let name = flag.rsplit('/').next().unwrap_or_default();
            for (path, text) in files.matching(pattern) {
                let (Ok(cpus), Some((group, _))) = (text.trim().parse::<CpuList>(), path.rsplit_once('/'))
                else {
                    continue;
                };
                let file = format!("{group}/{name}");
                if off(&file) {
                    unbalanced.push(Unbalanced { file, cpus: cpus.intersection(online) })
                } else {
                    // A file that was not read holds what the kernel writes at first: 1.
                    balanced = balanced.union(&cpus)
                }
            }
        }
        let without = unbalanced.iter().fold(CpuList::default(), |sum, one| sum.union(&one.cpus));
        let isolated = if off(root) { without.difference(&balanced) } else { CpuList::default() };
        Self { root: Some(root), unbalanced, isolated }
    }
}
