// SPDX-License-Identifier: GPL-2.0-only
//! The part of a POSIX shell's lexer that the rules' commands need; it refuses everything else.

/// A token of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word, without its quotes.
    Word(String),
    /// `;`, `&`, `&&`, `>`, `(`, `)`.
    Operator(String),
}

/// The tokens of one line up to a comment. `$` followed by one letter or `!`, a loop variable or the last background
/// process, is kept. `None` if anything else would be expanded, continued on another line or run differently.
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
                        // A quoted dollar must never be taken for a variable.
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
