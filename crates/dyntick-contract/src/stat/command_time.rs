// SPDX-License-Identifier: GPL-2.0-only
//! The time of the command's threads: its parts in the words of `explain`.

use dyntick_count::{CommandTime, Measured};
use dyntick_explain::fixes::Limit;
use dyntick_explain::ledger::words::{self, Clues, Words};
use dyntick_explain::ledger::{Amount, Place, Spent, Waits};
use dyntick_model::Fix;
use dyntick_observe::facts::{MemoryLimit, Throttled};
use dyntick_observe::live::{Rival, WaitKind, WaitSum, Waited};
use dyntick_record::{Ledger, Part, memory_limit, most_reached, share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time of threads, all of it, also while they did not run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrintedTime {
    /// The number of threads that lived.
    pub threads: u64,
    /// The number of threads that are not in it, since there was no room.
    pub more_threads: u64,
    /// The number of events that are not in it: they came while their own program ran.
    pub lost_events: u64,
    /// The sum of the times that they lived. The parts add up to it.
    pub lived_ns: u64,
    /// The time in which they wanted to go on and could not.
    pub lost_ns: u64,
    /// The time without sleep by their own will.
    pub awake_ns: u64,
    /// The lost time as a share of that, 0 to 1.
    pub lost_share: f64,
    /// The parts: the lost ones first, the longest first, then the others.
    pub parts: Vec<TimePart>,
    /// The CPU quotas that were used up while one of the threads waited, by the kernel's own account.
    pub quotas: Vec<Quota>,
    /// The memory limits that control groups of these threads reached, by the kernel's own account.
    pub memory_limits: Vec<ReachedLimit>,
}

/// A part of the time.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TimePart {
    /// Its name, as in `explain`: ran, reclaim, preempted, real-time-limit, quota, nothing-ran, waking-up, stopped,
    /// traced, blocked or slept.
    pub part: String,
    /// The beginning of a wait for a CPU; null for others.
    pub after: Option<After>,
    /// The name of the task that had the CPU; null if it is not known.
    pub by: Option<String>,
    /// A title.
    pub title: String,
    /// True if the threads wanted to go on and could not.
    pub lost: bool,
    /// The time.
    pub ns: u64,
    /// The number of its pieces. One that lasts over several intervals is in each.
    pub count: u64,
    /// The longest piece.
    pub longest_ns: u64,
    /// The mechanism; may be empty.
    pub explanation: String,
    /// The fixes, the most effective first.
    pub fixes: Vec<String>,
}

/// The beginning of a wait for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum After {
    /// The thread was woken.
    WakeUp,
    /// The thread had a CPU and lost it.
    Preemption,
}

/// A CPU quota that was used up.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Quota {
    /// The control group, as its path below the root of the hierarchy.
    pub group: String,
    /// The quota, in words.
    pub quota: String,
    /// The number of periods in which the group was throttled (`nr_throttled`).
    pub throttled: u64,
    /// The time in which it was throttled, summed over CPUs (`throttled_usec`).
    pub throttled_ns: u64,
}

/// A memory limit that was reached.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReachedLimit {
    /// The control group, as its path below the root of the hierarchy.
    pub group: String,
    /// The limit, in words.
    pub limit: String,
    /// The number of times that it was reached (`memory.events.local`).
    pub reached: u64,
}

impl PrintedTime {
    pub(super) fn of(time: &CommandTime, measured: &Measured) -> Self {
        let entries = entries(time, measured);
        let Sums { lived_ns, lost_ns, awake_ns, lost_share } =
            Sums::of(entries.iter().map(|entry| &entry.part));
        Self {
            threads: time.waited.threads,
            more_threads: time.waited.no_room,
            lost_events: time.waited.lost,
            lived_ns,
            lost_ns,
            awake_ns,
            lost_share,
            parts: entries.into_iter().map(Entry::printed).collect(),
            quotas: time.throttled.iter().map(Quota::of).collect(),
            memory_limits: time.memory_limits.iter().map(ReachedLimit::of).collect(),
        }
    }
}

