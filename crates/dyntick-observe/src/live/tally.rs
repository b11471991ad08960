// SPDX-License-Identifier: GPL-2.0-only
//! From trace events to the counts that the eBPF programs make in the kernel: what `dyntick-bpf`'s `count.c`
//! and `account.h` do, done with a record of the same events. Pure.

use super::{Count, Key, VectorKey};
use dyntick_model::{CpuList, Event, EventKind, Softirq, Symbol};
use std::collections::{BTreeMap, HashMap};

/// Counts of some CPUs. Events of one CPU must come in their order; those of different CPUs may come in any.
pub struct Tally {
    /// The function of the tick's timer, as the events call it.
    tick: Option<Symbol>,
    cpus: BTreeMap<u32, Cpu>,
}

impl Tally {
    /// For these CPUs. `tick` is the function of the tick's timer, as the events call it; where it is not
    /// known, ticks are counted as the hrtimer that they are. With it, the tally must also get each
    /// [`EventKind::HrtimerStart`] of that timer.
    pub fn new(cpus: &CpuList, tick: Option<Symbol>) -> Self {
        Self { tick, cpus: cpus.iter().map(|cpu| (cpu, Cpu::default())).collect() }
    }

    /// Counts an event. Of [`EventKind::Nmi`] only those may come in which the handler found something to do.
    pub fn take(&mut self, event: &Event) {
        if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
            cpu.take(event.ts, &event.kind, self.tick.as_ref());
        }
    }

    /// Tells that events of a CPU are missing between those before and those that come. How long that took
    /// which had begun then is not known.
    pub fn gap(&mut self, cpu: u32) {
        if let Some(cpu) = self.cpus.get_mut(&cpu) {
            cpu.gap();
        }
    }

    /// Begins anew: all counts are 0, and no longest is known. What has begun goes on.
    pub fn forget(&mut self) {
        let places = self.cpus.values_mut().flat_map(|cpu| &mut cpu.table.places);
        places.for_each(|place| place.count = Count::default());
    }

    /// What was counted, by CPU. `is_kernel` tells the threads that are the kernel's.
    pub fn counts(&self, is_kernel: impl Fn(u32) -> bool) -> BTreeMap<u32, BTreeMap<Key, Count>> {
        self.cpus.iter().map(|(cpu, counts)| (*cpu, counts.table.counts(&is_kernel))).collect()
    }
}

/// What is counted in one place.
#[derive(Clone, PartialEq, Eq, Hash)]
enum What {
    /// This.
    Key(Key),
    /// A device by the number of its interrupt.
    Device(u32),
    /// The turns of a thread. Whose it is, is asked when the counts are read.
    Turns(u32),
}

/// A place of the table.
#[derive(Default)]
struct Place {
    count: Count,
    /// What a device or thread was called first, and last.
    names: Option<(Symbol, Symbol)>,
}

impl Place {
    fn is_called(&mut self, name: &Symbol) {
        match &mut self.names {
            Some((_, last)) => *last = name.clone(),
            names => *names = Some((name.clone(), name.clone())),
        }
    }
}

/// What one CPU counted.
#[derive(Default)]
struct Table {
    places: Vec<Place>,
    by_what: HashMap<What, usize>,
}

/// How many places a CPU's table has, beside those of [`Key::Unnamed`]. Threads come and go without end.
const MOST: usize = 1 << 14;

/// A name as in the kernel's table, which has room for so many bytes.
const NAME: usize = dyntick_bpf::layout::NAME - 1;

impl Table {
    /// Where this is counted.
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

    fn rename(&mut self, pid: i32, comm: &Symbol) {
        if let Some(place) = self.by_what.get(&What::Turns(pid as u32)) {
            self.places[*place].is_called(comm);
        }
    }

    fn counts(&self, is_kernel: impl Fn(u32) -> bool) -> BTreeMap<Key, Count> {
        let mut counts: BTreeMap<Key, Count> = BTreeMap::new();
        for (what, place) in &self.by_what {
            let Place { count, names } = &self.places[*place];
            if count.count > 0 {
                let key = what.key(names.clone().unwrap_or_default(), &is_kernel);
                counts.entry(key).or_default().add(count);
            }
        }
        counts
    }
}

impl What {
    /// A line that devices share is called as the first of them. A thread of the kernel keeps its name, or has
    /// a lesser one in the end (`kworker/dying`); a user task has another one when it executes a program.
    fn key(&self, (first, last): (Symbol, Symbol), is_kernel: impl Fn(u32) -> bool) -> Key {
        match *self {
            What::Key(ref key) => key.clone(),
            What::Device(irq) => Key::Device { irq, name: shortened(&first) },
            What::Turns(pid) if is_kernel(pid) => Key::KernelThread { pid, comm: first },
            What::Turns(pid) => Key::Task { pid, comm: last },
        }
    }

