// SPDX-License-Identifier: GPL-2.0-only
//! The report of powertop 2.x with `--csv` (`report.cpp`): sections with a title between stars, rows with semicolons.
//! Wake-ups, use of the CPUs, residencies of idle states, and power where the machine measures it are read. Figures of
//! single processes are not: their names contain process numbers.

use crate::Error;
use crate::metrics::{Collector, Kind};
use crate::text::number;
use dyntick_stats::Better;
use std::collections::BTreeMap;

const TOOL: &str = "powertop";

pub(crate) fn knows(text: &str) -> bool {
    text.contains("PowerTOP")
        && text.lines().any(|line| title(line).is_some_and(|title| title.contains("Idle State")))
}

/// Parses ` *  *  *   Processor Idle State Report   *  *  *`.
fn title(line: &str) -> Option<&str> {
    let title = line.trim().strip_prefix("*  *  *")?.strip_suffix("*  *  *")?;
    Some(title.trim())
}

pub(crate) fn metrics(text: &str, into: &mut Collector) -> Result<(), Error> {
    let mut section = "";
    let mut table = Table::default();
    let mut software = Software::default();
    let mut left_out: Vec<&str> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = || Error::line(TOOL, index, line);
        if let Some(title) = title(line) {
            (section, table) = (title, Table::default());
            if title.contains("Device Power") || title.contains("Frequency") {
                left_out.push(title);
            }
        } else if line.trim().is_empty() || line.chars().all(|c| c == '_') {
            software.end_table();
        } else if section.contains("Idle State") {
            table.line(line, into)?.ok_or_else(wrong)?;
        } else if section.contains("Software Power Consumers") && software.has_table(line) {
            software.line(line).ok_or_else(wrong)?;
        } else {
            summary(line, into)?;
        }
    }
    software.put(into)?;
    if !left_out.is_empty() {
        into.note(format_args!(
            "figures of single processes, and the sections {}, are not read",
            left_out.join(", ")
        ));
    }
    Ok(())
}

