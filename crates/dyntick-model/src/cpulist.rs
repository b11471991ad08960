// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs in the kernel's cpulist syntax.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The highest CPU number that is accepted; x86 kernels allow 8192 CPUs (`NR_CPUS`).
const MAX_CPU: u32 = 8191;

/// A set of CPUs, written as in `taskset -c` and on the kernel's command line:
/// `0-3,8`, `0-15:2/4` (two of every four), or empty. Prints in canonical form.
///
/// It takes 1 KiB at most: files of strangers have many of them.
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct CpuList {
    /// A bit for each CPU; the last word is not 0.
    words: Vec<u64>,
}

/// The reason why a cpulist was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuListError {
    /// Not of the form `N`, `N-M` or `N-M:USED/GROUP`.
    #[error("'{}' is not a CPU, a range such as 1-3, or a pattern such as 0-15:2/4", .0.escape_debug())]
    Syntax(String),
    /// A range that runs backwards.
    #[error("the range '{}' runs backwards", .0.escape_debug())]
    Backwards(String),
    /// Not a mask as the kernel prints one.
    #[error("'{}' is not a CPU mask such as 0000000c or ff,ffffffff", .0.escape_debug())]
    Mask(String),
    /// A CPU number beyond what any kernel supports.
    #[error("CPU {0} is above {MAX_CPU}, the highest that Linux supports")]
    TooHigh(u32),
}

impl CpuList {
    /// The CPUs `0..count`.
    pub fn first(count: u32) -> Self {
        (0..count).collect()
    }

    /// Returns true if `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|word| (word >> (cpu % 64)) & 1 == 1)
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let words = self.words.iter().zip((0u32..).step_by(64));
        words.flat_map(|(word, first)| {
            (0..64).filter(move |bit| (word >> bit) & 1 == 1).map(move |bit| first + bit)
        })
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The highest CPU.
    pub fn last(&self) -> Option<u32> {
        let word = self.words.last()?;
        Some(self.words.len() as u32 * 64 - 1 - word.leading_zeros())
    }

    /// From a mask as the kernel prints it: groups of at most 32 bits in hexadecimal, the highest
    /// first (`lib/bitmap-str.c: bitmap_parse`).
    pub fn from_mask(text: &str) -> Result<Self, CpuListError> {
        let error = || CpuListError::Mask(text.trim().to_owned());
        let mut cpus = Self::default();
        for (digits, first) in text.trim().rsplit(',').zip((0u32..).step_by(32)) {
            let word = u32::from_str_radix(digits, 16).map_err(|_| error())?;
            if word != 0 && first + 31 - word.leading_zeros() > MAX_CPU {
                return Err(CpuListError::TooHigh(first + 31 - word.leading_zeros()));
            }
            cpus.extend((0..32).filter(|bit| (word >> bit) & 1 == 1).map(|bit| first + bit));
        }
        Ok(cpus)
    }

    /// Returns the mask that the kernel reads; see [`CpuList::from_mask`].
    pub fn to_mask(&self) -> String {
        let mut words = vec![0u32; self.last().map_or(1, |last| last as usize / 32 + 1)];
        for cpu in self.iter() {
            words[cpu as usize / 32] |= 1 << (cpu % 32);
        }
        let words: Vec<String> = words.iter().rev().map(|word| format!("{word:08x}")).collect();
        words.join(",")
    }

    /// The CPUs that are in both.
    pub fn intersection(&self, other: &CpuList) -> CpuList {
        let both = self.words.iter().zip(&other.words).map(|(a, b)| a & b);
        Self { words: both.collect() }.trimmed()
    }

    /// Returns true if every CPU of `self` is in `other`.
    pub fn is_subset(&self, other: &CpuList) -> bool {
        self.difference(other).is_empty()
    }

    /// The CPUs of either.
    pub fn union(&self, other: &CpuList) -> CpuList {
        let (short, long) = if self.words.len() < other.words.len() { (self, other) } else { (other, self) };
        let mut words = long.words.clone();
        words.iter_mut().zip(&short.words).for_each(|(word, more)| *word |= more);
        Self { words }
    }

    /// The CPUs of `self` that are not in `other`.
    pub fn difference(&self, other: &CpuList) -> CpuList {
        let mut words = self.words.clone();
        words.iter_mut().zip(&other.words).for_each(|(word, less)| *word &= !less);
        Self { words }.trimmed()
    }

    fn trimmed(mut self) -> Self {
        let used = self.words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        self.words.truncate(used);
        self
    }
}

impl Extend<u32> for CpuList {
    fn extend<T: IntoIterator<Item = u32>>(&mut self, cpus: T) {
        for cpu in cpus {
            let word = cpu as usize / 64;
            if word >= self.words.len() {
                self.words.resize(word + 1, 0);
            }
            self.words[word] |= 1 << (cpu % 64);
        }
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> Self {
        let mut list = Self::default();
        list.extend(cpus);
        list
    }
}

/// Compares by the lowest CPU in which they differ, like sets of numbers.
impl Ord for CpuList {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl PartialOrd for CpuList {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuList({self})")
    }
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let mut cpus = Self::default();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            cpus.extend(parse_part(part)?);
        }
        Ok(cpus)
    }
}

