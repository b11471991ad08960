// SPDX-License-Identifier: GPL-2.0-only
//! Threads: names, places, policies.

use dyntick_model::CpuList;
use dyntick_system::read_lossy;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// `PF_KTHREAD` of `include/linux/sched.h`, in the flags of `/proc/PID/stat`.
const PF_KTHREAD: u64 = 0x0020_0000;

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
    /// Whether it is the kernel's own.
    pub kernel: bool,
    /// Where it may run.
    pub cpus: CpuList,
    /// Where it ran last.
    pub cpu: u32,
    /// How it is scheduled.
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

/// The threads of a process, by their numbers; none where it has ended.
pub fn threads_of(process: u32) -> BTreeSet<u32> {
    numbered(format!("/proc/{process}/task").as_ref()).map(|number| number as u32).collect()
}

/// The names in a folder that are numbers.
fn numbered(folder: &Path) -> impl Iterator<Item = i32> {
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
        assert!(threads.values().any(|thread| thread.kernel && thread.comm.starts_with("kworker/")));
        let own = &threads[&(std::process::id() as i32)];
        assert!(!own.kernel);
        assert_eq!(own.parent, std::os::unix::process::parent_id() as i32);
    }
}
