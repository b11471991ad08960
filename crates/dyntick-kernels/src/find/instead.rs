// SPDX-License-Identifier: GPL-2.0-only
//! The kernels that could be named in place of one that does not exist.

use super::{KernelError, at_hand};
use crate::cache::Cache;
use dyntick_model::Spec;
use dyntick_model::text::nearest;
use rustix::fs::Access;
use std::path::{Path, PathBuf};

/// The number of those that are named.
const MOST: usize = 4;

/// The kernels that are there without a network and could be meant, the most alike first: for a file the images next to
/// it, else those that are installed, downloaded or built. None where the error itself names one.
pub fn instead(spec: &str, error: &KernelError, cache: &Cache) -> Vec<String> {
    if matches!(error, KernelError::NotOffered { nearest: Some(_), .. }) {
        return Vec::new();
    }
    let beside = match spec.parse() {
        Ok(Spec::Path(path)) => images_beside(&path),
        _ => Vec::new(),
    };
    let all = match beside.is_empty() {
        true => at_hand(cache).into_iter().rev().map(|entry| entry.spec).collect(),
        false => beside,
    };
    likest_first(spec, all)
}

/// The kernel images in the folder of this file.
fn images_beside(path: &Path) -> Vec<String> {
    const NAMES: [&str; 4] = ["vmlinuz", "bzImage", "vmlinux", "Image"];
    let entries = path.parent().map(std::fs::read_dir).into_iter().flatten().flatten().flatten();
    // One that this user may not read is no help.
    let is_readable = |file: &PathBuf| file.is_file() && rustix::fs::access(file, Access::READ_OK).is_ok();
    let files = entries.map(|entry| entry.path()).filter(|file| is_readable(file) && file != path);
    let is_image = |file: &Path| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        NAMES.iter().any(|image| name.starts_with(image)) && !name.contains(".map")
    };
    let mut images: Vec<String> =
        files.filter(|file| is_image(file)).map(|file| file.display().to_string()).collect();
    images.sort();
    images
}

fn likest_first(spec: &str, mut all: Vec<String>) -> Vec<String> {
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    if let Some(best) = nearest(spec, &names).and_then(|best| all.iter().position(|name| name == best)) {
        let best = all.remove(best);
        all.insert(0, best);
    }
    all.dedup();
    all.truncate(MOST);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_offered(nearest: Option<&str>) -> KernelError {
        KernelError::NotOffered { name: "7.9".into(), nearest: nearest.map(str::to_owned) }
    }

    #[test]
    fn images_next_to_an_absent_file_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["vmlinuz-6.12", "bzImage", "bzImage.old", "System.map", "config-6.12"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let cache = Cache::at(folder.path().join("cache"));
        let wanted = folder.path().join("bzImag").display().to_string();
        let named = instead(&wanted, &not_offered(None), &cache);
        let names: Vec<&str> = named.iter().map(|path| path.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["bzImage", "bzImage.old", "vmlinuz-6.12"]);
    }

    #[test]
    fn a_named_alternative_is_the_only_one() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let boot = cache.path("kernels/6.1.0-56-amd64_6.1.192-2/boot");
        std::fs::create_dir_all(&boot).unwrap();
        std::fs::write(boot.join("vmlinuz-6.1.0-56-amd64"), "").unwrap();
        let there = instead("debian:7.9", &not_offered(None), &cache);
        assert!(there.contains(&"debian:6.1.0-56-amd64".to_owned()), "{there:?}");
        assert!(instead("debian:7.9", &not_offered(Some("7.8")), &cache).is_empty());
    }
}
