// SPDX-License-Identifier: GPL-2.0-only
//! Compiling a configured kernel, with its progress.

use super::BuildError;
use super::products;
use super::program::Builder;
use super::run::essence;
use dyntick_model::KernelConfig;
use std::time::{Duration, Instant};

/// A compiled kernel.
pub struct Compiled {
    /// `uname -r`.
    pub release: String,
    /// The uncompressed kernel where it has a PVH entry, else the bzImage.
    pub image: &'static str,
    /// True if there are modules.
    pub modules: bool,
    /// The number of its objects.
    pub objects: u32,
}

/// Progress is shown at most so often, whatever a Makefile prints.
const STEP: Duration = Duration::from_secs(2);

/// Compiles. `estimate` is how many objects earlier kernels took.
pub fn compile(
    builder: &Builder<'_>,
    config: &KernelConfig,
    estimate: Option<u32>,
    progress: &dyn Fn(&str),
) -> Result<Compiled, BuildError> {
    let modules = config.is_enabled("MODULES") && config.iter().any(|(_, value)| value == "m");
    let image = if config.is_enabled("PVH") { "vmlinux" } else { "bzImage" };
    let targets = [Some(image), modules.then_some("modules")];
    let targets: Vec<&str> = targets.into_iter().flatten().collect();
    progress("compiling the kernel");
    let objects = compile_targets(builder, &targets, estimate, progress)?;
    let release =
        builder.run("ask the kernel for its release", builder.make(&["-s", "kernelrelease"]), &[])?;
    let place = if image == "vmlinux" { "vmlinux" } else { "arch/x86/boot/bzImage" };
    Ok(Compiled { release: products::release(&release)?, image: place, modules, objects })
}

/// Runs make, and counts the objects that it names.
fn compile_targets(
    builder: &Builder<'_>,
    targets: &[&str],
    estimate: Option<u32>,
    progress: &dyn Fn(&str),
) -> Result<u32, BuildError> {
    let failed = |message: String| BuildError::Failed { what: "compile the kernel".to_owned(), message };
    let (mut objects, mut told) = (0_u32, Instant::now());
    let (ended, errors) = builder
        .follow(builder.make(targets), |line| {
            if is_object(line) {
                objects = objects.saturating_add(1);
                if told.elapsed() >= STEP {
                    told = Instant::now();
                    progress(&so_far(objects, estimate));
                }
            }
        })
        .map_err(|error| failed(error.to_string()))?;
    if ended.success() { Ok(objects) } else { Err(failed(essence(&errors))) }
}

fn so_far(objects: u32, estimate: Option<u32>) -> String {
    match estimate.filter(|estimate| *estimate > objects) {
        Some(estimate) => format!("compiled {objects} of about {estimate} objects"),
        None => format!("compiled {objects} objects"),
    }
}

/// True for lines such as `  CC      kernel/fork.o` and `  AS [M]  x.o`.
fn is_object(line: &str) -> bool {
    matches!(line.split_whitespace().next(), Some("CC" | "AS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_counted() {
        assert!(is_object("  CC      kernel/fork.o") && is_object("  AS [M]  x.o"));
        assert!(!is_object("  LD      vmlinux") && !is_object(""));
        assert_eq!(so_far(200, Some(1200)), "compiled 200 of about 1200 objects");
        assert_eq!(so_far(1400, Some(1200)), "compiled 1400 objects");
    }
}
