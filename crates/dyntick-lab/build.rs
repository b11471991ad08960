// SPDX-License-Identifier: GPL-2.0-only
//! The fragments and patches in `kernel/` and the machines are part of the binary: a new one must rebuild it.

fn main() {
    println!("cargo:rerun-if-changed=../../kernel/configs");
    println!("cargo:rerun-if-changed=../../kernel/cstate-emulator");
    println!("cargo:rerun-if-changed=../../kernel/patches");
    println!("cargo:rerun-if-changed=../../machines");
}
