// SPDX-License-Identifier: GPL-2.0-only
//! Loading the programs, and reading what they counted.

use super::keys::{Key, text};
use super::names::{Names, tick_function};
use super::{Count, Details, Kind, Lost, Occurrence, Snapshot};
use crate::thread::now_ns;
use crate::trace::{FormatError, RingError, SessionError};
use aya::maps::{HashMap, Map, MapData, RingBuf};
use aya::programs::{Program, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfError, EbpfLoader};
use dyntick_bpf::layout::{BUCKETS, FIXED, FOUND, MAX_CPUS, NOT_COUNTED};
use dyntick_bpf::{
    DETAILS, DETAILS_OVER, Detail, FOLLOW, FOLLOWED, OBJECT, ROW_OF_CPU, ROWS, Row, Slot, TICK_FUNCTION,
};
use dyntick_model::CpuList;
use memmap2::{MmapOptions, MmapRaw};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, AsRawFd};

/// Stands in the map of threads for the count of those that found no room.
const NOBODY: u32 = 0;

/// The ring buffer of details, where these are wanted, bytes: some 18 000 of them.
const RING: u32 = 1 << 20;
/// The smallest that there is.
const NO_RING: u32 = 4096;

/// What is to be counted, and where.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The CPUs. On all others the programs do no more than find out that they are not meant.
    pub cpus: CpuList,
    /// The causes. For no others anything is attached.
    pub kinds: BTreeSet<Kind>,
    /// Each that takes longer than this, ns, is told one by one ([`Counters::details`]), but for the turns of
    /// idle tasks. What only is counted takes no time.
    pub details_over_ns: Option<u64>,
}

/// Programs that count. They are gone from the kernel when this is dropped, or the process ends.
pub struct Counters {
    ebpf: Ebpf,
    btf: Btf,
    /// In the order of their rows.
    cpus: Vec<u32>,
    rows: MmapRaw,
    names: Names,
    missing: Vec<String>,
    /// Where details are wanted. It is opened once: a second reader (of aya 0.13) would begin wrong.
    ring: Option<RingBuf<MapData>>,
    /// Out of the ring and not yet told.
    raw_details: Vec<Detail>,
    /// How many that found no room have been told.
    details_told: u64,
}

/// Why nothing can be counted this way.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The process may not.
    #[error("no permission to load eBPF programs: this needs root, or CAP_BPF and CAP_PERFMON")]
    NotPermitted,
    /// The kernel has no type information.
    #[error(
        "this kernel has no type information in /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF), which eBPF programs need: {0}"
    )]
    NoBtf(BtfError),
    /// The kernel or its configuration has no eBPF, or does not take these programs.
    #[error("the kernel rejects the eBPF programs: {0}")]
    Refused(String),
    /// The trace.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The layout of an event.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A damaged page of the trace.
    #[error("CPU {cpu}: {source}")]
    Page {
        /// Whose buffer.
        cpu: u32,
        /// What is wrong.
        source: RingError,
    },
    /// No thread to empty the buffers.
    #[error("cannot read the trace in a thread: {0}")]
    Thread(std::io::Error),
    /// Nothing was asked for.
    #[error("no CPU was given to count on")]
    NoCpu,
}

