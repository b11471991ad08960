// SPDX-License-Identifier: GPL-2.0-only
//! The stage of a disturbance: the CPU, its victim, the time.

use anyhow::{Context, Result};
use dyntick_agent::{pin, spin_block};
use dyntick_model::CpuList;
use dyntick_observe::thread::now_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// One CPU that is to be disturbed.
pub(super) struct Stage {
    pub cpu: u32,
    end_ns: u64,
    asked: Duration,
}

/// The task that is disturbed; it ends when this is dropped.
pub(super) struct Victim {
    pub thread: i32,
    over: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl Stage {
    /// Keeps this thread off the CPU.
    pub fn new(cpu: u32, ms: u64) -> Result<Self> {
        let stage = Self { cpu, end_ns: now_ns() + ms * 1_000_000, asked: Duration::from_millis(ms) };
        pin(&stage.others()?)?;
        Ok(stage)
    }

    /// The CPU as a list.
    pub fn list(&self) -> CpuList {
        CpuList::from_iter([self.cpu])
    }

    /// The other CPUs that run.
    pub fn others(&self) -> Result<CpuList> {
        others(self.cpu)
    }

    /// True until the time is over.
    pub fn goes_on(&self) -> bool {
        now_ns() < self.end_ns
    }

    /// Does something again and again until the time is over, with a pause between.
    pub fn repeat(&self, pause: Duration, mut what: impl FnMut() -> Result<()>) -> Result<()> {
        while self.goes_on() {
            what()?;
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
        }
        Ok(())
    }

    /// Waits until the time is over.
    pub fn wait(&self) {
        std::thread::sleep(Duration::from_nanos(self.end_ns.saturating_sub(now_ns())));
    }

    /// Waits a multiple of the requested time, for rare events.
    pub fn wait_times(&self, times: u32) {
        std::thread::sleep(self.asked * times);
    }

    /// Starts a task on the CPU that computes and makes no system call.
    pub fn victim(&self) -> Result<Victim> {
        self.victim_that(|| {})
    }

    /// The same, which does something once before.
    pub fn victim_that(&self, first: impl FnOnce() + Send + 'static) -> Result<Victim> {
        self.task("victim", move |over| {
            first();
            while !over.load(Ordering::Relaxed) {
                spin_block();
            }
        })
    }

    /// Starts a task on the CPU that runs until it is asked to end.
    pub fn task(&self, name: &str, work: impl FnOnce(&AtomicBool) + Send + 'static) -> Result<Victim> {
        let over = Arc::new(AtomicBool::new(false));
        let number = Arc::new(AtomicI32::new(0));
        let (told, own, cpus) = (over.clone(), number.clone(), self.list());
        let start = move || {
            let placed = pin(&cpus);
            own.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Release);
            if placed.is_ok() {
                work(&told);
            }
        };
        let handle = std::thread::Builder::new().name(name.to_owned()).spawn(start)?;
        while number.load(Ordering::Acquire) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Victim { thread: number.load(Ordering::Acquire), over, handle: Some(handle) })
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

/// An error of the last system call.
pub(super) fn failed(what: &str) -> anyhow::Error {
    anyhow::anyhow!("{what}: {}", std::io::Error::last_os_error())
}

/// The result of a system call, or its error.
pub(super) fn checked(what: &str, result: i64) -> Result<i64> {
    if result < 0 { Err(failed(what)) } else { Ok(result) }
}

/// Writes to a file of the kernel.
pub(super) fn write(path: &str, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("write '{text}' to {path}"))
}

/// The online CPUs but one.
pub(super) fn others(cpu: u32) -> Result<CpuList> {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let online: CpuList = online.trim().parse().context("read the list of online CPUs")?;
    Ok(online.difference(&CpuList::from_iter([cpu])))
}
