// SPDX-License-Identifier: GPL-2.0-only
//! The workload: built-in tasks, real tools, and the timed script.

use super::cgroup::{self, Group};
use super::deadline;
use super::mounts::kernel_log;
use super::profile;
use super::settle::pin;
use anyhow::{Context, Result, bail};
use dyntick_guest::names::{INIT, STUDY_FOLDER};
use dyntick_guest::{Archive, Outcome, Policy, Script, ScriptResult, Task, Work, pieces};
use dyntick_model::{CpuList, NANOS_PER_SEC};
use dyntick_observe::thread::now_ns;
use dyntick_system::{schedule, wait_with_usage};
use rustix::process::{Resource, Rlimit};
use std::fs::File;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

/// The first argument with which the agent starts this program again as a task.
pub const TASK_COMMAND: &str = "guest-task";

/// The tasks of a window; they end, with all that they started, when this is dropped.
pub struct Running {
    tasks: Vec<Started>,
}

struct Started {
    child: Child,
    group: Group,
    to_its_end: bool,
}

impl Running {
    /// Starts all tasks.
    pub fn start(tasks: &[Task]) -> Result<Self> {
        if !tasks.is_empty() {
            cgroup::mount()?;
        }
        let mut running = Running { tasks: Vec::new() };
        for (number, task) in tasks.iter().enumerate() {
            running.tasks.push(start(task, number)?);
        }
        Ok(running)
    }

    /// CPU time of each task with its children so far, ns of user and of system time.
    pub fn cpu_times(&self) -> Result<Vec<(u64, u64)>> {
        self.tasks.iter().map(|task| task.group.cpu_time()).collect()
    }

    /// Waits for the tasks that end by themselves.
    ///
    /// # Errors
    /// If one of them failed: what it printed would be no figure.
    pub fn wait(&mut self) -> Result<()> {
        for (number, task) in self.tasks.iter_mut().enumerate().filter(|(_, task)| task.to_its_end) {
            let status = task.child.wait()?;
            if !status.success() {
                let printed = std::fs::read(output_of(number)).unwrap_or_default();
                bail!("task {number} failed ({status}): {}", String::from_utf8_lossy(&printed));
            }
        }
        Ok(())
    }

    /// Ends the tasks and returns a note for each that had ended before by itself.
    pub fn stop(mut self) -> Vec<String> {
        let endless = self.tasks.iter_mut().enumerate().filter(|(_, task)| !task.to_its_end);
        let early = endless.filter_map(|(number, task)| {
            let status = task.child.try_wait().ok().flatten()?;
            Some(Outcome::note_of_early_end(number, status))
        });
        early.collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for task in &mut self.tasks {
            task.group.end();
        }
    }
}

fn start(task: &Task, number: usize) -> Result<Started> {
    let group = Group::new(&format!("task-{number}"), task.partition, &task.cpus)?;
    let output = File::create(output_of(number))?;
    let mut command = match &task.work {
        Work::Tool(words) => tool(words)?,
        builtin => {
            let mut command = Command::new(INIT);
            command.arg(TASK_COMMAND).arg(serde_json::to_string(builtin)?);
            command
        }
    };
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    join(&mut command, group.entrance()?);
    place(&mut command, &task.cpus, task.policy);
    let child = command.spawn().with_context(|| format!("start task {number} ({:?})", task.work))?;
    Ok(Started { child, group, to_its_end: task.to_its_end })
}

/// The file of what a task prints.
fn output_of(number: usize) -> String {
    format!("/tmp/{}", pieces::output_of_task(number))
}

/// Puts the child into its group before all else, since joining a cpuset sets the affinity anew.
fn join(command: &mut Command, mut entrance: File) {
    // SAFETY: a single write between fork and exec.
    unsafe {
        command.pre_exec(move || entrance.write_all(b"0"));
    }
}

fn tool(words: &[String]) -> Result<Command> {
    let (program, arguments) = words.split_first().context("a task without a program")?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(STUDY_FOLDER);
    Ok(command)
}

