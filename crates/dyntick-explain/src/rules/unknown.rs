// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, Versions};

pub(super) static RULE: Rule = Rule {
    id: "unknown",
    title: "Origin not found",
    explanation: "None of the recorded events shows why this happened. The raw events around it are listed \
        as evidence; start from them.",
    fixes: &[],
    versions: Versions::ALL,
    source: "-",
    names_origin: false,
};
