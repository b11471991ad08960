// SPDX-License-Identifier: GPL-2.0-only
//! An interactive guest.

use anyhow::{Context, Result};
use rustix::mount::MountFlags;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

/// Starts a command on the console as the leader of its own session, so that job control and
/// Ctrl-C work, and waits for its end. Returns its exit status as a shell tells it: 128 and the
/// signal's number where one killed it.
pub fn run(command: &[String]) -> Result<i32> {
    let _ = rustix::mount::mount("tracefs", "/sys/kernel/tracing", "tracefs", MountFlags::empty(), None);
    let _ = rustix::mount::mount("debugfs", "/sys/kernel/debug", "debugfs", MountFlags::empty(), None);
    let _ = super::cgroup::mount();
    // With busybox at hand all its applets get their names.
    let _ = std::fs::create_dir_all("/bin");
    let _ = Command::new("/usr/bin/busybox").args(["--install", "-s", "/bin"]).status();
    let (program, arguments) = command.split_first().context("no shell was named")?;
    let console = std::fs::OpenOptions::new().read(true).write(true).open("/dev/ttyS0")?;
    let mut shell = Command::new(program);
    shell.args(arguments).env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    shell.env("HOME", "/").env("TERM", "linux").env("PS1", "guest \\w # ");
    shell.stdin(console.try_clone()?).stdout(console.try_clone()?).stderr(console);
    // SAFETY: two async-signal-safe system calls between fork and exec.
    unsafe {
        shell.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        });
    }
    let status = shell.status().with_context(|| format!("start {program}"))?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
}
