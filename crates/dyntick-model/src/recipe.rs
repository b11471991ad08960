// SPDX-License-Identifier: GPL-2.0-only
//! A kernel made to order, as a study names it: a source, configuration fragments and patches.

use crate::kernel_name::UNSTABLE;
use crate::shipped::is_path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The parts of a kernel, by name. Paths are meant from the working folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Recipe {
    /// `debian:6.12`, `debian:sid` for Debian's newest, a tarball, `git:REPOSITORY#REVISION`, or the folder of a source
    /// tree.
    pub source: String,
    /// Fragments by name or path, or one complete configuration by path; later ones win.
    pub config: Vec<String>,
    /// Patches by name or path, in the order in which they are applied.
    #[serde(default)]
    pub patches: Vec<String>,
}

/// A text that names no kernel source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a kernel source: write debian:6.1, debian:6.12, debian:sid, the path of a .tar.xz, .tar.gz or .tar.zst, git:REPOSITORY#REVISION, or the folder of a source tree"
)]
pub struct NotASource(pub String);

/// Checks that a text can name a source; the source itself is looked for only when a kernel is built.
///
/// # Errors
/// If it cannot.
pub fn check_source(text: &str) -> Result<(), NotASource> {
    let fits = match text.strip_prefix("debian:") {
        Some(series) => series == UNSTABLE || is_series(series),
        None => text.starts_with("git:") || !text.is_empty() && is_path(text),
    };
    if fits { Ok(()) } else { Err(NotASource(text.to_owned())) }
}

/// True for a series of kernels, e.g. `6.12`.
fn is_series(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    text.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

impl Recipe {
    /// The same recipe with paths from the working folder, if they were meant from `folder`.
    #[must_use]
    pub fn relative_to(mut self, folder: &Path) -> Self {
        for name in self.config.iter_mut().chain(&mut self.patches) {
            place(name, folder);
        }
        if let Some(rest) = self.source.strip_prefix("git:") {
            // A folder may have a name without a slash here.
            if !rest.contains("://") {
                self.source = format!("git:{}", folder.join(rest).to_string_lossy());
            }
        } else if !self.source.starts_with("debian:") {
            place(&mut self.source, folder);
        }
        self
    }
}

fn place(name: &mut String, folder: &Path) {
    if is_path(name) {
        *name = folder.join(&*name).to_string_lossy().into_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths() {
        let recipe = Recipe {
            source: "../linux".into(),
            config: vec!["lab".into(), "mine.config".into(), "/etc/x".into()],
            patches: vec!["a/b.cocci".into()],
        };
        let placed = recipe.relative_to(Path::new("studies"));
        assert_eq!(placed.source, "studies/../linux");
        assert_eq!(placed.config, ["lab", "studies/mine.config", "/etc/x"]);
        assert_eq!(placed.patches, ["studies/a/b.cocci"]);
        let placed = |source: &str| {
            Recipe { source: source.into(), ..Recipe::default() }.relative_to(Path::new("studies")).source
        };
        assert_eq!(placed("git:linux#v6.12"), "git:studies/linux#v6.12");
        assert_eq!(placed("git:/src/linux"), "git:/src/linux");
        assert_eq!(placed("git:https://git.kernel.org/x#v6.12"), "git:https://git.kernel.org/x#v6.12");
        let debian = Recipe { source: "debian:6.12".into(), ..Recipe::default() };
        assert_eq!(debian.clone().relative_to(Path::new("studies")), debian);
    }
}
