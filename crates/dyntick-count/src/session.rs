// SPDX-License-Identifier: GPL-2.0-only
//! One measurement: what is read at its begin and its end, and the difference.

use crate::command::{self, Asker, Watch};
use crate::command_time::CommandClock;
use crate::{CountError, CountedBy, End, Longest, Measured, TimedCalls, missing};
use dyntick_model::CpuList;
use dyntick_observe::facts::threads_of;
use dyntick_observe::live::{
    Calls, Choice, EnergyMeter, Function, FunctionCalls, Kind, Meters, Missing, Place, RunTime, Source,
    TICKS, Wanted, keep_off,
};
use dyntick_system::hotplug::Hotplug;
use std::time::Instant;

/// The state that is kept from one measurement to the next.
pub struct Session {
    cpus: CpuList,
    /// True if time slices are counted.
    with_slices: bool,
    /// True if ticks are counted apart from other timers.
    with_ticks: bool,
    /// The duration above which interruptions are listed one by one, ns.
    over_ns: Option<u64>,
    source: Option<Source>,
    /// Functions whose calls are timed.
    calls: Option<Calls>,
    /// The time of the command's threads, or the reason why it is not known; none if it was not wanted.
    clock: Option<Result<CommandClock, Missing>>,
    /// True if power is measured too.
    with_power: bool,
    /// True if the kernel is known not to throttle real-time tasks.
    no_real_time_limit: bool,
    missing: Vec<Missing>,
    hotplug: Hotplug,
    place: Place,
    watch: Watch,
}

/// A measurement that goes on.
pub struct Running<'a> {
    session: &'a mut Session,
    calls: Option<Vec<FunctionCalls>>,
    energy: Option<Result<EnergyMeter, Missing>>,
    /// The next time at which energy and counts must be read.
    energy_due: Option<Instant>,
    counts_due: Option<Instant>,
    meters: Meters,
    first_ns: u64,
    /// The command's process, to be ended where dyntick is.
    child: Option<u32>,
}

impl Session {
    /// Prepares to measure; nothing is counted yet that will be shown. Call it before any other thread is started.
    /// Where nothing can be counted the machine's own counters are read all the same, and what is missing is in
    /// [`Measured::missing`]. SIGINT, SIGTERM and SIGHUP end a measurement.
    ///
    /// # Errors
    ///
    /// [`CountError::Place`], [`CountError::Thread`].
    pub fn open(wanted: &Wanted, choice: Choice) -> Result<Self, CountError> {
        Self::with(wanted, choice, Watch::with_signals)
    }

    /// The same, and leaves signals to the caller, who ends the process of [`Session::start_by`].
    ///
    /// # Errors
    ///
    /// As of [`Session::open`].
    pub fn open_without_signals(wanted: &Wanted, choice: Choice) -> Result<Self, CountError> {
        Self::with(wanted, choice, || Ok(Watch::without_signals()))
    }

    fn with(
        wanted: &Wanted,
        choice: Choice,
        watch: impl FnOnce() -> Result<Watch, CountError>,
    ) -> Result<Self, CountError> {
        let cpus = &wanted.cpus;
        // Before any thread, so that each has its place and no signal goes astray.
        let place = keep_off(cpus).map_err(CountError::Place)?;
        let watch = watch()?;
        let mut missing = Vec::new();
        let started = (!wanted.kinds.is_empty()).then(|| Source::start(wanted, choice));
        let mut source = match started.transpose() {
            Ok(None) => None,
            Ok(Some(source)) => {
                missing.extend(missing::of_source(&source, wanted));
                Some(source)
            }
            Err(error) => {
                missing.push(missing::of_all(&error));
                None
            }
        };
        let lacks_ticks = |source: &Source| source.missing().iter().any(|missing| missing == TICKS);
        let with_ticks = wanted.kinds.contains(&Kind::Timers)
            && source.as_ref().is_some_and(|source| !lacks_ticks(source));
        let over_ns = wanted.details_over_ns.filter(|_| matches!(source, Some(Source::Bpf(_))));
        let clock = wanted.longest_idle_exit_ns.map(|_| CommandClock::of(source.as_mut()));
        Ok(Self {
            cpus: cpus.clone(),
            with_slices: wanted.kinds.contains(&Kind::Tasks),
            with_ticks,
            over_ns,
            source,
            calls: None,
            clock,
            with_power: false,
            no_real_time_limit: false,
            missing,
            hotplug: Hotplug::watch(),
            place,
            watch,
        })
    }

    /// Times the calls of these functions too.
    ///
    /// # Errors
    ///
    /// [`CountError::Calls`] where the kernel has no such function, or it cannot be probed.
    pub fn time_calls(&mut self, functions: &[Function]) -> Result<(), CountError> {
        if !functions.is_empty() {
            self.calls = Some(Calls::start(functions, &self.cpus)?);
        }
        Ok(())
    }

    /// Measures the energy of the processor packages too, if that is wanted.
    pub fn measure_power(&mut self, wanted: bool) {
        self.with_power = wanted;
    }