fn parse_part(part: &str) -> Result<impl Iterator<Item = u32>, CpuListError> {
    let syntax = || CpuListError::Syntax(part.to_owned());
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| syntax());
    let (range, pattern) = match part.split_once(':') {
        Some((range, pattern)) => (range, Some(pattern)),
        None => (part, None),
    };
    let (from, to) = match range.split_once('-') {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(range)?, number(range)?),
    };
    if to < from {
        return Err(CpuListError::Backwards(part.to_owned()));
    }
    if to > MAX_CPU {
        return Err(CpuListError::TooHigh(to));
    }
    let (used, group) = match pattern.map(|p| p.split_once('/').ok_or_else(syntax)).transpose()? {
        Some((used, group)) => (number(used)?, number(group)?),
        None => (1, 1),
    };
    if used == 0 || used > group {
        return Err(syntax());
    }
    Ok((from..=to).filter(move |cpu| (cpu - from) % group < used))
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(from) = cpus.next() {
            let mut to = from;
            while cpus.next_if_eq(&(to + 1)).is_some() {
                to += 1;
            }
            write!(f, "{separator}{from}")?;
            if to > from {
                write!(f, "-{to}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> String {
        list.to_string()
    }
}

impl TryFrom<String> for CpuList {
    type Error = CpuListError;
    fn try_from(text: String) -> Result<Self, CpuListError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> Vec<u32> {
        text.parse::<CpuList>().unwrap().iter().collect()
    }

    #[test]
    fn kernel_syntax() {
        assert_eq!(list("1-3,5"), [1, 2, 3, 5]);
        assert_eq!(list("0-7:2/4"), [0, 1, 4, 5]);
        assert_eq!(list(""), [] as [u32; 0]);
        assert_eq!(list(" 3\n"), [3]);
    }

    #[test]
    fn refusals_name_the_part() {
        let refuse = |text: &str| text.parse::<CpuList>().unwrap_err();
        assert_eq!(refuse("0,3-1"), CpuListError::Backwards("3-1".into()));
        assert_eq!(refuse("0,x"), CpuListError::Syntax("x".into()));
        assert_eq!(refuse("0-4294967295"), CpuListError::TooHigh(u32::MAX));
        assert_eq!(refuse("0-7:3/2"), CpuListError::Syntax("0-7:3/2".into()));
    }

    #[test]
    fn masks_as_the_kernel_prints_them() {
        let cpus = |mask: &str| CpuList::from_mask(mask).unwrap().to_string();
        assert_eq!(cpus("f\n"), "0-3");
        assert_eq!(cpus("80000002,00000001"), "0,33,63");
        assert_eq!(cpus("0"), "");
        assert_eq!(CpuList::from_iter([1]).to_mask(), "00000002");
        assert_eq!(CpuList::from_iter([0, 33, 63]).to_mask(), "80000002,00000001");
        assert_eq!(CpuList::from_mask("0x3"), Err(CpuListError::Mask("0x3".into())));
        assert_eq!(CpuList::from_mask(""), Err(CpuListError::Mask("".into())));
    }

    fn any_cpus() -> impl Strategy<Value = std::collections::BTreeSet<u32>> {
        // Few numbers too, so that two sets have something in common.
        prop_oneof![
            prop::collection::btree_set(0u32..=MAX_CPU, 0..64),
            prop::collection::btree_set(60u32..70, 0..10)
        ]
    }

    proptest! {
        #[test]
        fn is_a_set_of_numbers(a in any_cpus(), b in any_cpus()) {
            let list = |cpus: &std::collections::BTreeSet<u32>| cpus.iter().copied().collect::<CpuList>();
            let (x, y) = (list(&a), list(&b));
            prop_assert!(x.iter().eq(a.iter().copied()));
            prop_assert_eq!((x.len(), x.is_empty(), x.last()), (a.len(), a.is_empty(), a.last().copied()));
            prop_assert!((0..=MAX_CPU + 64).all(|cpu| x.contains(cpu) == a.contains(&cpu)));
            prop_assert_eq!(x.union(&y), list(&(&a | &b)));
            prop_assert_eq!(x.intersection(&y), list(&(&a & &b)));
            prop_assert_eq!(x.difference(&y), list(&(&a - &b)));
            prop_assert_eq!((x.is_subset(&y), x.cmp(&y), x == y), (a.is_subset(&b), a.cmp(&b), a == b));
        }

        #[test]
        fn masks_lose_nothing(cpus in prop::collection::btree_set(0u32..=MAX_CPU, 0..64)) {
            let list: CpuList = cpus.into_iter().collect();
            prop_assert_eq!(CpuList::from_mask(&list.to_mask()).unwrap(), list);
        }

        #[test]
        fn prints_what_it_parses(cpus in prop::collection::btree_set(0u32..=MAX_CPU, 0..64)) {
            let list: CpuList = cpus.into_iter().collect();
            prop_assert_eq!(list.to_string().parse::<CpuList>().unwrap(), list);
        }
    }
}
