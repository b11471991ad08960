// SPDX-License-Identifier: GPL-2.0-only
//! Parts that a study brings along: kernels built to order (`[kernels.NAME]`), files of its folder that its guests get,
//! and figures that a pattern or a path picks out of what its programs print.

use super::Case;
use super::keys::study::{KERNEL, PICK};
use super::reader::{Section, Source, Value};
use dyntick_formats::picked::{PickError, Picker};
use dyntick_model::Recipe;
use dyntick_model::recipe::check_source;
use dyntick_model::shipped::{lacking_fragment, lacking_patch};
use dyntick_model::text::shown;
use dyntick_stats::{Better, MetricName};
use dyntick_system::{is_inner, open_beneath, read_open};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The largest number of kernels: the files that each names are looked up when the study is read.
const MOST_KERNELS: usize = 64;

/// Reads the tables; paths in them are meant from the folder of the study.
pub fn kernels(root: Section<'_, '_, '_>, study: &Path) -> BTreeMap<String, Recipe> {
    let Some(tables) = root.section("kernels", "[kernels]") else { return BTreeMap::new() };
    if tables.table.len() > MOST_KERNELS {
        root.source.problem(tables.at, format!("a study has at most {MOST_KERNELS} kernels of its own"));
        return BTreeMap::new();
    }
    let folder = study.parent().unwrap_or(Path::new(""));
    let mut recipes = BTreeMap::new();
    for (name, value) in tables.table {
        let at = name.span().start;
        let name = name.get_ref().as_ref();
        refuse_unfit_name(root, name, at);
        let table = Section::of(root.source, "[kernels.NAME]", name, value);
        recipes.insert(name.to_owned(), table.map(|table| recipe(table, folder)).unwrap_or_default());
    }
    recipes
}

