// SPDX-License-Identifier: GPL-2.0-only
//! Files of the study's folder that its guests get: a job of fio, a script of a tool.

use super::Case;
use super::reader::{Source, Value};
use dyntick_model::text::shown;
use dyntick_system::{is_inner, open_beneath, read_open};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Job files and scripts have some KB; `run.toml` keeps them, so that a run can be verified without its study.
const LARGEST: u64 = 64 << 10;

/// The value of `files`: paths from the study's folder, each with the text that is there.
pub fn read(source: &Source<'_>, value: &Value<'_>) -> BTreeMap<String, String> {
    let names = source.texts("files", value).unwrap_or_default();
    if names.len() > Case::MOST_FILES {
        let message = format!("files: a case has at most {}", Case::MOST_FILES);
        source.problem(value.span().start, message);
        return BTreeMap::new();
    }
    let read = |name: String| {
        let text = text(source.folder(), &name).and_then(|text| {
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

fn text(folder: &Path, name: &str) -> Result<String, String> {
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

#[cfg(test)]
mod tests {
    use super::super::{Size, parse};
    use super::*;
    use std::fs::write;

    fn study(folder: &Path, files: &str) -> Result<Vec<Case>, String> {
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
        let cases = study(folder.path(), "['jobs/a.fio']").unwrap();
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
            private_note(folder.path(), &study(folder.path(), "['key']").unwrap())
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
            let message = study(&folder, &format!("['{name}']")).unwrap_err();
            assert!(message.contains(why) && message.contains("study.toml:6:"), "{name}: {message}");
        }
        assert!(study(&folder, &format!("[{}]", "'x',".repeat(17))).unwrap_err().contains("at most 16"));
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
}
