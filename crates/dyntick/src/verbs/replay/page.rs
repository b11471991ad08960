// SPDX-License-Identifier: GPL-2.0-only
//! The page of `dyntick replay`: the answer in two lines, then the figures.

use dyntick_contract::replay::{Between, Difference, DifferentReason, Kind, Replay, Scored};
use dyntick_report::numbers::{count, counted, duration, percent};
use dyntick_report::{Axis, Block, Cell, Column, Document, Plot, Series, Shape, Table, row};

/// The most rows of governors; a sweep has more in its JSON.
const MOST_ROWS: usize = 60;
/// The most governors whose differences are listed: variants of a sweep differ little and are many.
const MOST_COMPARED: usize = 8;
/// The most causes of differences that are listed for a governor.
const MOST_WAKES: usize = 5;

/// Makes the page.
pub fn document(replay: &Replay) -> Document {
    let mut blocks = vec![Block::Table(table(replay))];
    let compared = if replay.differences.len() > MOST_COMPARED { &[] } else { &replay.differences[..] };
    blocks.extend(compared.iter().filter(|one| one.sleeps > 0).map(differing));
    blocks.extend(replay.differences.iter().filter(|one| !one.first.is_empty()).map(listed));
    blocks.extend(bounds(replay).map(Block::Table));
    let notes = notes(replay);
    blocks.extend(notes.into_iter().map(Block::Paragraph));
    Document {
        title: "Idle governors, replayed".to_owned(),
        lead: lead(replay),
        blocks,
        ..Document::default()
    }
}

/// Latency against energy: a point for each governor, a line for the variants of a sweep or for latency limits. None
/// without energy.
pub fn picture(replay: &Replay) -> Option<Plot> {
    let mut series: Vec<Series> = Vec::new();
    for one in &replay.results {
        let Some(energy) = one.energy else { continue };
        // The variants of a sweep differ in their macros.
        let name = one.name.split(" -D").next().unwrap_or(&one.name);
        let point = (one.latency.mean_ns / 1000.0, energy.value);
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name: name.to_owned(), points: vec![point] }),
        }
    }
    let plot = Plot {
        caption: format!("Idle governors, modelled for {}", replay.machine.as_deref().unwrap_or_default()),
        x: Axis::linear("mean wake-up latency", "µs"),
        y: Axis::linear("energy", "J"),
        shape: Shape::Points,
        series,
    };
    (!plot.series.is_empty()).then_some(plot)
}

/// The answer within the first latency limit: least latency, and least energy or most right choices.
fn lead(replay: &Replay) -> Vec<String> {
    let Some(first) = governors(replay).next() else { return Vec::new() };
    let governors: Vec<&Scored> = governors(replay).filter(|one| one.limit_ns == first.limit_ns).collect();
    let mean = |one: &Scored| one.latency.mean_ns;
    let latency = least(&governors, &mean).map(|found| {
        format!(
            "Least wake-up latency, modelled: {}, {} on average, against {} with {}.",
            named(found.best),
            duration(mean(found.best)),
            duration(mean(found.other)),
            named(found.other)
        )
    });
    let same_latency =
        || format!("All have the same modelled wake-up latency: {} on average.", duration(mean(first)));
    let second = match &replay.machine {
        Some(machine) if has_energy(replay) => {
            let joules = |one: &Scored| one.energy.map_or(0.0, |energy| energy.value);
            let words = least(&governors, &joules).map(|found| {
                let less = 1.0 - joules(found.best) / joules(found.other).max(f64::MIN_POSITIVE);
                format!(
                    "Least energy, modelled for {machine}: {}, {:.3} J, {} less than {}.",
                    named(found.best),
                    joules(found.best),
                    percent(less),
                    named(found.other)
                )
            });
            words.unwrap_or_else(|| format!("All take the same modelled energy: {:.3} J.", joules(first)))
        }
        _ => {
            let remedy = if replay.feedback { "" } else { "; --machine adds energy" };
            let wrong = |one: &Scored| (one.sleeps - one.right) as f64;
            let words = least(&governors, &wrong).map(|found| {
                format!(
                    "Most sleeps in the best state: {}, {} of {}, against {} with {}{remedy}.",
                    named(found.best),
                    count(found.best.right),
                    count(found.best.sleeps),
                    count(found.other.right),
                    named(found.other)
                )
            });
            words.unwrap_or_else(|| {
                format!(
                    "In the best state: {} of {} sleeps{remedy}.",
                    count(first.right),
                    count(first.sleeps)
                )
            })
        }
    };
    vec![latency.unwrap_or_else(same_latency), second]
}