    /// Notes if the kernel is known not to throttle real-time tasks.
    pub fn lacks_real_time_limit(&mut self, known: bool) {
        self.no_real_time_limit = known;
    }

    /// Returns a handle by which another thread requests the counts so far: [`Running::wait`] then returns
    /// [`End::Asked`].
    pub fn asker(&self) -> Asker {
        self.watch.asker()
    }

    /// Begins to measure and starts the command, on these CPUs if any are given. Of a command and of processes that are
    /// named it is known which tasks are theirs.
    ///
    /// # Errors
    ///
    /// A command that cannot be started, a process that does not exist, or counters that cannot be read.
    pub fn start(
        &mut self,
        words: &[String],
        pids: &[u32],
        pinned: Option<&CpuList>,
    ) -> Result<Running<'_>, CountError> {
        if words.is_empty() {
            let begun = self.begin(pids, None)?;
            return Ok(self.running(begun, None));
        }
        let own = own_thread();
        let begun = self.begin(pids, Some(own))?;
        let child = command::start(words, &self.place, pinned)?;
        let id = child.id();
        self.has_started(own)?;
        // Not before: the thread that waits for it is not the command's.
        self.watch.command(child)?;
        Ok(self.running(begun, Some(id)))
    }

    /// Begins to measure, and has this thread start a process, of which all is measured. Its starter waits for it.
    ///
    /// # Errors
    ///
    /// A process that cannot be started, or counters that cannot be read.
    pub fn start_by<T>(
        &mut self,
        start: impl FnOnce() -> std::io::Result<(u32, T)>,
    ) -> Result<(Running<'_>, T), CountError> {
        let own = own_thread();
        let begun = self.begin(&[], Some(own))?;
        let (pid, started) = start().map_err(CountError::Start)?;
        self.has_started(own)?;
        self.watch.processes(&[pid])?;
        Ok((self.running(begun, None), started))
    }

    /// Follows these processes, and those that this thread starts from now on, and reads all counters.
    fn begin(&mut self, pids: &[u32], starter: Option<u32>) -> Result<Begun, CountError> {
        self.follow(pids)?;
        if let Some(Ok(clock)) = &mut self.clock {
            clock.follow(pids, starter)?;
        }
        if !pids.is_empty() {
            self.watch.processes(pids)?;
        }
        // A process that this thread starts is followed from its first instruction on.
        self.follow(starter.as_slice())?;
        // Learns the names of all that attaching caused, which takes long: not between two of the readings below.
        if let Some(source) = &mut self.source {
            source.forget()?;
        }
        // The machine's counters, causes, calls; at the end the other way round: each has the next within, which
        // is read faster.
        let meters = Meters::read(&self.cpus);
        let _ = self.hotplug.unsteady(&self.cpus);
        let mut first_ns = meters.ns;
        if let Some(source) = &mut self.source {
            source.forget()?;
            first_ns = source.read()?.until_ns;
        }
        let calls = self.calls.as_mut().map(|calls| {
            calls.forget();
            calls.read()
        });
        if let Some(Ok(clock)) = &mut self.clock {
            clock.forget();
        }
        let energy = self.with_power.then(EnergyMeter::start);
        Ok(Begun { calls, energy, meters, first_ns })
    }

    /// Ends following what this thread starts.
    fn has_started(&mut self, own: u32) -> Result<(), CountError> {
        if let Some(source) = &mut self.source {
            source.unfollow(own)?;
        }
        if let Some(Ok(clock)) = &mut self.clock {
            clock.has_started(own)?;
        }
        Ok(())
    }

    fn running(&mut self, begun: Begun, child: Option<u32>) -> Running<'_> {
        let Begun { calls, energy, meters, first_ns } = begun;
        let measures = energy.as_ref().is_some_and(Result::is_ok);
        let energy_due = measures.then(|| Instant::now() + EnergyMeter::INTERVAL);
        let counts_due =
            self.source.as_ref().and_then(Source::interval).map(|interval| Instant::now() + interval);
        Running { session: self, calls, energy, energy_due, counts_due, meters, first_ns, child }
    }

    /// The processes that were named, with all their threads.
    fn follow(&mut self, pids: &[u32]) -> Result<(), CountError> {
        let Some(source) = &mut self.source else { return Ok(()) };
        for pid in pids {
            source.follow(*pid)?;
            for thread in threads_of(*pid) {
                source.follow(thread)?;
            }
        }
        Ok(())
    }
}

/// The readings at the begin of a measurement.
struct Begun {
    calls: Option<Vec<FunctionCalls>>,
    energy: Option<Result<EnergyMeter, Missing>>,
    meters: Meters,
    first_ns: u64,
}

/// This thread.
fn own_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

