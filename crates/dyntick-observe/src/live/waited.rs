// SPDX-License-Identifier: GPL-2.0-only
//! The time of followed threads, by what they did and waited for. Pure.

use super::keys::text;
use dyntick_bpf::layout::NAME;
use dyntick_bpf::layout::kind::{
    BLOCKED, BLOCKED_MEMORY, ENDED, KINDS, PREEMPTED, PREEMPTED_NOTHING, PREEMPTED_THROTTLED, RAN, RECLAIMED,
    SLEPT, STOPPED, TRACED, UNSEEN, WAKING, WOKEN, WOKEN_NOTHING, WOKEN_THROTTLED,
};
use dyntick_bpf::waits::{Thread, idle_at};
use dyntick_model::Symbol;
use std::collections::{BTreeMap, BTreeSet};

/// The kinds of a thread's time. Each nanosecond of its life is in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitKind {
    /// It was woken, and its CPU had to leave idle.
    Waking,
    /// It had a CPU.
    Ran,
    /// It had a CPU and freed memory of its control group, which had reached a limit.
    Reclaimed,
    /// It slept in the kernel and could not be interrupted (D).
    Blocked,
    /// The same, until memory was freed or read back.
    BlockedMemory,
    /// A signal had stopped it (T).
    Stopped,
    /// A tracer had stopped it (t).
    Traced,
    /// It slept.
    Slept,
    /// It was ready after a wake-up, and another task had its CPU.
    Woken,
    /// It was ready after a wake-up, and nothing had its CPU.
    WokenNothing,
    /// It was ready after a wake-up, and the CPU quota of its control group was used up.
    WokenThrottled,
    /// It was ready after a preemption, and another task had its CPU.
    Preempted,
    /// It was ready after a preemption, and nothing had its CPU.
    PreemptedNothing,
    /// It was ready after a preemption, and the CPU quota of its control group was used up.
    PreemptedThrottled,
}

impl WaitKind {
    /// All kinds, each at its number in the programs.
    pub const ALL: [WaitKind; KINDS] = {
        let mut all = [WaitKind::Waking; KINDS];
        all[WAKING] = WaitKind::Waking;
        all[RAN] = WaitKind::Ran;
        all[BLOCKED] = WaitKind::Blocked;
        all[BLOCKED_MEMORY] = WaitKind::BlockedMemory;
        all[RECLAIMED] = WaitKind::Reclaimed;
        all[STOPPED] = WaitKind::Stopped;
        all[TRACED] = WaitKind::Traced;
        all[SLEPT] = WaitKind::Slept;
        all[WOKEN] = WaitKind::Woken;
        all[WOKEN_NOTHING] = WaitKind::WokenNothing;
        all[WOKEN_THROTTLED] = WaitKind::WokenThrottled;
        all[PREEMPTED] = WaitKind::Preempted;
        all[PREEMPTED_NOTHING] = WaitKind::PreemptedNothing;
        all[PREEMPTED_THROTTLED] = WaitKind::PreemptedThrottled;
        all
    };
}

/// Pieces of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitSum {
    /// Their sum, ns.
    pub ns: u64,
    /// Their number. One that lasts over several readings is in each.
    pub count: u64,
    /// The longest, ns.
    pub longest_ns: u64,
}

impl WaitSum {
    /// Adds other pieces.
    pub fn add(&mut self, other: &WaitSum) {
        self.ns += other.ns;
        self.count += other.count;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Tasks that had a CPU for which a followed thread waited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rival {
    /// Their name.
    pub name: Symbol,
    /// True if they are followed threads, too.
    pub own: bool,
}

impl Rival {
    /// Reads a name as the programs write it.
    pub(super) fn of(name: &[u8; NAME], own: bool) -> Self {
        Self { name: text(name).into(), own }
    }
}

/// The time of followed threads from one reading to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// The number of threads that lived.
    pub threads: u64,
    /// The number of threads that are not in it, since there was no room.
    pub no_room: u64,
    /// The number of events that are not in it: they came while their own program ran.
    pub lost: u64,
    /// The time in which nothing ran and real-time tasks wanted the CPU, ns.
    pub real_time_ns: u64,
    /// The control groups that waited while nothing ran, by the numbers of their folders: the last one of each CPU.
    pub groups: BTreeSet<u64>,
    /// The control groups of threads that freed memory, or were blocked for it: the last one of each CPU.
    pub memory_groups: BTreeSet<u64>,
    /// The sums by kind and, of waits in which another task had the CPU, by that task if it is known. They add up to
    /// the time that the threads lived.
    pub sums: BTreeMap<(WaitKind, Option<Rival>), WaitSum>,
}

impl Waited {
    /// The time that the threads lived, ns.
    pub fn lived_ns(&self) -> u64 {
        self.sums.values().map(|sum| sum.ns).sum()
    }

