// SPDX-License-Identifier: GPL-2.0-only
//! Trace clocks (`kernel/trace/trace.c: trace_clocks`), and the times of pages in ns.

use crate::ImportError;

/// The conversion of a clock's time to ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scale {
    /// The clock counts ns.
    #[default]
    Nanoseconds,
    /// The clock counts cycles: ns = cycles · multiplier / 2^shift, as `cyc2ns` of the kernel computes them.
    Cycles { multiplier: u32, shift: u32 },
}

impl Scale {
    pub fn ns(self, time: u64) -> u64 {
        match self {
            Scale::Nanoseconds => time,
            Scale::Cycles { multiplier, shift } => {
                let product = u128::from(time) * u128::from(multiplier);
                u64::try_from(product >> shift.min(127)).unwrap_or(u64::MAX)
            }
        }
    }
}

/// The name of the clock in use of a `trace_clock` file, which has it in brackets, or of a plain name.
pub(crate) fn current(text: &str) -> &str {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(name, _)| name).trim()
}

/// The conversion for a clock, by its name. `cycles` is the conversion of cycles that a file has.
pub(crate) fn scale(clock: &str, cycles: Option<Scale>) -> Result<Scale, ImportError> {
    match (clock, cycles) {
        ("x86-tsc" | "tsc2nsec", Some(cycles)) => Ok(cycles),
        ("x86-tsc" | "tsc2nsec", None) => Err(ImportError::Unsupported(
            "its trace clock is x86-tsc, and it does not have the frequency: record with -C mono, or with \
             trace-cmd's -C tsc2nsec"
                .to_owned(),
        )),
        ("counter", _) => Err(ImportError::Unsupported(
            "its trace clock is 'counter', which counts events and has no time: record with -C mono"
                .to_owned(),
        )),
        _ => Ok(Scale::Nanoseconds),
    }
}

/// A doubt about times of this clock, in words.
pub(crate) fn doubt(clock: &str) -> Option<String> {
    match clock {
        "uptime" => Some("its trace clock is uptime, which counts ticks: durations are coarse".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_by_name() {
        assert_eq!(current("[local] global counter"), "local");
        assert_eq!(current("local [x86-tsc]\n"), "x86-tsc");
        assert_eq!(current("mono"), "mono");
        let cycles = Scale::Cycles { multiplier: 1 << 20, shift: 22 };
        assert_eq!(scale("x86-tsc", Some(cycles)).unwrap().ns(4_000_000_000_000), 1_000_000_000_000);
        assert_eq!(scale("boot", Some(cycles)).unwrap().ns(7), 7);
        assert!(scale("x86-tsc", None).unwrap_err().to_string().contains("-C mono"));
        assert!(scale("counter", None).unwrap_err().to_string().contains("counts events"));
        assert_eq!(Scale::Cycles { multiplier: u32::MAX, shift: 200 }.ns(u64::MAX), 0);
    }
}
