// SPDX-License-Identifier: GPL-2.0-only
//! Recording with a private trace instance.

use super::Buffers;
use super::buffers::RawPages;
use super::error::{SessionError, TRACEFS};
use super::members::{Bits, Members};
use super::probes::{self, Probes};
use dyntick_model::CpuList;
use dyntick_system::locked;
use dyntick_trace::events::{KERNEL_STACK, USER_STACK};
use dyntick_trace::{CpuStats, Metadata, Probe, QUOTAS, Recording, THROTTLED_THREAD, UNTHROTTLED, resolve};
use rustix::io::Errno;
use rustix::mount::MountFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "dyntick-";

/// A trace instance, gone when this is dropped. The machine's own trace state stays as it is.
pub struct TraceSession {
    folder: PathBuf,
    /// A lock on the folder: the kernel opens it when this process is gone, in whatever way, and it counts
    /// in all namespaces. A number of a process may be another's there, and is used again.
    _lock: OwnedFd,
    /// The events that are recorded: the name under which they are decoded, and the kernel's.
    events: Vec<(String, String)>,
    missing: Vec<String>,
    probes: Probes,
}

impl TraceSession {
    /// Prepares recording: all is enabled but nothing recorded yet. `events` are `system:name`;
    /// those that this kernel lacks are left out and reported in the recording. `buffer_kib` is per CPU.
    pub fn new(events: &[String], buffer_kib: u32) -> Result<Self, SessionError> {
        mount()?;
        remove_abandoned();
        let (folder, lock) = own_folder()?;
        let mut session =
            Self { folder, _lock: lock, events: Vec::new(), missing: Vec::new(), probes: Probes::default() };
        session.write("tracing_on", "0")?;
        session.write("trace_clock", "mono")?;
        // A full buffer refuses new events, and counts them, rather than losing the window's begin.
        session.write("options/overwrite", "0")?;
        session.write("buffer_size_kb", &buffer_kib.to_string())?;
        for event in events {
            match session.write(&format!("{}/enable", event_folder(event)), "1") {
                Ok(()) => session.events.push((event.clone(), event.clone())),
                Err(_) => session.missing.push(event.clone()),
            }
        }
        Ok(session)
    }

    /// The path prefix of this process's instances.
    pub fn own_folders() -> PathBuf {
        PathBuf::from(format!("{TRACEFS}/instances/{PREFIX}{}-", std::process::id()))
    }

    /// The folder of its files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Leaves only these CPUs recorded; all are where this is not called.
    pub fn only_cpus(&self, cpus: &CpuList) -> Result<(), SessionError> {
        self.write("tracing_cpumask", &cpus.to_mask())
    }

    /// Lets new events overwrite the oldest if a buffer is full.
    pub fn overwrite(&self) -> Result<(), SessionError> {
        self.write("options/overwrite", "1")
    }

    /// Gives the buffer of one CPU another size.
    pub fn resize(&self, cpu: u32, buffer_kib: u32) -> Result<(), SessionError> {
        self.write(&format!("per_cpu/cpu{cpu}/buffer_size_kb"), &buffer_kib.to_string())
    }

    /// The number of events and probes that are switched on.
    pub fn switched(&self) -> usize {
        self.events.iter().filter(|(name, _)| ![KERNEL_STACK, USER_STACK].contains(&name.as_str())).count()
    }

    /// Starts recording.
    pub fn start(&self) -> Result<(), SessionError> {
        self.write("tracing_on", "1")
    }

    /// Stops recording.
    pub fn stop(&self) -> Result<(), SessionError> {
        self.write("tracing_on", "0")
    }

    /// Returns true if this kernel lacks a requested event.
    pub fn lacks(&self, event: &str) -> bool {
        self.missing.iter().any(|missing| missing == event)
    }

    /// The requested events that this kernel lacks.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Records a probe too, as the event `probe:NAME`. False where the kernel cannot do that.
    pub fn probe(&mut self, probe: Probe) -> bool {
        self.probe_as(probe, probe.definition)
    }

    fn probe_as(&mut self, probe: Probe, definition: &str) -> bool {
        let enabled = self
            .probes
            .define(probe, definition)
            .ok()
            .filter(|event| self.write(&format!("{}/enable", event_folder(event)), "1").is_ok());
        let name = format!("probe:{}", probe.name);
        let set = enabled.is_some();
        self.events.extend(enabled.map(|event| (name, event)));
        set
    }

