// SPDX-License-Identifier: GPL-2.0-only
//! The source files of a governor.

use crate::ReplayError;
use dyntick_model::text::clean_line;
use std::collections::BTreeMap;
use std::path::Path;

/// The largest file of a governor, bytes: menu.c and teo.c have 25 KiB.
const MOST_BYTES: u64 = 1 << 20;
/// The most files of a governor.
const MOST_FILES: usize = 32;

/// A macro for the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Define {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name without folders.
    pub name: String,
    /// Its contents.
    pub text: String,
}

/// A governor as source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Governor {
    /// The name as the user wrote it.
    pub name: String,
    /// The exact origin, e.g. a package with its version; empty for a file.
    pub origin: String,
    /// The name of the file that is compiled.
    pub main: String,
    /// That file, and those that it includes from its own folder.
    pub files: Vec<SourceFile>,
    /// Macros.
    pub defines: Vec<Define>,
    /// A header that is included after the stand-in for the kernel.
    pub stand_in: Option<String>,
}

impl Governor {
    /// Reads a governor's file, and the headers beside it that it includes.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(name: &str, path: &Path) -> Result<Self, ReplayError> {
        let wrong = |reason: &str| ReplayError::Spec { text: name.to_owned(), reason: reason.to_owned() };
        let folder = path.parent().unwrap_or(Path::new(""));
        let main =
            path.file_name().and_then(|name| name.to_str()).ok_or_else(|| wrong("it names no file"))?;
        if !main.ends_with(".c") {
            return Err(wrong("a file must be C source, with the ending .c"));
        }
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        let mut wanted = vec![main.to_owned()];
        while let Some(file) = wanted.pop() {
            if files.contains_key(&file) || files.len() >= MOST_FILES {
                continue;
            }
            let path = folder.join(&file);
            // A header that is not there may be one of another folder: the compiler reports it if it matters.
            if file != main && !path.exists() {
                continue;
            }
            let text = read(&path).map_err(|source| ReplayError::Read { path, source })?;
            wanted.extend(quoted(&text));
            files.insert(file, text);
        }
        Ok(Self {
            name: clean_line(name),
            origin: String::new(),
            main: main.to_owned(),
            files: files.into_iter().map(|(name, text)| SourceFile { name, text }).collect(),
            defines: Vec::new(),
            stand_in: None,
        })
    }
}

/// Reads a text file of at most [`MOST_BYTES`].
pub(crate) fn read(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    let read = dyntick_system::open_named(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MOST_BYTES {
        return Err(std::io::Error::other(format!("it has more than {} KiB", MOST_BYTES >> 10)));
    }
    Ok(text)
}

/// The files beside it that a file includes: names in quotes without folders.
fn quoted(text: &str) -> Vec<String> {
    let name = |line: &str| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        let name = rest.trim_start().strip_prefix('"')?.split_once('"')?.0;
        (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
    };
    text.lines().filter_map(name).collect()
}
