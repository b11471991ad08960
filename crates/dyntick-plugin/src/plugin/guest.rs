// SPDX-License-Identifier: GPL-2.0-only
//! The guest's registers and memory.

use crate::api;
use std::ffi::CStr;

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

/// The guest, as far as a plugin sees it.
pub struct Guest {
    buffer: *mut api::Array<u8>,
    registers: [*mut api::Register; NAMES.len()],
}

// SAFETY: QEMU's handles are good in every thread, and the recorder's lock lets one in at a time.
unsafe impl Send for Guest {}

impl Guest {
    /// A guest whose registers are not known yet.
    pub fn new() -> Self {
        // SAFETY: a plain allocation.
        unsafe { Self { buffer: api::g_byte_array_new(), registers: [std::ptr::null_mut(); NAMES.len()] } }
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
