// SPDX-License-Identifier: GPL-2.0-only
//! SARIF 2.1.0 (OASIS), the format in which code hosts and CI accept findings.

use crate::finding::Finding;
use crate::report::Report;
use crate::rules::{self, Rule};
use serde_json::{Value, json};

/// Formats the findings as one SARIF log. A location is the examined file; its content is the snippet.
pub fn sarif(report: &Report) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "dyntick",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules::all().iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": report.unread.iter().map(|unread| json!({
                    "level": "note",
                    "message": { "text": format!("not read: {} ({})", unread.file, unread.reason) },
                })).collect::<Vec<_>>(),
            }],
            "properties": {
                "kernel": report.kernel,
                "online": report.online,
                "judged": report.judged,
            },
            "results": report.findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": format!("{}. Source: {}.", rule.title, rule.source) },
        "defaultConfiguration": { "level": rule.severity.word() },
    })
}

fn result(finding: &Finding) -> Value {
    let index = rules::all().iter().position(|rule| rule.id == finding.rule);
    let locations: Vec<Value> = finding
        .evidence
        .iter()
        .map(|evidence| {
            json!({ "physicalLocation": {
                "artifactLocation": { "uri": uri(&evidence.file) },
                "region": { "startLine": 1, "snippet": { "text": evidence.value } },
            }})
        })
        .collect();
    json!({
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity.word(),
        "message": { "text": message(finding) },
        "locations": locations,
        "properties": { "cpus": finding.cpus, "fixes": finding.offered().collect::<Vec<_>>() },
    })
}

fn message(finding: &Finding) -> String {
    let fixes: Vec<String> = finding.fixes.iter().map(ToString::to_string).collect();
    format!("{}. {} Fix: {}.", finding.message, finding.effect, fixes.join("; or: "))
}

/// Formats a path as a URI (RFC 8089), with percent-encoding.
fn uri(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-._~:".contains(c);
    let encoded: String = path
        .chars()
        .map(|c| {
            if plain(c) {
                c.to_string()
            } else {
                c.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
            }
        })
        .collect();
    format!("file://{encoded}")
}
