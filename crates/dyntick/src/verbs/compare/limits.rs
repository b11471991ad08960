// SPDX-License-Identifier: GPL-2.0-only
//! Limits of latencies: times with their unit, since tables show several.

use dyntick_model::units::{Nanos, UnitError};
use std::str::FromStr;

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The limit in ns.
    pub ns: u64,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.parse::<f64>().is_ok() {
            return Err(format!("add the unit, as in {text}us or {text}ns"));
        }
        let Nanos(ns) = text.parse().map_err(|error: UnitError| error.to_string())?;
        Ok(Self { ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_has_a_unit() {
        let ns = |text: &str| text.parse::<Limit>().map(|limit| limit.ns);
        assert_eq!(
            [ns("3us"), ns("1.5 ms"), ns("20ns"), ns("2s")],
            [Ok(3000), Ok(1_500_000), Ok(20), Ok(2_000_000_000)]
        );
        assert_eq!(ns("3"), Err("add the unit, as in 3us or 3ns".to_owned()));
        for wrong in ["us", "3h", "-3us", "1e300s", ""] {
            assert!(ns(wrong).is_err(), "{wrong}");
        }
    }
}