    /// Records which control groups use up their CPU quota, and when they may run again ([`QUOTAS`]). False where the
    /// kernel cannot.
    pub fn probe_quotas(&mut self) -> bool {
        let Some(members) = Members::of_kernel() else { return false };
        let Some([cpu, group]) = paths_from_queue(&members) else { return false };
        let [throttle, throttle_end, unthrottle] = QUOTAS;
        let definition = throttle.definition.replace("GROUP", &group).replace("CPU", &cpu);
        if !(self.probe_as(throttle, &definition) && self.probe(throttle_end)) {
            return false;
        }
        // Older kernels have no such function.
        let by_thread = self.probe(THROTTLED_THREAD);
        by_thread && self.probe_unthrottled(&members) || self.probe(unthrottle)
    }

    /// Records the ends of throttling, and not the attempts.
    fn probe_unthrottled(&mut self, members: &Members) -> bool {
        let Some(flag) = members.place("cfs_rq", "throttled").map(flag_of_queue) else { return false };
        let event = format!("probe:{}", UNTHROTTLED.name);
        self.probe_as(UNTHROTTLED, &UNTHROTTLED.definition.replace("FLAG", &flag))
            && self.filter(&event, "throttled == 0").is_ok()
    }

    /// Counts the calls of a function in `kprobe_profile`, and records none of them. False where the kernel cannot.
    pub fn count(&mut self, probe: Probe) -> bool {
        let Ok(event) = self.probes.set(probe) else { return false };
        let folder = event_folder(&event);
        // The kernel counts a hit before it looks at the filter, which no task passes.
        self.write(&format!("{folder}/filter"), "common_pid < 0").is_ok()
            && self.write(&format!("{folder}/enable"), "1").is_ok()
    }

    /// Records only what of an event passes this filter, in the language of
    /// `Documentation/trace/events.rst`. For an event that this kernel lacks it does nothing.
    pub fn filter(&self, event: &str, filter: &str) -> Result<(), SessionError> {
        match self.events.iter().find(|(name, _)| name == event) {
            Some((_, own)) => self.write(&format!("{}/filter", event_folder(own)), filter),
            None => Ok(()),
        }
    }

    /// Records behind each event where the program was, as far as its frame pointers lead and at most 8 frames.
    pub fn user_stacks(&mut self) -> Result<(), SessionError> {
        self.write("options/userstacktrace", "1")?;
        self.events.push((USER_STACK.to_owned(), USER_STACK.to_owned()));
        Ok(())
    }

    /// Does not record an event after all.
    pub fn leave_out(&mut self, event: &str) -> Result<(), SessionError> {
        if let Some(at) = self.events.iter().position(|(name, _)| name == event) {
            let (_, own) = self.events.remove(at);
            self.write(&format!("{}/enable", event_folder(&own)), "0")?;
        }
        Ok(())
    }

    /// Records behind those of this event that pass the filter where the kernel was. For an event that this kernel
    /// lacks it does nothing.
    pub fn kernel_stacks(&mut self, event: &str, filter: Option<&str>) -> Result<(), SessionError> {
        let trigger = filter.map_or("stacktrace".to_owned(), |filter| format!("stacktrace if {filter}"));
        match self.events.iter().find(|(name, _)| name == event) {
            Some((_, own)) => self.write(&format!("{}/trigger", event_folder(own)), &trigger)?,
            None => return Ok(()),
        }
        if !self.events.iter().any(|(name, _)| name == KERNEL_STACK) {
            self.events.push((KERNEL_STACK.to_owned(), KERNEL_STACK.to_owned()));
        }
        Ok(())
    }

