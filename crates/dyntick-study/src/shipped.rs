// SPDX-License-Identifier: GPL-2.0-only
//! The studies that come with dyntick, carried in its binary.

use super::{Given, Size, Study, StudyError, parse};
use dyntick_model::text::{known_words, nearest, shown};
use include_dir::{Dir, include_dir};
use std::path::Path;

static STUDIES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../studies");

/// Their names, in alphabetical order.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = STUDIES.files().filter_map(|file| file.path().file_stem()?.to_str()).collect();
    names.sort_unstable();
    names
}

/// The text of the study of this name.
///
/// # Errors
/// Where no such study comes with dyntick; it says which do.
pub fn text(name: &str) -> Result<&'static str, StudyError> {
    let file = STUDIES.get_file(format!("{name}.toml"));
    let text = file.and_then(|file| file.contents_utf8());
    text.ok_or_else(|| StudyError::Unknown { name: name.to_owned(), hint: hint(name) })
}

/// A study by the path of its file, or by its name where it comes with dyntick. A path has a `/` in it, ends in
/// `.toml`, or is that of a file that is there.
pub fn find(name: &Path, size: Size) -> Result<Study, StudyError> {
    find_given(name, size, &Given::default()).map(|(study, _)| study)
}

/// The same with what the command line sets in its cases; the second part is how many of its claims speak of cases
/// that are there no more.
pub fn find_given(name: &Path, size: Size, given: &Given) -> Result<(Study, usize), StudyError> {
    match name.to_str().filter(|_| !is_path(name)) {
        Some(name) => {
            let path = Path::new("studies").join(format!("{name}.toml"));
            Ok(parse::given(&path, text(name)?, size, given)?)
        }
        None => Study::load_given(name, size, given),
    }
}

/// Finds a study as the command line changes it, with only the cases that it names; the second part is as that of
/// [`find_given`].
///
/// # Errors
/// As [`find`]; and options that name no case, say the same twice, or ask for a full size that no case has.
pub fn find_changed(name: &Path, size: Size, given: &Given) -> Result<(Study, usize), StudyError> {
    if let Some(option) = given.repeated() {
        return Err(StudyError::Repeated(option.to_owned()));
    }
    let (mut study, left_out) = find_given(name, size, given)?;
    if size == Size::Full && find_given(name, Size::Scaled, given)?.0.cases == study.cases {
        return Err(StudyError::NoFullSize(name.to_owned()));
    }
    study.keep_named(given, &shown(name))?;
    Ok((study, left_out))
}

/// Returns true if this is the path of a study and not the name of one that comes with dyntick.
pub fn is_path(name: &Path) -> bool {
    !name.to_str().is_some_and(|text| !text.contains('/') && !text.ends_with(".toml")) || name.is_file()
}

fn hint(name: &str) -> String {
    match nearest(name, &names()) {
        Some(right) => format!("did you mean '{right}'?"),
        None => format!(
            "there are {}; a file is named by a path that ends in '.toml' or has a '/'",
            known_words(name, &names(), "`dyntick lab studies`")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Recipe;
    use std::collections::BTreeMap;

    #[test]
    fn each_study_is_found_by_its_name_and_needs_no_other_file() {
        assert!(names().contains(&"adaptive-ticks"));
        for name in names() {
            let study = find(Path::new(name), Size::Scaled).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(study.name, name);
            for case in &study.cases {
                assert!(case.files.is_empty() && !case.kernel.contains('/'), "{name}: {}", case.id);
            }
            for recipe in study.kernels.values() {
                let parts = recipe.config.iter().chain(&recipe.patches).chain([&recipe.source]);
                assert!(parts.into_iter().all(|part| !part.contains('/')), "{name}: {recipe:?}");
            }
        }
    }

    #[test]
    fn kernels_that_are_compared_by_hz_differ_in_nothing_else() {
        /// The name without its number of ticks: `hz-612` of `hz-250-612`.
        fn without_hz(name: &str) -> Option<String> {
            let rest = name.strip_prefix("hz-")?;
            Some(format!("hz{}", rest.trim_start_matches(|c: char| c.is_ascii_digit())))
        }
        let mut pairs = 0;
        for study in names().into_iter().map(|name| find(Path::new(name), Size::Scaled).unwrap()) {
            let mut seen: BTreeMap<String, Recipe> = BTreeMap::new();
            for (name, recipe) in &study.kernels {
                let Some(of) = without_hz(name) else { continue };
                let mut recipe = recipe.clone();
                recipe.config.retain(|fragment| !fragment.starts_with("hz-"));
                recipe.config.sort();
                pairs += usize::from(seen.contains_key(&of));
                let first = seen.entry(of).or_insert_with(|| recipe.clone());
                assert_eq!(*first, recipe, "{}: {name}", study.name);
            }
        }
        assert!(pairs >= 6);
    }

    #[test]
    fn unknown_name_is_reported_with_the_nearest() {
        let message = |name: &str| find(Path::new(name), Size::Scaled).unwrap_err().to_string();
        assert_eq!(
            message("adaptive-tick"),
            "no study 'adaptive-tick' comes with dyntick; did you mean 'adaptive-ticks'?"
        );
        assert!(message("x").contains(" others (`dyntick lab studies` lists all)"), "{}", message("x"));
        assert!(message("adaptive-ticks.toml").starts_with("the study: "), "a path is never a name");
    }
}
