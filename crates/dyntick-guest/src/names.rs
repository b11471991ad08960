// SPDX-License-Identifier: GPL-2.0-only
//! The names by which host and guest find the same things.

/// A study calls dyntick by its name; in a guest it is there already, as [`INIT`].
pub const OWN_NAME: &str = "dyntick";

/// This binary, which the kernel starts first.
pub const INIT: &str = "/init";

/// The folder with the guest's modules, named `NN-NAME.ko` in the order in which they load.
pub const MODULE_FOLDER: &str = "/modules";

/// The working folder of a case's programs, with the files of its study.
pub const STUDY_FOLDER: &str = "/study";

/// The mount point of a guest's disk.
pub const DISK_FOLDER: &str = "/mnt/disk";

/// The folder that `dyntick lab shell --share` copies into the guest.
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
