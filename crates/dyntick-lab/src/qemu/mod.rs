// SPDX-License-Identifier: GPL-2.0-only
//! The virtual machine: which QEMU, how it is started, how a guest ends.

mod machine;
pub mod probe;
mod profile;
pub mod provide;

pub use machine::{Accelerator, Ended, Failure, Machine, RunError, StageTimes, run, shell};
pub(crate) use machine::{ERROR, EXIT_PORT, EXIT_VALUE};
pub use profile::{Profile, STREAM};
pub use provide::{Qemu, QemuError};
