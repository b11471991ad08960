// SPDX-License-Identifier: GPL-2.0-only
//! The PAUSE instructions in a kernel's `.init.text` as two-byte NOPs.
//!
//! They are in loops that wait for the clock: `calibrate_APIC_clock` and `lapic_init_clockevent`
//! (arch/x86/kernel/apic/apic.c) and `delay_with_tsc` (io_apic.c). QEMU's emulation leaves its loop of translated code
//! at each PAUSE, which is half of the real time of a boot. A NOP is as many bytes and as many instructions, so virtual
//! time is the same; and the kernel frees `.init.text` before it starts init, so before anything is measured.

use crate::elf_tables::ElfTables;
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

/// The place of the section in the file.
fn init_text(kernel: &[u8]) -> Option<Range<usize>> {
    ElfTables::of(kernel).ok()?.section(".init.text").ok()?
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
    use crate::elf_tables::made;

    #[test]
    fn complete_instructions_alone_are_replaced() {
        // mov $0x90f3,%eax; pause; mov $0x90f390f3,%ecx; rep nop as pause; int3
        let code = b"\xb8\xf3\x90\0\0\xf3\x90\xb9\xf3\x90\xf3\x90\xf3\x90\xcc";
        assert_eq!(pauses(code), [5, 12]);
    }

    #[test]
    fn in_the_section_alone() {
        let pause = b"\xf3\x90";
        let mut kernel = made::of_sections(&[(".text", 1, pause), (".init.text", 1, pause)], 0);
        let before = kernel.clone();
        assert_eq!(replace(&mut kernel), 1);
        assert_eq!((&kernel[64..66], &kernel[66..68]), (&pause[..], &NOP[..]));
        assert_eq!((&kernel[..66], &kernel[68..]), (&before[..66], &before[68..]));
    }

    #[test]
    fn other_files_stay_unchanged() {
        for mut other in [b"\x7fELF\xf3\x90".to_vec(), b"\xf3\x90".to_vec(), Vec::new()] {
            let before = other.clone();
            assert_eq!(replace(&mut other), 0);
            assert_eq!(other, before);
        }
    }
}
