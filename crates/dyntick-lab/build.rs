// SPDX-License-Identifier: GPL-2.0-only
//! A source file of the C-state emulator that is new, or gone, is seen: what embeds their folder looks at files that it
//! knew before only.

fn main() {
    println!("cargo::rerun-if-changed=../../kernel/cstate-emulator");
}
