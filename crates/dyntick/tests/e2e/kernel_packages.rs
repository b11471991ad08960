// SPDX-License-Identifier: GPL-2.0-only
//! Kernels out of package files, as other distributions have them: Debian's own files, packed once more.

use crate::harness::{dyntick_in, image_of, text};
use std::path::Path;
use std::process::{Command, Stdio};

/// Packs a folder as a .deb file.
fn deb(root: &Path, file: &Path) {
    std::fs::create_dir(root.join("DEBIAN")).unwrap();
    let control =
        "Package: kernel\nVersion: 1\nArchitecture: amd64\nMaintainer: a <a@b>\nDescription: a kernel\n";
    std::fs::write(root.join("DEBIAN/control"), control).unwrap();
    let packed = Command::new("dpkg-deb").args(["-Zgzip", "-b"]).args([root, file]).output().unwrap();
    assert!(packed.status.success(), "{}", text(&packed.stderr));
}

/// Packs a folder as an .rpm file: the lead, two headers without entries, and a cpio archive by gzip
/// (rpm.org, "Package format V4").
fn rpm(root: &Path, file: &Path) {
    let header = [[0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0], [0; 8]].concat();
    let lead = [vec![0xed, 0xab, 0xee, 0xdb, 3, 0], vec![0; 72], vec![0, 5], vec![0; 16]].concat();
    std::fs::write(file, [lead, header.clone(), header].concat()).unwrap();
    let script = "find . | cpio --quiet -o -H newc | gzip -1 >> \"$1\"";
    let packed = Command::new("sh").args(["-c", script, "sh"]).arg(file).current_dir(root).status().unwrap();
    assert!(packed.success());
}

/// Copies files, with the folders of their new places.
fn put(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(from, to).unwrap();
}

#[test]
fn packages_of_other_distributions_are_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let run = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let output = dyntick_in(path, &words);
        (output.status.code(), text(&output.stdout).replace('\r', ""), text(&output.stderr))
    };
    assert_eq!(run("lab shell --virtual -- true").0, Some(0));
    let image = image_of("6.12");
    let release = image.file_name().unwrap().to_str().unwrap().strip_prefix("vmlinuz-").unwrap().to_owned();
    let config = image.with_file_name(format!("config-{release}"));
    let index =
        image.parent().unwrap().with_file_name("lib").join("modules").join(&release).join("modules.order");

    let root = path.join("image");
    put(&image, &root.join("boot").join(image.file_name().unwrap()));
    put(&config, &root.join("boot").join(config.file_name().unwrap()));
    let image_package = format!("linux-image-unsigned-{release}_1_amd64.deb");
    deb(&root, &path.join(&image_package));
    let (status, _, said) =
        run(&format!("lab shell --virtual --kernel ./{image_package} -- busybox uname -r"));
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("put the package of its modules there"), "{said}");
    let root = path.join("modules");
    put(&index, &root.join("lib/modules").join(&release).join("modules.order"));
    let modules_package = format!("linux-modules-{release}_1_amd64.deb");
    deb(&root, &path.join(&modules_package));
    let (status, told, said) =
        run(&format!("lab shell --virtual --kernel ./{image_package} -- busybox uname -r"));
    assert!(told.contains(&release) && status == Some(0), "{told}{said}");
    assert!(said.contains(&modules_package) && !said.contains("package of its modules"), "{said}");
    let (status, told, said) = run(&format!("lab kernels diff ./{image_package} ./{image_package}"));
    assert_eq!(status, Some(0), "{told}{said}");
    assert!(
        told.starts_with("no difference in options, patches and release\nthe same: HZ 250, NO_HZ_FULL"),
        "{told}"
    );
    let (status, _, said) = run(&format!("lab shell --virtual --kernel ./{modules_package} -- true"));
    assert_eq!(status, Some(0), "the image beside it is its kernel: {said}");

    let root = path.join("core");
    put(&image, &root.join("lib/modules").join(&release).join("vmlinuz"));
    put(&config, &root.join("lib/modules").join(&release).join("config"));
    rpm(&root, &path.join("kernel-core-6.12.1-1.fc41.x86_64.rpm"));
    let kernel = "./kernel-core-6.12.1-1.fc41.x86_64.rpm";
    let (status, told, said) = run(&format!("lab kernels diff ./{image_package} {kernel}"));
    assert_eq!(status, Some(0), "{told}{said}");
    let (status, told, said) = run(&format!("lab shell --virtual --kernel {kernel} -- busybox uname -r"));
    assert!(told.contains(&release) && status == Some(0), "{told}{said}");
}

#[test]
fn package_that_is_damaged_or_has_no_kernel_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |file: &str| {
        let output = dyntick_in(folder.path(), &["lab", "kernels", "diff", file, file]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        text(&output.stderr)
    };
    let root = folder.path().join("none");
    std::fs::create_dir_all(root.join("usr/share")).unwrap();
    deb(&root, &folder.path().join("none.deb"));
    let said = refused("./none.deb");
    assert!(said.contains("cannot find a kernel in ") && said.contains("linux-image-RELEASE"), "{said}");
    rpm(&root, &folder.path().join("none.rpm"));
    assert!(refused("./none.rpm").contains("cannot find a kernel in "));
    for file in ["damaged.deb", "damaged.rpm"] {
        std::fs::write(folder.path().join(file), "no package at all").unwrap();
        let said = refused(&format!("./{file}"));
        assert!(said.contains("cannot unpack ") && said.contains(file), "{said}");
    }
    let _ = Command::new("mkfifo").arg(folder.path().join("fifo.deb")).stdout(Stdio::null()).status();
    assert!(!refused("./fifo.deb").is_empty());
}
