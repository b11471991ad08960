// SPDX-License-Identifier: GPL-2.0-only
//! The time of followed threads, accounted for by eBPF programs on all CPUs while they run and wait.

use super::followed::Followed;
use super::loaded::{LiveError, attach, map_array, no_thread, recursion_misses};
use super::waited::{Rival, Totals, in_progress};
use super::{WaitSum, Waited};
use crate::facts::{MemoryLimits, Quotas, state_of};
use crate::thread::now_ns;
use aya::{Btf, Ebpf};
use dyntick_bpf::FOLLOWED;
use dyntick_bpf::layout::kind::{
    BLOCKED, ENDED, FREE, KINDS, PREEMPTED, RAN, SLEPT, STOPPED, TRACED, UNSEEN, WOKEN,
};
use dyntick_bpf::layout::{MAX_CPUS, NO_THREAD, RIVALS, THREAD_PROBES, THREADS, by};
use dyntick_bpf::waits::{CPUS, Cpu, IS_IDLE, LOCKS, RECLAIMS, TRACEPOINTS, Thread, idle_at};
use dyntick_model::CpuList;
use memmap2::MmapRaw;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The number of attempts to read a thread whose state changes all the time.
const TRIES: usize = 1000;

/// The number of attempts to find the state of a thread that is about to be followed.
const LOOKS: usize = 3;

/// The time of threads, for which programs account that belong to [`super::Counters`].
pub struct Waits {
    /// The programs, whose skipped runs are lost events.
    programs: Vec<OwnedFd>,
    followed: Followed,
    threads: MmapRaw,
    cpus: MmapRaw,
    /// The number of CPUs that are possible.
    possible: usize,
    longest_idle_exit_ns: u64,
    /// The time of threads that have ended, and the number that had ended when they were read.
    dead: [u64; KINDS],
    ended: u64,
    /// The number of named threads that found no room.
    no_room: u64,
    before: Totals,
    /// The CPU quotas of control groups.
    pub quotas: Quotas,
    /// The memory limits of control groups.
    pub memory_limits: MemoryLimits,
}

impl Waits {
    /// Attaches the programs of [`TRACEPOINTS`]; that of `sched_switch` must come after, and that of forks before any
    /// thread is followed. After a wake-up a CPU may take the given time to leave idle, ns. Longer waits for an idle
    /// CPU have another reason.
    pub(super) fn start(
        ebpf: &mut Ebpf,
        btf: &Btf,
        longest_idle_exit_ns: u64,
        quotas: Quotas,
    ) -> Result<Self, LiveError> {
        let possible = possible();
        let followed = Followed::new(map_array(ebpf, FOLLOWED, Followed::BYTES)?);
        let threads = map_array(ebpf, dyntick_bpf::waits::THREADS, size_of::<Thread>() * THREADS)?;
        let cpus = map_array(ebpf, CPUS, size_of::<Cpu>() * possible)?;
        let waits = Self {
            programs: Vec::new(),
            followed,
            threads,
            cpus,
            possible,
            longest_idle_exit_ns,
            dead: [0; KINDS],
            ended: 0,
            no_room: 0,
            before: Totals::default(),
            quotas,
            memory_limits: MemoryLimits::read(),
        };
        for place in 0..THREAD_PROBES {
            // SAFETY: within the mapping. No program is attached yet.
            unsafe { (&raw mut (*waits.thread(place)).tid).write_volatile(NO_THREAD) };
        }
        // A CPU whose first switch is not from idle was not idle before.
        let now = now_ns();
        for cpu in 0..possible {
            // SAFETY: within the mapping. No program is attached yet.
            unsafe { (&raw mut (*waits.cpu(cpu)).idle).write_volatile(IS_IDLE | now) };
        }
        for tracepoint in TRACEPOINTS {
            if !attach(ebpf, tracepoint, btf)? {
                return Err(LiveError::Refused(format!("the kernel has no tracepoint {tracepoint}")));
            }
        }
        // Without them such waits are sleeps.
        for lock in LOCKS {
            let _ = attach(ebpf, lock, btf);
        }
        // Without them such work is a part of the time with a CPU.
        for reclaim in RECLAIMS.into_iter().filter(|_| waits.memory_limits.any()) {
            let _ = attach(ebpf, reclaim, btf);
        }
        Ok(waits)
    }

