// SPDX-License-Identifier: GPL-2.0-only
//! The machine's CPUs and what is kept off them.

use super::read::{FactsError, contents, text};
use dyntick_model::{CommandLine, CpuList};
use serde::{Deserialize, Serialize};

const FOLDER: &str = "/sys/devices/system/cpu";

/// The machine's CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpus {
    /// The CPUs that are online.
    pub online: CpuList,
    /// The CPUs that stop their tick while they run one task, as the kernel took them from `nohz_full=`
    /// and `isolcpus=nohz,`.
    pub nohz_full: CpuList,
    /// The CPUs outside of load balancing: by `isolcpus=domain,` or an isolated cpuset partition.
    pub isolated: CpuList,
    /// The CPUs whose RCU callbacks are offloaded to threads, those of `nohz_full` included.
    pub rcu_nocbs: CpuList,
}

impl Cpus {
    /// Returns true if each of these CPUs is isolated or adaptive.
    pub fn are_quiet(&self, cpus: &CpuList) -> bool {
        !cpus.is_empty() && cpus.is_subset(&self.nohz_full.union(&self.isolated))
    }

    pub(crate) fn read(command_line: &str) -> Result<Self, FactsError> {
        let list = |name: &str| {
            let path = format!("{FOLDER}/{name}");
            // A kernel without NO_HZ_FULL has no such file, and one that was given none says "(null)".
            let text = text(&path).unwrap_or_default().replace("(null)", "");
            text.parse::<CpuList>().map_err(|error| contents(&path, error))
        };
        let online = list("online")?;
        let nohz_full = list("nohz_full")?;
        let machine = online.last().map_or(1, |last| last + 1);
        let offloaded = CommandLine::parse(command_line).cpus("rcu_nocbs", machine);
        // With nohz_full its CPUs are offloaded too (kernel/rcu/tree_nocb.h: rcu_init_nohz).
        let rcu_nocbs = offloaded.and_then(Result::ok).unwrap_or_default().union(&nohz_full);
        let isolated = list("isolated")?.union(&partitions());
        Ok(Self { online, nohz_full, isolated, rcu_nocbs })
    }
}

/// The CPUs of isolated cpuset partitions: the kernel lists them from 6.9 on; before that, each group has its own file.
fn partitions() -> CpuList {
    const ROOT: &str = "/sys/fs/cgroup";
    let parse = |text: String| text.parse::<CpuList>().unwrap_or_default();
    match text(&format!("{ROOT}/cpuset.cpus.isolated")) {
        Ok(list) => parse(list),
        Err(_) => {
            let groups = std::fs::read_dir(ROOT).into_iter().flatten().flatten().map(|entry| entry.path());
            let isolated = groups.filter(|group| {
                let kind = std::fs::read_to_string(group.join("cpuset.cpus.partition")).unwrap_or_default();
                kind.trim_end() == "isolated"
            });
            let cpus = isolated
                .filter_map(|group| std::fs::read_to_string(group.join("cpuset.cpus.effective")).ok());
            cpus.map(parse).fold(CpuList::default(), |all, cpus| all.union(&cpus))
        }
    }
}