impl Running<'_> {
    /// Waits for the end of the measurement, or for `until`.
    pub fn wait(&mut self, until: Option<Instant>) -> Option<End> {
        loop {
            let next = until.into_iter().chain(self.keep_up()).min();
            match self.session.watch.wait(next) {
                // Ctrl-C at a terminal goes to the command too, which may end or not.
                Some(End::Signal(libc::SIGINT)) if self.child.is_some() => {}
                None if next != until => {}
                end => return end,
            }
        }
    }

    /// Reads what does not wait for the end and is due: energy long before a counter can begin anew twice, and counts
    /// before the programs have no room for names. Returns when this is to be called next.
    fn keep_up(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let is_due = |due: Option<Instant>| due.is_some_and(|due| now >= due);
        if let (Some(Ok(energy)), true) = (&mut self.energy, is_due(self.energy_due)) {
            energy.read();
            self.energy_due = Some(now + EnergyMeter::INTERVAL);
        }
        if let (Some(source), true) = (&mut self.session.source, is_due(self.counts_due)) {
            source.keep_up();
            self.session.clock.iter_mut().flatten().for_each(CommandClock::keep_up);
            self.counts_due = source.interval().map(|interval| now + interval);
        }
        self.energy_due.into_iter().chain(self.counts_due).min()
    }

    /// Returns the CPU time of counting since the session was opened, if the kernel measures it.
    pub fn run_time(&self) -> Option<RunTime> {
        self.session.source.as_ref().and_then(Source::run_time)
    }

    /// Returns the result since the begin, or since the last call.
    ///
    /// # Errors
    ///
    /// [`CountError::Live`] where the counters cannot be read.
    pub fn so_far(&mut self) -> Result<Measured, CountError> {
        let power = self.energy.as_mut().and_then(|energy| energy.as_mut().ok()).map(EnergyMeter::taken);
        let command_time = self.session.clock.iter_mut().flatten().map(CommandClock::read).next();
        let calls = self.session.calls.as_ref().map(Calls::read);
        let counts = self.session.source.as_mut().map(Source::read).transpose()?;
        let meters = Meters::read(&self.session.cpus);
        let unfollowed = self.session.source.as_mut().map(Source::unfollowed).transpose()?.unwrap_or(0);
        let mut missing = self.session.missing.clone();
        missing.extend(meters.missing.iter().cloned());
        missing.extend(self.energy.as_ref().and_then(|energy| energy.as_ref().err()).cloned());
        missing.extend(self.session.clock.as_ref().and_then(|clock| clock.as_ref().err()).cloned());
        if unfollowed > 0 {
            missing.push(missing::of_threads(unfollowed));
        }
        let grown = meters.since(&self.meters);
        let ended_ns = counts.as_ref().map_or(meters.ns, |counts| counts.until_ns);
        let mut longest = self.longest();
        // Time slices of tasks that were measured, or that measure, are no interruptions.
        longest.iter_mut().for_each(|longest| longest.each.retain(|(_, one)| !one.key.is_own_task()));
        let measured = Measured {
            cpus: self.session.cpus.clone(),
            with_slices: self.session.with_slices,
            with_ticks: self.session.with_ticks,
            ns: counts.as_ref().map_or(grown.ns, |counts| counts.ns),
            at_ns: ended_ns - self.first_ns,
            counts,
            source: self.session.source.as_ref().map(CountedBy::of),
            meters: grown,
            offline: self.session.hotplug.unsteady(&self.session.cpus),
            missing,
            longest,
            calls: self.timed(calls.as_deref()),
            command_time,
            no_real_time_limit: self.session.no_real_time_limit,
            power,
            ..Measured::default()
        };
        (self.calls, self.meters) = (calls, meters);
        Ok(measured)
    }

    /// Returns the calls since the last call of this.
    fn timed(&self, now: Option<&[FunctionCalls]>) -> Option<TimedCalls> {
        let (now, then) = (now?, self.calls.as_ref()?);
        Some(TimedCalls {
            functions: now.iter().zip(then).map(|(now, then)| now.since(then)).collect(),
            costs: self.session.calls.as_ref()?.costs().to_vec(),
            with_others: self.session.source.is_some(),
        })
    }

    /// Returns the longest interruptions since the last call, if requested.
    fn longest(&mut self) -> Option<Longest> {
        let (over_ns, source) = (self.session.over_ns?, self.session.source.as_mut()?);
        let details = source.details();
        let each = details.occurrences.into_iter();
        let each = each.map(|one| (one.start_ns.saturating_sub(self.first_ns), one)).collect();
        Some(Longest { over_ns, each, lost: details.lost })
    }

    /// Ends the measurement, and a command that still runs, and returns the result.
    ///
    /// # Errors
    ///
    /// [`CountError::Live`] where the counters cannot be read.
    pub fn finish(mut self, end: Option<End>) -> Result<Measured, CountError> {
        let mut measured = self.so_far()?;
        match end {
            Some(End::Command(finished)) => measured.finished = Some(finished),
            Some(End::Signal(signal)) => {
                measured.stopped = true;
                self.end_command(signal, &mut measured);
            }
            None => self.end_command(libc::SIGTERM, &mut measured),
            Some(End::Processes | End::Asked) => {}
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
