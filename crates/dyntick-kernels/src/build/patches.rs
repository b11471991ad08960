// SPDX-License-Identifier: GPL-2.0-only
//! Changes to a source tree: `*.patch` by patch(1), `*.cocci` by spatch(1).

use super::BuildError;
use super::diff::{changed_files, damaged_line, least_context};
use super::parts::{Part, SEMANTIC};
use super::run::{essence, output};
use super::walls::Place;
use super::workspace::{Workspace, replace};
use crate::cache::{Cache, CacheError};
use dyntick_model::text::shortened;
use dyntick_system::{is_inner, open_beneath, place_beneath};
use rustix::io::Errno;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The reason why a patch was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// A hunk that does not fit.
    #[error("the patch {patch} does not apply to this source: {}", .failures.join("; "))]
    Fits {
        /// The patch.
        patch: String,
        /// File and hunk of each failure.
        failures: Vec<String>,
    },
    /// A semantic patch that found nothing.
    #[error(
        "the semantic patch {0} changed nothing in this source: its pattern matches nowhere in the files that it names (// Files: …)"
    )]
    ChangedNothing(String),
    /// Some rules of a semantic patch matched, others did not.
    #[error(
        "the semantic patch {patch} applies to this source only in part: it would not add '{word}', which it requires (// Needs: …)"
    )]
    InPart {
        /// The patch.
        patch: String,
        /// The missing program.
        word: String,
    },
    /// Neither of the two kinds.
    #[error("{0} is neither a .patch, .diff nor .cocci file")]
    Kind(String),
    /// A hunk with a line that no diff has, or with fewer or more lines than it announces.
    #[error(
        "cannot apply the patch {patch}: it is damaged at line {line}. A hunk's lines begin with a space, + or -, and are as many as it announces; if a mailer wrapped them, save it again, e.g. with b4 or git format-patch"
    )]
    Damaged {
        /// The patch.
        patch: String,
        /// The line, from 1.
        line: usize,
    },
    /// A diff that names no file.
    #[error("the patch {0} contains no change")]
    Empty(String),
    /// A path that leads out of the tree or through a symbolic link.
    #[error("the patch {patch} would change {}, which is not a file inside the source tree", named(.file))]
    Outside {
        /// The patch.
        patch: String,
        /// The path, where the patch comes with dyntick.
        file: Option<String>,
    },
}

fn named(file: &Option<String>) -> String {
    file.as_ref().map_or_else(|| "a path".to_owned(), |file| format!("'{file}'"))
}

/// A line of a semantic patch that names the files or folders that it is for; without it the full
/// tree is looked through, which takes minutes.
const FILES: &str = "// Files:";
const NEEDS: &str = "// Needs:";

/// Applies the patches in their order.
pub fn apply(
    patches: &[Part],
    space: &Workspace,
    place: &Place,
    progress: &dyn Fn(&str),
) -> Result<(), BuildError> {
    let tree = space.tree();
    for patch in patches {
        progress(&format!("applying {}", patch.name));
        // What patch(1) changes are copies in a folder of their own: whatever a patch makes it do,
        // the tree gets regular files under the names that the patch says.
        let desk = Desk { tree: &tree, copies: place.folder(space, COPIES)?, space, place, fuzz: 0 };
        desk.apply(patch)?;
    }
    Ok(())
}

/// A patch whose surroundings were allowed to differ, as one that fits exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// The diff that fits exactly; the patch itself if it did.
    pub text: String,
    /// The hunks whose surroundings differ, with their files.
    pub fuzzy: Vec<String>,
}

/// The number of lines at either end of a hunk that may differ, as patch(1) has it by default.
const FUZZ: usize = 2;