    /// Takes out what is recorded up to now, until `raw` has `most` bytes. Recording may go on: then what comes
    /// meanwhile is left. No CPU is interrupted for it: a read that does not wait needs no wake-up. Returns whether
    /// that was all.
    pub fn drain(&self, raw: &mut BTreeMap<u32, Vec<u8>>, most: u64) -> Result<bool, SessionError> {
        let mut buffers = self.buffers()?;
        let mut left = most.saturating_sub(raw.values().map(|pages| pages.len() as u64).sum());
        for cpu in buffers.cpus() {
            let pages = raw.entry(cpu).or_default();
            loop {
                let taken = buffers.full_pages(cpu, pages, left.try_into().unwrap_or(usize::MAX))?;
                left = left.saturating_sub(taken as u64);
                match (taken, left) {
                    (_, 0) => return Ok(false),
                    (0, _) => break,
                    _ => {}
                }
            }
            left = left.saturating_sub(buffers.started_page(cpu, pages)? as u64);
            if left == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The buffers of all CPUs, to be emptied while they fill.
    pub fn buffers(&self) -> Result<Buffers, SessionError> {
        self.buffers_of(&self.cpus()?)
    }

    /// The buffers of some CPUs.
    pub fn buffers_of(&self, cpus: &CpuList) -> Result<Buffers, SessionError> {
        let open = |cpu| RawPages::open(self.folder.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw")));
        let pages = cpus.iter().map(|cpu| Ok((cpu, open(cpu)?)));
        Buffers::new(pages.collect::<Result<_, SessionError>>()?)
    }

    /// The text of each recorded event's `format` file, by the name under which it is decoded.
    pub fn formats(&self) -> Result<BTreeMap<String, String>, SessionError> {
        let text = |event: &str| self.read_text(&format!("{}/format", event_folder(event)));
        self.events.iter().map(|(name, event)| Ok((name.clone(), text(event)?))).collect()
    }

    /// Takes out what was recorded, when recording has ended. Names of functions are looked up in `/proc/kallsyms`.
    pub fn read(&self) -> Result<Recording, SessionError> {
        self.read_behind(BTreeMap::new())
    }

    /// Like [`TraceSession::read`], behind what was drained before.
    pub fn read_behind(&self, raw: BTreeMap<u32, Vec<u8>>) -> Result<Recording, SessionError> {
        let mut recording = Recording { metadata: self.metadata()?, raw };
        self.drain(&mut recording.raw, u64::MAX)?;
        recording.metadata.symbols = names_of(&recording.unknown_addresses())?;
        Ok(recording)
    }

    /// All about what was recorded but the names of functions ([`names_of`]).
    pub fn metadata(&self) -> Result<Metadata, SessionError> {
        let cpus = self.cpus()?;
        let stats = cpus.iter().map(|cpu| Ok((cpu, self.stats(cpu)?)));
        Ok(Metadata {
            page_size: rustix::param::page_size(),
            formats: self.formats()?,
            symbols: BTreeMap::new(),
            stats: stats.collect::<Result<_, SessionError>>()?,
            missing_events: self.missing.clone(),
        })
    }

    /// The CPUs that have a buffer.
    pub fn cpus(&self) -> Result<CpuList, SessionError> {
        let path = self.folder.join("per_cpu");
        let entries =
            std::fs::read_dir(&path).map_err(|source| SessionError::File { what: "list", path, source })?;
        let number = |name: std::ffi::OsString| name.to_str()?.strip_prefix("cpu")?.parse().ok();
        Ok(entries.flatten().filter_map(|entry| number(entry.file_name())).collect())
    }

    /// Reads the counters of one CPU.
    pub fn stats(&self, cpu: u32) -> Result<CpuStats, SessionError> {
        let text = self.read_text(&format!("per_cpu/cpu{cpu}/stats"))?;
        let value = |name: &str| -> u64 {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(key, _)| *key == name).and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
        };
        Ok(CpuStats {
            entries: value("entries"),
            lost: value("overrun") + value("commit overrun") + value("dropped events"),
        })
    }

    fn write(&self, name: &str, value: &str) -> Result<(), SessionError> {
        let path = self.folder.join(name);
        std::fs::write(&path, value).map_err(|source| SessionError::File { what: "write", path, source })
    }

    fn read_text(&self, name: &str) -> Result<String, SessionError> {
        let path = self.folder.join(name);
        std::fs::read_to_string(&path).map_err(|source| SessionError::File { what: "read", path, source })
    }
}

/// The names of the functions at these addresses, from `/proc/kallsyms`.
pub fn names_of(addresses: &BTreeSet<u64>) -> Result<BTreeMap<u64, String>, SessionError> {
    let path = Path::new("/proc/kallsyms");
    let result = File::open(path).and_then(|file| resolve(addresses, file));
    result.map_err(|source| SessionError::File { what: "read", path: path.to_owned(), source })
}

impl Drop for TraceSession {
    fn drop(&mut self) {
        let _ = self.stop();
        // What is recorded by an instance cannot be removed.
        let _ = std::fs::remove_dir(&self.folder);
        self.probes.remove();
    }
}

fn event_folder(event: &str) -> String {
    format!("events/{}", event.replacen(':', "/", 1))
}

fn mount() -> Result<(), SessionError> {
    match Path::new(TRACEFS).join("instances").metadata() {
        Ok(found) if found.is_dir() => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(SessionError::Denied(error));
        }
        _ => {}
    }
    rustix::mount::mount("tracefs", TRACEFS, "tracefs", MountFlags::empty(), None)
        .map_err(SessionError::NoTracefs)
}

/// Makes a folder of this process and locks it.
fn own_folder() -> Result<(PathBuf, OwnedFd), SessionError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(format!("{}{number}", TraceSession::own_folders().display()));
        match std::fs::create_dir(&path) {
            Ok(()) => {}
            // Of a process of this number in another namespace, or of an earlier one.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(source) => return Err(SessionError::File { what: "create", path, source }),
        }
        match locked(&path) {
            Ok(lock) if path.exists() => return Ok((path, lock)),
            // Between these two steps it has looked abandoned to another dyntick.
            Ok(_) | Err(Errno::WOULDBLOCK | Errno::NOENT) => {}
            Err(errno) => return Err(SessionError::File { what: "lock", path, source: errno.into() }),
        }
    }
}

