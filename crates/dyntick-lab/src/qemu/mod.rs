// SPDX-License-Identifier: GPL-2.0-only
//! The virtual machine: which QEMU, on which machine, how it is started, how a guest ends.

mod command_line;
mod disk;
mod host;
mod machine;
pub mod probe;
mod profile;
pub mod provide;
mod run;
mod shell;
mod stolen;
mod walls;

pub use disk::{Disk, DiskError};
pub use host::Host;
pub use machine::{Accelerator, Failure, Machine, RunError};
pub use profile::{Profile, STREAM};
pub use provide::{Qemu, QemuError};
pub use run::{Raw, StageTimes, ensure_room, run};
pub use shell::{command, interactive};
pub use stolen::Stolen;
pub use walls::{Confinement, confinement};

use dyntick_kernels::cache::{Cache, CacheError, write_whole};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// Puts a library that QEMU loads into the cache, under a name that changes with its bytes.
pub(crate) fn unpacked(cache: &Cache, bytes: &[u8]) -> Result<PathBuf, CacheError> {
    let digest = hex::encode(&Sha256::digest(bytes)[..8]);
    let library = cache.path(&format!("plugins/{digest}.so"));
    if !std::fs::read(&library).is_ok_and(|there| there == bytes) {
        write_whole(&library, bytes)?;
    }
    Ok(library)
}
