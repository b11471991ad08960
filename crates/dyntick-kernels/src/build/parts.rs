// SPDX-License-Identifier: GPL-2.0-only
//! The parts of a kernel that a recipe names, with their files read.

use super::{BuildError, source};
use dyntick_model::Recipe;
use dyntick_model::shipped::{self, is_path};
use dyntick_model::text::shown;
use dyntick_system::{InputError, closed_to_others};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A recipe whose files have been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The same as in the recipe.
    pub source: String,
    /// The fragments.
    pub config: Vec<Part>,
    /// The patches.
    pub patches: Vec<Part>,
}

/// One fragment or patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name or path, as it was asked for.
    pub name: String,
    /// Its file name, whose extension is the kind of a patch.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The folder that it was read in, by its real path; none of what comes with dyntick.
    pub folder: Option<PathBuf>,
}

/// The extension of a semantic patch.
pub(super) const SEMANTIC: &str = "cocci";

impl Part {
    /// The extension of its file.
    pub(super) fn kind(&self) -> Option<&str> {
        Path::new(&self.file).extension()?.to_str()
    }

    /// True if spatch(1) applies it.
    pub(super) fn is_semantic(&self) -> bool {
        self.kind() == Some(SEMANTIC)
    }

    /// The name that finds it from any working folder.
    fn place(&self) -> String {
        let path = self.folder.as_ref().zip(Path::new(&self.file).file_name());
        path.map_or(self.name.clone(), |(folder, file)| folder.join(file).to_string_lossy().into_owned())
    }

    /// True if it comes with dyntick.
    pub fn is_shipped(&self) -> bool {
        self.folder.is_none()
    }
}

/// A note if other users may not read a file that the kernel is built from: it may be in the report.
pub fn private_note(recipe: &Recipe) -> Option<String> {
    let paths = recipe.config.iter().chain(&recipe.patches).filter(|name| is_path(name)).map(PathBuf::from);
    let place =
        source::reads(&recipe.source).into_iter().chain(paths).find_map(|path| closed_to_others(&path))?;
    Some(format!(
        "built from {}, which other users of this machine may not read: look at the report before you send it",
        shown(&place)
    ))
}

impl Parts {
    /// Reads the fragments and patches of a recipe.
    pub fn load(recipe: &Recipe) -> Result<Self, BuildError> {
        let all = |names: &[String], shipped: &shipped::Parts, most: u64| -> Result<Vec<Part>, BuildError> {
            let mut left = most;
            names.iter().map(|name| part(name, shipped, most, &mut left)).collect()
        };
        Ok(Parts {
            source: recipe.source.clone(),
            config: all(&recipe.config, &shipped::FRAGMENTS, MOST_CONFIG)?,
            patches: all(&recipe.patches, &shipped::PATCHES, MOST_PATCHES)?,
        })
    }
}

impl Parts {
    /// The recipe, with complete paths.
    pub(super) fn recipe(&self) -> Recipe {
        let places = |parts: &[Part]| parts.iter().map(Part::place).collect();
        let recipe = Recipe {
            source: self.source.clone(),
            config: places(&self.config),
            patches: places(&self.patches),
        };
        std::env::current_dir().map_or(recipe.clone(), |folder| recipe.relative_to(&folder))
    }
}

/// All fragments of a kernel together, bytes: a distribution's configuration has 300 KiB, and each
/// option takes memory.
const MOST_CONFIG: u64 = 8 << 20;
/// All patches of a kernel together, bytes: the largest patch set against one has some MiB.
const MOST_PATCHES: u64 = 64 << 20;
/// The least that each part counts, so that empty ones have a limit, too.
const LEAST: u64 = 64 << 10;

/// Reads a part of at most `left` bytes; `most` is the limit of all.
fn part(name: &str, shipped: &shipped::Parts, most: u64, left: &mut u64) -> Result<Part, BuildError> {
    if is_path(name) {
        let file = dyntick_system::open_regular(Path::new(name))?;
        let bytes =
            dyntick_system::read_open(&file, Path::new(name), *left).map_err(|error| match error {
                InputError::TooLarge { .. } => BuildError::Failed {
                    what: format!("read {name}"),
                    message: format!("its parts of this kind have more than {} MiB together", most >> 20),
                },
                error => error.into(),
            })?;
        *left = left.saturating_sub((bytes.len() as u64).max(LEAST));
        let text = String::from_utf8(bytes).map_err(|_| InputError::NotText { path: name.into() })?;
        let folder = Some(folder_of(&file).map_err(|source| InputError::Io { path: name.into(), source })?);
        return Ok(Part { name: name.to_owned(), file: name.to_owned(), text, folder });
    }
    match shipped.find(name) {
        Some((file, text)) => Ok(Part { name: name.to_owned(), file, text, folder: None }),
        None => Err(BuildError::NoSuchPart(shipped.lack(name))),
    }
}