/// Gives the child its CPUs and its policy before it starts.
fn place(command: &mut Command, cpus: &CpuList, policy: Policy) {
    let cpus = cpus.clone();
    // SAFETY: the child is single-threaded; these are system calls on itself.
    unsafe {
        command.pre_exec(move || {
            pin(&cpus).map_err(std::io::Error::other)?;
            match policy {
                Policy::Other => Ok(()),
                Policy::Fifo(priority) => schedule(0, libc::SCHED_FIFO, priority),
                Policy::Deadline { runtime_ns, period_ns } => deadline::set(runtime_ns, period_ns),
            }
        });
    }
}

/// Runs a script alone and times it. Its output goes into the archive.
pub fn time_script(script: &Script, profile: bool, archive: &mut Archive) -> Result<ScriptResult> {
    let mut command = tool(&script.run)?;
    command
        .stdin(Stdio::null())
        .stdout(File::create("/tmp/script.out")?)
        .stderr(File::create("/tmp/script.err")?);
    place(&mut command, &script.cpus, Policy::Other);
    let begin = now_ns();
    profile::on(profile);
    let child = command.spawn().with_context(|| format!("start the script {}", script.run[0]))?;
    let (status, usage) = wait_with_usage(child.id()).context("wait for the script")?;
    profile::off(profile);
    let elapsed_ns = now_ns() - begin;
    archive.insert(pieces::SCRIPT_OUT, std::fs::read("/tmp/script.out")?);
    archive.insert(pieces::SCRIPT_ERR, std::fs::read("/tmp/script.err")?);
    let nanoseconds = |time: libc::timeval| time.tv_sec as u64 * NANOS_PER_SEC + time.tv_usec as u64 * 1000;
    if !status.success() {
        bail!(
            "the script {:?} {}: {}{}",
            script.run,
            how_it_ended(status, &kernel_log()),
            String::from_utf8_lossy(&std::fs::read("/tmp/script.out")?),
            String::from_utf8_lossy(&std::fs::read("/tmp/script.err")?)
        );
    }
    Ok(ScriptResult {
        elapsed_ns,
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        status: status.code().unwrap_or_default(),
    })
}

/// The end of a script that did not succeed. If the kernel ended it for lack of memory, or the child of a shell, its
/// log says so.
fn how_it_ended(status: ExitStatus, log: &[u8]) -> String {
    // Shells tell a signal of a child by such a status.
    let is_killed = status.signal() == Some(libc::SIGKILL) || status.code() == Some(128 + libc::SIGKILL);
    if is_killed && String::from_utf8_lossy(log).contains("Out of memory: Killed process") {
        return "was killed, as the guest ran out of memory (`memory` of the case)".to_owned();
    }
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, signal) => format!("was killed by signal {}", signal.unwrap_or_default()),
    }
}

/// A built-in task, in its own process. Never returns unless the task cannot go on.
pub fn run_task(work: &str) -> Result<()> {
    // A task must not fault pages in while it is measured.
    let _ = rustix::process::setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None });
    let _ = rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT);
    let work: Work = serde_json::from_str(work)?;
    // The report names tasks as the kernel does.
    let _ = std::fs::write("/proc/self/comm", work.name());
    match work {
        Work::Spin => loop {
            spin_block();
        },
        Work::RcuFree => loop {
            File::create("/tmp/rcu-free")?;
            std::fs::remove_file("/tmp/rcu-free")?;
        },
        Work::SyscallLoop => loop {
            std::hint::black_box(rustix::process::getppid());
        },
        Work::Tool(words) => bail!("{words:?} is not a built-in task"),
    }
}

/// 4096 instructions of user code that touch nothing. A long block without branches, since an
/// emulator then spends its time on the guest's clock and not on the guest's code.
#[inline(never)]
pub fn spin_block() {
    // SAFETY: does nothing.
    unsafe { std::arch::asm!(".rept 4096", "nop", ".endr", options(nomem, nostack, preserves_flags)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_was_killed_says_by_what() {
        let ended = |raw, log: &str| how_it_ended(ExitStatus::from_raw(raw), log.as_bytes());
        let oom = "[    3.1] Out of memory: Killed process 80 (perl) total-vm:500000kB";
        assert_eq!(ended(3 << 8, oom), "ended with status 3");
        assert_eq!(ended(9, ""), "was killed by signal 9");
        assert_eq!(ended(11, oom), "was killed by signal 11");
        for killed in [9, 137 << 8] {
            assert!(ended(killed, oom).contains("the guest ran out of memory"));
        }
    }
}
