// SPDX-License-Identifier: GPL-2.0-only
//! All kernels that could be booted here.

use super::debian::{self, Wanted};
use crate::apt::Apt;
use crate::build::LARGEST_CONFIG;
use crate::build::{self, Built};
use crate::cache::Cache;
use dyntick_model::kernel_name::{OLDER, SHOWN_KEY, UNSTABLE};
use dyntick_model::{KernelConfig, Spec};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One line of `dyntick lab kernels`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// Its name in a study.
    pub spec: String,
    /// Its release, where it is known.
    pub release: String,
    /// Its state: installed, downloaded, or offered by apt.
    pub state: State,
    /// Ticks per second.
    pub hz: Option<u32>,
    /// True if it can stop the tick of a busy CPU (CONFIG_NO_HZ_FULL).
    pub no_hz_full: Option<bool>,
    /// True if it is a PREEMPT_RT kernel.
    pub preempt_rt: Option<bool>,
    /// The fragments of its configuration, where it was built here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub config: Vec<String>,
    /// Its patches likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<String>,
}

/// The place of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// In /boot.
    Installed,
    /// In the cache.
    Downloaded,
    /// Built to order, in the cache.
    Built,
    /// apt has it.
    Offered,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            State::Installed => "installed",
            State::Downloaded => "downloaded",
            State::Built => "built",
            State::Offered => "by apt",
        })
    }
}

/// The series that are looked for at the mirror.
const OFFERED: [&str; 4] = ["debian:6.1", "debian:6.12", "debian:6.12-rt", "debian:6.12-cloud"];

/// Lists installed, downloaded and built kernels: what needs no network.
pub fn at_hand(cache: &Cache) -> Vec<Entry> {
    let mut entries = in_folder(Path::new("/boot"), State::Installed, |_, path| path.to_owned());
    for package in debian::unpacked(cache) {
        let spec = format!("debian:{}", package.release);
        entries.extend(in_folder(&package.folder.join("boot"), State::Downloaded, |_, _| spec.clone()));
        // Newer packages have it there (linux-image-7.2).
        let modules = package.folder.join("usr/lib/modules").join(&package.release);
        if modules.join("vmlinuz").is_file() {
            entries.push(of_image(spec, package.release, State::Downloaded, &modules.join("config")));
        }
    }
    entries.extend(build::all(cache).into_iter().map(of_built));
    entries
}

/// Lists installed and downloaded kernels and those that apt offers; the second part says why
/// apt could not be asked, if so.
pub fn catalog(cache: &Cache, progress: &dyn Fn(&str)) -> (Vec<Entry>, Option<String>) {
    let mut entries = at_hand(cache);
    match Apt::open(cache, progress) {
        Ok(apt) => {
            let offered = OFFERED.into_iter().filter_map(|spec| offer(&apt, spec));
            entries.extend(
                offered
                    .map(|(spec, release)| match entries_of(&entries, &release) {
                        Some(known) => Entry { spec, ..known },
                        None => self::offered(spec, release),
                    })
                    .collect::<Vec<_>>(),
            );
            entries.extend(of_older_suites(&entries));
            entries.push(of_unstable(&entries, debian::newest_of_unstable(cache)));
            (entries, None)
        }
        Err(error) => (entries, Some(error.to_string())),
    }
}

/// Series of older suites: those and the suite unstable are asked only for a kernel that is to be run, so of one that
/// is not downloaded the release is not known.
fn of_older_suites(entries: &[Entry]) -> Vec<Entry> {
    let entry = |(series, _): (&str, &str)| {
        let spec = format!("debian:{series}");
        let is_of = |entry: &&Entry| {
            let rest = entry.spec.strip_prefix(&spec).and_then(|rest| rest.strip_prefix('.'));
            entry.state == State::Downloaded
                && rest.is_some_and(|rest| !rest.contains("-rt-") && !rest.contains("-cloud-"))
        };
        // They are in the order of their releases.
        match entries.iter().rfind(is_of) {
            Some(known) => Entry { spec, ..known.clone() },
            None => offered(spec, String::new()),
        }
    };
    OLDER.into_iter().map(entry).collect()
}

/// The suite unstable, with the newest kernel of it that was downloaded.
fn of_unstable(entries: &[Entry], downloaded: Option<String>) -> Entry {
    let spec = format!("debian:{UNSTABLE}");
    match downloaded.and_then(|release| entries_of(entries, &release)) {
        Some(known) => Entry { spec, ..known },
        None => offered(spec, String::new()),
    }
}

fn offered(spec: String, release: String) -> Entry {
    Entry {
        spec,
        release,
        state: State::Offered,
        hz: None,
        no_hz_full: None,
        preempt_rt: None,
        config: Vec::new(),
        patches: Vec::new(),
    }
}

