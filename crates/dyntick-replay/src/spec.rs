// SPDX-License-Identifier: GPL-2.0-only
//! Governors as a user names them: `menu@6.12`, a file, patches on either, and values of macros.

use crate::governor::{Define, Governor};
use crate::{ReplayError, governor};
use dyntick_kernels::build::governors::{GOVERNORS, Patched, Unpacked, origin, patch, unpacked};
use dyntick_kernels::build::{BuildError, SourceError};
use dyntick_kernels::cache::Cache;
use dyntick_model::kernel_name::UNSTABLE;
use std::path::{Path, PathBuf};

/// The most variants of one `--sweep`.
const MOST_VARIANTS: usize = 10_000;

/// A governor as it is named: `NAME@VERSION[+PATCH…]` or `FILE.c[+PATCH…]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The text.
    pub text: String,
    base: Base,
    patches: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Base {
    /// A governor of Debian's kernels of a series.
    OfDebian { name: String, series: String },
    /// A file.
    File(PathBuf),
}

impl std::str::FromStr for Spec {
    type Err = ReplayError;

    fn from_str(text: &str) -> Result<Self, ReplayError> {
        let wrong = |reason: &str| ReplayError::Spec { text: text.to_owned(), reason: reason.to_owned() };
        let mut parts = text.split('+');
        let base = parts.next().unwrap_or_default();
        // A file's name may have a plus sign itself.
        if Path::new(text).is_file() && text.ends_with(".c") {
            return Ok(Self { text: text.to_owned(), base: Base::File(text.into()), patches: Vec::new() });
        }
        let patches: Vec<String> = parts.map(str::to_owned).collect();
        if patches.iter().any(String::is_empty) {
            return Err(wrong("write the path of a patch after each +"));
        }
        let base = match base.split_once('@') {
            _ if base.ends_with(".c") => Base::File(base.into()),
            Some((name, series)) => {
                let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
                let is_series = series == UNSTABLE || series.split('.').count() == 2;
                if !is_name || !is_series {
                    return Err(wrong("write e.g. menu@6.12, with a series of kernels or sid"));
                }
                Base::OfDebian { name: name.to_owned(), series: series.to_owned() }
            }
            None => {
                return Err(wrong(
                    "write NAME@VERSION, e.g. menu@6.12, or the path of a file that ends in .c",
                ));
            }
        };
        Ok(Self { text: text.to_owned(), base, patches })
    }
}

