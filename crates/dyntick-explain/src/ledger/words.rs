// SPDX-License-Identifier: GPL-2.0-only
//! The wording of each use of a thread's time, with its fixes. A command is shown only if a guest has shown that it
//! works (`crates/dyntick/tests/e2e/ledger.rs`); the rest is advice in words.

use super::{Amount, CallId, Ended, Fault, Place, Spent, Waits};
use crate::fixes::Limit;
use crate::rules::LESS_SLACK;
use crate::{Task, names};
use dyntick_model::{CpuList, Fix, signal_name};
use std::collections::BTreeMap;

/// The facts that a title or a fix needs in addition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clues {
    /// The CPU quota that limits the threads.
    pub quota: Option<Limit>,
    /// The quotas of groups that were seen to be throttled, by the numbers of the groups' folders.
    pub quotas: BTreeMap<u64, Limit>,
    /// The memory limit that the threads reached most often; if they reached none, their innermost one.
    pub memory: Option<Limit>,
    /// The same of those that only slow down (`memory.high`).
    pub memory_high: Option<Limit>,
    /// True if the kernel counted in the window that the first of these was reached.
    pub memory_reached: bool,
    /// The growth of the machine's counters in the window: `numa_hint_faults`, `thp_fault_alloc`, `pgmajfault`.
    pub numa_hints: u64,
    #[allow(missing_docs)]
    pub huge_faults: u64,
    #[allow(missing_docs)]
    pub major_faults: u64,
    /// The recorded CPUs.
    pub cpus: CpuList,
    /// True if one of the threads started another.
    pub forked: bool,
    /// The machine's architecture, as `uname -m` has it.
    pub architecture: String,
}

/// The words about one use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The event, in a line.
    pub title: String,
    /// The mechanism; may be empty.
    pub explanation: &'static str,
    /// The fixes, the most effective first.
    pub fixes: Vec<Fix>,
}

impl Words {
    fn new(title: impl Into<String>, explanation: &'static str, fixes: Vec<Fix>) -> Self {
        Self { title: title.into(), explanation, fixes }
    }
}

fn command(text: impl Into<String>) -> Fix {
    Fix::Command(text.into())
}

fn advice(text: impl Into<String>) -> Fix {
    Fix::Advice(text.into())
}

/// The words about a use, of which this is the sum.
pub fn of(spent: &Spent, amount: &Amount, clues: &Clues) -> Words {
    match spent {
        Spent::Ran => Words::new("ran, in user mode and in the kernel", "", Vec::new()),
        Spent::RanInUserMode => Words::new("ran in user mode", "", Vec::new()),
        Spent::Called(id) => {
            Words::new(format!("ran in the kernel: {}", call_name(*id, &clues.architecture)), "", Vec::new())
        }
        Spent::Fault(kind) => of_fault(*kind, amount, clues),
        Spent::Reclaimed => of_memory_limit("ran in the kernel to free memory", "", clues),
        Spent::Interrupted => Words::new("interrupted on its CPU", "", Vec::new()),
        Spent::Preempted(by) => Words::new(
            format!("ready to run, while {by} had the CPU"),
            "Several tasks want one CPU, and the scheduler gives it to one after the other.",
            Vec::new(),
        ),
        Spent::RealTimeLimit => Words::new(
            "throttled: real-time tasks had used up their share of the CPU",
            "Real-time tasks may use sched_rt_runtime_us of each sched_rt_period_us, 950 ms of each second by default. \
             Then they wait for the next period, even if nothing else wants the CPU.",
            vec![command("sysctl -w kernel.sched_rt_runtime_us=-1")],
        ),
        Spent::Quota(group) => {
            of_quota(group.and_then(|group| clues.quotas.get(&group)).or(clues.quota.as_ref()))
        }
        Spent::NothingRan => Words::new(
            "ready to run, while its CPU ran nothing",
            "A thread that is ready does not get an idle CPU if its group is throttled. No quota of it is known.",
            Vec::new(),
        ),
        Spent::Moved => Words::new(
            format!("moved to another CPU{}", by(amount)),
            "A thread that is moved leaves its caches, and the new CPU has to leave idle for it.",
            culprit(amount)
                .map(|mover| {
                    advice(format!("have {mover} leave its affinity alone; pin it where it is to stay"))
                })
                .into_iter()
                .collect(),
        ),
        Spent::WakingUp => Words::new(
            "waking up: from the wake-up to the CPU, which had to leave idle",
            "The wake-up's interrupt, the exit from the idle state, and the switch.",
            Vec::new(),
        ),
        Spent::Stopped(signal) => Words::new(
            match signal {
                Some(signal) => format!("stopped by {}{}", signal_name(*signal), from(amount)),
                None => format!("stopped by a signal{}", until(amount)),
            },
            "A stopped thread runs again after SIGCONT.",
            culprit(amount)
                .map(|sender| {
                    advice(format!(
                        "have {sender} not stop it; to limit its CPU time, use the quota or weight of a control group"
                    ))
                })
                .into_iter()
                .collect(),
        ),
        Spent::Traced => Words::new(
            format!("stopped by a tracer (ptrace){}", until(amount)),
            "A debugger or a profiler stops the thread to look at it, and lets it go.",
            vec![advice(
                "end the tracer, or take one that does not stop the program (perf, eBPF, a non-blocking mode)",
            )],
        ),
        Spent::Blocked(Some(place)) if place.function.contains(OVER_HIGH) => of_memory_high(clues),
        Spent::Blocked(place) => of_block(place.as_ref(), amount, clues),
        Spent::Kept(holder, by) => Words::new(
            format!("waited for {holder}, which {by} kept from its CPU"),
            "A thread waits for one that cannot run: the lock does not lend it the priority of those that wait.",
            vec![advice("make the lock a mutex with PTHREAD_PRIO_INHERIT, or do not share it")],
        ),
        Spent::Slept(Some(place)) if place.waits == Waits::Futex => of_futex(place, amount, clues),
        Spent::Slack => Words::new(
            "slept on after the time that it asked for: timer slack",
            "The timer of a thread under a normal policy may expire later by its slack, 50 µs by default, so that several \
             timers share one interrupt. For poll(), select() and epoll_wait() it is at least 0.1 % of their timeout.",
            vec![advice(LESS_SLACK)],
        ),
        Spent::Slept(place) => Words::new(slept(place.as_ref()), "", Vec::new()),
        Spent::Unseen => {
            Words::new("on CPUs that are not recorded, or before anything was seen of it", "", Vec::new())
        }
    }
}

