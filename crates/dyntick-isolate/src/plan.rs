// SPDX-License-Identifier: GPL-2.0-only
//! The plan: the changes of a machine, in their order. Pure.

use crate::facts::{Facts, SettingFile, servers_disturb};
use crate::places::GROUP;
use crate::system::Task;
use crate::{Change, PartitionKind, Subject};
use dyntick_model::CpuList;
use std::path::Path;

/// The request of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The CPUs to isolate.
    pub cpus: CpuList,
    /// The kind of the partition: isolated, or load balanced.
    pub kind: PartitionKind,
    /// True if the command runs in a real-time class.
    pub realtime: bool,
    /// The longest wake-up from an idle state, µs; 0 leaves the idle states alone.
    pub idle_latency_us: u32,
}

/// A change, and its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The purpose of the change.
    pub subject: Subject,
    /// The change.
    pub change: Change,
}

/// The changes in their order; they are undone in the reverse order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The settings.
    pub first: Vec<Step>,
    /// The threads with their own affinity: journaled before the partition, set after it.
    pub guarded: Vec<Step>,
    /// The partition; empty if it cannot be made, or if `isolcpus=` has the same effect since boot.
    pub partition: Vec<Step>,
    /// The threads that are moved one by one if there is no partition.
    pub moved: Vec<Step>,
    /// The settings that follow everything else.
    pub last: Vec<Step>,
    /// The reason why there is no partition.
    pub no_partition: Option<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The seconds between two foldings of the memory statistics.
const VM_STAT_INTERVAL: &str = "60";

/// Makes the plan. `online` must have more CPUs than are isolated.
pub fn plan(facts: &Facts, request: &Request) -> Plan {
    let mut plan = Plan { notes: facts.notes.clone(), ..Plan::default() };
    for file in &facts.files {
        let Some(change) = setting(file, facts, request) else { continue };
        let step = Step { subject: file.subject, change };
        // Earlier, these would delay the grace periods of the other changes. (The fair server of a CPU that is alone
        // in its partition refuses to be changed: EBUSY on 6.12.)
        match file.subject {
            Subject::Rcu => plan.last.push(step),
            _ => plan.first.push(step),
        }
    }
    match &facts.cpusets {
        _ if request.cpus.is_subset(&facts.boot_isolated) && request.kind == PartitionKind::Isolated => {
            plan.no_partition =
                Some("isolcpus= has removed these CPUs from the scheduling domains at boot".into());
        }
        Err(reason) => plan.no_partition = Some(reason.clone()),
        Ok(cpusets) => {
            let root = &cpusets.root;
            let mut step = |change| plan.partition.push(Step { subject: Subject::Partition, change });
            if !cpusets.enabled {
                step(Change::Controller { path: root.join("cgroup.subtree_control") });
            }
            step(Change::Partition {
                folder: root.join(GROUP),
                cpus: request.cpus.clone(),
                kind: request.kind,
                origin: cpusets.origin.clone(),
            });
        }
    }
    let (online, cpus) = (&facts.online, &request.cpus);
    let threads = facts.tasks.iter().filter(|task| task.movable);
    let narrow = threads.clone().filter(|task| task.cpus != *online);
    plan.guarded = narrow.map(|task| affinity(task, online, cpus)).collect();
    let here = |task: &&Task| !task.cpus.intersection(cpus).is_empty() && !follows_interrupt(task, cpus);
    let here = threads.filter(here);
    plan.moved = here.map(|task| affinity(task, online, cpus)).collect();
    if request.kind == PartitionKind::Isolated && cpus.len() > 1 {
        let text = "the scheduler does not balance threads over isolated CPUs: let the program pin its \
                    threads, or use --balance";
        plan.notes.push(text.to_owned());
    }
    plan
}

impl Plan {
    /// The steps that will be taken as far as is known now: with the partition, if one is planned.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        let threads = if self.partition.is_empty() { &self.moved } else { &self.guarded };
        self.first.iter().chain(threads).chain(&self.partition).chain(&self.last)
    }
}

/// Returns true for a threaded handler, which follows its interrupt (`kernel/irq/manage.c: irq_thread_check_affinity`).
/// Some follow only at their next interrupt; until then a removed partition leaves them on all CPUs.
fn follows_interrupt(task: &Task, isolated: &CpuList) -> bool {
    task.kernel && task.comm.starts_with("irq/") && !task.cpus.intersection(isolated).is_empty()
}

