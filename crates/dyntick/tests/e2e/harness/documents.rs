// SPDX-License-Identifier: GPL-2.0-only
//! JSON documents that a script prints in a guest, each after a line `@NAME`; the script ends with a line `@`.
//!
//! `DYNTICK` names the binary under test.

use crate::harness::dyntick;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Stdio;

/// The documents of a script in a guest in virtual time, by name.
pub fn printed(kernel: &str, append: &str, script: &str) -> BTreeMap<String, Value> {
    printed_with(&[], kernel, append, script)
}

/// The same in a guest that has these programs of the host.
pub fn printed_with(tools: &[&str], kernel: &str, append: &str, script: &str) -> BTreeMap<String, Value> {
    let output = dyntick()
        .args(["lab", "shell", "--virtual", "--kernel", kernel, "--append", append])
        .args(tools.iter().flat_map(|tool| ["--tool", tool]))
        .arg("--")
        .args(["busybox", "sh", "-c", script])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let console = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(output.status.success(), "{kernel}: {console}{}", String::from_utf8_lossy(&output.stderr));
    let parts = console.split("\n@").filter_map(|part| part.split_once('\n'));
    let json = |(name, text): (&str, &str)| {
        let end = text.rfind('}').unwrap_or_else(|| panic!("{kernel}: {name}: {console}"));
        let value = serde_json::from_str(&text[..=end]);
        (
            name.trim_start_matches('@').to_owned(),
            value.unwrap_or_else(|e| panic!("{kernel}: {name}: {e}: {text}")),
        )
    };
    parts.filter(|(name, _)| !name.is_empty()).map(json).collect()
}
