// SPDX-License-Identifier: GPL-2.0-only
//! Durations and sizes as people write them.

use std::str::FromStr;

/// A duration, ns: `500us`, `500µs`, `10ms`, `2s`, `1.5s`, `10min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nanos(pub u64);

/// A size, bytes: `512M`, `2G`, `2GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// A text with an unknown unit or no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not {1}")]
pub struct UnitError(String, &'static str);

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        scaled(text, &TIMES)
            .map(Nanos)
            .ok_or_else(|| UnitError(text.into(), "a duration such as 10ms, 2s or 10min"))
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        scaled(text, &SIZES).map(Bytes).ok_or_else(|| UnitError(text.into(), "a size such as 512M or 2G"))
    }
}

/// The units of durations, ns. The micro sign and the Greek letter look alike.
const TIMES: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9)];

/// The units of sizes, bytes.
const SIZES: [(&str, f64); 9] = [
    ("K", KIB),
    ("k", KIB),
    ("KiB", KIB),
    ("M", KIB * KIB),
    ("MiB", KIB * KIB),
    ("G", KIB * KIB * KIB),
    ("GiB", KIB * KIB * KIB),
    ("T", KIB * KIB * KIB * KIB),
    ("TiB", KIB * KIB * KIB * KIB),
];

const KIB: f64 = 1024.0;

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let split = text.find(char::is_alphabetic)?;
    let (number, unit) = text.split_at(split);
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    let value = number.trim().parse::<f64>().ok()? * factor;
    (value >= 0.0 && value < u64::MAX as f64).then_some(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_people_write() {
        assert_eq!("1.5s".parse(), Ok(Nanos(1_500_000_000)));
        for micro in ["50us", "50µs", "50\u{3bc}s"] {
            assert_eq!(micro.parse(), Ok(Nanos(50_000)));
        }
        assert_eq!("10min".parse(), Ok(Nanos(600_000_000_000)));
        assert_eq!("512M".parse(), Ok(Bytes(512 << 20)));
        let sizes = ["3K", "2GiB", "1T"].map(|text| text.parse::<Bytes>().unwrap().0);
        assert_eq!(sizes, [3 << 10, 2 << 30, 1 << 40]);
        for wrong in ["10", "s", "-1s", "5 parsecs", "nans"] {
            assert!(wrong.parse::<Nanos>().is_err(), "{wrong}");
        }
    }
}
