// SPDX-License-Identifier: GPL-2.0-only
//! Interned values, which are stored once.

use dyntick_model::{Hashing, Map};
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, LazyLock};

/// The number of different values that are remembered. A recording has some hundreds; an untrusted one may have a
/// different one for each interruption.
const MOST: usize = 1 << 16;

/// The values by their hash. Of two with the same hash it has the last one.
pub(crate) struct Interned<T: ?Sized>(Map<u64, Arc<T>>);

impl<T: ?Sized> Default for Interned<T> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<T: ?Sized + Eq + Hash> Interned<T> {
    /// Returns this value, in memory that it shares with equal ones, and its hash.
    pub fn keep<V: AsRef<T> + Into<Arc<T>>>(&mut self, value: V) -> (Arc<T>, u64) {
        let hash = hash_of(value.as_ref());
        if let Some(kept) = self.0.get(&hash).filter(|kept| ***kept == *value.as_ref()) {
            return (kept.clone(), hash);
        }
        if self.0.len() == MOST {
            self.0.clear();
        }
        let kept: Arc<T> = value.into();
        self.0.insert(hash, kept.clone());
        (kept, hash)
    }
}

/// The hash, which is the same for equal values during the life of the process.
pub(crate) fn hash_of<T: ?Sized + Hash>(value: &T) -> u64 {
    static HASHING: LazyLock<Hashing> = LazyLock::new(Hashing::default);
    HASHING.hash_one(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recurring_values_are_stored_once_and_others_are_dropped() {
        let mut numbers = Interned::<[usize]>::default();
        let (first, hash) = numbers.keep(vec![1, 2]);
        let (again, same) = numbers.keep(vec![1, 2]);
        assert!(Arc::ptr_eq(&first, &again) && hash == same);
        (0..2 * MOST).for_each(|number| _ = numbers.keep(vec![number]));
        assert!(numbers.0.len() <= MOST);
        assert_eq!(*first, [1, 2]);
    }

    #[test]
    fn values_with_the_same_hash_stay_distinct() {
        let mut numbers = Interned::<[usize]>::default();
        numbers.0.insert(hash_of(&[1usize, 2][..]), [3, 4].into());
        assert_eq!(*numbers.keep(vec![1, 2]).0, [1, 2]);
    }
}
