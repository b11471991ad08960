// SPDX-License-Identifier: GPL-2.0-only
//! The names by which host and guest find the same things.

/// A study calls dyntick by its name; in a guest it is there already, as [`INIT`].
pub const OWN_NAME: &str = "dyntick";

/// This binary, which the kernel starts first.
pub const INIT: &str = "/init";

/// Where the guest finds its modules, named `NN-NAME.ko` in the order in which they load.
pub const MODULE_FOLDER: &str = "/modules";

/// Where the programs of a case start, and find the files of its study.
pub const STUDY_FOLDER: &str = "/study";

/// Where a guest has its disk, if it has one.
pub const DISK_FOLDER: &str = "/mnt/disk";

/// Where the folder is that `dyntick lab shell --share` copies into the guest.
pub const SHARE_FOLDER: &str = "/share";

/// The verb of dyntick that sends packets in a guest.
pub const PACKETS: &str = "guest-packets";

/// The agent leaves the machine by writing [`EXIT_VALUE`] to this port of the debug-exit device; QEMU then ends with
/// `2 * value + 1`, which nothing else does.
pub const EXIT_PORT: u16 = 0xf4;
/// See [`EXIT_PORT`].
pub const EXIT_VALUE: u8 = 0x10;

/// The longest file of the kernel that an agent reads, bytes.
pub const LONGEST_FILE: u64 = 1 << 20;
