// SPDX-License-Identifier: GPL-2.0-only
//! The instructions that can never leave their block in the middle.
//!
//! An instruction that touches memory can fault or reach a device, and some others trap. Where one
//! of those begins, the block must note how far it is. All that is not known to be harmless counts
//! as one of those, so that what is missing here costs time and never exactness.

/// Returns true if an instruction of 64-bit code works on registers alone and cannot fault.
pub fn is_harmless(instruction: &[u8]) -> bool {
    if instruction == [0xf3, 0x0f, 0x1e, 0xfa] {
        return true; // endbr64
    }
    match without_prefixes(instruction) {
        [0x0f, opcode, rest @ ..] => two_bytes(*opcode, rest),
        [opcode, rest @ ..] => one_byte(*opcode, rest),
        [] => false,
    }
}

/// Skips the operand size (0x66) and REX (0x40 to 0x4f); all other prefixes stay.
fn without_prefixes(mut instruction: &[u8]) -> &[u8] {
    while let [0x66 | 0x40..=0x4f, rest @ ..] = instruction {
        instruction = rest;
    }
    instruction
}

fn one_byte(opcode: u8, rest: &[u8]) -> bool {
    match opcode {
        // add, or, adc, sbb, and, sub, xor, cmp
        0x00..=0x3f => match opcode & 7 {
            0..=3 => on_registers(rest),
            4 | 5 => true,
            _ => false,
        },
        // nop, sign extension, test and mov of immediates
        0x90 | 0x98 | 0x99 | 0xa8 | 0xa9 | 0xb0..=0xbf => true,
        // lea computes an address and does not use it
        0x8d => !on_registers(rest),
        // movsxd, imul, arithmetic with immediates, test, xchg, mov, shifts
        0x63 | 0x69 | 0x6b | 0x80 | 0x81 | 0x83..=0x8b | 0xc0 | 0xc1 | 0xc6 | 0xc7 | 0xd0..=0xd3 => {
            on_registers(rest)
        }
        // test, not, neg, mul, imul; behind them div and idiv, which trap
        0xf6 | 0xf7 => on_registers(rest) && extension(rest) <= 5,
        // inc, dec; behind them calls, jumps and push
        0xfe | 0xff => on_registers(rest) && extension(rest) <= 1,
        _ => false,
    }
}

fn two_bytes(opcode: u8, rest: &[u8]) -> bool {
    match opcode {
        // nop with an operand that is not used, bswap
        0x1f | 0xc8..=0xcf => true,
        // cmov, setcc, imul, movzx, movsx
        0x40..=0x4f | 0x90..=0x9f | 0xaf | 0xb6 | 0xb7 | 0xbe | 0xbf => on_registers(rest),
        _ => false,
    }
}

/// Returns true if the operand of a ModRM byte is a register.
fn on_registers(rest: &[u8]) -> bool {
    rest.first().is_some_and(|modrm| modrm >> 6 == 3)
}

/// The part of the opcode that is in the ModRM byte.
fn extension(rest: &[u8]) -> u8 {
    rest.first().map_or(0xff, |modrm| (modrm >> 3) & 7)
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn registers_and_immediates_are_harmless() {
        for instruction in [
            &[0x90][..],                              // nop
            &[0x48, 0x89, 0xc3],                      // mov %rax,%rbx
            &[0x31, 0xc0],                            // xor %eax,%eax
            &[0x48, 0x8d, 0x44, 0x24, 0x08],          // lea 8(%rsp),%rax
            &[0x0f, 0x1f, 0x80, 0, 0, 0, 0],          // nopl 0(%rax)
            &[0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], // nopw 0(%rax,%rax)
            &[0x0f, 0xb6, 0xc0],                      // movzbl %al,%eax
            &[0xf3, 0x0f, 0x1e, 0xfa],                // endbr64
            &[0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff],    // cmp $-4096,%rax
        ] {
            assert!(is_harmless(instruction), "{instruction:x?}");
        }
    }

    #[test]
    fn memory_stack_traps_and_the_unknown_are_not() {
        for instruction in [
            &[0x48, 0x8b, 0x03][..],                     // mov (%rbx),%rax
            &[0x55],                                     // push %rbp
            &[0xc3],                                     // ret
            &[0xf7, 0xf1],                               // div %ecx
            &[0xff, 0xe0],                               // jmp *%rax
            &[0xf3, 0x90],                               // pause
            &[0xf3, 0x48, 0xab],                         // rep stos
            &[0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0], // mov %gs:0,%rax
            &[0x0f, 0x01, 0xd0],                         // xgetbv
            &[0x0f, 0x0b],                               // ud2
            &[0x0f, 0x31],                               // rdtsc
            &[0xf4],                                     // hlt
            &[0xfa],                                     // cli
            &[0x64],
            &[],
        ] {
            assert!(!is_harmless(instruction), "{instruction:x?}");
        }
    }
}
