// SPDX-License-Identifier: GPL-2.0-only
//! The measurement as lines of fields.

use super::calls;
use dyntick_contract::{labels, stat};
use dyntick_count::{Measured, Row, per_cpu};
use dyntick_model::NANOS_PER_SEC;
use dyntick_model::text::clean_line;

/// A line for each row of each CPU: seconds since the beginning, CPU, group, part, count, count per second, total ns,
/// mean ns, longest ns, cause. `header` names them first. A field that contains the separator or a quotation mark is
/// quoted; names have no control characters, so a record is one line. Lines without a CPU name the source of the counts
/// (`source`, once) and, if events were lost, their number and the reason (`lost`). Calls of functions are rows of
/// `calls`, with their name as the part; the cost of timing them is in lines without a CPU (`probe`). Energy is in rows
/// `energy_uj` without a CPU, in µJ and µJ per second, with the zone as the part and the name of turbostat's column as
/// the last field. The time of the command's threads is in rows `command_time` without a CPU, with the name of the part
/// as the last field.
pub fn text(measured: &Measured, separator: &str, header: bool) -> String {
    const HEADER: [&str; 10] =
        ["time", "cpu", "what", "part", "count", "per_second", "total_ns", "mean_ns", "longest_ns", "cause"];
    let mut lines: Vec<String> = header.then(|| HEADER.join(separator)).into_iter().collect();
    let time = format!("{:.9}", measured.at_ns as f64 / NANOS_PER_SEC as f64);
    for cpu in per_cpu(measured) {
        let mut line = |row: &Row, group: &str, part: &str| {
            let count = &row.count;
            let optional = |value: Option<f64>| value.map(|value| format!("{value:.0}")).unwrap_or_default();
            let fields = [
                time.clone(),
                cpu.cpus.to_string(),
                group.to_owned(),
                part.to_owned(),
                count.count.to_string(),
                format!("{:.3}", count.count as f64 / measured.seconds()),
                count.ns.to_string(),
                optional(count.mean_ns()),
                optional(count.longest_ns.map(|ns| ns as f64)),
                row.cause.as_ref().map(ToString::to_string).unwrap_or_default(),
            ];
            let fields: Vec<String> = fields.iter().map(|field| quoted(field, separator)).collect();
            lines.push(fields.join(separator));
        };
        for group in &cpu.groups {
            let name = labels::of(&group.row.what);
            line(&group.row, &name, "");
            group.parts.iter().for_each(|part| line(part, &name, &labels::of(&part.what)));
        }
    }
    for calls in measured.calls.iter().flat_map(calls::each_cpu) {
        let (count, optional) = (calls.count, |value: Option<f64>| value.map(|value| format!("{value:.0}")));
        let fields = [
            time.clone(),
            calls.cpu.to_string(),
            "calls".to_owned(),
            calls.function.to_owned(),
            count.ended().to_string(),
            format!("{:.3}", count.ended() as f64 / measured.seconds()),
            count.ns.to_string(),
            optional(count.mean_ns()).unwrap_or_default(),
            optional(count.longest_ns.map(|ns| ns as f64)).unwrap_or_default(),
            String::new(),
        ];
        lines.push(fields.map(|field| quoted(&field, separator)).join(separator));
    }
    for part in stat::ledger(measured).into_iter().flat_map(|ledger| ledger.parts) {
        let ns = part.ns.unwrap_or_default();
        let fields = [
            time.clone(),
            String::new(),
            "command_time".to_owned(),
            part.title,
            part.count.to_string(),
            format!("{:.3}", part.count as f64 / measured.seconds()),
            ns.to_string(),
            format!("{:.0}", ns as f64 / part.count.max(1) as f64),
            part.longest_ns.unwrap_or_default().to_string(),
            part.part.to_owned(),
        ];
        lines.push(fields.map(|field| quoted(&field, separator)).join(separator));
    }
    lines.extend(measured.power.iter().flatten().map(|zone| {
        let (name, used) = (zone.full_name(), zone.microjoules.to_string());
        let per_second = zone.watts().map(|watts| format!("{:.3}", watts * 1e6)).unwrap_or_default();
        let column = zone.column().unwrap_or_default();
        let fields = [&time, "", "energy_uj", &name, &used, &per_second, "", "", "", column];
        fields.map(|field| quoted(field, separator)).join(separator)
    }));
    let mut about_all = |what: &str, part: &str, count: u64, note: &str| {
        let fields = [&time, "", what, part, &count.to_string(), "", "", "", "", note];
        lines.push(fields.map(|field| quoted(field, separator)).join(separator));
    };
    if let Some(source) = measured.source.as_ref().filter(|_| header) {
        about_all("source", source.name(), 1, &labels::note(source).unwrap_or_default());
    }
    let probes = measured
        .calls
        .iter()
        .filter(|_| header)
        .flat_map(|timed| timed.costs.iter().zip(calls::probes(timed)));
    for (cost, words) in probes {
        about_all("probe", cost.pair.name(), cost.measured.as_ref().map_or(0, |cost| cost.calls), &words);
    }
    for cpu in measured.offline.iter() {
        about_all("offline", &cpu.to_string(), 1, "its figures do not hold");
    }
    let lost = measured.counts.as_ref().map(|counts| counts.lost).unwrap_or_default();
    for (reason, count) in lost.by_reason().into_iter().filter(|(_, count)| *count > 0) {
        about_all("lost", reason, count, "");
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn quoted(field: &str, separator: &str) -> String {
    let field = clean_line(field);
    let needs = (!separator.is_empty() && field.contains(separator)) || field.contains('"');
    if needs { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted() {
        assert_eq!(quoted("a", ","), "a");
        assert_eq!(quoted("a,b", ","), "\"a,b\"");
        assert_eq!(quoted("a,b", ";"), "a,b");
        assert_eq!(quoted("say \"a\"", ","), "\"say \"\"a\"\"\"");
        assert_eq!(quoted("a\nb\u{1b}c\td", "\t"), "a b\u{fffd}c d");
    }
}
