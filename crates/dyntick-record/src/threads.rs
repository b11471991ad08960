// SPDX-License-Identifier: GPL-2.0-only
//! The interruptions of threads on whichever CPU they run, instead of those of a CPU.

use crate::About;
use crate::sums::CpuSums;
use dyntick_explain::{Interruption, Kind};
use dyntick_model::{Event, EventKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// A choice of threads (`--of`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// The threads of this name (`/proc/PID/comm`).
    Named(String),
    /// The thread with this TID; if it is a PID, all threads of the process.
    Numbered(i32),
}

/// The number of bytes after which the kernel cuts names (`TASK_COMM_LEN` without its NUL).
const LONGEST_COMM: usize = 15;

impl FromStr for Of {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = text.parse().ok().filter(|number| *number > 0);
            return number.map(Of::Numbered).ok_or_else(|| format!("{text} is no thread's number"));
        }
        let name = text.rsplit('/').next().unwrap_or_default();
        match dyntick_model::text::beginning(name, LONGEST_COMM) {
            "" => Err("name a command, or the number of a process or a thread".to_owned()),
            name => Ok(Of::Named(name.to_owned())),
        }
    }
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Of::Named(name) => f.write_str(name),
            Of::Numbered(number) => write!(f, "thread {number}"),
        }
    }
}

/// The threads of `--of`.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    pub of: Of,
    /// The threads of a process, or the one thread, of a number.
    ids: BTreeSet<i32>,
}

impl Selected {
    pub fn new(of: Of, about: &About) -> Self {
        let ids = match of {
            Of::Named(_) => BTreeSet::new(),
            Of::Numbered(number) => {
                let own = about.threads.iter().filter(|(_, thread)| thread.process == number);
                own.map(|(thread, _)| *thread).chain([number]).collect()
            }
        };
        Self { of, ids }
    }

    pub fn is_one(&self, thread: i32, comm: &str) -> bool {
        match &self.of {
            Of::Named(name) => comm == name,
            Of::Numbered(_) => self.ids.contains(&thread),
        }
    }
}

/// The maximum number of different threads that are counted.
const MOST_THREADS: usize = 1 << 16;

/// The observations of these threads.
#[derive(Debug)]
pub(crate) struct Followed {
    pub selected: Selected,
    pub sums: CpuSums,
    /// The number of interruptions, page faults and waits for another task on each CPU on which they ran.
    pub cpus: BTreeMap<u32, u64>,
    pub threads: BTreeSet<i32>,
    /// The time in which they had a CPU, including interrupts, ns.
    pub ran_ns: u64,
    /// The time in which others had the CPU that they wanted, ns.
    pub waited_ns: u64,
}

/// The state of following the threads through the events.
pub(crate) struct Following<'a> {
    about: &'a About,
    /// The CPUs whose current task is known, with the time since which it is one of the threads.
    running: BTreeMap<u32, Option<u64>>,
    followed: Followed,
}

impl<'a> Following<'a> {
    pub fn new(of: Of, about: &'a About) -> Self {
        let followed = Followed {
            selected: Selected::new(of, about),
            sums: CpuSums::default(),
            cpus: BTreeMap::new(),
            threads: BTreeSet::new(),
            ran_ns: 0,
            waited_ns: 0,
        };
        Self { about, running: BTreeMap::new(), followed }
    }

    /// The threads that are followed.
    pub fn selected(&self) -> &Selected {
        &self.followed.selected
    }

    fn is_one(&self, thread: i32, comm: &str) -> bool {
        self.followed.selected.is_one(thread, comm)
    }

    /// Adds an interruption if its victim is one of them. Returns true if it is.
    pub fn add(&mut self, one: &Interruption) -> bool {
        if !self.is_one(one.victim.pid, &one.victim.comm) {
            return false;
        }
        self.seen(one.victim.pid, one.cpu);
        if !matches!(one.kind, Kind::PageFault { .. }) {
            self.followed.cpus.entry(one.cpu).and_modify(|count| *count += 1);
        }
        if matches!(one.kind, Kind::WorkItem | Kind::KernelThread | Kind::OtherTask | Kind::CommandTask) {
            self.followed.waited_ns = self.followed.waited_ns.saturating_add(one.duration_ns);
        }
        self.followed.sums.add(one);
        true
    }

    fn seen(&mut self, thread: i32, cpu: u32) {
        self.followed.cpus.entry(cpu).or_default();
        if self.followed.threads.len() < MOST_THREADS {
            self.followed.threads.insert(thread);
        }
    }

