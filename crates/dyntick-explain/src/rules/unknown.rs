// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "unknown",
    title: "The origin could not be found",
    explanation: "None of the recorded events tells why this happened. The raw events around it are listed as \
        evidence; they are the place to start.",
    fixes: &[],
    versions: Versions::ALL,
    source: "-",
    names_origin: false,
    detect: None,
};
