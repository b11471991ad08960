// SPDX-License-Identifier: GPL-2.0-only
//! The few operations on a machine, so that a test can simulate one that dies.

use dyntick_model::CpuList;
use dyntick_system::{affinity, read_lossy, run_on, schedule};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat2, unlinkat};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

/// The identity of a thread: IDs are reused, an ID with a start time is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId {
    /// The thread ID.
    pub tid: i32,
    /// The start, in clock ticks since boot.
    pub start: u64,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The identity.
    pub id: TaskId,
    /// Its name.
    pub comm: String,
    /// The online CPUs that it may run on.
    pub cpus: CpuList,
    /// True for a thread of the kernel (`PF_KTHREAD`).
    pub kernel: bool,
    /// True if its affinity can be set (not `PF_NO_SETAFFINITY`).
    pub movable: bool,
}

/// A machine, as far as isolating needs it.
pub trait System {
    /// Reads the text of a file.
    fn read(&self, path: &Path) -> io::Result<String>;
    /// Writes to an existing file with one call. A path with a symbolic link in it is refused.
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()>;
    /// Writes to a file while an ordinary task runs on this CPU.
    fn write_while_busy(&mut self, _cpu: u32, path: &Path, text: &str) -> io::Result<()> {
        self.write(path, text)
    }
    /// Makes a folder.
    fn make_folder(&mut self, path: &Path) -> io::Result<()>;
    /// Removes a folder with its content in kernel file systems. A path with a symbolic link in it is refused.
    fn remove_folder(&mut self, path: &Path) -> io::Result<()>;
    /// The folders in a folder; the target of a link (as in `/sys/class/net`) by its real path.
    fn folders(&self, path: &Path) -> Vec<PathBuf>;
    /// All threads.
    fn tasks(&self) -> Vec<Task>;
    /// The CPUs that a thread may run on; `None` if it has ended.
    fn cpus_of(&self, id: TaskId) -> Option<CpuList>;
    /// Sets the affinity of a thread; `ESRCH` if it has ended.
    fn set_affinity(&mut self, id: TaskId, cpus: &CpuList) -> io::Result<()>;
}

/// The kernel itself refuses links, whenever they were made (openat2(2), since 5.6).
const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS;

/// This machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live;

impl System for Live {
    fn read(&self, path: &Path) -> io::Result<String> {
        read_lossy(path)
    }

    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        use std::io::Write;
        let file = File::from(openat2(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty(), NO_LINKS)?);
        (&file).write_all(text.as_bytes())
    }

    fn write_while_busy(&mut self, cpu: u32, path: &Path, text: &str) -> io::Result<()> {
        let (runs, end) = (channel(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (report, end) = (runs.0, &end);
            std::thread::Builder::new().spawn_scoped(scope, move || {
                let here = be_ordinary_on(cpu);
                let _ = report.send(here);
                while !end.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })?;
            let here = runs.1.recv().expect("it reports before it ends");
            let result = here.and_then(|()| self.write(path, text));
            end.store(true, Ordering::Relaxed);
            result
        })
    }

    fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)
    }

    fn remove_folder(&mut self, path: &Path) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = openat2(CWD, parent, flags, Mode::empty(), NO_LINKS)?;
        Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?)
    }

    fn folders(&self, path: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(real_path).filter(|path| path.is_dir()).collect()
    }

    fn tasks(&self) -> Vec<Task> {
        let processes = numbered_entries("/proc").into_iter();
        let threads = processes.flat_map(|pid| numbered_entries(&format!("/proc/{pid}/task")));
        threads.filter_map(task).collect()
    }

    fn cpus_of(&self, id: TaskId) -> Option<CpuList> {
        task(id.tid).filter(|task| task.id == id).map(|task| task.cpus)
    }

    fn set_affinity(&mut self, id: TaskId, cpus: &CpuList) -> io::Result<()> {
        // The ID may have been reused by another thread.
        if stat(id.tid).is_none_or(|stat| stat.start != id.start) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        run_on(Some(id.tid), cpus)
    }
}

fn real_path(entry: std::fs::DirEntry) -> Option<PathBuf> {
    if entry.file_type().ok()?.is_symlink() { entry.path().canonicalize().ok() } else { Some(entry.path()) }
}

fn numbered_entries(path: &str) -> Vec<i32> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).collect()
}

/// Makes this thread one of the fair class on this CPU.
fn be_ordinary_on(cpu: u32) -> io::Result<()> {
    run_on(None, &CpuList::from_iter([cpu]))?;
    schedule(0, libc::SCHED_OTHER, 0)
}

fn task(tid: i32) -> Option<Task> {
    let Stat { comm, flags, start, .. } = stat(tid)?;
    let cpus = affinity(Some(tid)).ok()?;
    Some(Task {
        id: TaskId { tid, start },
        comm,
        cpus,
        kernel: flags & PF_KTHREAD != 0,
        movable: flags & PF_NO_SETAFFINITY == 0,
    })
}

