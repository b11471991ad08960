// SPDX-License-Identifier: GPL-2.0-only
//! What this machine can and cannot run, and the command that mends each lack.

use crate::apt::Apt;
use crate::cache::{Cache, free_bytes};
use crate::image::find_tool;
use crate::qemu::{Qemu, provide};
use serde::Serialize;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What.
    pub what: String,
    /// How it is.
    pub state: State,
    /// What was found.
    pub detail: String,
    /// The command that mends it, or what is lost without it.
    pub mend: Option<String>,
}

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// Something can be done less well, or not at all, but studies in virtual time run.
    Limited,
    /// No study can run.
    Missing,
}

/// Tools that studies use, with their packages.
const TOOLS: [(&str, &str); 4] = [
    ("sqlite3", "sqlite3"),
    ("cyclictest", "rt-tests"),
    ("stress-ng", "stress-ng"),
    ("busybox", "busybox-static"),
];

/// A kernel is unpacked in this much (Debian's, with its modules), QEMU in half of it.
const SPACE_MIB: u64 = 2048;
/// A guest's memory, and as much again for QEMU.
const MEMORY_MIB: u64 = 1024;

/// Looks at everything but KVM, which takes booting a guest.
pub fn examine(cache: &Cache, progress: &dyn Fn(&str)) -> Vec<Check> {
    let mut checks = vec![packages(cache, progress), qemu(provide::find(cache, progress))];
    checks.extend(TOOLS.map(|(name, package)| tool(name, package)));
    checks.push(space(cache));
    checks.push(memory());
    checks
}

fn check(what: &str, state: State, detail: impl Into<String>, mend: Option<&str>) -> Check {
    Check { what: what.to_owned(), state, detail: detail.into(), mend: mend.map(str::to_owned) }
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

fn qemu(found: Result<Qemu, crate::qemu::QemuError>) -> Check {
    match found {
        Ok(qemu) => {
            check("QEMU for virtual time", State::Ok, format!("{}, {}", qemu.version, qemu.source), None)
        }
        Err(error) => check(
            "QEMU for virtual time",
            State::Missing,
            error.to_string(),
            Some("apt-get install qemu-system-x86 (10.0 or newer: Debian 13, or Debian 12's backports)"),
        ),
    }
}

fn tool(name: &str, package: &str) -> Check {
    match find_tool(name) {
        Ok(path) => check(name, State::Ok, path.display().to_string(), None),
        Err(_) => check(
            name,
            State::Limited,
            "not installed; studies that use it do not run",
            Some(&format!("apt-get install {package}")),
        ),
    }
}

fn space(cache: &Cache) -> Check {
    let free = free_bytes(cache.root()) >> 20;
    let detail = format!("{free} MiB free for {}", cache.root().display());
    match free >= SPACE_MIB {
        true => check("disk space", State::Ok, detail, None),
        false => {
            let mend = format!("free {SPACE_MIB} MiB there, or set DYNTICK_CACHE to a folder elsewhere");
            check("disk space", State::Limited, detail, Some(&mend))
        }
    }
}

fn memory() -> Check {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let mib = available.and_then(|v| v.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) >> 10;
    match mib >= MEMORY_MIB {
        true => check("memory", State::Ok, format!("{mib} MiB available"), None),
        false => check("memory", State::Limited, format!("{mib} MiB available"), Some("run with --jobs 1")),
    }
}
