// SPDX-License-Identifier: GPL-2.0-only
//! Spans of one phase, by kind.

use crate::count::Counts;
use crate::symbols::Symbols;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All spans of one phase. Kernel entries, the kernel's own work and user mode together are every
/// instruction that was executed; wake-ups run across them and calls are parts of them, and are counted beside.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Profile {
    /// Instructions in user mode.
    pub user: u64,
    /// Kernel entries and the kernel's own work.
    #[serde(serialize_with = "as_list")]
    pub entries: BTreeMap<Key, Kind>,
    /// Ways from an interrupt on an idle CPU to the first instruction of the user task.
    #[serde(serialize_with = "as_list")]
    pub wake_ups: BTreeMap<Key, Kind>,
    /// Calls of the functions that were asked for, by the function's name with `()`; parts of the entries,
    /// counted beside them.
    #[serde(serialize_with = "as_list")]
    pub calls: BTreeMap<Key, Kind>,
}

/// The identity of a span: its place and its kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Key {
    /// The CPU that it began on.
    pub cpu: u64,
    /// The event, e.g. `__x64_sys_getppid` or `asm_exc_page_fault from user mode`.
    pub kind: String,
}

/// All spans of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Kind {
    /// The instructions of each span, in the order in which they ended.
    pub spans: Vec<u64>,
    /// The instructions in each kernel function itself, all spans together.
    pub functions: BTreeMap<Arc<str>, u64>,
}

/// The spans of one kind, summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sums {
    /// The number of spans.
    pub count: u64,
    /// All their instructions.
    pub instructions: u64,
    /// The instructions in each kernel function itself.
    pub functions: BTreeMap<Arc<str>, u64>,
}

/// Instructions of the spans of one kind.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Summary {
    /// The number of spans.
    pub count: u64,
    /// The shortest.
    pub min: u64,
    /// The middle one; of two the shorter.
    pub median: u64,
    /// The mean.
    pub mean: f64,
    /// The longest.
    pub max: u64,
}

impl Profile {
    pub(crate) fn add(&mut self, key: Key, counts: &Counts, symbols: &Symbols) {
        self.entries.entry(key).or_default().add(counts, symbols);
    }

    pub(crate) fn add_wake_up(&mut self, key: Key, counts: &Counts, symbols: &Symbols) {
        self.wake_ups.entry(key).or_default().add(counts, symbols);
    }

    pub(crate) fn add_call(&mut self, key: Key, counts: &Counts, symbols: &Symbols) {
        self.calls.entry(key).or_default().add(counts, symbols);
    }

    /// Roughly its memory, bytes; the names of functions are the symbols'.
    pub fn held(&self) -> usize {
        const ROW: usize = 128;
        let kinds = self.entries.iter().chain(&self.wake_ups).chain(&self.calls);
        let spans = |kind: &Kind| kind.spans.capacity() * size_of::<u64>();
        let rows = |kind: &Kind| ROW + size_of::<Kind>() + kind.functions.len() * ROW;
        kinds.map(|(key, kind)| key.kind.capacity() + spans(kind) + rows(kind)).sum()
    }

    /// Every instruction of the phase.
    pub fn instructions(&self) -> u64 {
        self.user + self.entries.values().map(Kind::instructions).sum::<u64>()
    }

    /// The spans of each kind on these CPUs together, wake-ups and calls among them.
    pub fn on(&self, wanted: impl Fn(u64) -> bool) -> BTreeMap<String, Kind> {
        let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
        let all = self.entries.iter().chain(&self.wake_ups).chain(&self.calls);
        for (key, kind) in all.filter(|(key, _)| wanted(key.cpu)) {
            kinds.entry(key.kind.clone()).or_default().merge(kind);
        }
        kinds
    }
}

impl Kind {
    fn add(&mut self, counts: &Counts, symbols: &Symbols) {
        self.spans.push(counts.total());
        for (function, instructions) in counts.iter() {
            let name = symbols.name(function);
            match self.functions.get_mut(name) {
                Some(sum) => *sum += instructions,
                None => _ = self.functions.insert(symbols.shared_name(function), instructions),
            }
        }
    }

    fn merge(&mut self, other: &Kind) {
        self.spans.extend(&other.spans);
        for (name, instructions) in &other.functions {
            *self.functions.entry(Arc::clone(name)).or_default() += instructions;
        }
    }

    /// All instructions of all spans.
    pub fn instructions(&self) -> u64 {
        self.spans.iter().sum()
    }

    /// The mean number of instructions per span, of one function or of all.
    pub fn per_span(&self, instructions: u64) -> f64 {
        if self.spans.is_empty() { 0.0 } else { instructions as f64 / self.spans.len() as f64 }
    }

    /// The sums of the spans.
    pub fn sums(&self) -> Sums {
        let (count, functions) = (self.spans.len() as u64, self.functions.clone());
        Sums { count, instructions: self.instructions(), functions }
    }

    /// The spans in five numbers; none where there is no span.
    pub fn summary(&self) -> Option<Summary> {
        let mut sorted = self.spans.clone();
        sorted.sort_unstable();
        Some(Summary {
            count: sorted.len() as u64,
            min: *sorted.first()?,
            median: sorted[(sorted.len() - 1) / 2],
            mean: self.per_span(self.instructions()),
            max: *sorted.last()?,
        })
    }

    /// The functions with their mean instructions a span, the largest first.
    pub fn largest_functions(&self) -> Vec<(&str, f64)> {
        let mut rows: Vec<_> =
            self.functions.iter().map(|(name, sum)| (&**name, self.per_span(*sum))).collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        rows
    }
}

impl Sums {
    /// The mean number of instructions per span.
    pub fn mean(&self) -> f64 {
        self.per_span(self.instructions)
    }

    /// The mean number of these instructions per span.
    pub(crate) fn per_span(&self, instructions: u64) -> f64 {
        if self.count == 0 { 0.0 } else { instructions as f64 / self.count as f64 }
    }
}

/// A map whose keys are no texts, as a list.
fn as_list<S: serde::Serializer>(kinds: &BTreeMap<Key, Kind>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(serde::Serialize)]
    struct Item<'a> {
        #[serde(flatten)]
        key: &'a Key,
        summary: Option<Summary>,
        #[serde(flatten)]
        kind: &'a Kind,
    }
    serializer.collect_seq(kinds.iter().map(|(key, kind)| Item { key, summary: kind.summary(), kind }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_many_kinds_has_one_name_in_memory() {
        let symbols = Symbols::parse("ffffffff81000000 T function\n");
        let mut counts = Counts::default();
        counts.add(Some(0), 3);
        let mut profile = Profile::default();
        for cpu in 0..9 {
            profile.add(Key { cpu, kind: "kind".to_owned() }, &counts, &symbols);
        }
        let places = |kind: &Kind| kind.functions.keys().map(|name| name.as_ptr()).collect::<Vec<_>>();
        let first = places(profile.entries.values().next().unwrap());
        assert_eq!(first.len(), 1);
        assert!(profile.entries.values().all(|kind| places(kind) == first));
        let of_name = |length| {
            let kind = "k".repeat(length);
            Profile { entries: [(Key { cpu: 0, kind }, Kind::default())].into(), ..Profile::default() }.held()
        };
        assert_eq!(of_name(500) - of_name(100), 400, "names of kinds count");
    }
}
