// SPDX-License-Identifier: GPL-2.0-only
//! The time of the command's threads, also while they did not run.

use crate::missing;
use dyntick_observe::facts::{MemoryLimit, Throttled, threads_of};
use dyntick_observe::live::{LiveError, Missing, Source, Waited, Waits};

/// The time of the threads of a command, or of processes that were named, and of those that they started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandTime {
    /// The time by its use.
    pub waited: Waited,
    /// The control groups that had used up their CPU quota and kept one of them waiting, by the kernel's own account.
    pub throttled: Vec<Throttled>,
    /// The memory limits that were reached by groups of which one freed memory or was blocked for it.
    pub memory_limits: Vec<MemoryLimit>,
}

impl CommandTime {
    /// Adds the time of another run.
    pub(crate) fn add(&mut self, other: &CommandTime) {
        self.waited.add(&other.waited);
        for more in &other.throttled {
            match self.throttled.iter_mut().find(|one| one.quota.file == more.quota.file) {
                Some(sum) => (sum.count, sum.ns) = (sum.count + more.count, sum.ns + more.ns),
                None => self.throttled.push(more.clone()),
            }
        }
        for more in &other.memory_limits {
            match self.memory_limits.iter_mut().find(|one| one.file == more.file) {
                Some(sum) => sum.reached += more.grown(),
                None => self.memory_limits.push(more.clone()),
            }
        }
    }
}

/// The programs that account for this time, and what was read before.
pub(crate) struct CommandClock {
    waits: Waits,
}

impl CommandClock {
    /// Takes the programs of a source; an error if it has none, or the kernel refuses them.
    pub fn of(source: Option<&mut Source>) -> Result<Self, Missing> {
        match source.and_then(Source::take_waits) {
            Some(Ok(waits)) => Ok(Self { waits }),
            Some(Err(error)) => Err(missing::of_command_time(Some(&error))),
            None => Err(missing::of_command_time(None)),
        }
    }

    /// Follows the threads of processes, and those that this thread is about to start.
    pub fn follow(&mut self, pids: &[u32], starter: Option<u32>) -> Result<(), LiveError> {
        self.waits.quotas.begin();
        self.waits.memory_limits.begin();
        for thread in pids.iter().flat_map(|pid| threads_of(*pid)) {
            self.waits.follow(thread)?;
        }
        starter.map_or(Ok(()), |starter| self.waits.follow_started_by(starter))
    }

    /// Ends the second.
    pub fn has_started(&mut self, starter: u32) -> Result<(), LiveError> {
        self.waits.unfollow(starter)
    }

    /// Begins anew: earlier time is not reported.
    pub fn forget(&mut self) {
        self.waits.read();
    }

    /// Makes room for further threads.
    pub fn keep_up(&mut self) {
        self.waits.keep_up();
    }

    /// Returns the time since the previous call.
    pub fn read(&mut self) -> CommandTime {
        let waited = self.waits.read();
        let throttled = self.waits.quotas.throttled(&waited.groups);
        let memory_limits = self.waits.memory_limits.reached(&waited.memory_groups);
        CommandTime { waited, throttled, memory_limits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_observe::facts::Quota;

    #[test]
    fn throttling_of_runs_adds_up_by_group() {
        let throttled = |group: &str, count| {
            let file = format!("/sys/fs/cgroup/{group}/cpu.max");
            let quota = Quota { number: 1, group: group.to_owned(), file, quota_us: 20, period_us: 100 };
            Throttled { quota, count, ns: count * 1000 }
        };
        let of = |throttled| CommandTime { throttled, ..CommandTime::default() };
        let mut sum = of(vec![throttled("pod", 3)]);
        sum.add(&of(vec![throttled("other", 1), throttled("pod", 4)]));
        assert_eq!(sum.throttled, [throttled("pod", 7), throttled("other", 1)]);
    }
}
