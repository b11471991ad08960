// SPDX-License-Identifier: GPL-2.0-only
//! The fragments and patches that come with dyntick, carried in its binary.

use crate::text::{known_words, nearest};
use include_dir::{Dir, include_dir};
use std::path::Path;

/// One folder of them.
pub struct Parts {
    what: &'static str,
    folder: Dir<'static>,
}

/// Configuration fragments.
pub static FRAGMENTS: Parts = Parts {
    what: "configuration fragment",
    folder: include_dir!("$CARGO_MANIFEST_DIR/../../kernel/configs"),
};

/// Changes to the kernel.
pub static PATCHES: Parts =
    Parts { what: "patch", folder: include_dir!("$CARGO_MANIFEST_DIR/../../kernel/patches") };

/// True if a name in a recipe is a path: shipped parts have names without a slash.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some()
}

impl Parts {
    /// File name and text of the part of this name.
    pub fn find(&self, name: &str) -> Option<(String, String)> {
        let file =
            self.folder.files().find(|file| file.path().file_stem().is_some_and(|stem| stem == name))?;
        Some((file.path().to_string_lossy().into_owned(), file.contents_utf8()?.to_owned()))
    }

    /// The names of all.
    pub fn names(&self) -> Vec<&'static str> {
        self.folder.files().filter_map(|file| file.path().file_stem()?.to_str()).collect()
    }

    /// That there is none of this name, with the nearest right one.
    pub fn lack(&self, name: &str) -> String {
        let names = self.names();
        let hint = match nearest(name, &names) {
            Some(right) => format!("did you mean '{right}'?"),
            None => {
                format!(
                    "there are {}; a file is named by a path with a '/'",
                    known_words(name, &names, "the chapter Custom kernels")
                )
            }
        };
        format!("no {} '{name}' comes with dyntick; {hint}", self.what)
    }
}

/// The error for the name of a fragment that does not come with dyntick; a path is looked for only when building.
pub fn lacking_fragment(name: &str) -> Option<String> {
    (!is_path(name) && FRAGMENTS.find(name).is_none()).then(|| FRAGMENTS.lack(name))
}

/// The error for the name of a patch likewise.
pub fn lacking_patch(name: &str) -> Option<String> {
    (!is_path(name) && PATCHES.find(name).is_none()).then(|| PATCHES.lack(name))
}
