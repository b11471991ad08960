// SPDX-License-Identifier: GPL-2.0-only
//! The compiler, and what of the environment changes what it makes.

use super::parts::{Part, Parts};
use super::{BuildError, FragmentError, fragment};
use crate::programs;
use dyntick_model::KernelConfig;
use std::path::Path;
use std::process::Command;

/// The programs that compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Compiler and linker, in their own words.
    pub version: String,
    /// Flags that the user adds by the environment, by name.
    pub environment: Vec<(String, String)>,
    /// Programs that only some kernels need, of those that this one does, with their versions.
    pub helpers: Vec<(&'static str, String)>,
    /// True if ccache is there.
    pub ccache: bool,
}

/// Kbuild adds these to its own flags (`Documentation/kbuild/kbuild.rst`). All other variables are
/// kept from it.
const FLAGS: [&str; 3] = ["KCFLAGS", "KAFLAGS", "KCPPFLAGS"];

/// The programs that a build needs, each with its package.
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

/// The programs among them.
pub fn programs() -> impl Iterator<Item = &'static str> {
    NEEDS.into_iter().map(|(program, _)| program)
}

/// A header that objtool is compiled with, and its package.
const LIBELF: (&str, &str) = ("/usr/include/libelf.h", "libelf-dev");

/// The programs of a build that are missing, with their packages.
pub fn lacks() -> Vec<(&'static str, &'static str)> {
    let programs = NEEDS.into_iter().filter(|(program, _)| programs::find(program).is_none());
    programs.chain(Some(LIBELF).filter(|(header, _)| !Path::new(header).exists())).collect()
}

/// Applies semantic patches, and its package.
const SPATCH: (&str, &str) = ("spatch", "coccinelle");
/// Makes BTF of DWARF, and its package.
pub const PAHOLE: (&str, &str) = ("pahole", "dwarves");

/// The toolchain of this machine for a kernel of these parts.
pub fn find(parts: &Parts) -> Result<Toolchain, BuildError> {
    if let Some(lacking) = lacks().into_iter().next() {
        return Err(missing(lacking));
    }
    let version = [first_line("gcc")?, first_line("ld")?].join("; ");
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let environment = FLAGS.iter().filter_map(|name| Some(((*name).to_owned(), set(name)?))).collect();
    let ccache = programs::find("ccache").is_some();
    Ok(Toolchain { version, environment, helpers: helpers(parts)?, ccache })
}

fn helpers(parts: &Parts) -> Result<Vec<(&'static str, String)>, BuildError> {
    let needs = [(SPATCH, parts.patches.iter().any(Part::is_semantic)), (PAHOLE, has_btf(parts)?)];
    let version = |(program, package): (&'static str, &str)| match programs::find(program) {
        Some(_) => Ok((program, first_line(program)?)),
        None => Err(missing((program, package))),
    };
    needs.into_iter().filter(|(_, needed)| *needed).map(|(helper, _)| version(helper)).collect()
}

/// True if a kernel of these parts gets BTF, or fails for want of it.
fn has_btf(parts: &Parts) -> Result<bool, FragmentError> {
    const BTF: &str = "DEBUG_INFO_BTF";
    let (whole, fragments) = fragment::split(parts);
    Ok(match fragment::merged(fragments)?.get(BTF) {
        Some(wanted) => wanted.value == "y",
        // kconfig drops options of a full configuration that it cannot honour.
        None => {
            whole.is_some_and(|part| KernelConfig::parse(&part.text).is_enabled(BTF))
                && programs::find(PAHOLE.0).is_some()
        }
    })
}

fn missing((program, package): (&str, &str)) -> BuildError {
    BuildError::Missing { program: program.to_owned(), package: package.to_owned() }
}

fn first_line(program: &str) -> Result<String, BuildError> {
    let mut command = Command::new(program);
    // spatch takes a `.cocciconfig` of the folder that it is started in and of the home, and may run what that names.
    command.current_dir("/").env("HOME", "/nonexistent").arg("--version").env("LC_ALL", "C");
    let failed =
        |message: String| BuildError::Failed { what: format!("ask {program} for its version"), message };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next() {
        Some(line) if output.status.success() => Ok(line.to_owned()),
        _ => Err(failed(format!("it ended with {}", output.status))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    fn part(file: &str, text: &str) -> Part {
        Part { name: file.into(), file: file.into(), text: text.into(), folder: None }
    }

    /// The helpers of such a kernel, or what is lacking; on this machine each may be there or not.
    fn helpers_of(config: &[Part], patches: &[Part]) -> Vec<String> {
        let parts = Parts { source: "s".into(), config: config.to_vec(), patches: patches.to_vec() };
        match helpers(&parts) {
            Ok(helpers) => helpers.into_iter().map(|(program, _)| program.to_owned()).collect(),
            Err(error) => vec![error.to_string()],
        }
    }

    /// The result of [`helpers_of`] if a kernel needs this one.
    fn needed((program, package): (&str, &str)) -> Vec<String> {
        match programs::find(program) {
            Some(_) => vec![program.to_owned()],
            None => vec![format!("building a kernel needs '{program}': apt-get install {package}")],
        }
    }

    #[test]
    fn helpers_are_in_the_key_of_kernels_that_need_them() {
        let btf = part("b.config", "CONFIG_DEBUG_INFO_BTF=y\n");
        let off = part("o.config", "# CONFIG_DEBUG_INFO_BTF is not set\n");
        let plain = part("x.config", "CONFIG_PVH=y\n");
        let whole =
            part("config", "#\n# Automatically generated file; DO NOT EDIT.\nCONFIG_DEBUG_INFO_BTF=y\n");
        let diff = part("x.patch", "--- a/x\n");
        let none: [String; 0] = [];
        assert_eq!(helpers_of(from_ref(&plain), &[diff]), none);
        assert_eq!(helpers_of(from_ref(&plain), &[part("x.cocci", "")]), needed(SPATCH));
        assert_eq!(helpers_of(&[plain, btf.clone()], &[]), needed(PAHOLE));
        assert_eq!(helpers_of(&[btf.clone(), off.clone()], &[]), none);
        assert_eq!(helpers_of(&[whole.clone(), off], &[]), none);
        assert_eq!(helpers_of(&[whole.clone(), btf], &[]), needed(PAHOLE));
        let here = programs::find(PAHOLE.0).map(|_| PAHOLE.0.to_owned());
        assert_eq!(helpers_of(&[whole], &[]), Vec::from_iter(here), "it is built without");
    }
}
