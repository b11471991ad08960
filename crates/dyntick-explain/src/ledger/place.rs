// SPDX-License-Identifier: GPL-2.0-only
//! The place in the kernel where a thread sleeps, by its call stack.

use dyntick_model::{Map, Symbol};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A place in the kernel where a thread sleeps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The object of the wait.
    pub waits: Waits,
    /// The innermost function that shows what the wait is for.
    pub function: Symbol,
    /// The system call, e.g. `futex`, or `page fault`; none for a thread of the kernel.
    pub call: Option<Symbol>,
}

/// Without the texts: a thread sleeps in a few places, a million times.
impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.waits, self.function.len(), self.call.is_some()).hash(state);
    }
}

/// The objects of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Waits {
    /// The memory map of a process (`mmap_lock`).
    MemoryMap,
    /// Another lock of the kernel.
    Lock,
    /// A lock on a file (flock, fcntl).
    FileLock,
    /// The thaw of a frozen control group or machine.
    Thaw,
    /// A page that is read or written, or a disk.
    Io,
    /// The journal of a file system.
    Journal,
    /// Free memory.
    Memory,
    /// Memory of a control group that has reached a limit.
    MemoryLimit,
    /// A page that had been swapped out.
    Swap,
    /// A grace period of RCU.
    Rcu,
    /// A lock or a condition of the program (futex).
    Futex,
    /// A time.
    Time,
    /// One of several files (poll, select, epoll).
    Files,
    /// Data of a pipe, a socket or a terminal.
    Data,
    /// The end of a child.
    Child,
    /// A signal.
    Signal,
    /// Anything else.
    Other,
}

/// The functions by which any wait gives the CPU up, and those of the trace; the names are of 6.1 to 7.2.
const SCHEDULING: [&str; 10] = [
    "schedule",
    "__schedule",
    "preempt_schedule",
    "io_schedule",
    "wait_for_completion",
    "wait_for_common",
    "do_wait_for_common",
    "trace_",
    "__traceiter_",
    "event_triggers",
];

/// The beginnings of functions, with the object of the wait. The first row that any frame fits decides, from the
/// innermost frame on.
const KNOWN: &[(&str, Waits)] = &[
    ("locks_lock_inode_wait", Waits::FileLock),
    ("flock_lock_inode_wait", Waits::FileLock),
    ("posix_lock_inode_wait", Waits::FileLock),
    ("do_lock_file_wait", Waits::FileLock),
    ("fcntl_setlk", Waits::FileLock),
    ("__break_lease", Waits::FileLock),
    ("nlmclnt_", Waits::FileLock),
    ("rwsem_", Waits::Lock),
    ("down_read", Waits::Lock),
    ("down_write", Waits::Lock),
    ("__down_", Waits::Lock),
    ("__mutex_lock", Waits::Lock),
    ("mutex_lock", Waits::Lock),
    ("ww_mutex_lock", Waits::Lock),
    ("__ww_mutex_lock", Waits::Lock),
    ("percpu_rwsem_wait", Waits::Lock),
    ("__percpu_down_read", Waits::Lock),
    ("futex_", Waits::Futex),
    ("__futex_", Waits::Futex),
    ("do_futex", Waits::Futex),
    ("rt_mutex_wait_proxy_lock", Waits::Futex),
    ("rt_mutex_", Waits::Lock),
    ("__rt_mutex_", Waits::Lock),
    ("rtlock_slowlock", Waits::Lock),
    ("rt_spin_lock", Waits::Lock),
    ("rwbase_", Waits::Lock),
    ("mem_cgroup_", Waits::MemoryLimit),
    ("__mem_cgroup_", Waits::MemoryLimit),
    ("try_charge_memcg", Waits::MemoryLimit),
    ("throttle_direct_reclaim", Waits::Memory),
    ("reclaim_throttle", Waits::Memory),
    ("do_try_to_free_pages", Waits::Memory),
    ("try_to_free_pages", Waits::Memory),
    ("balance_dirty_pages", Waits::Io),
    ("folio_wait", Waits::Io),
    ("__folio_lock", Waits::Io),
    ("folio_lock", Waits::Io),
    ("wait_on_page", Waits::Io),
    ("bit_wait_io", Waits::Io),
    ("wait_on_buffer", Waits::Io),
    ("__wait_on_buffer", Waits::Io),
    ("submit_bio_wait", Waits::Io),
    ("blk_mq_get_tag", Waits::Io),
    ("rq_qos_wait", Waits::Io),
    ("blkdev_", Waits::Io),
    ("__iomap_dio", Waits::Io),
    ("iomap_dio", Waits::Io),
    ("jbd2_", Waits::Journal),
    ("xlog_", Waits::Journal),
    ("xfs_log_force", Waits::Journal),
    ("btrfs_sync_log", Waits::Journal),
    ("io_cqring_wait", Waits::Io),
    ("synchronize_rcu", Waits::Rcu),
    ("__wait_rcu_gp", Waits::Rcu),
    ("rcu_barrier", Waits::Rcu),
    ("hrtimer_nanosleep", Waits::Time),
    ("do_nanosleep", Waits::Time),
    ("clock_nanosleep", Waits::Time),
    ("msleep", Waits::Time),
    ("ep_poll", Waits::Files),
    ("do_epoll_wait", Waits::Files),
    ("do_poll", Waits::Files),
    ("do_sys_poll", Waits::Files),
    ("do_select", Waits::Files),
    ("pipe_", Waits::Data),
    ("anon_pipe_", Waits::Data),
    ("unix_", Waits::Data),
    ("sk_wait_data", Waits::Data),
    ("__skb_wait_for_more_packets", Waits::Data),
    ("__skb_recv", Waits::Data),
    ("inet_csk_accept", Waits::Data),
    ("n_tty_read", Waits::Data),
    ("eventfd_read", Waits::Data),
    ("timerfd_read", Waits::Time),
    ("do_wait", Waits::Child),
    ("wait4", Waits::Child),
    ("__refrigerator", Waits::Thaw),
    ("do_freezer_trap", Waits::Thaw),
    // It sleeps in it only within do_freezer_trap, which is mostly inlined; a stopped task has another state.
    ("get_signal", Waits::Thaw),
    ("do_sigtimedwait", Waits::Signal),
    ("sigsuspend", Waits::Signal),
    ("do_pause", Waits::Signal),
];