/// Removes what processes that were killed have left: instances, which go on recording at the cost of
/// every CPU, and probes. Returns how many instances these were. Where tracefs is not mounted, or may not
/// be read, there is nothing to remove.
pub fn remove_abandoned() -> usize {
    let removed = remove_abandoned_in(&Path::new(TRACEFS).join("instances"));
    probes::remove_abandoned(&|owner| !of_owner(owner).is_empty());
    removed
}

fn remove_abandoned_in(instances: &Path) -> usize {
    let abandoned = |path: &PathBuf| {
        // The lock is held until the folder is gone, so that no process begins in it meanwhile.
        let Ok(_lock) = locked(path) else { return false };
        // A reader of its buffers keeps the instance, but recording stops.
        let stop = OpenOptions::new().write(true).open(path.join("tracing_on"));
        let _ = stop.and_then(|mut file| file.write_all(b"0"));
        std::fs::remove_dir(path).is_ok()
    };
    instances_in(instances).filter(abandoned).count()
}

/// The instances of any dyntick.
fn instances_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| is_ours(&entry.file_name().to_string_lossy())).map(|entry| entry.path())
}

/// Returns true if a name is `dyntick-PID-NUMBER`.
fn is_ours(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(pid, number)| pid.parse::<u32>().is_ok() && number.parse::<u32>().is_ok())
}

/// The instances of a process, of whichever namespace.
fn of_owner(pid: u32) -> Vec<PathBuf> {
    let own = format!("{PREFIX}{pid}-");
    instances_in(&Path::new(TRACEFS).join("instances"))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&own)))
        .collect()
}

/// The arguments of a probe from a run queue of a control group to the number of its CPU, and to that of the group's
/// folder.
fn paths_from_queue(members: &Members) -> Option<[String; 2]> {
    let path = |steps: &[u32]| {
        steps.iter().fold("$arg1".to_owned(), |pointer, offset| format!("+{offset}({pointer})"))
    };
    let cpu = [members.offset("cfs_rq", "rq")?, members.offset("rq", "cpu")?];
    let state = members.offset("task_group", "css")? + members.offset("cgroup_subsys_state", "cgroup")?;
    let group = [
        members.offset("cfs_rq", "tg")?,
        state,
        members.offset("cgroup", "kn")?,
        members.offset("kernfs_node", "id")?,
    ];
    Some([path(&cpu), path(&group)])
}

/// The argument of a probe that reads a flag of a run queue.
fn flag_of_queue(Bits { bit, width }: Bits) -> String {
    let kind = match width {
        0 => "u32".to_owned(),
        width => format!("b{width}@{}/8", bit % 8),
    };
    format!("+{}($arg1):{kind}", bit / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn flags_are_read_as_numbers_or_bits() {
        assert_eq!(flag_of_queue(Bits { bit: 64, width: 0 }), "+8($arg1):u32");
        assert_eq!(flag_of_queue(Bits { bit: 65, width: 1 }), "+8($arg1):b1@1/8");
    }
    use std::process::{Command, Stdio};

    #[test]
    fn only_instances_of_dyntick_are_looked_at() {
        assert!(is_ours("dyntick-77-0") && is_ours("dyntick-4194303-12"));
        for name in
            ["dyntick-", "dyntick-77", "dyntick-77-", "dyntick-x-0", "dyntick-77-0-1", "trace-77-0", "mine"]
        {
            assert!(!is_ours(name), "{name}");
        }
    }

    #[test]
    fn what_is_locked_is_in_use_and_all_else_is_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        // Numbers that say nothing: 1 always runs, and 4194304 never does.
        let make = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let [used, left, reused, foreign] =
            ["dyntick-4194304-0", "dyntick-4194304-1", "dyntick-1-0", "others"].map(make);
        let lock = locked(&used).unwrap();
        assert_eq!(remove_abandoned_in(folder.path()), 2);
        assert_eq!([&used, &left, &reused, &foreign].map(|path| path.exists()), [true, false, false, true]);
        drop(lock);
        assert_eq!(remove_abandoned_in(folder.path()), 1);
        assert_eq!(remove_abandoned_in(&folder.path().join("none")), 0);
    }

    /// A child of the owner that goes on must not keep the lock.
    #[test]
    fn the_lock_ends_with_its_process_whatever_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let lock = locked(folder.path()).unwrap();
        let mut child =
            Command::new("sh").args(["-c", "echo; exec sleep 60"]).stdout(Stdio::piped()).spawn().unwrap();
        // Its files are closed a moment after its parent goes on: it must have run.
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(locked(folder.path()).unwrap_err(), Errno::WOULDBLOCK);
        drop(lock);
        locked(folder.path()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
