// SPDX-License-Identifier: GPL-2.0-only
//! Real kernels and a real QEMU, fetched from the machine's Debian mirror. The user's cache is used,
//! so that only the first run downloads.

use dyntick_kernels::apt::{Apt, AptError};
use dyntick_kernels::cache::Cache;
use dyntick_kernels::find::{self, Kernel, KernelError, State};
use dyntick_lab::qemu::provide;
use std::cell::Cell;
use std::process::Command;
use std::time::{Duration, SystemTime};

fn say(text: &str) {
    eprintln!("{text}");
}

fn cache() -> Cache {
    Cache::of_user().unwrap()
}

fn resolve(spec: &str) -> Kernel {
    find::resolve(spec, &cache(), &say).unwrap()
}

#[test]
fn debian_kernels_are_fetched_and_uncompressed() {
    for (spec, series) in [("debian:6.1", (6, 1)), ("debian:6.12", (6, 12))] {
        let kernel = resolve(spec);
        assert_eq!((kernel.release.major, kernel.release.minor), series, "{}", kernel.release);
        assert_eq!(kernel.config.hz(), Some(250));
        assert!(kernel.config.is_enabled("NO_HZ_FULL") && !kernel.config.is_enabled("PREEMPT_RT"));
        assert!(std::fs::read(&kernel.image).unwrap().starts_with(b"\x7fELF"), "entered by its PVH note");
        let modules = kernel.modules.unwrap();
        assert!(modules.ends_with(&kernel.release.release) && modules.join("modules.builtin").is_file());
        assert!(kernel.source.contains(&format!("linux-image-{} ", kernel.release)), "{}", kernel.source);
    }
}

#[test]
fn an_exact_kernel_of_the_cache_needs_no_mirror() {
    let newest = resolve("debian:6.12");
    let silent = |text: &str| panic!("nothing is to be asked or fetched: {text}");
    let exact = find::resolve(&format!("debian:{}", newest.release), &cache(), &silent).unwrap();
    assert_eq!((exact.sha256, exact.source), (newest.sha256, newest.source));
}

#[test]
fn the_same_image_by_its_path_finds_its_configuration_and_modules() {
    let packaged = resolve("debian:6.12");
    let boot = packaged.modules.as_ref().unwrap().ancestors().find(|folder| folder.join("boot").is_dir());
    let image = boot.unwrap().join(format!("boot/vmlinuz-{}", packaged.release));
    let by_path = resolve(image.to_str().unwrap());
    assert_eq!(by_path.sha256, packaged.sha256);
    assert_eq!(by_path.release, packaged.release);
    assert_eq!(by_path.config, packaged.config);
    assert_eq!(by_path.modules, packaged.modules);

    let vmlinux = resolve(packaged.image.to_str().unwrap());
    assert_eq!(vmlinux.release, packaged.release, "from the banner of the kernel itself");
    assert!(vmlinux.config.is_empty(), "Debian's kernels do not carry their configuration");
}

#[test]
fn missing_kernel_is_reported() {
    let refusal = |spec: &str| find::resolve(spec, &cache(), &say).unwrap_err();
    assert!(matches!(refusal("debian:2.6"), KernelError::NotOffered { name, .. } if name == "2.6"));
    let unknown = refusal("debian:6.12.0+nobody-amd64");
    assert!(matches!(unknown, KernelError::NotOffered { .. }), "{unknown}");
    assert!(matches!(refusal("./no-such-file"), KernelError::Input(_)));
    assert!(matches!(refusal("/etc/os-release"), KernelError::Image { .. }));
}

#[test]
fn the_list_names_what_is_downloaded_and_what_is_offered() {
    let kernel = resolve("debian:6.12");
    let (entries, problem) = find::catalog(&cache(), &say);
    assert_eq!(problem, None);
    let downloaded = entries.iter().find(|entry| entry.spec == format!("debian:{}", kernel.release)).unwrap();
    assert_eq!((downloaded.state, downloaded.hz), (State::Downloaded, Some(250)));
    assert_eq!((downloaded.no_hz_full, downloaded.preempt_rt), (Some(true), Some(false)));
    assert!(entries.iter().any(|entry| entry.spec == "debian:6.12-rt"));
}

