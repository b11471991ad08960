// SPDX-License-Identifier: GPL-2.0-only
//! The shared libraries that QEMU loads, as bytes: the plugin that records every executed block of a
//! guest, and the one that keeps virtual time steady; and the instructions with which a program in the guest
//! sends requests to the plugin.
//!
//! The libraries themselves are in `plugin/` and `steady/` and compiled by `build.rs`.

#[cfg(test)]
#[path = "plugin/harmless.rs"]
mod harmless;
#[path = "plugin/protocol.rs"]
mod protocol;

pub mod guest;

/// The plugin.
pub const PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dyntick_plugin.so"));

/// The library that is loaded before QEMU (`LD_PRELOAD`) so that virtual time does not depend on how the host
/// schedules QEMU's threads.
pub const STEADY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dyntick_steady.so"));

/// The argument of QEMU's `-plugin` that loads the library at `library` and has it write a stream
/// of about `limit` bytes at most to `stream`.
pub fn argument(library: &str, stream: &str, limit: u64) -> String {
    // QEMU reads two commas as one.
    let quoted = |path: &str| path.replace(',', ",,");
    format!("file={},out={},limit={limit}", quoted(library), quoted(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_paths_are_doubled() {
        assert_eq!(argument("/a,b.so", "/c", 7), "file=/a,,b.so,out=/c,limit=7");
    }

    #[test]
    fn words_are_known_by_their_bytes() {
        assert_eq!(
            protocol::word(&[0x0f, 0x1f, 0x80, protocol::MARK, 0x6e, 0x79, 0x64]),
            Some(protocol::MARK)
        );
        assert_eq!(protocol::word(&[0x0f, 0x1f, 0x80, 0, 0, 0, 0]), None, "the kernel's own padding");
        assert_eq!(protocol::word(&[0x90]), None);
    }
}
