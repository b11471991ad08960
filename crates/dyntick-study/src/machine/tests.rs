// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use std::path::Path;

/// The problems of a text, a line each, without the path.
fn problems(text: &str) -> String {
    let error = parse::machine(Path::new("m.toml"), text).unwrap_err();
    error.to_string().replace("m.toml:", "")
}

const HEAD: &str = r#"title = "A machine"
cores = 4
[sources]
sheet = "a data sheet"
[active]
watts = 4
basis = "measured"
source = "sheet"
[uncore]
watts = 20
basis = "measured"
source = "sheet"
"#;

fn state(name: &str, latency: &str, residency: &str, watts: f64) -> String {
    format!(
        "[[state]]\nname = \"{name}\"\nexit-latency = \"{latency}\"\ntarget-residency = \"{residency}\"\n\
         source = \"sheet\"\n[state.power]\nwatts = {watts}\nbasis = \"measured\"\nsource = \"sheet\"\n"
    )
}

#[test]
fn every_shipped_machine_can_be_read() {
    for name in names() {
        let machine = find(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(machine.name, name);
        assert!(machine.idle.states.len() >= 2, "{name}");
        assert!(machine.active.watts >= machine.idle.states[0].power.watts, "{name}");
        assert!(
            machine.sources.keys().all(|key| is_used(&machine, key)),
            "{name} names a source for nothing"
        );
    }
    assert_eq!(names().len(), 11);
}

/// Returns true if a figure is from this source, or a remark refers to it.
fn is_used(machine: &Machine, key: &str) -> bool {
    let json = serde_json::to_string(machine).unwrap();
    json.contains(&format!("\"source\":\"{key}\"")) || json.contains(&format!("({key})"))
}

/// The names, exit latencies and target residencies (us) of `drivers/idle/intel_idle.c` in 6.12.117.
#[test]
fn the_tables_are_the_kernels() {
    let table = |name: &str| -> Vec<(String, u64, u64)> {
        let states = find(name).unwrap().idle.states;
        states
            .into_iter()
            .map(|state| (state.name, state.exit_latency_ns / 1000, state.target_residency_ns / 1000))
            .collect()
    };
    let is = |name: &str, states: &[(&str, u64, u64)]| {
        let states: Vec<_> = states.iter().map(|(n, l, r)| ((*n).to_owned(), *l, *r)).collect();
        assert_eq!(table(name), states, "{name}");
    };
    is("sapphire-rapids", &[("POLL", 0, 0), ("C1", 1, 1), ("C1E", 2, 4), ("C6", 290, 800)]);
    // As `spr_idle_state_table_update` and `skx_idle_state_table_update` have it.
    is("sapphire-rapids-no-pc6", &[("POLL", 0, 0), ("C1", 1, 1), ("C1E", 2, 4), ("C6", 190, 600)]);
    is("skylake-server-no-pc6", &[("POLL", 0, 0), ("C1", 2, 2), ("C1E", 10, 20), ("C6", 92, 276)]);
    is("ice-lake-server", &[("POLL", 0, 0), ("C1", 1, 1), ("C1E", 4, 4), ("C6", 170, 600)]);
    is("skylake-server", &[("POLL", 0, 0), ("C1", 2, 2), ("C1E", 10, 20), ("C6", 133, 600)]);
    is(
        "granite-rapids",
        &[("POLL", 0, 0), ("C1", 1, 1), ("C1E", 4, 4), ("C6", 170, 650), ("C6P", 210, 1000)],
    );
    // The states that the firmware of two machines reports to the kernel.
    is("epyc-genoa", &[("POLL", 0, 0), ("C1", 1, 2), ("C2", 800, 1600)]);
    is("epyc-turin", &[("POLL", 0, 0), ("C1", 1, 2), ("C2", 100, 200)]);
    let client = table("i7-10510u");
    assert_eq!(client.len(), 9);
    assert_eq!(client[8], ("C10".to_owned(), 890, 5000));
}

#[test]
fn a_machine_is_found_by_name_or_by_path() {
    let words = find("saphire-rapids").unwrap_err().to_string();
    assert!(words.ends_with("did you mean 'sapphire-rapids'?"), "{words}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, HEAD.to_owned() + &state("C1", "1us", "2us", 1.0)).unwrap();
    let machine = find(path.to_str().unwrap()).unwrap();
    assert_eq!((machine.name.as_str(), machine.idle.states[0].target_residency_ns), ("mine", 2000));
    assert!(find("./absent.toml").unwrap_err().to_string().contains("cannot read ./absent.toml"));
    let endless = find("/dev/zero").unwrap_err().to_string();
    assert!(endless.contains("it is a device, but a regular file is required"), "{endless}");
}

#[test]
fn all_problems_are_reported_with_their_places() {
    let text = HEAD.to_owned()
        + &state("C6", "133us", "600us", 0.1)
        + &state("C1", "2us", "2us", 1.4)
        + &state("C3", "100us", "20us", 0.05)
        + "[[package-state]]\nname = \"PC6\"\nneeds = \"C7\"\nexit-latency = \"1us\"\ncore-exit-latency = \"2us\"\n\
           source = \"paper\"\nwhat = 1\n[package-state.power]\nwatts = 3\nlow = 4\nhigh = 2\nbasis = \"guessed\"\nsource = \"sheet\"\n";
    insta::assert_snapshot!(problems(&text));
}

#[test]
fn what_lacks() {
    insta::assert_snapshot!(problems(
        "[[state]]\nname = \"a name that is too long\"\n[active]\nwatts = 1\nbasis = \"estimated\"\n"
    ));
}

#[test]
fn a_distribution_rises_from_nothing_to_all() {
    let words = |quantiles: &str| {
        let measured = format!(
            "[state.measured]\nexit-latency = \"2us\"\nsource = \"sheet\"\nremark = \"r\"\nquantiles = {quantiles}\n"
        );
        parse::machine(Path::new("m.toml"), &(HEAD.to_owned() + &state("C1", "2us", "2us", 1.0) + &measured))
            .map(|machine| machine.idle.states[0].measured.clone().unwrap().quantiles)
            .map_err(|problems| problems.problems[0].message.clone())
    };
    let points = words("[[0, \"1us\"], [99.9, \"2us\"], [100, \"3us\"]]").unwrap();
    assert_eq!(points[1], dyntick_model::Quantile { millionths: 999_000, ns: 2000 });
    let falls = "quantiles: they must rise from [0, …] to [100, …], in percent and in time";
    for wrong in [
        "[]",
        "[[0, \"1us\"]]",
        "[[1, \"1us\"], [100, \"2us\"]]",
        "[[0, \"2us\"], [100, \"1us\"]]",
        "[[0, \"1us\"], [0, \"1us\"], [100, \"2us\"]]",
    ] {
        assert_eq!(words(wrong).unwrap_err(), falls, "{wrong}");
    }
    assert_eq!(words("[[0], [100, \"2us\"]]").unwrap_err(), "quantiles: a point is [PERCENT, \"TIME\"]");
    assert!(words("[[0, \"1us\"], [101, \"2us\"]]").unwrap_err().contains("101 is not from 0 to 100"));
}

#[test]
fn exits_without_a_measurement_are_refused() {
    let machine = find("ice-lake-server").unwrap();
    assert!(exits::refuse(&machine, dyntick_model::Exit::Table).is_ok());
    let words = exits::refuse(&machine, dyntick_model::Exit::Distribution).unwrap_err();
    assert!(
        words.starts_with("no state of the machine ice-lake-server has quantiles in [state.measured]"),
        "{words}"
    );
}

#[test]
fn more_states_than_the_kernel_has() {
    let states: String =
        (0..11).map(|n| state(&format!("C{n}"), &format!("{n}us"), &format!("{n}us"), 1.0)).collect();
    assert!(problems(&(HEAD.to_owned() + &states)).ends_with("at most 10 idle states (CPUIDLE_STATE_MAX)"));
}
