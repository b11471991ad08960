// SPDX-License-Identifier: GPL-2.0-only
//! Loading the programs, and reading what they counted.

use super::followed::Followed;
use super::keys::Thread;
use super::keys::is_program_slot;
use super::keys::{Key, text};
use super::loaded::{
    LiveError, attach, each_fdinfo, in_fdinfo, map_array, no_thread, programs, recursion_misses, refused,
};
use super::locked::AnyLocked;
use super::names::{Names, TICKS, tick_function};
use super::pace::Pace;
use super::rows::Rows;
use super::running::Running;
use super::waits::{self, Waits};
use super::{Count, Details, Kind, Lost, Occurrence, Snapshot, Whose};
use crate::facts::Quotas;
use crate::thread::now_ns;
use aya::maps::{MapData, RingBuf};
use aya::{Btf, Ebpf, EbpfLoader};
use dyntick_bpf::layout::{MAX_CPUS, NOT_COUNTED};
use dyntick_bpf::waits::{CPUS, LONGEST_IDLE_EXIT, SEES_QUOTAS, SWITCH, TRACEPOINTS};
use dyntick_bpf::{
    DETAILS, DETAILS_OVER, Detail, FOLLOW, FOLLOWED, OBJECT, OBSERVER, ROW_OF_CPU, ROWS, Row, SEES_SWITCHES,
    Slot, TICK_FUNCTION,
};
use dyntick_model::CpuList;
use dyntick_system::hotplug;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The ring buffer of details, where these are wanted, bytes: some 18 000 of them.
const RING: u32 = 1 << 20;
/// The smallest that there is.
const NO_RING: u32 = 4096;

/// The most details that are held until they are read, some 60 MiB; further ones are counted as lost.
const MOST_DETAILS: usize = 1 << 20;

/// The kinds to be counted, and the CPUs.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The CPUs. On all others the programs do no more than find out that they are not meant.
    pub cpus: CpuList,
    /// The causes. For no others anything is attached.
    pub kinds: BTreeSet<Kind>,
    /// Each that takes longer than this, ns, is listed one by one ([`Counters::details`]), but for the turns of
    /// idle tasks. What only is counted takes no time.
    pub details_over_ns: Option<u64>,
    /// If the time of followed threads is to be accounted for too ([`Waits`]), for which tasks must be counted: the
    /// longest time that a CPU takes to leave idle, ns. Only by eBPF.
    pub longest_idle_exit_ns: Option<u64>,
}

/// Programs that count. They are gone from the kernel when this is dropped, or the process ends.
pub struct Counters {
    ebpf: Ebpf,
    btf: Btf,
    /// The time of followed threads, until it is taken.
    waits: Option<Result<Waits, LiveError>>,
    /// The CPUs in the order of their rows.
    cpus: Vec<u32>,
    rows: Rows,
    followed: Followed,
    /// True if the program runs that follows threads.
    follows: bool,
    /// True if task switches are counted.
    with_tasks: bool,
    /// The tasks that ran before the first switch.
    running: Running,
    names: Names,
    missing: Vec<String>,
    /// The ring buffer of details, if wanted. It is opened once: a second reader (of aya 0.13) would begin wrong.
    ring: Option<RingBuf<MapData>>,
    /// Out of the ring and not yet shown.
    raw_details: Vec<Detail>,
    /// The number of details that came while the limit was reached.
    details_dropped: u64,
    /// The number of lost details that has been reported.
    details_told: u64,
    /// When it was read before, ns on CLOCK_MONOTONIC, and what had been lost then.
    before: (u64, Lost),
    /// The details that were read and not handed out yet.
    kept: Snapshot,
    pace: Pace,
}

/// The CPU time of eBPF programs, on all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTime {
    /// The number of their runs.
    pub runs: u64,
    /// The total duration, ns, including the cost of measuring it.
    pub ns: u64,
}

impl Counters {
    /// Loads and attaches what is wanted. Tracepoints that this kernel lacks are left out and reported by
    /// [`Counters::missing`].
    pub fn start(wanted: &Wanted) -> Result<Self, LiveError> {
        if wanted.cpus.is_empty() {
            return Err(LiveError::NoCpu);
        }
        match Self::loaded(wanted, wanted.longest_idle_exit_ns) {
            Err(error) if wanted.longest_idle_exit_ns.is_some() => {
                let counters = Self::loaded(wanted, None)?;
                Ok(Self { waits: Some(Err(error)), ..counters })
            }
            result => result,
        }
    }

