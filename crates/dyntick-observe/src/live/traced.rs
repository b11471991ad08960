// SPDX-License-Identifier: GPL-2.0-only
//! Counting where no eBPF program may: the same events are recorded by way of tracefs, and another thread
//! folds them into counts as they come.

use super::lineage::Lineage;
use super::names::{Names, TICKS, tick_function};
use super::running::Running;
use super::tally::Tally;
use super::{Count, Key, Kind, LiveError, Lost, Snapshot, Wanted};
use crate::facts;
use crate::thread::{now_ns, own_files};
use crate::trace::{Buffers, TraceSession};
use dyntick_model::{CpuList, Event, EventKind, Symbol};
use dyntick_system::hotplug;
use dyntick_trace::{Decoder, SymbolTable, is_behind_a_gap};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The interval at which the buffers are emptied.
const DRAIN: Duration = Duration::from_millis(20);

/// The buffer of a CPU, KiB, if there is room for all: some 50 000 events, two and a half million a second.
const BUFFER_KIB: u32 = 2048;
/// The limit for all buffers, KiB, unless the CPUs are very many.
const ALL_BUFFERS_KIB: u32 = 256 * 1024;
/// The least that a buffer is given, KiB.
const LEAST_KIB: u32 = 128;
/// The buffer of a CPU that is not counted, KiB.
const UNUSED_KIB: u32 = 4;
/// The buffer of a CPU for forks, KiB: two thousand between two looks.
const FORKS_KIB: u32 = 64;

/// The size of the pages that are taken out of a buffer at once, in bytes.
const AT_ONCE: usize = 64 << 10;

/// Shows after each tick whether its timer was started again; see [`Tally`].
const STARTED: &str = "timer:hrtimer_start";
const FORK: &str = "sched:sched_process_fork";
const NMI: &str = "nmi:nmi_handler";

/// Trace events that are counted. Gone from the kernel when this is dropped, or when dyntick is started next.
pub struct Traced {
    /// The channel of requests to the thread; closing it ends the thread.
    asks: Option<Sender<Ask>>,
    thread: Option<JoinHandle<()>>,
    names: Names,
    missing: Vec<String>,
}

/// A request to the thread.
type Ask = Box<dyn FnOnce(&mut State) + Send>;

impl Traced {
    /// Records what is wanted, with the buffers of [`Traced::start_with`] as large as is sensible.
    pub fn start(wanted: &Wanted) -> Result<Self, LiveError> {
        let share = ALL_BUFFERS_KIB / wanted.cpus.len().max(1) as u32;
        Self::start_with(wanted, share.clamp(LEAST_KIB, BUFFER_KIB))
    }

    /// Records the wanted events. A thread, which runs where this one may, empties the buffers, each of `buffer_kib`
    /// KiB. Events that this kernel lacks are left out and reported by [`Traced::missing`].
    pub fn start_with(wanted: &Wanted, buffer_kib: u32) -> Result<Self, LiveError> {
        if wanted.cpus.is_empty() {
            return Err(LiveError::NoCpu);
        }
        let wanted = wanted.clone();
        let (asks, asked) = channel();
        let (started, start) = channel();
        let thread = move || match State::start(&wanted, buffer_kib) {
            Ok(state) => {
                let mut missing = state.events.session.missing().to_vec();
                missing.extend(state.lacks_ticks.then(|| TICKS.to_owned()));
                let _ = started.send(Ok(missing));
                serve(state, &asked);
            }
            Err(error) => _ = started.send(Err(error)),
        };
        let thread =
            std::thread::Builder::new().name("trace".to_owned()).spawn(thread).map_err(LiveError::Thread)?;
        let missing = start.recv().unwrap_or_else(|_| Err(ended()))?;
        Ok(Self { asks: Some(asks), thread: Some(thread), names: Names::default(), missing })
    }

    /// Begins anew: earlier counts are not reported, and no longest is known. Enabling an event rewrites code
    /// of the kernel, which interrupts every CPU; that is forgotten so.
    pub fn forget(&mut self) -> Result<(), LiveError> {
        self.ask(|state| {
            state.see_running();
            state.read().map(|_| ())
        })
    }

