// SPDX-License-Identifier: GPL-2.0-only
//! What may stand in a command that root is to run. Names that a machine's users choose, of tasks,
//! control groups, parameters, must neither end a comment nor become words of a command (invariant 6).

use dyntick_model::text::clean;
use std::path::Path;

/// Why a text may not stand in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShellError {
    /// Quotes hold a control character together, but whoever reads the command does not see it.
    #[error("it contains a control character")]
    Control,
    /// The path of another file than it seems.
    #[error("it is not a plain path: it contains '.', '..' or an empty name")]
    Path,
}

/// Characters that no POSIX shell gives a meaning within a word.
const PLAIN: &str = "_/.,:@%+-";

/// A text as one word of a command; as it is where no character of it means anything to a shell.
///
/// # Errors
/// Control characters, and those that change the direction of the text around them.
pub fn quoted(text: &str) -> Result<String, ShellError> {
    if text.contains('\n') || clean(text) != text {
        return Err(ShellError::Control);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        // A quote ends the quotes, stands for itself behind a backslash, and begins them again.
        false => Ok(format!("'{}'", text.replace('\'', r"'\''"))),
    }
}

/// A file that somebody named, as an argument of a command that takes options too.
///
/// # Errors
/// As [`quoted`].
pub fn file(path: &Path) -> Result<String, ShellError> {
    let text = path.to_str().ok_or(ShellError::Control)?;
    match text.starts_with('-') {
        true => quoted(&format!("./{text}")),
        false => quoted(text),
    }
}

/// An absolute path as one word of a command.
///
/// # Errors
/// As [`quoted`], and a path with `.`, `..` or nothing between its slashes.
pub fn path(path: &str) -> Result<String, ShellError> {
    let names = path.strip_prefix('/').ok_or(ShellError::Path)?;
    match names.split('/').any(|name| ["", ".", ".."].contains(&name)) {
        true => Err(ShellError::Path),
        false => quoted(path),
    }
}

/// A text as comments: whatever it holds, each of its lines is one.
pub fn comment(text: &str) -> String {
    clean(text).split('\n').map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_is_quoted_where_it_must_be() {
        assert_eq!(quoted("/sys/fs/cgroup/quiet").as_deref(), Ok("/sys/fs/cgroup/quiet"));
        assert_eq!(quoted("a;touch ${HOME}PW2;b").as_deref(), Ok("'a;touch ${HOME}PW2;b'"));
        assert_eq!(quoted("it's").as_deref(), Ok(r"'it'\''s'"));
        assert_eq!(quoted("").as_deref(), Ok("''"));
        assert_eq!(quoted("~root").as_deref(), Ok("'~root'"));
        assert_eq!(file(Path::new("-rf x")).as_deref(), Ok("'./-rf x'"));
        for text in ["a\nb", "a\tb", "a\rb", "\x1b[1m", "x\u{202e}y", "\u{9b}m", "a\0"] {
            assert_eq!(quoted(text), Err(ShellError::Control), "{text:?}");
        }
    }

    #[test]
    fn a_path_is_of_one_place() {
        assert_eq!(path("/sys/fs/cgroup/a b/x").as_deref(), Ok("'/sys/fs/cgroup/a b/x'"));
        for text in ["/sys/fs/cgroup/../../etc/x", "/a/./b", "/a//b", "a", "/a/", ""] {
            assert_eq!(path(text), Err(ShellError::Path), "{text:?}");
        }
    }

    #[test]
    fn each_line_of_a_comment_is_one() {
        assert_eq!(comment("a\nid>/own\n#"), "# a\n# id>/own\n# #\n");
        assert_eq!(comment("a\rid"), "# a\u{fffd}id\n");
        assert_eq!(comment(""), "#\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]
        /// The shell itself gives the text back as one argument.
        #[test]
        fn a_shell_reads_back_what_was_quoted(text in r#"[ -~µ]{0,40}"#) {
            let word = quoted(&text).unwrap();
            let output = std::process::Command::new("sh")
                .args(["-c", &format!("set -- {word}; printf '%s|' \"$#\" \"$@\"")])
                .output()
                .unwrap();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("1|{text}|"));
        }

        #[test]
        fn a_comment_is_nothing_else(text in "(\\PC|[\\n\\r\\t\\x1b#;$`]){0,40}") {
            prop_assert!(comment(&text).lines().all(|line| line.starts_with('#')));
        }
    }
}