    fn loaded(wanted: &Wanted, longest_idle_exit_ns: Option<u64>) -> Result<Self, LiveError> {
        let _any = AnyLocked::begin();
        let cpus: Vec<u32> = wanted.cpus.iter().collect();
        let row_of_cpu = rows_of_cpus(&cpus);
        let btf = Btf::from_sys_fs().map_err(LiveError::NoBtf)?;
        let tick = tick_function();
        let mut loader = EbpfLoader::new();
        let quotas = longest_idle_exit_ns.map(|_| Quotas::read()).unwrap_or_default();
        // Without one the programs do not look for throttling, which takes time at each switch.
        let sees_quotas = u32::from(quotas.any());
        if let Some(ns) = &longest_idle_exit_ns {
            loader.set_global(LONGEST_IDLE_EXIT, ns, true).set_max_entries(CPUS, waits::possible() as u32);
            loader.set_global(SEES_QUOTAS, &sees_quotas, true);
        }
        let mut ebpf = loader
            .btf(Some(&btf))
            .set_global(ROW_OF_CPU, row_of_cpu.as_slice(), true)
            .set_global(TICK_FUNCTION, &tick.unwrap_or(0), true)
            .set_global(OBSERVER, &std::process::id(), true)
            .set_global(SEES_SWITCHES, &u32::from(wanted.kinds.contains(&Kind::Tasks)), true)
            .set_global(DETAILS_OVER, &wanted.details_over_ns.unwrap_or(u64::MAX), true)
            .set_max_entries(DETAILS, wanted.details_over_ns.map_or(NO_RING, |_| RING))
            .set_max_entries(ROWS, cpus.len() as u32)
            .load(if longest_idle_exit_ns.is_some() { &dyntick_bpf::waits::OBJECT.0 } else { &OBJECT.0 })
            .map_err(refused)?;
        let rows = Rows::new(map_array(&ebpf, ROWS, size_of::<Row>() * cpus.len())?, cpus.len());
        let followed = Followed::new(map_array(&ebpf, FOLLOWED, Followed::BYTES)?);
        let mut waits =
            longest_idle_exit_ns.map(|ns| Waits::start(&mut ebpf, &btf, ns, quotas)).transpose()?;
        let mut missing = Vec::new();
        for tracepoint in wanted.kinds.iter().flat_map(|kind| kind.tracepoints()) {
            if !attach(&mut ebpf, &tracepoint, &btf)? {
                missing.push(tracepoint);
            }
        }
        if let Some(waits) = &mut waits {
            let is_of_waits = |name| name == SWITCH || TRACEPOINTS.contains(&name);
            waits.belongs_to(
                programs(&ebpf).filter(|(name, _)| is_of_waits(name)).map(|(_, program)| program),
            );
        }
        if tick.is_none() && wanted.kinds.contains(&Kind::Timers) {
            missing.push(TICKS.to_owned());
        }
        let ring = wanted.details_over_ns.and_then(|_| ebpf.take_map(DETAILS));
        let ring = ring.map(RingBuf::try_from).transpose().map_err(|error| refused(error.into()))?;
        let mut counters = Self {
            ebpf,
            btf,
            waits: waits.map(Ok),
            cpus,
            rows,
            followed,
            follows: false,
            with_tasks: wanted.kinds.contains(&Kind::Tasks),
            running: Running::default(),
            names: Names::default(),
            missing,
            ring,
            raw_details: Vec::new(),
            details_dropped: 0,
            details_told: 0,
            before: Default::default(),
            kept: Snapshot::default(),
            pace: Pace::new(),
        };
        counters.forget();
        Ok(counters)
    }

    /// The time of followed threads, or the reason why it is not accounted for; none if it was not wanted. To be taken
    /// once; it stands still when this is dropped.
    pub fn take_waits(&mut self) -> Option<Result<Waits, LiveError>> {
        self.waits.take()
    }

