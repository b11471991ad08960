// SPDX-License-Identifier: GPL-2.0-only
//! The patches of `dyntick lab try`: mails, diffs, folders of them, semantic patches, and commits of a user's tree.

use anyhow::{Context, Result, bail};
use dyntick_formats::mails::{self, Series};
use dyntick_kernels::build::{changed_files, mails_of};
use dyntick_system::read_regular;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A patch set in the kernel has some MiB.
const LARGEST: u64 = 64 << 20;

/// The ending of semantic patches.
const SEMANTIC: &str = "cocci";

/// The kernel to which patches are applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The source, as a recipe names it.
    pub source: String,
    /// The tree and its revision, if it is a tree of git on this machine.
    tree: Option<(PathBuf, Option<String>)>,
}

impl Base {
    /// The base of a text: `debian:6.12`, the folder of a tree, or `TREE@REVISION` of its git repository.
    pub fn of(text: &str) -> Result<Self> {
        if let Some((tree, revision)) = text.rsplit_once('@').filter(|(tree, _)| Path::new(tree).is_dir()) {
            let tree = absolute(Path::new(tree))?;
            let source = format!("git:{}#{revision}", tree.display());
            return Ok(Self { source, tree: Some((tree, Some(revision.to_owned()))) });
        }
        if Path::new(text).exists() {
            let tree = absolute(Path::new(text))?;
            return Ok(Self { source: tree.display().to_string(), tree: Some((tree, None)) });
        }
        Ok(Self { source: text.to_owned(), tree: None })
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot find the path of {}", path.display()))
}

/// The patches of a command line.
#[derive(Debug, Default)]
pub struct Input {
    /// The mails, with their diffs.
    pub series: Series,
    /// The patches as files, in the order in which they are applied.
    pub files: Vec<PatchFile>,
}

/// A patch as it is applied.
#[derive(Debug, PartialEq, Eq)]
pub struct PatchFile {
    /// The name of its file.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Input {
    /// Reads the patches that are named, or commits of the base's tree.
    ///
    /// # Errors
    /// A name that is neither, or a file without a patch.
    pub fn read(named: &[String], base: &Base) -> Result<Self> {
        let mut input = Self::default();
        for name in named {
            match Path::new(name) {
                path if path.is_dir() => {
                    files_in(path)?.iter().try_for_each(|file| input.add_file(file))?;
                }
                path if path.exists() => input.add_file(path)?,
                path => input.add_commits(name, path, base)?,
            }
        }
        if input.files.is_empty() {
            bail!("cannot try {}: there is no patch in it", named.join(", "));
        }
        Ok(input)
    }

    fn add_file(&mut self, path: &Path) -> Result<()> {
        let bytes = read_regular(path, LARGEST)?;
        if path.extension().is_some_and(|ending| ending == SEMANTIC) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if self.series.title.is_empty() {
                self.series.title = name.clone();
            }
            self.files.push(PatchFile { name: format!("{:04}-{name}", self.files.len() + 1), text });
            return Ok(());
        }
        let series = mails::read(&bytes).with_context(|| format!("cannot read {}", path.display()))?;
        self.add(series, path.file_stem().unwrap_or_default().to_string_lossy().as_ref());
        Ok(())
    }

    /// The commits of a range, or those of a branch since the base's revision.
    fn add_commits(&mut self, name: &str, path: &Path, base: &Base) -> Result<()> {
        let Some((tree, revision)) = &base.tree else {
            bail!(
                "cannot read {}: there is no such file; commits of a tree need --base TREE@REVISION",
                path.display()
            );
        };
        let range = match revision {
            _ if name.contains("..") => name.to_owned(),
            Some(revision) => format!("{revision}..{name}"),
            None => {
                bail!("cannot try {name}: it is no file; for a branch name the base, as --base TREE@REVISION")
            }
        };
        let mails = mails_of(tree, &range)?;
        let series = mails::read(&mails).with_context(|| format!("cannot try {range}: it has no commit"))?;
        self.add(series, name);
        Ok(())
    }

    fn add(&mut self, series: Series, name: &str) {
        for patch in &series.patches {
            let title = if patch.subject.is_empty() { name } else { &patch.subject };
            let number = self.files.len() + 1;
            let name = format!("{number:04}-{}.patch", file_name(title));
            self.files.push(PatchFile { name, text: patch.diff.clone() });
        }
        let own = &mut self.series;
        own.title = if own.title.is_empty() { series.title } else { std::mem::take(&mut own.title) };
        if own.title.is_empty() {
            own.title = name.to_owned();
        }
        own.cover.push_str(&series.cover);
        own.base_commit = series.base_commit.or(own.base_commit.take());
        own.notes.extend(series.notes);
        own.patches.extend(series.patches);
    }

    /// The files of the kernel that the patches change; those of a semantic patch are in its line `// Files:`.
    pub fn changed(&self) -> BTreeSet<String> {
        let of = |file: &PatchFile| -> Vec<String> {
            if !file.name.ends_with(SEMANTIC) {
                return changed_files(&file.text);
            }
            let named = file.text.lines().filter_map(|line| line.strip_prefix("// Files:"));
            named.flat_map(str::split_whitespace).map(str::to_owned).collect()
        };
        self.files.iter().flat_map(of).collect()
    }
}

/// The patches in a folder, in the order of their names; other files are left out.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    const ENDINGS: [&str; 5] = ["patch", "diff", "mbox", "mbx", "cocci"];
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let is_patch =
        |path: &PathBuf| path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_patch).collect();
    files.sort();
    Ok(files)
}

/// A subject as the name of a file, as git format-patch makes it.
fn file_name(subject: &str) -> String {
    const LONGEST: usize = 52;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    let words: String = subject.chars().map(plain).collect();
    let joined = words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    joined.chars().take(LONGEST).collect::<String>().trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/kernel/time/tick-sched.c\n+++ b/kernel/time/tick-sched.c\n@@ -1 +1 @@ static void f(void)\n-a\n+b\n";

    #[test]
    fn mails_folders_and_semantic_patches_become_files_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("b.patch"), format!("Subject: [PATCH] tick: do, and undo\n\nMore.\n---\n{DIFF}"))
            .unwrap();
        std::fs::write(path("c.cocci"), "// Files: kernel/sched/idle.c drivers/cpuidle\n@@\n@@\n").unwrap();
        std::fs::write(path("notes.txt"), "no patch").unwrap();
        let base = Base::of("debian:6.12").unwrap();
        let input = Input::read(&[folder.path().display().to_string()], &base).unwrap();
        let names: Vec<&str> = input.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["0001-tick-do-and-undo.patch", "0002-c.cocci"]);
        assert_eq!(input.series.title, "tick: do, and undo");
        let changed: Vec<String> = input.changed().into_iter().collect();
        assert_eq!(changed, ["drivers/cpuidle", "kernel/sched/idle.c", "kernel/time/tick-sched.c"]);
        let error = Input::read(&["no-such".to_owned()], &base).unwrap_err().to_string();
        assert!(error.contains("commits of a tree need --base TREE@REVISION"), "{error}");
    }

    #[test]
    fn a_tree_and_its_revision_are_a_base() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().display().to_string();
        assert_eq!(Base::of(&text).unwrap().source, text);
        assert_eq!(Base::of(&format!("{text}@v6.12")).unwrap().source, format!("git:{text}#v6.12"));
        assert_eq!(Base::of("debian:sid").unwrap(), Base { source: "debian:sid".into(), tree: None });
    }
}
