// SPDX-License-Identifier: GPL-2.0-only
//! Programs that enter the kernel in one way only, again and again: what is profiled to learn what
//! that way costs. They run in a guest as a task or script, `dyntick guest-probe …`.

use super::settle::pin;
use anyhow::{Context, Result, bail};
use dyntick_model::CpuList;
use std::sync::atomic::{AtomicBool, Ordering};

/// The entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The cheapest system call, `getppid`.
    Syscall,
    /// The first touch of a fresh anonymous page.
    PageFault,
    /// A timer interrupt that comes while user code runs. On a nohz_full CPU it takes kernel.timer_migration=0:
    /// else the kernel arms the timer on a housekeeping CPU, unless it expires before that one's next event
    /// (`kernel/time/hrtimer.c: switch_hrtimer_base`), which is chance.
    Timer,
    /// A function call from another CPU (`membarrier`) that comes while user code runs.
    Ipi,
    /// Each of these, one after the other.
    All,
}

/// The number of pages that are touched before they are given back.
const PAGES: u64 = 64;
const PAGE: usize = 4096;
/// The time until the timer expires, ns: longer than setting it takes.
const AHEAD: i64 = 100_000;
/// Blocks of user code that last longer than that, in virtual time.
const SPINS: u64 = 200_000;

/// Enters the kernel so often, on a CPU.
pub fn run(probe: Probe, cpu: u32, count: u64) -> Result<()> {
    pin(&CpuList::from_iter([cpu]))?;
    match probe {
        Probe::Syscall => {
            for _ in 0..count {
                std::hint::black_box(rustix::process::getppid());
            }
            Ok(())
        }
        Probe::PageFault => page_faults(count),
        Probe::Timer => timers(count),
        Probe::Ipi => calls(cpu, count),
        Probe::All => {
            let each = [Probe::Syscall, Probe::PageFault, Probe::Timer, Probe::Ipi];
            each.into_iter().try_for_each(|probe| run(probe, cpu, count))
        }
    }
}

fn failed(what: &str) -> anyhow::Error {
    anyhow::anyhow!("{what}: {}", std::io::Error::last_os_error())
}

fn page_faults(count: u64) -> Result<()> {
    let length = PAGES as usize * PAGE;
    // SAFETY: a fresh private mapping, and its own addresses only.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if memory == libc::MAP_FAILED {
            return Err(failed("mmap"));
        }
        // One fault for each page, not one for many. Kernels without huge pages refuse it.
        libc::madvise(memory, length, libc::MADV_NOHUGEPAGE);
        for number in 0..count {
            let page = (number % PAGES) as usize;
            if page == 0 && libc::madvise(memory, length, libc::MADV_DONTNEED) != 0 {
                return Err(failed("madvise"));
            }
            memory.cast::<u8>().add(page * PAGE).write_volatile(1);
        }
    }
    Ok(())
}

fn timers(count: u64) -> Result<()> {
    // SAFETY: system calls with valid arguments.
    unsafe {
        let timer = libc::timerfd_create(libc::CLOCK_MONOTONIC, 0);
        if timer < 0 {
            return Err(failed("timerfd_create"));
        }
        let mut time: libc::itimerspec = std::mem::zeroed();
        time.it_value.tv_nsec = AHEAD;
        for _ in 0..count {
            if libc::timerfd_settime(timer, 0, &time, std::ptr::null_mut()) != 0 {
                return Err(failed("timerfd_settime"));
            }
            (0..SPINS).for_each(|number| _ = std::hint::black_box(number));
        }
    }
    Ok(())
}

fn calls(cpu: u32, count: u64) -> Result<()> {
    const QUERY: libc::c_int = 0;
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
    // SAFETY: membarrier takes no pointers.
    let membarrier = |command: libc::c_int| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if membarrier(QUERY) & i64::from(PRIVATE_EXPEDITED) == 0 || membarrier(REGISTER_PRIVATE_EXPEDITED) != 0 {
        bail!("this kernel has no expedited membarrier");
    }
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let online: CpuList = online.trim().parse().context("read the list of online CPUs")?;
    let caller = online.iter().find(|other| *other != cpu).context("no other CPU is online")?;
    let (moved, in_user_code, done) =
        (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let pinned = pin(&CpuList::from_iter([caller]));
            // The CPU's stopper thread has moved this thread. While it runs there, no call is sent: it has no memory of
            // this program (6.12, kernel/sched/membarrier.c: membarrier_private_expedited).
            moved.store(true, Ordering::Release);
            while !in_user_code.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            let called = pinned.and_then(|()| {
                (0..count).try_for_each(|_| match membarrier(PRIVATE_EXPEDITED) {
                    0 => Ok(()),
                    _ => Err(failed("membarrier")),
                })
            });
            done.store(true, Ordering::Release);
            called
        });
        while !done.load(Ordering::Acquire) {
            if moved.load(Ordering::Acquire) {
                in_user_code.store(true, Ordering::Release);
            }
        }
        other.join().unwrap_or_else(|_| bail!("the calling thread ended early"))
    })
}
