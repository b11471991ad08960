// SPDX-License-Identifier: GPL-2.0-only
//! Patches as mails: an mbox, a single mail, or a plain diff. Encodings and charsets are undone by `mailparse`.

use mailparse::{MailHeaderMap, ParsedMail, parse_mail};
use regex_lite::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A patch with its message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The subject without the words in brackets before it; empty for a plain diff.
    pub subject: String,
    /// The commit message, without subject and without the lines behind `---`.
    pub message: String,
    /// The diff, and what precedes it behind `---`.
    pub diff: String,
}

/// The patches of a file, in the order in which they are applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// The title: the cover letter's subject, or that of the only patch.
    pub title: String,
    /// The text of the cover letter; empty without one.
    pub cover: String,
    /// The patches.
    pub patches: Vec<Patch>,
    /// The commit that the series is based on (`base-commit:` of git format-patch).
    pub base_commit: Option<String>,
    /// Remarks about mails that were left out.
    pub notes: Vec<String>,
}

/// The reason for which a file has no patches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// A mail that cannot be parsed.
    #[error("mail {number} cannot be parsed: {reason}")]
    Mail {
        /// Its number in the file, from 1.
        number: usize,
        /// The reason.
        reason: String,
    },
    /// A file without any patch.
    #[error("it has no patch: neither a diff nor a mail with one")]
    None,
    /// A series of which some parts are missing.
    #[error(
        "the series has {of} patches, and patch {missing} is missing: save the complete thread, e.g. with b4 am"
    )]
    Incomplete {
        /// The number of the first missing patch.
        missing: u32,
        /// The number of patches.
        of: u32,
    },
}

/// A mail of a series, as its subject names it.
struct Mail {
    tag: Tag,
    subject: String,
    text: String,
}

/// The words in brackets of a subject: `[PATCH v2 3/5]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tag {
    version: u32,
    number: Option<(u32, u32)>,
}

/// Reads the patches of a file.
///
/// # Errors
/// A file without patches, or a series that is not complete.
pub fn read(bytes: &[u8]) -> Result<Series, MailError> {
    let mut mails = Vec::new();
    for (at, bytes) in split(bytes).into_iter().enumerate() {
        if !has_header(&bytes) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            mails.push(Mail { tag: Tag::default(), subject: String::new(), text });
            continue;
        }
        let parsed = parse_mail(&bytes)
            .map_err(|error| MailError::Mail { number: at + 1, reason: error.to_string() })?;
        let subject = parsed.headers.get_first_value("Subject").unwrap_or_default();
        let subject = subject.split_whitespace().collect::<Vec<_>>().join(" ");
        let (tag, subject) = tag_of(&subject);
        mails.push(Mail { tag, subject: subject.to_owned(), text: text_of(&parsed) });
    }
    series(mails)
}

/// The mails of an mbox; a file that does not begin as one is a single part.
fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    const BEGIN: &[u8] = b"From ";
    if !bytes.starts_with(BEGIN) {
        return vec![bytes.to_vec()];
    }
    let mut mails: Vec<Vec<u8>> = Vec::new();
    let mut after_blank = true;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let is_begin = after_blank && line.starts_with(BEGIN);
        after_blank = matches!(line, b"\n" | b"\r\n");
        match mails.last_mut() {
            Some(mail) if !is_begin => mail.extend_from_slice(unquoted(line)),
            _ => mails.push(Vec::new()),
        }
    }
    mails
}

/// A line of a body that began with `From ` has a `>` before it in an mbox.
fn unquoted(line: &[u8]) -> &[u8] {
    match line.strip_prefix(b">") {
        Some(rest) if rest.trim_ascii_start().starts_with(b"From ") => rest,
        _ => line,
    }
}

/// Returns true if the text begins with a header of a mail.
fn has_header(bytes: &[u8]) -> bool {
    const KNOWN: [&str; 8] =
        ["from:", "date:", "subject:", "received:", "return-path:", "message-id:", "delivered-to:", "to:"];
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().to_ascii_lowercase();
    KNOWN.iter().any(|header| first.starts_with(header.as_bytes()))
}

/// The text of a mail: its body, or the attachment with a diff.
fn text_of(mail: &ParsedMail<'_>) -> String {
    let texts: Vec<String> = mail
        .parts()
        .filter(|part| part.subparts.is_empty())
        .filter_map(|part| part.get_body().ok())
        .collect();
    let with_diff = texts.iter().find(|text| diff_begins(text).is_some());
    with_diff.or(texts.first()).map_or(String::new(), |text| text.replace("\r\n", "\n"))
}

/// The tag of a subject, and the rest of it.
fn tag_of(subject: &str) -> (Tag, &str) {
    let mut tag = Tag { version: 1, number: None };
    let mut rest = subject;
    while let Some((words, more)) = rest.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']'))
    {
        for word in words.split([' ', ',']) {
            let version = word.strip_prefix(['v', 'V']).and_then(|version| version.parse().ok());
            tag.version = version.unwrap_or(tag.version);
            let numbers = word.split_once('/');
            tag.number = numbers.and_then(|(n, of)| Some((n.parse().ok()?, of.parse().ok()?))).or(tag.number);
        }
        rest = more;
    }
    (tag, rest.trim_start())
}

