// SPDX-License-Identifier: GPL-2.0-only
//! A fragment or patch that is new, or gone, is seen: what embeds their folders looks at files that it knew before,
//! and at no others.

fn main() {
    for folder in ["configs", "patches"] {
        println!("cargo::rerun-if-changed=../../kernel/{folder}");
    }
}
