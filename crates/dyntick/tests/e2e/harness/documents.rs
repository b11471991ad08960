// SPDX-License-Identifier: GPL-2.0-only
//! JSON documents that a script prints in a guest, each after a line `@NAME`; the script ends with a line `@`.
//!
//! `DYNTICK` names the binary under test.

use crate::harness::{self, in_guest};
use serde_json::Value;
use std::collections::BTreeMap;

/// The documents of a script in a guest in virtual time, by name.
pub fn printed(kernel: &str, append: &str, script: &str) -> BTreeMap<String, Value> {
    printed_with(&[], kernel, append, script)
}

/// The same in a guest that has these programs of the host.
pub fn printed_with(tools: &[&str], kernel: &str, append: &str, script: &str) -> BTreeMap<String, Value> {
    let options = [&["--kernel", kernel, "--append", append][..], &harness::tools(tools)].concat();
    printed_by(&options, script)
}

/// The same in a guest with these options of `lab shell`.
pub fn printed_by(options: &[&str], script: &str) -> BTreeMap<String, Value> {
    let console = in_guest(options, &["busybox", "sh", "-c", script]);
    let parts = console.split("\n@").filter_map(|part| part.split_once('\n'));
    let json = |(name, text): (&str, &str)| {
        let end = text.rfind('}').unwrap_or_else(|| panic!("{options:?}: {name}: {console}"));
        let value = serde_json::from_str(&text[..=end]);
        (
            name.trim_start_matches('@').to_owned(),
            value.unwrap_or_else(|e| panic!("{options:?}: {name}: {e}: {text}")),
        )
    };
    parts.filter(|(name, _)| !name.is_empty()).map(json).collect()
}