    /// What it is counted as where the table is full.
    fn unnamed(self) -> Self {
        let family = self.key(Default::default(), |_| false).family();
        family.map_or(self, |family| What::Key(Key::Unnamed { family }))
    }
}

fn shortened(name: &Symbol) -> Symbol {
    if name.len() <= NAME { name.clone() } else { String::from_utf8_lossy(&name.as_bytes()[..NAME]).into() }
}

/// Something that has begun and not ended.
#[derive(Clone, Copy)]
struct Open {
    place: usize,
    /// Which timer or work item.
    what: u64,
    since: Since,
}

/// A moment on one CPU, from which the time without interrupts is reckoned.
#[derive(Clone, Copy)]
struct Since {
    ts: u64,
    /// Time in interrupts of this CPU until then, ns.
    stolen: u64,
}

/// The tick's timer expired. Only what comes next tells whether the tick was stopped: the timer of one that
/// runs is started again as soon as its function returns, by what called it, with interrupts off. The
/// function returns HRTIMER_NORESTART while the tick is stopped (`tick_nohz_handler` in
/// `kernel/time/tick-sched.c` and `__run_hrtimer` in `kernel/time/hrtimer.c`, 6.1 to 6.18).
#[derive(Clone, Copy)]
struct Tick {
    timer: u64,
    since: Since,
    /// How long it took, when it has ended.
    ns: Option<u64>,
}

/// What goes on on one CPU, and what was counted there.
#[derive(Default)]
struct Cpu {
    table: Table,
    /// Total time in interrupts and softirqs, ns.
    stolen: u64,
    /// How many hrtimers expired in this interrupt.
    hrtimers: u64,
    vector: Option<Open>,
    device: Option<Open>,
    call: Option<Open>,
    /// Those of an interrupt may expire while one of a softirq does.
    hrtimer: [Option<Open>; 2],
    tick: Option<Tick>,
    timer: Option<Open>,
    task: Option<Open>,
    work: Option<Open>,
    softirq: [Option<Open>; Softirq::COUNT],
}

impl Cpu {
    fn take(&mut self, ts: u64, kind: &EventKind, tick: Option<&Symbol>) {
        use EventKind::*;
        self.settle_tick(kind);
        match kind {
            VectorEntry { vector } => {
                let Some(vector) = VectorKey::of(*vector) else { return };
                self.hrtimers = 0;
                self.vector = self.begin(ts, What::Key(Key::Vector { vector }), 0);
            }
            VectorExit { vector } => self.vector_ends(ts, VectorKey::of(*vector)),
            IrqEntry { irq, name } => {
                self.device = self.begin(ts, What::Device(*irq), 0);
                if let Some(open) = self.device {
                    self.table.places[open.place].is_called(name);
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
            HrtimerEntry { timer, function } => self.hrtimer_begins(ts, *timer, function, tick),
            HrtimerExit { timer } => self.hrtimer_ends(ts, *timer),
            TimerEntry { timer, function } => {
                let key = Key::Timer { function: function.clone() };
                self.timer = self.begin(ts, What::Key(key), *timer);
            }
            TimerExit { .. } => {
                let open = self.timer.take();
                self.end(ts, open);
            }
            CsdEntry { function } => {
                let key = Key::Called { function: function.clone() };
                self.call = self.begin(ts, What::Key(key), 0);
            }
            CsdExit { .. } => {
                let open = self.call.take();
                self.end(ts, open);
            }
            WorkStart { work, function } => {
                let key = Key::Work { function: function.clone() };
                self.work = self.begin(ts, What::Key(key), *work);
            }
            WorkEnd { work } if self.work.is_some_and(|open| open.what == *work) => {
                let open = self.work.take();
                self.end(ts, open);
            }
            SchedSwitch { prev, prev_comm, next, next_comm, .. } => {
                let open = self.task.take();
                self.end(ts, open);
                self.table.rename(*prev, prev_comm);
                let what = if *next == 0 { What::Key(Key::Idle) } else { What::Turns(*next as u32) };
                self.task = self.begin(ts, what, 0);
                self.table.rename(*next, next_comm);
            }
            TaskRename { pid, comm } => self.table.rename(*pid, comm),
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

    fn vector_ends(&mut self, ts: u64, vector: Option<VectorKey>) {
        let open = self.vector.take();
        let ns = self.end(ts, open);
        self.stolen += ns;
        if vector == Some(VectorKey::LocalTimer) && ns > 0 && self.hrtimers == 0 {
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

    /// Of a tick that was seen but not what came next, it is not known whether the tick was stopped: most
    /// are not.
    fn gap(&mut self) {
        self.count_tick(false);
        let Cpu { table, stolen, .. } = std::mem::take(self);
        *self = Cpu { table, stolen, ..Cpu::default() };
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

#[cfg(test)]
mod tests;
