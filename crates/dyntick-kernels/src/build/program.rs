// SPDX-License-Identifier: GPL-2.0-only
//! Running make: gently and reproducibly.

use super::BuildError;
use super::run::{follow, run};
use super::toolchain::{PAHOLE, Toolchain};
use super::walls::{CCACHE, Place};
use super::workspace::Workspace;
use crate::cache::Cache;
use dyntick_system::confine::NotSeen;
use std::path::Path;
use std::process::Command;

/// The variables that the kernel would otherwise take from the clock and the machine
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
    /// Its path.
    pub space: &'a Workspace,
    /// With what.
    pub toolchain: &'a Toolchain,
    /// The owner of the ccache.
    pub cache: &'a Cache,
    /// The host, or the sandbox.
    pub place: &'a Place,
}

impl Builder<'_> {
    /// make with these targets, to be given to [`Builder::run`].
    pub fn make(&self, targets: &[&str]) -> Command {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        // Others use this machine too.
        let mut command = self.program("nice");
        command.args(["-n", "10", "make", "--no-print-directory", "ARCH=x86_64", "LOCALVERSION="]);
        command.arg(format!("-j{jobs}")).arg(format!("O={}", self.space.objects().display()));
        if self.toolchain.ccache {
            command.args(["CC=ccache gcc", "HOSTCC=ccache gcc"]);
        }
        // pahole's version is an option of every kernel; without BTF none shall know it.
        if !self.toolchain.helpers.iter().any(|(program, _)| *program == PAHOLE.0) {
            command.arg("PAHOLE=no-pahole");
        }
        command.args(targets);
        command
    }

    /// A program in the tree. Nothing of the user's environment has a part in a kernel but what its
    /// key knows.
    pub fn program(&self, name: &str) -> Command {
        let mut command = self.place.program(name);
        command.current_dir(self.space.tree());
        command.envs(REPRODUCIBLE).envs(self.toolchain.environment.iter().cloned());
        let ccache = match self.place {
            Place::Host => self.cache.path(CCACHE),
            Place::Behind { ccache, .. } => ccache.folder().to_owned(),
        };
        command.env("CCACHE_DIR", ccache).env("CCACHE_MAXSIZE", CCACHE_SIZE);
        command
    }

    /// The command as it is run: behind walls it reads the tree, and writes the objects, the ccache and
    /// what else is named.
    fn placed(&self, command: Command, write: &[&Path]) -> Result<Command, NotSeen> {
        let (tree, objects) = (self.space.tree(), self.space.objects());
        let mut all = vec![objects.as_path()];
        if let Place::Behind { ccache, .. } = self.place {
            all.push(ccache.folder());
        }
        all.extend(write);
        self.place.command(command, &[&tree], &all)
    }

    /// Runs a command to its end and returns what it said; behind walls it may write these folders, and
    /// that of the objects.
    pub fn run(&self, what: &str, command: Command, write: &[&Path]) -> Result<Vec<u8>, BuildError> {
        run(what, &mut self.placed(command, write)?).map(|output| output.stdout)
    }

    /// Runs a command to its end and hands on each line of its output. Returns how it ended, and what it
    /// said on its standard error.
    pub fn follow(
        &self,
        command: Command,
        line: impl FnMut(&str),
    ) -> std::io::Result<(std::process::ExitStatus, String)> {
        let mut placed = self.placed(command, &[]).map_err(std::io::Error::other)?;
        follow(&mut placed, line)
    }
}
