// SPDX-License-Identifier: GPL-2.0-only
//! The places of members in structures of the running kernel, by its type information
//! (`Documentation/bpf/btf.rst`), for probes that follow pointers.

/// The type information of the kernel that runs.
const BTF: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;
/// The bytes of a type before what its kind adds, and of a member.
const TYPE: usize = 12;
const MEMBER: usize = 12;

/// The kinds with members.
const STRUCT: u32 = 4;
const UNION: u32 = 5;

/// The place of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// Its first bit.
    pub bit: u32,
    /// The width of a bit field, bits; 0 for other members.
    pub width: u32,
}

/// Type information, read as far as members need it.
pub struct Members {
    types: Vec<u8>,
    names: Vec<u8>,
}

impl Members {
    /// Reads that of the kernel; `None` without CONFIG_DEBUG_INFO_BTF.
    pub fn of_kernel() -> Option<Self> {
        Self::parse(&std::fs::read(BTF).ok()?)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let magic = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        let head = |at: usize| number(bytes, at).map(|number| number as usize);
        let begin = head(4).filter(|_| magic == MAGIC)?;
        let part = |offset: usize, length: usize| {
            let from = begin.checked_add(head(offset)?)?;
            bytes.get(from..from.checked_add(head(length)?)?).map(<[u8]>::to_vec)
        };
        Some(Self { types: part(8, 12)?, names: part(16, 20)? })
    }

    /// The place of a member in a structure, bytes.
    pub fn offset(&self, structure: &str, member: &str) -> Option<u32> {
        self.place(structure, member).map(|place| place.bit / 8)
    }

    /// The place of a member in a structure.
    pub fn place(&self, structure: &str, member: &str) -> Option<Bits> {
        let mut at = 0;
        while let (Some(name), Some(info)) = (number(&self.types, at), number(&self.types, at + 4)) {
            let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            if kind == STRUCT && self.is_called(name, structure) {
                let members = (0..count).map(|number| at + TYPE + number * MEMBER);
                let found = members.into_iter().find_map(|place| {
                    let is_it = self.is_called(number(&self.types, place)?, member);
                    number(&self.types, place + 8).filter(|_| is_it)
                });
                // With the highest bit of `info` the upper byte is the width of a bit field.
                if let Some(bits) = found {
                    let has_widths = info >> 31 == 1;
                    return Some(match has_widths {
                        true => Bits { bit: bits & 0xff_ffff, width: bits >> 24 },
                        false => Bits { bit: bits, width: 0 },
                    });
                }
            }
            at += TYPE + more(kind, count)?;
        }
        None
    }

    fn is_called(&self, place: u32, name: &str) -> bool {
        let rest = self.names.get(place as usize..).and_then(|rest| rest.strip_prefix(name.as_bytes()));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }
}

/// The bytes that a kind adds to a type; `None` for a kind that is not known.
fn more(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // Integer, variable, tag of a declaration.
        1 | 14 | 17 => 4,
        // Array.
        3 => 12,
        STRUCT | UNION => count * MEMBER,
        // Enumeration, parameters of a function.
        6 | 13 => count * 8,
        // Section, enumeration of 64 bits.
        15 | 19 => count * 12,
        // Pointer, forward, typedef, volatile, const, restrict, function, float, tag of a type.
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(words: &[u32], names: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        let types = words.len() as u32 * 4;
        [24, 0, types, types, names.len() as u32].iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(names);
        bytes
    }

    #[test]
    fn members_are_found_by_name() {
        let names = b"\0int\0rq\0clock\0cpu\0";
        let types = [
            1,
            1 << 24,
            4,
            32, // int
            5,
            4 << 24 | 2,
            16,
            8,
            1,
            0,
            14,
            1,
            64, // struct rq { int clock; int cpu; }, cpu at bit 64
        ];
        let members = Members::parse(&made(&types, names)).unwrap();
        assert_eq!(members.offset("rq", "cpu"), Some(8));
        assert_eq!(members.offset("rq", "clock"), Some(0));
        let mut fields = types;
        (fields[5], fields[12]) = (1 << 31 | 4 << 24 | 2, 3 << 24 | 65);
        let members_of_bits = Members::parse(&made(&fields, names)).unwrap();
        assert_eq!(members_of_bits.place("rq", "cpu"), Some(Bits { bit: 65, width: 3 }));
        assert_eq!((members.offset("rq", "clo"), members.offset("r", "cpu")), (None, None));
        assert!(Members::parse(&made(&types, names)[..40]).is_none());
        assert!(Members::parse(b"").is_none());
    }

    #[test]
    fn kernels_own_are_read() {
        if let Some(members) = Members::of_kernel() {
            assert!(members.offset("task_struct", "comm").is_some_and(|place| place > 0));
            assert_eq!(members.offset("task_struct", "no such member"), None);
        }
    }
}