/// The name of a kernel that was built here.
pub(super) fn built_spec(key: &str) -> String {
    format!("built:{}", &key[..SHOWN_KEY.min(key.len())])
}

fn of_built(built: Built) -> Entry {
    let text = dyntick_system::read_regular(&built.config_file(), LARGEST_CONFIG).unwrap_or_default();
    let config = KernelConfig::parse(&String::from_utf8_lossy(&text));
    Entry {
        spec: built_spec(&built.key),
        release: built.release,
        state: State::Built,
        hz: config.hz(),
        no_hz_full: Some(config.is_enabled("NO_HZ_FULL")),
        preempt_rt: Some(config.is_enabled("PREEMPT_RT")),
        config: built.config,
        patches: built.patches,
    }
}

fn entries_of(entries: &[Entry], release: &str) -> Option<Entry> {
    entries.iter().find(|entry| entry.release == release).cloned()
}

fn offer(apt: &Apt, spec: &str) -> Option<(String, String)> {
    let Ok(Spec::Series { series, flavour }) = spec.parse() else { return None };
    let wanted = Wanted { series: Some(&series), flavour: &flavour };
    Some((spec.to_owned(), debian::newest_offered(apt, wanted).ok()??))
}

fn in_folder(folder: &Path, state: State, spec: impl Fn(&str, &str) -> String) -> Vec<Entry> {
    let mut entries: Vec<Entry> = files(folder)
        .iter()
        .filter_map(|path| {
            let release = path.file_name()?.to_str()?.strip_prefix("vmlinuz-")?.to_owned();
            let config = path.with_file_name(format!("config-{release}"));
            Some(of_image(spec(&release, path.to_str()?), release, state, &config))
        })
        .collect();
    entries.sort_by(|a, b| a.release.cmp(&b.release));
    entries
}

/// An entry with the features of its configuration, if that can be read.
fn of_image(spec: String, release: String, state: State, config: &Path) -> Entry {
    let config = std::fs::read_to_string(config).ok().map(|text| KernelConfig::parse(&text));
    let is_enabled = |option: &str| config.as_ref().map(|config| config.is_enabled(option));
    Entry {
        spec,
        release,
        state,
        hz: config.as_ref().and_then(KernelConfig::hz),
        no_hz_full: is_enabled("NO_HZ_FULL"),
        preempt_rt: is_enabled("PREEMPT_RT"),
        config: Vec::new(),
        patches: Vec::new(),
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_of_an_older_suite_is_listed_by_the_name_that_a_study_writes() {
        let [unknown] = &of_older_suites(&[])[..] else { panic!("one older series") };
        assert_eq!((unknown.spec.as_str(), unknown.state), ("debian:5.10", State::Offered));
        let downloaded = |release: &str| Entry {
            state: State::Downloaded,
            ..offered(format!("debian:{release}"), release.into())
        };
        let releases =
            ["5.10.0-30-amd64", "5.10.0-32-amd64", "5.10.0-32-rt-amd64", "5.100.1-1-amd64", "6.1.0-56-amd64"];
        let [known] = &of_older_suites(&releases.map(downloaded))[..] else { panic!("one older series") };
        assert_eq!((known.spec.as_str(), known.release.as_str()), ("debian:5.10", "5.10.0-32-amd64"));
        assert_eq!(known.state, State::Downloaded);
    }

    #[test]
    fn unstable_is_listed_with_the_kernel_that_was_downloaded() {
        let release = "7.2.13+deb14-amd64";
        let known = Entry {
            state: State::Downloaded,
            no_hz_full: Some(true),
            ..offered(format!("debian:{release}"), release.to_owned())
        };
        let listed = of_unstable(&[known], Some(release.to_owned()));
        assert_eq!((listed.spec.as_str(), listed.release.as_str()), ("debian:sid", release));
        assert_eq!((listed.state, listed.no_hz_full), (State::Downloaded, Some(true)));
        assert_eq!(of_unstable(&[], None).state, State::Offered);
    }

    #[test]
    fn image_beside_its_modules_is_listed() {
        let cache = tempfile::tempdir().unwrap();
        let modules =
            cache.path().join("kernels/7.2.13+deb14-amd64_7.2.13-1/usr/lib/modules/7.2.13+deb14-amd64");
        std::fs::create_dir_all(&modules).unwrap();
        std::fs::write(modules.join("vmlinuz"), "x").unwrap();
        std::fs::write(modules.join("config"), "CONFIG_HZ=1000\nCONFIG_NO_HZ_FULL=y\n").unwrap();
        let all = at_hand(&Cache::at(cache.path()));
        let own = all.iter().find(|entry| entry.state == State::Downloaded).unwrap();
        assert_eq!(
            (own.spec.as_str(), own.hz, own.no_hz_full),
            ("debian:7.2.13+deb14-amd64", Some(1000), Some(true))
        );
    }
}
