// SPDX-License-Identifier: GPL-2.0-only
//! Disturbances by work of the kernel that a task on another CPU asks for.

use super::Disturbance;
use super::stage::{Stage, write};
use anyhow::{Context, Result};
use dyntick_agent::spin_block;
use std::io::Write;
use std::time::Duration;

pub(super) const ALL: &[Disturbance] = &[
    ("jump-label", jump_label),
    ("ftrace", ftrace),
    ("expedited-rcu", expedited_rcu),
    ("pm-qos", pm_qos),
    ("device", device),
    ("receive-steering", receive_steering),
    ("backtrace", backtrace),
    ("hotplug", hotplug),
    ("kprobe", kprobe),
    ("trace-buffer", trace_buffer),
    ("kernel-messages", kernel_messages),
    ("loopback", loopback),
    ("rcu-callbacks", rcu_callbacks),
    ("rcu-threads", rcu_threads),
    ("mounts", mounts),
    ("serial-port", serial_port),
    ("ticking", nothing),
];

/// The victim alone: what disturbs it was set when the machine was booted.
fn nothing(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    stage.wait();
    Ok(())
}

/// A setting that is a branch in the kernel's code: changing it changes the code.
fn jump_label(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let mut on = false;
    stage.repeat(Duration::from_millis(10), || {
        on = !on;
        write("/proc/sys/kernel/sched_schedstats", if on { "1" } else { "0" })
    })
}

/// Trace events are switched on and off.
fn ftrace(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let mut on = false;
    stage.repeat(Duration::from_millis(10), || {
        on = !on;
        write("/sys/kernel/tracing/events/sched/sched_process_fork/enable", if on { "1" } else { "0" })
    })
}

/// A probe of the kernel is set and removed.
fn kprobe(stage: &Stage) -> Result<()> {
    const EVENTS: &str = "/sys/kernel/tracing/kprobe_events";
    let _victim = stage.victim()?;
    let define = |line: &str| -> Result<()> {
        Ok(std::fs::OpenOptions::new().append(true).open(EVENTS)?.write_all(line.as_bytes())?)
    };
    stage.repeat(Duration::from_millis(5), || {
        define("p:disturbance/fork kernel_clone\n")?;
        write("/sys/kernel/tracing/events/disturbance/fork/enable", "1")?;
        write("/sys/kernel/tracing/events/disturbance/fork/enable", "0")?;
        define("-:disturbance/fork\n")
    })
}

/// The trace buffers change their size: each CPU changes its own.
fn trace_buffer(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let mut large = false;
    stage.repeat(Duration::from_millis(10), || {
        large = !large;
        write("/sys/kernel/tracing/buffer_size_kb", if large { "64" } else { "32" })
    })
}

/// The task on the CPU has the kernel print messages, which another thread reads.
fn kernel_messages(stage: &Stage) -> Result<()> {
    write("/proc/sys/kernel/printk", "0 0 0 0")?;
    write("/proc/sys/kernel/printk_devkmsg", "on\n")?;
    // It ends with the program.
    std::thread::spawn(|| {
        let Ok(mut messages) = std::fs::File::open("/dev/kmsg") else { return };
        while !matches!(std::io::Read::read(&mut messages, &mut [0; 8192]), Ok(0)) {}
    });
    let _victim = stage.task("victim", |over| {
        while !over.load(std::sync::atomic::Ordering::Relaxed) {
            let _ = write("/dev/kmsg", "disturbed");
            (0..1000).for_each(|_| spin_block());
        }
    })?;
    stage.wait();
    Ok(())
}

/// The task on the CPU sends packets to itself.
fn loopback(stage: &Stage) -> Result<()> {
    let receiver = std::net::UdpSocket::bind("127.0.0.1:0")?;
    let sender = std::net::UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(receiver.local_addr()?)?;
    let _victim = stage.task("victim", move |over| {
        while !over.load(std::sync::atomic::Ordering::Relaxed) {
            let _ = sender.send(b"x");
            (0..100).for_each(|_| spin_block());
        }
    })?;
    stage.wait();
    drop(receiver);
    Ok(())
}

/// Unmounting waits for an expedited grace period.
fn expedited_rcu(stage: &Stage) -> Result<()> {
    let _victim = stage.task("victim", |over| {
        // Inside the kernel, where a grace period has to ask.
        while !over.load(std::sync::atomic::Ordering::Relaxed) {
            let _ = std::fs::read("/proc/vmstat");
        }
    })?;
    mount_and_unmount(stage)
}

