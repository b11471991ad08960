// SPDX-License-Identifier: GPL-2.0-only
//! The context in which a record's events are explained.

use crate::About;
use dyntick_explain::{Class, Context, Known, KnownCommand, PerfOpener};
use dyntick_model::Symbol;
use dyntick_model::text::{beginning, clean};
use dyntick_observe::facts::{Policy, SchedExt, Thread};
use std::collections::{BTreeMap, BTreeSet};

/// The context from the observed state of the machine.
pub(crate) fn of(about: &About) -> Context {
    let About { machine, threads, cpus, window_ns, .. } = about;
    let names = about.foreign.iter().flat_map(|foreign| &foreign.names);
    let names = names.map(|(number, name)| (*number, clean(beginning(name, LONGEST_NAME)).as_str().into()));
    let comms = threads.iter().map(|(number, thread)| (*number, name_of(thread).as_str().into()));
    Context {
        hz: machine.hz,
        nohz_full: machine.cpus.nohz_full.clone(),
        isolated: machine.cpus.isolated.clone(),
        rcu_nocbs: machine.cpus.rcu_nocbs.clone(),
        cpus: cpus.clone(),
        kernel: machine.kernel.clone(),
        window: *window_ns,
        timekeeper: None,
        comms: names.chain(comms).collect(),
        known: known(about),
    }
}

/// The limits, in bytes and in owners, on the names and possessions of tasks, which are part of the chain of each
/// interruption that the tasks cause.
const LONGEST_NAME: usize = 64;
const LONGEST_OWNED: usize = 400;
const MOST_OPENERS: usize = 32;

fn name_of(thread: &Thread) -> String {
    clean(beginning(&thread.comm, LONGEST_NAME))
}

/// The facts that no event shows. The possessions of a process count for each of its threads.
fn known(about: &About) -> Known {
    let About { threads, owners, machine, .. } = about;
    let of_process = |owned: &BTreeMap<i32, String>| {
        let own = threads.iter().filter_map(|(number, thread)| {
            let owned = clean(beginning(owned.get(&thread.process)?, LONGEST_OWNED));
            Some((*number, Symbol::from(owned)))
        });
        own.collect()
    };
    let opener = |(process, count): (&i32, &u64)| opener(threads, *process, *count);
    Known {
        kernel_threads: threads
            .iter()
            .filter(|(_, thread)| thread.kernel)
            .map(|(number, _)| *number)
            .collect(),
        cpu_timers: of_process(&owners.cpu_timers),
        perf_events: owners.perf_events.iter().take(MOST_OPENERS).map(opener).collect(),
        quotas: of_process(&owners.quotas),
        limits: threads
            .iter()
            .filter_map(|(number, thread)| {
                let limits = owners.limits.get(&thread.process)?;
                Some((*number, limits.iter().map(|quota| quota.number).collect()))
            })
            .collect(),
        clocksource: Some(machine.clocksource.current.as_str())
            .filter(|name| !name.is_empty())
            .map(Symbol::from),
        classes: threads
            .iter()
            .filter_map(|(number, thread)| Some((*number, class(thread.policy, machine.sched_ext)?)))
            .collect(),
        processes: threads.iter().map(|(number, thread)| (*number, thread.process)).collect(),
        crowds: crowds(threads),
        bpf_scheduler: machine.sched_ext.enabled,
        no_real_time_limit: machine.settings.no_real_time_limit,
        isolation_unknown: about.foreign.is_some(),
        adaptive_unknown: about.foreign.as_ref().is_some_and(|foreign| !foreign.adaptive_known),
        recorded: about.recorded(),
        no_adaptive_ticks: machine.settings.lacks("nohz_full="),
        command: KnownCommand {
            process: about.process,
            threads: about.process.map(|process| descendants(threads, process)).unwrap_or_default(),
        },
    }
}

/// The number of names of a process's threads from which on they are listed under the program's name.
const CROWD: usize = 4;

/// The threads with the names of their processes, of those whose threads have many names.
fn crowds(threads: &BTreeMap<i32, Thread>) -> BTreeMap<i32, Symbol> {
    let mut names: BTreeMap<i32, BTreeSet<&str>> = BTreeMap::new();
    for thread in threads.values().filter(|thread| !thread.kernel) {
        names.entry(thread.process).or_default().insert(&thread.comm);
    }
    let program = |process: i32| {
        let is_crowd = names.get(&process).is_some_and(|names| names.len() >= CROWD);
        Some(Symbol::from(name_of(threads.get(&process).filter(|_| is_crowd)?)))
    };
    let others = threads.iter().filter(|(number, thread)| thread.process != **number);
    others.filter_map(|(number, thread)| Some((*number, program(thread.process)?))).collect()
}

