// SPDX-License-Identifier: GPL-2.0-only
//! The guest's disk, and its mount.

use super::mounts::last_words;
use anyhow::{Context, Result, bail};
use dyntick_guest::Job;
use dyntick_guest::names::DISK_FOLDER;
use rustix::mount::MountFlags;
use std::path::Path;
use std::time::{Duration, Instant};

/// The only virtio disk of a guest.
const DEVICE: &str = "/dev/vda";

/// The driver looks at its device before it is loaded; the longest wait if a kernel does that in the background.
const LIMIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// Mounts the disk, if the case has one.
pub fn mount(job: &Job) -> Result<()> {
    if !job.disk {
        return Ok(());
    }
    appear(Path::new(DEVICE))?;
    std::fs::create_dir_all(DISK_FOLDER).with_context(|| format!("make {DISK_FOLDER}"))?;
    rustix::mount::mount(DEVICE, DISK_FOLDER, "ext4", MountFlags::empty(), None)
        .with_context(|| format!("mount the disk's ext4 on {DISK_FOLDER}; the kernel says: {}", last_words()))
}

fn appear(device: &Path) -> Result<()> {
    let begin = Instant::now();
    while !device.exists() {
        if begin.elapsed() > LIMIT {
            bail!(
                "the kernel has no disk {}: it needs virtio_pci, virtio_blk and ext4, built in or as modules; \
                 it says: {}",
                device.display(),
                last_words()
            );
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
