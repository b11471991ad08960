// SPDX-License-Identifier: GPL-2.0-only
//! From the accounts of threads to the findings about where their time went.

use crate::About;
use crate::sums::share;
use crate::threads::Selected;
use dyntick_explain::CommandThreads;
use dyntick_explain::fixes::Limit;
use dyntick_explain::ledger::words::{self, Clues, Words};
use dyntick_explain::ledger::{Amount, CallId, Ended, Fault, Spent, ThreadAccount, Whose};
use dyntick_model::Fix;
use dyntick_observe::facts::{MemoryLimit, Quota};
use dyntick_trace::WATCH_POINT;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The time of threads, all of it: of the recorded command and its descendants, or of those of `--of`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Ledger {
    /// The number of threads that were seen.
    pub threads: u64,
    /// The number of threads that were only on CPUs that are not recorded. They are not in it.
    pub threads_elsewhere: u64,
    /// The number of threads beyond the first 16 384, which are not in it.
    pub more_threads: u64,
    /// The sum of the times that they lived in the window, ns. The parts add up to it.
    pub lived_ns: u64,
    /// The time in which they wanted to go on and could not, ns.
    pub lost_ns: u64,
    /// That without sleep by their own will and without time on CPUs that are not recorded, ns.
    pub awake_ns: u64,
    /// The lost time as a share of that, 0 to 1.
    pub lost_share: f64,
    /// The parts: the lost ones first, the longest first, then the others.
    pub parts: Vec<Part>,
    /// The complete system calls, those that took longest in all first; null if they were not recorded.
    pub system_calls: Option<Vec<SystemCall>>,
    /// The moves of these threads to another CPU, by those that moved them, the most frequent first.
    pub moves: Vec<Mover>,
    /// Each of the threads, those that lost most first, at most 256.
    pub by_thread: Vec<ThreadLedger>,
}

/// A part of the time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    /// Its name: ran, fault, reclaim, interrupted, preempted, real-time-limit, quota, nothing-ran, moved, waking-up,
    /// stopped, traced, blocked, kept, timer-slack, probe, slept or unseen.
    pub part: &'static str,
    /// A title, for a reader new to the subject.
    pub title: String,
    /// The name of the task or program that had the CPU; null for other parts.
    pub task: Option<String>,
    /// The function of the kernel in which the threads slept; null for other parts, and if it is not known.
    pub function: Option<String>,
    /// True if that is mostly one of these threads.
    pub own: bool,
    /// True if the threads wanted to go on and could not.
    pub lost: bool,
    /// The time, ns; null for page faults whose ends were not recorded, and for probes. It is then in `ran`.
    pub ns: Option<u64>,
    /// The number of its pieces.
    pub count: u64,
    /// The longest piece, ns; null if the time is.
    pub longest_ns: Option<u64>,
    /// The tasks that ended the waits or had the CPU, the longest first, at most 8.
    pub by: Vec<By>,
    /// The mechanism; may be empty.
    pub explanation: &'static str,
    /// The fixes, the most effective first.
    pub fixes: Vec<Fix>,
}

/// A task that ended waits or had the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct By {
    /// The task, or how many tasks of one name, or `an interrupt`.
    pub by: String,
    /// The number.
    pub count: u64,
    /// The time, ns.
    pub ns: u64,
}

/// The calls of one system call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SystemCall {
    /// Its name, e.g. `futex()`, or its number where no table is known.
    pub call: String,
    /// The number of calls.
    pub count: u64,
    /// Their time from entry to exit, ns, with all waits.
    pub ns: u64,
    /// The time with a CPU for them, ns, without page faults, interrupts and waits for locks.
    pub ran_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
}

/// The one that moved a thread to another CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mover {
    /// The task, or `an interrupt` for the kernel's load balancing.
    pub by: String,
    /// The number of moves.
    pub count: u64,
}

/// The time of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadLedger {
    /// The thread.
    pub thread: String,
    /// The time that it lived in the window, ns.
    pub lived_ns: u64,
    /// The time in which it wanted to go on and could not, ns.
    pub lost_ns: u64,
    /// Its parts, ns, by name. They add up to the time that it lived.
    pub parts: BTreeMap<&'static str, u64>,
}

/// The name of the parts in which another task had the CPU.
pub const PREEMPTED: &str = "preempted";

impl Ledger {
    /// Returns true if none of the threads was ever on a recorded CPU.
    pub fn is_elsewhere(&self) -> bool {
        self.threads == 0 && self.threads_elsewhere > 0
    }

