// SPDX-License-Identifier: GPL-2.0-only
//! The search for reasons to take a snapshot, during the recording.

use crate::trigger::Trigger;
use dyntick_explain::{Context, Interruption, Stream, Survey, Wakeups};
use dyntick_model::{CpuList, Event, Role};
use dyntick_trace::{Decoder, FormatError, SymbolTable, addresses_of};
use std::collections::BTreeMap;
use std::fs::File;

/// The conditions for a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The delay, ns, after which a thread that was to be woken runs late ([`Wakeups`]).
    pub late_ns: Option<u64>,
    /// The duration, ns, above which an interruption is too long.
    pub interrupted_ns: Option<u64>,
}

impl Conditions {
    /// Returns true if there is a condition.
    pub fn any(&self) -> bool {
        self.late_ns.is_some() || self.interrupted_ns.is_some()
    }
}

/// The maximum number of events that wait for those of other CPUs; beyond it they are taken in their present order.
const MOST_WAITING: usize = 1 << 19;

/// The detector, which reads events as they are recorded.
pub(crate) struct Detector<'a> {
    conditions: Conditions,
    cpus: &'a CpuList,
    decoder: Decoder,
    page_size: usize,
    /// The events that others may still precede.
    events: Vec<Event>,
    stream: Stream<'a>,
    wakeups: Wakeups,
    not_before_ns: u64,
}

impl<'a> Detector<'a> {
    /// Creates a detector for conditions on these CPUs, and for events of `all` in these formats.
    ///
    /// # Errors
    /// An event with an unknown layout.
    pub fn new(
        conditions: Conditions,
        cpus: &'a CpuList,
        all: &CpuList,
        context: &'a Context,
        formats: &BTreeMap<String, String>,
    ) -> Result<Self, FormatError> {
        let starts_recorded = formats.contains_key("timer:hrtimer_start");
        Ok(Self {
            conditions,
            cpus,
            decoder: Decoder::new(formats, SymbolTable::new(&known_functions()))?,
            page_size: rustix::param::page_size(),
            events: Vec::new(),
            stream: Stream::new(context, all, Survey::unneeded(context, starts_recorded)),
            wakeups: Wakeups::of(cpus.clone()),
            not_before_ns: 0,
        })
    }

    /// Ignores reasons before this time, ns of CLOCK_MONOTONIC.
    pub fn not_before(&mut self, ns: u64) {
        self.not_before_ns = ns;
    }

    /// Adds complete pages of a CPU. It ignores the events after damage, which the explanation of the record reports.
    pub fn take(&mut self, cpu: u32, pages: &[u8]) {
        let events = &mut self.events;
        let _ = self.decoder.decode(cpu, pages, self.page_size, |event| events.push(event));
    }

    /// Checks the events up to `complete_ns`, before which no more events will come. Returns the first reason for a
    /// snapshot.
    pub fn look(&mut self, complete_ns: u64) -> Option<Trigger> {
        self.events.sort_by_key(|event| (event.ts, event.cpu));
        let until = if self.events.len() > MOST_WAITING { u64::MAX } else { complete_ns };
        let ready = self.events.partition_point(|event| event.ts <= until);
        let Self { conditions, cpus, stream, wakeups, not_before_ns, .. } = self;
        let mut found = None;
        for event in self.events.drain(..ready) {
            let woken = wakeups.event(&event).filter(|_| event.ts >= *not_before_ns);
            let late = woken.filter(|woken| conditions.late_ns.is_some_and(|ns| woken.latency_ns() > ns));
            found = found.or(late.map(Trigger::late));
            if let Some(limit) = conditions.interrupted_ns {
                stream.event(&event, &mut |one: &Interruption| {
                    let is_long = one.kind.is_interruption() && one.duration_ns > limit;
                    let is_long = is_long && one.start_ns >= *not_before_ns;
                    if found.is_none() && is_long && cpus.contains(one.cpu) {
                        found = Some(Trigger::interrupted(one));
                    }
                });
            }
        }
        found
    }

    /// Returns true if the maximum number of events waits.
    pub fn is_full(&self) -> bool {
        self.events.len() > MOST_WAITING
    }
}

/// The functions by which interruptions are distinguished; empty without permission to see addresses.
fn known_functions() -> BTreeMap<u64, String> {
    let names: Vec<&str> = Role::functions().collect();
    let found = File::open("/proc/kallsyms").and_then(|file| addresses_of(&names, file));
    found.unwrap_or_default().into_iter().map(|(name, address)| (address, name)).collect()
}
