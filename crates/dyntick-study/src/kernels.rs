// SPDX-License-Identifier: GPL-2.0-only
//! The `[kernels.NAME]` tables: kernels that a study has built to order.

use super::keys::study::KERNEL;
use super::reader::{Section, Value};
use dyntick_kernels::build::{self, NamedBy, Recipe};
use std::collections::BTreeMap;
use std::path::Path;

/// The largest number of kernels: the files that each names are looked up when the study is read.
const MOST: usize = 64;

/// Reads the tables; paths in them are meant from the folder of the study.
pub fn read(root: Section<'_, '_, '_>, study: &Path) -> BTreeMap<String, Recipe> {
    let Some(tables) = root.section("kernels", "[kernels]") else { return BTreeMap::new() };
    if tables.table.len() > MOST {
        root.source.problem(tables.at, format!("a study has at most {MOST} kernels of its own"));
        return BTreeMap::new();
    }
    let folder = study.parent().unwrap_or(Path::new(""));
    let named_by = NamedBy::file(study);
    let mut recipes = BTreeMap::new();
    for (name, value) in tables.table {
        let at = name.span().start;
        let name = name.get_ref().as_ref();
        refuse_unfit_name(root, name, at);
        let table = Section::of(root.source, "[kernels.NAME]", name, value);
        recipes
            .insert(name.to_owned(), table.map(|table| recipe(table, folder, &named_by)).unwrap_or_default());
    }
    recipes
}

fn recipe(table: Section<'_, '_, '_>, folder: &Path, named_by: &NamedBy) -> Recipe {
    table.only(&KERNEL);
    let list = |key: &str, value| texts(table, key, value);
    let recipe = Recipe {
        source: table.required_text("source").unwrap_or_default(),
        config: table.required("config").map(|value| list("config", value)).unwrap_or_default(),
        patches: table.get("patches").map(|value| list("patches", value)).unwrap_or_default(),
        named_by: NamedBy::default(),
    };
    let note = |key: &str, message: String| {
        table.source.problem(table.get(key).map_or(table.at, |value| value.span().start), message);
    };
    if let (Some(_), Err(error)) = (table.get("source"), build::check_source(&recipe.source)) {
        note("source", format!("source: {error}"));
    }
    recipe.config.iter().filter_map(|name| build::lacking_fragment(name)).for_each(|lack| {
        note("config", format!("config: {lack}"));
    });
    recipe.patches.iter().filter_map(|name| build::lacking_patch(name)).for_each(|lack| {
        note("patches", format!("patches: {lack}"));
    });
    let recipe = Recipe { named_by: named_by.clone(), ..recipe.relative_to(folder) };
    for (key, message) in recipe.closed() {
        note(key, message);
    }
    recipe
}

/// One text, or a list of them.
fn texts(table: Section<'_, '_, '_>, key: &str, value: &Value<'_>) -> Vec<String> {
    match value.get_ref().as_str() {
        Some(text) => vec![text.to_owned()],
        None => table.source.texts(key, value).unwrap_or_default(),
    }
}

/// A name must not look like anything else that a case's `kernel` can be.
fn refuse_unfit_name(root: Section<'_, '_, '_>, name: &str, at: usize) {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    if name == "host" || name.is_empty() || !name.chars().all(plain) {
        let message = format!(
            "'{name}' cannot be the name of a kernel: use letters, digits, '.', '_', '+', '-', and not 'host'"
        );
        root.source.problem(at, message);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Size, parse};
    use std::fs::{Permissions, create_dir_all, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn problems(study: &Path, kernel: &str) -> String {
        let text = format!(
            "title = 't'\nquestion = 'q'\n[kernels.k]\nconfig = 'lab'\n{kernel}\n[[case]]\nname = 'a'\nkernel = 'k'\n"
        );
        let parsed = parse::study(study, &text, Size::Scaled);
        parsed.map_err(|problems| problems.to_string()).err().unwrap_or_default()
    }

    #[test]
    fn a_study_has_few_kernels_of_its_own() {
        let outer = tempfile::tempdir().unwrap();
        let study = outer.path().join("s.toml");
        let kernels = |count: usize| -> String {
            (1..count)
                .map(|number| format!("[kernels.k{number}]\nconfig = 'lab'\nsource = 'debian:6.12'\n"))
                .collect()
        };
        let words = |count| problems(&study, &format!("source = 'debian:6.12'\n{}", kernels(count)));
        assert_eq!(words(super::MOST), "");
        assert!(words(super::MOST + 1).contains("at most 64 kernels"));
    }

    /// A user who runs another user's study may send its report back.
    #[test]
    fn what_only_its_owner_may_read_is_not_built() {
        let outer = tempfile::tempdir().unwrap();
        let (study, home) = (outer.path().join("study/s.toml"), outer.path().join("home"));
        for folder in [
            "study/worktree",
            "study/own",
            "study/borrower/.git/objects/info",
            "home/linux/.git/objects/info",
        ] {
            create_dir_all(outer.path().join(folder)).unwrap();
        }
        for file in ["home/linux/.git/HEAD", "home/l.tar.gz", "home/p.patch", "study/borrower/.git/HEAD"] {
            write(outer.path().join(file), "").unwrap();
        }
        write(outer.path().join("study/worktree/.git"), "gitdir: ../../home/linux/.git").unwrap();
        let alternates = outer.path().join("study/borrower/.git/objects/info/alternates");
        write(alternates, "../../../../home/linux/.git/objects").unwrap();
        let of_home = [
            "source = 'git:../home/linux'",
            "source = 'git:../home/linux/.git#v6.12'",
            "source = 'git:./worktree'",
            "source = 'git:./borrower'",
            "source = '../home/linux'",
            "source = '../home/l.tar.gz'",
            "source = 'debian:6.12'\npatches = '../home/p.patch'",
        ];
        let close = |mode: u32| set_permissions(&home, Permissions::from_mode(mode)).unwrap();
        for kernel in of_home {
            close(0o755);
            assert_eq!(problems(&study, kernel), "", "{kernel}");
            close(0o700);
            let words = problems(&study, kernel);
            assert!(
                words.contains("home is closed to other users") && words.contains("s.toml:"),
                "{kernel}: {words}"
            );
        }
        // A study of this user's is one that this user could also run a command by.
        write(&study, "").unwrap();
        for kernel in of_home {
            let is_read = !kernel.contains("patches");
            assert_eq!(problems(&study, kernel).is_empty(), is_read, "{kernel}");
        }
        let closed = problems(&study, of_home[6]);
        assert!(closed.contains(&format!("chmod o+x {}", home.display())), "{closed}");
        let folder = study.parent().unwrap();
        set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
        assert!(problems(&study, of_home[0]).contains("home is closed"), "other users may write there");
        set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        std::fs::remove_file(&study).unwrap();
        close(0o755);
        for part in ["HEAD", "objects"] {
            let place = home.join("linux/.git").join(part);
            let before = place.metadata().unwrap().permissions();
            set_permissions(&place, Permissions::from_mode(before.mode() & !0o007)).unwrap();
            assert!(problems(&study, of_home[0]).contains("is closed to other users"), "{part}");
            set_permissions(&place, before).unwrap();
        }
        assert_eq!(problems(&study, "source = './own'"), "");
        let within = home.join("s.toml");
        assert_eq!(problems(&within, "source = './linux'"), "", "a study in the closed folder itself");
    }
}
