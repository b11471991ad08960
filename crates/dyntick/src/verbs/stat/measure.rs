// SPDX-License-Identifier: GPL-2.0-only
//! One measurement: what is read at its begin and its end, and the difference.

use super::calls::TimedCalls;
use super::command::{self, End, Finished, Watch};
use super::longest::Longest;
use super::power;
use anyhow::{Context, Result};
use dyntick_model::CpuList;
use dyntick_observe::live::{
    Calls, Choice, EnergyMeter, Function, FunctionCalls, Key, LiveError, Meters, Missing, Place, Power,
    Snapshot, Source, Unavailable, Wanted, keep_off,
};
use std::collections::BTreeSet;
use std::time::Instant;

/// What stays from one measurement to the next.
pub struct Session {
    cpus: CpuList,
    /// What takes longer is told one by one, ns.
    over_ns: Option<u64>,
    source: Option<Source>,
    /// Functions whose calls are timed.
    calls: Option<Calls>,
    /// Whether power is told too.
    with_power: bool,
    missing: Vec<Missing>,
    place: Place,
    watch: Watch,
}

/// A measurement that goes on.
pub struct Running<'a> {
    session: &'a mut Session,
    counts: Option<Snapshot>,
    calls: Option<Vec<FunctionCalls>>,
    energy: Option<Result<EnergyMeter, Missing>>,
    meters: Meters,
    first_ns: u64,
    with_command: bool,
    /// The command's process, to be ended where dyntick is.
    child: Option<u32>,
}

/// What was measured.
pub struct Measured {
    /// The CPUs.
    pub cpus: CpuList,
    /// How long, ns; of several runs all together.
    pub ns: u64,
    /// When it ended, ns since the first was begun.
    pub at_ns: u64,
    /// What was counted, where counting was possible.
    pub counts: Option<Snapshot>,
    /// By what it was counted.
    pub source: Option<Told>,
    /// The machine's own counters.
    pub meters: Meters,
    /// Threads of the command or of the processes that were named.
    pub own: BTreeSet<u32>,
    /// Threads of dyntick itself.
    pub observer: BTreeSet<u32>,
    /// What could not be told, and what it needs.
    pub missing: Vec<Missing>,
    /// How the command ended.
    pub finished: Option<Finished>,
    /// Whether the user ended it.
    pub stopped: bool,
    /// Of several runs: what each counted, for the spread.
    pub runs: Vec<Snapshot>,
    /// Those that took long, where that was asked for and can be told.
    pub longest: Option<Longest>,
    /// The calls of functions that were named.
    pub calls: Option<TimedCalls>,
    /// What the processor packages and their parts used, where that was asked for and can be told.
    pub power: Option<Vec<Power>>,
}

/// By what was counted, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// As users choose it: `bpf` or `tracefs`.
    pub name: &'static str,
    /// Of trace events: that they are it, why, and what that costs.
    pub note: Option<String>,
}

impl Session {
    /// Prepares to measure; nothing is counted yet that will be shown.
    pub fn open(wanted: &Wanted, choice: Choice) -> Result<Self> {
        let cpus = &wanted.cpus;
        // Before any thread, so that each has its place and no signal goes astray.
        let place = keep_off(cpus).context("cannot move off the measured CPUs")?;
        let watch = Watch::new()?;
        let mut missing = Vec::new();
        let started = (!wanted.kinds.is_empty()).then(|| Source::start(wanted, choice));
        let source = match started.transpose() {
            Ok(None) => None,
            Ok(Some(source)) => {
                missing.extend(source.missing().iter().filter_map(|tracepoint| lack(tracepoint)));
                if wanted.details_over_ns.is_some() && matches!(source, Source::Tracefs(..)) {
                    let what = "the list of long interruptions (--over)".to_owned();
                    missing.push(Missing { what, needs: "eBPF, or dyntick record".to_owned() });
                }
                Some(source)
            }
            Err(error) => {
                let what = "causes and durations".to_owned();
                missing.push(Missing { what, needs: needs(&error) });
                None
            }
        };
        let over_ns = wanted.details_over_ns.filter(|_| matches!(source, Some(Source::Bpf(_))));
        Ok(Self {
            cpus: cpus.clone(),
            over_ns,
            source,
            calls: None,
            with_power: false,
            missing,
            place,
            watch,
        })
    }

    /// Times the calls of these functions too; an error where that cannot be done.
    pub fn time_calls(&mut self, functions: &[Function]) -> Result<()> {
        if !functions.is_empty() {
            self.calls = Some(Calls::start(functions, &self.cpus)?);
        }
        Ok(())
    }

    /// Tells the energy of the processor packages too.
    pub fn measure_power(&mut self, wanted: bool) {
        self.with_power = wanted;
    }

