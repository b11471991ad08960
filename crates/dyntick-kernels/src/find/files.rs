// SPDX-License-Identifier: GPL-2.0-only
//! The files of a kernel.

use super::KernelError;
use crate::apt::Package;
use crate::build::Built;
use dyntick_system::confine::real_path;
use std::path::{Path, PathBuf};

/// The configuration of the running kernel, if it was built to show it.
pub(super) const CONFIG_OF_HOST: &str = "/proc/config.gz";

/// The files of a kernel as they came.
pub(super) struct Files {
    /// The bzImage or vmlinux.
    pub image: PathBuf,
    /// The text of its configuration, plain or by gzip.
    pub config: Option<PathBuf>,
    /// Its `lib/modules/RELEASE` folder.
    pub modules: Option<PathBuf>,
    /// Its origin.
    pub source: String,
    /// The package that it is from.
    pub package: Option<Package>,
    /// A note if the name may mean another kernel today.
    pub fallback: Option<String>,
    /// The source tree that it was compiled in.
    pub tree: Option<PathBuf>,
}

/// The image of an x86 kernel in the tree that it was compiled in.
const IMAGE_IN_TREE: &str = "arch/x86/boot/bzImage";

/// The program of a tree that links modules; it is there once a kernel was compiled.
const MODPOST: &str = "scripts/mod/modpost";

impl Files {
    /// A kernel that was built here.
    pub fn built(built: &Built) -> Self {
        Files {
            image: built.image(),
            config: Some(built.config_file()),
            modules: built.modules(),
            source: format!("{}, built to order as {}", built.source, built.key),
            package: None,
            fallback: None,
            tree: None,
        }
    }

    /// An image with the files next to it: `boot/vmlinuz-RELEASE` has its configuration in
    /// `boot/config-RELEASE` and its modules in `lib/modules/RELEASE`; `lib/modules/RELEASE/vmlinuz` has all
    /// in its folder, as in Fedora and, from 7.2 on, in Debian. A tree in which a kernel was compiled has its image,
    /// its configuration and all that a module needs.
    pub fn at(path: PathBuf) -> Self {
        let path = real_path(&path);
        let image = if path.is_dir() { path.join(IMAGE_IN_TREE) } else { path };
        if let Some(tree) = tree_of(&image) {
            return Files {
                config: Some(tree.join(".config")),
                modules: None,
                source: format!("tree {}", tree.display()),
                package: None,
                fallback: None,
                tree: Some(tree.to_owned()),
                image,
            };
        }
        if let Some(folder) = among_modules(&image) {
            return Files {
                config: Some(folder.join("config")).filter(|path| path.is_file()),
                modules: Some(folder.to_owned()),
                source: format!("file {}", image.display()),
                package: None,
                fallback: None,
                tree: None,
                image,
            };
        }
        let name = image.file_name().unwrap_or_default().to_string_lossy();
        let release = name.split_once('-').map(|(_, release)| release);
        let config = release.map(|release| image.with_file_name(format!("config-{release}")));
        Files {
            config: config.filter(|path| path.is_file()),
            modules: release.and_then(|release| modules(&image, release)),
            source: format!("file {}", image.display()),
            package: None,
            fallback: None,
            tree: None,
            image,
        }
    }
}

/// The tree that an image was compiled in, if a module can be compiled there: its own folder for a vmlinux.
fn tree_of(image: &Path) -> Option<&Path> {
    let tree = if image.ends_with(IMAGE_IN_TREE) {
        image.ancestors().nth(Path::new(IMAGE_IN_TREE).components().count())?
    } else {
        image.parent().filter(|_| image.ends_with("vmlinux"))?
    };
    [".config", "Makefile", MODPOST].iter().all(|file| tree.join(file).is_file()).then_some(tree)
}

