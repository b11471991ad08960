// SPDX-License-Identifier: GPL-2.0-only
//! Machines whose idle states can be emulated: those that come with dyntick, and users' own files.
//! The book's chapter "Machines" documents every key.

pub mod exits;
mod parse;

use crate::Problems;
use dyntick_model::Machine;
use dyntick_model::text::{known_words, nearest};
use dyntick_system::InputError;
use include_dir::{Dir, include_dir};
use std::path::{Path, PathBuf};

static SHIPPED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../machines");

/// The reason for which there is no machine.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// No such name.
    #[error("no machine '{name}' comes with dyntick; {hint}")]
    Unknown {
        /// The requested name.
        name: String,
        /// A similar name.
        hint: String,
    },
    /// The file itself.
    #[error(transparent)]
    Read(#[from] InputError),
    /// The file is no text.
    #[error("the machine {0} is not UTF-8 text")]
    NotText(PathBuf),
    /// The contents of the file.
    #[error(transparent)]
    Problems(#[from] Problems),
}

/// The names of the machines that come with dyntick.
pub fn names() -> Vec<&'static str> {
    SHIPPED.files().filter_map(|file| file.path().file_stem()?.to_str()).collect()
}

/// A machine by the name of one that comes with dyntick, or by the path of a file, which has a
/// `/` in it or ends in `.toml`.
pub fn find(name: &str) -> Result<Machine, MachineError> {
    if is_path(name) {
        return load(Path::new(name));
    }
    let Some(file) = SHIPPED.get_file(format!("{name}.toml")) else {
        return Err(MachineError::Unknown { name: name.to_owned(), hint: hint(name) });
    };
    let path = Path::new("machines").join(file.path());
    Ok(parse::machine(&path, file.contents_utf8().unwrap_or_default())?)
}

/// Returns true if this is the path of a file and not a name.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// Reads a machine's file.
pub fn load(path: &Path) -> Result<Machine, MachineError> {
    /// A table of idle states has a few KiB, and each case of a study holds one of its own.
    const LARGEST: u64 = 16 << 10;
    let text = String::from_utf8(dyntick_system::read_regular(path, LARGEST)?)
        .map_err(|_| MachineError::NotText(path.to_owned()))?;
    Ok(parse::machine(path, &text)?)
}

fn hint(name: &str) -> String {
    match nearest(name, &names()) {
        Some(right) => format!("did you mean '{right}'?"),
        None => format!(
            "there are {}; a file is named by a path with a '/'",
            known_words(name, &names(), "`dyntick lab machines`")
        ),
    }
}

#[cfg(test)]
mod tests;