/// The governor with the least of a figure, and the one that it is compared with.
struct Least<'a> {
    best: &'a Scored,
    other: &'a Scored,
}

/// The least of a figure; none if all are equal. It is compared with the first governor, or if it is that, with the
/// next best one.
fn least<'a>(all: &[&'a Scored], figure: &dyn Fn(&Scored) -> f64) -> Option<Least<'a>> {
    let best = all.iter().copied().min_by(|one, other| figure(one).total_cmp(&figure(other)))?;
    let first = *all.first()?;
    if figure(first) > figure(best) {
        return Some(Least { best, other: first });
    }
    let others = all.iter().copied().filter(|other| figure(other) > figure(best));
    let other = others.min_by(|one, other| figure(one).total_cmp(&figure(other)))?;
    Some(Least { best, other })
}

fn governors(replay: &Replay) -> impl Iterator<Item = &Scored> {
    replay.results.iter().filter(|one| one.kind == Kind::Governor)
}

/// A name with its limit.
fn named(one: &Scored) -> String {
    with_limit(&one.name, one.limit_ns)
}

fn with_limit(name: &str, limit_ns: Option<u64>) -> String {
    match limit_ns {
        Some(ns) => format!("{name} within {}", duration(ns as f64)),
        None => name.to_owned(),
    }
}

fn has_energy(replay: &Replay) -> bool {
    replay.results.iter().any(|one| one.kind == Kind::Governor && one.energy.is_some())
}

fn table(replay: &Replay) -> Table {
    let mut columns = vec![Column::text("governor"), Column::figure("choices", "")];
    columns.extend(replay.states.iter().map(|state| Column::figure(&state.name, "").spare(1)));
    columns.extend([
        Column::figure("too deep", ""),
        Column::figure("too shallow", ""),
        Column::figure("best state", ""),
        Column::figure("p50", ""),
        Column::figure("p99", "").extreme(),
        Column::figure("max", "").extreme(),
    ]);
    let has_energy = has_energy(replay);
    let has_recorded = replay.results.iter().any(|one| one.agreement.is_some());
    columns.extend(has_energy.then(|| Column::figure("energy", "J")));
    columns.extend(has_recorded.then(|| Column::figure("as recorded", "").spare(2)));
    let all = governors(replay).count();
    let left_out = all.saturating_sub(MOST_ROWS);
    let others = replay.results.iter().filter(|one| one.kind != Kind::Governor);
    let rows = governors(replay).take(MOST_ROWS).chain(others).map(|one| {
        let share = |part: u64, of: u64| Cell::Share(part as f64 / of.max(1) as f64);
        let mut cells = row![named(one), Cell::Count(one.choices)];
        cells.extend(one.states.iter().map(|count| share(*count, one.choices)));
        cells.extend([
            share(one.too_deep, one.choices),
            share(one.too_shallow, one.choices),
            share(one.right, one.sleeps),
            Cell::Duration(one.latency.p50_ns as f64),
            Cell::Duration(one.latency.p99_ns as f64),
            Cell::Duration(one.latency.max_ns as f64),
        ]);
        if has_energy {
            cells.push(Cell::known(one.energy.map(|energy| Cell::Fixed(energy.value, 3))));
        }
        if has_recorded {
            cells.push(Cell::known(one.agreement.map(|agreement| share(agreement.same, agreement.of))));
        }
        cells
    });
    let mut notes = vec![
        "too deep, too shallow: as the kernel counts above and below. best state: that of an oracle that knows the \
         end of each sleep. p50, p99, max: the modelled time to leave the state at a wake-up"
            .to_owned(),
    ];
    if left_out > 0 {
        notes.push(format!("{} more are in the JSON (--json)", counted(left_out as u64, "governor")));
    }
    Table { caption: String::new(), columns, rows: rows.collect(), notes }
}

