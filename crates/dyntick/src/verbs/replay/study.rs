// SPDX-License-Identifier: GPL-2.0-only
//! Governors on several machines: each record by itself on each machine, as one table that fits into a mail.

use dyntick_contract::replay::{Kind, Replay, Scored};
use dyntick_report::{Axis, Block, Cell, Column, Document, Plot, Series, Shape, Table, row};
use std::path::Path;

/// The name of a record: that of its file without folders and ending.
fn name_of(replay: &Replay) -> String {
    let file = replay.files.first().map(Path::new);
    file.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The governors of a replay, and its oracle.
fn shown(replay: &Replay) -> impl Iterator<Item = &Scored> {
    replay.results.iter().filter(|one| matches!(one.kind, Kind::Governor | Kind::Oracle))
}

/// Makes the page of replays, each of one record on one machine.
pub fn document(replays: &[Replay]) -> Document {
    let columns = vec![
        Column::text("record"),
        Column::text("machine"),
        Column::text("governor"),
        Column::figure("latency", ""),
        Column::figure("energy", "J"),
        Column::figure("best", ""),
    ];
    let rows = replays.iter().flat_map(|replay| {
        shown(replay).map(move |one| {
            row![
                name_of(replay),
                replay.machine.clone().unwrap_or_default(),
                one.name.clone(),
                Cell::Duration(one.latency.mean_ns),
                Cell::known(one.energy.map(|energy| Cell::Fixed(energy.value, 3))),
                Cell::Share(one.right as f64 / one.sleeps.max(1) as f64)
            ]
        })
    });
    let notes = vec![
        "latency: the mean of the modelled time to leave the state. energy: modelled. best: sleeps in the state of the \
         oracle, which knows the end of each"
            .to_owned(),
    ];
    let table = Table { caption: String::new(), columns, rows: rows.collect(), notes };
    Document {
        title: "Idle governors, replayed on several machines".to_owned(),
        lead: lead(replays),
        blocks: vec![Block::Table(table)],
        ..Document::default()
    }
}

/// The number of times that each governor takes the least energy, and has the least latency.
fn lead(replays: &[Replay]) -> Vec<String> {
    let names = replays.first().into_iter().flat_map(governors).map(|one| one.name.clone());
    let least = |of: &dyn Fn(&Scored) -> f64, name: &str| {
        let is_least = |replay: &&Replay| {
            let figure = |one: &Scored| (one.name == name).then(|| of(one));
            let own = governors(replay).find_map(figure);
            own.is_some_and(|own| governors(replay).all(|other| own <= of(other)))
        };
        replays.iter().filter(is_least).count()
    };
    let all = replays.len();
    names
        .map(|name| {
            let energy = least(&|one| one.energy.map_or(f64::INFINITY, |energy| energy.value), &name);
            let latency = least(&|one| one.latency.mean_ns, &name);
            format!("{name}: least energy in {energy} of {all}, least latency in {latency}.")
        })
        .collect()
}

fn governors(replay: &Replay) -> impl Iterator<Item = &Scored> {
    replay.results.iter().filter(|one| one.kind == Kind::Governor)
}

/// Latency against energy relative to the oracle's: a point for each record, machine and governor.
pub fn picture(replays: &[Replay]) -> Option<Plot> {
    let mut series: Vec<Series> = Vec::new();
    for replay in replays {
        let oracle = replay.results.iter().find(|one| one.kind == Kind::Oracle);
        let Some(least) = oracle.and_then(|one| one.energy).filter(|energy| energy.value > 0.0) else {
            continue;
        };
        for one in governors(replay) {
            let Some(energy) = one.energy else { continue };
            let point = (one.latency.mean_ns / 1000.0, 100.0 * energy.value / least.value);
            match series.iter_mut().find(|series| series.name == one.name) {
                Some(series) => series.points.push(point),
                None => series.push(Series { name: one.name.clone(), points: vec![point] }),
            }
        }
    }
    let plot = Plot {
        caption: "Idle governors, modelled: a point for each record and machine".to_owned(),
        x: Axis::linear("mean wake-up latency", "µs"),
        y: Axis::linear("energy", "% of the oracle's"),
        shape: Shape::Dots,
        series,
    };
    (!plot.series.is_empty()).then_some(plot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_contract::replay::{Joules, Latency};

    fn replay(file: &str, machine: &str, energies: [f64; 3]) -> Replay {
        let scored = |(name, kind, value): (&str, Kind, f64)| Scored {
            name: name.to_owned(),
            kind,
            origin: String::new(),
            limit_ns: None,
            sleeps: 10,
            choices: 10,
            states: vec![10],
            too_deep: 0,
            too_shallow: 0,
            right: 5,
            latency: Latency { mean_ns: value * 1000.0, ..Latency::default() },
            energy: Some(Joules { value, low: value, high: value }),
            agreement: None,
            would_go_on: 0,
            bounds: None,
        };
        let [menu, teo, oracle] = energies;
        let results = [
            ("menu@6.12", Kind::Governor, menu),
            ("teo@6.12", Kind::Governor, teo),
            ("oracle", Kind::Oracle, oracle),
        ];
        Replay {
            files: vec![format!("loads/{file}.dt")],
            machine: Some(machine.to_owned()),
            results: results.map(scored).to_vec(),
            ..Replay::default()
        }
    }

    #[test]
    fn the_table_fits_into_a_mail() {
        let replays = [
            replay("cyclictest", "sapphire-rapids-no-pc6", [2.0, 3.0, 1.0]),
            replay("qperf", "epyc-rome", [200.0, 150.0, 100.0]),
        ];
        let document = document(&replays);
        assert_eq!(
            document.lead,
            [
                "menu@6.12: least energy in 1 of 2, least latency in 1.",
                "teo@6.12: least energy in 1 of 2, least latency in 1."
            ]
        );
        let mail = dyntick_report::mail(&document);
        assert!(mail.lines().all(|line| line.len() <= 72), "{mail}");
        let lines: Vec<&str> = mail.lines().filter(|line| line.contains("sapphire-rapids-no-pc6")).collect();
        assert_eq!(lines.len(), 3, "one table: {mail}");
        let plot = picture(&replays).unwrap();
        assert_eq!(plot.series[1].points, [(3.0, 300.0), (150.0, 150.0)]);
    }
}
