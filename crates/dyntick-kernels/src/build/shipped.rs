// SPDX-License-Identifier: GPL-2.0-only
//! The fragments and patches that come with dyntick, carried in its binary.

use dyntick_model::text::nearest;
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

/// Whether a name in a recipe is a path: shipped parts have names without a slash.
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
            None => format!("there are {}; a file is named by a path with a '/'", names.join(", ")),
        };
        format!("no {} '{name}' comes with dyntick; {hint}", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::fragment;

    #[test]
    fn every_fragment_says_what_it_is_for_and_can_be_read() {
        assert!(FRAGMENTS.names().len() > 10);
        for name in FRAGMENTS.names() {
            let (file, text) = FRAGMENTS.find(name).unwrap();
            let mut lines = text.lines();
            assert_eq!(lines.next(), Some("# SPDX-License-Identifier: GPL-2.0-only"), "{file}");
            assert!(lines.next().is_some_and(|line| line.starts_with("# ")), "{file} says what it is for");
            assert!(!fragment::parse(&file, &text).unwrap().is_empty(), "{file}");
        }
    }
}