    /// Adds the time of another run.
    pub fn add(&mut self, other: &Waited) {
        self.threads += other.threads;
        self.no_room += other.no_room;
        self.lost += other.lost;
        self.real_time_ns += other.real_time_ns;
        self.groups.extend(&other.groups);
        self.memory_groups.extend(&other.memory_groups);
        for (key, sum) in &other.sums {
            self.sums.entry(key.clone()).or_default().add(sum);
        }
    }
}

/// Pieces of time since the programs were loaded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pieces {
    /// Time and number, of pieces in progress the time alone; the longest since the reading before.
    pub sum: WaitSum,
    /// The number of pieces in progress.
    pub open: u64,
}

impl Pieces {
    /// Adds a piece in progress.
    pub fn add_open(&mut self, ns: u64) {
        self.sum.add(&WaitSum { ns, count: 0, longest_ns: ns });
        self.open += 1;
    }

    /// The growth of the number and the longest since an earlier reading, for this growth of the time.
    fn since(&self, before: &Pieces, ns: u64) -> WaitSum {
        let count = self.sum.count.saturating_sub(before.sum.count) + self.open;
        WaitSum { ns, count: count.max(1), longest_ns: self.sum.longest_ns.min(ns) }
    }
}

/// The sums since the programs were loaded.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    /// By kind.
    pub kinds: [Pieces; KINDS],
    /// By kind and the task that had the CPU.
    pub rivals: BTreeMap<(usize, Rival), Pieces>,
    /// The number of threads that live.
    pub alive: u64,
    /// The number of threads that began.
    pub began: u64,
    pub no_room: u64,
    pub lost: u64,
    pub real_time_ns: u64,
    pub groups: BTreeSet<u64>,
    pub memory_groups: BTreeSet<u64>,
}

impl Totals {
    /// The pieces in which such a task had the CPU.
    pub fn rival(&mut self, kind: usize, rival: Rival) -> &mut Pieces {
        self.rivals.entry((kind, rival)).or_default()
    }

    /// The growth since an earlier reading.
    pub fn since(&self, before: &Totals) -> Waited {
        let mut waited = Waited {
            threads: before.alive + self.began.saturating_sub(before.began),
            no_room: self.no_room.saturating_sub(before.no_room),
            lost: self.lost.saturating_sub(before.lost),
            real_time_ns: self.real_time_ns.saturating_sub(before.real_time_ns),
            groups: self.groups.clone(),
            memory_groups: self.memory_groups.clone(),
            ..Waited::default()
        };
        let grown = |kind: usize| self.kinds[kind].sum.ns as i64 - before.kinds[kind].sum.ns as i64;
        let ns = settled(std::array::from_fn(grown));
        for (number, kind) in WaitKind::ALL.into_iter().enumerate().filter(|(number, _)| ns[*number] > 0) {
            let mut left = self.kinds[number].since(&before.kinds[number], ns[number]);
            for (rival, sum) in self.rivals_since(before, number) {
                // A wait that has ended is read with its name a moment later than the sum.
                let sum = WaitSum { ns: sum.ns.min(left.ns), longest_ns: sum.longest_ns.min(left.ns), ..sum };
                if sum.ns > 0 {
                    (left.ns, left.count) = (left.ns - sum.ns, left.count.saturating_sub(sum.count).max(1));
                    waited.sums.insert((kind, Some(rival)), sum);
                }
            }
            if left.ns > 0 {
                left.longest_ns = left.longest_ns.min(left.ns);
                waited.sums.insert((kind, None), left);
            }
        }
        waited
    }

    /// The growth of a kind by task, the longest first.
    fn rivals_since(&self, before: &Totals, kind: usize) -> Vec<(Rival, WaitSum)> {
        let grown = |(key, now): (&(usize, Rival), &Pieces)| {
            let then = before.rivals.get(key).copied().unwrap_or_default();
            (key.1.clone(), now.since(&then, now.sum.ns.saturating_sub(then.sum.ns)))
        };
        let mut rivals: Vec<_> = self.rivals.iter().filter(|(key, _)| key.0 == kind).map(grown).collect();
        rivals.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.ns));
        rivals
    }
}

/// Takes what a kind lost from those that grew most. A wait may turn out to be of another kind than it seemed at the
/// reading before.
fn settled(mut grown: [i64; KINDS]) -> [u64; KINDS] {
    let mut debt: i64 = grown.iter().filter(|ns| **ns < 0).sum();
    while debt < 0 {
        let Some(most) = grown.iter_mut().max().filter(|most| **most > 0) else { break };
        let paid = (*most).min(-debt);
        (*most, debt) = (*most - paid, debt + paid);
    }
    grown.map(|ns| ns.max(0) as u64)
}

