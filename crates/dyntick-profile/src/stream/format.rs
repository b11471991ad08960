// SPDX-License-Identifier: GPL-2.0-only
//! The words of the stream. The plugin compiles this file too, so writer and reader cannot differ.
//!
//! A stream begins with [`MAGIC`] and [`VERSION`] (u32, little endian). Records follow, made of
//! LEB128 numbers. A record whose first number is even executes block `number / 2` on the current
//! CPU; an odd one is the control word `number / 2`, with the numbers named at each.

/// The first eight bytes.
pub const MAGIC: [u8; 8] = *b"dyntprof";

/// The version that this program writes and reads.
pub const VERSION: u32 = 1;

/// A block seen for the first time: address as zigzag difference to the block defined before,
/// number of instructions. It takes the next number, from 0, and is executed.
pub const DEFINE: u64 = 0;
/// The number of the CPU that executes what follows.
pub const CPU: u64 = 1;
/// The block before is executed again, so often.
pub const REPEAT: u64 = 2;
/// Recording begins.
pub const ON: u64 = 3;
/// Recording ends: instructions that were recorded since the stream began, all CPUs.
pub const OFF: u64 = 4;
/// The guest marked this place: a number of its choice.
pub const MARK: u64 = 5;
/// The kernel is about to switch tasks: address of the task that leaves, and of the one that comes.
pub const SWITCH: u64 = 6;
/// An exception's handler begins with the next block: address of the instruction to return to.
pub const EXCEPTION: u64 = 7;
/// The last instruction on this CPU did not complete: it faulted or will be executed again.
pub const UNDONE: u64 = 8;
/// The stream reached its limit and ends here though the guest went on.
pub const LIMIT: u64 = 9;

/// Maps small numbers of either sign to small numbers.
pub fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}
