// SPDX-License-Identifier: GPL-2.0-only
//! Files of a crate use one another in one direction, so that each can be read with what it uses and no more.
//!
//! A module and its own parts belong together: what a part uses of the module that it is in does not count. A file
//! uses what its `use` lines and its paths from `crate` and `super` name; names that modules re-export are followed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The place of a file in its crate, as `["trace", "decode"]`; none for the root.
type Module = Vec<String>;

/// The files of a crate that use one another in circles, as groups of modules.
pub fn circles(src: &Path, files: &[std::path::PathBuf]) -> Vec<Vec<String>> {
    let texts: BTreeMap<Module, String> = files
        .iter()
        .filter(|file| !file.ends_with("tests.rs"))
        .map(|file| (module(file.strip_prefix(src).unwrap()), code(&std::fs::read_to_string(file).unwrap())))
        .collect();
    let room = Room::new(&texts);
    let uses: BTreeMap<&Module, BTreeSet<Module>> =
        texts.iter().map(|(module, text)| (module, room.used(module, text))).collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    for (module, used) in &uses {
        let circle: Vec<&Module> =
            uses.keys().copied().filter(|other| is_reached(&uses, module, other)).collect();
        let own = used.iter().any(|next| next == *module || is_reached(&uses, next, module));
        let names: Vec<String> = circle
            .into_iter()
            .filter(|other| own && is_reached(&uses, other, module))
            .map(|other| other.join("::"))
            .collect();
        if own && !found.contains(&names) {
            found.push(names);
        }
    }
    found
}

fn is_reached(uses: &BTreeMap<&Module, BTreeSet<Module>>, from: &Module, to: &Module) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        for used in uses.get(module).into_iter().flatten() {
            if used == to {
                return true;
            }
            if seen.insert(used) {
                next.push(used);
            }
        }
    }
    false
}

fn module(file: &Path) -> Module {
    let mut parts: Module =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// A file without comments and without its tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// A crate's modules and the names that they re-export, with the path of each.
struct Room {
    modules: BTreeSet<Module>,
    exported: BTreeMap<(Module, String), Vec<String>>,
}

impl Room {
    fn new(texts: &BTreeMap<Module, String>) -> Self {
        let mut exported = BTreeMap::new();
        for (module, text) in texts {
            for path in used_paths(text).into_iter().filter(|(is_public, _)| *is_public).map(|(_, path)| path)
            {
                let name = path.last().cloned().unwrap_or_default();
                exported.insert((module.clone(), name), path);
            }
        }
        Self { modules: texts.keys().cloned().collect(), exported }
    }

    /// The files that a file uses: those of its parts, and those that its paths lead to.
    fn used(&self, module: &Module, text: &str) -> BTreeSet<Module> {
        let parts =
            self.modules.iter().filter(|other| other.split_last().is_some_and(|(_, up)| up == module));
        let private = used_paths(text).into_iter().filter(|(is_public, _)| !is_public).map(|(_, path)| path);
        let paths = private.chain(inline_paths(text));
        let led_to = paths.filter_map(|path| self.target(module, &path, 0));
        let all = parts.cloned().chain(led_to);
        all.filter(|other| other != module && !module.starts_with(other)).collect()
    }

    /// The file in which the last name of a path is.
    fn target(&self, from: &Module, path: &[String], depth: u32) -> Option<Module> {
        let mut path = path;
        let mut place: Module = match path.first()?.as_str() {
            "crate" => Module::new(),
            "super" | "self" => from.clone(),
            part if self.modules.contains(&[from.as_slice(), &[part.to_owned()]].concat()) => from.clone(),
            _ => return None,
        };
        while let Some(word) = path.first().filter(|word| ["crate", "super", "self"].contains(&word.as_str()))
        {
            if word == "super" {
                place.pop();
            }
            path = &path[1..];
        }
        while let Some(name) = path.first() {
            let inner = [place.as_slice(), std::slice::from_ref(name)].concat();
            if !self.modules.contains(&inner) {
                break;
            }
            (place, path) = (inner, &path[1..]);
        }
        let exported = path.first().and_then(|name| self.exported.get(&(place.clone(), name.clone())));
        match exported.filter(|_| depth < 8) {
            Some(path) => self.target(&place, path, depth + 1).or(Some(place)),
            None => Some(place),
        }
    }
}

/// The paths of all `use` lines, with whether they are public.
fn used_paths(text: &str) -> Vec<(bool, Vec<String>)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start();
        let (is_public, rest) = match line.strip_prefix("pub") {
            Some(rest) => (true, rest.trim_start_matches(|c: char| c != ' ').trim_start()),
            None => (false, line),
        };
        let Some(rest) = rest.strip_prefix("use ") else { continue };
        let mut whole = rest.to_owned();
        while !whole.contains(';') {
            whole.push_str(lines.next().unwrap_or(";"));
        }
        let tree = whole.split(';').next().unwrap_or_default();
        found.extend(expanded(tree).into_iter().map(|path| (is_public, path)));
    }
    found
}

/// `a::{b, c::d}` as `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<Vec<String>> {
    let Some((before, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.split("::").map(|name| name.trim().to_owned()).collect()];
    };
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for letter in inner.chars() {
        match letter {
            ',' if depth == 0 => parts.push(String::new()),
            _ => parts.last_mut().unwrap().push(letter),
        }
        depth += i32::from(letter == '{') - i32::from(letter == '}');
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| expanded(&format!("{before}{}", part.trim()))).collect()
}

/// Paths within the code, as `crate::rules::get`.
fn inline_paths(text: &str) -> Vec<Vec<String>> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || "_:".contains(c)));
    // What ends in colons is the begin of a `use` line with braces.
    let paths = words.filter(|word| !word.ends_with(':'));
    let paths = paths.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    paths.map(|path| path.split("::").map(str::to_owned).collect()).collect()
}

#[test]
fn paths_of_a_use_line() {
    let found = used_paths("pub(crate) use super::{a::{B, c::d as e}, F};\nuse crate::{\n    G,\n};\n");
    let texts: Vec<(bool, String)> =
        found.into_iter().map(|(public, path)| (public, path.join("::"))).collect();
    let expected = [(true, "super::a::B"), (true, "super::a::c::d"), (true, "super::F"), (false, "crate::G")];
    assert_eq!(texts, expected.map(|(public, path)| (public, path.to_owned())));
}

#[test]
fn a_circle_is_found_through_a_name_that_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let root = write("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::B;\n");
    let files = |a: &str, b: &str| vec![root.clone(), write("a.rs", a), write("b.rs", b), write("c.rs", "")];
    let one_way = files("use crate::B;\n", "use crate::c::C;\n");
    assert!(circles(folder.path(), &one_way).is_empty());
    let circle = files("use crate::B;\n", "fn b() { crate::a::a() }\n");
    assert_eq!(circles(folder.path(), &circle), [["a", "b"]]);
}
