// SPDX-License-Identifier: GPL-2.0-only
//! The probe that finds out if hardware virtualisation really works here.
//!
//! The presence of `/dev/kvm` says little: on some machines it opens and every guest hangs on it. So a guest is booted,
//! with a time limit, and the result is kept for as long as the host's kernel and QEMU stay the same.

use super::{Accelerator, Failure, Host, Machine, Qemu, RunError, run};
use dyntick_guest::{Job, received};
use dyntick_model::{CommandLine, CpuList};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// A stock guest needs about a second under KVM, and half a minute where the machine is itself emulated and its
/// host busy.
pub const LIMIT: Duration = Duration::from_secs(120);

const DEVICE: &str = "/dev/kvm";

/// The result of the probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KvmProbe {
    /// True if a guest booted.
    pub works: bool,
    /// The reason.
    pub detail: String,
    /// The remedy, if KVM does not work.
    pub fix: Option<String>,
}

impl KvmProbe {
    fn works() -> Self {
        Self { works: true, detail: "a stock guest boots under KVM".to_owned(), fix: None }
    }

    /// A probe that failed, or could not be tried.
    pub fn fails(detail: impl Into<String>, fix: Option<&str>) -> Self {
        Self { works: false, detail: detail.into(), fix: fix.map(str::to_owned) }
    }
}

/// Boots a guest under KVM.
///
/// # Errors
/// Why no guest was booted: that is no answer that would hold tomorrow.
pub fn kvm(qemu: &Qemu, kernel: &Path, initramfs: &Path, console: &Path) -> Result<KvmProbe, KvmProbe> {
    let is_virtual = Host::of_this_machine().is_virtual;
    let device = std::fs::OpenOptions::new().read(true).write(true).open(DEVICE);
    device.map_err(|error| closed(&error, is_virtual))?;
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
        disk: None,
    };
    let untried = |error: String| KvmProbe::fails(error, None);
    let job = serde_json::to_vec(&nothing_to_do()).map_err(|error| untried(error.to_string()))?;
    match run(&machine, &job, LIMIT, &|_| ()) {
        Ok(_) => Ok(KvmProbe::works()),
        Err(RunError::Guest(failure)) => Ok(failed(&failure, is_virtual)),
        Err(error) => Err(untried(error.to_string())),
    }
}

/// The result if the device does not open.
fn closed(error: &std::io::Error, is_virtual: bool) -> KvmProbe {
    match error.kind() {
        ErrorKind::NotFound => {
            KvmProbe::fails(format!("this machine has no {DEVICE}"), Some(absent(is_virtual)))
        }
        ErrorKind::PermissionDenied => KvmProbe::fails(
            format!("this user may not open {DEVICE}"),
            Some("as root, adduser USER kvm; then log in again"),
        ),
        _ => KvmProbe::fails(format!("{DEVICE} cannot be opened: {error}"), Some(absent(is_virtual))),
    }
}

fn absent(is_virtual: bool) -> &'static str {
    if is_virtual {
        "turn nested virtualisation on for this virtual machine, then as root modprobe kvm_intel or kvm_amd"
    } else {
        "turn VT-x or SVM on in the firmware's setup, then as root modprobe kvm_intel or kvm_amd"
    }
}

/// The result if the device opens, and a guest fails.
fn failed(failure: &Failure, is_virtual: bool) -> KvmProbe {
    let why = match failure {
        Failure::Qemu { message, .. } if message.contains("Device or resource busy") => {
            return KvmProbe::fails(
                format!("{DEVICE} opens, but another hypervisor uses the processor's virtualisation"),
                Some("end the virtual machines of VirtualBox or VMware, or unload their modules"),
            );
        }
        Failure::Qemu { status, message } => of_qemu(status, message),
        Failure::Hung(after, _) => format!("it had not finished after {after:?}"),
        other => other.to_string(),
    };
    let fix = if is_virtual {
        "this is a virtual machine: have its host's kernel updated, or take one with working nested virtualisation"
    } else {
        "update this machine's kernel and firmware"
    };
    KvmProbe::fails(format!("{DEVICE} opens, but a stock guest fails on it: {why}"), Some(fix))
}

/// The reason for which QEMU gave up. Its own message about a KVM that does not work is for its developers
/// (target/i386/kvm/kvm.c).
fn of_qemu(status: &str, message: &str) -> String {
    let refused = message.lines().find_map(|line| line.split_once("failed to set MSR ")?.1.split(' ').next());
    let is_for_developers = |line: &&str| line.is_empty() || line.contains("Assertion `");
    match (refused, message.lines().find(|line| !is_for_developers(line))) {
        (Some(register), _) => {
            format!("this KVM offers MSR {} and refuses to set it", received::line(register))
        }
        (None, Some(said)) => received::line(said.trim_start_matches("qemu-system-x86_64: ")),
        (None, None) => format!("QEMU ended with {status}"),
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
        disk: false,
        read: Vec::new(),
        settle_ns: 0,
        settle_limit_ns: 0,
        shift_ns: 0,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn qemu(message: &str) -> Failure {
        Failure::Qemu { status: "signal: 6 (SIGABRT)".to_owned(), message: message.to_owned() }
    }

    #[test]
    fn failing_kvm_is_reported_in_one_sentence() {
        // As QEMU 10.0 said it on a machine whose KVM is nested.
        let aborted = qemu(
            "qemu-system-x86_64: error: failed to set MSR 0x10a to 0xc000069\n\
             qemu-system-x86_64: target/i386/kvm/kvm.c:3849: kvm_buf_set_msrs: Assertion `ret == cpu->kvm_msr_buf->nmsrs' failed.",
        );
        let probe = failed(&aborted, true);
        assert_eq!(
            probe.detail,
            "/dev/kvm opens, but a stock guest fails on it: this KVM offers MSR 0x10a and refuses to set it"
        );
        assert!(!probe.works && probe.fix.is_some_and(|fix| fix.contains("nested virtualisation")));
        let real = failed(&aborted, false).fix.unwrap();
        assert!(real.contains("firmware") && !real.contains("virtual"), "{real}");
        let all = [
            (Failure::Hung(LIMIT, dyntick_guest::Stage::Boot), "it had not finished after 120s"),
            (Failure::Panic("no".to_owned()), "the guest's kernel panicked: no"),
            (qemu("x.c:1: f: Assertion `a' failed."), "QEMU ended with signal: 6 (SIGABRT)"),
            (qemu(""), "QEMU ended with signal: 6 (SIGABRT)"),
            (qemu("qemu-system-x86_64: KVM is too old\nmore"), "fails on it: KVM is too old"),
        ];
        for (failure, words) in all {
            let probe = failed(&failure, false);
            assert!(probe.detail.ends_with(words) && probe.detail.lines().count() == 1, "{}", probe.detail);
            assert!(probe.fix.is_some(), "{}", probe.detail);
        }
        let busy = failed(&qemu("ioctl(KVM_CREATE_VM) failed: 16 Device or resource busy"), false);
        assert!(busy.detail.contains("another hypervisor") && busy.fix.is_some(), "{busy:?}");
    }

    #[test]
    fn closed_device_is_reported_with_its_remedy() {
        let fix = |kind: ErrorKind, is_virtual| closed(&kind.into(), is_virtual).fix.unwrap();
        assert!(fix(ErrorKind::PermissionDenied, true).contains("adduser"));
        assert!(fix(ErrorKind::NotFound, false).contains("firmware"));
        assert!(fix(ErrorKind::NotFound, true).contains("nested virtualisation"));
    }
}
