// SPDX-License-Identifier: GPL-2.0-only
//! The result file of the Phoronix Test Suite (`composite.xml`, `pts_result_file`): for each test its unit (`Scale`),
//! its better direction (`Proportion`), and for each system the values of all runs (`RawString`).

use crate::Error;
use crate::json::ensure_small;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_stats::Better;
use roxmltree::{Document, Node};
use std::collections::BTreeSet;

const TOOL: &str = "Phoronix Test Suite";

pub(crate) fn knows(text: &str) -> bool {
    text.contains("<PhoronixTestSuite>")
}

/// Adds the results. With several systems in the file, each is a part of it.
pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    ensure_small(text)?;
    let begin = text.find("<PhoronixTestSuite>").unwrap_or(0);
    let above = text[..begin].matches('\n').count();
    let document = Document::parse(&text[begin..]).map_err(|error| Error::Line {
        tool: TOOL,
        line: above + error.pos().row as usize,
        text: error.to_string(),
    })?;
    let results: Vec<Node<'_, '_>> = children(document.root_element(), "Result").collect();
    let systems: BTreeSet<&str> = results
        .iter()
        .flat_map(|result| entries(*result))
        .map(|entry| text_of(entry, "Identifier"))
        .collect();
    let (mut series, mut failed) = (0, 0);
    for result in results {
        // A series over time (a sensor) has no runs.
        if !["", "BAR_GRAPH"].contains(&text_of(result, "DisplayFormat")) {
            series += 1;
            continue;
        }
        for entry in entries(result) {
            let system = text_of(entry, "Identifier");
            let part = if systems.len() > 1 { format!("pts/{system}") } else { "pts".to_owned() };
            if systems.len() > 1 {
                into.part(&part);
            }
            failed += usize::from(put(&part, result, entry, into)? == 0);
        }
    }
    if series > 0 {
        into.note(format_args!(
            "{series} results that are no bars are not read: series over time have no runs"
        ));
    }
    if failed > 0 {
        into.note(format_args!("{failed} results have no value: the test failed"));
    }
    Ok(())
}

/// Adds the values of a system's runs, and returns how many there are.
fn put(part: &str, result: Node<'_, '_>, entry: Node<'_, '_>, into: &mut Collector) -> Result<usize, Error> {
    let better = match text_of(result, "Proportion") {
        "HIB" => Better::Higher,
        "LIB" => Better::Lower,
        _ => Better::Unknown,
    };
    let scale = text_of(result, "Scale");
    let (unit, factor) = match scale {
        "Seconds" => ("ns", 1e9),
        "Milliseconds" | "ms" => ("ns", 1e6),
        "Microseconds" | "us" => ("ns", 1e3),
        other => (other, 1.0),
    };
    let description = text_of(result, "Description");
    let title = text_of(result, "Title");
    let name = if description.is_empty() {
        format!("{part}/{title}")
    } else {
        format!("{part}/{title}/{}", description.replace('/', " "))
    };
    let raw = text_of(entry, "RawString");
    let words = if raw.is_empty() { text_of(entry, "Value") } else { raw };
    let values: Vec<f64> =
        words.split(':').filter(|word| !word.trim().is_empty()).map(value).collect::<Result<_, _>>()?;
    for value in &values {
        into.value(&name, Kind::new(unit, better), value * factor)?;
    }
    Ok(values.len())
}

fn value(word: &str) -> Result<f64, Error> {
    number(word.trim()).ok_or(Error::Name {
        tool: TOOL,
        name: crate::text::shortened(word),
        why: "is not a number",
    })
}

fn entries<'a, 'b>(result: Node<'a, 'b>) -> impl Iterator<Item = Node<'a, 'b>> {
    children(result, "Data").flat_map(|data| children(data, "Entry"))
}

fn children<'a, 'b>(node: Node<'a, 'b>, name: &'static str) -> impl Iterator<Item = Node<'a, 'b>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

fn text_of<'a>(node: Node<'a, '_>, name: &'static str) -> &'a str {
    children(node, name).next().and_then(|child| child.text()).map_or("", str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;
    use dyntick_model::Clock;
    use dyntick_stats::Values;

    fn entry(system: &str, value: &str, raw: &str) -> String {
        format!(
            "<Entry><Identifier>{system}</Identifier><Value>{value}</Value><RawString>{raw}</RawString></Entry>"
        )
    }

    fn file(scale: &str, entries: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<PhoronixTestSuite>\n<Result><Identifier>pts/x</Identifier><Title>X</Title>\
             <Description>Test: A/B &amp; C</Description><Scale>{scale}</Scale><Proportion>LIB</Proportion>\
             <DisplayFormat>BAR_GRAPH</DisplayFormat><Data>{entries}</Data></Result>\n</PhoronixTestSuite>\n"
        )
    }

    fn read(text: &str) -> Result<Output, Error> {
        let mut collector = Collector::new(TOOL, Clock::Wall);
        metrics(text, &mut collector)?;
        collector.finish()
    }

    #[test]
    fn runs_of_each_system_are_read() {
        let one = read(&file("Seconds", &entry("6.1", "1.6", "1.5:1.7"))).unwrap();
        let (name, metric) = &one.metrics[0];
        assert_eq!((name.as_str(), metric.better), ("pts/X/Test: A B & C", Better::Lower));
        assert_eq!((&metric.values, one.parts.len()), (&Values::Runs(vec![1.5e9, 1.7e9]), 0));
        let two = read(&file("MB/s", &(entry("6.1", "3", "") + &entry("6.12", "", "")))).unwrap();
        assert_eq!((two.parts.len(), two.metrics.len()), (2, 1));
        assert_eq!(two.notes, ["1 results have no value: the test failed"]);
    }

    #[test]
    fn invalid_files_are_refused() {
        let text = file("s", &entry("a", "1", "1:x"));
        assert!(matches!(read(&text), Err(Error::Name { .. })));
        assert!(matches!(read(&text.replace("</Title>", "")), Err(Error::Line { line: 3, .. })));
    }
}
