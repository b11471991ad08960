// SPDX-License-Identifier: GPL-2.0-only
//! The PAUSE instructions in a kernel's `.init.text` as two-byte NOPs.
//!
//! They are in loops that wait for the clock: `calibrate_APIC_clock` and `lapic_init_clockevent`
//! (arch/x86/kernel/apic/apic.c) and `delay_with_tsc` (io_apic.c). QEMU's emulation leaves its loop of translated code
//! at each PAUSE, which is half of the real time of a boot. A NOP is as many bytes and as many instructions, so virtual
//! time is the same; and the kernel frees `.init.text` before it starts init, so before anything is measured.

use goblin::elf::Elf;
use iced_x86::{Code, Decoder, DecoderOptions};
use std::ops::Range;

/// `xchg %ax,%ax`, as the assembler pads with.
const NOP: [u8; 2] = [0x66, 0x90];

/// Replaces them in an uncompressed x86-64 kernel; returns how many there were.
pub fn replace(kernel: &mut [u8]) -> usize {
    let Some(text) = init_text(kernel) else { return 0 };
    let places = pauses(&kernel[text.clone()]);
    for place in &places {
        kernel[text.start + place..][..NOP.len()].copy_from_slice(&NOP);
    }
    places.len()
}

/// Where the file has the section.
fn init_text(kernel: &[u8]) -> Option<Range<usize>> {
    let elf = Elf::parse(kernel).ok().filter(|elf| elf.is_64)?;
    let named = |name| elf.shdr_strtab.get_at(name) == Some(".init.text");
    let section = elf.section_headers.iter().find(|section| named(section.sh_name))?;
    section.file_range().filter(|range| kernel.get(range.clone()).is_some())
}

/// Offsets of PAUSE among these instructions. The two bytes may also stand inside of another one, so all are decoded.
fn pauses(code: &[u8]) -> Vec<usize> {
    let decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let found = decoder.into_iter().filter(|instruction| instruction.code() == Code::Pause);
    found.map(|instruction| instruction.ip() as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_instructions() {
        // mov $0x90f3,%eax; pause; mov $0x90f390f3,%ecx; rep nop as pause; int3
        let code = b"\xb8\xf3\x90\0\0\xf3\x90\xb9\xf3\x90\xf3\x90\xf3\x90\xcc";
        assert_eq!(pauses(code), [5, 12]);
    }

    #[test]
    fn what_is_no_kernel_stays() {
        for mut other in [b"\x7fELF\xf3\x90".to_vec(), b"\xf3\x90".to_vec(), Vec::new()] {
            let before = other.clone();
            assert_eq!(replace(&mut other), 0);
            assert_eq!(other, before);
        }
    }
}
