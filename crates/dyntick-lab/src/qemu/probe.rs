// SPDX-License-Identifier: GPL-2.0-only
//! Whether hardware virtualisation really works here.
//!
//! The presence of `/dev/kvm` says little: on some machines it opens and every guest hangs on
//! it. So a guest is booted, with a limit, and the answer is remembered for as long as the
//! host's kernel and QEMU stay the same.

use super::{Accelerator, Machine, Qemu, RunError, run};
use crate::guest::Job;
use dyntick_model::{CommandLine, CpuList};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// A stock guest needs about a second under KVM.
const LIMIT: Duration = Duration::from_secs(20);

/// What the probe found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KvmProbe {
    /// Whether a guest booted.
    pub works: bool,
    /// In words, why or why not.
    pub detail: String,
}

/// Boots a guest under KVM.
///
/// # Errors
/// Why no guest was booted: that is no answer that would hold tomorrow.
pub fn kvm(qemu: &Qemu, kernel: &Path, initramfs: &Path, console: &Path) -> Result<KvmProbe, String> {
    let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
    device.map_err(|error| format!("/dev/kvm cannot be opened: {error}"))?;
    let append = CommandLine::default();
    let machine = Machine {
        qemu,
        accelerator: Accelerator::Kvm,
        steady: None,
        cpus: 2,
        // A test build of this program makes an image of some 150 MiB.
        memory: 1 << 30,
        kernel,
        initramfs,
        append: &append,
        console,
        profile: None,
    };
    let job = serde_json::to_vec(&nothing_to_do()).map_err(|error| error.to_string())?;
    match run(&machine, &job, LIMIT, &|_| ()) {
        Ok(_) => Ok(KvmProbe { works: true, detail: "a stock guest boots under KVM".into() }),
        Err(RunError::Guest(failure)) => Ok(KvmProbe {
            works: false,
            detail: format!("/dev/kvm opens, but a stock guest fails on it: {failure}"),
        }),
        Err(error) => Err(error.to_string()),
    }
}

fn nothing_to_do() -> Job {
    Job {
        measured_cpus: CpuList::first(2).difference(&CpuList::first(1)),
        sysctl: Default::default(),
        module_parameters: Default::default(),
        idle_driver: None,
        governor: None,
        write: Default::default(),
        read: Vec::new(),
        settle_ns: 0,
        settle_limit_ns: 0,
        measure_ns: 0,
        profile: false,
        events: Vec::new(),
        trace_cpus: None,
        buffer_kib: 64,
        tasks: Vec::new(),
        script: None,
        shell: None,
    }
}
