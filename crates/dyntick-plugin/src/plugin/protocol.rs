// SPDX-License-Identifier: GPL-2.0-only
//! The protocol between a program in the guest and the plugin: no-operations that mean something to
//! the plugin alone, `nopl DISPLACEMENT(%rax)`, with an argument in RAX.
//!
//! On real hardware, and under a QEMU without the plugin, they do nothing.

/// The bytes of such an instruction before its displacement.
pub const OPCODE: [u8; 3] = [0x0f, 0x1f, 0x80];

/// The upper three bytes of the displacement; the lowest is the word.
pub const MAGIC: u32 = 0x6479_6e00;

/// Stop recording.
pub const OFF: u8 = 0;
/// Start recording.
pub const ON: u8 = 1;
/// Write RAX into the stream.
pub const MARK: u8 = 2;
/// RAX is the address at which the kernel switches tasks; the one that leaves is in RDI there,
/// the one that comes in RSI (`arch/x86/entry/entry_64.S: __switch_to_asm`).
pub const WATCH_SWITCH: u8 = 3;
/// RAX is the entry of an exception that pushes no error code.
pub const WATCH_EXCEPTION: u8 = 4;
/// RAX is the entry of an exception that pushes an error code.
pub const WATCH_EXCEPTION_WITH_CODE: u8 = 5;

/// RAX is the entry of an interrupt, after which nothing is executed again.
pub const WATCH_INTERRUPT: u8 = 7;
/// RAX is the kernel's number of the CPU that executes this.
pub const HERE: u8 = 6;

/// The word of an instruction, if it is one of ours.
#[allow(dead_code, reason = "the guest's side sends words and reads none")]
pub fn word(instruction: &[u8]) -> Option<u8> {
    let displacement = instruction.strip_prefix(&OPCODE)?;
    let displacement = u32::from_le_bytes(displacement.try_into().ok()?);
    (displacement & !0xff == MAGIC).then_some(displacement as u8)
}
