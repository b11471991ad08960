// SPDX-License-Identifier: GPL-2.0-only
//! The programs that time the calls of one function (`programs/calls.c`), and where they leave their counts.

use crate::Aligned;
use crate::layout::OCTAVES;

/// The object file; loaded once for each function.
pub static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/calls.o")));

/// The programs at a function's begin and end by the trampoline of BPF.
pub const FENTRY: &str = "call_entry";
#[allow(missing_docs)]
pub const FEXIT: &str = "call_exit";
/// The same, by probes.
pub const KPROBE: &str = "call_probed";
#[allow(missing_docs)]
pub const KRETPROBE: &str = "call_returned";
/// The map with the counts: an array of [`Calls`], one for each CPU that is counted, which may be mapped into
/// memory. Which one a CPU has is in the global [`crate::ROW_OF_CPU`].
pub const CALLS: &str = "calls";

/// `struct calls`: the calls that ended on one CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// The number of calls that began here.
    pub began: u64,
    /// The number of calls that ended here.
    pub ended: u64,
    /// Total duration of those that ended, ns.
    pub ns: u64,
    /// The shortest, ns; 0 for none.
    pub shortest: u64,
    /// The longest, ns.
    pub longest: u64,
    /// The number of calls that began here while the table of open calls was full.
    pub no_room: u64,
    /// The number of calls that ended here and whose begin was not seen.
    pub unpaired: u64,
    /// The number of calls by duration: slot N counts those of 2^N ns and longer, below twice that.
    pub octaves: [u64; OCTAVES],
}
