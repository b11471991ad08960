// SPDX-License-Identifier: GPL-2.0-only
//! Disturbances by threads of the kernel that were bound to the CPU.

use super::Disturbance;
use super::memory::Pages;
use super::stage::{Stage, checked, write};
use anyhow::Result;
use dyntick_model::CpuList;
use std::time::Duration;

pub(super) const ALL: &[Disturbance] = &[
    ("ksm", ksm),
    ("khugepaged", khugepaged),
    ("huge-pages", huge_pages),
    ("compaction", compaction),
    ("proactive-compaction", proactive_compaction),
    ("io-uring", io_uring),
];

/// KSM at work: it looks for equal pages.
fn ksm(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let pages = Pages::new(256)?;
    pages.touch();
    pages.advise(libc::MADV_MERGEABLE)?;
    let _thread = bind("ksmd", stage)?;
    write("/sys/kernel/mm/ksm/sleep_millisecs", "2")?;
    write("/sys/kernel/mm/ksm/pages_to_scan", "10")?;
    write("/sys/kernel/mm/ksm/run", "1")?;
    stage.wait();
    write("/sys/kernel/mm/ksm/run", "0")
}

/// Pages of 4 KiB that are to become huge ones.
fn khugepaged(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    // The thread is there only while something may become huge.
    write(&format!("{HUGE_PAGES}/enabled"), "madvise")?;
    let _thread = bind("khugepaged", stage)?;
    collapsing(stage)
}

const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage";

fn collapsing(stage: &Stage) -> Result<()> {
    const HUGE: usize = 512;
    write(&format!("{HUGE_PAGES}/khugepaged/pages_to_scan"), "512")?;
    write(&format!("{HUGE_PAGES}/khugepaged/scan_sleep_millisecs"), "2")?;
    stage.repeat(Duration::from_millis(20), || {
        let pages = Pages::new(4 * HUGE)?;
        pages.advise(libc::MADV_NOHUGEPAGE)?;
        pages.touch();
        pages.advise(libc::MADV_HUGEPAGE)?;
        std::thread::sleep(Duration::from_millis(20));
        Ok(())
    })?;
    write(&format!("{HUGE_PAGES}/khugepaged/scan_sleep_millisecs"), "10000")
}

/// The same by the thread elsewhere: the CPU is interrupted for each page table that goes.
fn huge_pages(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    write(&format!("{HUGE_PAGES}/enabled"), "madvise")?;
    collapsing(stage)
}

/// Compaction in the background looks by itself twice a second.
fn proactive_compaction(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let _thread = bind("kcompactd0", stage)?;
    write("/proc/sys/vm/compaction_proactiveness", "100")?;
    stage.wait();
    write("/proc/sys/vm/compaction_proactiveness", "20")
}

/// Compaction in the background: each write of its setting wakes its thread.
fn compaction(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let _thread = bind("kcompactd0", stage)?;
    stage.repeat(Duration::from_millis(5), || write("/proc/sys/vm/compaction_proactiveness", "100"))?;
    write("/proc/sys/vm/compaction_proactiveness", "20")
}

/// `struct io_uring_params` of include/uapi/linux/io_uring.h.
#[repr(C)]
#[derive(Default)]
struct UringParams {
    entries: [u32; 2],
    flags: u32,
    sq_thread_cpu: u32,
    sq_thread_idle: u32,
    rest: [u32; 25],
}

/// A ring of io_uring whose thread polls for submissions on this CPU, and is woken again and again.
fn io_uring(stage: &Stage) -> Result<()> {
    const SQPOLL_AT_CPU: u32 = 1 << 1 | 1 << 2;
    const SQ_WAKEUP: i64 = 1 << 1;
    let _victim = stage.victim()?;
    let mut params = UringParams { flags: SQPOLL_AT_CPU, sq_thread_cpu: stage.cpu, ..UringParams::default() };
    // SAFETY: the structure lives across the call.
    let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 4, &raw mut params) };
    let ring = checked("io_uring_setup", ring)?;
    // SAFETY: no pointers.
    let wake = || unsafe { libc::syscall(libc::SYS_io_uring_enter, ring, 0, 0, SQ_WAKEUP, 0, 0) };
    let ended = stage.repeat(Duration::from_millis(2), || checked("io_uring_enter", wake()).map(drop));
    // SAFETY: a file of our own.
    unsafe { libc::close(ring as i32) };
    ended
}

/// Threads of the kernel that are on one CPU while this lives, and on the others afterwards.
pub(super) struct Bound {
    threads: Vec<i32>,
    others: CpuList,
}

impl Drop for Bound {
    fn drop(&mut self) {
        for thread in &self.threads {
            let _ = dyntick_system::run_on(Some(*thread), &self.others);
        }
    }
}

/// Binds the threads of the kernel whose names begin so.
pub(super) fn bind(name: &str, stage: &Stage) -> Result<Bound> {
    let all = dyntick_observe::facts::threads().into_iter();
    let threads: Vec<i32> =
        all.filter(|(_, thread)| thread.comm.starts_with(name)).map(|(number, _)| number).collect();
    anyhow::ensure!(!threads.is_empty(), "there is no thread {name}");
    for thread in &threads {
        dyntick_system::run_on(Some(*thread), &stage.list())?;
    }
    Ok(Bound { threads, others: stage.others()? })
}