/// The same next to a task that does not enter the kernel.
fn mounts(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    mount_and_unmount(stage)
}

fn mount_and_unmount(stage: &Stage) -> Result<()> {
    std::fs::create_dir_all("/tmp/mounted")?;
    stage.repeat(Duration::from_millis(1), || {
        let none = rustix::mount::MountFlags::empty();
        rustix::mount::mount("tmpfs", "/tmp/mounted", "tmpfs", none, None)?;
        Ok(rustix::mount::unmount("/tmp/mounted", rustix::mount::UnmountFlags::empty())?)
    })
}

/// The latency that all CPUs have to keep is changed: those that are idle are woken. There is no victim.
fn pm_qos(stage: &Stage) -> Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
    let mut latency = 10i32;
    stage.repeat(Duration::from_millis(4), || {
        latency += 1;
        Ok(file.write_all(&latency.to_ne_bytes())?)
    })
}

/// The serial port's interrupt is delivered to the CPU. Whatever is written there ends up on the
/// console, so it is blanks.
fn device(stage: &Stage) -> Result<()> {
    let mut port = std::fs::OpenOptions::new().write(true).open("/dev/ttyS0")?;
    let interrupts = std::fs::read_to_string("/proc/interrupts")?;
    let mut lines = interrupts.lines().filter(|line| line.contains("ttyS0"));
    let number = lines.find_map(|line| line.split_once(':')?.0.trim().parse::<u32>().ok());
    let number = number.context("the serial port has no interrupt")?;
    write(&format!("/proc/irq/{number}/smp_affinity_list"), &stage.cpu.to_string())?;
    let _victim = stage.victim()?;
    let ended = stage.repeat(Duration::from_millis(5), || Ok(port.write_all(b" ")?));
    write(&format!("/proc/irq/{number}/smp_affinity_list"), "0")?;
    ended
}

/// The serial port interrupts the CPU that the kernel chose for it.
fn serial_port(stage: &Stage) -> Result<()> {
    let mut port = std::fs::OpenOptions::new().write(true).open("/dev/ttyS0")?;
    let _victim = stage.victim()?;
    stage.repeat(Duration::from_millis(5), || Ok(port.write_all(b" ")?))
}

/// Packets that another CPU received are handed to this one.
fn receive_steering(stage: &Stage) -> Result<()> {
    write("/sys/class/net/lo/queues/rx-0/rps_cpus", &stage.list().to_mask())?;
    let _victim = stage.victim()?;
    let receiver = std::net::UdpSocket::bind("127.0.0.1:0")?;
    let sender = std::net::UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(receiver.local_addr()?)?;
    let ended = stage.repeat(Duration::ZERO, || Ok(sender.send(b"x").map(|_| ())?));
    write("/sys/class/net/lo/queues/rx-0/rps_cpus", "0")?;
    ended
}

/// A backtrace of all CPUs, which asks them by NMI.
fn backtrace(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    write("/proc/sys/kernel/printk", "0 0 0 0")?;
    stage.repeat(Duration::from_millis(20), || write("/proc/sysrq-trigger", "l"))
}

/// Another CPU goes and comes: all stop for it.
fn hotplug(stage: &Stage) -> Result<()> {
    let _victim = stage.victim()?;
    let online = "/sys/devices/system/cpu/cpu2/online";
    stage.repeat(Duration::from_millis(20), || {
        write(online, "0")?;
        write(online, "1")
    })
}

/// The task on the CPU frees memory through RCU.
fn rcu_callbacks(stage: &Stage) -> Result<()> {
    let _victim = freeing(stage)?;
    stage.wait();
    Ok(())
}

/// The same, and the threads that run its callbacks are on the CPU too.
fn rcu_threads(stage: &Stage) -> Result<()> {
    let _victim = freeing(stage)?;
    let _threads = super::threads::bind("rcuo", stage)?;
    stage.wait();
    Ok(())
}

fn freeing(stage: &Stage) -> Result<super::stage::Victim> {
    stage.task("victim", |over| {
        while !over.load(std::sync::atomic::Ordering::Relaxed) {
            let _ = std::fs::File::create("/tmp/freed");
            let _ = std::fs::remove_file("/tmp/freed");
        }
    })
}
