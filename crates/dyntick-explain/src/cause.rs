// SPDX-License-Identifier: GPL-2.0-only
//! The name of a cause.

use crate::rule::Rule;
use dyntick_model::Symbol;
use dyntick_model::text::beginning;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A cause: a class and, if the class has many members, the member, e.g. `workqueue:vmstat_update`. The class is its
/// rule, so there is no cause without a rule. `rules::get` finds the rule of the member, or else of the class.
#[derive(Clone, Eq)]
pub struct CauseId {
    class: &'static Rule,
    member: Option<Symbol>,
}

/// The maximum length of a member's name, bytes. The longest function of Debian's 6.12 has 85 characters;
/// `KSYM_NAME_LEN` allows 512.
const LONGEST_MEMBER: usize = 128;

impl CauseId {
    /// The cause of a rule, e.g. `fair-server`; for a class, the cause with an unknown member.
    pub fn of(class: &'static Rule) -> Self {
        debug_assert!(!class.id.contains(':'), "{} is a member", class.id);
        Self { class, member: None }
    }

    /// A member of a class, e.g. `timer` and `clocksource_watchdog`.
    ///
    /// A name that is longer than any in the kernel is cut, because one is kept for each interruption.
    pub fn member(class: &'static Rule, member: impl Into<Symbol>) -> Self {
        let member = member.into();
        let member = match beginning(&member, LONGEST_MEMBER) {
            short if short.len() < member.len() => short.into(),
            _ => member,
        };
        Self { member: Some(member), ..Self::of(class) }
    }

    /// The rule of its class.
    pub(crate) fn class(&self) -> &'static Rule {
        self.class
    }

    /// The member of the class.
    pub(crate) fn member_name(&self) -> Option<&Symbol> {
        self.member.as_ref()
    }

    /// The bytes of its text.
    fn bytes(&self) -> impl Iterator<Item = u8> {
        let member = self.member.iter().flat_map(|member| [b':'].into_iter().chain(member.bytes()));
        self.class.id.bytes().chain(member)
    }
}

impl fmt::Display for CauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.member {
            None => f.pad(self.class.id),
            Some(member) => f.pad(&format!("{}:{member}", self.class.id)),
        }
    }
}

impl fmt::Debug for CauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CauseId({self})")
    }
}

impl Serialize for CauseId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for CauseId {
    fn schema_name() -> Cow<'static, str> {
        "CauseId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "A cause, with its member where it is a class of many: `workqueue:vmstat_update`.",
            "type": "string",
        })
    }
}

/// Compares pointers first, because most compared causes are equal and share the name of their member.
impl PartialEq for CauseId {
    fn eq(&self, other: &Self) -> bool {
        let same_member = match (&self.member, &other.member) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own == other,
            (own, other) => own.is_none() && other.is_none(),
        };
        self.class == other.class && same_member
    }
}

impl Hash for CauseId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.class.hash(state);
        self.member.hash(state);
    }
}

/// Compares with a text.
impl PartialEq<str> for CauseId {
    fn eq(&self, text: &str) -> bool {
        self.bytes().eq(text.bytes())
    }
}

impl PartialEq<&str> for CauseId {
    fn eq(&self, text: &&str) -> bool {
        self == *text
    }
}

/// Serialises its text.
impl Ord for CauseId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl PartialOrd for CauseId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::named::*;

    #[test]
    fn causes_sort_like_their_texts() {
        let mut causes = [
            CauseId::member(OTHER_TASK, "b"),
            CauseId::of(WORKQUEUE),
            CauseId::member(OTHER_TASK, "a"),
            CauseId::member(WORKQUEUE, "x"),
            CauseId::of(OTHER_TASK),
            CauseId::of(FAIR_SERVER),
        ];
        causes.sort();
        let mut texts = causes.each_ref().map(CauseId::to_string);
        texts.sort();
        assert_eq!(causes.each_ref().map(CauseId::to_string), texts);
        assert!(causes[0] == "fair-server" && causes[2] == "other-task:a");
    }

    #[test]
    fn long_name_is_cut() {
        let cause = CauseId::member(HRTIMER, "µ".repeat(1000));
        assert!(cause.to_string().len() <= "hrtimer:".len() + LONGEST_MEMBER);
    }
}
