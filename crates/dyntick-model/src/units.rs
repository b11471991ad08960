// SPDX-License-Identifier: GPL-2.0-only
//! Durations and sizes as people write them.

use std::str::FromStr;

/// A duration, ns: `500us`, `10ms`, `2s`, `1.5s`, `10min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nanos(pub u64);

/// A size, bytes: `512M`, `2G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// A text with an unknown unit or no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not {1}")]
pub struct UnitError(String, &'static str);

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9)];
        scaled(text, &UNITS)
            .map(Nanos)
            .ok_or_else(|| UnitError(text.into(), "a duration such as 10ms, 2s or 10min"))
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const UNITS: [(&str, f64); 3] = [("K", 1024.0), ("M", 1048576.0), ("G", 1073741824.0)];
        scaled(text, &UNITS).map(Bytes).ok_or_else(|| UnitError(text.into(), "a size such as 512M or 2G"))
    }
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
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
        assert_eq!("10min".parse(), Ok(Nanos(600_000_000_000)));
        assert_eq!("512M".parse(), Ok(Bytes(512 << 20)));
        for wrong in ["10", "s", "-1s", "5 parsecs", "nans"] {
            assert!(wrong.parse::<Nanos>().is_err(), "{wrong}");
        }
    }
}