/// The differences of a governor from the first one, by what woke the CPU.
fn differing(difference: &Difference) -> Block {
    let columns = vec![
        Column::text("wake-up"),
        Column::text("the first chose"),
        Column::text("this one"),
        Column::figure("sleeps", ""),
        Column::figure("first right", ""),
        Column::figure("this right", ""),
    ];
    let rows = difference.wakes.iter().take(MOST_WAKES).map(|wake| {
        row![
            wake.wake.clone(),
            wake.first.clone(),
            wake.other.clone(),
            Cell::Count(wake.sleeps),
            Cell::Count(wake.first_right),
            Cell::Count(wake.other_right)
        ]
    });
    let caption = format!(
        "{} chose another state for {}",
        with_limit(&difference.name, difference.limit_ns),
        counted(difference.sleeps, "sleep")
    );
    let reason = |one: &DifferentReason| format!("{}: {}", counted(one.sleeps, "sleep"), one.reason);
    let notes = difference.reasons.iter().map(reason).collect();
    Block::Table(Table { caption, columns, rows: rows.collect(), notes })
}

/// The first decisions that differ.
fn listed(difference: &Difference) -> Block {
    let columns = vec![
        Column::figure("decision", ""),
        Column::figure("CPU", ""),
        Column::figure("at", "s"),
        Column::figure("idle", ""),
        Column::figure("next timer", ""),
        Column::text("wake-up"),
        Column::text("the first chose"),
        Column::text("this one"),
        Column::text("oracle"),
    ];
    let rows = difference.first.iter().map(|one| {
        row![
            Cell::Count(one.decision),
            Cell::Count(one.cpu.into()),
            Cell::Fixed(one.at_ns as f64 / 1e9, 6),
            Cell::Duration(one.idle_ns as f64),
            Cell::known(one.next_timer_ns.map(|ns| Cell::Duration(ns as f64))),
            one.wake.clone(),
            one.first.clone(),
            one.other.clone(),
            one.oracle.clone()
        ]
    });
    let caption = format!("The first decisions of {}", with_limit(&difference.name, difference.limit_ns));
    Block::Table(Table { caption, columns, rows: rows.collect(), notes: Vec::new() })
}

