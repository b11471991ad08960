// SPDX-License-Identifier: GPL-2.0-only
//! Requests that the guest's kernel refuses: the case asks for a feature that it lacks, and the guest has not failed.

use dyntick_guest::{Archive, pieces};
use std::fmt;

/// A file of the kernel that does not take its setting; the context of the error from the kernel.
#[derive(Debug)]
pub struct RefusedSetting {
    /// The path of the file.
    pub path: String,
    /// The value, with the name of a similar file if this one does not exist.
    pub message: String,
}

impl fmt::Display for RefusedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A setting, a module or a partition that the kernel refuses.
#[derive(Debug)]
pub struct Refused {
    message: String,
    path: Option<String>,
}

impl Refused {
    /// Replaces an error, with its full message.
    pub fn from_error(error: &anyhow::Error) -> anyhow::Error {
        let path = error.downcast_ref::<RefusedSetting>().map(|setting| setting.path.clone());
        anyhow::Error::new(Self { message: format!("{error:#}"), path })
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

/// The piece that is sent in place of results.
pub fn only_error(error: &anyhow::Error) -> Archive {
    let mut archive = Archive::default();
    let Some(refused) = error.downcast_ref::<Refused>() else {
        archive.insert(pieces::ERROR, format!("{error:#}"));
        return archive;
    };
    archive.insert(pieces::REFUSED, format!("{error:#}"));
    if let Some(path) = &refused.path {
        archive.insert(pieces::REFUSED_PATH, path.clone());
    }
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
        assert!(sent.get(pieces::REFUSED_PATH).is_none());
        let setting = RefusedSetting { path: "/proc/sys/x".into(), message: "no".into() };
        let sent = only_error(&Refused::from_error(&anyhow!("no such file").context(setting)));
        assert_eq!(sent.get(pieces::REFUSED), Some("no: no such file".as_bytes()));
        assert_eq!(sent.get(pieces::REFUSED_PATH), Some("/proc/sys/x".as_bytes()));
    }
}