/// Applies patches one after the other to copies of the files that they name, with surroundings that may differ.
///
/// # Errors
/// A patch that does not apply in this way either, and a semantic patch, whose pattern fits or not.
pub fn fit(
    patches: &[Part],
    pristine: &Path,
    source: &str,
    cache: &Cache,
    place: &Place,
) -> Result<Vec<Fitted>, BuildError> {
    let empty = tempfile::tempdir().map_err(|error| CacheError::from_io(&std::env::temp_dir(), error))?;
    let space = Workspace::open(cache, &format!("{source}-check"), empty.path(), &|_| ())?;
    let tree = space.tree();
    let mut all = Vec::new();
    for patch in patches {
        if patch.is_semantic() {
            return Err(PatchError::ChangedNothing(patch.name.clone()).into());
        }
        copy_changed(std::slice::from_ref(patch), pristine, &tree)?;
        let files = changed_files(&patch.text);
        let before = texts(&tree, &files);
        // A line of the surroundings must fit: without one the change would be made anywhere.
        let fuzz = FUZZ.min(least_context(&patch.text).saturating_sub(1));
        let desk = Desk { tree: &tree, copies: place.folder(&space, COPIES)?, space: &space, place, fuzz };
        let fuzzy = desk.apply_diff(patch, &patch.text)?;
        let text = if fuzzy.is_empty() {
            patch.text.clone()
        } else {
            let after = texts(&tree, &files);
            let changed = files.iter().zip(before.iter().zip(&after));
            changed
                .map(|(file, (before, after))| desk.diff(file, before.as_deref(), after.as_deref()))
                .collect::<Result<_, _>>()?
        };
        all.push(Fitted { text, fuzzy });
    }
    Ok(all)
}

/// The texts of files of a tree; none of one that is not there.
fn texts(tree: &Path, files: &[String]) -> Vec<Option<Vec<u8>>> {
    files.iter().map(|file| std::fs::read(tree.join(file)).ok()).collect()
}

/// Refuses patches that apply to no source: before one is downloaded for them.
pub fn sound(patches: &[Part]) -> Result<(), PatchError> {
    patches.iter().try_for_each(sound_one)
}

fn sound_one(patch: &Part) -> Result<(), PatchError> {
    match patch.kind() {
        Some(SEMANTIC) => return Ok(()),
        Some("patch" | "diff") => {}
        _ => return Err(PatchError::Kind(patch.name.clone())),
    }
    if let Some(line) = damaged_line(&patch.text) {
        return Err(PatchError::Damaged { patch: patch.name.clone(), line });
    }
    let files = changed_files(&patch.text);
    if files.is_empty() {
        return Err(PatchError::Empty(patch.name.clone()));
    }
    match files.iter().find(|file| !is_inner(Path::new(file))) {
        Some(file) => Err(outside(patch, file)),
        None => Ok(()),
    }
}

/// Applies the patches that need no complete tree to copies of the files that they name: a build may wait for others
/// for long, and a patch that does not fit is refused before.
pub fn check(
    patches: &[Part],
    pristine: &Path,
    source: &str,
    cache: &Cache,
    place: &Place,
) -> Result<(), BuildError> {
    // What a semantic patch changes is known only once it has been applied.
    let plain: Vec<Part> = patches.iter().take_while(|patch| !patch.is_semantic()).cloned().collect();
    if plain.is_empty() {
        return Ok(());
    }
    let empty = tempfile::tempdir().map_err(|error| CacheError::from_io(&std::env::temp_dir(), error))?;
    let space = Workspace::open(cache, &format!("{source}-check"), empty.path(), &|_| ())?;
    for patch in &plain {
        for file in changed_files(&patch.text) {
            copy_into(&space.tree(), pristine, patch, &file)?;
        }
    }
    apply(&plain, &space, place, &|_| ())
}

/// Copies the files that patches change and that `tree` does not have yet. A semantic patch names none.
pub fn copy_changed(patches: &[Part], pristine: &Path, tree: &Path) -> Result<(), BuildError> {
    for patch in patches.iter().filter(|patch| !patch.is_semantic()) {
        for file in changed_files(&patch.text).iter().filter(|file| !tree.join(file).exists()) {
            copy_into(tree, pristine, patch, file)?;
        }
    }
    Ok(())
}

/// Copies a file of the pristine tree, if it is there.
fn copy_into(tree: &Path, pristine: &Path, patch: &Part, file: &str) -> Result<(), BuildError> {
    if !is_inner(Path::new(file)) {
        return Err(outside(patch, file).into());
    }
    let mut from = match open_beneath(pristine, Path::new(file)) {
        Ok(from) => from,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(_) => return Err(outside(patch, file).into()),
    };
    let copied = place_beneath(tree, Path::new(file)).and_then(|to| replace(&to, &mut from));
    copied.map_err(|error| CacheError::from_io(&tree.join(file), error).into())
}