    /// Notes which task runs, by the next event in the order of time.
    pub fn event(&mut self, event: &Event) {
        if !self.about.cpus.contains(event.cpu) {
            return;
        }
        let now = event.ts.clamp(self.about.window_ns.0, self.about.window_ns.1);
        if !self.running.contains_key(&event.cpu) {
            // The task at a CPU's first event has run there since the begin.
            let comm = self.about.threads.get(&event.pid).map_or("", |thread| thread.comm.as_str());
            let since = self.is_one(event.pid, comm).then_some(self.about.window_ns.0);
            since.inspect(|_| self.seen(event.pid, event.cpu));
            self.running.insert(event.cpu, since);
        }
        let gets_cpu = match &event.kind {
            EventKind::SchedSwitch { next, next_comm, .. } => Some((next, next_comm)),
            // It has executed another program.
            EventKind::TaskRename { pid, comm } if *pid == event.pid => Some((pid, comm)),
            _ => None,
        };
        if let Some((next, next_comm)) = gets_cpu {
            let since = self.is_one(*next, next_comm).then_some(now);
            since.inspect(|_| self.seen(*next, event.cpu));
            let before = self.running.insert(event.cpu, since).flatten();
            self.ran(before, now);
        }
    }

    fn ran(&mut self, since: Option<u64>, until: u64) {
        let ns = since.map_or(0, |since| until.saturating_sub(since));
        self.followed.ran_ns = self.followed.ran_ns.saturating_add(ns);
    }

    /// Returns the observations, at the end of the events.
    pub fn finish(mut self) -> Followed {
        for since in std::mem::take(&mut self.running).into_values() {
            self.ran(since, self.about.window_ns.1);
        }
        self.followed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_explain::{CauseId, Task, rules};

    #[test]
    fn names_and_numbers_are_parsed() {
        assert_eq!("12".parse(), Ok(Of::Numbered(12)));
        assert_eq!("./target/a-very-long-program".parse(), Ok(Of::Named("a-very-long-pro".into())));
        for wrong in ["", "0", "99999999999", "x/"] {
            assert!(wrong.parse::<Of>().is_err(), "{wrong}");
        }
    }

    fn about() -> About {
        let about = crate::stored::tests::about();
        About { cpus: "1-2".parse().unwrap(), window_ns: (100, 1100), ..about }
    }

    fn switch(ts: u64, cpu: u32, (prev, prev_comm): (i32, &str), (next, next_comm): (i32, &str)) -> Event {
        let (prev_comm, next_comm) = (prev_comm.into(), next_comm.into());
        let kind = EventKind::SchedSwitch { prev, prev_comm, prev_state: 0, next, next_comm };
        Event { ts, cpu, pid: prev, within: Default::default(), kind }
    }

    fn interruption(cpu: u32, pid: i32, comm: &str, kind: Kind) -> Interruption {
        Interruption {
            cpu,
            start_ns: 200,
            duration_ns: 7,
            nested_ns: 0,
            kind,
            cause: CauseId::of(rules::named::UNKNOWN),
            chain: Default::default(),
            functions: [].into(),
            victim: Task { pid, comm: comm.into() },
            other: None,
            stack: None,
            sent: None,
        }
    }

    #[test]
    fn thread_is_followed_from_cpu_to_cpu() {
        let about = about();
        let mut following = Following::new("app".parse().unwrap(), &about);
        let (idle, app, other) = ((0, "idle"), (5, "app"), (6, "other"));
        let events = [
            switch(50, 1, idle, app), // before the window
            switch(300, 1, app, other),
            switch(400, 2, idle, app),
            switch(500, 1, other, idle),
            switch(600, 3, idle, app), // a CPU that was not recorded
        ];
        events.iter().for_each(|event| following.event(event));
        assert!(following.add(&interruption(1, 5, "app", Kind::Tick)));
        assert!(following.add(&interruption(2, 5, "app", Kind::OtherTask)));
        assert!(!following.add(&interruption(2, 6, "other", Kind::Tick)));
        let followed = following.finish();
        assert_eq!(followed.ran_ns, 200 + 700);
        assert_eq!((followed.cpus, followed.waited_ns), ([(1, 1), (2, 1)].into(), 7));
        assert_eq!(followed.threads, [5].into());
    }

    #[test]
    fn thread_without_switches_has_run_all_the_time() {
        let about = about();
        let mut following = Following::new(Of::Numbered(5), &about);
        following.event(&Event {
            ts: 400,
            cpu: 2,
            pid: 5,
            within: Default::default(),
            kind: EventKind::HrtimerCancel { timer: 1 },
        });
        assert_eq!(following.finish().ran_ns, 1000);
    }
}
