// SPDX-License-Identifier: GPL-2.0-only
//! One binary for all targets; `DYNTICK_FUZZ_TARGET` names one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<String> = LazyLock::new(|| {
    std::env::var("DYNTICK_FUZZ_TARGET").expect("DYNTICK_FUZZ_TARGET names the target, as record")
});

fuzz_target!(|bytes: &[u8]| dyntick_fuzz::run(&TARGET, bytes));
