// SPDX-License-Identifier: GPL-2.0-only
//! What was measured, for programs.

use super::calls::TimedCalls;
use super::longest::Longest;
use super::measure::Measured;
use super::power;
use super::rows::{self, Row, Told};
use crate::causes::{self, Advice};
use dyntick_observe::live::bucket_end_ns;
use serde_json::{Value, json};

/// Everything; durations in ns, counts of several runs as their sum.
pub fn value(measured: &Measured, command: &[String], advice: Advice<'_>) -> Value {
    let cpu = |(number, told): (u32, &Told)| {
        let row = |one: &Row| row(one, number, measured, advice);
        let rows = told.wholes.iter().map(|whole| {
            let mut value = row(&whole.row);
            let parts: Vec<Value> = whole.parts.iter().map(row).collect();
            value["parts"] = parts.into();
            value
        });
        let kept =
            told.kept.iter().map(|(dependency, count)| json!({ "dependency": dependency, "count": count }));
        json!({
            "cpu": number,
            "interruptions": rows.collect::<Vec<_>>(),
            "interrupted_ns": told.interrupted_ns,
            "unattributed_ns": told.unattributed_ns,
            "command_ns": told.command_ns,
            "observer_ns": told.observer_ns,
            "idle_ns": told.idle_ns,
            "ticks": told.ticks,
            "tick_stopped": told.stopped,
            "tick_kept": kept.collect::<Vec<_>>(),
            "machine": told.meters,
        })
    };
    let told = rows::told(measured, false);
    let finished = measured.finished.map(|finished| {
        let ns = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1000;
        json!({
            "status": finished.code(),
            "user_ns": ns(finished.usage.ru_utime),
            "system_ns": ns(finished.usage.ru_stime),
            "voluntary_switches": finished.usage.ru_nvcsw,
            "involuntary_switches": finished.usage.ru_nivcsw,
        })
    });
    json!({
        "kernel": advice.kernel,
        "command": command,
        "ended": finished,
        "at_ns": measured.at_ns,
        "measured_ns": measured.ns,
        "runs": measured.repeats(),
        "counted": measured.counts.is_some(),
        "source": measured.source.as_ref().map(|source| source.name),
        "source_note": measured.source.as_ref().and_then(|source| source.note.as_ref()),
        "cpus": measured.cpus.iter().zip(&told).map(cpu).collect::<Vec<_>>(),
        "lost": measured.counts.as_ref().map(|counts| counts.lost),
        "longest": measured.longest.as_ref().map(Longest::value),
        "power": measured.power.as_deref().map(power::value),
        "calls": measured.calls.as_ref().map(TimedCalls::value),
        "missing": measured.missing,
    })
}

fn row(row: &Row, cpu: u32, measured: &Measured, advice: Advice<'_>) -> Value {
    let rule = row.cause.as_ref().and_then(causes::rule);
    let fixes = rule.map(|rule| advice.settings(rule, cpu, &measured.cpus));
    let histogram = row.count.histogram.iter().enumerate().filter(|(_, count)| **count > 0);
    json!({
        "name": row.name,
        "cause": row.cause,
        "title": rule.map(|rule| rule.title),
        "fixes": fixes.unwrap_or_default(),
        "count": row.count.count,
        "count_deviation": row.spread,
        "per_second": row.count.count as f64 / measured.seconds(),
        "total_ns": (!row.counted_only).then_some(row.count.ns),
        "mean_ns": row.count.mean_ns(),
        "longest_ns": row.count.longest_ns,
        "histogram": histogram
            .map(|(bucket, count)| json!({ "below_ns": bucket_end_ns(bucket), "count": count }))
            .collect::<Vec<_>>(),
    })
}
