// SPDX-License-Identifier: GPL-2.0-only
//! The restoration of settings.

use crate::Format;

/// The action on a setting when restoring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has dyntick's value: write these values, one after the other.
    Write(Vec<String>),
    /// It is restored already.
    Already,
    /// Another program has set it meanwhile: this value stays.
    Theirs(String),
}

/// Compares the present value of a file with the value before, and with the one that dyntick wrote.
pub fn judge(format: Format, old: &str, new: &str, via: Option<&str>, now: &str) -> Verdict {
    let is = |value: &str| format.same(value, now);
    // Old and new are the same if the kernel itself changes the hidden state behind the value.
    let may_hide_state = format.same(old, new) && via.is_some();
    if is(old) && !may_hide_state {
        Verdict::Already
    } else if is(old) || is(new) || via.is_some_and(is) {
        Verdict::Write(via.into_iter().chain([old]).map(str::to_owned).collect())
    } else {
        Verdict::Theirs(now.trim().to_owned())
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
    fn setting_is_restored_kept_or_left_to_others() {
        assert_eq!(text("1", "120", "120\n"), Verdict::Write(vec!["1".into()]));
        assert_eq!(text("1", "120", "1\n"), Verdict::Already);
        assert_eq!(text("1", "120", "10\n"), Verdict::Theirs("10".into()));
    }

    #[test]
    fn values_are_compared_instead_of_texts() {
        assert_eq!(judge(Format::Mask, "f", "00000007", None, "7\n"), Verdict::Write(vec!["f".into()]));
        assert_eq!(judge(Format::List, "0,1,2", "0-1", None, "0-2"), Verdict::Already);
        // A damaged file does not have dyntick's value.
        assert_eq!(judge(Format::Mask, "f", "7", None, "??"), Verdict::Theirs("??".into()));
    }

    #[test]
    fn restoration_may_have_two_steps() {
        let now = |now: &str| judge(Format::List, "0-3", "0-2", Some("3"), now);
        let both = Verdict::Write(vec!["3".into(), "0-3".into()]);
        assert_eq!(now("0-2"), both);
        assert_eq!(now("3"), both, "killed between the two");
        assert_eq!(now("0-3"), Verdict::Already);
        // An unchanged value is written again, for the hidden state behind it.
        assert_eq!(
            judge(Format::List, "0-2", "0-2", Some("0"), "0-2"),
            Verdict::Write(vec!["0".into(), "0-2".into()])
        );
    }

    proptest! {
        /// However often it is repeated and wherever it is stopped: dyntick's value is restored, and another's stays.
        #[test]
        fn restoration_is_idempotent(
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