    /// The events that were wanted and that this kernel lacks; [`TICKS`] as by [`super::Counters::missing`].
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Follows a thread, if tasks are counted; see [`super::Counters::follow`].
    pub fn follow(&mut self, pid: u32) -> Result<(), LiveError> {
        self.ask(move |state| state.with_forks(|lineage| lineage.follow(pid)))
    }

    /// Takes a thread out of those that are followed; those that it started stay.
    pub fn unfollow(&mut self, pid: u32) -> Result<(), LiveError> {
        self.ask(move |state| state.with_forks(|lineage| lineage.unfollow(pid)))
    }

    /// Returns the number of threads that may be missing among the followed ones.
    pub fn unfollowed(&mut self) -> Result<u64, LiveError> {
        self.ask(|state| state.forks.as_ref().map_or(Ok(0), |forks| forks.recorded.lost()))
    }

    /// Returns the counts since the last call.
    pub fn read(&mut self) -> Result<Snapshot, LiveError> {
        let Snapshot { until_ns, ns, cpus: counts, lost } = self.ask(State::read)?;
        self.names.learn_symbols(counts.values().flat_map(BTreeMap::keys).filter_map(Key::function));
        let mut cpus: BTreeMap<u32, BTreeMap<Key, Count>> = BTreeMap::new();
        for (cpu, counts) in counts {
            let named = cpus.entry(cpu).or_default();
            for (key, count) in counts {
                let key = key.with_function(|function| self.names.of_symbol(function));
                // Different addresses may have one name, as the copies of an inlined function.
                named.entry(key).or_default().add(&count);
            }
        }
        Ok(Snapshot { until_ns, ns, cpus, lost })
    }

