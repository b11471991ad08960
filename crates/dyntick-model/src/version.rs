// SPDX-License-Identifier: GPL-2.0-only
//! Kernel versions, as `uname -r` prints them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A kernel version: compares by its numbers, keeps the complete release text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct KernelVersion {
    /// Major, as the 6 of 6.12.95.
    pub major: u32,
    /// Minor, as the 12.
    pub minor: u32,
    /// Point release, as the 95; 0 where the release names none.
    pub point: u32,
    /// The complete text of `uname -r`.
    pub release: String,
}

/// A text that does not begin with a kernel version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{}' does not begin with a kernel version such as 6.12.95", .0.escape_debug())]
pub struct KernelVersionError(String);

impl FromStr for KernelVersion {
    type Err = KernelVersionError;

    fn from_str(release: &str) -> Result<Self, KernelVersionError> {
        let error = || KernelVersionError(release.to_owned());
        let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
        let mut numbers = release[..end].split('.').filter(|n| !n.is_empty()).map(str::parse::<u32>);
        let mut next = || numbers.next().transpose().map_err(|_| error());
        Ok(Self {
            major: next()?.ok_or_else(error)?,
            minor: next()?.ok_or_else(error)?,
            point: next()?.unwrap_or(0),
            release: release.to_owned(),
        })
    }
}

/// The release of a kernel that is not known, e.g. of a trace in a text.
const UNKNOWN: &str = "unknown";

impl KernelVersion {
    /// The version of a kernel that is not known: older than all, so that nothing which newer ones have is claimed.
    pub fn unknown() -> Self {
        Self { major: 0, minor: 0, point: 0, release: UNKNOWN.to_owned() }
    }

    /// Returns true if it is known.
    pub fn is_known(&self) -> bool {
        self.release != UNKNOWN
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.release)
    }
}

impl From<KernelVersion> for String {
    fn from(version: KernelVersion) -> String {
        version.release
    }
}

impl TryFrom<String> for KernelVersion {
    type Error = KernelVersionError;
    fn try_from(text: String) -> Result<Self, KernelVersionError> {
        if text == UNKNOWN { Ok(Self::unknown()) } else { text.parse() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_in_the_wild() {
        let version = |text: &str| {
            let v: KernelVersion = text.parse().unwrap();
            (v.major, v.minor, v.point)
        };
        assert_eq!(version("6.12.95+deb12-amd64"), (6, 12, 95));
        assert_eq!(version("6.1.0-56-amd64"), (6, 1, 0));
        assert_eq!(version("6.18-rc3"), (6, 18, 0));
        assert!("linux".parse::<KernelVersion>().is_err());
        assert!("6".parse::<KernelVersion>().is_err());
        assert!("unknown".parse::<KernelVersion>().is_err());
        let unknown = KernelVersion::try_from(KernelVersion::unknown().to_string()).unwrap();
        assert!(!unknown.is_known() && unknown < "5.10".parse().unwrap());
    }
}
