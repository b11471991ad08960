// SPDX-License-Identifier: GPL-2.0-only
//! The guest's part in recording what it executes.

use super::settle::pin;
use anyhow::{Context, Result};
use dyntick_guest::pieces::SYMBOLS;
use dyntick_guest::{Archive, Job};
use dyntick_model::CpuList;
use dyntick_plugin::guest::{self, Watch};

/// The exceptions for which the CPU pushes an error code (Intel's manual, volume 3, table 6-1).
const WITH_CODE: [&str; 9] = [
    "double_fault",
    "invalid_tss",
    "segment_not_present",
    "stack_segment",
    "general_protection",
    "page_fault",
    "alignment_check",
    "control_protection",
    "vmm_communication",
];

/// The event of a kernel function that addresses alone do not show: the next task, the place that an
/// interrupt came from, and whether the instruction before an exception completed
/// (`arch/x86/entry/entry_64.S`, `arch/x86/include/asm/idtentry.h`).
fn watch(name: &str) -> Option<Watch> {
    if name == "__switch_to_asm" {
        return Some(Watch::Switch);
    }
    if name.starts_with("asm_sysvec_") || name == "asm_exc_nmi" {
        return Some(Watch::Interrupt);
    }
    let exception = name.strip_prefix("asm_exc_")?;
    let with_code = WITH_CODE.contains(&exception);
    Some(if with_code { Watch::ExceptionWithCode } else { Watch::Exception })
}

/// Reads the kernel's symbols and passes the plugin the addresses that it needs.
pub fn prepare(job: &Job, archive: &mut Archive) -> Result<()> {
    if !job.profile {
        return Ok(());
    }
    let text = std::fs::read_to_string("/proc/kallsyms").context("read /proc/kallsyms")?;
    let functions: String = text.split_inclusive('\n').filter(|line| is_code(line)).collect();
    for (address, name) in functions.lines().filter_map(symbol) {
        if let Some(what) = watch(name) {
            guest::watch(what, address);
        }
    }
    archive.insert(SYMBOLS, functions);
    Ok(())
}

/// Sends the plugin the number of each CPU, from each CPU. Comes before the agent keeps to its own.
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

fn symbol(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    Some((address, words.nth(1)?))
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