/// The bounds of the figures, if inputs were assumed.
fn bounds(replay: &Replay) -> Option<Table> {
    let between = |between: Between, text: &dyn Fn(f64) -> String| {
        let (least, most) = (text(between.least), text(between.most));
        if least == most { least } else { format!("{least} to {most}") }
    };
    let plain = |value: f64| count(value as u64);
    let rows: Vec<Vec<Cell>> = governors(replay)
        .filter_map(|one| {
            let bounds = one.bounds?;
            let joules = |value: f64| format!("{value:.3}");
            Some(row![
                named(one),
                between(bounds.too_deep, &plain),
                between(bounds.too_shallow, &plain),
                between(bounds.mean_latency_ns, &duration),
                bounds.energy.map_or_else(|| "–".to_owned(), |energy| between(energy, &joules)),
                bounds.same.map_or_else(|| "–".to_owned(), |same| between(same, &plain))
            ])
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let figure = |header: &str, unit: &str| Column::figure(header, unit);
    let columns = vec![
        Column::text("governor"),
        figure("too deep", ""),
        figure("too shallow", ""),
        figure("mean latency", ""),
        figure("energy", "J"),
        figure("as recorded", ""),
    ];
    let caption = "With the earliest and the latest timers that the trace allows".to_owned();
    Some(Table { caption, columns, rows, notes: Vec::new() })
}

/// The assumptions, and remarks on the records.
fn notes(replay: &Replay) -> Vec<String> {
    let assumed = &replay.assumed;
    let of = |number: u64| format!("{} of {}", count(number), counted(assumed.decisions, "decision"));
    let mut notes = vec![
        "Assumed: no tasks that wait for I/O, no RCU callbacks, an idle CPU's utilisation, and no choice that was \
         given up before the CPU slept; the trace does not show these."
            .to_owned(),
    ];
    if replay.feedback {
        notes.push(
            "With feedback: each governor's choices delay what follows by what leaving its state takes longer than the \
             recorded one; timers and devices are not late."
                .to_owned(),
        );
    }
    if assumed.timer > 0 {
        notes.push(format!(
            "For {}, whose tick went on, the next timer without it is taken from the timers that ran later.",
            of(assumed.timer)
        ));
    }
    if assumed.tick > 0 {
        notes.push(format!("For {} no event shows the tick: it is assumed to run.", of(assumed.tick)));
    }
    if assumed.next_tick > 0 {
        notes.push(format!(
            "For {} no event shows when the next tick was due: half a tick later is assumed.",
            of(assumed.next_tick)
        ));
    }
    let would = governors(replay).map(|one| one.would_go_on).max().unwrap_or_default();
    if would > 0 {
        notes.push(format!(
            "Wake-ups are as recorded: up to {} that a tick ended would have gone on with a governor that stops it.",
            counted(would, "sleep")
        ));
    }
    notes.extend(replay.notes.iter().cloned());
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_contract::replay::{Joules, Latency};

    fn scored(name: &str, mean_ns: f64, joules: Option<f64>, right: u64) -> Scored {
        Scored {
            name: name.to_owned(),
            kind: Kind::Governor,
            origin: String::new(),
            limit_ns: None,
            sleeps: 100,
            choices: 100,
            states: vec![40, 60],
            too_deep: 5,
            too_shallow: 6,
            right,
            latency: Latency { mean_ns, p50_ns: 1000, p99_ns: 290_000, max_ns: 290_000 },
            energy: joules.map(|value| Joules { value, low: value, high: value }),
            agreement: None,
            would_go_on: 0,
            bounds: None,
        }
    }

    #[test]
    fn the_answer_comes_first() {
        let of = |machine: Option<&str>, results| Replay {
            machine: machine.map(str::to_owned),
            results,
            ..Replay::default()
        };
        let energy = [scored("menu@6.12", 3000.0, Some(2.0), 90), scored("teo@6.12", 1000.0, Some(1.5), 95)];
        let lead = super::lead(&of(Some("spr"), energy.to_vec()));
        assert_eq!(
            lead,
            [
                "Least wake-up latency, modelled: teo@6.12, 1.0 µs on average, against 3.0 µs with menu@6.12.",
                "Least energy, modelled for spr: teo@6.12, 1.500 J, 25.0 % less than menu@6.12."
            ]
        );
        let sweep = ["a.c -DX=1", "a.c -DX=2", "menu@6.12"].map(|name| scored(name, 2500.0, Some(1.0), 9));
        let plot = picture(&of(Some("spr"), sweep.to_vec())).unwrap();
        let points: Vec<_> = plot.series.iter().map(|one| (one.name.as_str(), one.points.len())).collect();
        assert_eq!(points, [("a.c", 2), ("menu@6.12", 1)]);
        assert_eq!(plot.series[0].points[0], (2.5, 1.0));
        assert_eq!(picture(&of(None, vec![scored("menu@6.12", 3000.0, None, 90)])), None);
        let alone = super::lead(&of(None, vec![scored("menu@6.12", 3000.0, None, 90)]));
        assert_eq!(
            alone,
            [
                "All have the same modelled wake-up latency: 3.0 µs on average.",
                "In the best state: 90 of 100 sleeps; --machine adds energy."
            ]
        );
    }
}
