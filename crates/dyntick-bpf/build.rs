// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the eBPF programs with clang.

use std::path::PathBuf;
use std::process::Command;

#[allow(dead_code)]
#[path = "src/layout.rs"]
mod layout;

const PROGRAMS: &str = "src/programs";

fn main() {
    println!("cargo::rerun-if-changed={PROGRAMS}");
    println!("cargo::rerun-if-changed=src/layout.rs");
    println!("cargo::rerun-if-env-changed=CLANG");
    for name in ["count", "calls", "command"] {
        compile(name);
    }
}

/// Compiles one of the programs' sources into an object of the same name.
fn compile(name: &str) {
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let objects = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let object = objects.join(name).with_extension("o");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let mut command = Command::new(&clang);
    // Version 3 of the instruction set has compare-and-exchange; kernels have it since 5.12.
    // -g makes the type information by which the programs fit themselves to the kernel that runs.
    command.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-c"]);
    // The same bytes wherever the sources are.
    command.arg(format!("-ffile-prefix-map={folder}=."));
    for (name, value) in layout::CONSTANTS {
        command.arg(format!("-D{name}={value}"));
    }
    let status = command.arg(format!("{PROGRAMS}/{name}.c")).arg("-o").arg(&object).status();
    match status {
        Ok(status) => assert!(status.success(), "the eBPF programs do not compile: see the errors of clang"),
        Err(error) => panic!(
            "cannot run '{clang}' ({error}), which compiles the eBPF programs: install clang 14 or newer \
             (Debian: apt-get install clang, or run scripts/setup), or set the variable CLANG"
        ),
    }
}
