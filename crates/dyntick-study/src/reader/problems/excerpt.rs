// SPDX-License-Identifier: GPL-2.0-only
//! A line of a file with a marker under a part of it, drawn by rustc's own library.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use dyntick_model::text::clean_line;
use std::ops::Range;

/// The characters shown of a long line before the wrong part, and from its begin on.
const BEFORE: usize = 30;
const AFTER: usize = 60;

/// The line with its number and a marker under `marked`, bytes of the line.
pub fn excerpt(line: &str, number: usize, marked: Range<usize>) -> String {
    let (before, rest) = line.split_at(marked.start);
    let skipped = before.chars().count().saturating_sub(BEFORE);
    let mut shown = if skipped > 0 { "…".to_owned() } else { String::new() };
    shown.extend(before.chars().skip(skipped));
    let begin = clean_line(&shown).len();
    let marked = rest[..marked.len()].chars().count().min(AFTER);
    shown.extend(rest.chars().take(AFTER));
    if rest.chars().nth(AFTER).is_some() {
        shown.push('…');
    }
    // The text has as many characters as before, so that the marker is under the right part (invariant 5).
    let shown = clean_line(&shown);
    let end = begin + shown[begin..].chars().take(marked).map(char::len_utf8).sum::<usize>();
    let snippet = Snippet::source(&shown).line_start(number);
    let snippet = snippet.annotation(AnnotationKind::Primary.span(begin..end));
    let text = Renderer::plain().render(&[Group::with_level(Level::ERROR).element(snippet)]);
    text.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn the_marker_is_under_the_wrong_part() {
        insta::assert_snapshot!(excerpt("kernel = \"debian-6.12\"", 12, 9..22));
        insta::assert_snapshot!(excerpt("name = 'ä' x", 4, 12..12));
    }

    #[test]
    fn a_long_line_is_cut_around_it() {
        let long = format!("{}= 'wrong' {}", "key ".repeat(1000), "more ".repeat(1000));
        insta::assert_snapshot!(excerpt(&long, 7, 4002..4009));
        let all = "x".repeat(100_000);
        assert!(excerpt(&all, 1, 0..all.len()).lines().all(|line| line.chars().count() < 120));
    }

    #[test]
    fn characters_that_move_the_cursor_are_replaced() {
        let text = excerpt("a = \"\u{1b}[2J\u{202e}\tb\" # \u{9b}", 1, 4..13);
        insta::assert_snapshot!(text);
    }

    proptest::proptest! {
        #[test]
        fn any_line_has_an_excerpt(line in "\\PC*|.{0,200}", from in 0usize..200, to in 0usize..200) {
            let places: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
            let place = |number: usize| places[number % places.len()];
            let (from, to) = (place(from).min(place(to)), place(from).max(place(to)));
            let text = excerpt(&line.replace('\n', " "), 3, from..to);
            proptest::prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
        }
    }
}