fn of_quota(limit: Option<&Limit>) -> Words {
    Words::new(
        format!("throttled: the CPU quota of its control group was used up{}", of_limit(limit)),
        "A group that has used up its quota waits for the next period, whether another task has the CPU or none.",
        unlimited(limit),
    )
}

fn of_limit(limit: Option<&Limit>) -> String {
    limit.map_or(String::new(), |limit| format!(" ({})", limit.words))
}

/// The command that removes a limit of a control group; none if the group is not known.
fn unlimited(limit: Option<&Limit>) -> Vec<Fix> {
    let remove = limit.and_then(|limit| Some(command(format!("echo {}", limit.without()?))));
    remove.into_iter().collect()
}

const MEMORY_LIMIT: &str = "A task of a group that has reached its memory limit first frees memory of it: it \
    writes changed pages to disk or swap and drops others. They come back at the next access, by a page fault.";
const FOR_MEMORY: &str = "blocked for memory";

/// A part of the name of the function in which a task of a group above its `memory.high` sleeps before it returns to
/// user mode (6.12 `mm/memcontrol.c: mem_cgroup_handle_over_high`; `__mem_cgroup_handle_over_high` in later ones).
const OVER_HIGH: &str = "mem_cgroup_handle_over_high";

fn of_memory_high(clues: &Clues) -> Words {
    let of = of_limit(clues.memory_high.as_ref());
    Words::new(
        format!("slowed down: its control group had more memory than memory.high{of}"),
        "A task of a group above memory.high frees memory before it returns to user mode. Then it sleeps there, up to 2 s \
         each time, the longer the farther the group is above it.",
        unlimited(clues.memory_high.as_ref()),
    )
}

fn of_fault(kind: Fault, amount: &Amount, clues: &Clues) -> Words {
    // Most of them: the counters are the machine's, not the thread's.
    let are_most = |count: u64| count > 0 && count * 2 >= amount.count;
    match kind {
        // Also the write to a page that the fault before it moved: it comes back write-protected (tried on 6.12).
        Fault::Absent | Fault::Access | Fault::Write
            if are_most(clues.numa_hints) && !(kind == Fault::Write && clues.forked) =>
        {
            Words::new(
                "page faults: NUMA hints",
                "The kernel unmaps pages to see which node uses them, and moves them at the next access (NUMA balancing).",
                vec![command("sysctl -w kernel.numa_balancing=0")],
            )
        }
        Fault::Write => Words::new(
            "page faults: writes to pages that were there and write-protected",
            "After fork() parent and child share their pages, and the first write to each copies it. Write protection by \
             userfaultfd, soft-dirty tracking or KSM has the same effect.",
            clues
                .forked
                .then(|| advice("fork less often, or from a process that does not share this memory"))
                .into_iter()
                .collect(),
        ),
        Fault::Absent if are_most(clues.huge_faults) => Words::new(
            "page faults: huge pages, which are cleared at the first access",
            "A huge page of 2 MiB is found and cleared within one fault.",
            vec![advice("touch the memory once before it matters, and keep it; or use no huge pages for it")],
        ),
        Fault::Absent if are_most(clues.major_faults) && clues.memory_reached => Words::new(
            format!(
                "page faults: pages that a memory limit had sent to swap or disk{}",
                of_limit(clues.memory.as_ref())
            ),
            MEMORY_LIMIT,
            unlimited(clues.memory.as_ref()),
        ),
        Fault::Absent if are_most(clues.major_faults) => Words::new(
            "page faults: pages that were read from disk or swap",
            "The machine, or the control group by its memory.max or memory.high, has too little memory for all that is used, \
             and pages go out and come back.",
            vec![advice(
                "give it more memory (memory.max of its control group, if that is the limit), or use less",
            )],
        ),
        Fault::Absent => Words::new(
            "page faults: pages that were not there",
            "The first access to each page of memory finds, clears and maps it.",
            vec![advice("touch the memory once before it matters, and keep it")],
        ),
        Fault::Access => Words::new("page faults: accesses that a page did not permit", "", Vec::new()),
    }
}

