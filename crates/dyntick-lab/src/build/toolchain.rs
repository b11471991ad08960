// SPDX-License-Identifier: GPL-2.0-only
//! The compiler, and what of the environment changes what it makes.

use super::BuildError;
use crate::programs;
use std::path::Path;
use std::process::Command;

/// What compiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Compiler and linker, in their own words.
    pub version: String,
    /// Flags that the user adds by the environment, by name.
    pub environment: Vec<(String, String)>,
    /// Whether ccache is there.
    pub ccache: bool,
}

/// Kbuild adds these to its own flags (`Documentation/kbuild/kbuild.rst`). All other variables are
/// kept from it.
const FLAGS: [&str; 3] = ["KCFLAGS", "KAFLAGS", "KCPPFLAGS"];

/// What building needs: program, package.
const NEEDS: [(&str, &str); 8] = [
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("perl", "perl-base"),
    ("patch", "patch"),
];

/// A header that objtool is compiled with, and its package.
const LIBELF: (&str, &str) = ("/usr/include/libelf.h", "libelf-dev");

/// What is lacking of all that building needs, with its package.
pub fn lacks() -> Vec<(&'static str, &'static str)> {
    let programs = NEEDS.into_iter().filter(|(program, _)| programs::find(program).is_none());
    programs.chain(Some(LIBELF).filter(|(header, _)| !Path::new(header).exists())).collect()
}

/// The toolchain of this machine.
pub fn find() -> Result<Toolchain, BuildError> {
    if let Some((program, package)) = lacks().into_iter().next() {
        return Err(BuildError::Missing { program: program.to_owned(), package: package.to_owned() });
    }
    let version = [first_line("gcc")?, first_line("ld")?].join("; ");
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let environment = FLAGS.iter().filter_map(|name| Some(((*name).to_owned(), set(name)?))).collect();
    Ok(Toolchain { version, environment, ccache: programs::find("ccache").is_some() })
}

fn first_line(program: &str) -> Result<String, BuildError> {
    let output = Command::new(program).arg("--version").env("LC_ALL", "C").output();
    let output = output.map_err(|error| BuildError::Failed {
        what: format!("ask {program} for its version"),
        message: error.to_string(),
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
