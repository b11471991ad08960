// SPDX-License-Identifier: GPL-2.0-only
//! The kernels that could be named in place of one that does not exist.

use super::{KernelError, State, at_hand, catalog};
use crate::build;
use crate::cache::Cache;
use dyntick_model::Spec;
use dyntick_model::text::nearest;
use rustix::fs::Access;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// The number of those that are named.
const MOST: usize = 3;

/// The kernels that are there without a network and could be meant, the most alike first: for a file the images next to
/// it, else those that are installed, downloaded or built, those of the same kind first. None where the error itself
/// names one.
pub fn instead(spec: &str, error: &KernelError, cache: &Cache) -> Vec<String> {
    if matches!(error, KernelError::NotOffered { nearest: Some(_), .. }) {
        return Vec::new();
    }
    let beside = match spec.parse() {
        Ok(Spec::Path(path)) => images_beside(&path),
        _ => Vec::new(),
    };
    let all = if beside.is_empty() { there(spec, cache) } else { beside };
    likest_first(spec, all)
}

/// All kernels at hand: Debian's first if one of them was named, else those that were built here, the last used one
/// first.
fn there(spec: &str, cache: &Cache) -> Vec<String> {
    let mut built = build::all(cache);
    built.sort_by_key(|built| Reverse(built.folder.metadata().and_then(|found| found.modified()).ok()));
    let built = built.iter().map(|built| catalog::built_spec(&built.key)).collect();
    let others: Vec<String> = at_hand(cache)
        .into_iter()
        .rev()
        .filter(|entry| entry.state != State::Built)
        .map(|entry| entry.spec)
        .collect();
    if spec.starts_with("debian:") { [others, built].concat() } else { [built, others].concat() }
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
    fn kernels_that_were_built_last_are_the_nearest_to_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let key = |number: u8| format!("{number:x}").repeat(32);
        for number in [3u8, 1, 2, 4] {
            let built = build::built::tests::record(&key(number), &[]);
            let place = cache.path(&format!("built/{}/built.json", key(number)));
            crate::cache::write_whole(&place, &serde_json::to_vec(&built).unwrap()).unwrap();
            let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(number));
            std::fs::File::open(place.parent().unwrap()).unwrap().set_modified(time).unwrap();
        }
        let there = instead("./nope/bzImage", &not_offered(None), &cache);
        assert_eq!(there, ["4", "3", "2"].map(|digit| format!("built:{}", digit.repeat(12))));
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