impl Spec {
    /// Reads the governor's source, which is fetched if it is Debian's and not in the cache.
    ///
    /// # Errors
    /// No such source, file or governor; a patch that does not apply.
    pub fn load(&self, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Governor, ReplayError> {
        match &self.base {
            Base::File(path) => self.read(path, cache, progress),
            Base::OfDebian { name, series } => {
                let source = of_series(series, cache, progress)?;
                let path = source.tree.join(GOVERNORS).join(format!("{name}.c"));
                if !path.is_file() {
                    let reason = format!("{} has no {GOVERNORS}/{name}.c", source.origin);
                    return Err(ReplayError::Spec { text: self.text.clone(), reason });
                }
                if let Some(note) = &source.fallback {
                    progress(note);
                }
                let governor = self.read(&path, cache, progress)?;
                Ok(Governor { origin: source.origin.clone(), ..governor })
            }
        }
    }

    fn read(&self, path: &Path, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Governor, ReplayError> {
        let plain = Governor::read(&self.text, path)?;
        if self.patches.is_empty() {
            return Ok(plain);
        }
        let folder = tempfile::tempdir()?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let sources: Vec<PathBuf> = plain.files.iter().map(|file| beside.join(&file.name)).collect();
        let files = sources.iter().zip(&plain.files);
        let files =
            files.map(|(from, file)| (from.as_path(), Path::new(GOVERNORS).join(&file.name))).collect();
        let patches: Vec<String> = self.patches.iter().map(|patch| as_path(patch)).collect();
        let tree = beside.ends_with(GOVERNORS).then(|| beside.ancestors().nth(3)).flatten();
        patch(&Patched { files, tree, patches: &patches }, folder.path(), cache, progress)?;
        Governor::read(&self.text, &folder.path().join(&plain.main))
    }
}

/// The name of a patch as a study has it: a path has a slash, and a patch that comes with dyntick has no ending.
fn as_path(patch: &str) -> String {
    if patch.contains('/') {
        return patch.to_owned();
    }
    if Path::new(patch).is_file() {
        return format!("./{patch}");
    }
    let name = patch.strip_suffix(".cocci").or_else(|| patch.strip_suffix(".patch"));
    name.unwrap_or(patch).to_owned()
}

/// Debian's source of a series, which may be in its unstable suite alone.
fn of_series(series: &str, cache: &Cache, progress: &dyn Fn(&str)) -> Result<Unpacked, ReplayError> {
    let found = match unpacked(&format!("debian:{series}"), cache, progress) {
        Ok(source) if source.fallback.is_none() => return Ok(source),
        Err(error) if !matches!(error, BuildError::Source(SourceError::NotOffered { .. })) => {
            return Err(error.into());
        }
        found => found,
    };
    let unstable = format!("debian:{UNSTABLE}");
    let package = format!("linux-source-{series} ");
    match origin(&unstable, cache, progress) {
        Ok(origin) if origin.contains(&package) => Ok(unpacked(&unstable, cache, progress)?),
        _ => Ok(found?),
    }
}

/// The variants of a text such as `mine.c -DMARGIN=0..100:5`: the governor's name, and all combinations of values.
///
/// # Errors
/// A range that is none, or too many variants.
pub fn sweep(text: &str) -> Result<(Spec, Vec<Vec<Define>>), ReplayError> {
    let wrong = |reason: &str| ReplayError::Spec { text: text.to_owned(), reason: reason.to_owned() };
    let mut words = text.split_whitespace();
    let spec = words.next().unwrap_or_default().parse()?;
    let mut variants: Vec<Vec<Define>> = vec![Vec::new()];
    for word in words {
        let define = word.strip_prefix("-D").and_then(|define| define.split_once('='));
        let (name, range) =
            define.ok_or_else(|| wrong("write -DNAME=FIRST..LAST:STEP after the governor"))?;
        let is_name = |name: &str| {
            !name.starts_with(|c: char| c.is_ascii_digit())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if name.is_empty() || !is_name(name) {
            return Err(wrong("the name of a macro has letters, digits and _ only"));
        }
        let values = values(range).ok_or_else(|| wrong("a range is FIRST..LAST:STEP, e.g. 0..100:5"))?;
        if variants.len().saturating_mul(values.len()) > MOST_VARIANTS {
            return Err(wrong("it has more than 10000 variants"));
        }
        let with = |variant: &Vec<Define>, value: i64| {
            let define = Define { name: name.to_owned(), value: value.to_string() };
            variant.iter().cloned().chain([define]).collect()
        };
        let both =
            |variant: &Vec<Define>| values.iter().map(|value| with(variant, *value)).collect::<Vec<_>>();
        variants = variants.iter().flat_map(both).collect();
    }
    if variants.len() == 1 && variants[0].is_empty() {
        return Err(wrong("it varies nothing: write -DNAME=FIRST..LAST:STEP after the governor"));
    }
    Ok((spec, variants))
}

/// The numbers of a range `FIRST..LAST:STEP`, without a step those in steps of 1, or of one number.
fn values(range: &str) -> Option<Vec<i64>> {
    let Some((first, rest)) = range.split_once("..") else { return Some(vec![range.parse().ok()?]) };
    let (last, step) = rest.split_once(':').unwrap_or((rest, "1"));
    let (first, last, step): (i64, i64, i64) = (first.parse().ok()?, last.parse().ok()?, step.parse().ok()?);
    let count = last.checked_sub(first)?.checked_div(step)?;
    let fits = step > 0 && (0..MOST_VARIANTS as i64).contains(&count);
    fits.then(|| (0..=count).map(|number| first + number * step).collect())
}

/// A governor with values of macros, and these in its name.
pub(crate) fn with_defines(governor: &Governor, defines: &[Define]) -> Governor {
    let words: Vec<String> =
        defines.iter().map(|define| format!(" -D{}={}", define.name, define.value)).collect();
    Governor {
        name: format!("{}{}", governor.name, words.concat()),
        defines: defines.to_vec(),
        ..governor.clone()
    }
}

impl Governor {
    /// This governor with values of macros.
    #[must_use]
    pub fn with(&self, defines: &[Define]) -> Governor {
        with_defines(self, defines)
    }

    /// This governor with a header that is included after the stand-in for the kernel.
    ///
    /// # Errors
    /// A header that cannot be read.
    pub fn with_stand_in(self, header: Option<&Path>) -> Result<Governor, ReplayError> {
        let read = |path: &Path| {
            governor::read(path).map_err(|source| ReplayError::Read { path: path.to_owned(), source })
        };
        Ok(Governor { stand_in: header.map(read).transpose()?, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn governors_are_named_by_version_or_file_with_patches() {
        let spec = |text: &str| text.parse::<Spec>();
        let menu = spec("menu@6.12+a.cocci+b.patch").unwrap();
        assert_eq!(menu.base, Base::OfDebian { name: "menu".into(), series: "6.12".into() });
        assert_eq!(menu.patches, ["a.cocci", "b.patch"]);
        assert_eq!(spec("./linux/menu.c+a.patch").unwrap().base, Base::File("./linux/menu.c".into()));
        for text in ["menu", "menu@", "menu@6", "../x@6.12", "menu@6.12+", ""] {
            assert!(spec(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_sweep_has_all_combinations() {
        let (spec, variants) = sweep("mine.c -DA=0..10:5 -DB=1..2").unwrap();
        assert_eq!(spec.text, "mine.c");
        let text = |variant: &Vec<Define>| {
            variant.iter().map(|define| define.value.clone()).collect::<Vec<_>>().join(" ")
        };
        let all: Vec<String> = variants.iter().map(text).collect();
        assert_eq!(all, ["0 1", "0 2", "5 1", "5 2", "10 1", "10 2"]);
        for text in [
            "mine.c",
            "mine.c -DA=5..1:1",
            "mine.c -DA=0..9:0",
            "mine.c -DA=x",
            "mine.c -Da;b=1",
            "mine.c -DA=0..99999",
        ] {
            assert!(sweep(text).is_err(), "{text}");
        }
    }
}