#[test]
fn a_qemu_for_virtual_time_starts() {
    let qemu = provide::find(&cache(), &say).unwrap();
    let output = qemu.command().args(["-accel", "help"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("tcg"), "{output:?}");
    let firmware = qemu.minimal_firmware().unwrap();
    assert!(firmware.is_file());
}

/// A mirror removes a package as soon as another one supersedes it.
#[test]
fn an_index_that_names_what_is_gone_is_asked_for_again() {
    let all = cache();
    Apt::open(&all, &say).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-a").arg(all.path("apt")).arg(folder.path()).status().unwrap();
    assert!(copied.success());
    let apt_of_test = folder.path().join("apt");
    for list in std::fs::read_dir(apt_of_test.join("lists")).unwrap().flatten().map(|entry| entry.path()) {
        let name = list.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with("InRelease") {
            // Else the mirror says that nothing has changed.
            std::fs::remove_file(&list).unwrap();
        } else if name.contains("_Packages") {
            let text =
                Command::new("/usr/lib/apt/apt-helper").arg("cat-file").arg(&list).output().unwrap().stdout;
            let text = String::from_utf8_lossy(&text).replace("/seabios_", "/gone_");
            std::fs::remove_file(&list).unwrap();
            std::fs::write(list.with_file_name(name.trim_end_matches(".lz4")), text).unwrap();
        }
    }
    let _ = std::fs::remove_file(apt_of_test.join("cache/pkgcache.bin"));
    std::fs::write(apt_of_test.join("fresh"), "").unwrap();
    let hours_ago = SystemTime::now() - Duration::from_secs(2 * 3600);
    for mark in ["fresh", "asked"] {
        let mark = std::fs::File::options().write(true).open(apt_of_test.join(mark)).unwrap();
        mark.set_modified(hours_ago).unwrap();
    }
    std::fs::create_dir(folder.path().join("unpacked")).unwrap();
    let cache = Cache::at(folder.path());
    let apt = Apt::open(&cache, &say).unwrap();
    let tries = Cell::new(0);
    let fetched = apt.looking_again(&cache, &say, || {
        tries.set(tries.get() + 1);
        let seabios = [("seabios".to_owned(), apt.newest("seabios")?.unwrap())];
        apt.unpack(&seabios, &folder.path().join("unpacked"))
    });
    fetched.unwrap();
    assert_eq!(tries.get(), 2, "what is gone, and what the mirror has");
    assert!(folder.path().join("unpacked/usr/share/seabios/bios.bin").is_file());
    let missing = apt.looking_again(&cache, &say, || {
        tries.set(tries.get() + 1);
        apt.unpack(&[("seabios".to_owned(), "0".to_owned())], &folder.path().join("unpacked"))
    });
    assert!(missing.is_err());
    assert_eq!(tries.get(), 3, "the index has just come");
}

#[test]
fn packages_are_unpacked_and_leave_nothing_else() {
    let apt = Apt::open(&cache(), &say).unwrap();
    let version = apt.newest("seabios").unwrap().unwrap();
    let seabios = [("seabios".to_owned(), version)];
    let (download, unpacked) = apt.size(&seabios).unwrap();
    assert!(download > 1 << 16 && unpacked > download);
    let folder = tempfile::tempdir().unwrap();
    apt.unpack(&seabios, folder.path()).unwrap();
    assert!(folder.path().join("usr/share/seabios/bios.bin").is_file());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["usr"], "the package itself is gone");

    let nobody = [("no-such-package".to_owned(), "1".to_owned())];
    assert!(matches!(apt.unpack(&nobody, folder.path()), Err(AptError::Failed { .. })));
}
