// SPDX-License-Identifier: GPL-2.0-only
//! The check of this machine: the things that it can and cannot run, and the command that fixes each lack.

use crate::image::{find_tool, packages};
use crate::qemu::{Qemu, QemuError, provide};
use dyntick_kernels::apt::{Apt, AptError};
use dyntick_kernels::build;
use dyntick_kernels::cache::{Cache, free_bytes, is_noexec};
use dyntick_kernels::find::{Entry, State as Where, at_hand, catalog};
use dyntick_system::confine::{NoWalls, Walls};
use schemars::JsonSchema;
use serde::Serialize;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// The thing.
    pub what: String,
    /// The state.
    pub state: State,
    /// The result.
    pub detail: String,
    /// The command that fixes it, or what is lost without it.
    pub fix: Option<String>,
}

/// The state of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The thing is as it should be.
    Ok,
    /// Something can be done less well, or not at all, but studies in virtual time run.
    Limited,
    /// No study can run.
    Missing,
}

/// Tools that the studies which come with dyntick use, and `lab shell`.
const TOOLS: [&str; 7] = ["sqlite3", "cyclictest", "stress-ng", "fio", "qperf", "busybox", "mke2fs"];

/// A kernel is unpacked in this much (Debian's, with its modules), QEMU in half of it.
const SPACE_MIB: u64 = 2048;
/// A guest's memory, and as much again for QEMU.
const MEMORY_MIB: u64 = 1024;

/// The note on things that are fetched from the network when they are first needed.
const FETCH: &str = "the first study fetches it, or `dyntick lab doctor --fetch` does now";

/// Looks at everything but KVM, and fetches nothing.
pub fn look(cache: &Cache) -> Vec<Check> {
    let apt = Apt::known(cache);
    let found = provide::at_hand(cache);
    let confined = confined(found.as_ref().is_ok_and(Qemu::has_seccomp), Walls::new().err());
    let can_fetch = apt.is_ok();
    let local = at_hand(cache);
    let kernels = match (local.len(), can_fetch) {
        (0, true) => check("kernels", State::Limited, "none is here", Some(FETCH)),
        (0, false) => kernels(local),
        (count, _) => check("kernels", State::Ok, format!("{count} local; see `dyntick lab kernels`"), None),
    };
    let qemu = match found {
        // What would be fetched could not be started.
        Err(_) if is_noexec(cache.root()) => qemu(Err(QemuError::NoExec(cache.root().to_owned()))),
        found => qemu_known(found, can_fetch),
    };
    let first = [packages_known(apt), qemu, confined, kernels];
    first.into_iter().chain(of_machine(cache)).collect()
}

/// The same with what is missing fetched, as a first study does it.
pub fn fetch(cache: &Cache, progress: &dyn Fn(&str)) -> Vec<Check> {
    let found = provide::find(cache, progress);
    let confined = confined(found.as_ref().is_ok_and(Qemu::has_seccomp), Walls::new().err());
    let kernels = kernels(catalog(cache, progress).0);
    let first = [packages(cache, progress), qemu(found), confined, kernels];
    first.into_iter().chain(of_machine(cache)).collect()
}

/// The checks that do not need the network.
fn of_machine(cache: &Cache) -> Vec<Check> {
    let mut checks = vec![building(&build::lacks())];
    checks.extend(TOOLS.map(tool));
    checks.push(space(cache));
    checks.push(memory());
    checks
}

fn check(what: &str, state: State, detail: impl Into<String>, fix: Option<&str>) -> Check {
    Check { what: what.to_owned(), state, detail: detail.into(), fix: fix.map(str::to_owned) }
}

fn packages(cache: &Cache, progress: &dyn Fn(&str)) -> Check {
    match Apt::open(cache, progress) {
        Ok(apt) => check(
            "Debian packages",
            State::Ok,
            format!("{}, by a private apt in the cache", apt.release),
            None,
        ),
        Err(error) => check(
            "Debian packages",
            State::Limited,
            error.to_string(),
            Some("without them, give kernels by path"),
        ),
    }
}

fn packages_known(apt: Result<Option<Apt>, AptError>) -> Check {
    let what = "Debian packages";
    match apt {
        Ok(Some(apt)) => {
            check(what, State::Ok, format!("{}, by a private apt in the cache", apt.release), None)
        }
        Ok(None) => check(what, State::Ok, "the index of the mirror is not fetched yet", Some(FETCH)),
        Err(error) => {
            check(what, State::Limited, error.to_string(), Some("without them, give kernels by path"))
        }
    }
}

/// The check of an installed QEMU, as [`qemu`]; `found` is the version of one that cannot be used.
fn qemu_known(found: Result<Qemu, String>, can_fetch: bool) -> Check {
    let what = "QEMU for virtual time";
    match (found, can_fetch) {
        (Ok(found), _) => qemu(Ok(found)),
        (Err(version), true) => check(
            what,
            State::Limited,
            format!("installed: {version}; 10.0 or newer is needed, and one is fetched into the cache"),
            Some(FETCH),
        ),
        (Err(version), false) => {
            check(what, State::Missing, format!("installed: {version}"), Some(INSTALL_QEMU))
        }
    }
}

