// SPDX-License-Identifier: GPL-2.0-only
//! Commands as they are typed into a shell, so that a reader of a report can paste them.

use dyntick_check::shell;
use dyntick_model::text::clean_line;

/// The words of a command with the quotes that a shell needs. Characters that no terminal shows are replaced.
pub fn command(words: &[String]) -> String {
    let word = |(place, word): (usize, &String)| {
        let word = clean_line(word);
        // After the command's name `=` has no meaning for a shell.
        let is_plain = shell::quoted(&word.replace('=', "_")).is_ok_and(|quoted| !quoted.starts_with('\''));
        if place > 0 && is_plain { word } else { shell::quoted(&word).unwrap_or(word) }
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

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