/// The piece in progress of a thread at `now`: its parts by kind. `idle` is the idle time of the CPU that it waits for,
/// if it waits for one.
pub(super) fn in_progress(thread: &Thread, now: u64, idle: u64, longest_idle_exit: u64) -> [(usize, u64); 3] {
    let (state, since) = (thread.state as usize, thread.since);
    let wait = |kind: usize, began: u64| {
        let ns = now.saturating_sub(began);
        let idle = idle.saturating_sub(idle_at(thread.idle, began)).min(ns);
        let is_way = kind == WOKEN && idle <= longest_idle_exit;
        [(kind, ns - idle), (if is_way { WAKING } else { kind + 1 }, idle)]
    };
    let none = (RAN, 0);
    match state {
        // While its state changes the piece is on its way to the sums.
        _ if since == 0 => [none; 3],
        ENDED => [none; 3],
        WOKEN | PREEMPTED => {
            let [other, idle] = wait(state, since);
            [other, idle, none]
        }
        UNSEEN => [(RAN, now.saturating_sub(since)), none, none],
        _ if thread.woken != 0 => {
            let [other, idle] = wait(WOKEN, thread.woken);
            [(state, thread.woken.saturating_sub(since)), other, idle]
        }
        _ => [(state, now.saturating_sub(since)), none, none],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_bpf::waits::IS_IDLE;

    const MS: u64 = 1_000_000;

    fn thread(state: usize) -> Thread {
        Thread { tid: 7, state: state as u32, since: 10 * MS, idle: 3 * MS, ..Thread::default() }
    }

    #[test]
    fn numbers_of_kinds_are_the_programs() {
        assert_eq!(WaitKind::ALL[RAN], WaitKind::Ran);
        assert_eq!(WaitKind::ALL[PREEMPTED + 1], WaitKind::ALL[PREEMPTED_NOTHING]);
        assert_eq!(WaitKind::ALL[WOKEN + 1], WaitKind::ALL[WOKEN_NOTHING]);
        assert_eq!(WaitKind::ALL[PREEMPTED + 2], WaitKind::PreemptedThrottled);
        assert_eq!(WaitKind::ALL[WOKEN + 2], WaitKind::WokenThrottled);
        assert_eq!(WaitKind::ALL.into_iter().collect::<BTreeSet<_>>().len(), KINDS);
    }

    #[test]
    fn wait_is_split_by_the_idle_time_of_its_cpu() {
        let parts = |state, idle| in_progress(&thread(state), 30 * MS, idle, 2 * MS);
        assert_eq!(parts(PREEMPTED, 8 * MS)[..2], [(PREEMPTED, 15 * MS), (PREEMPTED_NOTHING, 5 * MS)]);
        assert_eq!(parts(WOKEN, 4 * MS)[..2], [(WOKEN, 19 * MS), (WAKING, MS)]);
        assert_eq!(parts(WOKEN, 90 * MS)[..2], [(WOKEN, 0), (WOKEN_NOTHING, 20 * MS)]);
        assert_eq!(parts(WOKEN, 0)[..2], [(WOKEN, 20 * MS), (WAKING, 0)], "it was not idle after all");
        let idle_since_5_ms = Thread { idle: IS_IDLE | (5 * MS), ..thread(WOKEN) };
        assert_eq!(
            in_progress(&idle_since_5_ms, 30 * MS, 6 * MS, 0)[1],
            (WOKEN_NOTHING, MS),
            "5 ms until 10 ms"
        );
        let woken = Thread { woken: 24 * MS, ..thread(SLEPT) };
        let parts_of_woken = [(SLEPT, 14 * MS), (WOKEN, 5 * MS), (WAKING, MS)];
        assert_eq!(in_progress(&woken, 30 * MS, 4 * MS, 2 * MS), parts_of_woken);
        assert_eq!(parts(SLEPT, 0)[0], (SLEPT, 20 * MS));
        assert_eq!(parts(UNSEEN, 0)[0], (RAN, 20 * MS));
        assert_eq!(parts(ENDED, 0)[0].1, 0);
    }

    #[test]
    fn growth_adds_up_even_if_a_wait_changes_its_kind() {
        let mut grown = [0; KINDS];
        (grown[WAKING], grown[WOKEN_NOTHING], grown[RAN]) = (-2, 30, 7);
        let settled = settled(grown);
        assert_eq!((settled[WAKING], settled[WOKEN_NOTHING], settled[RAN]), (0, 28, 7));
    }

    #[test]
    fn rivals_are_a_part_of_their_kind() {
        let sum = |ns, count| WaitSum { ns, count, longest_ns: ns };
        let other = |name: &str| Rival { name: name.into(), own: false };
        let mut before = Totals { alive: 1, began: 4, ..Totals::default() };
        before.kinds[PREEMPTED].sum = sum(100, 5);
        before.rival(PREEMPTED, other("yes")).sum = sum(60, 3);
        let mut now = Totals { began: 6, alive: 0, ..before.clone() };
        now.kinds[PREEMPTED].sum = sum(400, 9);
        now.rival(PREEMPTED, other("yes")).sum = sum(260, 5);
        now.rival(PREEMPTED, other("sh")).add_open(50);
        now.kinds[SLEPT].add_open(40);
        let waited = now.since(&before);
        let of = |kind, name: Option<&str>| waited.sums[&(kind, name.map(other))];
        assert_eq!((waited.threads, waited.lived_ns()), (3, 340));
        assert_eq!(of(WaitKind::Preempted, Some("yes")), WaitSum { longest_ns: 200, ..sum(200, 2) });
        assert_eq!(of(WaitKind::Preempted, Some("sh")), sum(50, 1));
        assert_eq!(of(WaitKind::Preempted, None), sum(50, 1), "the rest");
        assert_eq!(of(WaitKind::Slept, None), sum(40, 1));
    }
}