    /// The share of the time that these threads lived on CPUs that are not recorded, 0 to 1.
    pub fn unseen_share(&self) -> f64 {
        let unseen = Spent::Unseen.name();
        let ns = self.parts.iter().filter(|part| part.part == unseen).filter_map(|part| part.ns).sum::<u64>();
        share(ns as f64, self.lived_ns as f64)
    }

    /// All parts. Several with one title are first one with their sum, and then each, by the function in which it
    /// slept.
    pub fn detailed(&self) -> Vec<Part> {
        let mut all = Vec::new();
        for sum in sums(self.parts.iter()) {
            let each: Vec<&Part> = self.parts.iter().filter(|part| part.is_alike(&sum)).collect();
            let several = each.len() > 1;
            all.push(sum);
            all.extend(each.into_iter().filter(|_| several).map(|part| Part {
                title: format!("… in {}", part.function.as_deref().unwrap_or("an unknown function")),
                ..part.clone()
            }));
        }
        all
    }

    /// The parts in their order, those with one title as one, the waits for any other task as one, and those for one of
    /// these threads as one.
    pub fn folded(&self) -> Vec<Part> {
        let of = |own: bool| self.parts.iter().filter(move |part| part.part == PREEMPTED && part.own == own);
        let mut parts = sums(self.parts.iter().filter(|part| part.part != PREEMPTED));
        parts.extend([false, true].into_iter().filter_map(|own| folded(of(own).collect(), own)));
        sort(&mut parts);
        parts
    }
}

impl Part {
    /// Returns true for a part with the same title, which may differ in the function.
    fn is_alike(&self, other: &Part) -> bool {
        (self.part, &self.title) == (other.part, &other.title)
    }
}

/// The parts, those with one title as one.
fn sums<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<Part> {
    let mut sums: Vec<Part> = Vec::new();
    for part in parts {
        let Some(sum) = sums.iter_mut().find(|sum| sum.is_alike(part)) else {
            sums.push(part.clone());
            continue;
        };
        let by = sum.by.iter().chain(&part.by).cloned().collect();
        *sum = Part {
            function: None,
            ns: sum.ns.zip(part.ns).map(|(ns, more)| ns + more),
            count: sum.count + part.count,
            longest_ns: sum.longest_ns.max(part.longest_ns),
            by: foremost(by),
            ..sum.clone()
        };
    }
    sums
}

/// The tasks that ended or kept most.
fn foremost(mut by: Vec<By>) -> Vec<By> {
    by.sort_by_key(|by| std::cmp::Reverse(by.ns));
    by.truncate(MOST_BY);
    by
}

/// These waits as one; `None` if there are none. One alone stays as it is.
fn folded(mut parts: Vec<&Part>, own: bool) -> Option<Part> {
    parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
    let first = *parts.first()?;
    let mut names: Vec<String> = Vec::new();
    for name in parts.iter().filter_map(|part| part.task.as_ref()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if parts.len() == 1 {
        return Some(first.clone());
    }
    let whose = if own { "other threads of its own" } else { "other tasks" };
    let by = foremost(parts.iter().flat_map(|part| part.by.iter().cloned()).collect());
    Some(Part {
        title: format!("ready to run, while {whose} had the CPU: {}", few(&names)),
        task: None,
        ns: Some(parts.iter().filter_map(|part| part.ns).sum()),
        count: parts.iter().map(|part| part.count).sum(),
        longest_ns: parts.iter().filter_map(|part| part.longest_ns).max(),
        by,
        ..first.clone()
    })
}

/// The number of tasks that one part names.
const MOST_NAMES: usize = 3;

/// The first few names, and the number of the others.
fn few(names: &[String]) -> String {
    match names.len().saturating_sub(MOST_NAMES) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..MOST_NAMES].join(", ")),
    }
}

/// Sorts parts: the lost ones first, the longest first, probes before those.
fn sort(parts: &mut [Part]) {
    parts.sort_by_key(|part| std::cmp::Reverse((part.lost, part.part == PROBE, part.ns)));
}

/// The maximum number of threads that are listed, and of tasks of one part.
const MOST_THREADS: usize = 256;
const MOST_BY: usize = 8;

/// The threads that a ledger is about.
pub(crate) enum Subject {
    /// The threads of the recorded command, or process, and of its descendants.
    Command(CommandThreads),
    /// The threads of `--of`.
    Of(Selected),
}

impl Whose for Subject {
    fn is_one(&self, thread: i32, comm: &str) -> bool {
        match self {
            Self::Command(threads) => threads.has(thread),
            Self::Of(selected) => selected.is_one(thread, comm),
        }
    }

    fn fork(&mut self, parent: i32, child: i32) {
        if let Self::Command(threads) = self {
            threads.fork(parent, child);
        }
    }
}

