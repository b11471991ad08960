// SPDX-License-Identifier: GPL-2.0-only
//! Whether something happened that a snapshot is to be taken of, found while recording goes on.

use crate::trigger::Trigger;
use dyntick_explain::{Context, Interruption, Stream, Survey, Wakeups};
use dyntick_model::{CpuList, Event, Role};
use dyntick_trace::{Decoder, FormatError, SymbolTable, addresses_of};
use std::collections::BTreeMap;
use std::fs::File;

/// When a snapshot is to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// When a thread runs later than this, ns, after it was to be woken ([`Wakeups`]).
    pub late_ns: Option<u64>,
    /// When an interruption takes longer than this, ns.
    pub interrupted_ns: Option<u64>,
}

impl Conditions {
    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.late_ns.is_some() || self.interrupted_ns.is_some()
    }
}

/// So many events wait at most for those of other CPUs; where there are more they are taken as they are.
const MOST_WAITING: usize = 1 << 19;

/// Looks at events as they are recorded.
pub(crate) struct Detector<'a> {
    conditions: Conditions,
    cpus: &'a CpuList,
    decoder: Decoder,
    page_size: usize,
    /// Events that others may precede.
    events: Vec<Event>,
    stream: Stream<'a>,
    wakeups: Wakeups,
    not_before_ns: u64,
}

impl<'a> Detector<'a> {
    /// For conditions on these CPUs, and events of `all` in these formats.
    ///
    /// # Errors
    /// An event whose layout is not understood.
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

    /// What was before this, ns of CLOCK_MONOTONIC, is no reason.
    pub fn not_before(&mut self, ns: u64) {
        self.not_before_ns = ns;
    }

    /// Takes complete pages of a CPU. What is behind damage is not seen: whoever explains the record will find it.
    pub fn take(&mut self, cpu: u32, pages: &[u8]) {
        let events = &mut self.events;
        let _ = self.decoder.decode(cpu, pages, self.page_size, |event| events.push(event));
    }

    /// Looks at the events up to `complete_ns`, of which there are no more to come. Returns the first reason for a
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

    /// Whether so many events wait that they must be looked at.
    pub fn is_full(&self) -> bool {
        self.events.len() > MOST_WAITING
    }
}

/// The functions by which interruptions are told apart; without a right to see addresses none.
fn known_functions() -> BTreeMap<u64, String> {
    let names: Vec<&str> = Role::functions().collect();
    let found = File::open("/proc/kallsyms").and_then(|file| addresses_of(&names, file));
    found.unwrap_or_default().into_iter().map(|(name, address)| (address, name)).collect()
}
