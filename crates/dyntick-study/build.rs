// SPDX-License-Identifier: GPL-2.0-only
//! A study or machine that is new, or gone, is seen: what embeds their folders looks at files that it knew before only.

fn main() {
    for folder in ["studies", "machines"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