/// The functions that take the lock of a memory map; a lock that any of them waits for is that one.
const OF_MEMORY_MAPS: [&str; 18] = [
    "do_user_addr_fault",
    "exc_page_fault",
    "lock_mm_and_find_vma",
    "vm_mmap_pgoff",
    "__vm_munmap",
    "vm_brk",
    "__do_sys_brk",
    "__x64_sys_brk",
    "do_mprotect_pkey",
    "do_madvise",
    "madvise_",
    "__do_sys_mremap",
    "mmap_read_lock",
    "mmap_write_lock",
    "dup_mmap",
    "exit_mmap",
    "exit_mm",
    "smaps_",
];

/// Functions within which any wait that is not for a lock has this object, whatever is innermost: freeing memory writes
/// to disks and waits for them. The names are of 6.1 to 7.2.
const WITHIN: &[(&str, Waits)] = &[
    ("try_to_free_mem_cgroup_pages", Waits::MemoryLimit),
    ("mem_cgroup_handle_over_high", Waits::MemoryLimit),
    ("__mem_cgroup_handle_over_high", Waits::MemoryLimit),
    ("try_to_free_pages", Waits::Memory),
    ("do_swap_page", Waits::Swap),
    ("shmem_swapin_", Waits::Swap),
];

impl Place {
    /// Reads a call stack, the innermost function first.
    pub fn of(frames: &[Symbol]) -> Self {
        let call = frames.iter().rev().find_map(|frame| call(frame));
        let own = || frames.iter().filter(|frame| !begins(frame, &SCHEDULING));
        let known = own().find_map(|frame| of_function(frame, KNOWN));
        let within = || own().find_map(|frame| of_function(frame, WITHIN));
        let is_of_map = || frames.iter().any(|frame| begins(frame, &OF_MEMORY_MAPS));
        let waits = match known {
            Some(Waits::Lock) if is_of_map() => Waits::MemoryMap,
            Some(Waits::Lock) => Waits::Lock,
            known => within().or(known).unwrap_or(Waits::Other),
        };
        // A lock is named by the function that takes it.
        let is_locks = |frame: &&Symbol| {
            KNOWN.iter().any(|(beginning, waits)| *waits == Waits::Lock && frame.starts_with(beginning))
        };
        let function = match waits {
            Waits::Lock | Waits::MemoryMap => own().find(|frame| !is_locks(frame)),
            _ => own().next(),
        };
        let function = function.or(frames.first()).cloned().unwrap_or_else(|| "?".into());
        Self { waits, function, call }
    }

    /// A lock of the kernel that is not known.
    pub(super) fn lock() -> Self {
        Self { waits: Waits::Lock, function: "?".into(), call: None }
    }

    /// Returns true if a thread that sleeps here, even interruptibly, does not do so by its own will.
    pub fn is_forced(&self) -> bool {
        matches!(self.waits, Waits::Thaw | Waits::FileLock) || self.is_kernels_lock()
    }

    /// Returns true for a lock of the program, of a file or of the kernel: its holder ends the wait.
    pub fn is_locks(&self) -> bool {
        matches!(self.waits, Waits::Futex | Waits::FileLock) || self.is_kernels_lock()
    }