impl Counters {
    /// Loads and attaches what is wanted. Tracepoints that this kernel lacks are left out and told by
    /// [`Counters::missing`].
    pub fn start(wanted: &Wanted) -> Result<Self, LiveError> {
        if wanted.cpus.is_empty() {
            return Err(LiveError::NoCpu);
        }
        let cpus: Vec<u32> = wanted.cpus.iter().collect();
        let row_of_cpu = rows_of_cpus(&cpus);
        let btf = Btf::from_sys_fs().map_err(LiveError::NoBtf)?;
        let tick = tick_function().unwrap_or(0);
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&btf))
            .set_global(ROW_OF_CPU, row_of_cpu.as_slice(), true)
            .set_global(TICK_FUNCTION, &tick, true)
            .set_global(DETAILS_OVER, &wanted.details_over_ns.unwrap_or(u64::MAX), true)
            .set_max_entries(DETAILS, wanted.details_over_ns.map_or(NO_RING, |_| RING))
            .set_max_entries(ROWS, cpus.len() as u32)
            .load(&OBJECT.0)
            .map_err(refused)?;
        let rows = map_rows(&ebpf, cpus.len())?;
        let mut missing = Vec::new();
        for tracepoint in wanted.kinds.iter().flat_map(|kind| kind.tracepoints()) {
            if !attach(&mut ebpf, tracepoint, &btf)? {
                missing.push((*tracepoint).to_owned());
            }
        }
        let ring = wanted.details_over_ns.and_then(|_| ebpf.take_map(DETAILS));
        let ring = ring.map(RingBuf::try_from).transpose().map_err(|error| refused(error.into()))?;
        let mut counters = Self {
            ebpf,
            btf,
            cpus,
            rows,
            names: Names::default(),
            missing,
            ring,
            raw_details: Vec::new(),
            details_told: 0,
        };
        counters.forget();
        Ok(counters)
    }

    /// Begins anew: all counts are 0, and no longest is known. Attaching a program rewrites code of the
    /// kernel, which interrupts every CPU; that is forgotten so.
    pub fn forget(&mut self) {
        for (row, place) in self.places() {
            let slot = self.slot(row, place);
            // SAFETY: within the mapping. A program that runs meanwhile may bring the old value of one
            // member back, which is then an old count like any other.
            unsafe {
                (&raw mut (*slot).count).write_volatile(0);
                (&raw mut (*slot).ns).write_volatile(0);
                (&raw mut (*slot).longest).write_volatile(0);
                (&raw mut (*slot).histogram).write_volatile([0; BUCKETS]);
            }
        }
        self.empty_ring();
        (self.raw_details, self.details_told) = (Vec::new(), self.details_lost());
    }

    /// The tracepoints that were wanted and that this kernel lacks.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Follows a thread: from now on it is known which threads it started, and they in turn. The keys of
    /// tasks stay what they are; see [`Counters::followed`].
    pub fn follow(&mut self, pid: u32) -> Result<(), LiveError> {
        if self.followed_map()?.get(&NOBODY, 0).is_err() {
            self.follow_entry(NOBODY, 0)?;
            attach(&mut self.ebpf, FOLLOW, &self.btf)?;
        }
        self.follow_entry(pid, 1)
    }

    fn follow_entry(&mut self, pid: u32, value: u64) -> Result<(), LiveError> {
        self.followed_map()?.insert(pid, value, 0).map_err(|error| refused(error.into()))
    }

    /// Takes a thread out of those that are followed; those that it started stay.
    pub fn unfollow(&mut self, pid: u32) -> Result<(), LiveError> {
        // It may have been there or not.
        let _ = self.followed_map()?.remove(&pid);
        Ok(())
    }

    /// The threads that were followed, also those that ended, and how many found no room.
    pub fn followed(&mut self) -> Result<(BTreeSet<u32>, u64), LiveError> {
        let map = self.followed_map()?;
        let pids = map.keys().filter_map(Result::ok).filter(|pid| *pid != NOBODY).collect();
        Ok((pids, map.get(&NOBODY, 0).unwrap_or(0)))
    }

    fn followed_map(&mut self) -> Result<HashMap<&mut MapData, u32, u64>, LiveError> {
        let map = self.ebpf.map_mut(FOLLOWED);
        let map = map.ok_or_else(|| LiveError::Refused("the map of threads is missing".to_owned()))?;
        HashMap::try_from(map).map_err(|error| refused(error.into()))
    }

    /// What was counted so far. Costs no system call of the CPUs that are counted; while they run on,
    /// counts of one slot may be one event apart from each other.
    pub fn read(&mut self) -> Snapshot {
        self.empty_ring();
        let ns = now_ns();
        let used: Vec<(u32, usize, Slot)> = self.used_slots().collect();
        let lost = Lost { recursion: recursion_misses(&self.ebpf), ..Lost::default() };
        self.names.learn(used.iter().map(|(_, _, slot)| slot.key));
        let mut cpus: BTreeMap<u32, BTreeMap<Key, Count>> =
            self.cpus.iter().map(|cpu| (*cpu, BTreeMap::new())).collect();
        for (cpu, place, slot) in used {
            let Some(key) = Key::of(place, &slot, &self.names) else { continue };
            let count = Count {
                count: slot.count,
                ns: slot.ns,
                longest_ns: Some(slot.longest).filter(|longest| *longest > 0),
                histogram: slot.histogram,
            };
            // Different addresses may have one name, as the copies of an inlined function.
            cpus.entry(cpu).or_default().entry(key).or_default().add(&count);
        }
        Snapshot::new(ns, cpus, lost)
    }

    /// Those that took longer than was asked for and ended before the last [`Counters::read`], since this was
    /// last called.
    pub fn details(&mut self) -> Details {
        let raw = std::mem::take(&mut self.raw_details);
        let lost = self.details_lost();
        let before = std::mem::replace(&mut self.details_told, lost);
        let mut occurrences = self.named(&raw);
        occurrences.sort_by_key(|one| (one.start_ns, one.cpu));
        Details { occurrences, lost: lost - before }
    }

    fn empty_ring(&mut self) {
        while let Some(bytes) = self.ring.as_mut().and_then(RingBuf::next) {
            assert!(bytes.len() >= size_of::<Detail>(), "the programs put in nothing else");
            // SAFETY: a structure of numbers only.
            self.raw_details.push(unsafe { bytes.as_ptr().cast::<Detail>().read_unaligned() });
        }
    }

    /// What the slots of these details count.
    fn named(&mut self, raw: &[Detail]) -> Vec<Occurrence> {
        let slot_of = |detail: &Detail| {
            let row = self.cpus.iter().position(|cpu| *cpu == detail.cpu)?;
            // SAFETY: within the mapping; only copied.
            Some(unsafe { self.slot(row, detail.slot as usize).read_volatile() })
        };
        let slots: Vec<Option<Slot>> = raw.iter().map(slot_of).collect();
        self.names.learn(slots.iter().flatten().map(|slot| slot.key));
        let occurrence = |(detail, slot): (&Detail, &Option<Slot>)| {
            let key = Key::of(detail.slot as usize, slot.as_ref()?, &self.names)?;
            let Detail { start, ns, cpu, thread, ref comm, .. } = *detail;
            Some(Occurrence { start_ns: start, ns, cpu, key, thread, comm: text(comm).into() })
        };
        raw.iter().zip(&slots).filter_map(occurrence).collect()
    }

    fn details_lost(&self) -> u64 {
        let rows: *const Row = self.rows.as_ptr().cast();
        // SAFETY: the mapping holds a whole row for each CPU.
        let of = |row| unsafe { (&raw const (*rows.add(row)).details_lost).read_volatile() };
        (0..self.cpus.len()).map(of).sum()
    }

    /// Every slot of every row.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let rows = self.cpus.len();
        (0..rows).flat_map(|row| (0..FIXED + FOUND).map(move |place| (row, place)))
    }

    /// A slot, which the kernel writes to at any time.
    fn slot(&self, row: usize, place: usize) -> *mut Slot {
        assert!(row < self.cpus.len() && place < FIXED + FOUND);
        let rows: *mut Row = self.rows.as_mut_ptr().cast();
        // SAFETY: the mapping holds a whole row for each CPU and lives as long as `self`.
        unsafe { (&raw mut (*rows.add(row)).slots).cast::<Slot>().add(place) }
    }

    fn used_slots(&self) -> impl Iterator<Item = (u32, usize, Slot)> + '_ {
        self.places().filter_map(|(row, place)| {
            let slot = self.slot(row, place);
            // SAFETY: within the mapping; only copied.
            let slot =
                unsafe { ((&raw const (*slot).count).read_volatile() > 0).then(|| slot.read_volatile()) };
            slot.map(|slot| (self.cpus[row], place, slot))
        })
    }
}

