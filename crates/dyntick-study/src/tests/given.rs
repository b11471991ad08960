// SPDX-License-Identifier: GPL-2.0-only
//! The settings of the command line in a study's cases.

use crate::{Given, Size, Study, parse};
use std::path::Path;

const STUDY: &str = "title='t'\nquestion='q'\n[defaults]\nkernel='debian:6.12'\nappend='quiet'\n[matrix]\n\
                     kernel=['debian:6.1','debian:6.12']\n[[case]]\nname='a'\n[[case]]\nname='b'\ncpus=3\n\
                     [case.full-size]\nappend='nohz_full=1'\n\
                     [[claim]]\ntext='of any'\ncheck=[{case='a',figure='ticks',is='> 0'}]\n\
                     [[claim]]\ntext='of 6.1'\ncheck=[{case='a/debian:6.1',figure='ticks',is='> 0'}]\n";

fn read(size: Size, given: impl FnOnce(&mut Given)) -> Result<(Study, usize), String> {
    let mut all = Given::default();
    given(&mut all);
    parse::given(Path::new("s.toml"), STUDY, size, &all).map_err(|problems| problems.to_string())
}

fn ids(study: &Study) -> Vec<&str> {
    study.cases.iter().map(|case| case.id.as_str()).collect()
}

#[test]
fn a_kernel_takes_the_place_of_the_matrix() {
    let (study, left_out) = read(Size::Scaled, |given| given.kernel("./bzImage", "/src/bzImage")).unwrap();
    assert_eq!(ids(&study), ["a/bzImage", "b/bzImage"]);
    assert!(study.cases.iter().all(|case| case.kernel == "/src/bzImage"));
    let claims: Vec<&str> = study.claims.iter().map(|claim| claim.text.as_str()).collect();
    assert_eq!((claims, left_out), (vec!["of any"], 1), "6.1 was not run");
    let (same, left_out) = read(Size::Scaled, |given| given.kernel("debian:6.1", "debian:6.1")).unwrap();
    let plain = parse::study(Path::new("s.toml"), STUDY, Size::Scaled).unwrap();
    assert_eq!(
        (same.cases[0].clone(), left_out),
        (plain.cases[0].clone(), 0),
        "its runs are the study's own"
    );
}

#[test]
fn what_is_given_twice_is_run_both_ways() {
    let (study, _) = read(Size::Scaled, |given| {
        given.text("--append", "append", "");
        given.text("--append", "append", "nohz_full=1");
    })
    .unwrap();
    let of_a: Vec<String> = study.select("a/debian:6.1").map(|case| case.append.to_string()).collect();
    assert_eq!(of_a, ["quiet", "quiet nohz_full=1"]);
    assert_eq!(study.compared.unwrap().levels, ["append=", "append=nohz_full=1"]);
    assert_eq!(study.claims.len(), 2, "they are of both");
}

#[test]
fn what_is_set_is_stronger_than_the_full_size_and_is_added_to_its_command_line() {
    let (study, _) = read(Size::Full, |given| {
        given.set("cpus=4").unwrap();
        given.set("sysctl.vm.stat_interval=60").unwrap();
        given.text("--append", "append", "nosmt");
    })
    .unwrap();
    let case = study.case("b/debian:6.12").unwrap();
    assert_eq!((case.cpus, case.append.to_string().as_str()), (4, "nohz_full=1 nosmt"));
    assert_eq!(case.sysctl["vm.stat_interval"], "60");
}

#[test]
fn problem_is_reported_with_its_flag() {
    let message = |word: &str| read(Size::Scaled, |given| given.set(word).unwrap()).unwrap_err();
    assert_eq!(message("cpu=4"), "--set cpu=4: unknown key 'cpu' in the command line; did you mean 'cpus'?");
    assert_eq!(message("cpus=x"), "--set cpus=x: 'cpus' must be an integer, not a string");
    assert_eq!(message("cpus=9999"), "--set cpus=9999: cpus: 9999 is not from 1 to 8192");
    assert_eq!(
        message("repeat=5"),
        "--set repeat=5: repeat: virtual time repeats to the bit; repeat on clock = \"wall\""
    );
    let message = read(Size::Scaled, |given| given.kernel("6.12", "6.12")).unwrap_err();
    assert!(
        message.starts_with("--kernel 6.12: kernel: '6.12' is not a kernel: write debian:6.1,"),
        "{message}"
    );
    let message = read(Size::Scaled, |given| {
        given.set("cpus=2").unwrap();
        given.set("measured-cpus=7").unwrap();
    });
    assert!(message.unwrap_err().starts_with("--set measured-cpus=7: measured-cpus has CPU 7"));
}

/// Only a kernel of the user's own may have a parameter that is like a known one.
#[test]
fn a_misspelt_parameter_is_refused_but_for_a_patched_kernel() {
    let misspelt = |given: &mut Given| given.text("--append nohz_ful=1", "append", "nohz_ful=1");
    let error = read(Size::Scaled, misspelt).unwrap_err();
    let expected = "--append nohz_ful=1: append: 'nohz_ful=1' is not a kernel parameter: 'nohz_full' was \
                    probably meant";
    assert!(error.contains(expected), "{error}");
    let patched = read(Size::Scaled, |given| {
        misspelt(given);
        given.kernel("./bzImage", "/src/bzImage");
    });
    assert_eq!(patched.unwrap().0.cases[0].append.to_string(), "quiet nohz_ful=1");
    let shell = read(Size::Scaled, |given| {
        misspelt(given);
        given.allow_any_parameter();
    });
    assert_eq!(shell.unwrap().0.cases[0].kernel, "debian:6.1");
}

#[test]
fn settings_are_checked_in_the_named_cases_only() {
    let only = |name: &str| {
        let mut given = Given::default();
        given.set("measured-cpus=2").unwrap();
        given.only(&[name.to_owned()]);
        let read = parse::given(Path::new("s.toml"), STUDY, Size::Scaled, &given);
        let (mut study, _) = read.map_err(|problems| problems.to_string())?;
        study.keep_named(&given, "s.toml").map_err(|error| error.to_string())?;
        Ok::<_, String>(ids(&study).join(" "))
    };
    assert_eq!(only("b").unwrap(), "b/debian:6.1 b/debian:6.12");
    assert_eq!(only("b/debian:6.12").unwrap(), "b/debian:6.12");
    assert!(only("a").unwrap_err().starts_with("--set measured-cpus=2: measured-cpus has CPU 2"));
    assert!(only("x").unwrap_err().starts_with("the study has no case 'x'; it has a/debian:6.1, "));
}