    /// Returns true for a lock of the kernel.
    pub fn is_kernels_lock(&self) -> bool {
        matches!(self.waits, Waits::Lock | Waits::MemoryMap)
    }
}

/// The places of call stacks, each read once: a busy program sleeps a million times in a few places.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By the address of the stack, which a trace mostly has once. The stack keeps it from being used again.
    known: Map<usize, (Arc<[Symbol]>, Place)>,
}

/// The maximum number of call stacks that are remembered.
const MOST_STACKS: usize = 1 << 14;

impl Places {
    /// The place of a call stack, the innermost function first.
    pub fn of(&mut self, frames: &Arc<[Symbol]>) -> Place {
        let address = frames.as_ptr() as usize;
        if let Some((_, place)) = self.known.get(&address) {
            return place.clone();
        }
        if self.known.len() == MOST_STACKS {
            self.known.clear();
        }
        let place = Place::of(frames);
        self.known.insert(address, (frames.clone(), place.clone()));
        place
    }
}

/// The object of the first row that a function fits.
fn of_function(frame: &str, rows: &[(&str, Waits)]) -> Option<Waits> {
    rows.iter().find(|(beginning, _)| frame.starts_with(beginning)).map(|(_, waits)| *waits)
}

fn begins(frame: &str, with: &[&str]) -> bool {
    with.iter().any(|beginning| frame.starts_with(beginning))
}

/// The system call of a function of the kernel's entry.
fn call(frame: &str) -> Option<Symbol> {
    const ENTRIES: [&str; 4] = ["__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__se_sys_"];
    if frame.ends_with("exc_page_fault") || frame == "do_user_addr_fault" {
        return Some("page fault".into());
    }
    // Where the compiler left out the entry's own frame.
    const INNER: [(&str, &str); 2] = [("ksys_mmap_pgoff", "mmap"), ("__vm_munmap", "munmap")];
    let inner = INNER.iter().find(|(function, _)| *function == frame).map(|(_, call)| *call);
    ENTRIES.iter().find_map(|entry| frame.strip_prefix(entry)).or(inner).map(Symbol::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(frames: &[&str]) -> Place {
        Place::of(&frames.iter().map(|frame| Symbol::from(*frame)).collect::<Vec<_>>())
    }

    #[test]
    fn locks_are_named_by_their_takers() {
        let map = place(&[
            "__schedule",
            "schedule",
            "schedule_preempt_disabled",
            "rwsem_down_write_slowpath",
            "down_write_killable",
            "vm_mmap_pgoff",
            "ksys_mmap_pgoff",
            "__x64_sys_mmap",
            "do_syscall_64",
            "entry_SYSCALL_64_after_hwframe",
        ]);
        assert_eq!(
            (map.waits, &*map.function, map.call.as_deref()),
            (Waits::MemoryMap, "vm_mmap_pgoff", Some("mmap"))
        );
        let mutex = place(&[
            "__schedule",
            "schedule",
            "__mutex_lock.constprop.0",
            "pipe_write",
            "vfs_write",
            "__x64_sys_write",
        ]);
        assert_eq!((mutex.waits, &*mutex.function), (Waits::Lock, "pipe_write"));
    }

    #[test]
    fn sleeps_have_an_object_and_a_call() {
        let sleep = place(&[
            "__schedule",
            "schedule",
            "do_nanosleep",
            "hrtimer_nanosleep",
            "__x64_sys_clock_nanosleep",
        ]);
        assert_eq!((sleep.waits, sleep.call.as_deref()), (Waits::Time, Some("clock_nanosleep")));
        let futex = place(&[
            "__schedule",
            "schedule",
            "futex_wait_queue",
            "__futex_wait",
            "futex_wait",
            "do_futex",
            "__x64_sys_futex",
        ]);
        assert!(futex.is_locks() && !futex.is_kernels_lock());
        let written = place(&[
            "__schedule",
            "io_schedule",
            "folio_wait_bit_common",
            "shrink_folio_list",
            "try_to_free_mem_cgroup_pages",
            "try_charge_memcg",
            "handle_mm_fault",
            "asm_exc_page_fault",
        ]);
        assert_eq!((written.waits, written.call.as_deref()), (Waits::MemoryLimit, Some("page fault")));
        let read =
            place(&["__schedule", "io_schedule", "folio_wait_bit_common", "do_swap_page", "exc_page_fault"]);
        assert_eq!(read.waits, Waits::Swap);
        let unknown = place(&["__schedule", "schedule", "some_driver_wait", "some_read", "__x64_sys_read"]);
        assert_eq!((unknown.waits, &*unknown.function), (Waits::Other, "some_driver_wait"));
        assert_eq!(place(&[]).waits, Waits::Other);
    }
}
