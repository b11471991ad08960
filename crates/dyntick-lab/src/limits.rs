// SPDX-License-Identifier: GPL-2.0-only
//! The latency limits that a run's CPUs selected idle states within.

use dyntick_model::LatencyLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The latency limits just before the window and just after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Before the window.
    pub before: LatencyLimits,
    /// After the window.
    pub after: LatencyLimits,
}

/// The latency limit of a CPU in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InForce {
    /// The limit is the same before and after the window, µs; `None` if no process has requested one.
    Always(Option<u32>),
    /// Another after the window than before it, µs.
    Changed(Option<u32>, Option<u32>),
    /// The guest could not read it.
    NotRecorded,
}

impl InForce {
    /// Within which a choice is judged, ns; none where there was no limit, or it is not known for each moment.
    pub fn known_ns(self) -> Option<u64> {
        match self {
            Self::Always(us) => us.map(|us| u64::from(us) * 1000),
            Self::Changed(..) | Self::NotRecorded => None,
        }
    }
}

/// The limit of this CPU.
pub fn in_force(limits: Option<&Limits>, cpu: u32) -> InForce {
    let Some(Limits { before, after }) = limits else { return InForce::NotRecorded };
    let (before, after) = (before.of_cpu(cpu), after.of_cpu(cpu));
    if before == after { InForce::Always(before) } else { InForce::Changed(before, after) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_limit_that_stayed_is_judged_by() {
        let of_all = |of_all_us| LatencyLimits { of_all_us, ..LatencyLimits::default() };
        let limits = |before, after| Limits { before: of_all(before), after: of_all(after) };
        let message = |limits: Option<Limits>| {
            let message = in_force(limits.as_ref(), 1);
            (message, message.known_ns())
        };
        assert_eq!(message(None), (InForce::NotRecorded, None));
        assert_eq!(message(Some(limits(None, None))), (InForce::Always(None), None));
        assert_eq!(message(Some(limits(Some(20), Some(20)))), (InForce::Always(Some(20)), Some(20_000)));
        assert_eq!(message(Some(limits(Some(0), None))), (InForce::Changed(Some(0), None), None));
    }
}
