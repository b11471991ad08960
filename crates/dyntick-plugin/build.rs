// SPDX-License-Identifier: GPL-2.0-only
//! Builds the two shared libraries that QEMU loads.
//!
//! Cargo would build them with the flags of the workspace, whose one binary is static; a shared
//! library cannot be. So the compiler is called here, for the same target, without that flag.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../dyntick-profile/src/stream");
    shared_library("plugin");
    shared_library("steady");
}

/// Compiles `src/NAME/main.rs` to `dyntick_NAME.so`.
fn shared_library(name: &str) {
    let source = Path::new("src").join(name);
    println!("cargo::rerun-if-changed={}", source.display());
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = PathBuf::from(variable("OUT_DIR")).join(format!("dyntick_{name}.so"));
    let folder = variable("CARGO_MANIFEST_DIR");
    let status = Command::new(variable("RUSTC"))
        .args(["--crate-name", &format!("dyntick_{name}"), "--crate-type", "cdylib", "--edition", "2024"])
        .args(["--target", &variable("TARGET"), "-C", "target-feature=-crt-static", "-C", "panic=abort"])
        .args(["-C", "opt-level=3", "-C", "codegen-units=1", "-C", "strip=symbols"])
        // The same bytes wherever the sources are.
        .args(["--remap-path-prefix", &format!("{folder}=.")])
        .arg("-o")
        .arg(&library)
        .arg(source.join("main.rs"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "the library {name} does not compile");
}
