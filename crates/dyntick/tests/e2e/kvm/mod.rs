// SPDX-License-Identifier: GPL-2.0-only
//! The wall clock on KVM, in a machine that has one: emulated, so that it is there wherever these tests run. Each guest
//! takes half a minute, so it is not part of `make test`: run it by `make test-kvm`.

mod outer;

use crate::harness::binary;
use dyntick_kernels::cache::Cache;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Runs that can differ beyond chance: of three on each side none can.
const REPEAT: usize = 4;

/// The share of the window that a guest's CPU may lack before nothing is claimed of it.
const MOST_STOLEN: f64 = 0.01;

fn study(kernel: &str, cases: &str) -> String {
    format!(
        "title = 'kvm'\nquestion = 'Does it tick?'\n[defaults]\nclock = 'wall'\nkernel = '{kernel}'\nsettle = '500ms'\n\
         measure = '2s'\ntask = [{{ cpu = 1, run = 'spin' }}]\n{cases}"
    )
}

fn spin(append: &str, claimed: &str) -> String {
    format!(
        "[[case]]\nname = 'spin'\nrepeat = {REPEAT}\nappend = '{append}'\n\
         [[claim]]\ntext = 'ticks'\ncheck = [{{ case = 'spin', figure = 'ticks_per_s', is = '{claimed}' }}]\n"
    )
}

const FAILING: &str = "[[case]]\nname = 'panics'\nwrite = { '/proc/sysrq-trigger' = 'c' }\n\
                       [[case]]\nname = 'hangs'\ntimeout = '1s'\n";

const BUSY: &str = "[[case]]\nname = 'busy'\n\
                    [[claim]]\ntext = 'ticks'\ncheck = [{ case = 'busy', figure = 'ticks_per_s', is = '> 1' }]\n";

/// The files that the machine left.
struct Left(PathBuf);

impl Left {
    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The status of a step, and all that it said where that is another than this.
    fn ended(&self, step: &str, status: i32) {
        let code: i32 = self.text(&format!("{step}.status")).trim().parse().unwrap();
        let said = || [".out", ".err"].map(|stream| self.text(&(step.to_owned() + stream))).concat();
        assert_eq!(code, status, "{step}: {}", said());
    }