    /// Begins to measure and starts the command.
    pub fn start(&mut self, words: &[String], pids: &[u32], pinned: Option<&CpuList>) -> Result<Running<'_>> {
        self.follow(pids)?;
        if !pids.is_empty() {
            self.watch.processes(pids)?;
        }
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        if !words.is_empty() {
            // Whoever this thread starts is followed from its first instruction on.
            self.follow(&[own])?;
        }
        // The machine's counters, causes, calls; at the end the other way round: each has the next within, which
        // is read faster.
        let meters = Meters::read(&self.cpus);
        let counts = match &mut self.source {
            Some(source) => {
                source.forget()?;
                Some(source.read()?)
            }
            None => None,
        };
        let calls = self.calls.as_mut().map(|calls| {
            calls.forget();
            calls.read()
        });
        let first_ns = counts.as_ref().map_or(meters.ns, |counts| counts.ns);
        let energy = self.with_power.then(EnergyMeter::start);
        let mut id = None;
        if !words.is_empty() {
            let child = command::start(words, &self.place, pinned)?;
            id = Some(child.id());
            self.watch.command(child)?;
            if let Some(source) = &mut self.source {
                source.unfollow(own)?;
            }
        }
        let with_command = !words.is_empty();
        Ok(Running { session: self, counts, calls, energy, meters, first_ns, with_command, child: id })
    }

    /// The processes that were named, with all their threads.
    fn follow(&mut self, pids: &[u32]) -> Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        for pid in pids {
            source.follow(*pid)?;
            for thread in threads(*pid) {
                source.follow(thread)?;
            }
        }
        Ok(())
    }

    /// By what is counted.
    pub fn told(&self) -> Option<Told> {
        self.source.as_ref().map(|source| match source {
            Source::Bpf(_) => Told { name: "bpf", note: None },
            Source::Tracefs(_, because) => Told { name: "tracefs", note: Some(note(because.as_ref())) },
        })
    }
}

impl Running<'_> {
    /// Waits for the end of the measurement, or for `until`.
    pub fn wait(&mut self, until: Option<Instant>) -> Option<End> {
        loop {
            let energy = self.energy.as_mut().and_then(|energy| energy.as_mut().ok());
            let next_reading = energy.is_some().then(|| Instant::now() + EnergyMeter::INTERVAL);
            let next = until.into_iter().chain(next_reading).min();
            match self.session.watch.wait(next) {
                // Ctrl-C at a terminal goes to the command too, which may end or not.
                Some(End::Signal(libc::SIGINT)) if self.with_command => {}
                // Long before a counter can begin anew twice.
                None if next != until => energy.into_iter().for_each(EnergyMeter::read),
                end => return end,
            }
        }
    }

    /// What was measured since the begin, or since this was called before.
    pub fn so_far(&mut self) -> Result<Measured> {
        let power = self.energy.as_mut().and_then(|energy| energy.as_mut().ok()).map(EnergyMeter::taken);
        let calls = self.session.calls.as_ref().map(Calls::read);
        let counts = self.session.source.as_mut().map(Source::read).transpose()?;
        let meters = Meters::read(&self.session.cpus);
        let (own, lost) = match &mut self.session.source {
            Some(source) => source.followed()?,
            None => Default::default(),
        };
        let mut missing = self.session.missing.clone();
        missing.extend(meters.missing.iter().cloned());
        missing.extend(self.energy.as_ref().and_then(|energy| energy.as_ref().err()).cloned());
        if lost > 0 {
            let what = format!("{lost} threads of the command, counted as other tasks");
            missing.push(Missing { what, needs: "room in the table of threads".to_owned() });
        }
        let difference = counts.as_ref().zip(self.counts.as_ref()).map(|(now, then)| now.since(then));
        let grown = meters.since(&self.meters);
        let ended_ns = counts.as_ref().map_or(meters.ns, |counts| counts.ns);
        let mut longest = self.longest();
        let mut measured = Measured {
            cpus: self.session.cpus.clone(),
            ns: difference.as_ref().map_or(grown.ns, |counts| counts.ns),
            at_ns: ended_ns - self.first_ns,
            counts: difference,
            source: self.session.told(),
            meters: grown,
            own,
            observer: threads(std::process::id()),
            missing,
            finished: None,
            stopped: false,
            runs: Vec::new(),
            longest: None,
            calls: self.timed(calls.as_deref()),
            power,
        };
        longest.iter_mut().for_each(|longest| longest.without_own(&measured));
        measured.longest = longest;
        (self.counts, self.calls, self.meters) = (counts, calls, meters);
        Ok(measured)
    }

    /// What calls came since this was called before.
    fn timed(&self, now: Option<&[FunctionCalls]>) -> Option<TimedCalls> {
        let (now, then) = (now?, self.calls.as_ref()?);
        Some(TimedCalls {
            functions: now.iter().zip(then).map(|(now, then)| now.since(then)).collect(),
            costs: self.session.calls.as_ref()?.costs().to_vec(),
            with_others: self.session.source.is_some(),
        })
    }

    /// Those that took long since this was called before, where that was asked for.
    fn longest(&mut self) -> Option<Longest> {
        let (over_ns, source) = (self.session.over_ns?, self.session.source.as_mut()?);
        let details = source.details();
        let each = details.occurrences.into_iter();
        let each = each.map(|one| (one.start_ns.saturating_sub(self.first_ns), one)).collect();
        Some(Longest { over_ns, each, lost: details.lost })
    }

    /// What was measured, after its end. A command that still runs then is ended.
    pub fn finish(mut self, end: Option<End>) -> Result<Measured> {
        let mut measured = self.so_far()?;
        match end {
            Some(End::Command(finished)) => measured.finished = Some(finished),
            Some(End::Signal(signal)) => {
                measured.stopped = true;
                self.end_command(signal, &mut measured);
            }
            None => self.end_command(libc::SIGTERM, &mut measured),
            Some(End::Processes) => {}
        }
        Ok(measured)
    }

    fn end_command(&mut self, signal: i32, measured: &mut Measured) {
        let Some(child) = self.child else { return };
        // SAFETY: a process that this one started and has not waited for yet.
        unsafe {
            libc::kill(child as i32, signal);
        }
        if let Some(End::Command(finished)) = self.wait(None) {
            measured.finished = Some(finished);
        }
    }
}

