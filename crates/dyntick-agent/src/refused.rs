// SPDX-License-Identifier: GPL-2.0-only
//! Requests that the guest's kernel refuses: the case asks for a feature that it lacks, and the guest has not failed.

use dyntick_guest::{Archive, pieces};
use std::fmt;

/// The error of a setting, a module or a partition that the kernel refuses.
#[derive(Debug)]
pub struct Refused(String);

impl Refused {
    /// A replacement for an error, which it contains in full.
    pub fn from_error(error: &anyhow::Error) -> anyhow::Error {
        anyhow::Error::new(Self(format!("{error:#}")))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The piece that is sent in place of results.
pub fn only_error(error: &anyhow::Error) -> Archive {
    let name = if error.is::<Refused>() { pieces::REFUSED } else { pieces::ERROR };
    let mut archive = Archive::default();
    archive.insert(name, format!("{error:#}"));
    archive
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[test]
    fn refusals_are_distinguished_from_failures() {
        let cause = anyhow!("no such file").context("the kernel refuses 1 in /proc/sys/x");
        let refused = Err::<(), _>(Refused::from_error(&cause)).context("prepare the task").unwrap_err();
        let sent = only_error(&refused);
        let text = "prepare the task: the kernel refuses 1 in /proc/sys/x: no such file";
        assert_eq!(sent.get(pieces::REFUSED), Some(text.as_bytes()));
        assert!(sent.get(pieces::ERROR).is_none());
        assert!(only_error(&cause).get(pieces::REFUSED).is_none());
    }
}