const INSTALL_QEMU: &str =
    "apt-get install qemu-system-x86 (10.0 or newer: Debian 13, or Debian 12's backports)";

fn qemu(found: Result<Qemu, QemuError>) -> Check {
    match found {
        Ok(qemu) => {
            check("QEMU for virtual time", State::Ok, format!("{}, {}", qemu.version, qemu.source), None)
        }
        Err(error) => check("QEMU for virtual time", State::Missing, error.to_string(), Some(INSTALL_QEMU)),
    }
}

/// The check of the sandbox around QEMU and around builds of untrusted sources.
fn confined(has_seccomp: bool, lack: Option<NoWalls>) -> Check {
    let what = "confinement";
    let seccomp = if has_seccomp { "seccomp" } else { "no seccomp" };
    match lack {
        None => check(what, State::Ok, format!("bubblewrap and, for QEMU, {seccomp}"), None),
        Some(lack) => check(
            what,
            State::Limited,
            format!("for QEMU, {seccomp}; {lack}"),
            Some("without it, only Debian's sources with dyntick's patches and fragments are built"),
        ),
    }
}

/// The kernels that are at hand and those that could be fetched.
fn kernels(entries: Vec<Entry>) -> Check {
    let fetched = entries.iter().filter(|entry| entry.state != Where::Offered).count();
    let by_apt = entries.len() - fetched;
    let (state, fix) = if entries.is_empty() {
        (State::Limited, Some("give kernels by path, or connect this machine to a Debian mirror"))
    } else {
        (State::Ok, None)
    };
    check("kernels", state, format!("{fetched} local, {by_apt} more by apt; see `dyntick lab kernels`"), fix)
}

/// The check of the tools that build kernels.
fn building(lacks: &[(&str, &str)]) -> Check {
    let what = "building kernels";
    if lacks.is_empty() {
        return check(what, State::Ok, "compiler and tools are installed", None);
    }
    let (missing, packages): (Vec<&str>, Vec<&str>) = lacks.iter().copied().unzip();
    let fix = format!("apt-get install {}", packages.join(" "));
    check(what, State::Limited, format!("{} not installed", missing.join(", ")), Some(&fix))
}

fn tool(name: &str) -> Check {
    match find_tool(name) {
        Ok(path) => check(name, State::Ok, path.display().to_string(), None),
        Err(_) => check(
            name,
            State::Limited,
            "not installed; studies that use it do not run",
            Some(&packages::advice(name)),
        ),
    }
}

fn space(cache: &Cache) -> Check {
    let free = free_bytes(cache.root()) >> 20;
    let detail = format!("{free} MiB free for {}", cache.root().display());
    if free >= SPACE_MIB {
        check("disk space", State::Ok, detail, None)
    } else {
        let fix = format!("free {SPACE_MIB} MiB there, or set DYNTICK_CACHE to a folder on another disk");
        check("disk space", State::Limited, detail, Some(&fix))
    }
}

fn memory() -> Check {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match available_mib(&text) {
        None => {
            check("memory", State::Limited, "MemAvailable is not known", Some("mount -t proc proc /proc"))
        }
        Some(mib) if mib < MEMORY_MIB => {
            check("memory", State::Limited, format!("{mib} MiB available"), Some("run with --jobs 1"))
        }
        Some(mib) => check("memory", State::Ok, format!("{mib} MiB available"), None),
    }
}

/// Parses the text of /proc/meminfo, whose figures are in KiB.
fn available_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? >> 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_known_or_said_to_be_unknown() {
        assert_eq!(available_mib("MemTotal: 1 kB\nMemAvailable:   2097152 kB\n"), Some(2048));
        assert_eq!(available_mib(""), None);
        assert_eq!(available_mib("MemAvailable:\n"), None);
    }

    #[test]
    fn loss_without_a_sandbox_is_reported() {
        assert!(confined(true, None).state == State::Ok);
        let lack = NoWalls::NotInstalled { program: "bwrap", package: "bubblewrap" };
        let check = confined(true, Some(lack));
        assert!(
            check.state == State::Limited && check.detail.contains("apt-get install bubblewrap"),
            "{check:?}"
        );
    }

    #[test]
    fn what_is_not_here_is_fetched_by_the_first_study() {
        let message = |can_fetch| qemu_known(Err("7.2.22".into()), can_fetch);
        assert_eq!(message(true).state, State::Limited);
        assert!(message(true).fix.unwrap().contains("lab doctor --fetch"));
        assert_eq!(message(false).state, State::Missing, "nothing can be fetched");
    }

    #[test]
    fn looking_leaves_the_cache_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        look(&Cache::at(folder.path()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn kernels_at_hand_and_on_offer() {
        let entry = |state| Entry {
            spec: String::new(),
            release: String::new(),
            state,
            hz: None,
            no_hz_full: None,
            preempt_rt: None,
            config: Vec::new(),
            patches: Vec::new(),
        };
        let check = kernels(vec![entry(Where::Downloaded), entry(Where::Offered), entry(Where::Offered)]);
        assert!(check.state == State::Ok && check.detail.starts_with("1 local, 2 more by apt"), "{check:?}");
        assert!(kernels(Vec::new()).fix.is_some());
    }
}