fn of_block(place: Option<&Place>, amount: &Amount, clues: &Clues) -> Words {
    let Some(place) = place else {
        return Words::new(format!("blocked in the kernel{}", until(amount)), "", Vec::new());
    };
    let at = at(place);
    match place.waits {
        Waits::MemoryMap => {
            let less = |holder| {
                advice(format!(
                    "have {holder} look at this process less often; statm and status in its folder of /proc need no lock"
                ))
            };
            Words::new(
                format!("blocked by the lock of the memory map (mmap_lock){at}{}", until(amount)),
                "Reading /proc/PID/smaps and the like, page faults, mmap and munmap of one process exclude one another.",
                culprit(amount).map(less).into_iter().collect(),
            )
        }
        Waits::Lock => {
            Words::new(format!("blocked by a lock of the kernel{at}{}", until(amount)), "", Vec::new())
        }
        Waits::FileLock => Words::new(
            format!("waited for a lock on a file{at}{}", until(amount)),
            "Another process had a lock on the file that excludes this one (flock, fcntl).",
            culprit(amount)
                .map(|holder| advice(format!("have {holder} hold its lock on the file for a shorter time")))
                .into_iter()
                .collect(),
        ),
        Waits::Thaw => Words::new(
            format!("frozen with its control group{}", until(amount)),
            "A frozen group runs again when 0 is written to its cgroup.freeze, as docker unpause and systemctl thaw do. \
             The suspension of a machine freezes all tasks, too.",
            vec![advice("do not freeze its control group (cgroup.freeze, docker pause, systemctl freeze)")],
        ),
        Waits::Io => {
            Words::new(format!("blocked by a page or a disk{at}{}", until_end(amount)), "", Vec::new())
        }
        Waits::Journal => Words::new(
            format!("blocked by the journal of {}{at}{}", device(amount), until_end(amount)),
            "A file system with a journal writes all changes since its last commit together. So fsync() and fdatasync() \
             wait for those of other programs on it, too. In ext4 the thread jbd2/DEVICE writes them.",
            Vec::new(),
        ),
        Waits::Memory => Words::new(
            format!("blocked until memory was freed or read back{at}"),
            "The machine, or its control group, has too little memory for all that is used.",
            Vec::new(),
        ),
        Waits::MemoryLimit => of_memory_limit(FOR_MEMORY, &at, clues),
        Waits::Swap if clues.memory_reached => of_memory_limit(FOR_MEMORY, &at, clues),
        Waits::Swap => Words::new(
            format!("waited for pages that had been swapped out{at}"),
            "The machine has too little memory for all that is used, and pages go out and come back.",
            vec![advice("give it more memory, or use less")],
        ),
        Waits::Rcu => Words::new(format!("blocked until an RCU grace period ended{at}"), "", Vec::new()),
        _ => Words::new(format!("blocked in {}{at}{}", place.function, until(amount)), "", Vec::new()),
    }
}

fn of_memory_limit(what: &str, at: &str, clues: &Clues) -> Words {
    let of = of_limit(clues.memory.as_ref());
    Words::new(
        format!("{what}: its control group had reached a memory limit{of}{at}"),
        MEMORY_LIMIT,
        unlimited(clues.memory.as_ref()),
    )
}