impl ReachedLimit {
    fn of(limit: &MemoryLimit) -> Self {
        Self { group: limit.group.clone(), limit: limit.words(), reached: limit.grown() }
    }
}

impl Quota {
    fn of(throttled: &Throttled) -> Self {
        Self {
            group: throttled.quota.group.clone(),
            quota: throttled.quota.words(),
            throttled: throttled.count,
            throttled_ns: throttled.ns,
        }
    }
}

/// The time of the command's threads as a ledger like that of `explain`, without single threads and their moves;
/// `None` if it was not measured.
pub fn ledger(measured: &Measured) -> Option<Ledger> {
    let time = measured.command_time.as_ref()?;
    let parts: Vec<Part> = entries(time, measured).into_iter().map(|entry| entry.part).collect();
    let Sums { lived_ns, lost_ns, awake_ns, lost_share } = Sums::of(parts.iter());
    Some(Ledger {
        threads: time.waited.threads,
        more_threads: time.waited.no_room,
        lived_ns,
        lost_ns,
        awake_ns,
        lost_share,
        parts,
        ..Ledger::default()
    })
}

/// The sums of all parts, ns, and the lost share of the time awake.
struct Sums {
    lived_ns: u64,
    lost_ns: u64,
    awake_ns: u64,
    lost_share: f64,
}

impl Sums {
    fn of<'a>(parts: impl Iterator<Item = &'a Part>) -> Self {
        let (mut lived_ns, mut lost_ns, mut slept_ns) = (0, 0, 0);
        for part in parts {
            let ns = part.ns.unwrap_or(0);
            lived_ns += ns;
            lost_ns += if part.lost { ns } else { 0 };
            slept_ns += if part.part == Spent::Slept(None).name() { ns } else { 0 };
        }
        let awake_ns = lived_ns - slept_ns;
        Self { lived_ns, lost_ns, awake_ns, lost_share: share(lost_ns as f64, awake_ns as f64) }
    }
}

/// A part, and the facts that only this document has.
struct Entry {
    part: Part,
    after: Option<After>,
    by: Option<String>,
}

impl Entry {
    fn printed(self) -> TimePart {
        let Part { part, title, lost, ns, count, longest_ns, explanation, fixes, .. } = self.part;
        TimePart {
            part: part.to_owned(),
            after: self.after,
            by: self.by,
            title,
            lost,
            ns: ns.unwrap_or_default(),
            count,
            longest_ns: longest_ns.unwrap_or_default(),
            explanation: explanation.to_owned(),
            fixes: fixes.iter().map(Fix::to_string).collect(),
        }
    }
}

fn entries(time: &CommandTime, measured: &Measured) -> Vec<Entry> {
    let limit = time.throttled.iter().max_by_key(|group| group.ns);
    let clues = Clues {
        quota: limit.map(|group| Limit { words: group.quota.words(), file: group.quota.file.clone() }),
        memory: most_reached(time.memory_limits.iter()).map(memory_limit),
        cpus: measured.cpus.clone(),
        ..Clues::default()
    };
    let nothing = nothing_ran(&time.waited, limit.is_some(), measured.no_real_time_limit);
    let entry = |((kind, by), sum): (&(WaitKind, Option<Rival>), &WaitSum)| {
        entry(*kind, by.as_ref(), sum, &nothing, &clues)
    };
    let mut entries: Vec<Entry> = time.waited.sums.iter().map(entry).collect();
    entries.sort_by_key(|entry| std::cmp::Reverse((entry.part.lost, entry.part.ns)));
    entries
}

/// The use of the time in which threads were ready and nothing ran.
fn nothing_ran(waited: &Waited, has_quota: bool, no_real_time_limit: bool) -> Spent {
    let is_nothing = |kind| matches!(kind, WaitKind::WokenNothing | WaitKind::PreemptedNothing);
    let all: u64 = waited.sums.iter().filter(|((kind, _), _)| is_nothing(*kind)).map(|(_, sum)| sum.ns).sum();
    if !no_real_time_limit && waited.real_time_ns * 2 > all {
        Spent::RealTimeLimit
    } else if has_quota {
        Spent::Quota(None)
    } else {
        Spent::NothingRan
    }
}

