// SPDX-License-Identifier: GPL-2.0-only
//! What readers of texts share.

use std::borrow::Cow;

/// A number; none for anything else, NaN and infinities included.
pub fn number(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// The beginning, for an error.
pub fn shortened(text: &str) -> String {
    text.trim_end().chars().take(120).collect()
}

/// Without the escape sequences (ECMA-48 CSI) that move a terminal's cursor and colour it.
pub fn without_escapes(text: &str) -> Cow<'_, str> {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or("");
    if first.len() == text.len() {
        return text.into();
    }
    let mut plain = first.to_owned();
    for piece in pieces {
        let is_final = |byte: &u8| (0x40..=0x7e).contains(byte);
        let length = piece.bytes().take_while(|byte| (0x20..=0x3f).contains(byte)).count();
        let known = piece.as_bytes().get(length).is_some_and(is_final);
        plain.push_str(if known { &piece[length + 1..] } else { piece });
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(without_escapes("a\u{1b}[2;37;40mb\u{1b}[3Ac\u{1b}[éd"), "abcéd");
        assert!(matches!(without_escapes("plain"), Cow::Borrowed("plain")));
        assert_eq!(without_escapes("\u{1b}["), "");
    }

    #[test]
    fn numbers() {
        assert_eq!(
            (number("1e3"), number("nan"), number("1e999"), number("1x")),
            (Some(1e3), None, None, None)
        );
    }
}
