// SPDX-License-Identifier: GPL-2.0-only
//! The output of real tools, read as metrics. `fixtures/README.md` has the origin of each file.

use dyntick_formats::{Error, Hints, Output, metrics, metrics_of_file};
use dyntick_model::Clock;
use dyntick_stats::{About, Exposure, Metric, MetricName, Samples, Values};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The refused files, each with the beginning of its error.
const REFUSED: [(&str, &str); 2] = [
    ("fio-failed.json", "fio failed: job 'missing' ended with error 2"),
    (
        "fio-for-people.txt",
        "this is fio's output in a form that is not read; run it with --output-format=json",
    ),
];

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.file_name().unwrap() != "README.md");
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

fn fixture(name: &str) -> Output {
    let (_, bytes) = fixtures().into_iter().find(|(known, _)| known == name).unwrap();
    metrics(&bytes, Clock::Wall).unwrap()
}

fn shown(samples: &Samples) -> String {
    let Samples { counts, overflows, max, width, .. } = samples;
    let quantile = |share| counts.quantile(share).map_or("-".to_owned(), |value| value.to_string());
    let max = max.map_or("-".to_owned(), |max| max.to_string());
    let width = width.map_or("-".to_owned(), |width| width.to_string());
    format!(
        "{} counted, median {}, max {max}, {overflows} beyond, buckets of {width}",
        counts.total(),
        quantile(0.5)
    )
}

fn line((name, metric): &(MetricName, Metric)) -> String {
    let values = match &metric.values {
        Values::Runs(values) => values.iter().map(f64::to_string).collect::<Vec<_>>().join(" "),
        Values::Distribution(runs) => runs.iter().map(shown).collect::<Vec<_>>().join(" / "),
    };
    let About { grows, step, summary_of, exposure } = &metric.about;
    let mut about = String::new();
    if *grows {
        about += ", grows";
    }
    if *step > 0.0 {
        about += &format!(", cut to {step}");
    }
    if let Some(of) = summary_of {
        about += &format!(", of {of}");
    }
    if let Some(Exposure { samples, seconds, .. }) = exposure.first() {
        about += &samples.map_or(String::new(), |samples| format!(", {samples} samples"));
        about += &seconds.map_or(String::new(), |seconds| format!(", {seconds} s"));
    }
    format!("{name} = {values} [{}] {:?}{about}", metric.unit, metric.better)
}

#[test]
fn every_output_is_read() {
    for (name, bytes) in fixtures() {
        if REFUSED.iter().any(|(refused, _)| *refused == name) {
            continue;
        }
        let hints = Hints { file: Some(&name), ..Hints::default() };
        let output =
            metrics_of_file(&bytes, Clock::Wall, hints).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut text = format!("{}\n", output.tool);
        output.metrics.iter().for_each(|metric| writeln!(text, "{}", line(metric)).unwrap());
        output.settings.iter().for_each(|(name, values)| writeln!(text, "{name}: {values:?}").unwrap());
        output.notes.iter().for_each(|note| writeln!(text, "note: {note}").unwrap());
        output.parts.iter().for_each(|part| writeln!(text, "part: {part}").unwrap());
        insta::assert_snapshot!(name.replace('.', "-"), text);
    }
}

#[test]
fn refusal_gives_the_reason() {
    let fixtures = fixtures();
    for (name, says) in REFUSED {
        let (_, bytes) = fixtures.iter().find(|(known, _)| known == name).unwrap();
        let error = metrics(bytes, Clock::Wall).unwrap_err().to_string();
        assert!(error.starts_with(says), "{name}: {error}");
    }
}

#[test]
fn every_fixture_has_its_origin_in_the_readme() {
    let readme = include_str!("fixtures/README.md");
    for (name, _) in fixtures() {
        assert!(readme.contains(&format!("`{name}`")), "{name} is not in fixtures/README.md");
    }
}

/// The text and the JSON of one run agree, except for means truncated to integers and stress-ng's two digits.
#[test]
fn text_and_json_of_a_run_agree() {
    // The tolerances of times, in ns, and of all other figures.
    let pairs = [
        ("cyclictest-histogram.txt", "cyclictest.json", 1000.0, 0.0),
        ("cyclictest-ns.txt", "cyclictest-ns.json", 1.0, 0.0),
        ("oslat.txt", "oslat.json", 0.0, 0.0),
        ("stress-ng-metrics.txt", "stress-ng.yaml", 5e6, 0.005),
    ];
    for (text, json, of_times, of_others) in pairs {
        let (text, json) = (fixture(text), fixture(json));
        assert_eq!((text.tool, text.metrics.len()), (json.tool, json.metrics.len()));
        for (name, of_text) in &text.metrics {
            let (_, of_json) = json.metrics.iter().find(|(known, _)| known == name).unwrap();
            assert_eq!((&of_text.unit, of_text.better), (&of_json.unit, of_json.better), "{name}");
            match (&of_text.values, &of_json.values) {
                (Values::Runs(a), Values::Runs(b)) => {
                    let tolerance = if of_text.unit == "ns" { of_times } else { of_others };
                    assert!((a[0] - b[0]).abs() <= tolerance + 1e-6, "{name}: {a:?} {b:?}");
                }
                (Values::Distribution(a), Values::Distribution(b)) => {
                    let shape = |runs: &[Samples]| {
                        runs.iter()
                            .map(|run| (run.counts.clone(), run.overflows, run.max, run.width))
                            .collect::<Vec<_>>()
                    };
                    assert_eq!(shape(a), shape(b), "{name}");
                }
                (a, b) => panic!("{name}: {a:?} {b:?}"),
            }
        }
    }
}

fn is_sound(output: &Output) -> bool {
    let sound = |values: &Values| match values {
        Values::Runs(values) => !values.is_empty() && values.iter().all(|value| value.is_finite()),
        Values::Distribution(runs) => !runs.is_empty(),
    };
    let mut names: Vec<_> = output.metrics.iter().map(|(name, _)| name).collect();
    names.sort();
    names.windows(2).all(|pair| pair[0] != pair[1])
        && output.metrics.iter().all(|(_, metric)| sound(&metric.values))
}

/// The pieces that are inserted into other outputs.
const PIECES: [&str; 14] = [
    "\n",
    "\t",
    "{",
    "\"",
    "}",
    ":",
    "-",
    "nan",
    "1e999",
    "18446744073709551615",
    "\u{1b}[2J",
    "#",
    "T:",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_output_is_read_or_refused(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..20, prop::sample::select(&PIECES[..])), 1..8),
    ) {
        let all = fixtures();
        let mut bytes = file.get(&all).1.clone();
        for (at, length, piece) in changes {
            let at = at.index(bytes.len() + 1);
            let end = bytes.len().min(at + length);
            bytes.splice(at..end, piece.bytes());
        }
        match metrics(&bytes, Clock::Wall) {
            Ok(output) => prop_assert!(is_sound(&output)),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn beginning_of_an_output_is_read_or_refused(file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let all = fixtures();
        let bytes = &file.get(&all).1;
        let cut = metrics(&bytes[..at.index(bytes.len() + 1)], Clock::Wall);
        prop_assert!(cut.as_ref().is_ok_and(is_sound) || cut.is_err(), "{cut:?}");
        let is_long = matches!(cut, Err(Error::Long { .. }));
        prop_assert!(!is_long);
    }
}