fn of_futex(place: &Place, amount: &Amount, clues: &Clues) -> Words {
    let title = format!("{}{}", slept(Some(place)), until(amount));
    let others: CpuList = amount.from.iter().copied().filter(|cpu| !clues.cpus.contains(*cpu)).collect();
    let explanation = "It waited for a lock or a condition of the program, until another thread woke it. If that thread was \
                       kept from its own CPU meanwhile, e.g. by one of a higher priority, the time was lost.";
    let record = || {
        advice(format!(
            "see what kept the other thread: record its CPU, too: -C {}",
            clues.cpus.union(&others)
        ))
    };
    let fix = (!others.is_empty()).then(record);
    Words::new(title, explanation, fix.into_iter().collect())
}

fn slept(place: Option<&Place>) -> String {
    let Some(place) = place else { return "slept".to_owned() };
    let what = match place.waits {
        Waits::Time => "slept for a time",
        Waits::Futex => "waited for another thread of the program (futex)",
        Waits::Files => "waited for one of several files",
        Waits::Data => "waited for data",
        Waits::Child => "waited for a child",
        Waits::Signal => "waited for a signal",
        Waits::Io => "waited for a page or a disk",
        _ => return format!("slept in {}{}", place.function, at(place)),
    };
    format!("{what}{}", at(place))
}

/// The name of a system call by the tables of x86 and arm64, e.g. `futex()`; of another architecture its number. The
/// architecture is that of `uname -m`; none in records of before it was read, which x86-64 made.
pub fn call_name(id: CallId, architecture: &str) -> String {
    let number = id.number as usize;
    let name = match (architecture, id.compat) {
        ("" | X86_64, false) => syscalls::x86_64::Sysno::new(number).map(|call| call.name()),
        ("" | X86_64, true) => syscalls::x86::Sysno::new(number).map(|call| call.name()),
        ("aarch64", false) => syscalls::aarch64::Sysno::new(number).map(|call| call.name()),
        _ => None,
    };
    let of = if id.compat { " of 32 bits" } else { "" };
    match (name, architecture) {
        (Some(name), _) => format!("{name}(){of}"),
        (None, "" | X86_64) => format!("system call {number}{of}"),
        (None, other) => format!("system call {number}{of} of {other}"),
    }
}

const X86_64: &str = "x86_64";

fn at(place: &Place) -> String {
    match &place.call {
        Some(call) if &**call == "page fault" => ", in a page fault".to_owned(),
        Some(call) => format!(", in {call}()"),
        None => String::new(),
    }
}

/// The task that ended most of the time.
fn holder(amount: &Amount) -> Option<String> {
    foremost(amount).map(Task::to_string)
}

/// The same as a fix names it. A kworker comes and goes, and runs what others queue: its workqueue is named by the
/// pool.
fn culprit(amount: &Amount) -> Option<String> {
    let task = foremost(amount)?;
    if !names::is_worker(&task.comm) {
        return Some(task.to_string());
    }
    let pool = names::worker_pool(&task.comm);
    Some(if names::is_unbound_worker(&task.comm) {
        format!(
            "the unbound work of {pool} (its CPUs: /sys/devices/virtual/workqueue/cpumask, or cpumask in the folder of \
             its workqueue)"
        )
    } else {
        format!("the work that is queued for the CPU of {pool}")
    })
}

fn foremost(amount: &Amount) -> Option<&Task> {
    let (by, _) = amount.by.iter().max_by_key(|(_, (_, ns))| *ns)?;
    match by {
        Ended::Task(task) => Some(task),
        Ended::Interrupt => None,
    }
}

fn until(amount: &Amount) -> String {
    holder(amount).map_or(String::new(), |holder| format!(", until {holder} ended it"))
}

/// The same if an interrupt may have ended it, as that of a disk does.
fn until_end(amount: &Amount) -> String {
    let most = amount.by.iter().max_by_key(|(_, (_, ns))| *ns);
    match most {
        Some((Ended::Interrupt, _)) => ", until an interrupt ended it".to_owned(),
        _ => until(amount),
    }
}

/// The device whose journal was waited for, by the name of the thread that wrote it: `jbd2/vda1-8`, with the number of
/// the journal's file, or `jbd2/vdb` (`fs/jbd2/journal.c: jbd2_journal_init_inode, jbd2_journal_init_dev`). A name has
/// 15 characters.
fn device(amount: &Amount) -> String {
    let of = |by: &Ended| match by {
        Ended::Task(task) => {
            let name = task.comm.strip_prefix("jbd2/")?;
            Some(name.strip_suffix("-8").or(name.strip_suffix('-')).unwrap_or(name).to_owned())
        }
        Ended::Interrupt => None,
    };
    amount.by.keys().find_map(of).unwrap_or_else(|| "its file system".to_owned())
}

fn by(amount: &Amount) -> String {
    holder(amount).map_or(String::new(), |mover| format!(", by {mover}"))
}

fn from(amount: &Amount) -> String {
    holder(amount).map_or(String::new(), |sender| format!(" from {sender}"))
}