    /// Has the thread do something.
    fn ask<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut State) -> Result<T, LiveError> + Send + 'static,
    ) -> Result<T, LiveError> {
        let (answers, answer) = channel();
        let ask: Ask = Box::new(move |state| _ = answers.send(what(state)));
        // Where the thread has ended the answer is missing too.
        self.asks.as_ref().map(|asks| asks.send(ask));
        answer.recv().unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        drop(self.asks.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn ended() -> LiveError {
    LiveError::Thread(std::io::Error::other("the thread that reads the trace has ended"))
}

/// Empties the buffers and serves requests, until no more can come.
fn serve(mut state: State, asked: &Receiver<Ask>) {
    loop {
        match asked.recv_timeout(DRAIN) {
            Ok(ask) => ask(&mut state),
            Err(RecvTimeoutError::Timeout) => state.drain_or_fail(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The recording and the counts made of it.
struct State {
    events: Recorded,
    tally: Tally,
    /// The tasks that ran before the first switch, if switches are counted.
    running: Option<Running>,
    /// The events after the end of a window that came while the buffers were read.
    later: Vec<Part>,
    /// True if ticks are wanted and cannot be counted apart from other timers.
    lacks_ticks: bool,
    forks: Option<Forks>,
    /// The reason why the buffers are no longer emptied.
    failed: Option<LiveError>,
    /// When it was read before, ns on CLOCK_MONOTONIC, and what had been lost then.
    before: (u64, Lost),
}

impl State {
    /// The files that are opened here are this thread's alone ([`own_files`]).
    fn start(wanted: &Wanted, buffer_kib: u32) -> Result<Self, LiveError> {
        // SAFETY: files that other threads open from now on are not used here, nor those of this one there.
        unsafe { own_files() }.map_err(LiveError::Thread)?;
        // First, so that no thread is met whose begin was not seen.
        let forks = wanted.kinds.contains(&Kind::Tasks).then(Forks::start).transpose()?;
        let tick = wanted.kinds.contains(&Kind::Timers).then(tick_function).flatten();
        let lacks_ticks = tick.is_none() && wanted.kinds.contains(&Kind::Timers);
        let mut names: Vec<String> = wanted.kinds.iter().flat_map(|kind| kind.tracepoints()).collect();
        names.extend(tick.map(|_| STARTED.to_owned()));
        let session = TraceSession::new(&names, UNUSED_KIB)?;
        session.only_cpus(&wanted.cpus)?;
        // A page then says that it is behind a gap, and the kernel counts what it overwrote.
        session.overwrite()?;
        session.filter(NMI, "handled != 0")?;
        for cpu in wanted.cpus.iter() {
            session.resize(cpu, buffer_kib)?;
        }
        let tick = tick.filter(|_| !session.lacks(STARTED));
        if let Some(address) = tick {
            session.filter(STARTED, &format!("function == {address:#x}"))?;
        }
        let tick = tick.map(|address| Symbol::from(format!("{address:#x}")));
        let events = Recorded::start(session, &wanted.cpus)?;
        let before = (now_ns(), Lost::default());
        Ok(Self {
            events,
            tally: Tally::new(&wanted.cpus, tick).with_switches(wanted.kinds.contains(&Kind::Tasks)),
            running: wanted.kinds.contains(&Kind::Tasks).then(Running::default),
            later: Vec::new(),
            lacks_ticks,
            forks,
            failed: None,
            before,
        })
    }

    /// `until`: the end of a window that is read, ns. What is behind it is for the next one.
    fn drain(&mut self, until: Option<u64>) -> Result<(), LiveError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let Self { events, tally, later, forks, running, .. } = self;
        events.drain(|part| match part {
            Part::Event(event) if until.is_some_and(|until| event.ts > until) => {
                later.push(Part::Event(event))
            }
            Part::Gap(cpu) if later.iter().any(|part| part.cpu() == cpu) => later.push(part),
            part => part.count(tally),
        })?;
        if let Some(ns) = until {
            for cpu in tally.unseen() {
                let runs = running.as_mut().and_then(|running| running.on(cpu));
                runs.into_iter().for_each(|runs| tally.runs(cpu, runs.thread, runs.comm.as_str().into()));
            }
            // What was open when a CPU went offline did not last until now.
            let online = hotplug::online();
            for cpu in
                events.cpus().filter(|cpu| online.as_ref().is_some_and(|online| !online.contains(*cpu)))
            {
                tally.gap(cpu);
            }
            tally.lasts(ns);
        }
        // Only now, so that the begin of each thread that was met has been seen.
        let Some(forks) = forks else { return Ok(()) };
        forks.drain()?;
        let own = facts::threads_of(std::process::id());
        tally.settle(|thread| forks.lineage.thread(thread, &own));
        Ok(())
    }

    /// Looks what runs on CPUs that no task switch was seen on yet.
    fn see_running(&mut self) {
        let Some(running) = &mut self.running else { return };
        let cpus = self.tally.unseen();
        *running = Running::read(cpus.iter().copied());
        cpus.into_iter().filter(|cpu| running.is_busy(*cpu)).for_each(|cpu| self.tally.busy(cpu));
    }

    /// Empties the buffers. No request waits for the result, so an error is kept for the next one.
    fn drain_or_fail(&mut self) {
        if self.failed.is_none() {
            self.failed = self.drain(None).err();
        }
    }

    /// The counts since the previous call, with functions as the events name them.
    fn read(&mut self) -> Result<Snapshot, LiveError> {
        // Before the events are read: a turn that is not over after them lasts longer than this.
        let ns = now_ns();
        self.drain(Some(ns))?;
        let (overrun, undecoded) = (self.events.lost()?, self.events.undecoded);
        let lost = Lost { overrun, undecoded, ..Lost::default() };
        let (before, lost_before) = std::mem::replace(&mut self.before, (ns, lost));
        let counted = self.tally.read();
        self.later.drain(..).for_each(|part| part.count(&mut self.tally));
        Ok(Snapshot::new(ns, ns - before, counted, lost.since(&lost_before)))
    }

    /// Does something with the threads that are distinguished from others, as they are now.
    fn with_forks<T: Default>(&mut self, with: impl FnOnce(&mut Lineage) -> T) -> Result<T, LiveError> {
        let Some(forks) = &mut self.forks else { return Ok(T::default()) };
        forks.drain()?;
        forks.settle(u64::MAX);
        Ok(with(&mut forks.lineage))
    }
}

/// A piece of a recording.
enum Part {
    /// Events of this CPU are missing here.
    Gap(u32),
    Event(Event),
}

impl Part {
    fn cpu(&self) -> u32 {
        match self {
            Part::Gap(cpu) => *cpu,
            Part::Event(event) => event.cpu,
        }
    }

    fn count(self, tally: &mut Tally) {
        match self {
            Part::Gap(cpu) => tally.gap(cpu),
            Part::Event(event) => tally.take(&event),
        }
    }
}

/// A recording of some CPUs that is emptied as it goes on.
struct Recorded {
    // Before the session: while a buffer is open its instance cannot be removed.
    buffers: Buffers,
    /// The pages that were taken out of them last.
    pages: Vec<u8>,
    session: TraceSession,
    decoder: Decoder,
    undecoded: u64,
}

impl Recorded {
    fn cpus(&self) -> impl Iterator<Item = u32> {
        self.buffers.cpus().into_iter()
    }

    fn start(session: TraceSession, cpus: &CpuList) -> Result<Self, LiveError> {
        let decoder = Decoder::new(&session.formats()?, SymbolTable::new(&BTreeMap::new()))?;
        let buffers = session.buffers_of(cpus)?;
        session.start()?;
        Ok(Self { buffers, pages: Vec::new(), session, decoder, undecoded: 0 })
    }

    /// Takes out all that was recorded before: full pages, and then what is in the page that the kernel is writing.
    /// That may be the rest of one that was read before, and is done twice therefore, but not until nothing is left:
    /// beside a busy CPU there would be a page for each event.
    fn drain(&mut self, mut each: impl FnMut(Part)) -> Result<(), LiveError> {
        for cpu in self.buffers.cpus() {
            for _ in 0..2 {
                while self.buffers.full_pages(cpu, &mut self.pages, AT_ONCE)? > 0 {
                    self.decode(cpu, &mut each)?;
                }
                if self.buffers.started_page(cpu, &mut self.pages)? == 0 {
                    break;
                }
                self.decode(cpu, &mut each)?;
            }
        }
        Ok(())
    }

    fn decode(&mut self, cpu: u32, each: &mut impl FnMut(Part)) -> Result<(), LiveError> {
        for page in self.pages.chunks_exact(rustix::param::page_size()) {
            if is_behind_a_gap(page) {
                each(Part::Gap(cpu));
            }
            let decoded = self.decoder.decode(cpu, page, page.len(), |event| each(Part::Event(event)));
            self.undecoded += decoded.map_err(|source| LiveError::Page { cpu, source })?.undecoded;
        }
        self.pages.clear();
        Ok(())
    }

    /// Returns the number of events that the buffers did not keep.
    fn lost(&self) -> Result<u64, LiveError> {
        self.buffers.cpus().into_iter().map(|cpu| Ok(self.session.stats(cpu)?.lost)).sum()
    }
}

/// The forks of threads, on all CPUs: these are few events.
struct Forks {
    recorded: Recorded,
    lineage: Lineage,
    /// Forks that may have come after one that is not read yet: time, parent and child.
    waiting: Vec<(u64, u32, u32)>,
}

impl Forks {
    fn start() -> Result<Self, LiveError> {
        let session = TraceSession::new(&[FORK.to_owned()], FORKS_KIB)?;
        let cpus = session.cpus()?;
        let recorded = Recorded::start(session, &cpus)?;
        let kernel = facts::threads().into_iter().filter(|(_, thread)| thread.kernel);
        let lineage = Lineage::new(kernel.map(|(pid, _)| pid as u32));
        Ok(Self { recorded, lineage, waiting: Vec::new() })
    }

    fn drain(&mut self) -> Result<(), LiveError> {
        let begin = now_ns();
        let waiting = &mut self.waiting;
        self.recorded.drain(|part| {
            if let Part::Event(Event { ts, kind: EventKind::SchedFork { parent, child }, .. }) = part {
                waiting.push((ts, parent as u32, child as u32));
            }
        })?;
        // All that came before this has been read.
        self.settle(begin);
        Ok(())
    }

    /// Takes in the forks before this moment, in the order of all CPUs.
    fn settle(&mut self, before: u64) {
        self.waiting.sort_unstable();
        let later = self.waiting.partition_point(|(ts, ..)| *ts < before);
        self.waiting.drain(..later).for_each(|(_, parent, child)| self.lineage.fork(parent, child));
    }
}
