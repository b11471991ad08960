// SPDX-License-Identifier: GPL-2.0-only
//! A chain of causation: the steps from the origin to the interruption.

mod part;
mod step;
mod text;

pub(crate) use text::vector_name;

pub use part::{Actor, Arrived, CpuTimer, Source, Unseen};
pub use step::Step;

use crate::intern::hash_of;
use dyntick_model::text::beginning;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The steps, from origin to interruption. Interruptions with the same steps share one chain. Chains are compared by
/// their steps, not by their texts.
#[derive(Clone, Debug)]
pub struct Chain {
    steps: Arc<[Step]>,
    /// The hash of the steps ([`hash_of`]). A chain is counted in several maps, and hashing names takes long.
    hash: u64,
}

/// The maximum length of a step's text, bytes: a record may name a hundred programs with long names as a cause.
const LONGEST_STEP: usize = 256;

impl Chain {
    /// Creates a chain of steps with this hash.
    pub(crate) fn new(steps: Arc<[Step]>, hash: u64) -> Self {
        Self { steps, hash }
    }

    /// The texts of the steps.
    pub fn texts(&self) -> Vec<String> {
        self.iter().map(|step| short(step.to_string())).collect()
    }
}

fn short(step: String) -> String {
    if step.len() > LONGEST_STEP { format!("{}…", beginning(&step, LONGEST_STEP)) } else { step }
}

impl Deref for Chain {
    type Target = [Step];

    fn deref(&self) -> &[Step] {
        &self.steps
    }
}

impl From<Vec<Step>> for Chain {
    fn from(steps: Vec<Step>) -> Self {
        let hash = hash_of(&steps[..]);
        Self { steps: steps.into(), hash }
    }
}

/// The chain without steps.
impl Default for Chain {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl PartialEq for Chain {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.steps, &other.steps) || self.hash == other.hash && self.steps == other.steps
    }
}

impl Eq for Chain {}

impl Hash for Chain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Serialises its texts.
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

/// Reads its texts, each as a step.
impl<'de> Deserialize<'de> for Chain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts: Vec<Arc<str>> = Vec::deserialize(deserializer)?;
        Ok(texts.into_iter().map(|words| Step::Stored { words }).collect::<Vec<Step>>().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_with_equal_steps_are_equal() {
        let of = |cpu| Chain::from(vec![Step::Interrupted { cpu }]);
        assert!(of(1) == of(1) && of(1) != of(2));
        assert_eq!(Chain::default(), Chain::from(Vec::new()));
        assert_eq!(Chain::new(Arc::from(of(1).to_vec()), hash_of(&of(1)[..])), of(1));
    }

    #[test]
    fn length_of_a_step_is_limited() {
        let said = |function: &str| {
            let step = Step::CalledFunction { function: function.into(), cpu: 1 };
            Chain::from(vec![step]).texts().remove(0)
        };
        assert_eq!(said("a_function"), "CPU 1 ran a_function");
        let long = said(&"µ€".repeat(1000));
        assert!(long.len() <= LONGEST_STEP + '…'.len_utf8() && long.ends_with('…'), "{}", long.len());
    }
}