/// A place of which only the object of the wait is known.
fn for_memory(clues: &Clues) -> Place {
    let waits = if clues.memory.is_some() { Waits::MemoryLimit } else { Waits::Memory };
    Place { waits, function: "?".into(), call: None }
}

fn entry(kind: WaitKind, by: Option<&Rival>, sum: &WaitSum, nothing: &Spent, clues: &Clues) -> Entry {
    let had = || match by {
        Some(Rival { name, own: true }) => Spent::Preempted(format!("its own {name}").into()),
        Some(Rival { name, own: false }) => Spent::Preempted(name.clone()),
        None => Spent::Preempted("another task".into()),
    };
    let (spent, after) = match kind {
        WaitKind::Ran => (Spent::Ran, None),
        WaitKind::Slept => (Spent::Slept(None), None),
        WaitKind::Reclaimed => (Spent::Reclaimed, None),
        WaitKind::Blocked => (Spent::Blocked(None), None),
        WaitKind::BlockedMemory => (Spent::Blocked(Some(for_memory(clues))), None),
        WaitKind::Stopped => (Spent::Stopped(None), None),
        WaitKind::Traced => (Spent::Traced, None),
        WaitKind::Waking => (Spent::WakingUp, Some(After::WakeUp)),
        WaitKind::Woken => (had(), Some(After::WakeUp)),
        WaitKind::Preempted => (had(), Some(After::Preemption)),
        WaitKind::WokenNothing => (nothing.clone(), Some(After::WakeUp)),
        WaitKind::PreemptedNothing => (nothing.clone(), Some(After::Preemption)),
        WaitKind::WokenThrottled => (Spent::Quota(None), Some(After::WakeUp)),
        WaitKind::PreemptedThrottled => (Spent::Quota(None), Some(After::Preemption)),
    };
    let Words { title, explanation, fixes } = words::of(&spent, &Amount::default(), clues);
    let title = match after {
        Some(After::Preemption) => format!("{title}, after a preemption"),
        Some(After::WakeUp) if kind != WaitKind::Waking => format!("{title}, after a wake-up"),
        _ => title,
    };
    let part = Part {
        part: spent.name(),
        title,
        task: by.map(|by| by.name.to_string()),
        function: None,
        own: by.is_some_and(|by| by.own),
        lost: spent.is_lost(),
        ns: Some(sum.ns),
        count: sum.count,
        longest_ns: Some(sum.longest_ns),
        by: Vec::new(),
        explanation,
        fixes,
    };
    let by = part.task.clone();
    Entry { part, after, by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::CpuList;
    use dyntick_observe::facts;

    const MS: u64 = 1_000_000;

    fn sum(ms: u64, count: u64) -> WaitSum {
        WaitSum { ns: ms * MS, count, longest_ns: ms * MS / 2 }
    }

    fn time() -> CommandTime {
        let sums = [
            ((WaitKind::Ran, None), sum(100, 9)),
            ((WaitKind::Slept, None), sum(50, 2)),
            ((WaitKind::Preempted, Some(Rival { name: "yes".into(), own: true })), sum(30, 4)),
            ((WaitKind::Woken, None), sum(1, 1)),
            ((WaitKind::PreemptedNothing, None), sum(300, 5)),
        ];
        let waited = Waited { threads: 2, no_room: 3, sums: sums.into(), ..Waited::default() };
        let quota = facts::Quota {
            number: 7,
            group: "pod".to_owned(),
            file: "/sys/fs/cgroup/pod/cpu.max".to_owned(),
            quota_us: 20_000,
            period_us: 100_000,
        };
        let throttled = Throttled { quota, count: 5, ns: 299 * MS };
        CommandTime { waited, throttled: vec![throttled], ..CommandTime::default() }
    }

    #[test]
    fn lost_parts_come_first_with_their_fix() {
        let measured = Measured { cpus: CpuList::first(1), ..Measured::default() };
        let printed = PrintedTime::of(&time(), &measured);
        let names: Vec<&str> = printed.parts.iter().map(|part| part.part.as_str()).collect();
        assert_eq!(names, ["quota", "preempted", "preempted", "ran", "slept"]);
        assert_eq!(printed.parts[0].fixes, ["echo max > /sys/fs/cgroup/pod/cpu.max"]);
        assert_eq!(printed.parts[1].title, "ready to run, while its own yes had the CPU, after a preemption");
        assert_eq!(printed.parts[2].title, "ready to run, while another task had the CPU, after a wake-up");
        assert_eq!((printed.lived_ns, printed.lost_ns), (481 * MS, 331 * MS));
        assert_eq!((printed.awake_ns, printed.more_threads), (431 * MS, 3));
        assert_eq!(printed.parts.iter().map(|part| part.ns).sum::<u64>(), printed.lived_ns);
    }

    #[test]
    fn quota_beside_another_task_is_told_from_the_wait_for_it() {
        let mut time = time();
        time.waited.sums = [
            ((WaitKind::Preempted, Some(Rival { name: "yes".into(), own: false })), sum(30, 4)),
            ((WaitKind::PreemptedThrottled, None), sum(300, 5)),
            ((WaitKind::WokenThrottled, None), sum(20, 1)),
        ]
        .into();
        let printed = PrintedTime::of(&time, &Measured::default());
        let parts: Vec<_> = printed.parts.iter().map(|part| (part.part.as_str(), part.ns / MS)).collect();
        assert_eq!(parts, [("quota", 300), ("preempted", 30), ("quota", 20)]);
        assert_eq!(printed.parts[2].fixes, ["echo max > /sys/fs/cgroup/pod/cpu.max"]);
    }

    #[test]
    fn memory_limit_is_named_with_its_time() {
        let mut time = time();
        time.waited.sums = [
            ((WaitKind::Ran, None), sum(100, 9)),
            ((WaitKind::Reclaimed, None), sum(300, 5)),
            ((WaitKind::BlockedMemory, None), sum(20, 1)),
        ]
        .into();
        let fixes = |time: &CommandTime| {
            let parts = PrintedTime::of(time, &Measured::default()).parts;
            let parts = parts.into_iter().map(|part| (part.part, part.ns / MS, part.lost, part.fixes));
            parts.take(2).collect::<Vec<_>>()
        };
        let of = |fixes: &[&str]| fixes.iter().map(|fix| (*fix).to_owned()).collect::<Vec<_>>();
        let none = of(&[]);
        let named = |name: &str, ms, fixes: &[&str]| (name.to_owned(), ms, true, of(fixes));
        assert_eq!(fixes(&time)[0], ("reclaim".to_owned(), 300, true, none));
        let file = "/sys/fs/cgroup/pod/memory.max".to_owned();
        let limit = facts::MemoryLimit { group: "pod".to_owned(), file, kib: 4096, before: 1, reached: 9 };
        time.memory_limits = vec![limit];
        let fix = ["echo max > /sys/fs/cgroup/pod/memory.max"];
        assert_eq!(fixes(&time), [named("reclaim", 300, &fix), named("blocked", 20, &fix)]);
        assert_eq!(PrintedTime::of(&time, &Measured::default()).memory_limits[0].reached, 8);
    }

    #[test]
    fn idle_time_has_a_reason_only_if_one_is_known() {
        let part_on = |no_real_time_limit, real_time_ns, throttled| {
            let mut time = time();
            (time.waited.real_time_ns, time.throttled) = (real_time_ns, throttled);
            let measured = Measured { no_real_time_limit, ..Measured::default() };
            PrintedTime::of(&time, &measured).parts.swap_remove(0).part
        };
        let part = |real_time_ns, throttled| part_on(false, real_time_ns, throttled);
        assert_eq!(part(0, time().throttled), "quota");
        assert_eq!(part(0, Vec::new()), "nothing-ran");
        assert_eq!(part(200 * MS, Vec::new()), "real-time-limit");
        assert_eq!(part_on(true, 200 * MS, Vec::new()), "nothing-ran", "a kernel without that limit");
    }
}