/// The findings from accounts; `more` threads have none.
pub(crate) fn findings(accounts: &[ThreadAccount], more: u64, about: &About, forked: bool) -> Ledger {
    let is_seen = |account: &&ThreadAccount| account.spent.keys().any(|spent| *spent != Spent::Unseen);
    let (accounts, elsewhere): (Vec<&ThreadAccount>, Vec<&ThreadAccount>) =
        accounts.iter().partition(is_seen);
    let mut sums: BTreeMap<&Spent, Amount> = BTreeMap::new();
    let (mut moves, mut faults): (BTreeMap<&Ended, u64>, BTreeMap<Fault, u64>) = Default::default();
    for account in &accounts {
        account.spent.iter().for_each(|(spent, amount)| sums.entry(spent).or_default().merge(amount));
        account.moves.iter().for_each(|(by, count)| *moves.entry(by).or_default() += count);
        account.faults.iter().for_each(|(kind, count)| *faults.entry(*kind).or_default() += count);
    }
    let clues = clues(&accounts, about, forked);
    let own: BTreeSet<i32> = accounts.iter().map(|account| account.task.pid).collect();
    let mut parts: Vec<Part> =
        sums.iter().map(|(spent, amount)| part(spent, amount, &clues, Some(amount.ns))).collect();
    for (part, amount) in parts.iter_mut().zip(sums.values()).filter(|(part, _)| part.part == PREEMPTED) {
        part.own = is_mostly_of(amount, &own);
    }
    // Without the probe page faults are counted, and their time is a part of the time that they ran.
    for (kind, count) in faults {
        if !sums.contains_key(&Spent::Fault(kind)) {
            let amount = Amount { count, ..Amount::default() };
            parts.push(part(&Spent::Fault(kind), &amount, &clues, None));
        }
    }
    parts.extend(probes(about));
    sort(&mut parts);
    let lived_ns: u64 = accounts.iter().map(|account| account.lived_ns).sum();
    let lost_ns: u64 = accounts.iter().map(|account| lost(account)).sum();
    let is_idle = |spent: &Spent| matches!(spent, Spent::Slept(_) | Spent::Unseen);
    let idle_ns: u64 = sums.iter().filter(|(spent, _)| is_idle(spent)).map(|(_, sum)| sum.ns).sum();
    let awake_ns = lived_ns.saturating_sub(idle_ns);
    let mut by_thread: Vec<ThreadLedger> = accounts.iter().map(|account| thread(account)).collect();
    by_thread.sort_by_key(|thread| std::cmp::Reverse(thread.lost_ns));
    by_thread.truncate(MOST_THREADS);
    let mut moves: Vec<Mover> = moves.into_iter().map(|(by, count)| Mover { by: name(by), count }).collect();
    moves.sort_by_key(|mover| std::cmp::Reverse(mover.count));
    moves.truncate(MOST_BY);
    Ledger {
        threads: accounts.len() as u64,
        threads_elsewhere: elsewhere.len() as u64,
        more_threads: more,
        lived_ns,
        lost_ns,
        awake_ns,
        lost_share: share(lost_ns as f64, awake_ns as f64),
        parts,
        system_calls: calls(&accounts, &sums, &about.machine.architecture),
        moves,
        by_thread,
    }
}

/// The system calls of all these threads; `None` if they were not recorded.
fn calls(
    accounts: &[&ThreadAccount],
    sums: &BTreeMap<&Spent, Amount>,
    architecture: &str,
) -> Option<Vec<SystemCall>> {
    let is_of_calls = |spent: &&Spent| matches!(spent, Spent::RanInUserMode | Spent::Called(_));
    sums.keys().copied().find(is_of_calls)?;
    let mut calls: BTreeMap<CallId, Amount> = BTreeMap::new();
    for (id, amount) in accounts.iter().flat_map(|account| &account.calls) {
        calls.entry(*id).or_default().merge(amount);
    }
    let call = |(id, amount): (CallId, Amount)| SystemCall {
        call: words::call_name(id, architecture),
        count: amount.count,
        ns: amount.ns,
        ran_ns: sums.get(&Spent::Called(id)).map_or(0, |ran| ran.ns),
        longest_ns: amount.longest_ns,
    };
    let mut calls: Vec<SystemCall> = calls.into_iter().map(call).collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.ns));
    Some(calls)
}

/// The part of probes in programs. No event shows their traps, so their time is a part of the time that threads ran.
pub const PROBE: &str = "probe";

/// The hits of a probe in the window from which on it is a part.
const MANY_HITS: u64 = 100;

