// SPDX-License-Identifier: GPL-2.0-only
//! This machine, with the settings that fixes depend on.

use dyntick_check::sources::{RT_RUNTIME, is_changed_by_reading};
use dyntick_explain::fixes::settings_of;
use dyntick_model::{KernelConfig, KernelVersion, Settings};
use dyntick_observe::facts::{FactsError, Machine, fixed_irqs};
use std::io::Read;

/// The largest configuration that is read, bytes; a real one has some 300 KiB.
const LARGEST_CONFIG: u64 = 8 << 20;

/// Reads this machine.
///
/// # Errors
/// Its kernel cannot be named, or its CPUs cannot be listed. A setting that cannot be read is not known.
pub fn this_machine() -> Result<Machine, FactsError> {
    let machine = Machine::read()?;
    Ok(Machine { settings: settings(&machine.kernel), ..machine })
}

fn settings(kernel: &KernelVersion) -> Settings {
    let version = (kernel.major, kernel.minor);
    let read = |path: &str| {
        if is_changed_by_reading(path, version) { None } else { std::fs::read_to_string(path).ok() }
    };
    let config = config(&kernel.release);
    let settings = settings_of(read, config.as_ref());
    // Since 6.12 only kernels with groups of real-time tasks throttle them, the root group too (kernel/sched/rt.c).
    let throttles_groups = config.is_some_and(|config| config.is_enabled("RT_GROUP_SCHED"));
    let is_unlimited = settings.files.get(RT_RUNTIME).is_some_and(|runtime| runtime == "-1");
    let no_real_time_limit = is_unlimited || version >= (6, 12) && !throttles_groups;
    Settings { fixed_irqs: fixed_irqs(), no_real_time_limit, ..settings }
}

/// Reads the configuration that the kernel shows, or that its package installed.
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
