// SPDX-License-Identifier: GPL-2.0-only
//! A plugin for QEMU (10.0 and later) that writes down every block of instructions that a guest
//! executes, in the order of execution, while a program in the guest wants it.
//!
//! A block can be left early: an instruction faults, or reaches a device, before which QEMU takes
//! the block's count back and executes that one instruction alone, unseen. So each instruction that
//! could do that stores its index as it begins, and so does the last one of every block; the next
//! block to begin finds there how far the one before came. What is then still open, whether the last
//! instruction faulted or completed, is known by the return address of the exception.

#![allow(clippy::missing_safety_doc)]

mod api;
mod cells;
mod guest;
mod harmless;
mod protocol;
mod recorder;
#[path = "../../../dyntick-profile/src/stream"]
mod stream {
    pub mod format;
    pub mod write;
}

use recorder::{Code, Executor, Recorder};
use std::arch::global_asm;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// The version of the interface, which QEMU looks for under this name.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: c_int = api::VERSION;

static RECORDER: OnceLock<Mutex<Recorder>> = OnceLock::new();

/// In virtual time one thread executes all CPUs, so no thread ever waits here.
fn recorder() -> Option<MutexGuard<'static, Recorder>> {
    RECORDER.get().map(|recorder| recorder.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// QEMU calls this first. Arguments: `out=FILE`, `limit=BYTES`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: api::Id,
    info: *const api::Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU gives a valid description and `count` strings.
    let (system, words) = unsafe {
        let words = (0..count as usize).map(|index| CStr::from_ptr(*arguments.add(index)));
        ((*info).system_emulation, words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
    };
    let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
    let (Some(out), Some(limit), true) =
        (value("out="), value("limit=").and_then(|text| text.parse().ok()), system)
    else {
        eprintln!("dyntick-plugin: needs out=FILE,limit=BYTES and full-system emulation");
        return 1;
    };
    let recorder = match Recorder::create(out, limit) {
        Ok(recorder) => recorder,
        Err(error) => {
            eprintln!("dyntick-plugin: cannot write {out}: {error}");
            return 1;
        }
    };
    let _ = RECORDER.set(Mutex::new(recorder));
    // SAFETY: the callbacks are functions of this library, which stays loaded.
    unsafe {
        api::qemu_plugin_register_vcpu_init_cb(id, on_cpu);
        api::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    }
    0
}

extern "C" fn on_cpu(_: api::Id, _: c_uint) {
    if let Some(mut recorder) = recorder() {
        recorder.guest.find_registers();
    }
}

/// Puts the bookkeeping into a new block.
extern "C" fn on_translation(_: api::Id, block: *mut api::Block) {
    let Some(recorder) = recorder() else { return };
    // SAFETY: the block and its instructions are valid during this call. What is given to QEMU as
    // data lives as long as the process: translated code may refer to it at any later time.
    unsafe {
        let count = api::qemu_plugin_tb_n_insns(block);
        let instruction = |index| api::qemu_plugin_tb_get_insn(block, index);
        let addresses = (0..count).map(|index| api::qemu_plugin_insn_vaddr(instruction(index)));
        let code: &'static Code = Box::leak(Box::new(Code::new(addresses)));
        let (flag, progress) = (recorder.cells.recording(), recorder.cells.progress());
        let data = std::ptr::from_ref(code).cast_mut().cast::<c_void>();
        api::qemu_plugin_register_vcpu_tb_exec_cond_cb(
            block,
            entry_of_block,
            api::READS_REGISTERS,
            api::NOT_EQUAL,
            flag,
            0,
            data,
        );
        for index in 0..count {
            let mut bytes = [0; 16];
            let length =
                api::qemu_plugin_insn_data(instruction(index), bytes.as_mut_ptr().cast(), bytes.len());
            let bytes = &bytes[..length.min(bytes.len())];
            if index + 1 == count || !harmless::is_harmless(bytes) {
                api::qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
                    instruction(index),
                    api::STORE,
                    progress,
                    index as u64,
                );
            }
            if let Some(word) = protocol::word(bytes) {
                let place: &'static Place = Box::leak(Box::new(Place { code, index: index as u64, word }));
                api::qemu_plugin_register_vcpu_insn_exec_cb(
                    instruction(index),
                    entry_of_word,
                    api::READS_REGISTERS,
                    std::ptr::from_ref(place).cast_mut().cast(),
                );
            }
        }
    }
}

/// An instruction that speaks to the plugin.
struct Place {
    code: &'static Code,
    index: u64,
    word: u8,
}

// In virtual time QEMU 10.0 passes a callback the CPU that translated the block, which is not always
// the one that executes it. Translated code keeps the executing CPU's state in RBP, in all versions
// (`tcg/i386: TCG_AREG0`); its address names the CPU. The recorder checks that it does.
global_asm!(
    "dyntick_entry_of_block: mov rdx, rbp",
    "jmp {block}",
    "dyntick_entry_of_word: mov rdx, rbp",
    "jmp {word}",
    block = sym on_block,
    word = sym on_word,
);

unsafe extern "C" {
    #[link_name = "dyntick_entry_of_block"]
    fn entry_of_block(cpu: c_uint, data: *mut c_void);
    #[link_name = "dyntick_entry_of_word"]
    fn entry_of_word(cpu: c_uint, data: *mut c_void);
}

/// A block begins, while recording.
extern "C" fn on_block(cell: c_uint, data: *mut c_void, state: usize) {
    // SAFETY: the data is what `on_translation` gave.
    let code = unsafe { &*data.cast::<Code>() };
    if let Some(mut recorder) = recorder() {
        recorder.begin(Executor { cell, state }, code);
    }
}

/// The guest says something, recording or not.
extern "C" fn on_word(cell: c_uint, data: *mut c_void, state: usize) {
    // SAFETY: the data is what `on_translation` gave.
    let place = unsafe { &*data.cast::<Place>() };
    if let Some(mut recorder) = recorder() {
        recorder.hear(Executor { cell, state }, place.code, place.index, place.word);
    }
}
