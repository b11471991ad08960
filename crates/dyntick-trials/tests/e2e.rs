// SPDX-License-Identifier: GPL-2.0-only
//! The program refuses what it does not know. Its use in guests is tested by the end-to-end tests of `dyntick`, for
//! which this test has the program built.

use std::process::Command;

#[test]
fn an_unknown_disturbance_is_an_error_that_names_all() {
    let output = Command::new(env!("CARGO_BIN_EXE_dyntick_trials"))
        .args(["disturb", "-C", "1024", "no-such-disturbance"])
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && errors.contains("second-task"), "{errors}");
}
