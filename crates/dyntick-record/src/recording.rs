// SPDX-License-Identifier: GPL-2.0-only
//! A recording that is ready to start, and its threads.

use crate::buffers::{self, Control, Drain, ON_THE_WAY, Piece, Sink, Whole};
use crate::functions::Functions;
use crate::placement::OutOfTheWay;
use crate::processes::Processes;
use crate::stored::{Packer, Writer};
use crate::task_names::Watch;
use crate::trigger::Trigger;
use crate::{About, IdleStates, Options, RecordError, counted_causes, events, idle};
use dyntick_model::{CpuList, KernelVersion};
use dyntick_observe::facts::{Counts, Machine};
use dyntick_observe::thread::now_ns;
use dyntick_observe::trace::{SessionError, TraceSession, names_of};
use dyntick_system::hotplug::Hotplug;
use dyntick_trace::{COMPAT_CALL, Metadata, Scanner, UserStacks};
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The pause between two checks if the tasks are to be read.
const LOOK: Duration = Duration::from_millis(100);

/// The longest delay until a process whose stacks are recorded is read; one that ends before has addresses only.
const PROCESS_LIVES: Duration = Duration::from_millis(10);

/// The maximum trace buffer of a CPU that is not recorded, KiB: it gets only events that concern the recorded CPUs.
const OTHERS_KIB: u32 = 2048;

/// A recording that is ready to start.
pub(crate) struct Recording<'a> {
    pub options: &'a Options,
    pub session: TraceSession,
    pub online: CpuList,
    machine: Machine,
    idle: Option<IdleStates>,
    watch: Mutex<Watch>,
    /// The processes whose stacks are recorded, if stacks are.
    processes: Mutex<Option<Processes>>,
    functions: Mutex<Functions>,
    notes: Vec<String>,
    hotplug: Mutex<Hotplug>,
}

impl<'a> Recording<'a> {
    /// Prepares a recording. This thread stays off the CPUs while the second part lives.
    pub fn prepare(options: &'a Options) -> Result<(Self, OutOfTheWay), RecordError> {
        let machine = options.machine()?;
        let online = machine.cpus.online.clone();
        let away = OutOfTheWay::to(&online.difference(&options.cpus));
        let own = (!away.worked()).then(|| "dyntick itself ran on the recorded CPUs".to_owned());
        let stacks = options.stacks.then(|| {
            "stacks are recorded: that takes time in each interruption, and page faults in kernel mode are left out, \
             because the kernel takes some for it"
                .to_owned()
        });
        let idle = options.idle.then(|| idle::read(&options.cpus));
        let before = Counts::interrupts();
        let session = session(options, &online, &machine.kernel)?;
        let mut watch = match &options.last {
            Some(last) => Watch::of_the_last(last.last),
            None => Watch::new(),
        };
        watch.look();
        let processes = Mutex::new(UserStacks::new(&session.formats()?)?.map(Processes::new));
        let hotplug = Mutex::new(Hotplug::watch());
        let calls = counted_causes::calls(&before, &Counts::interrupts(), &options.cpus);
        let calls = (calls > 0).then(|| {
            format!(
                "dyntick interrupted the recorded CPUs {calls} times to switch its events on (function-call interrupts), \
                 before the recording; it does so again to switch them off"
            )
        });
        let (watch, notes) = (Mutex::new(watch), own.into_iter().chain(stacks).chain(calls).collect());
        Ok((
            Self {
                options,
                session,
                online,
                machine,
                idle,
                watch,
                processes,
                functions: Mutex::default(),
                notes,
                hotplug,
            },
            away,
        ))
    }

    /// Records everything into one file.
    pub fn complete<T>(&self, during: impl FnOnce(&Control) -> T) -> Result<(std::fs::File, T), RecordError> {
        let file = dyntick_system::unnamed_in(&self.options.folder).map_err(RecordError::Write)?;
        let writer = Writer::new(file, self.options.most_bytes).map_err(RecordError::Write)?;
        let sink = Whole { packer: self.packer()?, writer };
        let before = Counts::read(&self.options.cpus);
        let control = Control::default();
        let (Whole { packer, writer }, window_ns, result) = self.traced(sink, None, &control, during)?;
        let counts = (before, Counts::read(&self.options.cpus));
        self.look();
        let about = About { counts, ..self.about(window_ns, &control, None) };
        let metadata = self.metadata(packer.addresses())?;
        Ok((writer.finish(about, &metadata).map_err(RecordError::Write)?, result))
    }

    /// The packer of this recording's pages.
    pub fn packer(&self) -> Result<Packer, RecordError> {
        let scanner = Scanner::new(&self.session.formats()?)?;
        Packer::new(scanner, rustix::param::page_size()).map_err(RecordError::Write)
    }

    /// Reads all tasks.
    pub fn look(&self) {
        lock(&self.watch).look();
    }

