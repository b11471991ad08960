// SPDX-License-Identifier: GPL-2.0-only
//! What is to become of a setting when the machine is put back.

use crate::Format;

/// What to do with a setting on the way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It still is as we set it: write these values, one after the other.
    Write(Vec<String>),
    /// It is as it was before.
    Already,
    /// Someone else has set it meanwhile: this is its value, which stays.
    Theirs(String),
}

/// Compares what a file says now with what it said before, and with what we wrote.
pub fn judge(format: Format, old: &str, new: &str, via: Option<&str>, now: &str) -> Verdict {
    let way = || via.into_iter().chain([old]).map(str::to_owned).collect();
    let is = |value: &str| format.same(value, now);
    match () {
        // Old and new are the same where the kernel itself changes what is behind the value.
        () if is(old) && !(format.same(old, new) && via.is_some()) => Verdict::Already,
        () if is(old) || is(new) || via.is_some_and(is) => Verdict::Write(way()),
        () => Verdict::Theirs(now.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(old: &str, new: &str, now: &str) -> Verdict {
        judge(Format::Text, old, new, None, now)
    }

    #[test]
    fn three_cases() {
        assert_eq!(text("1", "120", "120\n"), Verdict::Write(vec!["1".into()]));
        assert_eq!(text("1", "120", "1\n"), Verdict::Already);
        assert_eq!(text("1", "120", "10\n"), Verdict::Theirs("10".into()));
    }

    #[test]
    fn values_and_not_texts_are_compared() {
        assert_eq!(judge(Format::Mask, "f", "00000007", None, "7\n"), Verdict::Write(vec!["f".into()]));
        assert_eq!(judge(Format::List, "0,1,2", "0-1", None, "0-2"), Verdict::Already);
        // A damaged file is nobody's value that we wrote.
        assert_eq!(judge(Format::Mask, "f", "7", None, "??"), Verdict::Theirs("??".into()));
    }

    #[test]
    fn the_way_back_may_have_two_steps() {
        let now = |now: &str| judge(Format::List, "0-3", "0-2", Some("3"), now);
        let both = Verdict::Write(vec!["3".into(), "0-3".into()]);
        assert_eq!(now("0-2"), both);
        assert_eq!(now("3"), both, "killed between the two");
        assert_eq!(now("0-3"), Verdict::Already);
        // A value that stays is written again, for what is behind it.
        assert_eq!(
            judge(Format::List, "0-2", "0-2", Some("0"), "0-2"),
            Verdict::Write(vec!["0".into(), "0-2".into()])
        );
    }

    proptest! {
        /// However often it is done and wherever it is stopped: ours ends as it was, theirs stays.
        #[test]
        fn putting_back_is_idempotent(
            values in prop::collection::vec("[a-c]", 3),
            via in prop::option::of("[a-d]"),
            stops in prop::collection::vec(0usize..3, 0..4),
        ) {
            let (old, new, start) = (&values[0], &values[1], &values[2]);
            let mut now = start.clone();
            let ours = now == *old || now == *new || via.as_ref() == Some(&now);
            for stop in stops.into_iter().chain([usize::MAX]) {
                if let Verdict::Write(way) = judge(Format::Text, old, new, via.as_deref(), &now) {
                    way.into_iter().take(stop).for_each(|value| now = value);
                }
            }
            prop_assert_eq!(&now, if ours { old } else { start });
        }
    }
}