fn recipe(table: Section<'_, '_, '_>, folder: &Path) -> Recipe {
    table.only(&KERNEL);
    let list = |key: &str, value| texts(table, key, value);
    let recipe = Recipe {
        source: table.required_text("source").unwrap_or_default(),
        config: table.required("config").map(|value| list("config", value)).unwrap_or_default(),
        patches: table.get("patches").map(|value| list("patches", value)).unwrap_or_default(),
    };
    let note = |key: &str, message: String| {
        table.source.problem(table.get(key).map_or(table.at, |value| value.span().start), message);
    };
    if let (Some(_), Err(error)) = (table.get("source"), check_source(&recipe.source)) {
        note("source", format!("source: {error}"));
    }
    recipe.config.iter().filter_map(|name| lacking_fragment(name)).for_each(|lack| {
        note("config", format!("config: {lack}"));
    });
    recipe.patches.iter().filter_map(|name| lacking_patch(name)).for_each(|lack| {
        note("patches", format!("patches: {lack}"));
    });
    recipe.relative_to(folder)
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

/// Job files and scripts have some KB; `run.toml` keeps them, so that a run can be verified without its study.
const LARGEST: u64 = 64 << 10;

/// The value of `files`: paths from the study's folder, each with the text that is there.
pub fn files(source: &Source<'_>, value: &Value<'_>) -> BTreeMap<String, String> {
    let names = source.texts("files", value).unwrap_or_default();
    if names.len() > Case::MOST_FILES {
        let message = format!("files: a case has at most {}", Case::MOST_FILES);
        source.problem(value.span().start, message);
        return BTreeMap::new();
    }
    let read = |name: String| {
        let text = text_of_file(source.folder(), &name).and_then(|text| {
            if source.bring(text.len()) {
                Ok(text)
            } else {
                Err("with it the files of all cases are too large".to_owned())
            }
        });
        let text = text.map_err(|why| format!("'{name}': {why}"));
        Some((name, source.try_value("files", value, text)?))
    };
    names.into_iter().filter_map(read).collect()
}

/// A note if other users may not read a file that the guests get: it may be in the report.
pub fn private_note(folder: &Path, cases: &[Case]) -> Option<String> {
    const READ: u32 = 0o004;
    let is_private = |name: &&String| {
        folder.join(name).symlink_metadata().is_ok_and(|found| found.permissions().mode() & READ == 0)
    };
    let name = cases.iter().flat_map(|case| case.files.keys()).find(is_private)?;
    Some(format!(
        "guests get {}, which other users of this machine may not read: look at the report before you send it",
        shown(&folder.join(name))
    ))
}

fn text_of_file(folder: &Path, name: &str) -> Result<String, String> {
    if !is_inner(Path::new(name)) {
        return Err("name a file in the study's folder by its path relative to it, without '..'".to_owned());
    }
    if Path::new(name).iter().any(|part| part.as_bytes().starts_with(b".")) {
        return Err("a hidden file is not brought into a guest: a study may be saved in a home folder, and keys and passwords \
                    are in such files; give it another name"
            .to_owned());
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let file = open_beneath(folder, Path::new(name)).map_err(|error| error.to_string())?;
    let bytes = read_open(&file, Path::new(name), LARGEST).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

/// The place of a figure in a program's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A regular expression with one group, the number.
    Pattern(String),
    /// A path into JSON.
    Json(String),
}

/// A figure of a case's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pick {
    /// The place.
    pub place: Place,
    /// The unit; empty for a count.
    pub unit: String,
    /// The direction that is better.
    pub better: Better,
}

impl Pick {
    /// The picker of the figure.
    ///
    /// # Errors
    /// A malformed pattern or path.
    pub fn picker(&self) -> Result<Picker, PickError> {
        match &self.place {
            Place::Pattern(pattern) => Picker::pattern(pattern),
            Place::Json(path) => Picker::json(path),
        }
    }
}

/// The value of `figures`.
pub fn figures<'v, 't>(all: Section<'_, 'v, 't>) -> BTreeMap<String, Pick> {
    if all.table.len() > Case::MOST_FIGURES {
        all.source.problem(all.at, format!("figures: a case has at most {}", Case::MOST_FIGURES));
        return BTreeMap::new();
    }
    all.table
        .iter()
        .filter_map(|(name, value)| Some((name.get_ref().to_string(), figure(all, name.get_ref(), value)?)))
        .collect()
}

fn figure<'v, 't>(all: Section<'_, 'v, 't>, name: &str, value: &'v Value<'t>) -> Option<Pick> {
    let source = all.source;
    let section = Section::of(source, "[case.figures]", name, value)?;
    section.only(&PICK);
    let refuse = |message: String| source.problem(section.at, format!("figures: {name}: {message}"));
    if MetricName::new(name).is_none() {
        refuse("its name is empty, too long or has control characters".to_owned());
    }
    let place = match (section.text("pattern"), section.text("json")) {
        (Some(pattern), None) => Place::Pattern(pattern),
        (None, Some(path)) => Place::Json(path),
        _ => {
            refuse("give either pattern = 'took ([0-9.]+) ms' or json = 'jobs.*.read.iops'".to_owned());
            return None;
        }
    };
    let pick = Pick { place, unit: section.text("unit").unwrap_or_default(), better: better(section) };
    pick.picker().map_err(|error| refuse(error.to_string())).ok()?;
    Some(pick)
}

fn better(section: Section<'_, '_, '_>) -> Better {
    let Some(value) = section.get("better") else { return Better::Unknown };
    match section.source.text("better", value).as_deref() {
        Some("lower") => Better::Lower,
        Some("higher") => Better::Higher,
        Some(other) => {
            let message = format!("better: '{other}' is neither \"lower\" nor \"higher\"");
            section.source.problem(value.span().start, message);
            Better::Unknown
        }
        None => Better::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Size, parse};
    use super::*;
    use std::fs::write;
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
        assert_eq!(words(MOST_KERNELS), "");
        assert!(words(MOST_KERNELS + 1).contains("at most 64 kernels"));
    }

    fn with_files(folder: &Path, files: &str) -> Result<Vec<Case>, String> {
        let text = format!(
            "title = 't'\nquestion = 'q'\n[[case]]\nname = 'a'\nkernel = 'debian:6.12'\nfiles = {files}\n\
             task = [{{ cpu = 1, run = 'spin', to-its-end = true }}]\n"
        );
        let study = parse::study(&folder.join("study.toml"), &text, Size::Scaled);
        study.map(|study| study.cases).map_err(|problems| problems.to_string())
    }

    #[test]
    fn texts_come_with_their_paths() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("jobs")).unwrap();
        write(folder.path().join("jobs/a.fio"), "[a]\n").unwrap();
        let cases = with_files(folder.path(), "['jobs/a.fio']").unwrap();
        assert_eq!(cases[0].files, BTreeMap::from([("jobs/a.fio".to_owned(), "[a]\n".to_owned())]));
        assert!(cases[0].tasks[0].to_its_end);
        let kept = toml::to_string(&cases[0]).unwrap();
        assert_eq!(toml::from_str::<Case>(&kept).unwrap(), cases[0], "run.toml has all of it");
    }

    #[test]
    fn a_private_file_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path().join("key"), "x").unwrap();
        let note = |mode: u32| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder.path().join("key"), mode).unwrap();
            private_note(folder.path(), &with_files(folder.path(), "['key']").unwrap())
        };
        let private = note(0o600).unwrap();
        assert!(private.contains("/key, which other users of this machine may not read"), "{private}");
        assert_eq!(note(0o644), None);
    }

    #[test]
    fn only_small_texts_of_its_own_folder() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("study");
        std::fs::create_dir(&folder).unwrap();
        write(outer.path().join("secret"), "x").unwrap();
        write(folder.join("large"), vec![b'x'; LARGEST as usize + 1]).unwrap();
        write(folder.join("binary"), [0xff, 0xfe]).unwrap();
        std::os::unix::fs::symlink("../secret", folder.join("link")).unwrap();
        for (name, why) in [
            ("../secret", "without '..'"),
            ("/etc/passwd", "by its path relative to"),
            ("link", "a symbolic link"),
            ("large", "large"),
            ("binary", "not UTF-8 text"),
            ("nothing", "No such file"),
            (".netrc", "a hidden file"),
            (".ssh/id_ed25519", "a hidden file"),
        ] {
            let message = with_files(&folder, &format!("['{name}']")).unwrap_err();
            assert!(message.contains(why) && message.contains("study.toml:6:"), "{name}: {message}");
        }
        assert!(with_files(&folder, &format!("[{}]", "'x',".repeat(17))).unwrap_err().contains("at most 16"));
    }

    #[test]
    fn files_of_all_cases_have_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path().join("text"), vec![b'x'; LARGEST as usize]).unwrap();
        let labels: Vec<String> = (0..200).map(|number| format!("'{number}'")).collect();
        let text = format!(
            "title = 't'\nquestion = 'q'\n[defaults]\nkernel = 'debian:6.12'\nfiles = ['text']\n[matrix]\n\
             append = [{}]\n[[case]]\nname = 'a'\n",
            labels.join(",")
        );
        let study = parse::study(&folder.path().join("study.toml"), &text, Size::Scaled);
        assert!(study.unwrap_err().to_string().contains("the files of all cases are too large"));
    }

    fn with_figures(figures: &str) -> Result<Case, String> {
        let text = format!(
            "title = 't'\nquestion = 'q'\n[[case]]\nname = 'a'\nkernel = 'debian:6.12'\n[case.figures]\n{figures}\n"
        );
        let study = parse::study(Path::new("x.toml"), &text, Size::Scaled);
        study.map(|mut study| study.cases.remove(0)).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_figure_has_a_place_a_unit_and_a_direction() {
        let case = with_figures(
            "tps = { pattern = 'tps = ([0-9.]+)', unit = '1/s', better = 'higher' }\nn = { json = 'a.b' }",
        );
        let case = case.unwrap();
        assert_eq!(case.figures["tps"].better, Better::Higher);
        assert_eq!(
            case.figures["n"],
            Pick { place: Place::Json("a.b".into()), unit: String::new(), better: Better::Unknown }
        );
        let kept = toml::to_string(&case).unwrap();
        assert_eq!(toml::from_str::<Case>(&kept).unwrap(), case);
    }

    #[test]
    fn what_picks_nothing_is_refused_with_its_place() {
        for (figures, why) in [
            ("a = { unit = 's' }", "give either pattern"),
            ("a = { pattern = '(', unit = 's' }", "is not a valid regular expression"),
            ("a = { pattern = 'x', unit = 's' }", "has no group"),
            ("a = { pattern = '(x)', better = 'more' }", "neither \"lower\" nor \"higher\""),
            ("a = { pattern = '(x)', units = 's' }", "did you mean 'unit'"),
        ] {
            let message = with_figures(figures).unwrap_err();
            assert!(message.contains(why) && message.contains("x.toml:7:"), "{message}");
        }
    }
}