/// The folder of an image that lies among its modules.
fn among_modules(image: &Path) -> Option<&Path> {
    let folder = image.parent().filter(|_| image.ends_with("vmlinuz"))?;
    folder.parent()?.ends_with("lib/modules").then_some(folder)
}

fn modules(image: &Path, release: &str) -> Option<PathBuf> {
    let root = image.parent().filter(|folder| folder.ends_with("boot"))?.parent()?;
    let folders = ["lib/modules", "usr/lib/modules"].map(|place| root.join(place).join(release));
    // A link in an untrusted folder may lead to the modules of this machine, or to any file.
    folders.into_iter().find(|folder| {
        folder.canonicalize().is_ok_and(|real| {
            real.starts_with(root) && real.ends_with(Path::new("lib/modules").join(release)) && real.is_dir()
        })
    })
}

/// The files of the running kernel.
pub(super) fn of_host() -> Result<Files, KernelError> {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy().into_owned();
    let folder = PathBuf::from(format!("/lib/modules/{release}"));
    let candidates = [PathBuf::from(format!("/boot/vmlinuz-{release}")), folder.join("vmlinuz")];
    let image =
        candidates.into_iter().find(|path| path.is_file()).ok_or(KernelError::NoHostImage(release))?;
    let files = Files::at(image);
    let said = Some(PathBuf::from(CONFIG_OF_HOST)).filter(|path| path.exists());
    Ok(Files {
        config: files.config.or(said),
        modules: files.modules.or(Some(folder).filter(|folder| folder.is_dir())),
        ..files
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_next_to_an_image_are_found() {
        let root = tempfile::tempdir().unwrap();
        let image = root.path().join("boot/vmlinuz-6.12.1-x");
        std::fs::create_dir_all(root.path().join("boot")).unwrap();
        std::fs::create_dir_all(root.path().join("usr/lib/modules/6.12.1-x")).unwrap();
        std::fs::write(root.path().join("boot/config-6.12.1-x"), "").unwrap();
        let files = Files::at(image);
        assert_eq!(files.config, Some(root.path().join("boot/config-6.12.1-x")));
        assert_eq!(files.modules, Some(root.path().join("usr/lib/modules/6.12.1-x")));
        let modules = root.path().join("usr/lib/modules/6.12.1-x");
        std::fs::remove_dir(&modules).unwrap();
        for away in ["/", "/lib/modules", "../../.."] {
            std::os::unix::fs::symlink(away, &modules).unwrap();
            assert_eq!(Files::at(root.path().join("boot/vmlinuz-6.12.1-x")).modules, None, "{away}");
            std::fs::remove_file(&modules).unwrap();
        }
        let folder = root.path().join("usr/lib/modules/7.2.1-x");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("vmlinuz"), "").unwrap();
        std::fs::write(folder.join("config"), "").unwrap();
        let files = Files::at(folder.join("vmlinuz"));
        assert_eq!((files.config, files.modules), (Some(folder.join("config")), Some(folder)));
        let tree = root.path().join("linux");
        std::fs::create_dir_all(tree.join("arch/x86/boot")).unwrap();
        std::fs::create_dir_all(tree.join("scripts/mod")).unwrap();
        for file in [".config", "Makefile", IMAGE_IN_TREE, "vmlinux"] {
            std::fs::write(tree.join(file), "").unwrap();
        }
        assert_eq!(Files::at(tree.join(IMAGE_IN_TREE)).tree, None, "no module can be compiled there");
        std::fs::write(tree.join(MODPOST), "").unwrap();
        for name in [tree.clone(), tree.join(IMAGE_IN_TREE), tree.join("vmlinux")] {
            let files = Files::at(name);
            assert_eq!((files.tree, files.config), (Some(tree.clone()), Some(tree.join(".config"))));
        }
        assert_eq!(Files::at(tree.clone()).image, tree.join(IMAGE_IN_TREE));
        let alone = Files::at("bzImage".into());
        assert_eq!((alone.config, alone.modules), (None, None));
    }
}
