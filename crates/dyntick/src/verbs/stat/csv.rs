// SPDX-License-Identifier: GPL-2.0-only
//! What was measured, as lines of fields.

use super::measure::Measured;
use super::rows::{self, Row};
use dyntick_model::NANOS_PER_SEC;

/// A line for each row of each CPU: seconds since the begin, CPU, whole, part, count, count per second,
/// total ns, mean ns, longest ns, cause. `header` names them first. A field that holds the separator or a
/// quotation mark stands in quotation marks.
pub fn text(measured: &Measured, separator: &str, header: bool) -> String {
    const HEADER: [&str; 10] =
        ["time", "cpu", "what", "part", "count", "per_second", "total_ns", "mean_ns", "longest_ns", "cause"];
    let mut lines: Vec<String> = header.then(|| HEADER.join(separator)).into_iter().collect();
    let time = format!("{:.9}", measured.at_ns as f64 / NANOS_PER_SEC as f64);
    for cpu in rows::told(measured, false) {
        let mut line = |row: &Row, whole: &str, part: &str| {
            let count = &row.count;
            let optional = |value: Option<f64>| value.map(|value| format!("{value:.0}")).unwrap_or_default();
            let fields = [
                time.clone(),
                cpu.name.replace("CPU ", ""),
                whole.to_owned(),
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
        for whole in &cpu.wholes {
            line(&whole.row, &whole.row.name, "");
            whole.parts.iter().for_each(|part| line(part, &whole.row.name, &part.name));
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn quoted(field: &str, separator: &str) -> String {
    let needs = (!separator.is_empty() && field.contains(separator)) || field.contains(['"', '\n']);
    if needs { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stay_fields() {
        assert_eq!(quoted("a", ","), "a");
        assert_eq!(quoted("a,b", ","), "\"a,b\"");
        assert_eq!(quoted("a,b", ";"), "a,b");
        assert_eq!(quoted("say \"a\"", ","), "\"say \"\"a\"\"\"");
    }
}
