// SPDX-License-Identifier: GPL-2.0-only
//! The programs that are placed on CPUs, and the services that place them.

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

    /// The file of a partition of the kind `root` that has these CPUs.
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
        const PROFILES: [&str; 4] = ["cpu-partitioning", "realtime", "openshift", "microshift"];
        const KUBELETS: [&str; 4] = ["kubelet", "microshift", "k3s-server", "rke2"];
        let by_line = PARAMETERS.iter().find_map(|name| self.said(name));
        let profile = || {
            let profile = self.evidence(TUNED_PROFILE)?;
            let confines = PROFILES.iter().any(|word| profile.value.contains(word));
            (confines && self.runs("tuned").is_some()).then_some(profile)
        };
        let kubelet = || {
            let task = KUBELETS.iter().find_map(|name| self.runs(name))?;
            Some(Evidence { file: task.file.clone(), value: task.name.clone() })
        };
        let pods = || {
            let (path, _) = self.matching(TASK_CGROUP).find(|(_, text)| text.contains("kubepods"))?;
            self.evidence(path)
        };
        // The kernel starts init on all CPUs that are load balanced.
        let init = || {
            let init = self.tasks.iter().find(|task| task.tid == 1)?;
            let balanced = self.online.difference(&self.isolated);
            (!balanced.is_subset(&init.allowed)).then(|| init.affinity())
        };
        by_line.or_else(profile).or_else(kubelet).or_else(pods).or_else(init)
    }
}
