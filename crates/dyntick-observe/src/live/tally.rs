// SPDX-License-Identifier: GPL-2.0-only
//! From trace events to the counts that the eBPF programs make in the kernel: what `dyntick-bpf`'s `count.c`
//! and `account.h` do, done with a record of the same events. Pure.

use super::keys::Thread;
use super::snapshot::{MOST_PROGRAMS, fold};
use super::{Count, Key};
use dyntick_model::{CpuList, Event, EventKind, Interrupt, Softirq, Symbol};
use std::collections::{BTreeMap, HashMap};

/// Counts of some CPUs. Events of one CPU must come in their order; those of different CPUs may come in any.
pub struct Tally {
    /// The function of the tick's timer, as the events call it.
    tick: Option<Symbol>,
    with_switches: bool,
    cpus: BTreeMap<u32, Cpu>,
}

impl Tally {
    /// For these CPUs. `tick` is the function of the tick's timer, as the events call it; where it is not
    /// known, ticks are counted as the hrtimer that they are. With it, the tally must also get each
    /// [`EventKind::HrtimerStart`] of that timer.
    pub fn new(cpus: &CpuList, tick: Option<Symbol>) -> Self {
        Self { tick, with_switches: false, cpus: cpus.iter().map(|cpu| (cpu, Cpu::default())).collect() }
    }

    /// The same for events with all task switches, or without any: without, a work item's time has in it what its
    /// kworker slept.
    pub fn with_switches(self, with_switches: bool) -> Self {
        Self { with_switches, ..self }
    }

    /// Counts an event. Of [`EventKind::Nmi`] only those may come in which the handler found something to do.
    pub fn take(&mut self, event: &Event) {
        if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
            match &event.kind {
                EventKind::WorkStart { work, function } => {
                    cpu.work_begins(event, *work, function, self.with_switches);
                }
                kind => cpu.take(event.ts, kind, self.tick.as_ref()),
            }
        }
    }

    /// Records that events of a CPU are missing between those before and those that come. The duration of anything
    /// that had begun then is not known.
    pub fn gap(&mut self, cpu: u32) {
        if let Some(cpu) = self.cpus.get_mut(&cpu) {
            cpu.gap();
        }
    }

    /// Counts the turns of threads under their names. Whose they are is known to `thread` by their numbers, as long as
    /// these are not given again: this wants to be called often.
    pub fn settle(&mut self, thread: impl Fn(u32) -> Thread) {
        self.cpus.values_mut().for_each(|cpu| cpu.settle(&thread));
    }

    /// Counts of the turns that last what they took up to `now`, ns. So a turn that goes on has in each window what it
    /// took of it.
    pub fn lasts(&mut self, now: u64) {
        self.cpus.values_mut().for_each(|cpu| cpu.lasts(now));
    }

    /// Notes that a task ran on a CPU when counting began, and not the idle task.
    pub fn busy(&mut self, cpu: u32) {
        if let Some(cpu) = self.cpus.get_mut(&cpu) {
            cpu.busy = true;
        }
    }

    /// The CPUs on which no task switch was seen.
    pub fn unseen(&self) -> Vec<u32> {
        self.cpus.iter().filter(|(_, state)| state.task.is_none()).map(|(cpu, _)| *cpu).collect()
    }

    /// Notes the thread that has run on a busy CPU as long as no switch was seen, before [`Tally::lasts`].
    pub fn runs(&mut self, cpu: u32, thread: u32, comm: Symbol) {
        // What was lost may have been a switch.
        if let Some(cpu) = self.cpus.get_mut(&cpu).filter(|cpu| cpu.busy) {
            cpu.runs = Some((thread, comm));
        }
    }

    /// The counts since the previous call, by CPU. Time slices that were not settled come the next time.
    pub fn read(&mut self) -> BTreeMap<u32, BTreeMap<Key, Count>> {
        self.cpus.iter_mut().map(|(cpu, state)| (*cpu, state.read())).collect()
    }
}

/// The subject of a count.
#[derive(Clone, PartialEq, Eq, Hash)]
enum What {
    /// This.
    Key(Key),
    /// A device by the number of its interrupt.
    Device(u32),
}

/// A place of the table.
#[derive(Default)]
struct Place {
    count: Count,
    /// The first name of a device: a line that devices share is named after the first of them.
    name: Option<Symbol>,
}

/// The counts of one CPU, without the time slices of threads.
#[derive(Default)]
struct Table {
    places: Vec<Place>,
    by_what: HashMap<What, usize>,
}

/// The number of places in a CPU's table, in addition to those of [`Key::Unnamed`].
const MOST: usize = 1 << 14;