/// The place at which the diff of a text begins.
fn diff_begins(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let is_old = line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if is_old || line.starts_with("diff --git ") {
            return Some(at);
        }
        at += line.len();
    }
    None
}

impl Mail {
    /// The patch of a mail with a diff.
    fn patch(&self) -> Option<Patch> {
        let begin = diff_begins(&self.text)?;
        let (before, diff) = self.text.split_at(begin);
        // Behind `---` are remarks that are no part of the commit.
        let message = match before.find("\n---\n") {
            Some(end) => &before[..end],
            None => before.strip_suffix("---\n").unwrap_or(before),
        };
        let message = message.trim();
        let own_author = message.starts_with("From: ");
        let message =
            if own_author { message.split_once("\n\n").map_or("", |(_, rest)| rest) } else { message };
        Some(Patch {
            subject: self.subject.clone(),
            message: message.trim().to_owned(),
            diff: diff.to_owned(),
        })
    }
}

impl Series {
    /// The sentences of cover letter and messages that state a figure: a number with a unit or a share.
    pub fn stated(&self) -> Vec<String> {
        let texts =
            [self.cover.as_str()].into_iter().chain(self.patches.iter().map(|patch| patch.message.as_str()));
        let mut stated: Vec<String> = Vec::new();
        for sentence in texts.flat_map(sentences).filter(|sentence| STATES.is_match(sentence)) {
            if !stated.contains(&sentence) {
                stated.push(sentence);
            }
        }
        stated
    }

    /// The functions that the hunks' headers name (`@@ … @@ static void f(…)`), each once.
    pub fn functions(&self) -> BTreeSet<String> {
        let headers = self.patches.iter().flat_map(|patch| patch.diff.lines()).filter_map(|line| {
            let (_, context) = line.strip_prefix("@@ ")?.split_once(" @@ ")?;
            let (before, _) = context.split_once('(')?;
            let name = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
            (!name.is_empty()).then(|| name.to_owned())
        });
        headers.collect()
    }
}

/// A number with a unit of what patches to the tick and to governors change.
static STATES: LazyLock<Regex> = LazyLock::new(|| {
    let units = "%|percent|[uµnm]s|[uµnm]?secs?|seconds?|m?W|watts?|instructions|cycles|ticks|interrupts|IPIs|wake-?ups|bytes|times|x";
    Regex::new(&format!(r"(?i)[0-9]\s?({units})(\W|$)")).expect("it is a pattern")
});

/// The sentences of a text; trailers and quoted lines are none.
fn sentences(text: &str) -> Vec<String> {
    let is_prose = |line: &&str| {
        !line.contains(": ") || !line.split(": ").next().is_some_and(|word| word.ends_with("-by"))
    };
    let paragraphs =
        text.split("\n\n").map(|paragraph| paragraph.lines().filter(is_prose).collect::<Vec<_>>().join(" "));
    let of = |paragraph: String| {
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        words.split_inclusive(". ").map(|sentence| sentence.trim().to_owned()).collect::<Vec<_>>()
    };
    paragraphs.flat_map(of).filter(|sentence| !sentence.is_empty()).collect()
}