fn opener(threads: &BTreeMap<i32, Thread>, process: i32, events: u64) -> PerfOpener {
    let comm = threads.get(&process).map_or("?".to_owned(), name_of).into();
    PerfOpener { comm, process, events }
}

/// The threads of a process and of its descendants, by their parents. A thread whose parent has ended is only found by
/// the event of its fork.
fn descendants(threads: &BTreeMap<i32, Thread>, process: i32) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, BTreeSet<i32>> = BTreeMap::new();
    for thread in threads.values().filter(|thread| !thread.kernel) {
        children.entry(thread.parent).or_default().insert(thread.process);
    }
    let (mut processes, mut next) = (BTreeSet::from([process]), vec![process]);
    while let Some(parent) = next.pop() {
        let own = children.remove(&parent).unwrap_or_default();
        next.extend(own.into_iter().filter(|child| processes.insert(*child)));
    }
    let own = threads.iter().filter(|(_, thread)| !thread.kernel && processes.contains(&thread.process));
    own.map(|(number, _)| *number).collect()
}

/// The class of a task. A loaded BPF scheduler may schedule all tasks of the fair class; without one, tasks of
/// SCHED_EXT are fair.
fn class(policy: Policy, sched_ext: SchedExt) -> Option<Class> {
    let ext =
        |asked: bool| if sched_ext.enabled && (asked || sched_ext.all) { Class::Ext } else { Class::Fair };
    match policy {
        Policy::Other | Policy::Batch | Policy::Idle => Some(ext(false)),
        Policy::Fifo | Policy::RoundRobin => Some(Class::RealTime),
        Policy::Deadline => Some(Class::Deadline),
        Policy::Ext => Some(ext(true)),
        Policy::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(process: i32, parent: i32, kernel: bool) -> Thread {
        Thread {
            comm: "x".into(),
            process,
            parent,
            kernel,
            bound: false,
            ended: false,
            cpus: Default::default(),
            cpu: 0,
            policy: Policy::Other,
            priority: 0,
        }
    }

    #[test]
    fn command_has_its_threads_and_those_of_its_descendants() {
        let threads = [
            (7, thread(7, 1, false)),
            (8, thread(7, 1, false)),
            (9, thread(9, 7, false)),
            (10, thread(10, 9, false)),
            (11, thread(11, 1, false)),
            (12, thread(12, 7, true)),
            (13, thread(13, 13, false)), // as a hostile record may say
        ];
        assert_eq!(descendants(&threads.clone().into(), 7), [7, 8, 9, 10].into());
        assert_eq!(descendants(&threads.into(), 13), [13].into());
    }

    #[test]
    fn threads_of_many_names_are_listed_under_their_program() {
        let mut about = crate::stored::tests::about();
        let named = |pid: i32, process: i32, comm: &str| {
            (pid, Thread { comm: comm.to_owned(), ..thread(process, 1, false) })
        };
        let compiler = [(20, "rustc"), (21, "opt cgu.0"), (22, "opt cgu.1"), (23, "opt cgu.2")];
        let server = [(30, "server"), (31, "worker"), (32, "worker")];
        let all = compiler.map(|(pid, comm)| named(pid, 20, comm)).into_iter();
        about.threads = all.chain(server.map(|(pid, comm)| named(pid, 30, comm))).collect();
        let context = of(&about);
        let listed = |pid: i32, comm: &str| {
            context.program(&dyntick_explain::Task { pid, comm: comm.into() }).to_string()
        };
        assert_eq!((listed(22, "opt cgu.1"), listed(20, "rustc")), ("rustc".to_owned(), "rustc".to_owned()));
        assert_eq!((listed(31, "worker"), listed(9, "other")), ("worker".to_owned(), "other".to_owned()));
    }

    #[test]
    fn bpf_scheduler_has_all_normal_tasks_or_those_of_its_policy() {
        let with = |enabled, all| {
            let sched_ext = SchedExt { enabled, all };
            [Policy::Other, Policy::Ext, Policy::Fifo].map(|policy| class(policy, sched_ext).unwrap())
        };
        assert_eq!(with(true, true), [Class::Ext, Class::Ext, Class::RealTime]);
        assert_eq!(with(true, false), [Class::Fair, Class::Ext, Class::RealTime]);
        assert_eq!(with(false, true), [Class::Fair, Class::Fair, Class::RealTime]);
    }
}