fn affinity(task: &Task, online: &CpuList, isolated: &CpuList) -> Step {
    let follows = follows_interrupt(task, isolated);
    let new = if follows { task.cpus.clone() } else { without(&task.cpus, online, isolated) };
    let change = Change::Affinity {
        tid: task.id.tid,
        start: task.id.start,
        comm: task.comm.clone(),
        old: task.cpus.clone(),
        new,
        follows,
    };
    Step { subject: Subject::Threads, change }
}

/// The CPUs of `cpus` that are not isolated; if there are none, all CPUs that are not.
fn without(cpus: &CpuList, online: &CpuList, isolated: &CpuList) -> CpuList {
    let rest = cpus.difference(isolated);
    if rest.is_empty() { online.difference(isolated) } else { rest }
}

fn setting(file: &SettingFile, facts: &Facts, request: &Request) -> Option<Change> {
    let (value, isolated) = (file.value.as_str(), &request.cpus);
    let mut via = None;
    let fixed = |new: &str| (value != new).then(|| new.to_owned());
    let new = match file.subject {
        Subject::VmStat if value.parse::<u32>().is_ok_and(|seconds| seconds > 60) => None,
        Subject::VmStat => fixed(VM_STAT_INTERVAL),
        Subject::NumaBalancing | Subject::MachineCheck => fixed("0"),
        Subject::Rcu => fixed("1"),
        // A real-time program that never sleeps would starve the kernel's own threads on its CPU.
        Subject::FairServer if request.realtime || !servers_disturb(facts.kernel) => None,
        Subject::FairServer => fixed("0"),
        Subject::IdleStates => idle_latency(value, request.idle_latency_us),
        Subject::PacketSteering => {
            let cpus = file.format.cpus(value)?;
            let rest = cpus.difference(isolated);
            (rest != cpus).then(|| file.format.of(&rest))
        }
        _ => {
            let cpus = file.format.cpus(value)?;
            let new = without(&cpus, &facts.online, isolated);
            if file.subject == Subject::Interrupts {
                via = behind(file, isolated);
            }
            // Before 6.12, removing a partition widens the affinity of unbound workers, which cannot be set. Writing
            // another mask and then the old one makes the kernel create them again.
            if is_workqueue_root(&file.path) && new == cpus && facts.kernel < (6, 12) {
                via = Some(file.format.of(&facts.online));
            }
            (new != cpus || via.is_some()).then(|| file.format.of(&new))
        }
    };
    let new = new?;
    Some(Change::Setting { path: file.path.clone(), format: file.format, old: value.to_owned(), new, via })
}

/// The CPU to write before the old mask. An interrupt that went to an isolated CPU is first sent there again; with the
/// old mask it then stays (`arch/x86/kernel/apic/vector.c: assign_vector_locked`).
fn behind(file: &SettingFile, isolated: &CpuList) -> Option<String> {
    let target = file.behind.as_ref()?;
    let cpus: CpuList = target.parse().ok()?;
    (!cpus.intersection(isolated).is_empty()).then(|| target.clone())
}

fn is_workqueue_root(path: &Path) -> bool {
    path == Path::new("/sys/devices/virtual/workqueue/cpumask")
}

/// The new limit, if it is lower. `pm_qos_resume_latency_us` is 0 for no limit, and `n/a` for no latency at all.
fn idle_latency(value: &str, limit: u32) -> Option<String> {
    let stricter = match value {
        "n/a" => true,
        value => value.parse().is_ok_and(|now: u32| now != 0 && now <= limit),
    };
    (limit != 0 && !stricter).then(|| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::change::{EXT_SERVERS, FAIR_SERVERS};

    fn facts(kernel: (u32, u32)) -> Facts {
        let server = |folder: &str| SettingFile {
            subject: Subject::FairServer,
            path: format!("{folder}/cpu1/runtime").into(),
            format: Format::Text,
            value: "50000000".to_owned(),
            behind: None,
        };
        Facts {
            online: CpuList::first(2),
            boot_isolated: CpuList::default(),
            kernel,
            files: [FAIR_SERVERS, EXT_SERVERS].map(server).into(),
            cpusets: Err("none here".to_owned()),
            tasks: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn deadline_servers_are_switched_off_only_if_they_disturb() {
        let changed = |kernel, realtime| {
            let (cpus, kind) = (CpuList::from_iter([1]), PartitionKind::Isolated);
            let request = Request { cpus, kind, realtime, idle_latency_us: 0 };
            plan(&facts(kernel), &request).first.len()
        };
        assert_eq!(
            [(6, 12), (7, 1), (7, 2), (7, 3), (8, 0)].map(|kernel| changed(kernel, false)),
            [2, 2, 0, 0, 0]
        );
        assert_eq!(changed((6, 12), true), 0, "they protect normal tasks from a real-time one");
    }
}
