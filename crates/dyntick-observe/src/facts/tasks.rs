// SPDX-License-Identifier: GPL-2.0-only
//! Threads: names, places, policies.

use dyntick_model::CpuList;
use dyntick_system::read_lossy;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// `PF_KTHREAD` of `include/linux/sched.h`, in the flags of `/proc/PID/stat`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// `PF_NO_SETAFFINITY`, there too: the affinity cannot be set, as of a thread that is bound to its CPU.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its name.
    pub comm: String,
    /// The process that it belongs to.
    pub process: i32,
    /// The process that started this one, or took it over when that ended; 0 in records that older versions made.
    #[serde(default)]
    pub parent: i32,
    /// True if it is the kernel's own.
    pub kernel: bool,
    /// True if its affinity cannot be set; false in records that older versions made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
    /// True if it had ended when tasks were looked at last; false in records that older versions made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// The CPUs on which it may run.
    pub cpus: CpuList,
    /// The CPU on which it ran last.
    pub cpu: u32,
    /// The scheduling policy.
    pub policy: Policy,
    /// Its priority under a real-time policy, 1 to 99; 0 otherwise.
    pub priority: u32,
}

/// The scheduling policies (`include/uapi/linux/sched.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Policy {
    Other,
    Fifo,
    RoundRobin,
    Batch,
    Idle,
    Deadline,
    /// sched_ext
    Ext,
    Unknown,
}

impl Policy {
    fn from_number(number: u64) -> Self {
        match number {
            0 => Policy::Other,
            1 => Policy::Fifo,
            2 => Policy::RoundRobin,
            3 => Policy::Batch,
            5 => Policy::Idle,
            6 => Policy::Deadline,
            7 => Policy::Ext,
            _ => Policy::Unknown,
        }
    }
}

/// All threads of the machine, those of all processes and the kernel's. Those that end meanwhile are
/// left out.
pub fn threads() -> BTreeMap<i32, Thread> {
    let mut threads = BTreeMap::new();
    for process in numbered("/proc".as_ref()) {
        let folder = format!("/proc/{process}/task");
        let own = numbered(folder.as_ref());
        threads
            .extend(own.filter_map(|number| Some((number, thread(process, &format!("{folder}/{number}"))?))));
    }
    threads
}

/// A thread that runs, or waits for a CPU to run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runnable {
    /// Its number.
    pub thread: u32,
    /// The process that it belongs to.
    pub process: u32,
    /// Its name.
    pub comm: String,
    /// True if it is the kernel's own.
    pub kernel: bool,
    /// The CPU that it runs on or is to run on.
    pub cpu: u32,
    /// The CPU time that it has had, in the unit of `/proc/PID/stat` (`sysconf(_SC_CLK_TCK)`). Of one that runs on a
    /// CPU without a tick it may be a second old.
    pub cpu_time: u64,
}

/// All threads of the machine that are in state R. Idle tasks are none.
pub fn runnable() -> Vec<Runnable> {
    let of_process = |process: i32| {
        numbered(format!("/proc/{process}/task").as_ref()).filter_map(move |thread| {
            let text = read_lossy(format!("/proc/{process}/task/{thread}/stat").as_ref()).ok()?;
            in_stat(process as u32, thread as u32, &text)
        })
    };
    numbered("/proc".as_ref()).flat_map(of_process).collect()
}

/// Parses its `/proc/PID/task/TID/stat`, if it can run.
fn in_stat(process: u32, thread: u32, text: &str) -> Option<Runnable> {
    let (comm, stat) = split_stat(text)?;
    let field = |number: usize| stat.get(number - 3).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    (stat.first()? == "R").then(|| Runnable {
        thread,
        process,
        comm,
        kernel: field(9) & PF_KTHREAD != 0,
        cpu: field(39) as u32,
        cpu_time: field(14) + field(15),
    })
}

/// The threads of a process, by their numbers; none where it has ended.
pub fn threads_of(process: u32) -> BTreeSet<u32> {
    numbered(format!("/proc/{process}/task").as_ref()).map(|number| number as u32).collect()
}

/// The state of a thread (`R`, `S`, `D`, `T`, `t`, ...; proc(5)), and the CPU that it runs on or ran on last.
pub fn state_of(thread: u32) -> Option<(char, u32)> {
    let (_, stat) = split_stat(&read_lossy(format!("/proc/{thread}/stat").as_ref()).ok()?)?;
    Some((stat.first()?.chars().next()?, stat.get(36)?.parse().ok()?))
}

/// The names in a folder that are numbers.
fn numbered(folder: &Path) -> impl Iterator<Item = i32> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn thread(process: i32, folder: &str) -> Option<Thread> {
    let (comm, stat) = split_stat(&read_lossy(&Path::new(folder).join("stat")).ok()?)?;
    let status = read_lossy(&Path::new(folder).join("status")).ok()?;
    let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")?.parse().ok())?;
    // Fields are numbered as in proc(5), from 1; the state is the third and stands first here.
    let field = |number: usize| stat.get(number - 3).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Some(Thread {
        comm,
        process,
        parent: field(4) as i32,
        kernel: field(9) & PF_KTHREAD != 0,
        bound: field(9) & PF_NO_SETAFFINITY != 0,
        ended: false,
        cpus,
        cpu: field(39) as u32,
        policy: Policy::from_number(field(41)),
        priority: field(40) as u32,
    })
}

/// The name in `/proc/PID/stat`, which may hold blanks and brackets, and the fields behind it.
fn split_stat(text: &str) -> Option<(String, Vec<String>)> {
    let (begin, end) = (text.find('(')?, text.rfind(')')?);
    let fields = text.get(end + 1..)?.split_ascii_whitespace().map(str::to_owned);
    Some((text.get(begin + 1..end)?.to_owned(), fields.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_run_and_where() {
        let fields = "1 7 7 0 -1 4194560 5 0 0 0 30 4 0 0 20 0 1 0 99 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0";
        let of = |state: &str| in_stat(7, 8, &format!("8 (my) app) {state} {fields}"));
        let comm = "my) app".to_owned();
        let expected = Runnable { thread: 8, process: 7, comm, kernel: false, cpu: 3, cpu_time: 34 };
        assert_eq!((of("R"), of("S")), (Some(expected), None));
    }

    #[test]
    fn names_with_brackets() {
        let (comm, fields) = split_stat("7 (a) b) S 1 7 7 0").unwrap();
        assert_eq!((comm.as_str(), fields[0].as_str()), ("a) b", "S"));
        assert_eq!(split_stat("nothing"), None);
    }

    #[test]
    fn a_name_that_is_no_text() {
        let named = || {
            rustix::thread::set_name(c"hid\xff").unwrap();
            let own = rustix::thread::gettid().as_raw_nonzero().get();
            threads().remove(&own).unwrap().comm
        };
        assert_eq!(std::thread::spawn(named).join().unwrap(), "hid\u{fffd}");
    }

    #[test]
    fn this_machine_has_kernel_threads_and_this_one() {
        let threads = threads();
        let mut workers = threads.values().filter(|thread| thread.comm.starts_with("kworker/"));
        assert!(workers.next().is_some_and(|worker| worker.kernel && worker.bound));
        let own = &threads[&(std::process::id() as i32)];
        assert!(!own.kernel && !own.bound);
        assert_eq!(own.parent, std::os::unix::process::parent_id() as i32);
    }
}
