// SPDX-License-Identifier: GPL-2.0-only
//! Running make: gently, reproducibly, and not longer than this process lives.

use super::BuildError;
use super::toolchain::{PAHOLE, Toolchain};
use super::workspace::Workspace;
use crate::cache::Cache;
use crate::programs::end_with_this_one;
use rustix::process::Signal;
use std::process::{Command, Output};

/// What the kernel would otherwise take from the clock and the machine
/// (`Documentation/kbuild/reproducible-builds.rst`).
const REPRODUCIBLE: [(&str, &str); 6] = [
    ("KBUILD_BUILD_TIMESTAMP", "1970-01-01 00:00:00 UTC"),
    ("KBUILD_BUILD_USER", "dyntick"),
    ("KBUILD_BUILD_HOST", "lab"),
    ("KBUILD_BUILD_VERSION", "1"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
];

/// Objects of some dozens of variants of a lab kernel.
const CCACHE_SIZE: &str = "2G";

/// Runs make in one workspace.
pub struct Builder<'a> {
    /// Where.
    pub space: &'a Workspace,
    /// With what.
    pub toolchain: &'a Toolchain,
    /// Whose ccache.
    pub cache: &'a Cache,
}

impl Builder<'_> {
    /// make with these targets.
    pub fn make(&self, targets: &[&str]) -> Command {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        // Others use this machine too.
        let mut command = Command::new("nice");
        command.args(["-n", "10", "make", "--no-print-directory", "ARCH=x86_64", "LOCALVERSION="]);
        command.arg(format!("-j{jobs}")).arg(format!("O={}", self.space.objects().display()));
        if self.toolchain.ccache {
            command.args(["CC=ccache gcc", "HOSTCC=ccache gcc"]);
        }
        // pahole's version is an option of every kernel; without BTF none shall know it.
        if !self.toolchain.helpers.iter().any(|(program, _)| *program == PAHOLE.0) {
            command.arg("PAHOLE=no-pahole");
        }
        command.args(targets).current_dir(self.space.tree());
        self.environment(&mut command);
        command
    }

    /// Nothing of the user's environment has a part in a kernel but what its key knows.
    fn environment(&self, command: &mut Command) {
        command.env_clear().envs(REPRODUCIBLE).envs(self.toolchain.environment.iter().cloned());
        for name in ["PATH", "HOME", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("CCACHE_DIR", self.cache.path("ccache")).env("CCACHE_MAXSIZE", CCACHE_SIZE);
    }
}

/// Runs a program to its end; what it says on its standard error is the error.
pub fn run(what: &str, command: &mut Command) -> Result<Output, BuildError> {
    let failed = |message: String| BuildError::Failed { what: what.to_owned(), message };
    end_with_this_one(command, Signal::TERM);
    let output = command
        .output()
        .map_err(|error| failed(format!("{}: {error}", command.get_program().to_string_lossy())))?;
    match output.status.success() {
        true => Ok(output),
        false => Err(failed(essence(&String::from_utf8_lossy(&output.stderr)))),
    }
}

/// The lines of a long message that matter: the errors, or else its end.
pub fn essence(message: &str) -> String {
    const LINES: usize = 12;
    let errors =
        message.lines().filter(|line| line.contains("error:") || line.contains("undefined reference"));
    let errors: Vec<&str> = errors.take(LINES).collect();
    if !errors.is_empty() {
        return errors.join("\n");
    }
    let lines: Vec<&str> = message.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_of_a_long_message() {
        let noise = "warning: x\n".repeat(30);
        assert_eq!(essence(&format!("{noise}a.c:1: error: no\nmake: *** x\n")), "a.c:1: error: no");
        assert_eq!(essence(&noise).lines().count(), 12);
    }
}
