// SPDX-License-Identifier: GPL-2.0-only
//! Sets of CPUs in the kernel's cpulist syntax.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The highest CPU number that is accepted; x86 kernels allow 8192 CPUs (`NR_CPUS`).
const MAX_CPU: u32 = 8191;

/// A set of CPUs, written as in `taskset -c` and on the kernel's command line:
/// `0-3,8`, `0-15:2/4` (two of every four), or empty. Prints in canonical form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CpuList(BTreeSet<u32>);

/// Why a cpulist was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuListError {
    /// Not of the form `N`, `N-M` or `N-M:USED/GROUP`.
    #[error("'{0}' is not a CPU, a range such as 1-3, or a pattern such as 0-15:2/4")]
    Syntax(String),
    /// A range that runs backwards.
    #[error("the range '{0}' runs backwards")]
    Backwards(String),
    /// Not a mask as the kernel prints one.
    #[error("'{0}' is not a mask of CPUs such as 0000000c or ff,ffffffff")]
    Mask(String),
    /// A CPU number beyond what any kernel supports.
    #[error("CPU {0} is beyond {MAX_CPU}, the highest that Linux supports")]
    TooHigh(u32),
}

impl CpuList {
    /// The CPUs `0..count`.
    pub fn first(count: u32) -> Self {
        Self((0..count).collect())
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// How many CPUs there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The highest CPU.
    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }

    /// From a mask as the kernel prints it: groups of at most 32 bits in hexadecimal, the highest
    /// first (`lib/bitmap-str.c: bitmap_parse`).
    pub fn from_mask(text: &str) -> Result<Self, CpuListError> {
        let error = || CpuListError::Mask(text.trim().to_owned());
        let mut cpus = BTreeSet::new();
        for (group, digits) in text.trim().rsplit(',').enumerate() {
            let word = u32::from_str_radix(digits, 16).map_err(|_| error())?;
            let first = u32::try_from(group).map_err(|_| error())? * 32;
            cpus.extend((0..32).filter(|bit| (word >> bit) & 1 == 1).map(|bit| first + bit));
        }
        match cpus.last() {
            Some(last) if *last > MAX_CPU => Err(CpuListError::TooHigh(*last)),
            _ => Ok(Self(cpus)),
        }
    }

    /// As a mask that the kernel reads; see [`CpuList::from_mask`].
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
        Self(&self.0 & &other.0)
    }

    /// Whether every CPU of `self` is in `other`.
    pub fn is_subset(&self, other: &CpuList) -> bool {
        self.0.is_subset(&other.0)
    }

    /// The CPUs of either.
    pub fn union(&self, other: &CpuList) -> CpuList {
        Self(&self.0 | &other.0)
    }

    /// The CPUs of `self` that are not in `other`.
    pub fn difference(&self, other: &CpuList) -> CpuList {
        Self(&self.0 - &other.0)
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            cpus.extend(parse_part(part)?);
        }
        Ok(Self(cpus))
    }
}

fn parse_part(part: &str) -> Result<Vec<u32>, CpuListError> {
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
    Ok((from..=to).filter(|cpu| (cpu - from) % group < used).collect())
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().copied().peekable();
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

    proptest! {
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