/// The traps in the window that no event shows: those of uprobes, by probe if tracefs has them, and of watch points.
fn probes(about: &About) -> Vec<Part> {
    let (before, after) = (&about.counts.0, &about.counts.1);
    let probes = grown(&before.probes, &after.probes);
    let of_tracefs: u64 = probes.iter().map(|(_, hits)| hits).sum();
    let mut parts: Vec<Part> = probes
        .into_iter()
        .map(|(probe, hits)| {
            trap(
                format!("trapped by a probe in a program (uprobe): {probe}"),
                hits,
                OF_UPROBE,
                REMOVE_IT.to_owned(),
            )
        })
        .collect();
    let openers = openers(about);
    for (probe, traps) in grown(&before.kernel_probes, &after.kernel_probes) {
        // A uprobe's trap is seen once or twice.
        if probe == WATCH_POINT.name {
            let title = "trapped by watch points (hardware breakpoints)".to_owned();
            parts.push(trap(
                title,
                traps,
                OF_WATCH_POINT,
                format!("end the tool that watches memory: {openers}"),
            ));
        } else if traps / 2 > of_tracefs {
            let mut title = "trapped by probes in programs (uprobes), which perf or BPF set".to_owned();
            title.extend(linked(about).map(|links| format!(": {links}")));
            let fix = match linkers(about) {
                none if none.is_empty() => format!("end the tool that set the probes: {openers}"),
                some => format!("end {some}, which set the probes"),
            };
            parts.push(trap(title, traps, OF_UPROBE, fix));
        }
    }
    parts.retain(|part| part.count >= MANY_HITS);
    parts
}

const OF_UPROBE: &str = "Each hit is a breakpoint and, for most instructions, a single step: two traps, some µs. No event \
    shows their time. The hits are those of all processes that run the file.";
const OF_WATCH_POINT: &str = "Each access to the watched memory is a trap, some µs. No event shows their time. They are \
    those of all processes.";
const REMOVE_IT: &str = "remove the probe: /sys/kernel/tracing/uprobe_events has it; its owner is the agent or debugger that set it";

fn trap(title: String, count: u64, explanation: &'static str, fix: String) -> Part {
    Part {
        part: PROBE,
        title,
        task: None,
        function: None,
        own: false,
        lost: true,
        ns: None,
        count,
        longest_ns: None,
        by: Vec::new(),
        explanation,
        fixes: vec![Fix::Advice(fix)],
    }
}

/// The counters that grew, with their growth.
fn grown<'a>(before: &BTreeMap<String, u64>, after: &'a BTreeMap<String, u64>) -> Vec<(&'a String, u64)> {
    let growth = |name: &String, hits: u64| hits.saturating_sub(before.get(name).copied().unwrap_or(0));
    let grown = after.iter().map(|(name, hits)| (name, growth(name, *hits)));
    grown.filter(|(_, hits)| *hits > 0).collect()
}

/// The probes in programs that BPF links hold, each with the process that has the link.
fn linked(about: &About) -> Option<String> {
    let of = |(process, links): (&i32, &BTreeSet<String>)| {
        let links: Vec<&str> = links.iter().take(MOST_NAMES).map(String::as_str).collect();
        let comm = about.threads.get(process).map(|thread| format!(" by {} [{process}]", thread.comm));
        format!("{}{}", links.join(", "), comm.unwrap_or_default())
    };
    let all: Vec<String> = about.owners.probe_links.iter().take(MOST_NAMES).map(of).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The processes that have the links, by name; empty if none was seen.
fn linkers(about: &About) -> String {
    names(about, about.owners.probe_links.keys().filter(|process| **process > 0))
}

/// The processes that may have set them: those with a perf event open.
fn openers(about: &About) -> String {
    let open = about.owners.perf_events.keys().filter(|process| Some(**process) != about.recorder);
    match names(about, open) {
        none if none.is_empty() => "no process with a perf event open is known".to_owned(),
        some => format!("{some} has perf events open"),
    }
}

fn names<'a>(about: &About, processes: impl Iterator<Item = &'a i32>) -> String {
    let name = |process: &i32| {
        let comm = about.threads.get(process).map_or("?", |thread| thread.comm.as_str());
        format!("{comm} [{process}]")
    };
    processes.take(MOST_NAMES).map(name).collect::<Vec<_>>().join(", ")
}

fn lost(account: &ThreadAccount) -> u64 {
    account.spent.iter().filter(|(spent, _)| spent.is_lost()).map(|(_, amount)| amount.ns).sum()
}

