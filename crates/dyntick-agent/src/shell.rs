// SPDX-License-Identifier: GPL-2.0-only
//! An interactive guest.

use anyhow::{Context, Result};
use dyntick_guest::Shell;
use dyntick_model::Clock;
use dyntick_system::exit_code;
use rustix::mount::MountFlags;
use rustix::termios::{OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Starts a command on the console as its foreground job, so that job control and Ctrl-C work, and
/// waits for its end. Returns its exit status as a shell has it: 128 and the number of the signal
/// that killed it.
///
/// The agent leads the session: at the end of a leader the kernel hangs the terminal up, and what was
/// still to be sent would be lost.
pub fn run(asked: &Shell) -> Result<i32> {
    let _ = rustix::mount::mount("tracefs", "/sys/kernel/tracing", "tracefs", MountFlags::empty(), None);
    let _ = rustix::mount::mount("debugfs", "/sys/kernel/debug", "debugfs", MountFlags::empty(), None);
    let _ = super::cgroup::mount();
    // With busybox at hand all its applets get their names.
    let _ = std::fs::create_dir_all("/bin");
    let _ = Command::new("/usr/bin/busybox").args(["--install", "-s", "/bin"]).status();
    std::fs::write(Clock::FILE, asked.clock.to_string()).context("tell the clock")?;
    let (program, arguments) = asked.command.split_first().context("no shell was given")?;
    let console = std::fs::OpenOptions::new().read(true).write(true).open("/dev/ttyS0")?;
    set_up(&console, asked).context("set the console up")?;
    // Else a process of the background is stopped when it does something to its terminal.
    // SAFETY: nothing here handles this signal.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
    rustix::process::setsid().context("lead a session")?;
    rustix::process::ioctl_tiocsctty(&console).context("take the console")?;
    let mut shell = Command::new(program);
    shell.args(arguments).env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    shell.env("HOME", "/").env("TERM", "linux").env("PS1", "guest \\w # ").envs(&asked.environment);
    shell.stdin(console.try_clone()?).stdout(console.try_clone()?).stderr(console.try_clone()?);
    // SAFETY: a few async-signal-safe system calls between fork and exec.
    unsafe { shell.pre_exec(become_foreground) };
    let status = shell.status().with_context(|| format!("start {program}"))?;
    rustix::termios::tcdrain(&console).context("flush the console")?;
    Ok(exit_code(status).into())
}

/// Sets the size of a serial console, which has none, and stops it from turning a newline into two characters.
fn set_up(console: &File, asked: &Shell) -> rustix::io::Result<()> {
    if let Some((ws_row, ws_col)) = asked.size {
        tcsetwinsize(console, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })?;
    }
    if asked.plain {
        let mut settings = tcgetattr(console)?;
        settings.output_modes.remove(OutputModes::OPOST);
        tcsetattr(console, OptionalActions::Now, &settings)?;
    }
    Ok(())
}

/// Makes this process a group of its own and that group the terminal's.
fn become_foreground() -> std::io::Result<()> {
    rustix::process::setpgid(None, None)?;
    rustix::termios::tcsetpgrp(rustix::stdio::stdin(), rustix::process::getpid())?;
    // SAFETY: the shell gets back what is usual.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_DFL) };
    Ok(())
}
