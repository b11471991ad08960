// SPDX-License-Identifier: GPL-2.0-only
//! Safe words for commands that root is to run. Users of a machine choose the names of tasks, control groups and
//! parameters; these must neither end a comment nor become words of a command (invariant 6).

use dyntick_model::text::{clean, clean_line};
use std::path::Path;

/// The reason why a text is not safe in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShellError {
    /// Quotes would keep a control character together, but the reader of the command would not see it.
    #[error("it contains a control character")]
    Control,
    /// The path names another file than it seems to.
    #[error("it is not a plain path: it contains '.', '..' or an empty name")]
    Path,
}

/// The characters without a meaning within a word of any POSIX shell.
const PLAIN: &str = "_/.,:@%+-";

/// Quotes a text as one word of a command; unchanged if no character of it is special to a shell.
///
/// # Errors
/// For control characters, and characters that change the direction of the text around them.
pub fn quoted(text: &str) -> Result<String, ShellError> {
    if text.contains('\n') || clean(text) != text {
        return Err(ShellError::Control);
    }
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || PLAIN.contains(c)) {
        Ok(text.to_owned())
    } else {
        // A quote ends the quotes, is itself escaped by a backslash, and begins them again.
        Ok(format!("'{}'", text.replace('\'', r"'\''")))
    }
}

/// The words of a command with the quotes that a shell needs. Characters that no terminal shows are replaced.
pub fn command(words: &[String]) -> String {
    let word = |(place, word): (usize, &String)| {
        let word = clean_line(word);
        // After the command's name `=` has no meaning for a shell.
        let is_plain = quoted(&word.replace('=', "_")).is_ok_and(|quoted| !quoted.starts_with('\''));
        if place > 0 && is_plain { word } else { quoted(&word).unwrap_or(word) }
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// Quotes a file that a user named, as an argument of a command that also takes options.
///
/// # Errors
/// The same as for [`quoted`].
pub fn file(path: &Path) -> Result<String, ShellError> {
    let text = path.to_str().ok_or(ShellError::Control)?;
    if text.starts_with('-') { quoted(&format!("./{text}")) } else { quoted(text) }
}

/// Quotes an absolute path as one word of a command.
///
/// # Errors
/// The same as for [`quoted`], and for a path with `.`, `..` or nothing between its slashes.
pub fn path(path: &str) -> Result<String, ShellError> {
    let names = path.strip_prefix('/').ok_or(ShellError::Path)?;
    if names.split('/').any(|name| ["", ".", ".."].contains(&name)) {
        Err(ShellError::Path)
    } else {
        quoted(path)
    }
}

/// Turns a text into comments: each of its lines becomes one, whatever it contains.
pub fn comment(text: &str) -> String {
    clean(text).split('\n').map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn word_is_quoted_if_needed() {
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
    fn path_with_dots_or_empty_names_is_refused() {
        assert_eq!(path("/sys/fs/cgroup/a b/x").as_deref(), Ok("'/sys/fs/cgroup/a b/x'"));
        for text in ["/sys/fs/cgroup/../../etc/x", "/a/./b", "/a//b", "a", "/a/", ""] {
            assert_eq!(path(text), Err(ShellError::Path), "{text:?}");
        }
    }

    #[test]
    fn comment_marks_each_of_its_lines() {
        assert_eq!(comment("a\nid>/own\n#"), "# a\n# id>/own\n# #\n");
        assert_eq!(comment("a\rid"), "# a\u{fffd}id\n");
        assert_eq!(comment(""), "#\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]
        /// The shell itself returns the text as one argument.
        #[test]
        fn shell_reads_back_a_quoted_text(text in r#"[ -~µ]{0,40}"#) {
            let word = quoted(&text).unwrap();
            let output = std::process::Command::new("sh")
                .args(["-c", &format!("set -- {word}; printf '%s|' \"$#\" \"$@\"")])
                .output()
                .unwrap();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("1|{text}|"));
        }

        #[test]
        fn comment_is_nothing_else(text in "(\\PC|[\\n\\r\\t\\x1b#;$`]){0,40}") {
            prop_assert!(comment(&text).lines().all(|line| line.starts_with('#')));
        }
    }

    fn of(words: &[&str]) -> String {
        command(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn command_can_be_pasted() {
        assert_eq!(of(&["sh", "-c", "ulimit -t 600; i=0"]), "sh -c 'ulimit -t 600; i=0'");
        assert_eq!(of(&["dd", "if=/dev/zero", "--bs=4k"]), "dd if=/dev/zero --bs=4k");
        assert_eq!(of(&["a=b", "it's", "", "~"]), r"'a=b' 'it'\''s' '' '~'");
        assert_eq!(of(&["sh", "-c", "a\nb\u{1b}[31m"]), "sh -c 'a b\u{fffd}[31m'");
    }

    #[test]
    fn shell_reads_the_same_words() {
        let words = [
            "echo", "a b", "$HOME", "`id`", "it's", "\"", "", "*", "!x", "#", "{a,b}", "~", "=x", "a=~", "\\",
        ];
        let words = words.map(str::to_owned);
        let script = format!("printf '%s\\n' {}", command(&words));
        for shell in ["sh", "bash"] {
            let output = std::process::Command::new(shell).args(["-c", &script]).output().unwrap();
            let read = String::from_utf8(output.stdout).unwrap();
            assert_eq!(read.split_terminator('\n').collect::<Vec<_>>(), words, "{script}");
        }
    }
}
