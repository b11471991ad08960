// SPDX-License-Identifier: GPL-2.0-only
//! The accelerator of a guest, and the probe of KVM that decides it.

use super::Lab;
use super::prepare::keep_image;
use crate::error::LabError;
use crate::image::{self, Contents};
use crate::names::CONSOLE;
use crate::qemu::Accelerator;
use crate::qemu::probe::{self, KvmProbe};
use dyntick_kernels::cache::{Cache, write_whole};
use dyntick_kernels::find::Kernel;
use dyntick_model::Clock;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::Duration;

impl Lab<'_> {
    pub(super) fn accelerator(&self, clock: Clock, kernel: &Kernel) -> Result<Accelerator, LabError> {
        Ok(match clock {
            Clock::Virtual => Accelerator::Icount,
            Clock::Wall if self.kvm(kernel)?.works => Accelerator::Kvm,
            Clock::Wall => Accelerator::EmulatedThreads,
        })
    }

    /// Finds out if KVM works here, by booting: once for each host kernel, QEMU and guest kernel, and each day if it
    /// did not. One guest kernel says nothing of another. The image has no tools of a study, so that they have no
    /// part in the result.
    fn kvm(&self, kernel: &Kernel) -> Result<KvmProbe, LabError> {
        let host = rustix::system::uname();
        let (release, version) = (host.release().to_string_lossy(), host.version());
        let limit = probe::LIMIT.as_secs();
        // A guest that was too slow within one limit may not be within another.
        let question = format!("{release} {} {version:?} {} {limit} s", self.qemu().version, kernel.sha256);
        let entry = format!("kvm-{}.json", hex::encode(&Sha256::digest(question)[..6]));
        let path = self.cache.path(&entry);
        let _lock = self.cache.lock(&entry)?;
        if let Some(probe) = remembered(&path) {
            return Ok(probe);
        }
        self.say(&format!("booting a probe guest to test whether KVM works ({limit} s at most)"));
        let image = image::build(&self.init, kernel, Contents::default())?;
        let folder = self.scratch()?;
        let initramfs = keep_image(&folder, &image)?;
        match probe::kvm(self.qemu(), &kernel.image, &initramfs, &folder.path().join(CONSOLE)) {
            Ok(probe) => {
                write_whole(&path, &serde_json::to_vec(&probe).expect("plain data"))?;
                Ok(probe)
            }
            Err(untried) => Ok(untried),
        }
    }

    /// Finds out if KVM works here, with a stock kernel.
    ///
    /// # Errors
    /// A kernel or an image that cannot be had.
    pub fn probe_kvm(&self) -> Result<KvmProbe, LabError> {
        let kernel = self.kernel("debian:6.12", None, &|_| Vec::new())?;
        self.kvm(&kernel)
    }
}

/// The result of an earlier probe. A failure holds for a day: it may have been for lack of memory or time.
fn remembered(path: &Path) -> Option<KvmProbe> {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let probe: KvmProbe = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let age = path.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
    (probe.works || age < DAY).then_some(probe)
}

/// The newest result about KVM in this cache that still holds. Boots nothing.
pub fn kvm_as_learnt(cache: &Cache) -> Option<KvmProbe> {
    let written = |path: &PathBuf| path.metadata().and_then(|file| file.modified()).ok();
    let is_probe = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("kvm-") && name.ends_with(".json")
    };
    let entries = std::fs::read_dir(cache.root()).ok()?;
    let mut probes: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_probe).collect();
    probes.sort_by_key(written);
    probes.iter().rev().find_map(|path| remembered(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_result_about_kvm_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        assert!(kvm_as_learnt(&cache).is_none());
        let learn = |entry: &str, probe: &KvmProbe| {
            std::fs::write(cache.path(entry), serde_json::to_vec(probe).unwrap()).unwrap();
        };
        learn("kvm-0.json", &KvmProbe::fails("refuses", None));
        learn("kvm-0.json.lock", &KvmProbe::fails("no probe", None));
        assert_eq!(kvm_as_learnt(&cache).unwrap().detail, "refuses");
        std::fs::write(cache.path("kvm-0.json"), "damaged").unwrap();
        assert!(kvm_as_learnt(&cache).is_none());
    }
}
