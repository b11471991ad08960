// SPDX-License-Identifier: GPL-2.0-only
//! A chain of causation: what was done, step by step, from the origin to the interruption.

mod part;
mod step;
mod text;

pub(crate) use text::vector_name;

pub use part::{Actor, Arrived, CpuTimer, Unseen};
pub use step::Step;

use dyntick_model::text::beginning;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

/// The steps, from origin to interruption. Interruptions that came about in the same way share one chain, and
/// chains are compared by what was done and not by its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chain(Arc<[Step]>);

/// A step as text has at most so many bytes: a record may say that a hundred programs with long names are the
/// cause of something.
const LONGEST_STEP: usize = 256;

impl Chain {
    /// The steps as they are shown.
    pub fn texts(&self) -> Vec<String> {
        self.iter().map(|step| short(step.to_string())).collect()
    }
}

fn short(step: String) -> String {
    match step.len() > LONGEST_STEP {
        true => format!("{}…", beginning(&step, LONGEST_STEP)),
        false => step,
    }
}

impl Deref for Chain {
    type Target = [Step];

    fn deref(&self) -> &[Step] {
        &self.0
    }
}

impl From<Vec<Step>> for Chain {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps.into())
    }
}

impl From<Arc<[Step]>> for Chain {
    fn from(steps: Arc<[Step]>) -> Self {
        Self(steps)
    }
}

/// As its texts.
impl JsonSchema for Chain {
    fn schema_name() -> Cow<'static, str> {
        "Chain".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Vec<String>>::json_schema(generator)
    }
}

impl Serialize for Chain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.texts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_a_length_whoever_is_named_in_it() {
        let said = |function: &str| {
            let step = Step::CalledFunction { function: function.into(), cpu: 1 };
            Chain::from(vec![step]).texts().remove(0)
        };
        assert_eq!(said("a_function"), "CPU 1 ran a_function");
        let long = said(&"µ€".repeat(1000));
        assert!(long.len() <= LONGEST_STEP + '…'.len_utf8() && long.ends_with('…'), "{}", long.len());
    }
}
