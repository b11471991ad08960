// SPDX-License-Identifier: GPL-2.0-only
//! A machine with KVM: QEMU's emulation of an AMD processor with SVM, on whose kernel KVM runs. Its files are those of
//! this machine, which it reads and does not change, so that dyntick finds there all that it finds here.

use dyntick_kernels::cache::Cache;
use dyntick_kernels::find::{self, Kernel};
use dyntick_lab::image::{self, Contents};
use dyntick_lab::qemu::provide;
use rustix::process::Signal;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// 9p and overlay for its files, kvm_amd with what it depends on.
const MODULES: [&str; 4] = ["9pnet_virtio", "9p", "overlay", "kvm_amd"];

/// As many as keep two CPUs of a guest from waiting for dyntick, QEMU's main thread and the kernel's own.
pub const CPUS: u32 = 4;

/// The time limit of a run. It takes five minutes on an otherwise idle machine, but an hour on a busy one.
const LIMIT: Duration = Duration::from_secs(5400);

/// The stock kernel of the machine, and of the guests in it.
pub fn kernel(cache: &Cache) -> Kernel {
    find::resolve("debian:6.12", cache, &|text| eprintln!("{text}")).unwrap()
}

/// Runs `work.sh` on such a machine as this user; what it leaves is in `shared`, where its studies are.
pub fn run(cache: &Cache, kernel: &Kernel, dyntick: &Path, shared: &Path) {
    std::fs::write(shared.join("work.sh"), include_str!("work.sh")).unwrap();
    std::fs::write(shared.join("environment"), environment(cache, dyntick)).unwrap();
    let console = shared.join("console");
    let mut machine = Ended(command(cache, kernel, shared, &console).spawn().unwrap());
    let begin = Instant::now();
    while machine.0.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < LIMIT, "not done within {LIMIT:?}:\n{}", said(&console));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(shared.join("busy.status").exists(), "it ended early:\n{}", said(&console));
}

fn said(console: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(console).unwrap_or_default()).into_owned()
}

/// A machine that does not outlive a test that fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// As shell variables: this user, and where it has its dyntick and its cache.
fn environment(cache: &Cache, dyntick: &Path) -> String {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let quoted = |path: &Path| format!("'{}'", path.to_str().unwrap().replace('\'', r"'\''"));
    format!(
        "export TEST_UID={user} TEST_GID={group} DYNTICK={} DYNTICK_CACHE={}\n",
        quoted(dyntick),
        quoted(cache.root())
    )
}

fn command(cache: &Cache, kernel: &Kernel, shared: &Path, console: &Path) -> Command {
    let qemu = provide::find(cache, &|text| eprintln!("{text}")).unwrap();
    let mut command = qemu.command();
    command.args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]);
    command.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-machine", "pc", "-m", "3G"]);
    command.args(["-smp", &CPUS.to_string()]);
    if let Some(firmware) = qemu.minimal_firmware() {
        command.arg("-bios").arg(firmware);
    }
    let serial = format!("file:{}", console.display());
    command.args(["-serial", &serial]).arg("-kernel").arg(&kernel.image);
    command.arg("-initrd").arg(initramfs(kernel, shared));
    command.args(["-append", "console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check mitigations=off"]);
    let files = |folder: &Path, tag: &str, more: &str| {
        format!("local,path={},mount_tag={tag},security_model=none{more}", folder.display())
    };
    command.arg("-virtfs").arg(files(Path::new("/"), "machine", ",readonly=on,multidevs=remap"));
    command.arg("-virtfs").arg(files(shared, "shared", ""));
    command.stdin(Stdio::null());
    // A test that is killed drops nothing.
    let end_with_this_one = || Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: one async-signal-safe system call between fork and exec.
    unsafe { command.pre_exec(end_with_this_one) };
    command
}

/// busybox runs `init.sh`; the lab's own code puts the modules into their order.
fn initramfs(kernel: &Kernel, folder: &Path) -> PathBuf {
    let busybox = image::find_tool("busybox").unwrap();
    let init = folder.join("init");
    let busybox = busybox.to_str().unwrap();
    let script = include_str!("init.sh").replace("BUSYBOX", busybox);
    std::fs::write(&init, format!("#!{busybox} sh\n{script}")).unwrap();
    let tools = [busybox.to_owned()];
    let modules = MODULES.map(str::to_owned);
    let tools = image::programs(&tools).unwrap();
    let contents = Contents { tools: Some(&tools), modules: &modules, ..Contents::default() };
    let image = image::build(&init, kernel, contents).unwrap();
    let initramfs = folder.join("initramfs");
    std::fs::write(&initramfs, image.bytes).unwrap();
    initramfs
}
