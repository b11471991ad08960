// SPDX-License-Identifier: GPL-2.0-only
//! The programs that are pinned to CPUs, and the services that pin them.

use super::{Machine, Task};
use crate::finding::Evidence;
use crate::sources::{TASK_CGROUP, TUNED_PROFILE};
use dyntick_model::CpuList;

impl Machine<'_> {
    /// The programs that may run on some of these CPUs and elsewhere.
    pub fn strays(&self, cpus: &CpuList) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(move |task| {
            let there = !task.allowed.intersection(cpus).is_empty();
            !task.kernel && there && !task.allowed.is_subset(cpus)
        })
    }

    /// The file of a `root` partition with these CPUs.
    pub fn balanced_partition(&self, cpus: &CpuList) -> Option<&str> {
        let has = |file: &str| {
            let text = self.text(file)?.lines().nth(1)?;
            text.parse::<CpuList>().ok().map(|own| cpus.is_subset(&own))
        };
        let roots = self.partitions.iter().filter(|(_, state)| state == "root");
        roots.map(|(file, _)| file.as_str()).find(|file| has(file) == Some(true))
    }

    /// The programs that may run on these CPUs only.
    pub fn pinned(&self, cpus: &CpuList) -> impl Iterator<Item = &Task> {
        let only = move |task: &&Task| !task.allowed.is_empty() && task.allowed.is_subset(cpus);
        self.tasks.iter().filter(|task| !task.kernel).filter(only)
    }

    /// The evidence of a service that keeps CPUs free by the affinity of tasks: a profile of tuned for that, systemd
    /// (CPUAffinity=), or a kubelet.
    pub fn manager(&self) -> Option<Evidence> {
        const PARAMETERS: [&str; 2] = ["systemd.cpu_affinity", "tuned.non_isolcpus"];
        let by_line = PARAMETERS.iter().find_map(|name| self.said(name));
        by_line
            .or_else(|| self.tuned_profile())
            .or_else(|| self.kubelet())
            .or_else(|| self.pod())
            .or_else(|| self.confined_init())
    }

    fn tuned_profile(&self) -> Option<Evidence> {
        const PROFILES: [&str; 4] = ["cpu-partitioning", "realtime", "openshift", "microshift"];
        let profile = self.evidence(TUNED_PROFILE)?;
        let confines = PROFILES.iter().any(|word| profile.value.contains(word));
        (confines && self.runs("tuned").is_some()).then_some(profile)
    }

    fn kubelet(&self) -> Option<Evidence> {
        const KUBELETS: [&str; 4] = ["kubelet", "microshift", "k3s-server", "rke2"];
        let task = KUBELETS.iter().find_map(|name| self.runs(name))?;
        Some(Evidence { file: task.file.clone(), value: task.name.clone() })
    }

    fn pod(&self) -> Option<Evidence> {
        let (path, _) = self.matching(TASK_CGROUP).find(|(_, text)| text.contains("kubepods"))?;
        self.evidence(path)
    }

    /// The affinity of init, if it lacks a load-balanced CPU: the kernel starts init on all of them.
    fn confined_init(&self) -> Option<Evidence> {
        let init = self.tasks.iter().find(|task| task.tid == 1)?;
        let balanced = self.online.difference(&self.isolated);
        (!balanced.is_subset(&init.allowed)).then(|| init.affinity())
    }
}
