// SPDX-License-Identifier: GPL-2.0-only
//! Kernel traces as bytes: from the pages of a trace ring buffer and the formats of its events to [`Event`]s in the
//! order of time. Pure: the pages were taken out of tracefs by another crate, on this machine or on another one.
//!
//! [`Event`]: dyntick_model::Event

mod arch;
mod decode;
pub mod events;
mod families;
mod fields;
mod format;
mod merge;
mod probes;
mod recording;
mod ring;
mod room;
mod scan;
mod symbols;
mod user_stacks;
mod write;

pub use decode::{DecodeError, Decoded, Decoder, Pages};
pub use families::lacking;
pub use format::{Field, Format, FormatError};
pub use merge::{Blocks, Merged, merge};
pub use probes::{
    COMPAT_CALL, COUNTED, FAULT_END, IRQ_WORKS, Probe, QUOTAS, RCU_TASKS_TRACE, RWSEM_WRITE, SENDERS,
    THROTTLED_THREAD, UNTHROTTLED, UPROBE_TRAP, WATCH_POINT,
};
pub use recording::{CpuStats, Metadata, Recording};
pub use ring::{Lost, RingError, for_each as for_each_record, is_behind_a_gap};
pub use room::room_for_events;
pub use scan::{Scanned, Scanner};
pub use symbols::{PADDING, SymbolTable, address_of, addresses_of, resolve};
pub use user_stacks::UserStacks;
pub use write::PageWriter;