/// The start of this process, in clock ticks since boot.
pub(crate) fn own_start() -> u64 {
    stat(std::process::id() as i32).map_or(0, |stat| stat.start)
}

/// Returns true if a process runs and was not killed.
pub(crate) fn lives(id: TaskId) -> bool {
    stat(id.tid).is_some_and(|stat| stat.start == id.start && stat.flags & PF_EXITING == 0 && !stat.killed)
}

/// `include/linux/sched.h`.
const PF_EXITING: u64 = 0x4;
const PF_KTHREAD: u64 = 0x0020_0000;
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

struct Stat {
    comm: String,
    flags: u64,
    start: u64,
    killed: bool,
}

/// Reads `/proc/TID/stat`, see proc_pid_stat(5): comm is field 2, state 3, flags 9, starttime 22, exit_code 52. `None`
/// for a zombie.
///
/// The exit code of a running process is the signal that is to kill it, as soon as that was sent (6.1 and 6.12:
/// `fs/proc/array.c: do_task_stat`, `kernel/signal.c: complete_signal`), or the signal that has stopped it.
fn stat(tid: i32) -> Option<Stat> {
    let text = read_lossy(Path::new(&format!("/proc/{tid}/stat"))).ok()?;
    // A name may contain blanks and brackets; the last bracket ends it.
    let (head, tail) = text.rsplit_once(')')?;
    let comm = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
    let state = *fields.first()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let killed = !matches!(state, "T" | "t") && field(52)? != 0;
    Some(Stat { comm, flags: field(9)?, start: field(22)?, killed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_user_space_and_the_kernel_are_found() {
        let tasks = Live.tasks();
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let this = tasks.iter().find(|task| task.id.tid == own).unwrap();
        assert!(!this.kernel && this.movable && !this.cpus.is_empty());
        // Setting the present affinity changes nothing; a thread of this ID with another start is gone.
        Live.set_affinity(this.id, &this.cpus).unwrap();
        let other = TaskId { start: this.id.start + 1, ..this.id };
        assert_eq!(Live.set_affinity(other, &this.cpus).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn thread_with_a_name_that_is_not_text_is_found() {
        let named = || {
            rustix::thread::set_name(c"hid\xff").unwrap();
            let own = rustix::thread::gettid().as_raw_nonzero().get();
            Live.tasks().into_iter().find(|task| task.id.tid == own)
        };
        let task = std::thread::spawn(named).join().unwrap();
        assert_eq!(task.unwrap().comm, "hid\u{fffd}");
    }

    #[test]
    fn linked_folders_are_listed_by_their_real_paths() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("devices/eth0")).unwrap();
        std::fs::create_dir_all(real.join("class/bonding")).unwrap();
        std::fs::write(real.join("class/file"), "").unwrap();
        std::os::unix::fs::symlink("../devices/eth0", real.join("class/eth0")).unwrap();
        std::os::unix::fs::symlink("file", real.join("class/link")).unwrap();
        let mut found = Live.folders(&real.join("class"));
        found.sort();
        assert_eq!(found, [real.join("class/bonding"), real.join("devices/eth0")]);
    }

    #[test]
    fn nothing_is_written_or_removed_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let at = |name: &str| real.join(name);
        std::fs::create_dir_all(at("real/inner")).unwrap();
        std::fs::write(at("real/file"), "old").unwrap();
        std::os::unix::fs::symlink(at("real"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("real/file"), at("name")).unwrap();
        for path in ["link/file", "name"] {
            let error = Live.write(&at(path), "new").unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ELOOP), "{path}");
        }
        assert_eq!(Live.remove_folder(&at("link/inner")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
        assert_eq!(std::fs::read_to_string(at("real/file")).unwrap(), "old");
        Live.write(&at("real/file"), "new").unwrap();
        Live.remove_folder(&at("real/inner")).unwrap();
        assert_eq!(std::fs::read_to_string(at("real/file")).unwrap(), "new");
    }

    #[test]
    fn stopped_process_lives_and_killed_process_does_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let tid = child.id() as i32;
        let id = TaskId { tid, start: stat(tid).unwrap().start };
        assert!(lives(id) && !lives(TaskId { start: id.start + 1, ..id }));
        let send = |signal| {
            rustix::process::kill_process(rustix::process::Pid::from_raw(tid).unwrap(), signal).unwrap()
        };
        send(rustix::process::Signal::STOP);
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(lives(id), "stopped");
        // Without waiting: it need not have run again.
        send(rustix::process::Signal::KILL);
        assert!(!lives(id), "killed");
        child.wait().unwrap();
    }
}
