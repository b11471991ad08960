// SPDX-License-Identifier: GPL-2.0-only
//! A guest's first steps: file systems, modules, settings.

use crate::refused::RefusedSetting;
use anyhow::{Context, Result};
use dyntick_guest::Job;
use dyntick_guest::names::MODULE_FOLDER;
use dyntick_model::CommandLine;
use dyntick_model::text::nearest;
use rustix::mount::MountFlags;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io::Write;
use std::path::Path;

const DEBUGFS: &str = "/sys/kernel/debug";

/// Mounts what every program expects.
pub fn mount_all() -> Result<()> {
    // The root is in memory already; a mount on /tmp would hide a tool that came from there.
    std::fs::create_dir_all("/tmp").context("make /tmp")?;
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        rustix::mount::mount(kind, target, kind, MountFlags::empty(), None)
            .with_context(|| format!("mount {target}"))?;
    }
    // For shm_open(3); devtmpfs is memory itself.
    std::fs::create_dir_all("/dev/shm").context("make /dev/shm")?;
    Ok(())
}

/// The kernel command line.
pub fn command_line() -> Result<CommandLine> {
    Ok(CommandLine::parse(&std::fs::read_to_string("/proc/cmdline").context("read /proc/cmdline")?))
}

/// Loads the modules of the image in their order, each with its parameters: those that are given here, and those of the
/// kernel command line, which modprobe would give it too.
pub fn load_modules(parameters: &BTreeMap<String, String>, line: &CommandLine) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(MODULE_FOLDER) else { return Ok(()) };
    let mut paths: Vec<_> = entries.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths {
        let name = path.display();
        let file = std::fs::File::open(&path).with_context(|| format!("open {name}"))?;
        let module = module_name(&path);
        let own = parameters.get(&module).map(String::as_str);
        let told: Vec<&str> = own.into_iter().chain(of_module(line, &module)).collect();
        let told = CString::new(told.join(" "))?;
        rustix::system::finit_module(&file, &told, 0)
            .with_context(|| format!("load {name}; the kernel says: {}", last_words()))?;
    }
    Ok(())
}

/// The words `MODULE.PARAMETER=VALUE` of a command line, as `PARAMETER=VALUE`; the kernel takes `-` for `_` in both.
fn of_module<'l>(line: &'l CommandLine, module: &str) -> impl Iterator<Item = &'l str> {
    let underscored = |name: &str| name.replace('-', "_");
    let module = underscored(module);
    line.iter().filter_map(move |word| {
        let (name, parameter) = word.split_once('.')?;
        (underscored(name) == module).then_some(parameter)
    })
}

/// The name of a module's file `NN-NAME.ko`.
fn module_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.split_once('-').map_or_else(String::new, |(_, name)| name.to_owned())
}

/// The last line of the kernel's log without its time.
pub fn last_words() -> String {
    let log = kernel_log();
    let log = String::from_utf8_lossy(&log);
    let line = log.lines().last().unwrap_or_default();
    line.split_once("] ").map_or(line, |(_, words)| words).to_owned()
}

/// Mounts debugfs, which guests have only if the case writes or reads a file of it.
pub fn mount_debugfs(job: &Job) {
    if job.write.keys().chain(&job.read).any(|path| path.starts_with(DEBUGFS)) {
        // What of it is not there is shown when it is written or read.
        let _ = rustix::mount::mount("debugfs", DEBUGFS, "debugfs", MountFlags::empty(), None);
    }
}

/// Writes sysctls and other files of the kernel. What it refuses is an error, since the case would
/// not be the one that was asked for.
pub fn apply_settings(sysctl: &BTreeMap<String, String>, write: &BTreeMap<String, String>) -> Result<()> {
    let sysctls = sysctl.iter().map(|(name, value)| (format!("/proc/sys/{}", name.replace('.', "/")), value));
    let files = write.iter().map(|(path, value)| (path.clone(), value));
    for (path, value) in sysctls.chain(files) {
        // An existing file is written to: a misspelt name must not become a new one.
        let file = std::fs::OpenOptions::new().write(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(value.as_bytes()));
        written.with_context(|| {
            let message = format!("the kernel refuses {value:?} in {path}{}", nearest_file(&path));
            RefusedSetting { path, message }
        })?;
    }
    Ok(())
}

/// The most similar file of the folder, if there is no such file.
fn nearest_file(path: &str) -> String {
    let missing = Path::new(path);
    let (Some(folder), Some(name)) = (missing.parent(), missing.file_name().and_then(|name| name.to_str()))
    else {
        return String::new();
    };
    if missing.exists() {
        return String::new();
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    nearest(name, &names).map_or(String::new(), |right| format!(" (did you mean '{right}'?)"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_files_are_reported_with_the_nearest() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("stat_interval"), "").unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name).display().to_string();
            apply_settings(&BTreeMap::new(), &BTreeMap::from([(path, "60".to_owned())]))
        };
        let error = write("stat_intervall").unwrap_err().to_string();
        assert!(error.ends_with("stat_intervall (did you mean 'stat_interval'?)"), "{error}");
        assert!(write("stat_interval").is_ok());
    }

    #[test]
    fn parameters_of_a_module() {
        let line = CommandLine::parse(
            "quiet null_blk.irqmode=2 null-blk.completion_nsec=10000 nullb.x=1 nohz_full=1",
        );
        let of = |module: &str| of_module(&line, module).collect::<Vec<_>>();
        assert_eq!(of("null_blk"), ["irqmode=2", "completion_nsec=10000"]);
        assert_eq!(of("null-blk"), of("null_blk"));
        assert!(of("ext4").is_empty());
    }
}
