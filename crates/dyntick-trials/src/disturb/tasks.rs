// SPDX-License-Identifier: GPL-2.0-only
//! Disturbances by other tasks and by the scheduler.

use super::Disturbance;
use super::stage::{Stage, checked, write};
use anyhow::{Context, Result};
use dyntick_agent::{deadline, pin, spin_block};
use dyntick_model::CpuList;
use dyntick_system::schedule;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(super) const ALL: &[Disturbance] = &[
    ("second-task", second_task),
    ("woken-task", woken_task),
    ("sleeping-task", sleeping_task),
    ("deadline-task", deadline_task),
    ("signals", signals),
    ("migration", migration),
    ("quota", quota),
    ("fifo-task", fifo_task),
    ("equal-task", equal_task),
    ("freezer", freezer),
    ("crowd", crowd),
    ("hrtick", hrtick),
];

/// Two tasks that both want the CPU.
fn second_task(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let _other = stage.victim()?;
    stage.wait();
    Ok(())
}

/// More tasks than CPUs, which may run everywhere.
fn crowd(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let everywhere = stage.others()?.union(&stage.list());
    let member = |_| {
        let member = stage.task("crowd", |over| {
            while !over.load(Ordering::Relaxed) {
                spin_block();
            }
        })?;
        // It began on the CPU that is to be disturbed.
        move_to(member.thread, &stage.others()?)?;
        move_to(member.thread, &everywhere)?;
        Ok(member)
    };
    let _crowd: Vec<_> = (0..2 * everywhere.len()).map(member).collect::<Result<_>>()?;
    stage.wait();
    Ok(())
}

/// Two tasks whose slices end by timers of their own.
fn hrtick(stage: &Stage) -> Result<()> {
    write("/sys/kernel/debug/sched/features", "HRTICK")?;
    second_task(stage)
}

/// A task that another CPU wakes there.
fn woken_task(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let (wake, woken) = std::sync::mpsc::channel::<()>();
    let _other = stage.task("woken", move |_| while woken.recv().is_ok() {})?;
    stage.repeat(Duration::from_millis(2), || Ok(wake.send(())?))?;
    drop(wake);
    Ok(())
}

/// A task that sleeps for a set time, as cyclictest does.
fn sleeping_task(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let _other = stage.task("sleeper", |over| {
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    })?;
    stage.wait();
    Ok(())
}

/// A deadline task with 1 ms in every 10. It may run on all CPUs, as its policy demands, and where it
/// is admitted only on an isolated one.
fn deadline_task(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    // Admission control wants a task that may run everywhere; without it any may.
    write("/proc/sys/kernel/sched_rt_runtime_us", "-1")?;
    let _other = stage.task("deadline", |over| {
        let set = deadline::set(1_000_000, 10_000_000);
        while set.is_ok() && !over.load(Ordering::Relaxed) {
            // SAFETY: no arguments.
            unsafe { libc::sched_yield() };
        }
    })?;
    stage.wait();
    Ok(())
}

/// Signals to the victim.
fn signals(stage: &Stage) -> Result<()> {
    super::timers::catch(libc::SIGUSR1);
    let victim = stage.victim()?;
    stage.repeat(Duration::from_millis(2), || {
        // SAFETY: no pointers.
        let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), victim.thread, libc::SIGUSR1) };
        checked("tgkill", sent).map(drop)
    })
}

/// The victim is moved away and back.
fn migration(stage: &Stage) -> Result<()> {
    let victim = stage.victim()?;
    let other = CpuList::from_iter([if stage.cpu == 0 { 1 } else { 0 }]);
    stage.repeat(Duration::from_millis(2), || {
        move_to(victim.thread, &other)?;
        move_to(victim.thread, &stage.list())
    })
}

fn move_to(thread: i32, cpus: &CpuList) -> Result<()> {
    Ok(dyntick_system::run_on(Some(thread), cpus)?)
}

/// Mounts control groups, version 2, and makes one with these controllers.
fn group(name: &str, controllers: &str) -> Result<String> {
    const ROOT: &str = "/sys/fs/cgroup";
    let _ = std::fs::create_dir_all(ROOT);
    let flags = rustix::mount::MountFlags::empty();
    let _ = rustix::mount::mount("cgroup2", ROOT, "cgroup2", flags, None);
    write(&format!("{ROOT}/cgroup.subtree_control"), controllers)?;
    let folder = format!("{ROOT}/{name}");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A CPU quota that ends before its period does.
fn quota(stage: &Stage) -> Result<()> {
    let limited = group("limited", "+cpu")?;
    write(&format!("{limited}/cpu.max"), "5000 10000")?;
    write(&format!("{limited}/cgroup.procs"), &std::process::id().to_string())?;
    pin(&CpuList::from_iter([0]))?;
    let _victim = stage.victim()?;
    stage.wait();
    drop(_victim);
    write("/sys/fs/cgroup/cgroup.procs", &std::process::id().to_string())
}

/// A real-time task that takes the CPU for long.
fn fifo_task(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let _other = stage.task("realtime", |over| {
        let _ = schedule(0, libc::SCHED_FIFO, 10);
        while !over.load(Ordering::Relaxed) {
            (0..50).for_each(|_| spin_block());
            std::thread::sleep(Duration::from_millis(1));
        }
    })?;
    stage.wait();
    Ok(())
}

/// Two real-time tasks of the same priority, which take turns.
fn equal_task(stage: &Stage) -> Result<()> {
    write("/proc/sys/kernel/sched_rr_timeslice_ms", "4")?;
    let tasks = [stage.victim()?, stage.victim()?];
    for task in &tasks {
        schedule(task.thread, libc::SCHED_RR, 10).context("sched_setscheduler")?;
    }
    stage.wait();
    Ok(())
}

/// A program of its own on the CPU is frozen and thawed by its control group.
fn freezer(stage: &Stage) -> Result<()> {
    let frozen = group("frozen", "+cpu")?;
    let mut program = std::process::Command::new(std::env::current_exe()?)
        .args(["disturb", "-C", &stage.cpu.to_string(), "ticking", "--ms", "600000"])
        .spawn()?;
    write(&format!("{frozen}/cgroup.procs"), &program.id().to_string())?;
    let ended = stage.repeat(Duration::from_millis(10), || {
        write(&format!("{frozen}/cgroup.freeze"), "1")?;
        std::thread::sleep(Duration::from_millis(1));
        write(&format!("{frozen}/cgroup.freeze"), "0")
    });
    program.kill()?;
    program.wait()?;
    ended
}
