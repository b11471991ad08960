// SPDX-License-Identifier: GPL-2.0-only
//! The environment of the laboratory and of all programs that it starts: a list of known variables. A relative path in
//! another one would name a file of the current directory, and a study from elsewhere comes with a directory.

use dyntick_system::is_for_temporary_files;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The value of PATH if no absolute folder is left in it; an empty one names the current directory.
const USUAL: &str = "/usr/bin:/bin";

/// Variables that are kept if they are absolute paths.
const PATHS: [&str; 8] = [
    "HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];

/// Variables that name no file, in capital letters or small ones.
const WORDS: [&str; 25] = [
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
    "GITHUB_ACTIONS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];

/// dyntick's own variables, and those of locales.
const PREFIXES: [&str; 2] = ["DYNTICK_", "LC_"];

/// Removes all other variables, for this program and all programs that it starts.
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

/// The value that a variable keeps.
fn kept(name: &OsStr, value: &OsStr) -> Option<OsString> {
    let name = name.to_str()?;
    let path = Path::new(value);
    let is_kept = match name {
        "PATH" => return absolute(value),
        // In another user's folder (`sudo -E`) that user could replace temporary files; `/tmp` is used then.
        "TMPDIR" => path.is_absolute() && is_for_temporary_files(path),
        _ if PATHS.contains(&name) => path.is_absolute(),
        _ => {
            WORDS.contains(&name.to_uppercase().as_str())
                || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        }
    };
    is_kept.then(|| value.to_owned())
}

/// The absolute folders of a list; none if it has no such folder.
fn absolute(list: &OsStr) -> Option<OsString> {
    let folders: Vec<PathBuf> = std::env::split_paths(list).filter(|folder| folder.is_absolute()).collect();
    std::env::join_paths(folders).ok().filter(|list| !list.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::find;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn variables_never_name_the_current_folder() {
        let left = |name: &str, value: &str| {
            kept(name.as_ref(), value.as_ref()).map(|kept| kept.into_string().unwrap())
        };
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let theirs = dir.path().to_str().unwrap();
        for (name, value, wanted) in [
            ("PATH", ".:/usr/bin:", Some("/usr/bin")),
            ("LD_LIBRARY_PATH", "/usr/lib", None),
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
    fn programs_never_come_from_the_current_folder() {
        const PATH: &str = "DYNTICK_TEST_PATH";
        if let Some(wanted) = std::env::var_os(PATH) {
            assert_eq!(find("planted"), None);
            // SAFETY: the other threads of this process wait for this one.
            unsafe { keep_known() };
            assert_eq!(std::env::var_os("PATH"), Some(wanted));
            assert_eq!(std::env::var_os("LD_LIBRARY_PATH"), None);
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
                "programs::environment::tests::programs_never_come_from_the_current_folder",
            ]);
            again.current_dir(dir.path()).env("PATH", path).env(PATH, wanted);
            again.envs([("LD_LIBRARY_PATH", "lib;/usr/lib:"), ("LD_PRELOAD", "./planted.so planted.so")]);
            let ended = again.output().unwrap();
            assert!(ended.status.success(), "{path:?}: {}", String::from_utf8_lossy(&ended.stdout));
            assert!(String::from_utf8_lossy(&ended.stdout).contains("1 passed"), "it has another name");
        }
    }
}
