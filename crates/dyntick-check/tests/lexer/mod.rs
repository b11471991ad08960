// SPDX-License-Identifier: GPL-2.0-only
//! As much of a POSIX shell's reading as the rules' commands need; all else it does not take.

/// What a shell makes of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word, without its quotes.
    Word(String),
    /// `;`, `&`, `&&`, `>`, `(`, `)`.
    Operator(String),
}

/// The tokens of one line up to a comment. `$` followed by one letter or `!`, the variable of a loop or
/// what was started last, stays as it is; none where anything else would be expanded, continued on another
/// line or run in another way.
pub fn words(line: &str) -> Option<Vec<Token>> {
    let (mut tokens, mut word): (Vec<Token>, Option<String>) = (Vec::new(), None);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        // So that a quoted dollar is never taken for a variable.
                        '$' => word.push('\u{1}'),
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            ' ' => tokens.extend(word.take().map(Token::Word)),
            '#' if word.is_none() => break,
            ';' | '>' | '(' | ')' | '&' => {
                tokens.extend(word.take().map(Token::Word));
                let double = c == '&' && rest.next_if_eq(&'&').is_some();
                tokens.push(Token::Operator(if double { "&&".to_owned() } else { c.to_string() }));
            }
            '$' => {
                let name = rest.next().filter(|name| name.is_ascii_lowercase() || *name == '!')?;
                if rest.peek().is_some_and(char::is_ascii_alphanumeric) {
                    return None;
                }
                word.get_or_insert_default().extend(['$', name]);
            }
            '"' | '`' | '|' | '<' | '*' | '?' | '[' | ']' | '{' | '}' | '~' | '!' | '\n' => return None,
            c if c.is_control() => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    tokens.extend(word.map(Token::Word));
    Some(tokens)
}