fn series(mails: Vec<Mail>) -> Result<Series, MailError> {
    let mut found = Series::default();
    let newest = mails.iter().filter(|mail| mail.patch().is_some()).map(|mail| mail.tag.version).max();
    let newest = newest.ok_or(MailError::None)?;
    let mut numbered: Vec<(u32, Patch)> = Vec::new();
    let mut of = None;
    let mut older = 0;
    for mail in &mails {
        let is_cover = mail.tag.number.is_some_and(|(number, _)| number == 0);
        let (patch, is_reply) = (mail.patch(), mail.subject.to_ascii_lowercase().starts_with("re:"));
        if mail.tag.version != newest && (patch.is_some() || is_cover) {
            older += 1;
        } else if is_reply {
            // A quoted patch is none, and a reply may carry one for talk.
        } else if is_cover {
            found.title = mail.subject.clone();
            found.cover = mail.text.clone();
        } else if let Some(patch) = patch {
            let number = mail.tag.number.map_or(numbered.len() as u32 + 1, |(number, _)| number);
            of = mail.tag.number.map(|(_, of)| of).or(of);
            if !numbered.iter().any(|(other, known)| *other == number && *known == patch) {
                numbered.push((number, patch));
            }
        }
        let base = mail.text.lines().find_map(|line| line.strip_prefix("base-commit: "));
        found.base_commit = base.map(|base| base.trim().to_owned()).or(found.base_commit);
    }
    if older > 0 {
        found.notes.push(format!("the file has mails of older versions, which are left out: {older}"));
    }
    numbered.sort_by_key(|(number, _)| *number);
    let is_there = |number: &u32| numbered.iter().any(|(other, _)| other == number);
    /// A tag may state any number.
    const MOST: u32 = 10_000;
    if let Some(missing) = of.and_then(|of| (1..=of.min(MOST)).find(|number| !is_there(number))) {
        return Err(MailError::Incomplete { missing, of: of.unwrap_or_default() });
    }
    found.patches = numbered.into_iter().map(|(_, patch)| patch).collect();
    match &found.patches[..] {
        [] => return Err(MailError::None),
        [first, ..] if found.title.is_empty() => found.title = first.subject.clone(),
        _ => {}
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/kernel/time/tick-sched.c b/kernel/time/tick-sched.c\n--- a/kernel/time/tick-sched.c\n\
                        +++ b/kernel/time/tick-sched.c\n@@ -1 +1 @@\n-a\n+b\n";

    fn mail(subject: &str, body: &str) -> String {
        format!(
            "From nobody Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: {subject}\n\n{body}\n"
        )
    }

    #[test]
    fn series_is_ordered_and_its_older_version_left_out() {
        let mbox = [
            mail("[PATCH 1/1] tick: old", &format!("Old.\n---\n{DIFF}")),
            mail("[PATCH v2 0/2] tick: two", "Cover, 12 % less.\n"),
            mail(
                "[PATCH v2 2/2] tick: second",
                &format!("Second.\n---\n stat | 2\n{DIFF}\nbase-commit: 0123\n"),
            ),
            mail(
                "[PATCH v2 1/2] tick:\n  first",
                &format!("From: B <b@example.org>\n\nFirst.\n\n>From here.\n---\n{DIFF}"),
            ),
            mail("Re: [PATCH v2 1/2] tick: first", &format!("> quoted\n{DIFF}")),
        ];
        let found = read(mbox.concat().as_bytes()).unwrap();
        assert_eq!((found.title.as_str(), found.cover.trim()), ("tick: two", "Cover, 12 % less."));
        let subjects: Vec<&str> = found.patches.iter().map(|patch| patch.subject.as_str()).collect();
        assert_eq!(subjects, ["tick: first", "tick: second"]);
        assert_eq!(found.patches[0].message, "First.\n\nFrom here.");
        assert_eq!(found.patches[1].message, "Second.");
        assert!(found.patches[1].diff.starts_with("diff --git a/kernel/"));
        assert_eq!(found.base_commit.as_deref(), Some("0123"));
        assert_eq!(found.notes.len(), 1);
        let missing = read([mbox[1].as_str(), mbox[2].as_str()].concat().as_bytes());
        assert_eq!(missing, Err(MailError::Incomplete { missing: 1, of: 2 }));
    }

    #[test]
    fn encodings_are_undone() {
        let quoted = DIFF.replace('=', "=3D").replace("+b\n", "+b =3D=20\n+long=\n er\n");
        let text = format!(
            "Subject: [PATCH] =?utf-8?q?tick:_=C2=B5s?=\nContent-Type: text/plain; charset=utf-8\n\
             Content-Transfer-Encoding: quoted-printable\n\n=C2=B5s.\n---\n{quoted}"
        );
        let found = read(text.replace('\n', "\r\n").as_bytes()).unwrap();
        assert_eq!((found.title.as_str(), found.patches[0].message.as_str()), ("tick: µs", "µs."));
        assert!(found.patches[0].diff.ends_with("+b = \n+long er\n"), "{:?}", found.patches[0].diff);
    }

    #[test]
    fn figures_of_messages_and_functions_of_hunks_are_found() {
        let patch = |message: &str, context: &str| Patch {
            message: message.into(),
            diff: format!("@@ -1,2 +1,2 @@ {context}\n-a\n+b\n"),
            ..Patch::default()
        };
        let series = Series {
            cover: "Wake-ups fall by 94 %. No other change.\n\nLink: 12 ms".into(),
            patches: vec![
                patch(
                    "Takes 30us\nless.\n\nTested-by: X 5 %",
                    "static bool can_stop_full_tick(int cpu, struct tick_sched *ts)",
                ),
                patch("In 6.12 it was otherwise.", "struct x {"),
            ],
            ..Series::default()
        };
        assert_eq!(series.stated(), ["Wake-ups fall by 94 %.", "Link: 12 ms", "Takes 30us less."]);
        assert_eq!(series.functions(), BTreeSet::from(["can_stop_full_tick".to_owned()]));
    }

    #[test]
    fn plain_diffs_and_attachments_are_patches() {
        assert_eq!(read(DIFF.as_bytes()).unwrap().patches[0].diff, DIFF);
        let parts = format!(
            "From: a\nSubject: fix\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\nHello.\n\
             --x\nContent-Type: text/x-patch\n\n{DIFF}--x--\n"
        );
        let found = read(parts.as_bytes()).unwrap();
        assert_eq!((found.patches.len(), found.patches[0].diff.trim_end()), (1, DIFF.trim_end()));
        assert_eq!(read(b"Subject: hello\n\nno patch\n"), Err(MailError::None));
        assert_eq!(read(b""), Err(MailError::None));
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "(?s)(From |Subject: |\\[PATCH [0-9/]{0,4}\\]|--- |\\+\\+\\+ |[a-z:=? ]{0,9}|\n){0,40}") {
            let _ = read(text.as_bytes());
        }
    }
}