    /// Names the programs that it is of.
    pub(super) fn belongs_to<'a>(&mut self, programs: impl Iterator<Item = BorrowedFd<'a>>) {
        self.programs = programs.filter_map(|program| program.try_clone_to_owned().ok()).collect();
    }

    /// Follows the threads that this one starts from now on, and theirs, but not itself.
    pub fn follow_started_by(&mut self, thread: u32) -> Result<(), LiveError> {
        self.followed.set(thread, true).ok_or_else(|| no_thread(thread))
    }

    /// Ends that; those that it started stay.
    pub fn unfollow(&mut self, thread: u32) -> Result<(), LiveError> {
        self.followed.set(thread, false).ok_or_else(|| no_thread(thread))
    }

    /// Follows a thread and those that it starts.
    pub fn follow(&mut self, thread: u32) -> Result<(), LiveError> {
        let Some(place) = self.room(thread) else {
            self.no_room += 1;
            return Ok(());
        };
        for _ in 0..LOOKS {
            let Some(slot) = self.seen(thread) else { break };
            let slot = Thread { displaced: self.read_slot(place).displaced, ..slot };
            // SAFETY: within the mapping. Until a program finds the thread none writes to its slot.
            unsafe {
                self.thread(place).write_volatile(slot);
                if place != home(thread) {
                    (&raw mut (*self.thread(home(thread))).displaced).write_volatile(1);
                }
            }
            self.followed.set(thread, true).ok_or_else(|| no_thread(thread))?;
            // The programs have not seen a change of its state before that.
            let is_right = self.seen(thread).is_none_or(|now| now.state == slot.state);
            if is_right || self.read_slot(place) != slot {
                break;
            }
        }
        Ok(())
    }

    /// The slot of a thread that is there already, in its present state; none if it has ended.
    fn seen(&self, thread: u32) -> Option<Thread> {
        let (state, cpu) = state_of(thread)?;
        let state = match state {
            'R' => UNSEEN,
            'D' => BLOCKED,
            'T' => STOPPED,
            't' => TRACED,
            'S' | 'I' | 'P' => SLEPT,
            _ => return None,
        };
        let since = now_ns();
        let idle = self.idle_until(cpu, since);
        let (state, runs_as) = (state as u32, RAN as u8);
        Some(Thread { tid: thread, state, since, idle, cpu, runs_as, ..Thread::default() })
    }

    /// A free slot for a thread.
    fn room(&self, thread: u32) -> Option<usize> {
        let places = (0..THREAD_PROBES).map(|probe| (home(thread) + probe) % THREADS);
        places.into_iter().find(|place| self.state(*place) == FREE)
    }

    /// Returns the time of the threads since the previous call.
    pub fn read(&mut self) -> Waited {
        let totals = self.totals();
        let waited = totals.since(&self.before);
        self.before = totals;
        waited
    }

    /// Makes room: takes in the time of threads that have ended.
    pub fn keep_up(&mut self) {
        let ended = (0..self.possible).map(|cpu| self.copy_of_cpu(cpu).ended).sum();
        if std::mem::replace(&mut self.ended, ended) != ended {
            for place in 0..THREADS {
                if self.state(place) == ENDED {
                    self.bury(place);
                }
            }
        }
    }

    /// Takes in the time of a thread that has ended, and frees its slot.
    fn bury(&mut self, place: usize) {
        let thread = self.read_slot(place);
        self.dead.iter_mut().zip(thread.ns).for_each(|(sum, ns)| *sum += ns);
        // SAFETY: within the mapping. The slot is the reader's until its state says that it is free.
        unsafe {
            (&raw mut (*self.thread(place)).ns).write_volatile([0; KINDS]);
            (&raw mut (*self.thread(place)).assumed).write_volatile(0);
            (&raw mut (*self.thread(place)).state).write_volatile(FREE as u32);
        }
    }

    fn totals(&mut self) -> Totals {
        let programs = self.programs.iter().map(OwnedFd::as_fd);
        let mut totals =
            Totals { lost: recursion_misses(programs), no_room: self.no_room, ..Totals::default() };
        let now = now_ns();
        for place in 0..THREADS {
            match self.state(place) {
                FREE => {}
                ENDED => self.bury(place),
                _ => self.add_living(place, now, &mut totals),
            }
        }
        for (kind, ns) in self.dead.iter().enumerate() {
            totals.kinds[kind].sum.ns += ns;
        }
        for cpu in 0..self.possible {
            self.add_cpu(cpu, &mut totals);
        }
        totals
    }

    fn add_living(&self, place: usize, now: u64, totals: &mut Totals) {
        let thread = self.read_slot(place);
        for (kind, ns) in thread.ns.iter().enumerate() {
            totals.kinds[kind].sum.ns += ns;
        }
        if thread.state == ENDED as u32 {
            return;
        }
        totals.alive += 1;
        let state = thread.state as usize;
        if state == UNSEEN {
            // SAFETY: within the mapping. Only this writes there.
            unsafe { (&raw mut (*self.thread(place)).assumed).write_volatile(1) };
        }
        let parts = in_progress(&thread, now, self.idle_until(thread.cpu, now), self.longest_idle_exit_ns);
        for (kind, ns) in parts.into_iter().filter(|(_, ns)| *ns > 0) {
            totals.kinds[kind].add_open(ns);
            if kind == PREEMPTED && thread.by[0] != 0 && thread.by_whom > by::KERNEL {
                totals.rival(kind, Rival::of(&thread.by, thread.by_whom == by::OWN)).add_open(ns);
            }
        }
    }

    fn add_cpu(&self, number: usize, totals: &mut Totals) {
        let cpu = self.copy_of_cpu(number);
        totals.began += cpu.began;
        totals.no_room += cpu.no_room;
        totals.real_time_ns += cpu.real_time_ns;
        totals.groups.extend((cpu.group != 0).then_some(cpu.group));
        totals.memory_groups.extend((cpu.memory_group != 0).then_some(cpu.memory_group));
        for (kind, sum) in cpu.sums.iter().enumerate() {
            totals.kinds[kind].sum.add(&WaitSum { ns: 0, count: sum.count, longest_ns: sum.longest });
        }
        let rivals = cpu.rivals.iter().zip([false, true]);
        let rivals = rivals.flat_map(|(rivals, own)| rivals.iter().map(move |rival| (rival, own)));
        for (rival, own) in rivals.filter(|(rival, _)| rival.name[0] != 0) {
            for (kind, had) in
                [WOKEN, PREEMPTED].into_iter().zip(&rival.waits).filter(|(_, had)| had.sum.count > 0)
            {
                let sum = WaitSum { ns: had.ns, count: had.sum.count, longest_ns: had.sum.longest };
                totals.rival(kind, Rival::of(&rival.name, own)).sum.add(&sum);
                // The time of the kind is the threads'.
                totals.kinds[kind].sum.add(&WaitSum { ns: 0, ..sum });
            }
        }
        // SAFETY: within the mapping. A program that runs meanwhile may bring the old value back, which is then one of
        // the next reading.
        unsafe {
            let cpu = self.cpu(number);
            (0..KINDS).for_each(|kind| (&raw mut (*cpu).sums[kind].longest).write_volatile(0));
            for at in 0..4 * RIVALS {
                let (own, rival, kind) = (at / (2 * RIVALS), at / 2 % RIVALS, at % 2);
                (&raw mut (*cpu).rivals[own][rival].waits[kind].sum.longest).write_volatile(0);
            }
            (&raw mut (*cpu).group).write_volatile(0);
            (&raw mut (*cpu).memory_group).write_volatile(0);
        }
    }

    /// The idle time of a CPU until now.
    fn idle_until(&self, cpu: u32, now: u64) -> u64 {
        if cpu as usize >= self.possible {
            return 0;
        }
        // SAFETY: within the mapping; only copied.
        idle_at(unsafe { (&raw const (*self.cpu(cpu as usize)).idle).read_volatile() }, now)
    }

    /// A thread in a state that it does not change while it is read.
    fn read_slot(&self, place: usize) -> Thread {
        // SAFETY: within the mapping; only copied.
        let copy = || unsafe { self.thread(place).read_volatile() };
        let mut thread = copy();
        for _ in 0..TRIES {
            let again = copy();
            if again == thread && thread.since != 0 {
                break;
            }
            thread = again;
        }
        thread
    }

    fn state(&self, place: usize) -> usize {
        // SAFETY: within the mapping; only copied.
        unsafe { (&raw const (*self.thread(place)).state).read_volatile() as usize }
    }

    fn copy_of_cpu(&self, number: usize) -> Cpu {
        // SAFETY: within the mapping; only copied.
        unsafe { self.cpu(number).read_volatile() }
    }

    /// The slot of a thread, which the kernel writes to at any time.
    fn thread(&self, place: usize) -> *mut Thread {
        assert!(place < THREADS);
        // SAFETY: the mapping holds all slots and lives as long as `self`.
        unsafe { self.threads.as_mut_ptr().cast::<Thread>().add(place) }
    }

    fn cpu(&self, number: usize) -> *mut Cpu {
        assert!(number < self.possible);
        // SAFETY: the mapping holds all possible CPUs and lives as long as `self`.
        unsafe { self.cpus.as_mut_ptr().cast::<Cpu>().add(number) }
    }
}

/// The slot where a thread belongs.
fn home(thread: u32) -> usize {
    thread as usize % THREADS
}

/// The number of CPUs that this machine may have: the highest and one.
pub(super) fn possible() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let cpus = text.trim().parse::<CpuList>().unwrap_or_default();
    cpus.iter().max().map_or(MAX_CPUS, |highest| (highest as usize + 1).min(MAX_CPUS))
}
