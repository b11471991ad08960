// SPDX-License-Identifier: GPL-2.0-only
//! The programs at one function.

use super::super::locked::AnyLocked;
use super::{CallCount, CallsError, Function, FunctionCalls, Pair, symbols};
use crate::live::LiveError;
use crate::live::counters::rows_of_cpus;
use crate::live::loaded::{map_array, programs, recursion_misses, refused, running_kernel, with_program};
use aya::programs::{FEntry, FExit, KProbe};
use aya::{Btf, Ebpf, EbpfLoader};
use dyntick_bpf::ROW_OF_CPU;
use dyntick_bpf::calls::{CALLS, Calls as Row, FENTRY, FEXIT, KPROBE, KRETPROBE, OBJECT};
use memmap2::MmapRaw;

/// The first kernel that takes an atomic exchange in an eBPF program.
const EXCHANGE: (u32, u32) = (5, 12);

fn ensure_new_enough() -> Result<(), CallsError> {
    // What has another release may be any kernel, and says itself what it refuses.
    match running_kernel() {
        Some(kernel) if (kernel.major, kernel.minor) < EXCHANGE => Err(CallsError::TooOld(kernel)),
        _ => Ok(()),
    }
}

/// Programs that are attached to a function, and their counts.
pub struct Probed {
    name: String,
    pair: Pair,
    ebpf: Ebpf,
    /// The CPUs in the order of their rows.
    cpus: Vec<u32>,
    rows: MmapRaw,
}

impl Probed {
    /// Attaches the pair that was asked for, or the cheapest that the function allows.
    pub fn attach(function: &Function, cpus: &[u32]) -> Result<Self, CallsError> {
        let pairs = match function.pair {
            Some(pair) => vec![pair],
            None => vec![Pair::Trampoline, Pair::Probes],
        };
        ensure_new_enough()?;
        let mut error = None;
        for pair in pairs {
            match Self::attach_by(&function.name, pair, cpus) {
                Ok(probed) => return Ok(probed),
                // A sandbox may forbid one pair alone.
                Err(refused) => error = Some((pair, refused)),
            }
        }
        let (pair, error) = error.expect("there is a pair");
        if matches!(error, LiveError::NotPermitted) {
            return Err(error.into());
        }
        let name = function.name.clone();
        Err(symbols::not_traceable(&name).unwrap_or(CallsError::Refused { name, pair: pair.name(), error }))
    }

    /// Attaches this pair.
    pub fn attach_by(name: &str, pair: Pair, cpus: &[u32]) -> Result<Self, LiveError> {
        let _any = AnyLocked::begin();
        let mut ebpf = EbpfLoader::new()
            .set_global(ROW_OF_CPU, rows_of_cpus(cpus).as_slice(), true)
            .set_max_entries(CALLS, cpus.len() as u32)
            .load(&OBJECT.0)
            .map_err(refused)?;
        let rows = map_array(&ebpf, CALLS, size_of::<Row>() * cpus.len())?;
        // The end first: a begin without its end would keep its place in the table of open calls.
        match pair {
            Pair::Trampoline => {
                let btf = Btf::from_sys_fs().map_err(LiveError::NoBtf)?;
                with_program::<FExit>(&mut ebpf, FEXIT, |program| {
                    program.load(name, &btf).and_then(|()| program.attach().map(|_| ()))
                })?;
                with_program::<FEntry>(&mut ebpf, FENTRY, |program| {
                    program.load(name, &btf).and_then(|()| program.attach().map(|_| ()))
                })?;
            }
            Pair::Probes => {
                for program in [KRETPROBE, KPROBE] {
                    with_program::<KProbe>(&mut ebpf, program, |program| {
                        program.load().and_then(|()| program.attach(name, 0).map(|_| ()))
                    })?;
                }
            }
        }
        Ok(Self { name: name.to_owned(), pair, ebpf, cpus: cpus.to_vec(), rows })
    }

    /// Returns the programs that time calls.
    pub fn pair(&self) -> Pair {
        self.pair
    }

    /// All counts are 0 from now on.
    pub fn forget(&mut self) {
        for row in 0..self.cpus.len() {
            // SAFETY: within the mapping; all zeros are a row. A program that runs meanwhile may bring the old
            // value of one member back, which is then an old count like any other.
            unsafe { self.row(row).write_volatile(std::mem::zeroed()) };
        }
    }

    /// Returns the counts so far.
    pub fn read(&self) -> FunctionCalls {
        // SAFETY: within the mapping; only copied.
        let of = |row| unsafe { CallCount::from(&self.row(row).read_volatile()) };
        FunctionCalls {
            name: self.name.clone(),
            pair: self.pair,
            cpus: self.cpus.iter().enumerate().map(|(row, cpu)| (*cpu, of(row))).collect(),
            missed: recursion_misses(programs(&self.ebpf).map(|(_, program)| program)),
        }
    }

    /// The row of a CPU, which the kernel writes to at any time.
    fn row(&self, row: usize) -> *mut Row {
        assert!(row < self.cpus.len());
        let rows: *mut Row = self.rows.as_mut_ptr().cast();
        // SAFETY: the mapping holds a complete row for each CPU and lives as long as `self`.
        unsafe { rows.add(row) }
    }
}