/// Adds figures of the machine: `Target:;1 units/s;System: ;289.3 wakeup/s;CPU: ;2.5% usage;…`.
fn summary(line: &str, into: &mut Collector) -> Result<(), Error> {
    const FIGURES: [(&str, &str, Kind<'static>); 6] = [
        ("System:", "wakeups/s", Kind::new("1/s", Better::Lower)),
        ("CPU:", "CPU usage", Kind::SHARE),
        ("GPU:", "GPU operations/s", Kind::new("1/s", Better::Unknown)),
        ("VFS:", "VFS operations/s", Kind::new("1/s", Better::Unknown)),
        ("discharge rate of", "discharge rate", Kind::POWER),
        ("baseline power is estimated at", "baseline power", Kind::POWER),
    ];
    let line = line.replace(';', " ");
    for (mark, name, kind) in FIGURES {
        let Some((_, rest)) = line.split_once(mark) else { continue };
        let mut words = rest.trim_start_matches(':').split_ascii_whitespace();
        let word = words.next().unwrap_or("");
        let value = number(word.trim_end_matches(['%', 'W', 'm']).trim_end_matches(','));
        let unit = if word.ends_with(['W', '%']) { word } else { words.next().unwrap_or("") };
        let is_of_kind = match kind.unit {
            "W" => unit.ends_with('W'),
            "%" => unit.ends_with('%'),
            _ => unit.ends_with("/s"),
        };
        let factor = if kind.unit == "W" && unit.ends_with("mW") { 1e-3 } else { 1.0 };
        if let Some(value) = value.filter(|_| is_of_kind) {
            into.value(&format!("powertop/{name}"), kind, value * factor)?;
        }
    }
    Ok(())
}

/// The residencies of a package, a core, or some CPUs, one below the other.
#[derive(Default)]
struct Table {
    /// The names of the columns that have residencies.
    places: Vec<String>,
}

impl Table {
    /// Takes a row: a heading with places, or the name of a state with its share in each place, and for CPUs the mean
    /// time of a stay. `None` if it is not understood.
    fn line(&mut self, line: &str, into: &mut Collector) -> Result<Option<()>, Error> {
        let cells: Vec<&str> = line.split(';').map(str::trim).collect();
        let places: Vec<String> = cells.iter().filter_map(|cell| place(cell)).collect();
        if cells[0] == "Package" || !places.is_empty() {
            // The heading of a package is `Package;0`.
            let number = cells.get(1).filter(|cell| cells[0] == "Package" && number(cell).is_some());
            self.places = number.map_or(places, |number| vec![format!("package{number}")]);
            return Ok(Some(()));
        }
        let mut cells = cells.into_iter().skip_while(|cell| cell.is_empty());
        let Some(state) = cells.next() else { return Ok(Some(())) };
        let state = state.split_ascii_whitespace().next().unwrap_or(state);
        let shares: Option<Vec<f64>> = cells
            .filter(|cell| cell.ends_with('%'))
            .map(|cell| number(cell.trim_end_matches('%').trim()))
            .collect();
        let Some(shares) = shares.filter(|shares| shares.len() <= self.places.len()) else { return Ok(None) };
        for (place, share) in self.places.iter().zip(shares) {
            into.value(&format!("powertop/{place}/{state}"), Kind::SHARE, share)?;
        }
        Ok(Some(()))
    }
}

/// Parses `Package 0`, `Core 1`, `CPU 3`, `GPU 0`.
fn place(cell: &str) -> Option<String> {
    let (kind, number) = cell.split_once(' ')?;
    let is_place = ["Package", "Core", "CPU", "GPU"].contains(&kind) && number.trim().parse::<u32>().is_ok();
    let kind = if kind == "CPU" || kind == "Core" { kind.to_ascii_lowercase() } else { kind.to_owned() };
    is_place.then(|| format!("{kind}{}", number.trim()))
}

/// The wake-ups of each category, and of timers, interrupts and work of the kernel by name.
#[derive(Default)]
struct Software {
    columns: Option<[usize; 3]>,
    in_head: bool,
    rates: BTreeMap<String, f64>,
}

impl Software {
    fn end_table(&mut self) {
        self.columns = None;
    }

    /// Returns true within a table, which this line may begin.
    fn has_table(&mut self, line: &str) -> bool {
        let cells: Vec<&str> = line.split(';').map(str::trim).collect();
        let column = |name: &str| cells.iter().position(|cell| cell.starts_with(name));
        if self.columns.is_none() {
            let places = column("Wakeups/s").zip(column("Category")).zip(column("Description"));
            self.columns = places.map(|((rate, category), description)| [rate, category, description]);
            self.in_head = true;
        }
        self.columns.is_some()
    }

    fn line(&mut self, line: &str) -> Option<()> {
        if std::mem::take(&mut self.in_head) {
            return Some(());
        }
        let cells: Vec<&str> = line.split(';').map(str::trim).collect();
        let [rate, category, description] = self.columns?;
        let text = cells.get(rate)?;
        let value = if text.is_empty() { 0.0 } else { number(text)? };
        let category = *cells.get(category)?;
        *self.rates.entry(category.to_owned()).or_default() += value;
        // A description may have a semicolon; the number of a process differs from run to run.
        let name = cells.get(description)?;
        if ["Timer", "Interrupt", "kWork"].contains(&category) && !name.contains("[PID") {
            *self.rates.entry(format!("{category}/{}", name.replace('/', " "))).or_default() += value;
        }
        Some(())
    }

    fn put(self, into: &mut Collector) -> Result<(), Error> {
        let rates = self.rates.into_iter().filter(|(name, _)| !name.is_empty());
        for (name, rate) in rates {
            into.value(&format!("powertop/{name}/wakeups/s"), Kind::new("1/s", Better::Lower), rate)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::values;

    const TEXT: &str = "PowerTOP Version;v2.15 ran at Fri\n *  *  *   Top 10 Power Consumers   *  *  *\n\
        Target:;1 units/s;System: ;289.3 wakeup/s;CPU: ;2.5% usage;GPU:;0 ops/s;VFS:;3.1 ops/s;\n\
        Usage;Events/s;Category;Description;PW Estimate\n 4.2 ms/s;33.3;Process;[PID 1] init;0.1 W\n____\n \
        *  *  *   Processor Idle State Report   *  *  *\n\nPackage;0\nC2 (pc2);4.3%\n\n;Core 0\n;C1 (cc1);7.0%\n\n\
        CPU 0;;CPU 4;\nPOLL;0.1%;0.0 ms;0.2%;0.0 ms\nC6;90.5%;4.1 ms;91.0%;5.0 ms\n____\n \
        *  *  *   Overview of Software Power Consumers   *  *  *\n\n\
        Usage;Wakeups/s;GPU ops/s;Disk IO/s;GFX Wakeups/s;Category;Description;PW Estimate\n \
        1.0 ms/s;40.5;;;;Timer;tick_sched_timer;1 mW\n 4.2 ms/s;33.3;;;;Process;[PID 1] init;0.1 W\n\n\
        The battery reports a discharge rate of:; 5.12 W;\n";

    fn read(text: &str) -> Result<BTreeMap<String, f64>, Error> {
        values(TOOL, |into| metrics(text, into))
    }

    #[test]
    fn wake_ups_and_states_are_read() {
        assert!(knows(TEXT));
        let found = read(TEXT).unwrap();
        let expected = [
            ("CPU usage", 2.5),
            ("GPU operations/s", 0.0),
            ("Process/wakeups/s", 33.3),
            ("Timer/tick_sched_timer/wakeups/s", 40.5),
            ("Timer/wakeups/s", 40.5),
            ("VFS operations/s", 3.1),
            ("core0/C1", 7.0),
            ("cpu0/C6", 90.5),
            ("cpu0/POLL", 0.1),
            ("cpu4/C6", 91.0),
            ("cpu4/POLL", 0.2),
            ("discharge rate", 5.12),
            ("package0/C2", 4.3),
            ("wakeups/s", 289.3),
        ];
        assert_eq!(found, expected.map(|(name, value)| (format!("powertop/{name}"), value)).into());
    }

    #[test]
    fn row_that_is_not_understood_is_an_error() {
        assert!(matches!(read(&TEXT.replace("90.5%", "x%")), Err(Error::Line { .. })));
    }
}
