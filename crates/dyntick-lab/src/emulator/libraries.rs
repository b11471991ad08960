// SPDX-License-Identifier: GPL-2.0-only
//! Programs of kbuild from a suite that is newer than this machine, with the C library of that suite.

use dyntick_kernels::apt::{Apt, AptError};
use dyntick_kernels::cache::{CacheError, write_whole};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages of the libraries that those programs are linked with.
const LIBRARIES: [&str; 4] = ["libc6", "libelf1t64", "zlib1g", "libzstd1"];

/// The folder for unpacked libraries, next to the headers.
const FOLDER: &str = "libraries";

/// The programs that are more than a wrapper, below the folder of kbuild.
const PROGRAMS: [&str; 2] = ["tools/objtool/objtool.real-x86", "scripts/mod/modpost.real-lsb-64"];

/// Runs a program by the loader of its own suite. The folder moves when it is complete, so nothing names its place.
const WRAPPER: &str = "#!/bin/sh
own=$(readlink -f \"$0\")
libraries=${own%/usr/lib/linux-kbuild-*}/libraries/usr/lib/x86_64-linux-gnu
exec \"$libraries/ld-linux-x86-64.so.2\" --library-path \"$libraries\" \"$own.elf\" \"$@\"
";

/// Makes the programs in these unpacked headers run here, if they do not by themselves.
pub fn provide(headers: &Path, apt: &Apt, progress: &dyn Fn(&str)) -> Result<(), AptError> {
    let programs: Vec<PathBuf> =
        programs(headers).into_iter().filter(|program| lacks_library(program)).collect();
    if programs.is_empty() {
        return Ok(());
    }
    let mut packages = Vec::new();
    for name in LIBRARIES {
        let newest = apt.newest(name)?;
        packages.extend(newest.map(|version| (name.to_owned(), version)));
    }
    progress("fetching the C library that the programs of these headers are linked with");
    let place = headers.join(FOLDER);
    std::fs::create_dir(&place).map_err(|error| CacheError::from_io(&place, error))?;
    apt.unpack(&packages, &place)?;
    for program in programs {
        wrap(&program).map_err(|error| CacheError::from_io(&program, error))?;
    }
    Ok(())
}

/// The programs that exist.
fn programs(headers: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(headers.join("usr/lib")).into_iter().flatten().flatten();
    let kbuild = folders.map(|entry| entry.path());
    let all = kbuild.flat_map(|folder| PROGRAMS.map(|program| folder.join(program)));
    all.filter(|program| program.is_file()).collect()
}

/// Returns true if this machine's C library is too old for a program.
fn lacks_library(program: &Path) -> bool {
    let output = Command::new(program).env_clear().env("LC_ALL", "C").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stderr).contains("version `GLIBC_"))
}

fn wrap(program: &Path) -> std::io::Result<()> {
    let mut elf = program.as_os_str().to_owned();
    elf.push(".elf");
    std::fs::rename(program, elf)?;
    write_whole(program, WRAPPER.as_bytes()).map_err(std::io::Error::other)?;
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `echo` is the loader here. No file that this process wrote is executed: a program that another test starts may
    /// still have it open, and the kernel refuses that.
    #[test]
    fn program_is_run_by_the_loader_next_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let (before, after) = (folder.path().join("new"), folder.path().join("whole"));
        let libraries = before.join("libraries/usr/lib/x86_64-linux-gnu");
        let program = before.join("usr/lib/linux-kbuild-7.2").join(PROGRAMS[0]);
        for folder in [&libraries, &program.parent().unwrap().to_owned()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let loader = libraries.join("ld-linux-x86-64.so.2");
        std::os::unix::fs::symlink("/bin/echo", &loader).unwrap();
        std::fs::write(&program, "elf").unwrap();
        assert_eq!(programs(&before), std::slice::from_ref(&program));
        wrap(&program).unwrap();
        std::fs::rename(&before, &after).unwrap();
        let moved = after.join("usr/lib/linux-kbuild-7.2").join(PROGRAMS[0]);
        assert_eq!(std::fs::metadata(&moved).unwrap().permissions().mode() & 0o777, 0o755);
        let output = Command::new("sh").arg(&moved).arg("--module").output().unwrap();
        let libraries = after.join("libraries/usr/lib/x86_64-linux-gnu");
        let words = format!(
            "--library-path {} {}.elf --module\n",
            libraries.canonicalize().unwrap().display(),
            moved.canonicalize().unwrap().display()
        );
        assert_eq!(String::from_utf8_lossy(&output.stdout), words);
    }
}
