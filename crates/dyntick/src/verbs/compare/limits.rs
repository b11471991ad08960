// SPDX-License-Identifier: GPL-2.0-only
//! Limits of latencies: times with their unit, since tables show several.

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
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = text[digits.len()..].trim();
        let ns = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "" => return Err(format!("add the unit, as in {text}us or {text}ns")),
            other => return Err(format!("'{other}' is not a unit: write ns, us, ms or s")),
        };
        let number: f64 = digits.parse().map_err(|_| format!("'{digits}' is not a number"))?;
        if (0.0..1e9).contains(&(number * ns / 1e9)) {
            Ok(Self { ns: (number * ns).round() as u64 })
        } else {
            Err("must be from 0 s to 1e9 s".to_owned())
        }
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
