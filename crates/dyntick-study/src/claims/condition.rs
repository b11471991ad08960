// SPDX-License-Identifier: GPL-2.0-only
//! The condition of a check: a relation and a bound.

use schemars::JsonSchema;
use serde::Serialize;

/// A bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Condition {
    /// The relation of the figure to the bound.
    pub relation: Relation,
    /// The bound.
    pub bound: f64,
}

/// A relation of a figure to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub enum Relation {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

/// A text that is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a condition such as \"<= 2\", \"== 0\" or \"> 0.99\"")]
pub struct ConditionError(String);

const RELATIONS: [(&str, Relation); 5] = [
    ("<=", Relation::LessOrEqual),
    (">=", Relation::GreaterOrEqual),
    ("==", Relation::Equal),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

impl std::str::FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let error = || ConditionError(text.to_owned());
        let (sign, relation) =
            RELATIONS.into_iter().find(|(sign, _)| text.starts_with(sign)).ok_or_else(error)?;
        let bound: f64 = text[sign.len()..].trim().parse().map_err(|_| error())?;
        // Rust reads "nan" and "inf" as numbers; neither bounds anything.
        bound.is_finite().then_some(Self { relation, bound }).ok_or_else(error)
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign =
            RELATIONS.iter().find(|(_, relation)| *relation == self.relation).map_or("", |(sign, _)| sign);
        write!(f, "{sign} {}", self.bound)
    }
}

impl Condition {
    /// Returns true if a value meets the condition.
    pub fn holds(&self, value: f64) -> bool {
        match self.relation {
            Relation::Less => value < self.bound,
            Relation::LessOrEqual => value <= self.bound,
            Relation::Equal => value == self.bound,
            Relation::GreaterOrEqual => value >= self.bound,
            Relation::Greater => value > self.bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions() {
        let holds = |text: &str, value| text.parse::<Condition>().unwrap().holds(value);
        assert!(holds("<= 2", 2.0) && !holds("< 2", 2.0) && holds("== 0", 0.0) && holds(">=0.99", 1.0));
        assert_eq!("<=2".parse::<Condition>().unwrap().to_string(), "<= 2");
        for wrong in ["about 2", "<= two", "", "<", "< nan", "> inf", "= 2"] {
            assert!(wrong.parse::<Condition>().is_err(), "{wrong}");
        }
    }
}