    /// Begins anew: earlier counts are not reported, and no longest is known. Attaching a program rewrites
    /// code of the kernel, which interrupts every CPU; that is forgotten so.
    pub fn forget(&mut self) {
        self.see_running();
        self.read();
        self.rows.forget_longest();
        (self.raw_details, self.details_told) = (Vec::new(), self.details_lost());
        self.pace = Pace::new();
    }

    /// Looks what runs on CPUs that no task switch was seen on yet.
    fn see_running(&mut self) {
        let Self { cpus, rows, running, .. } = self;
        let unseen = (0..cpus.len()).filter(|row| self.with_tasks && rows.is_unseen(*row));
        let unseen: Vec<u32> = unseen.map(|row| cpus[row]).collect();
        *running = if unseen.is_empty() { Running::default() } else { Running::read(unseen.iter().copied()) };
        (0..cpus.len()).for_each(|row| rows.busy(row, running.is_busy(cpus[row])));
    }

    /// The time slice of the task that has run on a CPU for `lasting_ns`, without a switch that was seen.
    fn unseen_turn(&mut self, row: usize, ns: u64) -> Option<(Key, Count)> {
        let runs = (ns > 0).then(|| self.running.on(self.cpus[row]))??.clone();
        let thread = match () {
            () if runs.kernel => Thread::Kernel,
            () if runs.process == std::process::id() => Thread::Task(Whose::Observer),
            () if self.followed.contains(runs.thread) => Thread::Task(Whose::Command),
            () => Thread::Task(Whose::Other),
        };
        // It is counted as soon as it ends.
        Some((thread.turns(Some(runs.comm.into())), Count { ns, ..Count::default() }))
    }

    /// The tracepoints that were wanted and that this kernel lacks; [`TICKS`] if ticks are not distinguished from other
    /// timers.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The run time of the programs since they were loaded; none if the kernel does not measure it
    /// (`kernel.bpf_stats_enabled`).
    pub fn run_time(&self) -> Option<RunTime> {
        let mut sum = RunTime::default();
        for text in each_fdinfo(programs(&self.ebpf).map(|(_, program)| program)) {
            sum.runs += in_fdinfo(&text, "run_cnt:");
            sum.ns += in_fdinfo(&text, "run_time_ns:");
        }
        (sum.runs > 0).then_some(sum)
    }

    /// Follows a thread: from now on its turns, and those of threads that it starts, and they in turn, are counted as
    /// [`super::Whose::Command`].
    pub fn follow(&mut self, pid: u32) -> Result<(), LiveError> {
        if !self.follows {
            let _any = AnyLocked::begin();
            attach(&mut self.ebpf, FOLLOW, &self.btf)?;
            self.rows.follow();
            self.follows = true;
        }
        self.followed.set(pid, true).ok_or_else(|| no_thread(pid))
    }

    /// Takes a thread out of those that are followed; those that it started stay.
    pub fn unfollow(&mut self, pid: u32) -> Result<(), LiveError> {
        self.followed.set(pid, false).ok_or_else(|| no_thread(pid))
    }

    /// The time after the last reading at which [`Counters::keep_up`] is due if nothing is read.
    pub fn interval(&self) -> Duration {
        self.pace.interval()
    }

    /// The counts since the previous call. Costs the CPUs that are counted no system call; while they
    /// run on, counts of one slot may be one event apart from each other.
    pub fn read(&mut self) -> Snapshot {
        let unseen = self.rows.window_ends(now_ns());
        self.keep_up();
        // Only here, as looking into /proc takes long.
        for (row, ns) in unseen.into_iter().enumerate() {
            let Some((key, count)) = self.unseen_turn(row, ns) else { continue };
            self.kept.cpus.entry(self.cpus[row]).or_default().entry(key).or_default().add(&count);
        }
        std::mem::take(&mut self.kept)
    }

    /// Takes in what was counted up to now, to be reported by [`Counters::read`]: a program that has not run since
    /// gives its slot up to another one that needs it.
    pub fn keep_up(&mut self) {
        let grown = self.grown();
        self.kept.add(&grown);
    }