    /// The facts in addition to the trace, without counters.
    pub fn about(&self, window_ns: (u64, u64), control: &Control, trigger: Option<Trigger>) -> About {
        // Named after the lock is released, because the recording waits for it.
        let code = lock(&self.processes).as_ref().map(Processes::code).unwrap_or_default();
        let mappings = lock(&self.functions).name(code);
        let offline = lock(&self.hotplug).unsteady(&self.options.cpus);
        let watch = lock(&self.watch);
        About {
            cpus: self.options.cpus.clone(),
            window_ns,
            command: self.options.command.clone(),
            process: control.process(),
            recorder: Some(std::process::id() as i32),
            machine: self.machine.clone(),
            idle: self.idle.clone(),
            threads: watch.threads.clone(),
            owners: watch.owners.clone(),
            counts: (Counts::default(), Counts::default()),
            offline,
            notes: self.notes.clone(),
            ended: None,
            mappings,
            trigger,
            foreign: None,
        }
    }

    /// The layout of the trace, in which these functions occur.
    pub fn metadata(&self, addresses: &BTreeSet<u64>) -> Result<Metadata, RecordError> {
        Ok(Metadata { symbols: names_of(addresses)?, ..self.session.metadata()? })
    }

    /// Traces while `during` runs; other threads meanwhile empty the buffers, write, and read tasks. Tracing, and with
    /// it the window, ends if nothing more can be written. With `soon`, events are read before they fill a page.
    pub fn traced<S: Sink + Send, T>(
        &self,
        sink: S,
        soon: Option<Duration>,
        control: &Control,
        during: impl FnOnce(&Control) -> T,
    ) -> Result<(S, (u64, u64), T), RecordError> {
        let ((end, ended), (end_watch, ended_watch)) = (channel(), channel());
        let (to, pieces) = sync_channel::<Piece>(ON_THE_WAY);
        let buffer = (self.options.buffer_kib as usize) << 10;
        let session = &self.session;
        // Processes whose stacks are recorded are read while they exist.
        let soon = if self.options.stacks { Some(PROCESS_LIVES) } else { soon };
        let drain = Drain { session, buffer, to, control, soon };
        let (ready, is_ready) = sync_channel(1);
        let sink = Noting { sink, processes: &self.processes };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new;
            let write = thread().spawn_scoped(scope, move || buffers::write(sink, &pieces, control));
            let write = write.map_err(RecordError::Thread)?;
            let drain = thread().spawn_scoped(scope, move || drain.run(&ready, &ended));
            let drain = drain.map_err(RecordError::Thread)?;
            let ended_early =
                || RecordError::Thread(std::io::Error::other("the one that empties the buffers ended"));
            is_ready.recv().map_err(|_| ended_early())??;
            let looks = thread().spawn_scoped(scope, move || look(&self.watch, &ended_watch));
            looks.map_err(RecordError::Thread)?;
            session.start()?;
            let begin = now_ns();
            let result = during(control);
            let complete = now_ns();
            control.end(complete);
            session.stop()?;
            drop((end, end_watch));
            let stopped = drain.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            let sink = write.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((sink.map_err(RecordError::Write)?.sink, (begin, stopped.unwrap_or(complete)), result))
        })
    }
}

/// A sink that reads the processes whose stacks are in the pages, and passes the pages on.
struct Noting<'a, S> {
    sink: S,
    processes: &'a Mutex<Option<Processes>>,
}

impl<S: Sink> Sink for Noting<'_, S> {
    fn take(&mut self, piece: Piece) -> std::io::Result<()> {
        if let (Piece::Pages { pages, .. }, Some(processes)) = (&piece, lock(self.processes).as_mut()) {
            processes.look(pages);
        }
        self.sink.take(piece)
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }
}

/// The locked value, even if a thread has panicked with the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a session that is ready to start.
fn session(
    options: &Options,
    online: &CpuList,
    kernel: &KernelVersion,
) -> Result<TraceSession, SessionError> {
    let others = options.buffer_kib.min(OTHERS_KIB);
    let calls: &[&str] = if options.system_calls { &events::CALLS } else { &[] };
    let idle: &[&str] = if options.idle { &idle::EVENTS } else { &[] };
    let mut session = events::session(&options.cpus, online, others, &[calls, idle].concat())?;
    if options.system_calls {
        session.probe(COMPAT_CALL);
    }
    events::inversions(&mut session, &options.cpus, online)?;
    events::sleeps(&mut session, &options.cpus, online, kernel, options.faults)?;
    if options.stacks {
        events::stacks(&mut session, &options.cpus, online)?;
    }
    if options.buffer_kib > others {
        options.cpus.iter().try_for_each(|cpu| session.resize(cpu, options.buffer_kib))?;
    }
    Ok(session)
}

/// Reads the tasks from time to time, until the recording ends.
fn look(watch: &Mutex<Watch>, ended: &Receiver<()>) {
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        lock(watch).look_if_due();
    }
}