/// The folder of an open file: its path may lead to another one by now.
fn folder_of(file: &File) -> std::io::Result<PathBuf> {
    let place = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    Ok(place.parent().unwrap_or(Path::new("/")).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_parts_are_reported_with_the_nearest() {
        let recipe = |name: &str| Recipe { config: vec![name.into()], ..Recipe::default() };
        assert!(Parts::load(&recipe("lab")).unwrap().config[0].text.contains("CONFIG_PVH=y"));
        let error = Parts::load(&recipe("preempt_rt")).unwrap_err().to_string();
        assert!(error.contains("did you mean 'preempt-rt'?"), "{error}");
        assert!(matches!(Parts::load(&recipe("./no.config")), Err(BuildError::Input(_))));
    }

    #[test]
    fn a_part_knows_where_it_was_read() {
        let dir = tempfile::tempdir().unwrap();
        let [mine, theirs] = ["mine", "theirs"].map(|name| dir.path().canonicalize().unwrap().join(name));
        for folder in [&mine, &theirs] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("f.config"), "CONFIG_X=y\n").unwrap();
        }
        let way = dir.path().join("way");
        std::os::unix::fs::symlink(&theirs, &way).unwrap();
        let name = way.join("f.config").to_string_lossy().into_owned();
        let parts = Parts::load(&Recipe { config: vec![name], ..Recipe::default() }).unwrap();
        std::fs::remove_file(&way).unwrap();
        std::os::unix::fs::symlink(&mine, &way).unwrap();
        assert_eq!(parts.config[0].folder.as_deref(), Some(&*theirs));
        assert_eq!(parts.recipe().config, [theirs.join("f.config").to_string_lossy()]);
    }

    #[test]
    fn parts_have_a_limit_together() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large.patch");
        std::fs::write(&path, vec![b'x'; MOST_PATCHES as usize / 2]).unwrap();
        let name = path.to_string_lossy().into_owned();
        let load = |count: usize| {
            let patches = vec![name.clone(); count];
            Parts::load(&Recipe { patches, ..Recipe::default() }).map(|_| ())
        };
        load(2).unwrap();
        let told = load(3).unwrap_err().to_string();
        assert!(told.contains("large.patch") && told.contains("more than 64 MiB together"), "{told}");
        std::fs::write(&path, "x").unwrap();
        load(100).unwrap();
        assert!(load(2000).is_err());
    }

    #[test]
    fn private_files_of_a_kernel_are_noted() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let rights = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let home = root.join("home");
        for folder in ["worktree", "borrower/.git/objects/info", "home/linux/.git/objects/info"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["home/linux/.git/HEAD", "home/l.tar.gz", "home/p.patch", "borrower/.git/HEAD"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        std::fs::write(root.join("worktree/.git"), "gitdir: ../home/linux/.git").unwrap();
        let alternates = root.join("borrower/.git/objects/info/alternates");
        std::fs::write(alternates, "../../../home/linux/.git/objects").unwrap();
        rights(&root, 0o755);
        let names = ["git:home/linux#v6.12", "git:worktree", "git:borrower", "home/linux", "home/l.tar.gz"];
        let of_source = names.map(|source| Recipe { source: source.into(), ..Recipe::default() });
        let patches = vec!["home/p.patch".into()];
        let of_patch = Recipe { source: "debian:6.12".into(), patches, ..Recipe::default() };
        for recipe in of_source.into_iter().chain([of_patch]).map(|recipe| recipe.relative_to(&root)) {
            rights(&home, 0o755);
            assert_eq!(private_note(&recipe), None, "{recipe:?}");
            rights(&home, 0o700);
            let note = private_note(&recipe).unwrap();
            assert!(note.starts_with(&format!("built from {}, which", home.display())), "{note}");
        }
    }

    #[test]
    fn a_part_is_a_regular_file() {
        let recipe = Recipe { config: vec!["/dev/zero".into()], ..Recipe::default() };
        let told = Parts::load(&recipe).err().unwrap().to_string();
        assert_eq!(told, "cannot read /dev/zero: it is a device, but a regular file is required");
    }
}
