// SPDX-License-Identifier: GPL-2.0-only
//! The disk that a case may ask for: how large, and on which clock.

use super::Case;
use dyntick_model::Clock;

const MIB: u64 = 1 << 20;

/// ext4 has a journal from 8 MiB on, which then takes half.
const LEAST: u64 = 16 * MIB;

/// The largest disk of a guest, bytes.
const MOST: u64 = 8 << 30;

/// The parameter that keeps the kernel from its PCI bus, where the disk is.
const PCI_OFF: (&str, &str) = ("pci", "off");

/// Everything that is wrong with the disk of this case, in words with the fix; nothing where it has none.
pub fn problems(case: &Case) -> Vec<String> {
    let Some(bytes) = case.disk else { return Vec::new() };
    let mut problems = Vec::new();
    if !(LEAST..=MOST).contains(&bytes) || bytes % MIB != 0 {
        problems.push(format!(
            "disk: {bytes} bytes are not a valid size; give a multiple of 1M from {}M to {}G, as \"256M\"",
            LEAST / MIB,
            MOST >> 30
        ));
    }
    if case.clock == Clock::Virtual {
        problems.push(
            "disk: its requests complete in real time, which virtual time does not have: set clock = \"wall\", or use \
             modules = [\"null_blk\"], a disk in memory whose requests complete by the guest's own timers"
                .to_owned(),
        );
    }
    let (parameter, off) = PCI_OFF;
    if case.append.get(parameter) == Some(off) {
        problems.push(format!("disk: it is on the PCI bus, so remove {parameter}={off} from append"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::CommandLine;

    fn case(disk: u64) -> Case {
        Case { disk: Some(disk), clock: Clock::Wall, ..Case::new("c", "debian:6.12") }
    }

    #[test]
    fn sizes_that_a_disk_may_have() {
        for right in [LEAST, 256 * MIB, MOST] {
            assert_eq!(problems(&case(right)), [] as [String; 0]);
        }
        for wrong in [0, LEAST - MIB, 256 * MIB + 512, MOST + MIB, u64::MAX] {
            let message = problems(&case(wrong));
            assert!(
                message.len() == 1 && message[0].contains("a multiple of 1M from 16M to 8G"),
                "{message:?}"
            );
        }
        assert_eq!(problems(&Case { disk: None, ..case(0) }), [] as [String; 0]);
    }

    #[test]
    fn virtual_time_has_no_disk_but_null_blk() {
        let message = problems(&Case { clock: Clock::Virtual, ..case(LEAST) });
        assert!(
            message.len() == 1 && message[0].contains("clock = \"wall\"") && message[0].contains("null_blk"),
            "{message:?}"
        );
    }

    #[test]
    fn without_the_bus_there_is_no_disk() {
        let message = problems(&Case { append: CommandLine::parse("quiet pci=off"), ..case(LEAST) });
        assert!(message.len() == 1 && message[0].contains("remove pci=off"), "{message:?}");
        assert_eq!(
            problems(&Case { append: CommandLine::parse("pci=nomsi"), ..case(LEAST) }),
            [] as [String; 0]
        );
    }
}
