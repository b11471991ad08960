// SPDX-License-Identifier: GPL-2.0-only
//! The names of kernels in a study.

use std::path::PathBuf;
use std::str::FromStr;

/// A kernel as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// `debian:6.12`, `debian:6.12-rt`, `debian:6.12-cloud`: the newest of a series.
    Series {
        /// As `6.12`.
        series: String,
        /// As `rt` or `cloud`; empty for the plain one.
        flavour: String,
    },
    /// `debian:sid`, `debian:sid-rt`, `debian:sid-cloud`: the newest that Debian has (its suite unstable).
    Unstable {
        /// As that of a series.
        flavour: String,
    },
    /// `debian:6.12.117+deb12-amd64`: one exact package.
    Exact(String),
    /// `built:KEY`: one that was built here, by its key or its first [`SHOWN_KEY`] digits.
    Built(String),
    /// `host`: the running machine's.
    Host,
    /// A bzImage or vmlinux.
    Path(PathBuf),
}

/// The name of Debian's suite unstable, which never changes.
pub const UNSTABLE: &str = "sid";

/// Series of kernels that only an older release of Debian has, each with that release's suite.
pub const OLDER: [(&str, &str); 1] = [("5.10", "bullseye")];

/// The older suite that has this series, or this release of a kernel.
pub fn older_suite(release: &str) -> Option<&'static str> {
    let is_of = |series: &str| {
        release.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    OLDER.into_iter().find(|(series, _)| is_of(series)).map(|(_, suite)| suite)
}

/// The number of digits of a built kernel's key that name it. They cannot be guessed: the author of a study may not
/// have kernels that others built.
pub const SHOWN_KEY: usize = 12;

/// A text that names no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a kernel: {hint}", hint = hint(.0))]
pub struct SpecError(pub String);

fn hint(text: &str) -> String {
    if text.starts_with(BUILT) {
        return format!(
            "give {SHOWN_KEY} digits of its key; `dyntick lab kernels` lists what was built here"
        );
    }
    "write debian:6.1, debian:6.12, debian:6.12-rt, debian:6.12-cloud, debian:5.10, debian:sid, built:KEY, host, a path, \
     or the name of one of the study's [kernels]"
        .to_owned()
}

/// The prefix of the names of kernels that were built here.
const BUILT: &str = "built:";

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text == "host" {
            return Ok(Spec::Host);
        }
        if let Some(key) = text.strip_prefix(BUILT).filter(|key| key.len() >= SHOWN_KEY) {
            return Ok(Spec::Built(key.to_owned()));
        }
        if let Some(name) = text.strip_prefix("debian:") {
            return debian(name).ok_or_else(|| SpecError(text.to_owned()));
        }
        if text.contains('/') { Ok(Spec::Path(text.into())) } else { Err(SpecError(text.to_owned())) }
    }
}

fn debian(name: &str) -> Option<Spec> {
    // It becomes a part of paths, and of packages' names.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".+~-".contains(c);
    if name.ends_with("-amd64")
        && name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(is_plain)
    {
        return Some(Spec::Exact(name.to_owned()));
    }
    let (series, flavour) = name.split_once('-').unwrap_or((name, ""));
    let flavour = ["", "rt", "cloud"].into_iter().find(|known| *known == flavour)?.to_owned();
    if series == UNSTABLE {
        return Some(Spec::Unstable { flavour });
    }
    let numbers: Option<Vec<u32>> = series.split('.').map(|n| n.parse().ok()).collect();
    (numbers?.len() == 2).then(|| Spec::Series { series: series.to_owned(), flavour })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_kernels_have_a_suite_of_their_own() {
        let suites = ["5.10", "5.10.0-32-amd64", "5.1", "5.100", "6.1"].map(older_suite);
        assert_eq!(suites, [Some("bullseye"), Some("bullseye"), None, None, None]);
    }

    #[test]
    fn what_users_write() {
        let series =
            |series: &str, flavour: &str| Spec::Series { series: series.into(), flavour: flavour.into() };
        assert_eq!("debian:6.12".parse(), Ok(series("6.12", "")));
        assert_eq!("debian:6.12-rt".parse(), Ok(series("6.12", "rt")));
        assert_eq!("debian:6.12.117+deb12-amd64".parse(), Ok(Spec::Exact("6.12.117+deb12-amd64".into())));
        assert_eq!("built:41591a41591a".parse(), Ok(Spec::Built("41591a41591a".into())));
        assert_eq!("./vmlinuz".parse(), Ok(Spec::Path("./vmlinuz".into())));
        assert_eq!("debian:sid-rt".parse(), Ok(Spec::Unstable { flavour: "rt".into() }));
        assert_eq!("debian:sid".parse(), Ok(Spec::Unstable { flavour: String::new() }));
        for wrong in [
            "debian:6.12-rtt",
            "debian:sid-rtt",
            "debian:sid.1",
            "debian:six",
            "6.12",
            "debian:",
            "built:",
            "built:4",
            "debian:6/../../x-amd64",
        ] {
            assert_eq!(wrong.parse::<Spec>(), Err(SpecError(wrong.into())));
        }
        let short = SpecError("built:009c".into()).to_string();
        assert!(short.contains("give 12 digits of its key"), "{short}");
    }
}
