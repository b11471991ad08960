// SPDX-License-Identifier: GPL-2.0-only
//! What this machine is set to and what its kernel is built with.

use dyntick_check::sources::is_changed_by_reading;
use dyntick_explain::fixes::Settings;
use dyntick_model::{KernelConfig, KernelVersion};
use std::io::Read;

/// A configuration has some 300 KiB.
const LARGEST_CONFIG: u64 = 8 << 20;

/// Of the machine whose kernel has this release. What cannot be read is not known.
pub(super) fn read(release: &str) -> Settings {
    // Of an unknown kernel nothing is read that one of them would not bear.
    let kernel =
        release.parse::<KernelVersion>().map_or((u32::MAX, 0), |kernel| (kernel.major, kernel.minor));
    let read = |path: &str| match is_changed_by_reading(path, kernel) {
        true => None,
        false => std::fs::read_to_string(path).ok(),
    };
    Settings::of(read, config(release).as_ref())
}

/// The kernel's own configuration, or that which its package has installed.
fn config(release: &str) -> Option<KernelConfig> {
    let text = match std::fs::File::open("/proc/config.gz") {
        Ok(file) => limited(flate2::read::GzDecoder::new(file))?,
        Err(_) => limited(std::fs::File::open(format!("/boot/config-{release}")).ok()?)?,
    };
    Some(KernelConfig::parse(&text)).filter(|config| !config.is_empty())
}

fn limited(file: impl Read) -> Option<String> {
    let mut text = String::new();
    file.take(LARGEST_CONFIG).read_to_string(&mut text).ok()?;
    Some(text)
}