/// How often the kernel did not run these programs, since they ran already on the same CPU.
pub(super) fn recursion_misses(ebpf: &Ebpf) -> u64 {
    let of = |program: &Program| -> Option<u64> {
        let fd = program.fd().ok()?.as_fd().as_raw_fd();
        let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("recursion_misses:")?.trim().parse().ok())
    };
    ebpf.programs().filter_map(|(_, program)| of(program)).sum()
}

/// Which row each CPU has: its place among these.
pub(super) fn rows_of_cpus(cpus: &[u32]) -> Vec<u16> {
    let mut rows = vec![NOT_COUNTED; MAX_CPUS];
    for (row, cpu) in cpus.iter().enumerate() {
        rows[*cpu as usize] = row as u16;
    }
    rows
}

fn map_rows(ebpf: &Ebpf, cpus: usize) -> Result<MmapRaw, LiveError> {
    map_array(ebpf, ROWS, size_of::<Row>() * cpus)
}

/// Maps an array of that many bytes into memory.
pub(super) fn map_array(ebpf: &Ebpf, name: &str, bytes: usize) -> Result<MmapRaw, LiveError> {
    let Some(Map::Array(map)) = ebpf.map(name) else {
        return Err(LiveError::Refused("the map of counts is missing".to_owned()));
    };
    // An array's values are aligned to 8 bytes, as a row is.
    MmapOptions::new()
        .len(bytes)
        .map_raw(map.fd().as_fd().as_raw_fd())
        .map_err(|error| LiveError::Refused(format!("cannot map the counts: {error}")))
}

/// Attaches the program of a tracepoint; false where this kernel has no such tracepoint.
fn attach(ebpf: &mut Ebpf, tracepoint: &str, btf: &Btf) -> Result<bool, LiveError> {
    let name = tracepoint.rsplit(':').next().unwrap_or(tracepoint);
    let attached = match ebpf.program_mut(name) {
        Some(Program::BtfTracePoint(program)) => {
            program.load(name, btf).and_then(|()| program.attach().map(|_| ()))
        }
        Some(Program::RawTracePoint(program)) => {
            program.load().and_then(|()| program.attach(name).map(|_| ()))
        }
        _ => return Err(LiveError::Refused(format!("there is no eBPF program for {tracepoint}"))),
    };
    match attached {
        Ok(()) => Ok(true),
        Err(error) if is_unknown(&error) => Ok(false),
        Err(error) => Err(refused(error.into())),
    }
}

/// Whether the kernel has no such tracepoint.
fn is_unknown(error: &ProgramError) -> bool {
    match error {
        ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => true,
        ProgramError::SyscallError(call) => call.io_error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

pub(super) fn refused(error: EbpfError) -> LiveError {
    let mut text = error.to_string();
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = source {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            if io.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error()) {
                return LiveError::NotPermitted;
            }
        }
        if !text.contains(&error.to_string()) {
            text += &format!(": {error}");
        }
        source = error.source();
    }
    LiveError::Refused(text)
}
