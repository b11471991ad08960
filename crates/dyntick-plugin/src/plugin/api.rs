// SPDX-License-Identifier: GPL-2.0-only
//! The used part of QEMU's plugin interface (`docs/devel/tcg-plugins` of QEMU), and
//! of GLib, whose arrays that interface hands out. QEMU brings both; nothing is linked.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// The version of the interface that is used: the first with all functions below (QEMU 10.0).
pub const VERSION: c_int = 4;

/// The plugin's number.
pub type Id = u64;
/// A block that is being translated.
pub enum Block {}
/// An instruction of it.
pub enum Instruction {}
/// Memory with one entry for each CPU.
pub enum Scoreboard {}
/// A register.
pub enum Register {}

/// A field of a scoreboard's entries.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Field {
    pub score: *mut Scoreboard,
    pub offset: usize,
}

/// The beginning of `qemu_info_t`.
#[repr(C)]
pub struct Info {
    pub target_name: *const c_char,
    pub oldest_version: c_int,
    pub newest_version: c_int,
    pub system_emulation: bool,
}

/// An element of the array of registers.
#[repr(C)]
pub struct RegisterDescriptor {
    pub handle: *mut Register,
    pub name: *const c_char,
    pub feature: *const c_char,
}

/// GLib's `GArray` and `GByteArray`, which begin alike.
#[repr(C)]
pub struct Array<T> {
    pub data: *mut T,
    pub len: c_uint,
}

pub const READS_REGISTERS: c_int = 1;
pub const NOT_EQUAL: c_int = 3;
pub const STORE: c_int = 1;

pub type OnTranslation = extern "C" fn(Id, *mut Block);
pub type OnExecution = unsafe extern "C" fn(c_uint, *mut c_void);
pub type OnCpu = extern "C" fn(Id, c_uint);

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_init_cb(id: Id, call: OnCpu);
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, call: OnTranslation);
    pub fn qemu_plugin_register_vcpu_tb_exec_cond_cb(
        block: *mut Block,
        call: OnExecution,
        flags: c_int,
        condition: c_int,
        field: Field,
        value: u64,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        call: OnExecution,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
        instruction: *mut Instruction,
        operation: c_int,
        field: Field,
        value: u64,
    );
    pub fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    pub fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    pub fn qemu_plugin_insn_data(instruction: *const Instruction, to: *mut c_void, length: usize) -> usize;
    pub fn qemu_plugin_scoreboard_new(size: usize) -> *mut Scoreboard;
    pub fn qemu_plugin_scoreboard_find(score: *mut Scoreboard, cpu: c_uint) -> *mut c_void;
    pub fn qemu_plugin_get_registers() -> *mut Array<RegisterDescriptor>;
    // Its result was the length at first and is only success or failure in later versions, so it
    // is not looked at: the array has the length.
    pub fn qemu_plugin_read_register(register: *mut Register, to: *mut Array<u8>) -> c_int;
    pub fn qemu_plugin_read_memory_vaddr(address: u64, to: *mut Array<u8>, length: usize) -> bool;
    pub fn g_byte_array_new() -> *mut Array<u8>;
    pub fn g_byte_array_set_size(array: *mut Array<u8>, length: c_uint) -> *mut Array<u8>;
    pub fn g_array_free(array: *mut Array<RegisterDescriptor>, data_too: c_int) -> *mut c_char;
}