/// The longest name that the kernel's table has room for, in bytes.
const NAME: usize = dyntick_bpf::layout::NAME - 1;

impl Table {
    /// Returns the place of a count.
    fn place(&mut self, what: What) -> usize {
        if let Some(place) = self.by_what.get(&what) {
            return *place;
        }
        let what = if self.by_what.len() < MOST { what } else { what.unnamed() };
        let new = self.places.len();
        let place = *self.by_what.entry(what).or_insert(new);
        if place == new {
            self.places.push(Place::default());
        }
        place
    }

    /// Takes the counts out.
    fn read(&mut self) -> BTreeMap<Key, Count> {
        let mut counts: BTreeMap<Key, Count> = BTreeMap::new();
        for (what, place) in &self.by_what {
            let Place { count, name } = &mut self.places[*place];
            let count = std::mem::take(count);
            if count != Count::default() {
                counts.entry(what.key(name.as_ref())).or_default().add(&count);
            }
        }
        counts
    }
}

impl What {
    fn key(&self, name: Option<&Symbol>) -> Key {
        match *self {
            What::Key(ref key) => key.clone(),
            What::Device(irq) => Key::Device { irq, name: name.map(shortened).unwrap_or_default() },
        }
    }

    /// Returns the subject that is counted instead if the table is full.
    fn unnamed(self) -> Self {
        What::Key(self.key(None).without_name())
    }
}

fn shortened(name: &Symbol) -> Symbol {
    if name.len() <= NAME { name.clone() } else { String::from_utf8_lossy(&name.as_bytes()[..NAME]).into() }
}

/// Something that has begun and not ended.
#[derive(Clone, Copy)]
struct Open {
    place: usize,
    /// The timer or work item.
    what: u64,
    since: Since,
}

/// A time slice that has begun and not ended; of the idle task, 0.
#[derive(Clone)]
struct Turn {
    thread: u32,
    comm: Symbol,
    since: Since,
    /// The part of it that was read while it lasted, ns.
    read_ns: u64,
}

/// A moment on one CPU, from which the time without interrupts is reckoned.
#[derive(Clone, Copy)]
struct Since {
    ts: u64,
    /// Time in interrupts of this CPU until then, ns.
    stolen: u64,
}

/// The tick's timer expired. Only the next event shows whether the tick was stopped: the timer of one that
/// runs is started again as soon as its function returns, by what called it, with interrupts off. The
/// function returns HRTIMER_NORESTART while the tick is stopped (`tick_nohz_handler` in
/// `kernel/time/tick-sched.c` and `__run_hrtimer` in `kernel/time/hrtimer.c`, 6.1 to 6.18).
#[derive(Clone, Copy)]
struct Tick {
    timer: u64,
    since: Since,
    /// Its duration, when it has ended.
    ns: Option<u64>,
}

/// The state of one CPU and its counts.
#[derive(Default)]
struct Cpu {
    table: Table,
    /// Total time in interrupts and softirqs, ns.
    stolen: u64,
    /// The number of hrtimers that expired in this interrupt.
    hrtimers: u64,
    interrupt: Option<Open>,
    device: Option<Open>,
    call: Option<Open>,
    /// The hrtimers that are expiring: one of an interrupt may expire while one of a softirq does.
    hrtimer: [Option<Open>; 2],
    tick: Option<Tick>,
    timer: Option<Open>,
    task: Option<Turn>,
    /// The time from which each task switch is seen, if there was none yet.
    unseen: Option<Since>,
    /// True if a task ran when counting began, and not the idle task.
    busy: bool,
    /// The thread, if it is known.
    runs: Option<(u32, Symbol)>,
    /// The time slices of threads that are not settled, by number and name.
    turns: HashMap<(u32, Symbol), Count>,
    /// The settled ones.
    programs: BTreeMap<Key, Count>,
    work: Option<Work>,
    /// Work items whose kworkers were switched out, by the kworker.
    paused: HashMap<u32, Work>,
    softirq: [Option<Open>; Softirq::COUNT],
}

/// None for a source that is not counted.
fn counted(source: Interrupt) -> Option<Interrupt> {
    Some(source).filter(|source| *source != Interrupt::Other)
}

