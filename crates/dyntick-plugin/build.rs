// SPDX-License-Identifier: GPL-2.0-only
//! Builds the plugin as a shared library.
//!
//! Cargo would build it with the flags of the workspace, whose one binary is static; a shared
//! library cannot be. So the compiler is called here, for the same target, without that flag.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let (plugin, profile) = (Path::new("src/plugin"), Path::new("../dyntick-profile/src/stream"));
    println!("cargo::rerun-if-changed={}", plugin.display());
    println!("cargo::rerun-if-changed={}", profile.display());
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = PathBuf::from(variable("OUT_DIR")).join("dyntick_plugin.so");
    let folder = variable("CARGO_MANIFEST_DIR");
    let status = Command::new(variable("RUSTC"))
        .args(["--crate-name", "dyntick_plugin", "--crate-type", "cdylib", "--edition", "2024"])
        .args(["--target", &variable("TARGET"), "-C", "target-feature=-crt-static", "-C", "panic=abort"])
        .args(["-C", "opt-level=3", "-C", "codegen-units=1", "-C", "strip=symbols"])
        // The same bytes wherever the sources are.
        .args(["--remap-path-prefix", &format!("{folder}=.")])
        .arg("-o")
        .arg(&library)
        .arg(plugin.join("main.rs"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "the plugin does not compile");
}
