// SPDX-License-Identifier: GPL-2.0-only
//! Disturbances by memory: what other threads of the program change, and page faults.

use super::Disturbance;
use super::stage::{Stage, checked, write};
use anyhow::Result;
use dyntick_agent::spin_block;
use dyntick_model::CpuList;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

pub(super) const ALL: &[Disturbance] = &[
    ("membarrier", membarrier),
    ("membarrier-sync-core", membarrier_sync_core),
    ("mprotect", mprotect),
    ("munmap", munmap),
    ("page-faults", page_faults),
    ("stat-refresh", stat_refresh),
    ("drop-caches", drop_caches),
    ("writeback", writeback),
];

const PAGE: usize = 4096;
const PAUSE: Duration = Duration::from_millis(1);

fn membarrier(stage: &Stage) -> Result<()> {
    barriers(stage, 1 << 4, 1 << 3)
}

fn membarrier_sync_core(stage: &Stage) -> Result<()> {
    barriers(stage, 1 << 6, 1 << 5)
}

/// Expedited barriers, which every CPU that runs this program has to take part in.
fn barriers(stage: &Stage, register: i64, command: i64) -> Result<()> {
    let _victim = stage.victim()?;
    // SAFETY: membarrier takes no pointers.
    let call =
        |command: i64| checked("membarrier", unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) });
    call(register)?;
    stage.repeat(PAUSE, || call(command).map(drop))
}

/// Memory of our own, of this many pages.
pub(super) struct Pages(*mut u8, usize);

impl Pages {
    pub fn new(pages: usize) -> Result<Self> {
        let (read_write, private) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh mapping.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), pages * PAGE, read_write, private, -1, 0) };
        checked("mmap", memory as i64)?;
        Ok(Self(memory.cast(), pages))
    }

    pub fn touch(&self) {
        for page in 0..self.1 {
            // SAFETY: within the mapping.
            unsafe { (*self.0.add(page * PAGE).cast::<AtomicU8>()).store(1, Ordering::Relaxed) };
        }
    }

    /// Advises the kernel about the use of this memory (madvise(2)).
    pub fn advise(&self, advice: i32) -> Result<()> {
        // SAFETY: our own mapping, which has no contents that count.
        checked("madvise", unsafe { libc::madvise(self.0.cast(), self.1 * PAGE, advice) }.into()).map(drop)
    }

    fn protect(&self, protection: i32) -> Result<()> {
        // SAFETY: our own mapping.
        checked("mprotect", unsafe { libc::mprotect(self.0.cast(), self.1 * PAGE, protection) }.into())
            .map(drop)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.0.cast(), self.1 * PAGE) };
    }
}

/// A sibling thread changes the protection of memory.
fn mprotect(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let pages = Pages::new(4)?;
    stage.repeat(PAUSE, || {
        pages.touch();
        pages.protect(libc::PROT_READ)?;
        pages.protect(libc::PROT_READ | libc::PROT_WRITE)
    })
}

/// A sibling thread gives memory back.
fn munmap(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    stage.repeat(PAUSE, || {
        Pages::new(4)?.touch();
        Ok(())
    })
}

/// The task on the CPU touches new memory all the time.
fn page_faults(stage: &Stage) -> Result<()> {
    let _victim = stage.task("victim", |over| {
        while !over.load(Ordering::Relaxed) {
            if let Ok(pages) = Pages::new(16) {
                pages.touch();
            }
        }
    })?;
    stage.wait();
    Ok(())
}

/// Memory statistics of all CPUs are asked for.
fn stat_refresh(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    stage.repeat(Duration::from_millis(10), || write("/proc/sys/vm/stat_refresh", "1"))
}

/// Memory is compacted: the per-CPU lists of pages are flushed first.
fn drop_caches(stage: &Stage) -> Result<()> {
    let name = c"new-pages";
    let file = std::fs::File::from(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?);
    let _victim = stage.task("victim", move |over| {
        while !over.load(Ordering::Relaxed) {
            // A few new pages stand in this CPU's lists, so that there is something to flush. Written ones: touching
            // memory would be page faults, and MADV_POPULATE_WRITE flushes the lists (mm/gup.c: faultin_page_range).
            let _ = (&file).write_all(&[1; 2 * PAGE]);
            (0..500).for_each(|_| spin_block());
        }
    })?;
    stage.repeat(Duration::from_millis(10), || write("/proc/sys/vm/compact_memory", "1"))
}

/// Dirty memory is written back, by workers that may run on this CPU only. Needs the module brd, whose
/// disks are memory.
fn writeback(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    // A workqueue may not go where unbound work may not.
    let (all, own) =
        ("/sys/devices/virtual/workqueue/cpumask", "/sys/devices/virtual/workqueue/writeback/cpumask");
    let before = (std::fs::read_to_string(all)?, std::fs::read_to_string(own)?);
    write(all, &CpuList::first(stage.cpu + 1).to_mask())?;
    write(own, &stage.list().to_mask())?;
    write("/proc/sys/vm/dirty_writeback_centisecs", "1")?;
    write("/proc/sys/vm/dirty_expire_centisecs", "1")?;
    let disk = std::fs::OpenOptions::new().write(true).open(ram_disk()?)?;
    stage.repeat(Duration::from_millis(5), || Ok(disk.write_all_at(&[1; PAGE], 0)?))?;
    write("/proc/sys/vm/dirty_writeback_centisecs", "500")?;
    write(own, before.1.trim())?;
    write(all, before.0.trim())
}

/// The first RAM disk; a guest has no udev, but its kernel makes the file.
fn ram_disk() -> Result<&'static str> {
    let disk = "/dev/ram0";
    if std::path::Path::new(disk).exists() {
        Ok(disk)
    } else {
        anyhow::bail!("there is no {disk}: load the module brd")
    }
}