/// The number of files that each patch changes; 0 for a semantic patch.
pub fn files_of_all(patches: &[Part]) -> Vec<usize> {
    let files = |patch: &Part| if patch.is_semantic() { 0 } else { changed_files(&patch.text).len() };
    patches.iter().map(files).collect()
}

/// The folder of the workspace that patch(1) works in.
const COPIES: &str = "patching";

/// One patch with the programs that apply it.
struct Desk<'a> {
    tree: &'a Path,
    copies: PathBuf,
    space: &'a Workspace,
    place: &'a Place,
    /// The number of lines at either end of a hunk that may differ.
    fuzz: usize,
}

impl Desk<'_> {
    fn apply(&self, patch: &Part) -> Result<(), BuildError> {
        match patch.kind() {
            Some("patch" | "diff") => self.apply_diff(patch, &patch.text).map(|_| ()),
            Some(SEMANTIC) => self.apply_diff(patch, &diff_of_rule(patch, self)?).map(|_| ()),
            _ => Err(PatchError::Kind(patch.name.clone()).into()),
        }
    }

    /// Applies a diff whose paths have one folder before them (`-p1`). Lines may have moved; their surroundings may
    /// differ by the fuzz. Returns the hunks in which they do.
    fn apply_diff(&self, patch: &Part, diff: &str) -> Result<Vec<String>, BuildError> {
        let files = changed_files(diff);
        if files.is_empty() {
            return Err(PatchError::Empty(patch.name.clone()).into());
        }
        for file in &files {
            self.copy(patch, file)?;
        }
        let fuzzy = self.patch(patch, diff)?;
        self.only_named(patch, &files)?;
        files.iter().try_for_each(|file| self.put_back(&patch.name, file))?;
        Ok(fuzzy)
    }

    /// The difference of two texts of a file as diff(1) has it, with one folder before its path.
    fn diff(&self, file: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<String, BuildError> {
        let text = |name: &str, bytes: Option<&[u8]>| {
            self.space.file(name, &String::from_utf8_lossy(bytes.unwrap_or_default()))
        };
        let paths = [text("before.txt", before)?, text("after.txt", after)?];
        let label = |side: &str, bytes: Option<&[u8]>| match bytes {
            Some(_) => format!("--label={side}/{file}"),
            None => "--label=/dev/null".to_owned(),
        };
        let mut diff = self.place.program("diff");
        diff.args(["-u", &label("a", before), &label("b", after)]).args(&paths);
        let mut diff = self.place.command(diff, &[&paths[0], &paths[1]], &[])?;
        let output = output(&mut diff).map_err(|error| failed(file, &error.to_string()))?;
        // Status 1: they differ.
        match output.status.code() {
            Some(0 | 1) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            _ => Err(failed(file, &String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Copies a file of the tree, if it is there, for patch(1) to change.
    fn copy(&self, patch: &Part, file: &str) -> Result<(), BuildError> {
        let outside = || outside(patch, file);
        if !is_inner(Path::new(file)) {
            return Err(outside().into());
        }
        let mut from = match open_beneath(self.tree, Path::new(file)) {
            Ok(from) => from,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(_) => return Err(outside().into()),
        };
        let mut copied = || {
            let to = place_beneath(&self.copies, Path::new(file))?;
            replace(&to, &mut from)?;
            Ok(to)
        };
        let to =
            copied().map_err(|error: std::io::Error| CacheError::from_io(&self.copies.join(file), error))?;
        for path in to.ancestors().take_while(|path| *path != self.copies) {
            self.place.give(path)?;
        }
        Ok(())
    }

    fn patch(&self, part: &Part, diff: &str) -> Result<Vec<String>, BuildError> {
        let name = &part.name;
        let input = self.space.file("change.patch", diff)?;
        let mut patch = self.place.program("patch");
        patch.args(["-p1", "--batch", "--forward", "--no-backup-if-mismatch", "--reject-file=-"]);
        patch.arg(format!("--fuzz={}", self.fuzz));
        patch.arg("-i").arg(&input).current_dir(&self.copies);
        let mut patch = self.place.command(patch, &[&input], &[&self.copies])?;
        let output = output(&mut patch).map_err(|error| failed(name, &error.to_string()))?;
        if output.status.success() {
            return Ok(fuzzy(&String::from_utf8_lossy(&output.stdout)));
        }
        match failures(&String::from_utf8_lossy(&output.stdout)) {
            none if none.is_empty() => {
                let hindrance = hindrance(&String::from_utf8_lossy(&output.stderr));
                let words = || said(part, &[output.stdout, output.stderr].concat());
                Err(failed(name, &hindrance.unwrap_or_else(words)))
            }
            failures => Err(PatchError::Fits { patch: name.to_owned(), failures }.into()),
        }
    }

    /// Refuses what patch(1) made under names that were not seen in the patch.
    fn only_named(&self, patch: &Part, files: &[String]) -> Result<(), BuildError> {
        for entry in walkdir::WalkDir::new(&self.copies).into_iter().flatten() {
            let inner = entry.path().strip_prefix(&self.copies).unwrap_or(entry.path()).to_string_lossy();
            if !entry.file_type().is_dir() && !files.iter().any(|file| *file == inner) {
                return Err(outside(patch, &inner).into());
            }
        }
        Ok(())
    }

    /// Puts what became of a file into the tree.
    fn put_back(&self, name: &str, file: &str) -> Result<(), BuildError> {
        let inner = Path::new(file);
        let changed = match open_beneath(&self.copies, inner) {
            Ok(mut from) => place_beneath(self.tree, inner).and_then(|to| replace(&to, &mut from)),
            // Removed by the patch; it was a regular file, reached through no link.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                match std::fs::remove_file(self.tree.join(inner)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                }
            }
            Err(error) => return Err(failed(name, &format!("{file}: {error}"))),
        };
        changed.map_err(|error| CacheError::from_io(&self.tree.join(inner), error).into())
    }
}

/// The reason why a program failed, if it is not the patch: one of the kernel's own reasons at the end of a
/// line, or the words of bwrap. Neither quotes the patch.
fn hindrance(complaint: &str) -> Option<String> {
    const REASONS: [Errno; 9] = [
        Errno::ACCESS,
        Errno::PERM,
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::ROFS,
        Errno::NOMEM,
        Errno::MFILE,
        Errno::NFILE,
        Errno::FBIG,
    ];
    // As libc words them, without the number that Rust adds.
    let words =
        |reason: Errno| std::io::Error::from(reason).to_string().split(" (os ").next().map(str::to_owned);
    let reasons: Vec<String> = REASONS.into_iter().filter_map(words).collect();
    if let Some(said) = complaint.lines().next().and_then(|line| line.strip_prefix("bwrap: ")) {
        return Some(format!("it cannot be confined: {said}"));
    }
    let reason = |line: &str| reasons.iter().find(|reason| line.ends_with(reason.as_str()));
    let reason = complaint.lines().find_map(reason)?;
    Some(format!("its files cannot be read or written: {reason}"))
}

/// The message of a program about a patch. A study may name any file as one, so of a patch that does not come with
/// dyntick only the place is shown.
fn said(patch: &Part, words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    if patch.is_shipped() {
        return words.into_owned();
    }
    let line = words.split("line ").skip(1).find_map(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        (1..10).contains(&digits).then(|| format!(" (line {})", &rest[..digits]))
    });
    format!("it is damaged{}; its text is not quoted here", line.unwrap_or_default())
}

fn outside(patch: &Part, file: &str) -> PatchError {
    let file = patch.is_shipped().then(|| file.to_owned());
    PatchError::Outside { patch: patch.name.clone(), file }
}

fn failed(name: &str, message: &str) -> BuildError {
    BuildError::Failed { what: format!("apply the patch {name}"), message: essence(message.trim()) }
}

/// From what patch(1) says: the file and number of each hunk whose surroundings differ.
fn fuzzy(said: &str) -> Vec<String> {
    let (mut file, mut all) = ("", Vec::new());
    for line in said.lines() {
        file = line.strip_prefix("patching file ").map_or(file, |name| name.trim_matches('\''));
        let fuzz = line.split_once(" with fuzz ").and_then(|(_, rest)| rest.split([' ', '.']).next());
        if let (Some((hunk, _)), Some(fuzz)) = (line.split_once(" succeeded"), fuzz) {
            all.push(format!("{file}: {hunk} with fuzz {fuzz}"));
        }
    }
    all
}

/// From what patch(1) says: the file and number of each hunk that failed, of some. It may say so of a million.
fn failures(said: &str) -> Vec<String> {
    const MOST: usize = 20;
    const LONGEST_NAME: usize = 500;
    let (mut file, mut failures, mut more) = ("", Vec::new(), 0_u64);
    for line in said.lines() {
        let begins = line.strip_prefix("patching file ").or_else(|| line.strip_prefix("checking file "));
        file = begins.unwrap_or(file).trim_matches('\'');
        let Some(failure) = failure(line) else { continue };
        if failures.len() >= MOST {
            more += 1
        } else if failure.is_empty() {
            failures.push(format!("it changes a file that does not exist ({line})"))
        } else {
            failures.push(format!("{}: {failure}", shortened(file, LONGEST_NAME)))
        }
    }
    if more > 0 {
        failures.push(format!("{more} more"));
    }
    failures
}

/// The error in a line of patch(1) about the current file; empty if there is none.
fn failure(line: &str) -> Option<&str> {
    if line.starts_with("can't find file to patch") {
        Some("")
    } else if line.starts_with("Hunk #") && (line.contains(" FAILED") || line.contains(" ignored")) {
        Some(line.trim_end_matches('.'))
    } else {
        line.contains("Reversed (or previously applied) patch detected")
            .then_some("it is already applied to this source")
    }
}

/// The change of a semantic patch, as a diff.
fn diff_of_rule(rule: &Part, desk: &Desk<'_>) -> Result<String, BuildError> {
    let file = desk.space.file("rule.cocci", &rule.text)?;
    let mut spatch = desk.place.program("spatch");
    spatch.args(["--very-quiet", "--patch", ".", "--sp-file"]).arg(&file);
    spatch.args(places(&rule.text)).current_dir(desk.tree);
    // A semantic patch may carry programs in Python and OCaml.
    let mut spatch = desk.place.command(spatch, &[desk.tree, &file], &[])?;
    let output = output(&mut spatch).map_err(|error| failed(&rule.name, &error.to_string()))?;
    if !output.status.success() {
        let hindrance = hindrance(&String::from_utf8_lossy(&output.stderr));
        return Err(failed(&rule.name, &hindrance.unwrap_or_else(|| said(rule, &output.stderr))));
    }
    let diff = String::from_utf8_lossy(&output.stdout).into_owned();
    if changed_files(&diff).is_empty() {
        return Err(PatchError::ChangedNothing(rule.name.clone()).into());
    }
    match lacking(&rule.text, &diff) {
        Some(word) => Err(PatchError::InPart { patch: rule.name.clone(), word }.into()),
        None => Ok(diff),
    }
}

/// The first word that the rule says it adds (`// Needs: …`) and that the diff does not. A semantic
/// patch of several rules may match in part, which would be another change than the one asked for.
fn lacking(rule: &str, diff: &str) -> Option<String> {
    let added = |word: &&str| diff.lines().any(|line| line.starts_with('+') && line.contains(word));
    let words = rule.lines().filter_map(|line| line.strip_prefix(NEEDS)).flat_map(str::split_whitespace);
    words.into_iter().find(|word| !added(word)).map(str::to_owned)
}

/// The files that a semantic patch names, else the tree.
fn places(rule: &str) -> Vec<String> {
    let named = rule.lines().filter_map(|line| line.strip_prefix(FILES));
    let named: Vec<String> = named.flat_map(str::split_whitespace).map(str::to_owned).collect();
    if named.is_empty() { vec!["--dir".to_owned(), ".".to_owned()] } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_patches_are_sound() {
        for name in dyntick_model::shipped::PATCHES.names() {
            let (file, text) = dyntick_model::shipped::PATCHES.find(name).unwrap();
            sound(&[part(&file, &text)]).unwrap();
        }
    }

    #[test]
    fn patches_are_checked_without_the_complete_tree() {
        let (tree, cache) = (tree(), tempfile::tempdir().unwrap());
        let cache = Cache::at(cache.path());
        let second = GOOD.replace("-two\n+zwei", "-zwei\n+deux");
        let checked = |patches: &[Part]| {
            check(patches, tree.path(), "s", &cache, &Place::Host).map_err(|error| error.to_string())
        };
        let parts = [part("1.patch", GOOD), part("2.patch", &second), part("3.cocci", "not yet")];
        checked(&parts).unwrap();
        assert_eq!(files_of_all(&parts), [1, 1, 0]);
        assert_eq!(std::fs::read_to_string(tree.path().join("kernel/x.c")).unwrap(), "one\ntwo\nthree\n");
        let told = checked(&parts[1..]).unwrap_err();
        assert!(
            told.starts_with("the patch 2.patch does not apply to this source: kernel/x.c: Hunk #1"),
            "{told}"
        );
        // It waits for no build from the source.
        let _building = Workspace::open(&cache, "s", tree.path(), &|_| ()).unwrap();
        assert!(checked(&parts[1..]).is_err());
        std::os::unix::fs::symlink("/etc", tree.path().join("way")).unwrap();
        let away = checked(&[part("x.patch", &GOOD.replace("kernel/x.c", "way/passwd"))]).unwrap_err();
        assert!(away.contains("which is not a file inside the source tree"), "{away}");
    }

    #[test]
    fn patch_with_other_surroundings_becomes_one_that_fits() {
        const WIDE: &str =
            "--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1,5 +1,5 @@\n zero\n one\n-two\n+zwei\n three\n four\n";
        let (tree, cache) = (tree(), tempfile::tempdir().unwrap());
        std::fs::write(tree.path().join("kernel/x.c"), "zero\none\ntwo\nthree\nfour\n").unwrap();
        let cache = Cache::at(cache.path());
        let fuzzy = WIDE.replace(" four", " vier");
        let second = WIDE.replace("-two\n+zwei", "-zwei\n+deux");
        let narrow = part("0.patch", &GOOD.replace("-1,3 +1,3", "-2,3 +2,3").replace(" three", " drei"));
        assert!(
            fit(&[narrow], tree.path(), "s", &cache, &Place::Host).is_err(),
            "nothing around it would fit"
        );
        let parts = [part("1.patch", &fuzzy), part("2.patch", &second)];
        assert!(check(&parts, tree.path(), "s", &cache, &Place::Host).is_err());
        let fitted = fit(&parts, tree.path(), "s", &cache, &Place::Host).unwrap();
        assert_eq!(fitted[0].fuzzy, ["kernel/x.c: Hunk #1 with fuzz 1"]);
        assert_eq!((&fitted[1].text, &fitted[1].fuzzy[..]), (&second, &[][..]));
        let exact: Vec<Part> = fitted.iter().map(|fitted| part("x.patch", &fitted.text)).collect();
        check(&exact, tree.path(), "s", &cache, &Place::Host).unwrap();
        let other = part("3.patch", &WIDE.replace("-two", "-deux"));
        let error = fit(&[other], tree.path(), "s", &cache, &Place::Host).unwrap_err();
        assert!(matches!(error, BuildError::Patch(PatchError::Fits { .. })), "{error}");
    }

    #[test]
    fn rules_that_match_in_part_are_reported() {
        let rule = "// Needs: debugfs.h hits++;\n@@ @@\n";
        assert_eq!(lacking(rule, "+#include <linux/debugfs.h>\n hits++;\n").as_deref(), Some("hits++;"));
        assert_eq!(lacking(rule, "+#include <linux/debugfs.h>\n+\thits++;\n"), None);
    }

    /// A semantic patch can add the words that it announces: they are in its own lines.
    #[test]
    fn every_patch_can_add_what_it_needs() {
        let patches = dyntick_model::shipped::PATCHES.names();
        assert!(patches.len() > 5);
        for name in patches {
            let (file, text) = dyntick_model::shipped::PATCHES.find(name).unwrap();
            assert_eq!(lacking(&text, &text), None, "{file}");
        }
    }

    const GOOD: &str = "--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n";

    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("kernel")).unwrap();
        std::fs::write(tree.path().join("kernel/x.c"), "one\ntwo\nthree\n").unwrap();
        tree
    }

    fn part(file: &str, text: &str) -> Part {
        Part { name: file.into(), file: file.into(), text: text.into(), folder: None }
    }

    fn applied(file: &str, text: &str, tree: &Path) -> Result<(), String> {
        applied_part(&part(file, text), tree)
    }

    fn applied_part(part: &Part, tree: &Path) -> Result<(), String> {
        let (cache, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let space = Workspace::open(&Cache::at(cache.path()), "x", empty.path(), &|_| ()).unwrap();
        let copies = space.folder(COPIES).unwrap();
        let desk = Desk { tree, copies, space: &space, place: &Place::Host, fuzz: 0 };
        desk.apply(part).map_err(|error| error.to_string())
    }

    #[test]
    fn a_patch_changes_a_copy_and_not_the_file_that_is_linked() {
        let tree = tree();
        let pristine = tree.path().join("pristine.c");
        std::fs::hard_link(tree.path().join("kernel/x.c"), &pristine).unwrap();
        applied("x.patch", GOOD, tree.path()).unwrap();
        assert_eq!(std::fs::read_to_string(tree.path().join("kernel/x.c")).unwrap(), "one\nzwei\nthree\n");
        assert_eq!(std::fs::read_to_string(pristine).unwrap(), "one\ntwo\nthree\n");
    }

    #[test]
    fn unreadable_patches_are_not_called_damaged() {
        let of_patch = hindrance("patch: **** Can't open patch file /x/change.patch : Permission denied\n");
        assert_eq!(of_patch.as_deref(), Some("its files cannot be read or written: Permission denied"));
        let of_walls = hindrance("bwrap: Can't chdir to /x: Permission denied\n");
        assert_eq!(of_walls.as_deref(), Some("it cannot be confined: Can't chdir to /x: Permission denied"));
        assert_eq!(hindrance("patch: **** malformed patch at line 7: root:x:0\n"), None);
    }

    #[test]
    fn failed_hunks_are_reported_with_their_file() {
        let wrong = applied("x.patch", &GOOD.replace("-two", "-deux"), tree().path()).unwrap_err();
        assert_eq!(wrong, "the patch x.patch does not apply to this source: kernel/x.c: Hunk #1 FAILED at 1");
        let fuzzy = applied("x.patch", &GOOD.replace(" one", " eins"), tree().path()).unwrap_err();
        assert!(fuzzy.contains("kernel/x.c: Hunk #1"), "fuzz is no fit: {fuzzy}");
        let said = "patching file kernel/x.c\nHunk #1 succeeded at 8 with fuzz 2 (offset 7 lines).\nHunk #2 succeeded at 40.\n";
        assert_eq!(super::fuzzy(said), ["kernel/x.c: Hunk #1 with fuzz 2"]);
        let missing = applied("x.patch", &GOOD.replace("x.c", "y.c"), tree().path()).unwrap_err();
        assert!(missing.contains("does not exist"), "{missing}");
        let tree = tree();
        applied("x.patch", GOOD, tree.path()).unwrap();
        let twice = applied("x.patch", GOOD, tree.path()).unwrap_err();
        assert!(twice.contains("already"), "{twice}");
    }

    #[test]
    fn malformed_patches_are_reported() {
        let tree = tree();
        assert!(applied("x.patch", "words\n", tree.path()).unwrap_err().contains("contains no change"));
        assert!(applied("x.txt", GOOD, tree.path()).unwrap_err().contains("neither"));
        let outside = GOOD.replace("b/kernel/x.c", "b/../x.c");
        assert!(applied("x.patch", &outside, tree.path()).unwrap_err().contains("'../x.c'"));
    }

    #[test]
    fn lines_of_patches_are_never_quoted() {
        let told = |file: &str, text: &str| {
            let users = Part { folder: Some("/home/user".into()), ..part(file, text) };
            applied_part(&users, tree().path()).unwrap_err()
        };
        let damaged = told("x.patch", "--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -1,3 +1,3 @@\nSECRET\n");
        assert!(damaged.ends_with("it is damaged (line 4); its text is not quoted here"), "{damaged}");
        let outside = told("x.patch", &GOOD.replace("b/kernel/x.c", "b/../SECRET"));
        assert!(outside.contains("a path, which is not a file inside"), "{outside}");
    }

    #[test]
    fn links_are_not_written_through() {
        let tree = tree();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("x.c"), "one\ntwo\nthree\n").unwrap();
        std::os::unix::fs::symlink(outside.path(), tree.path().join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("x.c"), tree.path().join("link.c")).unwrap();
        for name in ["folder/x.c", "link.c"] {
            let told = applied("x.patch", &GOOD.replace("kernel/x.c", name), tree.path()).unwrap_err();
            assert!(told.contains(&format!("'{name}'")), "{told}");
        }
        let new = "--- /dev/null\n+++ b/folder/new\n@@ -0,0 +1 @@\n+x\n";
        assert!(applied("x.patch", new, tree.path()).is_err());
        let link = "diff --git a/way b/way\nnew file mode 120000\n--- /dev/null\n+++ b/way\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n";
        assert!(applied("x.patch", link, tree.path()).is_err(), "a patch makes no links");
        assert!(tree.path().join("way").symlink_metadata().is_err());
        assert_eq!(std::fs::read_to_string(outside.path().join("x.c")).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn files_come_and_go_and_are_renamed() {
        let tree = tree();
        let new = "--- /dev/null\n+++ b/a/b/new.c\n@@ -0,0 +1 @@\n+x\n";
        applied("x.patch", new, tree.path()).unwrap();
        assert_eq!(std::fs::read_to_string(tree.path().join("a/b/new.c")).unwrap(), "x\n");
        let gone = "--- a/a/b/new.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        applied("x.patch", gone, tree.path()).unwrap();
        assert!(!tree.path().join("a/b/new.c").exists());
        let renamed = "diff --git a/kernel/x.c b/kernel/y.c\nsimilarity index 100%\nrename from kernel/x.c\nrename to kernel/y.c\n";
        applied("x.patch", renamed, tree.path()).unwrap();
        assert!(tree.path().join("kernel/y.c").is_file() && !tree.path().join("kernel/x.c").exists());
    }

    #[test]
    fn a_semantic_patch_changes_what_it_names() {
        if crate::programs::find("spatch").is_none() {
            return;
        }
        let tree = tempfile::tempdir().unwrap();
        std::fs::write(tree.path().join("x.c"), "int f(void)\n{\n\treturn old(1);\n}\n").unwrap();
        let rule = "// Files: x.c\n@@ expression e; @@\n- old(e)\n+ new(e)\n";
        applied("r.cocci", rule, tree.path()).unwrap();
        assert!(std::fs::read_to_string(tree.path().join("x.c")).unwrap().contains("new(1)"));
        let again = applied("r.cocci", rule, tree.path()).unwrap_err();
        assert!(again.contains("changed nothing"), "{again}");
    }

    #[test]
    fn shipped_semantic_patches_are_understood() {
        let Some(spatch) = crate::programs::find("spatch") else { return };
        let folder = tempfile::tempdir().unwrap();
        for name in dyntick_model::shipped::PATCHES.names() {
            let (file, text) = dyntick_model::shipped::PATCHES.find(name).unwrap();
            if file.ends_with(SEMANTIC) {
                std::fs::write(folder.path().join(&file), text).unwrap();
                let parsed = std::process::Command::new(&spatch)
                    .arg("--parse-cocci")
                    .arg(folder.path().join(&file))
                    .output()
                    .unwrap();
                assert!(parsed.status.success(), "{file}: {}", String::from_utf8_lossy(&parsed.stderr));
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "(?s)([-+@ ]{0,4}[a-z0-9/, @]{0,12}\n?){0,30}") {
            let _ = changed_files(&text);
            let _ = failures(&text);
        }
    }
}