    fn json(&self, step: &str) -> Value {
        let text = self.text(&format!("{step}.out"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{step}: {error}: {text}"))
    }

    /// The folders of a study's runs.
    fn runs(&self, study: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.0.join(study).join("runs")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

fn runs<'j>(json: &'j Value, case: &str) -> Vec<&'j Value> {
    json["runs"].as_array().unwrap().iter().filter(|run| run["case"] == case).collect()
}

/// The steal time of the measured CPU, ns.
fn stolen(run: &Value) -> f64 {
    let rows = run["observations"].as_array().unwrap();
    let row = rows.iter().find(|row| row["figure"] == "stolen_ns" && row["cpu"] == 1);
    row.unwrap_or_else(|| panic!("nothing is known of what was stolen: {rows:?}"))["value"].as_f64().unwrap()
}

/// The same as a share of the window.
fn share_stolen(run: &Value) -> f64 {
    let [begin, end] = [0, 1].map(|which| run["outcome"]["window_ns"][which].as_f64().unwrap());
    stolen(run) / (end - begin)
}

#[test]
#[ignore = "emulates a machine with KVM: make test-kvm"]
fn the_wall_clock_on_kvm() {
    let binary = binary();
    let dyntick = Path::new(&binary).canonicalize().unwrap();
    let cache = Cache::of_user().unwrap();
    let kernel = outer::kernel(&cache);
    // By its release it is taken from the cache, and no apt is asked each time.
    let spec = format!("debian:{}", kernel.release);
    let folder = tempfile::tempdir().unwrap();
    for (name, cases) in [
        ("ticking", spin("", "> 50") + FAILING),
        ("quiet", spin("nohz_full=1", "< 50")),
        ("killed", "[[case]]\nname = 'killed'\n".to_owned()),
        ("busy", BUSY.to_owned()),
    ] {
        std::fs::write(folder.path().join(format!("{name}.toml")), study(&spec, &cases)).unwrap();
    }
    outer::run(&cache, &kernel, &dyntick, folder.path());

    let left = Left(folder.path().to_owned());
    doctor_says_yes(&left);
    runs_are_on_kvm_and_told(&left, &kernel.release.to_string());
    guests_fail_alone(&left);
    claims_and_repeats_are_judged(&left);
    what_is_killed_leaves_nothing(&left);
    what_a_busy_host_takes_is_seen(&left);
}

fn doctor_says_yes(left: &Left) {
    left.ended("doctor", 0);
    let checks = left.json("doctor");
    let kvm = checks["checks"].as_array().unwrap().iter().find(|check| check["what"] == "KVM").unwrap();
    assert_eq!(kvm["state"], "ok", "{kvm}");
    assert_eq!(kvm["detail"], "a stock guest boots under KVM");
}

fn runs_are_on_kvm_and_told(left: &Left, release: &str) {
    for study in ["ticking", "quiet"] {
        let runs = left.runs(study);
        assert_eq!(runs.len(), REPEAT, "{runs:?}");
        for run in runs {
            let asked = std::fs::read_to_string(run.join("run.toml")).unwrap();
            assert!(asked.contains("accelerator = \"kvm\"\n"), "{asked}");
            assert!(asked.contains("[host]\nprocessor = \"QEMU TCG CPU"), "{asked}");
        }
    }
    left.ended("report", 0);
    let report = left.text("report.out").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("hardware virtualisation (KVM)"), "{report}");
    let machine = format!("{} CPUs, Linux {release}, itself a virtual machine", outer::CPUS);
    assert!(report.contains(&machine), "{report}");
}

fn guests_fail_alone(left: &Left) {
    left.ended("ticking", 1);
    left.ended("quiet", 0);
    let json = left.json("ticking");
    let failure = |case: &str| match runs(&json, case)[..] {
        [run] => run["failure"].as_str().unwrap_or_else(|| panic!("{case} did not fail: {run}")).to_owned(),
        ref all => panic!("{} runs of {case}", all.len()),
    };
    assert_eq!(failure("panics"), "the guest's kernel panicked: sysrq triggered crash");
    assert!(failure("hangs").contains("had not finished after 1s"), "{}", failure("hangs"));
    assert!(runs(&json, "spin").iter().all(|run| run["failure"].is_null()), "{json}");
}

fn claims_and_repeats_are_judged(left: &Left) {
    for study in ["ticking", "quiet"] {
        let json = left.json(study);
        let spins = runs(&json, "spin");
        assert_eq!(spins.len(), REPEAT, "{json}");
        // The machine under this one may be busy; a claim then must not be judged.
        let taken: Vec<f64> = spins.iter().map(|run| share_stolen(run)).collect();
        let is_busy = taken.iter().any(|share| *share > MOST_STOLEN);
        let (verdict, wanted) = (&json["verdicts"][0], if is_busy { "cannot-tell" } else { "reproduced" });
        eprintln!("{study}: {taken:?} of the window stolen, so {wanted}");
        assert_eq!(verdict["rulings"][0][1], wanted, "{verdict}");
    }
    left.ended("compare", 0);
    let rows = left.json("compare");
    let row = &rows["rows"][0];
    assert_eq!(row["outcome"]["runs"]["verdict"], "better", "{rows}");
}

fn what_is_killed_leaves_nothing(left: &Left) {
    assert_eq!(left.text("killed.status").trim(), "137", "killed by SIGKILL");
    assert_ne!(left.text("guests-before"), "", "it had a guest");
    assert_eq!(left.text("guests-after"), "", "which outlived it");
    assert!(left.text("left-before").starts_with(".running-"), "{}", left.text("left-before"));
    left.ended("again", 0);
    let after = left.text("left-after");
    assert!(after.lines().count() == 1 && after.starts_with("killed."), "{after}");
}

fn what_a_busy_host_takes_is_seen(left: &Left) {
    left.ended("busy", 0);
    let json = left.json("busy");
    let run = runs(&json, "busy")[0];
    assert!(share_stolen(run) > MOST_STOLEN, "{} ns, beside a loop on each CPU", stolen(run));
    assert!(json.to_string().contains("the host ran something else for"), "{json}");
    let kept = std::fs::read_to_string(left.runs("busy")[0].join("stolen.json")).unwrap();
    let kept: std::collections::BTreeMap<u32, u64> = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept[&1] as f64, stolen(run), "{kept:?}");
}
