// SPDX-License-Identifier: GPL-2.0-only
//! A guest's first steps: file systems, modules, settings.

use crate::image::MODULE_FOLDER;
use anyhow::{Context, Result};
use rustix::mount::MountFlags;
use std::collections::BTreeMap;

/// The parameters of `finit_module(2)`: none.
const NO_PARAMETERS: &std::ffi::CStr = c"";

const DEBUGFS: &str = "/sys/kernel/debug";

/// Mounts what every program expects.
pub fn mount_all() -> Result<()> {
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")] {
        rustix::mount::mount(kind, target, kind, MountFlags::empty(), None)
            .with_context(|| format!("mount {target}"))?;
    }
    Ok(())
}

/// Loads the modules of the image in their order. Returns a note for each that refuses.
pub fn load_modules() -> Result<Vec<String>> {
    let mut paths: Vec<_> = match std::fs::read_dir(MODULE_FOLDER) {
        Ok(entries) => entries.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?,
        Err(_) => return Ok(Vec::new()),
    };
    paths.sort();
    let mut notes = Vec::new();
    for path in paths {
        let file = std::fs::File::open(&path)?;
        if let Err(error) = rustix::system::finit_module(&file, NO_PARAMETERS, 0) {
            notes.push(format!("module {} did not load: {error}", path.display()));
        }
    }
    Ok(notes)
}

/// Writes sysctls and other files of the kernel. Returns a note for each that it refuses.
pub fn apply_settings(sysctl: &BTreeMap<String, String>, write: &BTreeMap<String, String>) -> Vec<String> {
    if write.keys().any(|path| path.starts_with(DEBUGFS)) {
        let _ = rustix::mount::mount("debugfs", DEBUGFS, "debugfs", MountFlags::empty(), None);
    }
    let sysctls = sysctl.iter().map(|(name, value)| (format!("/proc/sys/{}", name.replace('.', "/")), value));
    let files = write.iter().map(|(path, value)| (path.clone(), value));
    let apply = |(path, value): (String, &String)| {
        std::fs::write(&path, value).err().map(|error| format!("writing {value} to {path} failed: {error}"))
    };
    sysctls.chain(files).filter_map(apply).collect()
}

/// The kernel's log, as it is now.
pub fn kernel_log() -> Vec<u8> {
    const READ_ALL: libc::c_int = 3;
    let mut buffer = vec![0u8; 1 << 18];
    // SAFETY: the kernel writes at most the given length into the buffer.
    let count = unsafe { libc::klogctl(READ_ALL, buffer.as_mut_ptr().cast(), buffer.len() as libc::c_int) };
    buffer.truncate(usize::try_from(count).unwrap_or(0));
    buffer
}