impl Cpu {
    fn take(&mut self, ts: u64, kind: &EventKind, tick: Option<&Symbol>) {
        use EventKind::*;
        self.settle_tick(kind);
        match kind {
            InterruptEntry { source } => {
                let Some(source) = counted(*source) else { return };
                self.hrtimers = 0;
                self.interrupt = self.begin(ts, What::Key(Key::Interrupt { source }), 0);
            }
            InterruptExit { source } => self.interrupt_ends(ts, counted(*source)),
            IrqEntry { irq, name } => {
                self.device = self.begin(ts, What::Device(*irq), 0);
                if let Some(open) = self.device {
                    self.table.places[open.place].name.get_or_insert_with(|| name.clone());
                }
            }
            IrqExit { .. } => {
                let open = self.device.take();
                self.stolen += self.end(ts, open);
            }
            SoftirqEntry { softirq } => {
                let key = Key::Softirq { softirq: *softirq };
                self.softirq[*softirq as usize] = self.begin(ts, What::Key(key), 0);
            }
            SoftirqExit { softirq } => {
                let open = self.softirq[*softirq as usize].take();
                self.stolen += self.end(ts, open);
            }
            HrtimerEntry { timer, function, .. } => self.hrtimer_begins(ts, *timer, function, tick),
            HrtimerExit { timer } => self.hrtimer_ends(ts, *timer),
            TimerEntry { timer, function } => {
                let key = Key::Timer { function: function.clone() };
                self.timer = self.begin(ts, What::Key(key), *timer);
            }
            TimerExit { .. } => {
                let open = self.timer.take();
                self.end(ts, open);
            }
            // A task that has every CPU run it runs it here itself: no interruption.
            CsdEntry { .. } if self.interrupt.is_none() => {}
            CsdEntry { function } => {
                let key = Key::Called { function: function.clone() };
                self.call = self.begin(ts, What::Key(key), 0);
            }
            CsdExit { .. } => {
                let open = self.call.take();
                self.end(ts, open);
            }
            WorkEnd { work } => self.work_ends(ts, *work),
            SchedSwitch { prev, prev_comm, next, next_comm, .. } => {
                self.pause_work(ts, *prev as u32, prev_comm);
                self.ensure_turn(*prev as u32, prev_comm);
                self.turn_begins(ts, *next as u32, next_comm);
                self.resume_work(ts, *next as u32);
            }
            // One that does not run here is called by its name when its next turn begins.
            TaskRename { pid, comm } if self.task.as_ref().is_some_and(|turn| turn.thread == *pid as u32) => {
                self.turn_begins(ts, *pid as u32, comm);
            }
            PageFault { user, .. } => self.count(Key::PageFault { user: *user }, None),
            Nmi { handler, duration_ns } => {
                self.count(Key::Nmi { function: handler.clone() }, Some(*duration_ns));
                self.stolen += duration_ns;
            }
            TickStop { success: true, .. } => self.count(Key::TickStopped, None),
            TickStop { success: false, dependency } => {
                self.count(Key::TickKept { dependency: *dependency }, None);
            }
            _ => {}
        }
    }

    /// A turn of this thread ends. Where another one's is open, the switch to this thread was not recorded, as some
    /// kernels of virtual machines do not when a CPU leaves idle: neither the end of that turn nor the begin of this
    /// one is known.
    ///
    /// The first that is seen of a task at all is in a turn that nothing else came before, unless the CPU was idle and
    /// another task is seen.
    fn ensure_turn(&mut self, thread: u32, comm: &Symbol) {
        let is_known = (thread == 0 || self.busy) && self.task.is_none();
        if let Some(since) = self.unseen.take().filter(|_| is_known) {
            self.task = Some(Turn { thread, comm: comm.clone(), since, read_ns: 0 });
            self.turns_of(thread, comm).count += 1;
        }
        if self.task.as_ref().is_some_and(|turn| turn.thread != thread) {
            self.task = None;
            self.turns_of(thread, comm).count += 1;
        }
    }

    fn turn_begins(&mut self, ts: u64, thread: u32, comm: &Symbol) {
        self.turn_ends(ts);
        self.task = Some(Turn { thread, comm: comm.clone(), since: self.now(ts), read_ns: 0 });
        self.turns_of(thread, comm).count += 1;
    }

    fn turn_ends(&mut self, ts: u64) {
        if let Some(turn) = self.task.take() {
            let ns = self.passed(ts, turn.since);
            let turns = self.turns_of(turn.thread, &turn.comm);
            turns.took(ns);
            turns.ns -= turn.read_ns.min(ns);
        }
    }

    /// Returns the place where a thread's time slices are counted.
    fn turns_of(&mut self, thread: u32, comm: &Symbol) -> &mut Count {
        match thread {
            0 => {
                let idle = self.table.place(What::Key(Key::Idle));
                &mut self.table.places[idle].count
            }
            _ => self.turns.entry((thread, comm.clone())).or_default(),
        }
    }

