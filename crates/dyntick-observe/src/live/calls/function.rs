// SPDX-License-Identifier: GPL-2.0-only
//! The function that is timed, and the kind of programs for that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A function of the kernel, as users name it: `hrtimer_interrupt`, or `kprobe:hrtimer_interrupt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, as in `/proc/kallsyms`.
    pub name: String,
    /// The requested programs; none for the cheapest that it allows.
    pub pair: Option<Pair>,
}

/// The two programs that time a call. The cheaper one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Pair {
    /// A trampoline at the function; needs type information.
    #[serde(rename = "fentry/fexit")]
    Trampoline,
    /// Probes, as in published scripts.
    #[serde(rename = "kprobe/kretprobe")]
    Probes,
}

impl Pair {
    /// The name in bpftrace and in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Pair::Trampoline => "fentry/fexit",
            Pair::Probes => "kprobe/kretprobe",
        }
    }
}

/// `KSYM_NAME_LEN` of Linux 6.1 to 7.x, include/linux/kallsyms.h.
const LONGEST_NAME: usize = 512;

impl FromStr for Function {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (pair, name) = match text.split_once(':') {
            None => (None, text),
            Some(("fentry", name)) => (Some(Pair::Trampoline), name),
            Some(("kprobe", name)) => (Some(Pair::Probes), name),
            Some((other, _)) => return Err(format!("unknown prefix '{other}:'; use fentry: or kprobe:")),
        };
        let of_names = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$');
        if !name.is_empty() && name.len() < LONGEST_NAME && name.bytes().all(of_names) {
            Ok(Self { name: name.to_owned(), pair })
        } else {
            Err("not a kernel function name as in /proc/kallsyms, such as hrtimer_interrupt".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_their_probe() {
        let function = |name: &str, pair| Ok(Function { name: name.to_owned(), pair });
        assert_eq!("do_idle".parse(), function("do_idle", None));
        assert_eq!("kprobe:do_idle.isra.0".parse(), function("do_idle.isra.0", Some(Pair::Probes)));
        assert_eq!("fentry:do_idle".parse(), function("do_idle", Some(Pair::Trampoline)));
        for wrong in ["", "kprobe:", "do idle", "uprobe:x", "a/b", "\u{1b}[2J", &"a".repeat(LONGEST_NAME)] {
            assert!(wrong.parse::<Function>().is_err(), "{wrong:?}");
        }
    }
}
