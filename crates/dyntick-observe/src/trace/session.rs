// SPDX-License-Identifier: GPL-2.0-only
//! Recording with a trace instance of one's own.

use super::probes::{self, Probe, Probes};
use super::{CpuStats, Recording, resolve};
use dyntick_model::CpuList;
use rustix::fs::{Mode, OFlags};
use rustix::mount::MountFlags;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const TRACEFS: &str = "/sys/kernel/tracing";
const PREFIX: &str = "dyntick-";

/// A trace instance, gone when this is dropped. The machine's own trace state stays as it is.
pub struct TraceSession {
    folder: PathBuf,
    /// The events that are recorded: the name under which they are decoded, and the kernel's.
    events: Vec<(String, String)>,
    missing: Vec<String>,
    probes: Probes,
}

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// tracefs is not there and cannot be mounted.
    #[error(
        "tracefs is not at {TRACEFS} and cannot be mounted there ({0}); it needs root and a kernel with CONFIG_TRACING"
    )]
    NoTracefs(rustix::io::Errno),
    /// tracefs may not be entered, so that nobody can tell from here whether it is mounted.
    #[error("this user may not enter {TRACEFS} ({0}): that needs root, or rights to the folder")]
    Denied(std::io::Error),
    /// A file of tracefs refused.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl TraceSession {
    /// Prepares recording: all is enabled but nothing recorded yet. `events` are `system:name`;
    /// those that this kernel lacks are left out and told in the recording. `buffer_kib` is per CPU.
    pub fn new(events: &[String], buffer_kib: u32) -> Result<Self, SessionError> {
        mount()?;
        remove_abandoned();
        probes::remove_abandoned();
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = PathBuf::from(format!("{}{number}", Self::own_folders().display()));
        std::fs::create_dir(&folder).map_err(|source| SessionError::File {
            what: "create",
            path: folder.clone(),
            source,
        })?;
        let mut session = Self { folder, events: Vec::new(), missing: Vec::new(), probes: Probes::default() };
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

    /// With what the folders of this process's instances begin.
    pub fn own_folders() -> PathBuf {
        PathBuf::from(format!("{TRACEFS}/instances/{PREFIX}{}-", std::process::id()))
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Leaves only these CPUs recorded; all are where this is not called.
    pub fn only_cpus(&self, cpus: &CpuList) -> Result<(), SessionError> {
        self.write("tracing_cpumask", &cpus.to_mask())
    }

    /// From now on new events overwrite the oldest where a buffer is full.
    pub fn overwrite(&self) -> Result<(), SessionError> {
        self.write("options/overwrite", "1")
    }

    /// Gives the buffer of one CPU another size.
    pub fn resize(&self, cpu: u32, buffer_kib: u32) -> Result<(), SessionError> {
        self.write(&format!("per_cpu/cpu{cpu}/buffer_size_kb"), &buffer_kib.to_string())
    }

    /// Starts recording.
    pub fn start(&self) -> Result<(), SessionError> {
        self.write("tracing_on", "1")
    }

    /// Stops recording.
    pub fn stop(&self) -> Result<(), SessionError> {
        self.write("tracing_on", "0")
    }

    /// Whether this kernel lacks an event that was asked for.
    pub fn lacks(&self, event: &str) -> bool {
        self.missing.iter().any(|missing| missing == event)
    }

    /// The events that were asked for and that this kernel lacks.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Records a probe too, as the event `probe:NAME`. False where the kernel cannot do that.
    pub fn probe(&mut self, probe: Probe) -> bool {
        let enabled = self
            .probes
            .set(probe)
            .ok()
            .filter(|event| self.write(&format!("{}/enable", event_folder(event)), "1").is_ok());
        let name = format!("probe:{}", probe.0);
        let set = enabled.is_some();
        self.events.extend(enabled.map(|event| (name, event)));
        set
    }

    /// Records only what of an event passes this filter, in the language of
    /// `Documentation/trace/events.rst`. For an event that this kernel lacks it does nothing.
    pub fn filter(&self, event: &str, filter: &str) -> Result<(), SessionError> {
        match self.events.iter().find(|(name, _)| name == event) {
            Some((_, own)) => self.write(&format!("{}/filter", event_folder(own)), filter),
            None => Ok(()),
        }
    }

    /// Takes out what was recorded up to now, so that the buffers do not fill. No CPU is interrupted
    /// for it: a read that does not wait needs no wake-up.
    pub fn drain(&self, raw: &mut BTreeMap<u32, Vec<u8>>) -> Result<(), SessionError> {
        for cpu in self.cpus()?.iter() {
            let (mut pages, raw) = (self.raw_pages(cpu)?, raw.entry(cpu).or_default());
            while let Some(page) = pages.next_page()? {
                raw.extend_from_slice(page);
            }
        }
        Ok(())
    }

    /// The buffer of one CPU, to be emptied page by page.
    pub fn raw_pages(&self, cpu: u32) -> Result<RawPages, SessionError> {
        let path = self.folder.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        match rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
            Ok(pipe) => Ok(RawPages { pipe, path, page: vec![0; rustix::param::page_size()] }),
            Err(error) => Err(SessionError::File { what: "read", path, source: error.into() }),
        }
    }

    /// The text of each recorded event's `format` file, by the name under which it is decoded.
    pub fn formats(&self) -> Result<BTreeMap<String, String>, SessionError> {
        let text = |event: &str| self.read_text(&format!("{}/format", event_folder(event)));
        self.events.iter().map(|(name, event)| Ok((name.clone(), text(event)?))).collect()
    }

    /// Takes out what was recorded. Names of functions are looked up in `/proc/kallsyms`.
    pub fn read(&self) -> Result<Recording, SessionError> {
        self.read_behind(BTreeMap::new())
    }

    /// Like [`TraceSession::read`], behind what was drained before.
    pub fn read_behind(&self, raw: BTreeMap<u32, Vec<u8>>) -> Result<Recording, SessionError> {
        let mut recording = Recording { raw, ..Recording::default() };
        recording.metadata.page_size = rustix::param::page_size();
        recording.metadata.missing_events = self.missing.clone();
        recording.metadata.formats = self.formats()?;
        for cpu in self.cpus()?.iter() {
            recording.metadata.stats.insert(cpu, self.stats(cpu)?);
        }
        self.drain(&mut recording.raw)?;
        recording.metadata.symbols = self.names(&recording)?;
        Ok(recording)
    }

    fn names(&self, recording: &Recording) -> Result<BTreeMap<u64, String>, SessionError> {
        let addresses = recording.unknown_addresses();
        let path = Path::new("/proc/kallsyms");
        let result = File::open(path).and_then(|file| resolve(&addresses, file));
        result.map_err(|source| SessionError::File { what: "read", path: path.to_owned(), source })
    }

    /// The CPUs that have a buffer.
    pub fn cpus(&self) -> Result<CpuList, SessionError> {
        let path = self.folder.join("per_cpu");
        let entries =
            std::fs::read_dir(&path).map_err(|source| SessionError::File { what: "list", path, source })?;
        let number = |name: std::ffi::OsString| name.to_str()?.strip_prefix("cpu")?.parse().ok();
        Ok(entries.flatten().filter_map(|entry| number(entry.file_name())).collect())
    }

    /// What was counted for one CPU.
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

/// The buffer of one CPU, which is emptied by reading.
pub struct RawPages {
    pipe: OwnedFd,
    path: PathBuf,
    page: Vec<u8>,
}

impl RawPages {
    /// The next page; none where nothing is recorded that was not read.
    pub fn next_page(&mut self) -> Result<Option<&[u8]>, SessionError> {
        loop {
            self.page.fill(0);
            match rustix::io::read(&self.pipe, &mut self.page) {
                Ok(0) | Err(rustix::io::Errno::AGAIN) => return Ok(None),
                Ok(_) => return Ok(Some(&self.page)),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    return Err(SessionError::File {
                        what: "read",
                        path: self.path.clone(),
                        source: error.into(),
                    });
                }
            }
        }
    }
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

/// Removes the instances of processes that were killed before they could.
fn remove_abandoned() {
    let instances = std::fs::read_dir(format!("{TRACEFS}/instances")).into_iter().flatten().flatten();
    for instance in instances {
        let name = instance.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = std::fs::remove_dir(instance.path());
        }
    }
}
