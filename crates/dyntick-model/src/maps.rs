// SPDX-License-Identifier: GPL-2.0-only
//! Maps for what is looked up at every event. The standard library's hash, SipHash, takes longer than all else that is
//! done with most events.

use std::collections::{HashMap, HashSet};

/// The hasher of keys, with a seed per process: many keys come from a record, and its author must not know which of
/// them collide.
pub type Hashing = foldhash::fast::RandomState;

/// A map, in no order.
pub type Map<K, V> = HashMap<K, V, Hashing>;

/// A set, in no order.
pub type Set<K> = HashSet<K, Hashing>;
