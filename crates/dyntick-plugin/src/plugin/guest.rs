// SPDX-License-Identifier: GPL-2.0-only
//! The guest's registers and memory, and the two numbers that each CPU has for us.

use crate::api;
use std::ffi::{CStr, c_uint};

/// A register that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Name {
    Rax,
    Rsp,
    Rdi,
    Rsi,
}

const NAMES: [(Name, &CStr); 4] =
    [(Name::Rax, c"rax"), (Name::Rsp, c"rsp"), (Name::Rdi, c"rdi"), (Name::Rsi, c"rsi")];

/// For each CPU: whether it is recorded, and the index of the latest instruction that said so.
const ENTRY: usize = 16;

/// The guest, as far as a plugin sees it.
pub struct Guest {
    score: *mut api::Scoreboard,
    buffer: *mut api::Array<u8>,
    registers: [*mut api::Register; NAMES.len()],
}

// SAFETY: QEMU's handles are good in every thread, and the recorder's lock lets one in at a time.
unsafe impl Send for Guest {}

impl Guest {
    /// Reserves what is needed for each CPU.
    pub fn new() -> Self {
        // SAFETY: plain allocations.
        unsafe {
            Self {
                score: api::qemu_plugin_scoreboard_new(ENTRY),
                buffer: api::g_byte_array_new(),
                registers: [std::ptr::null_mut(); NAMES.len()],
            }
        }
    }

    /// Learns the handles of the registers; only possible once there is a CPU.
    pub fn find_registers(&mut self) {
        // SAFETY: the array holds `len` descriptors with static names, and is ours to free.
        unsafe {
            let array = api::qemu_plugin_get_registers();
            let all = std::slice::from_raw_parts((*array).data, (*array).len as usize);
            for (place, (_, name)) in self.registers.iter_mut().zip(NAMES) {
                let found = all.iter().find(|register| CStr::from_ptr(register.name) == name);
                *place = found.map_or(std::ptr::null_mut(), |register| register.handle);
            }
            api::g_array_free(array, 1);
        }
    }

    /// Whether a CPU is recorded.
    pub fn flag(&self) -> api::Field {
        api::Field { score: self.score, offset: 0 }
    }

    /// The index of the latest instruction that could have left its block, or that ended it.
    pub fn progress(&self) -> api::Field {
        api::Field { score: self.score, offset: 8 }
    }

    /// Records all CPUs, or none.
    pub fn set_recording(&self, recording: bool) {
        // SAFETY: these CPUs exist.
        unsafe {
            for cpu in 0..api::qemu_plugin_num_vcpus() {
                api::qemu_plugin_u64_set(self.flag(), cpu as c_uint, recording.into());
            }
        }
    }

    /// How far a CPU's latest block came.
    pub fn reached(&self, cpu: c_uint) -> u64 {
        // SAFETY: the CPU exists.
        unsafe { api::qemu_plugin_u64_get(self.progress(), cpu) }
    }

    /// Tells how far it is, from a callback that comes before the store of its instruction.
    pub fn set_reached(&self, cpu: c_uint, index: u64) {
        // SAFETY: the CPU exists.
        unsafe { api::qemu_plugin_u64_set(self.progress(), cpu, index) }
    }

    /// A register of the CPU whose callback this is.
    pub fn register(&self, name: Name) -> Option<u64> {
        let place = NAMES.iter().position(|(other, _)| *other == name)?;
        let handle = self.registers[place];
        if handle.is_null() {
            return None;
        }
        // SAFETY: the handle is QEMU's own; QEMU makes the array as long as the register.
        unsafe {
            api::g_byte_array_set_size(self.buffer, 0);
            api::qemu_plugin_read_register(handle, self.buffer);
        }
        self.number(0)
    }

    /// The number at an address in the memory of the CPU whose callback this is.
    pub fn memory(&self, address: u64) -> Option<u64> {
        // SAFETY: the array grows as needed.
        let read = unsafe { api::qemu_plugin_read_memory_vaddr(address, self.buffer, 8) };
        if read { self.number(0) } else { None }
    }

    fn number(&self, at: usize) -> Option<u64> {
        // SAFETY: GLib keeps `len` bytes at `data`.
        let bytes = unsafe { std::slice::from_raw_parts((*self.buffer).data, (*self.buffer).len as usize) };
        Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    }
}
