// SPDX-License-Identifier: GPL-2.0-only
//! What the laboratory and all that it starts have of the user's environment. An empty or relative path in it
//! is of the folder that one stands in, and a stranger's study comes with a folder: programs, libraries and
//! settings of it would be taken.

use crate::cache::keeps_what_is_made;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// PATH where nothing is left of it: an empty one is the folder that one stands in.
const USUAL: &str = "/usr/bin:/bin";

/// Lists of paths, of which the absolute ones are kept, and what parts them: PATH, and those of ld.so(8).
const LISTS: [(&str, &[u8]); 4] =
    [("PATH", b":"), ("LD_LIBRARY_PATH", b":;"), ("LD_PRELOAD", b": "), ("LD_AUDIT", b":")];

/// Paths, which are kept where they are absolute.
const PATHS: [&str; 9] = [
    "HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];

/// Where temporary files are made.
const TEMPORARY: &str = "TMPDIR";

/// What names no file: of terminals and languages, of who calls, of a kernel's compiler, of the network.
const WORDS: [&str; 24] = [
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "LANG",
    "LANGUAGE",
    "TZ",
    "USER",
    "LOGNAME",
    "SUDO_UID",
    "SUDO_GID",
    "SUDO_USER",
    "KCFLAGS",
    "KAFLAGS",
    "KCPPFLAGS",
    "RUST_BACKTRACE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];

/// dyntick's own variables, and those of locales.
const PREFIXES: [&str; 2] = ["DYNTICK_", "LC_"];

/// Removes everything else, for this program and all that it starts.
///
/// # Safety
/// No other thread may run yet: others may read the environment.
pub unsafe fn keep_known() {
    for (name, value) in std::env::vars_os() {
        match kept(&name, &value) {
            Some(kept) if kept == value => {}
            // SAFETY: as the caller promises, here and below.
            Some(kept) => unsafe { std::env::set_var(&name, kept) },
            None => unsafe { std::env::remove_var(&name) },
        }
    }
    if std::env::var_os("PATH").is_none() {
        // SAFETY: as the caller promises.
        unsafe { std::env::set_var("PATH", USUAL) };
    }
}

/// What is left of a variable.
fn kept(name: &OsStr, value: &OsStr) -> Option<OsString> {
    let name = name.to_str()?;
    if let Some((_, separators)) = LISTS.iter().find(|(list, _)| *list == name) {
        return Some(only_absolute(value, separators)).filter(|list| !list.is_empty());
    }
    let is_word = PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || WORDS.contains(&name.to_uppercase().as_str());
    let is_path = PATHS.contains(&name) && Path::new(value).is_absolute();
    // In another user's folder (`sudo -E`) temporary files are that user's to exchange; then /tmp is taken.
    let is_place =
        name == TEMPORARY && Path::new(value).is_absolute() && keeps_what_is_made(Path::new(value));
    (is_word || is_path || is_place).then(|| value.to_owned())
}

/// The parts of a list that begin with a slash.
fn only_absolute(list: &OsStr, separators: &[u8]) -> OsString {
    let parts = list.as_bytes().split(|byte| separators.contains(byte));
    let absolute: Vec<&[u8]> = parts.filter(|part| part.starts_with(b"/")).collect();
    OsString::from_vec(absolute.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::find;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn what_is_kept_names_nothing_of_the_folder_that_one_stands_in() {
        let left = |name: &str, value: &str| {
            kept(name.as_ref(), value.as_ref()).map(|kept| kept.into_string().unwrap())
        };
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let theirs = dir.path().to_str().unwrap();
        for (name, value, wanted) in [
            ("PATH", ".:/usr/bin:", Some("/usr/bin")),
            ("LD_LIBRARY_PATH", "lib;/usr/lib:", Some("/usr/lib")),
            ("LD_PRELOAD", "./planted.so planted.so", None),
            ("XDG_CACHE_HOME", ".", None),
            ("HOME", "/root", Some("/root")),
            ("HOME", "", None),
            ("TMPDIR", "/tmp", Some("/tmp")),
            ("TMPDIR", theirs, None),
            ("https_proxy", "http://proxy:3128", Some("http://proxy:3128")),
            ("LC_ALL", "C", Some("C")),
            ("DYNTICK_CACHE", "cache", Some("cache")),
            ("APT_CONFIG", "/etc/apt/x", None),
            ("GIT_TRACE", "/tmp/x", None),
        ] {
            assert_eq!(left(name, value).as_deref(), wanted, "{name}={value}");
        }
    }

    /// In a process of its own, whose environment no other test reads.
    #[test]
    fn no_program_is_of_the_folder_that_one_stands_in() {
        const PATH: &str = "DYNTICK_TEST_PATH";
        if let Some(wanted) = std::env::var_os(PATH) {
            assert_eq!(find("planted"), None);
            // SAFETY: the other threads of this process wait for this one.
            unsafe { keep_known() };
            assert_eq!(std::env::var_os("PATH"), Some(wanted));
            assert_eq!(std::env::var("LD_LIBRARY_PATH").as_deref(), Ok("/usr/lib"));
            assert_eq!(std::env::var_os("LD_PRELOAD"), None);
            assert!(Command::new("planted").status().is_err());
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/true", dir.path().join("planted")).unwrap();
        let here = std::env::current_exe().unwrap();
        let absolute =
            ["/usr/bin:", ".:/usr/bin", ":/usr/bin", "a/b::/usr/bin"].map(|path| (path, "/usr/bin"));
        for (path, wanted) in absolute.into_iter().chain([("", USUAL), (".:", USUAL)]) {
            let mut again = Command::new(&here);
            again.args([
                "--exact",
                "programs::environment::tests::no_program_is_of_the_folder_that_one_stands_in",
            ]);
            again.current_dir(dir.path()).env("PATH", path).env(PATH, wanted);
            again.envs([("LD_LIBRARY_PATH", "lib;/usr/lib:"), ("LD_PRELOAD", "./planted.so planted.so")]);
            let ended = again.output().unwrap();
            assert!(ended.status.success(), "{path:?}: {}", String::from_utf8_lossy(&ended.stdout));
            assert!(String::from_utf8_lossy(&ended.stdout).contains("1 passed"), "it has another name");
        }
    }
}