    fn grown(&mut self) -> Snapshot {
        self.empty_ring();
        // Before the rows: what has lasted until a CPU went offline just now is next to nothing.
        let online = hotplug::online();
        let is_online = |cpu: u32| online.as_ref().is_none_or(|online| online.contains(cpu));
        self.rows.offline(|row| !is_online(self.cpus[row]));
        let ns = now_ns();
        let grown = self.rows.grown(ns);
        self.pace.adapt(most_programs(&grown));
        let counts = programs(&self.ebpf).filter(|(name, _)| !TRACEPOINTS.contains(name));
        let lost =
            Lost { recursion: recursion_misses(counts.map(|(_, program)| program)), ..Lost::default() };
        let (before, lost_before) = std::mem::replace(&mut self.before, (ns, lost));
        self.names.learn(grown.iter().map(|(_, _, slot)| slot.key));
        let mut cpus: BTreeMap<u32, BTreeMap<Key, Count>> =
            self.cpus.iter().map(|cpu| (*cpu, BTreeMap::new())).collect();
        for (row, place, slot) in grown {
            let Some(key) = Key::of(place, &slot, &self.names) else { continue };
            let count = Count {
                count: slot.count,
                ns: slot.ns,
                longest_ns: Some(slot.longest).filter(|longest| *longest > 0),
                histogram: slot.histogram,
            };
            // Different addresses may have one name, as the copies of an inlined function.
            cpus.entry(self.cpus[row]).or_default().entry(key).or_default().add(&count);
        }
        Snapshot::new(ns, ns - before, cpus, lost.since(&lost_before))
    }

    /// The occurrences that took longer than the requested limit and ended before the last [`Counters::read`], since
    /// the previous call.
    pub fn details(&mut self) -> Details {
        let raw = std::mem::take(&mut self.raw_details);
        let lost = self.details_lost();
        let before = std::mem::replace(&mut self.details_told, lost);
        let mut occurrences = self.named(&raw);
        occurrences.sort_by_key(|one| (one.start_ns, one.cpu));
        Details { occurrences, lost: lost - before }
    }

    fn details_lost(&self) -> u64 {
        self.rows.details_lost() + self.details_dropped
    }

    fn empty_ring(&mut self) {
        while let Some(bytes) = self.ring.as_mut().and_then(RingBuf::next) {
            assert!(bytes.len() >= size_of::<Detail>(), "the programs put in nothing else");
            if self.raw_details.len() == MOST_DETAILS {
                self.details_dropped += 1;
                continue;
            }
            // SAFETY: a structure of numbers only.
            self.raw_details.push(unsafe { bytes.as_ptr().cast::<Detail>().read_unaligned() });
        }
    }

    /// Returns the keys of the slots of these details.
    fn named(&mut self, raw: &[Detail]) -> Vec<Occurrence> {
        self.names.learn(raw.iter().map(|detail| detail.key));
        raw.iter().filter_map(|detail| self.occurrence(detail)).collect()
    }

    fn occurrence(&self, detail: &Detail) -> Option<Occurrence> {
        let Detail { start, ns, cpu, slot: place, key, thread, comm, .. } = *detail;
        let place = place as usize;
        let row = self.cpus.iter().position(|one| *one == cpu)?;
        let mut slot = Slot { key, ..self.rows.copy(row, place) };
        if is_program_slot(place) {
            // By now it may be another program's.
            slot.name = comm;
        }
        let key = Key::of(place, &slot, &self.names)?;
        Some(Occurrence { start_ns: start, ns, cpu, key, thread, comm: text(&comm).into() })
    }
}

/// Returns the number of programs on the CPU with the most.
fn most_programs(grown: &[(usize, usize, Slot)]) -> usize {
    let of_row = |row: &[(usize, usize, Slot)]| row.iter().filter(|one| is_program_slot(one.1)).count();
    grown.chunk_by(|a, b| a.0 == b.0).map(of_row).max().unwrap_or(0)
}

/// Returns the row of each CPU: its place among these.
pub(super) fn rows_of_cpus(cpus: &[u32]) -> Vec<u32> {
    let mut rows = vec![NOT_COUNTED; MAX_CPUS];
    for (row, cpu) in cpus.iter().enumerate() {
        rows[*cpu as usize] = row as u32;
    }
    rows
}
