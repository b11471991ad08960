// SPDX-License-Identifier: GPL-2.0-only
//! The guest's part in recording what it executes.

use super::settle::pin;
use crate::guest::{Archive, Job};
use anyhow::{Context, Result};
use dyntick_model::CpuList;
use dyntick_plugin::guest::{self, Watch};

/// The kernel's symbols, in the archive and among the raw files of a run.
pub const SYMBOLS: &str = "kallsyms";

/// Where the kernel does what cannot be seen in the addresses alone: which task comes, and whether
/// the instruction before an exception completed (`arch/x86/entry/entry_64.S`,
/// `arch/x86/include/asm/idtentry.h`).
const WATCHES: [(&str, Watch); 12] = [
    ("__switch_to_asm", Watch::Switch),
    ("asm_exc_page_fault", Watch::ExceptionWithCode),
    ("asm_exc_general_protection", Watch::ExceptionWithCode),
    ("asm_exc_stack_segment", Watch::ExceptionWithCode),
    ("asm_exc_segment_not_present", Watch::ExceptionWithCode),
    ("asm_exc_alignment_check", Watch::ExceptionWithCode),
    ("asm_exc_invalid_op", Watch::Exception),
    ("asm_exc_int3", Watch::Exception),
    ("asm_exc_divide_error", Watch::Exception),
    ("asm_exc_device_not_available", Watch::Exception),
    ("asm_exc_simd_coprocessor_error", Watch::Exception),
    ("asm_exc_coprocessor_error", Watch::Exception),
];

/// Reads the kernel's symbols and tells the plugin what it must know of them.
pub fn prepare(job: &Job, archive: &mut Archive) -> Result<()> {
    if !job.profile {
        return Ok(());
    }
    let text = std::fs::read_to_string("/proc/kallsyms").context("read /proc/kallsyms")?;
    let functions: String = text.split_inclusive('\n').filter(|line| is_code(line)).collect();
    for (name, what) in WATCHES {
        let address = functions.lines().find_map(|line| address_of(line, name));
        if let Some(address) = address {
            guest::watch(what, address);
        }
    }
    archive.insert(SYMBOLS, functions);
    Ok(())
}

/// Tells the plugin the number of each CPU, from each CPU. Comes before the agent keeps to its own.
pub fn introduce_cpus(job: &Job) -> Result<()> {
    if job.profile {
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
        for cpu in online.trim().parse::<CpuList>().context("read the list of online CPUs")?.iter() {
            pin(&[cpu].into_iter().collect())?;
            guest::here(cpu.into());
        }
    }
    Ok(())
}

/// Data makes two thirds of all symbols and no instruction is in it.
fn is_code(line: &str) -> bool {
    matches!(line.split(' ').nth(1), Some("t" | "T" | "w" | "W"))
}

fn address_of(line: &str, name: &str) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    (words.nth(1)? == name).then_some(address)
}

/// Recording begins here, if it was asked for.
#[inline(always)]
pub fn on(wanted: bool) {
    if wanted {
        guest::on();
    }
}

/// Recording ends here.
#[inline(always)]
pub fn off(wanted: bool) {
    if wanted {
        guest::off();
    }
}
