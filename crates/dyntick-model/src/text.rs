// SPDX-License-Identifier: GPL-2.0-only
//! Untrusted texts, made fit for a terminal: names of tasks, paths, a guest's words.

/// A text that a terminal only prints. Lines stay lines, a tab becomes a space, and every other
/// control character, which could move the cursor, change colours or name the window, becomes
/// U+FFFD; so do the characters that change the direction of the text around them, with which one
/// name can be made to look like another. A selector of the emoji form, which widens the character before it, becomes
/// that of the text form.
pub fn clean(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// A clean text of one line.
pub fn clean_line(text: &str) -> String {
    clean(text).replace('\n', " ")
}

/// A clean text of at most `longest` characters, and how many more there were.
pub fn shortened(text: &str, longest: usize) -> String {
    match text.chars().count().checked_sub(longest) {
        None | Some(0) => clean(text),
        Some(more) => {
            let kept: String = text.chars().take(longest).collect();
            format!("{} … ({more} more characters)", clean(&kept))
        }
    }
}

/// The beginning of a text, at most this many bytes.
pub fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// The order of two names in which numbers are numbers: `run-2` is before `run-10`.
pub fn natural_order(a: &str, b: &str) -> std::cmp::Ordering {
    pieces(a).cmp(pieces(b)).then_with(|| a.cmp(b))
}

/// The pieces of a name: a text, and the number after it by its length and its digits.
fn pieces(name: &str) -> impl Iterator<Item = (&str, usize, &str)> {
    let mut rest = name;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let digits = rest[text..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |at| text + at);
        let number = rest[text..digits].trim_start_matches('0');
        let piece = (&rest[..text], number.len(), number);
        rest = &rest[digits..];
        Some(piece)
    })
}

fn printable(c: char) -> char {
    match c {
        '\n' => '\n',
        '\t' => ' ',
        '\u{fe0f}' => '\u{fe0e}',
        '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{2028}'
        | '\u{2029}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// A path on one line, for messages: the name of a file may contain anything.
pub fn shown(path: &std::path::Path) -> String {
    clean_line(&path.display().to_string())
}

/// The known word that is most like this one, if any is like it at all.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    const LIKE_ENOUGH: f64 = 0.75;
    if word.len() > LONGEST {
        return None;
    }
    let likeness = |right: &&'a str| strsim::jaro_winkler(word, right);
    let known = known.iter().copied().filter(|right| right.len() <= LONGEST);
    let best = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&best) >= LIKE_ENOUGH).then_some(best)
}

/// The words that there are, for a message about another one: all if they are few, else the three that are most like
/// it, and `all`, the command or page that lists all.
pub fn known_words(word: &str, known: &[&str], all: &str) -> String {
    const FEW: usize = 8;
    const SHOWN: usize = 3;
    if known.len() <= FEW {
        return known.join(", ");
    }
    let likeness = |right: &&str| strsim::jaro_winkler(beginning(word, LONGEST), beginning(right, LONGEST));
    let mut ranked: Vec<(f64, &str)> = known.iter().map(|right| (likeness(right), *right)).collect();
    // Those that are equally like it stay in their order.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shown: Vec<&str> = ranked.iter().take(SHOWN).map(|(_, right)| *right).collect();
    format!("{} and {} others ({all} lists all)", shown.join(", "), known.len() - SHOWN)
}

/// Comparing two words takes as long as the product of their lengths, and a typed word has some letters.
const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_are_all_named_and_of_many_the_nearest() {
        let names: Vec<String> = (1..=112).map(|number| format!("band/menu/{number}us")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(known_words("x", &names[..3], "`list`"), "band/menu/1us, band/menu/2us, band/menu/3us");
        let told = known_words("band/menu/77", &names, "`list`");
        assert!(
            told.starts_with("band/menu/77us, ") && told.ends_with(" and 109 others (`list` lists all)"),
            "{told}"
        );
    }

    #[test]
    fn numbers_in_names_are_ordered_as_numbers() {
        let mut names = ["run-10", "run-2", "run-02b", "a", "run-", "run-1/x10", "run-1/x9"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["a", "run-", "run-1/x9", "run-1/x10", "run-2", "run-02b", "run-10"]);
    }

    #[test]
    fn nothing_reaches_a_terminal_but_characters() {
        assert_eq!(
            clean("a\x1b]0;x\x07b\r\n\tc\u{9b}d\u{7f}"),
            "a\u{fffd}]0;x\u{fffd}b\u{fffd}\n c\u{fffd}d\u{fffd}"
        );
        assert_eq!(clean("evil\u{202e}txt"), "evil\u{fffd}txt");
        assert_eq!(clean("1*\u{fe0f}"), "1*\u{fe0e}");
        assert_eq!(clean("µs – 3 ≤ 4"), "µs – 3 ≤ 4");
        assert_eq!(clean_line("a\nb"), "a b");
    }

    #[test]
    fn a_beginning_has_whole_characters() {
        assert_eq!([0, 1, 2, 3, 9].map(|bytes| beginning("aµ", bytes)), ["", "a", "a", "aµ", "aµ"]);
    }

    #[test]
    fn a_long_text_ends_with_how_much_more_there_was() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abcde", 3), "abc … (2 more characters)");
    }

    proptest::proptest! {
        #[test]
        fn no_control_character_is_left(text in ".*") {
            proptest::prop_assert!(clean(&text).chars().all(|c| c == '\n' || !c.is_control()));
            proptest::prop_assert_eq!(clean(&text).chars().count(), text.chars().count());
        }
    }
}