impl Measured {
    /// This measurement and another one together.
    pub fn with(mut self, other: Measured) -> Self {
        if self.runs.is_empty() {
            self.runs.extend(self.counts.clone());
        }
        self.runs.extend(other.counts.clone());
        if let (Some(sum), Some(more)) = (&mut self.counts, &other.counts) {
            sum.add(more);
        }
        if let (Some(all), Some(more)) = (&mut self.longest, other.longest) {
            all.add(more);
        }
        if let (Some(all), Some(more)) = (&mut self.calls, &other.calls) {
            all.add(more);
        }
        if let (Some(all), Some(more)) = (&mut self.power, &other.power) {
            power::add(all, more);
        }
        self.meters.add(&other.meters);
        self.ns += other.ns;
        self.own.extend(&other.own);
        self.finished = other.finished;
        self.stopped = other.stopped;
        self
    }

    /// How long one CPU was measured, s.
    pub fn seconds(&self) -> f64 {
        self.ns as f64 / dyntick_model::NANOS_PER_SEC as f64
    }

    /// How many runs there were.
    pub fn repeats(&self) -> usize {
        self.runs.len().max(1)
    }

    /// Whether a task belongs to what was measured.
    pub fn is_own(&self, key: &Key) -> bool {
        matches!(key, Key::Task { pid, .. } if self.own.contains(pid))
    }

    /// Whether a task is dyntick's.
    pub fn is_observer(&self, key: &Key) -> bool {
        matches!(key, Key::Task { pid, .. } if self.observer.contains(pid))
    }
}

fn threads(pid: u32) -> BTreeSet<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What a kernel without this tracepoint cannot tell; none where that is no loss to most.
fn lack(tracepoint: &str) -> Option<Missing> {
    let (what, needs) = match tracepoint {
        "csd:csd_function_entry" => ("which functions other CPUs call", "Linux 6.5 or newer"),
        "nmi:nmi_handler" | "timer:tick_stop" | "sched:sched_switch" => (tracepoint, "this tracepoint"),
        _ => return None,
    };
    Some(Missing { what: what.to_owned(), needs: needs.to_owned() })
}

/// What counting needs that is not there.
fn needs(error: &Unavailable) -> String {
    let bpf = error.bpf.as_ref().map(|error| match error {
        LiveError::NotPermitted => {
            "root, or CAP_BPF and CAP_PERFMON; or --source tracefs and write access to /sys/kernel/tracing"
                .to_owned()
        }
        other => other.to_string(),
    });
    let told = bpf.into_iter().chain(error.tracefs.as_ref().map(ToString::to_string));
    told.collect::<Vec<_>>().join("; and without eBPF: ")
}

/// What is told of counting by trace events.
fn note(because: Option<&LiveError>) -> String {
    let why = match because {
        None => "as requested".to_owned(),
        Some(error) => format!("since eBPF cannot be used: {error}"),
    };
    format!("Counted from trace events (tracefs), which costs the measured CPUs more than eBPF does; {why}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_ways_need_is_told() {
        let refused = || Some(LiveError::Refused("no bpf".to_owned()));
        let both = Unavailable { bpf: refused(), tracefs: Some(LiveError::NoCpu) };
        assert_eq!(
            needs(&both),
            "the kernel rejects the eBPF programs: no bpf; and without eBPF: no CPU was given to count on"
        );
        let permission = Unavailable { bpf: Some(LiveError::NotPermitted), tracefs: None };
        assert!(needs(&permission).contains("CAP_BPF") && needs(&permission).contains("--source tracefs"));
        assert!(note(None).ends_with("; as requested."));
        assert!(note(refused().as_ref()).contains("since eBPF cannot be used: the kernel rejects"));
    }
}