    fn settle(&mut self, thread: &impl Fn(u32) -> Thread) {
        for ((number, comm), count) in self.turns.drain() {
            self.programs.entry(thread(number).turns(Some(shortened(&comm)))).or_default().add(&count);
        }
        fold(&mut self.programs, MOST_PROGRAMS);
    }

    fn read(&mut self) -> BTreeMap<Key, Count> {
        let mut counts = self.table.read();
        counts.append(&mut self.programs);
        counts
    }

    fn lasts(&mut self, now: u64) {
        self.work_lasts(now);
        let Some(turn) = self.task.take() else {
            let since = self.unseen.replace(self.now(now));
            if let Some((since, (thread, comm))) = since.zip(self.runs.clone()) {
                // It is counted as soon as it ends.
                self.turns_of(thread, &comm).ns += self.passed(now, since);
            }
            return;
        };
        let lasts = self.passed(now, turn.since).max(turn.read_ns);
        if lasts > turn.read_ns {
            self.turns_of(turn.thread, &turn.comm).ns += lasts - turn.read_ns;
        }
        self.task = Some(Turn { read_ns: lasts, ..turn });
    }

    fn interrupt_ends(&mut self, ts: u64, source: Option<Interrupt>) {
        let open = self.interrupt.take();
        let ns = self.end(ts, open);
        self.stolen += ns;
        if source == Some(Interrupt::Timer) && ns > 0 && self.hrtimers == 0 {
            self.count(Key::EmptyTimer, Some(ns));
        }
    }

    fn hrtimer_begins(&mut self, ts: u64, timer: u64, function: &Symbol, tick: Option<&Symbol>) {
        self.hrtimers += 1;
        if tick == Some(function) {
            self.count_tick(false);
            self.tick = Some(Tick { timer, since: self.now(ts), ns: None });
            return;
        }
        let key = Key::Hrtimer { function: function.clone() };
        let within = usize::from(self.hrtimer[0].is_some());
        self.hrtimer[within] = self.begin(ts, What::Key(key), timer);
    }

    fn hrtimer_ends(&mut self, ts: u64, timer: u64) {
        if let Some(tick) = self.tick.filter(|tick| tick.timer == timer) {
            self.tick = Some(Tick { ns: Some(self.passed(ts, tick.since)), ..tick });
            return;
        }
        let mut open = self.hrtimer.iter_mut();
        let open = open.find(|open| open.is_some_and(|open| open.what == timer)).and_then(Option::take);
        self.end(ts, open);
    }

    /// Counts a tick that has ended, by the event that comes next. A non-maskable interrupt may come between.
    fn settle_tick(&mut self, next: &EventKind) {
        let Some(Tick { timer, ns: Some(_), .. }) = self.tick else { return };
        match next {
            EventKind::Nmi { .. } => {}
            EventKind::HrtimerStart { timer: started, .. } => self.count_tick(*started != timer),
            _ => self.count_tick(true),
        }
    }

    fn count_tick(&mut self, stopped: bool) {
        if let Some(tick) = self.tick.take() {
            self.count(Key::Tick { stopped }, tick.ns);
        }
    }

    /// Counts a tick as not stopped if the event after it is missing: it is not known whether it was stopped, and most
    /// are not.
    fn gap(&mut self) {
        self.count_tick(false);
        let Cpu { table, turns, programs, stolen, .. } = std::mem::take(self);
        *self = Cpu { table, turns, programs, stolen, ..Cpu::default() };
    }

    fn now(&self, ts: u64) -> Since {
        Since { ts, stolen: self.stolen }
    }

    /// The time since then without the interrupts within.
    fn passed(&self, ts: u64, since: Since) -> u64 {
        ts.saturating_sub(since.ts).saturating_sub(self.stolen - since.stolen)
    }

    fn begin(&mut self, ts: u64, what: What, id: u64) -> Option<Open> {
        let place = self.table.place(what);
        self.table.places[place].count.count += 1;
        Some(Open { place, what: id, since: self.now(ts) })
    }

    /// Ends what was begun and returns how long it took; 0 where its begin was not seen.
    fn end(&mut self, ts: u64, open: Option<Open>) -> u64 {
        let Some(open) = open else { return 0 };
        let ns = self.passed(ts, open.since);
        self.table.places[open.place].count.took(ns);
        ns
    }

    fn count(&mut self, key: Key, ns: Option<u64>) {
        let place = self.table.place(What::Key(key));
        let count = &mut self.table.places[place].count;
        count.count += 1;
        ns.into_iter().for_each(|ns| count.took(ns));
    }
}

mod work;
use work::Work;

#[cfg(test)]
mod tests;