fn thread(account: &ThreadAccount) -> ThreadLedger {
    let mut parts = BTreeMap::new();
    for (spent, amount) in &account.spent {
        *parts.entry(spent.name()).or_default() += amount.ns;
    }
    ThreadLedger {
        thread: account.task.to_string(),
        lived_ns: account.lived_ns,
        lost_ns: lost(account),
        parts,
    }
}

/// Returns true if these tasks had the CPU for most of the time.
fn is_mostly_of(amount: &Amount, tasks: &BTreeSet<i32>) -> bool {
    let is_one = |ended: &Ended| matches!(ended, Ended::Task(task) if tasks.contains(&task.pid));
    let ns: u64 = amount.by.iter().filter(|(ended, _)| is_one(ended)).map(|(_, (_, ns))| ns).sum();
    ns * 2 > amount.ns
}

fn part(spent: &Spent, amount: &Amount, clues: &Clues, ns: Option<u64>) -> Part {
    let Words { title, explanation, fixes } = words::of(spent, amount, clues);
    Part {
        part: spent.name(),
        title,
        task: spent.task().map(str::to_owned),
        function: spent.function().map(|function| function.to_string()),
        own: false,
        lost: spent.is_lost(),
        ns,
        count: amount.count,
        longest_ns: ns.map(|_| amount.longest_ns),
        by: by_name(amount),
        explanation,
        fixes,
    }
}

/// The tasks of a sum, those of one name together.
fn by_name(amount: &Amount) -> Vec<By> {
    let mut by_name: BTreeMap<&str, (BTreeSet<i32>, By)> = BTreeMap::new();
    for (ended, (count, ns)) in &amount.by {
        let (comm, pid) = match ended {
            Ended::Task(task) => (&*task.comm, task.pid),
            Ended::Interrupt => ("", 0),
        };
        let new = || (BTreeSet::new(), By { by: name(ended), count: 0, ns: 0 });
        let (pids, sum) = by_name.entry(comm).or_insert_with(new);
        pids.insert(pid);
        sum.count += count;
        sum.ns += ns;
    }
    let named = |(comm, (pids, by)): (&str, (BTreeSet<i32>, By))| match pids.len() {
        1 => by,
        tasks => By { by: format!("{comm}, {tasks} tasks"), ..by },
    };
    let mut by: Vec<By> = by_name.into_iter().map(named).collect();
    by.sort_by_key(|by| std::cmp::Reverse(by.ns));
    by.truncate(MOST_BY);
    by
}

fn name(by: &Ended) -> String {
    match by {
        Ended::Task(task) => task.to_string(),
        Ended::Interrupt => "an interrupt".to_owned(),
    }
}

/// A quota for words and fixes.
pub(crate) fn limit(quota: &Quota) -> Limit {
    Limit { words: quota.words(), file: quota.file.clone() }
}

/// A memory limit for words and fixes.
pub fn memory_limit(limit: &MemoryLimit) -> Limit {
    Limit { words: limit.words(), file: limit.file.clone() }
}

/// The limit that was reached most often in the window; of those that are alike the first.
pub fn most_reached<'a>(limits: impl Iterator<Item = &'a MemoryLimit>) -> Option<&'a MemoryLimit> {
    limits.reduce(|most, limit| if limit.grown() > most.grown() { limit } else { most })
}

fn clues(accounts: &[&ThreadAccount], about: &About, forked: bool) -> Clues {
    let grown = |name: &str| {
        let [before, after] =
            [&about.counts.0, &about.counts.1].map(|counts| counts.memory.get(name).copied());
        after.unwrap_or(0).saturating_sub(before.unwrap_or(0))
    };
    let processes = accounts.iter().filter_map(|account| Some(about.threads.get(&account.task.pid)?.process));
    let limits = || processes.clone().filter_map(|process| about.owners.limits.get(&process)).flatten();
    let memory =
        || processes.clone().filter_map(|process| about.owners.memory_limits.get(&process)).flatten();
    let reached = most_reached(memory());
    Clues {
        quota: limits().next().map(limit),
        quotas: limits().map(|quota| (quota.number, limit(quota))).collect(),
        memory: reached.map(memory_limit),
        memory_high: most_reached(memory().filter(|limit| limit.is_high())).map(memory_limit),
        memory_reached: reached.is_some_and(|limit| limit.grown() > 0),
        numa_hints: grown("numa_hint_faults"),
        huge_faults: grown("thp_fault_alloc"),
        // Swapped pages come back several at a time, and only the first fault is a major one.
        major_faults: grown("pgmajfault").max(grown("pswpin")),
        cpus: about.cpus.clone(),
        forked,
        architecture: about.machine.architecture.clone(),
    }
}
