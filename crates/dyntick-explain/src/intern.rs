// SPDX-License-Identifier: GPL-2.0-only
//! Values that recur, kept once.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

/// How many different values are remembered. A recording has some hundreds; one that somebody made up may have a
/// different one for each interruption.
const MOST: usize = 1 << 16;

/// Values that recur.
pub(crate) struct Interned<T: ?Sized>(HashSet<Arc<T>>);

impl<T: ?Sized> Default for Interned<T> {
    fn default() -> Self {
        Self(HashSet::new())
    }
}

impl<T: ?Sized + Eq + Hash> Interned<T> {
    /// This value, in memory that it shares with those like it.
    pub fn keep<V: AsRef<T> + Into<Arc<T>>>(&mut self, value: V) -> Arc<T> {
        if let Some(kept) = self.0.get(value.as_ref()) {
            return kept.clone();
        }
        if self.0.len() == MOST {
            self.0.clear();
        }
        let kept: Arc<T> = value.into();
        self.0.insert(kept.clone());
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_recurs_is_kept_once_and_what_does_not_is_given_up() {
        let mut numbers = Interned::<[usize]>::default();
        let first = numbers.keep(vec![1, 2]);
        assert!(Arc::ptr_eq(&first, &numbers.keep(vec![1, 2])));
        (0..2 * MOST).for_each(|number| _ = numbers.keep(vec![number]));
        assert!(numbers.0.len() <= MOST);
        assert_eq!(*first, [1, 2]);
    }
}
