// SPDX-License-Identifier: GPL-2.0-only
//! Studies by name, from anywhere, and with what the command line changes in them: as one tries a kernel of one's own.

use crate::harness::dyntick as program;
use crate::harness::{dyntick_in as dyntick, image_of, text};

/// On 6.1 a CPU with one task that spins has no tick; on 6.12 the fair server's, once a second.
const QUIET: &str = "title = 'quiet'\nquestion = 'Does it tick?'\n[[case]]\nname = 'quiet'\nkernel = 'debian:6.12'\n\
                     append = 'isolcpus=domain,1 nohz_full=1'\nsettle = '500ms'\nmeasure = '3s'\n\
                     task = [{ cpu = 1, run = 'spin' }]\n\
                     [[claim]]\ntext = 'It has no tick.'\ncheck = [{ case = 'quiet', figure = 'ticks', is = '< 1' }]\n";

#[test]
fn two_kernels_side_by_side_and_a_status_to_bisect_by() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("quiet.toml"), QUIET).unwrap();
    let run = |kernels: &[&str]| {
        let kernels = kernels.iter().flat_map(|kernel| ["--kernel", *kernel]);
        let words: Vec<&str> = ["lab", "run", "quiet.toml", "--full", "--fail-on", "not-reproduced"]
            .into_iter()
            .chain(kernels)
            .collect();
        dyntick(folder.path(), &words)
    };
    let both = run(&["debian:6.1", "debian:6.12"]);
    let told = text(&both.stdout);
    assert_eq!(both.status.code(), Some(1), "{told}{}", text(&both.stderr));
    let row = told.lines().find(|line| line.contains("ticks_per_s")).unwrap_or_else(|| panic!("{told}"));
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..3], ["quiet", "ticks_per_s", "0"], "{row}");
    assert!(cells[3].parse::<f64>().unwrap() > 0.5 && cells[4].starts_with('+'), "{row}");
    let short = "lab report quiet.toml --format mail --brief --kernel debian:6.1 --kernel debian:6.12";
    let mail = text(&dyntick(folder.path(), &short.split(' ').collect::<Vec<_>>()).stdout);
    let row = mail.lines().find(|line| line.contains("ticks 1/s")).unwrap_or_else(|| panic!("{mail}"));
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..3], ["ticks", "1/s", "0"], "{mail}");
    assert!(cells[4].starts_with('+') && mail.lines().count() <= 40 && mail.contains("difference"), "{mail}");
    assert!(mail.contains("isolcpus=domain,1 nohz_full=1"), "{mail}");
    let answer = text(
        &dyntick(folder.path(), &words("lab report quiet.toml --kernel debian:6.1 --kernel debian:6.12"))
            .stdout,
    );
    let differs = "“It has no tick” does not hold with debian:6.12, and holds with debian:6.1.";
    assert!(answer.split_whitespace().collect::<Vec<_>>().join(" ").contains(differs), "{answer}");
    assert!(answer.lines().count() <= 24 && answer.contains("out/quiet/report.html"), "{answer}");
    let good = run(&["debian:6.1"]);
    assert!(good.status.success(), "{}", text(&good.stderr));
    assert!(text(&good.stderr).contains("quiet/debian:6.1 (cached)"), "{}", text(&good.stderr));
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// A kernel that is replaced at its path is noticed by the runs of the one before.
#[test]
fn a_change_beside_earlier_runs_has_a_status() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("quiet.toml"), QUIET).unwrap();
    let run = |more: &str| {
        let line = format!("lab run quiet.toml --kernel mine=./bzImage --perturb 1 --jobs 2 {more}");
        dyntick(folder.path(), &words(&line))
    };
    assert!(dyntick(folder.path(), &words("lab shell --virtual -- true")).status.success());
    let old = "lab shell --virtual --kernel debian:6.1 -- true";
    assert!(dyntick(folder.path(), &words(old)).status.success());
    std::fs::copy(image_of("6.1"), folder.path().join("bzImage")).unwrap();
    assert!(run("--out first").status.success());
    let same = run("--out second --baseline first --ktap same.ktap");
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
    let ktap = std::fs::read_to_string(folder.path().join("same.ktap")).unwrap();
    assert_eq!(ktap, "KTAP version 1\n1..1\nok 1 quiet/mine\n");
    std::fs::copy(image_of("6.12"), folder.path().join("bzImage")).unwrap();
    let changed = run("--out third --baseline first --junit changed.xml");
    let said = text(&changed.stderr);
    assert_eq!(changed.status.code(), Some(1), "{said}");
    assert!(said.contains("dyntick: quiet/mine: ") && said.contains(" from "), "{said}");
    let xml = std::fs::read_to_string(folder.path().join("changed.xml")).unwrap();
    assert!(xml.contains("failures=\"1\"") && xml.contains("name=\"quiet/mine\"><failure"), "{xml}");
    let refused = run("--out first --baseline first");
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

/// Paths of one's own machine are no names of rows, and two images of one file name are told apart.
#[test]
fn kernels_by_path_have_names() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("quiet.toml"), QUIET).unwrap();
    let run = |line: &str| dyntick(folder.path(), &words(line));
    assert!(run("lab run quiet.toml --kernel debian:6.1 --set measure=200ms").status.success());
    let image = image_of("6.1");
    for tree in ["old", "new"] {
        std::fs::create_dir(folder.path().join(tree)).unwrap();
        std::fs::copy(&image, folder.path().join(tree).join("bzImage")).unwrap();
    }
    // The name of a file needs no path, and the file of a configuration is a side, too.
    let config = image.file_name().unwrap().to_string_lossy().replace("vmlinuz-", "config-");
    let side = folder.path().join("side");
    std::fs::create_dir(&side).unwrap();
    std::fs::copy(&image, side.join("bzImage")).unwrap();
    std::fs::copy(image.with_file_name(&config), side.join(&config)).unwrap();
    let diff = dyntick(&side, &["lab", "kernels", "diff", "bzImage", &config]);
    let told = text(&diff.stdout);
    assert!(told.starts_with("no difference in options\nthe same: HZ 250, "), "{told}{}", text(&diff.stderr));
    let named = "--kernel before=./old/bzImage --kernel after=./new/bzImage --set measure=200ms";
    let told = text(&run(&format!("lab run quiet.toml {named}")).stdout);
    assert!(told.contains("holds with before and with after") && told.lines().count() <= 24, "{told}");
    assert!(told.contains("kernel before") && told.contains("a file, SHA-256 "), "{told}");
    for format in ["terminal", "mail", "html"] {
        let told = text(&run(&format!("lab report quiet.toml --full --format {format} {named}")).stdout);
        assert!(told.contains("quiet: before, 6.1"), "{told}");
        let without_command = told.replace("old/bzImage", "").replace("new/bzImage", "");
        assert!(!without_command.contains("bzImage"), "{without_command}");
    }
    let apart = run("lab report quiet.toml --kernel ./old/bzImage --kernel ./new/bzImage");
    assert!(text(&apart.stderr).contains("has no run of this study's cases"), "{}", text(&apart.stderr));
    // Headers are what such a kernel does not have; the reason comes with all others.
    let idle =
        run("lab run quiet.toml --kernel ./old/bzImage --set machine=i7-10510u --set append=nohz_full=1");
    let told = text(&idle.stderr);
    assert!(idle.status.code() == Some(2) && told.contains("its headers are not installed here"), "{told}");
}

/// Whatever fails, an earlier report of runs that did not stays as it is.
#[test]
fn a_failing_run_replaces_no_earlier_report() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("quiet.toml"), QUIET).unwrap();
    let run = |more: &[&str]| dyntick(folder.path(), &[&["lab", "run", "quiet.toml"], more].concat());
    for (kernel, instead) in
        [("debian:6.13", "did you mean debian:6.12?"), ("./vmlinuz-6.13", "the nearest here are")]
    {
        std::fs::write(folder.path().join("vmlinuz-6.12"), "").unwrap();
        let output = run(&["--kernel", kernel]);
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{told}");
        assert!(told.contains(instead) && told.contains("no report was written"), "{told}");
        assert!(!folder.path().join("out").exists(), "{told}");
    }
    let earlier = folder.path().join("out/quiet/report.html");
    std::fs::create_dir_all(earlier.parent().unwrap()).unwrap();
    std::fs::write(&earlier, "of a complete run").unwrap();
    let output = run(&["--set", "timeout=1ms"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&earlier).unwrap(), "of a complete run");
    let told = text(&output.stdout);
    assert!(told.contains("out/quiet/report-incomplete.html (of an earlier, complete run: "), "{told}");
    let output = run(&["--case", "quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(&earlier).unwrap(), "of a complete run", "some cases are not all");
}

/// Everything that a study lacks is found before anything boots, and is reported once.
#[test]
fn what_a_study_lacks_is_told_before_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let without = QUIET.split("[[claim]]").next().unwrap();
    let two = format!(
        "{without}tools = ['no-such-tool', './mine']\n[[case]]\nname = 'b'\nkernel = 'debian:6.12'\n\
                       script = {{ cpu = 1, run = ['no-such-tool'] }}\n[[case]]\nname = 'c'\nkernel = 'debian:6.12'\n"
    );
    std::fs::write(folder.path().join("tools.toml"), two).unwrap();
    let run = |words: &[&str]| dyntick(folder.path(), &[&["lab", "run"], words].concat());
    let told = |words: &[&str], status: i32| {
        let output = run(words);
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(status), String::new()), "{told}");
        assert!(!folder.path().join("out").exists(), "{told}");
        told
    };
    let tools = told(&["tools.toml"], 2);
    assert_eq!(tools.lines().count(), 3, "{tools}");
    assert!(tools.contains("the tool 'no-such-tool' of quiet, b is not on this machine: "), "{tools}");
    assert!(tools.contains("(1 case needs no tool that is missing"), "{tools}");
    assert_eq!(told(&["tools.toml", "--bisect"], 128).lines().count(), 1, "it has no claim");
    let claims = told(&["tools.toml", "--fail-on", "cannot-tell"], 2);
    assert!(claims.starts_with("dyntick: --fail-on: this study has no [[claim]]"), "{claims}");
    let size = told(&["tools.toml", "--full-size"], 2);
    assert!(size.contains("no case of tools.toml has a full size"), "{size}");
    let twice = told(&["adaptive-ticks", "--kernel", "debian:6.12", "--kernel", "debian:6.12"], 2);
    assert!(
        twice.starts_with("dyntick: cannot use --kernel debian:6.12: another option has this value"),
        "{twice}"
    );
    told(&["adaptive-ticks", "--bisect", "--no-such-option"], 128);
    kernels_are_refused_by_their_texts(folder.path());
}

/// Nothing is asked for, fetched or compiled for a kernel that its texts make impossible.
fn kernels_are_refused_by_their_texts(folder: &std::path::Path) {
    let kernel = |name: &str, more: &str| {
        format!("[kernels.{name}]\nsource = 'debian:6.12'\nconfig = ['lab', 'no-hz-idle']\n{more}")
    };
    let study = format!(
        "title = 't'\nquestion = 'q'\n{}{}[[case]]\nname = 'x'\nkernel = 'a'\nappend = 'nohz_full=1'\n\
         [[case]]\nname = 'y'\nkernel = 'debian:6.12'\n",
        kernel("a", ""),
        kernel("b", "patches = ['./damaged.patch']\n")
    );
    std::fs::write(folder.join("kernels.toml"), study).unwrap();
    let damaged = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\nb\n";
    std::fs::write(folder.join("damaged.patch"), damaged).unwrap();
    let refused = |words: &[&str], reason: &str| {
        let output = dyntick(folder, words);
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{told}");
        assert!(told.contains(reason), "'{reason}' is missing in: {told}");
        let is_step = |line: &str| {
            ["asking", "fetching", "unpacking", "compiling"].iter().any(|step| line.contains(step))
        };
        assert!(!told.lines().any(is_step), "{told}");
        told
    };
    let run = refused(&["lab", "run", "kernels.toml"], "add \"no-hz-full\" to the config of [kernels.a]");
    assert!(
        run.ends_with(
            "nothing was run, and no report was written (1 case has another kernel: name it with --case)\n"
        ),
        "{run}"
    );
    let diff = ["lab", "kernels", "diff", "kernels.toml:a", "kernels.toml:b"];
    refused(&diff, "the patch ./damaged.patch");
    refused(&["lab", "build", "kernels.toml"], "damaged at line 5");
    let old = ["lab", "build", "--source", "debian:6.1", "--config", "lab,preempt-rt"];
    refused(&old, "preempt-rt.config:4: CONFIG_PREEMPT_RT=y needs Linux 6.12 or newer");
}

/// A kernel that does not know a setting is neither good nor bad.
#[test]
fn a_setting_that_the_guest_refuses_is_wrong_input_and_skipped_by_git() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("quiet.toml"), QUIET).unwrap();
    for (more, status) in [(None, 2), (Some("--bisect"), 125)] {
        let words = ["lab", "run", "quiet.toml", "--set", "sysctl.vm.stat_intervall=60"];
        let output = dyntick(folder.path(), &words.into_iter().chain(more).collect::<Vec<_>>());
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(status), String::new()), "{told}");
        assert_eq!(told.matches("did you mean 'stat_interval'?").count(), 1, "{told}");
    }
}

#[test]
fn a_study_that_comes_with_dyntick_needs_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let shown = dyntick(folder.path(), &["lab", "studies", "adaptive-ticks"]);
    assert_eq!(text(&shown.stdout), include_str!("../../../../studies/adaptive-ticks.toml"));
    let told = |words: &[&str]| text(&dyntick(folder.path(), words).stderr);
    let none = told(&["lab", "report", "adaptive-ticks"]);
    assert!(none.ends_with("to run them: dyntick lab run adaptive-ticks\n"), "{none}");
    let no_case = told(&["lab", "run", "adaptive-ticks", "--case", "x"]);
    assert!(no_case.contains("the study has no case 'x'; it has "), "{no_case}");
    let wrong = dyntick(folder.path(), &["lab", "run", "adaptive-ticks", "--set", "cpus=0"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(text(&wrong.stderr), "--set cpus=0: cpus: 0 is not from 1 to 8192\n");
}

#[test]
fn who_only_looks_makes_no_cache() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    for words in [&["lab", "studies"][..], &["lab", "doctor"], &["lab", "report", "adaptive-ticks"]] {
        let mut command = program();
        command.args(words).env("DYNTICK_CACHE", &cache).current_dir(folder.path()).output().unwrap();
        assert!(!cache.exists(), "{words:?}");
    }
}

/// The script of a step of the workflow in contrib.
fn step(name: &str) -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/github-workflow.yml");
    let workflow = std::fs::read_to_string(file).unwrap();
    let (_, step) = workflow.split_once(&format!("- name: {name}\n")).unwrap();
    let (_, script) = step.split_once("run: |\n").unwrap();
    script.lines().take_while(|line| line.starts_with("          ")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_workflow_finds_a_change_of_its_kernel() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("quiet.toml"), QUIET).unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(crate::harness::binary(), bin.join("dyntick")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    // As GitHub's runners run a script.
    let run = |script: &str| {
        let mut bash = std::process::Command::new("bash");
        bash.args(["-e", "-c", script]).current_dir(folder.path()).env("PATH", &path);
        bash.env("STUDY", "quiet.toml").env("KERNEL", "./bzImage").env("GITHUB_ACTIONS", "true");
        let output = bash.output().unwrap();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (study, keep) = (step("Run the study"), step("Make the runs the baseline"));
    for kernel in ["debian:6.1", "debian:6.12"] {
        let fetched =
            dyntick(folder.path(), &words(&format!("lab shell --virtual --kernel {kernel} -- true")));
        assert!(fetched.status.success());
    }
    std::fs::copy(image_of("6.1"), folder.path().join("bzImage")).unwrap();
    let (status, told) = run(&study);
    assert_eq!(status, Some(0), "{told}");
    assert_eq!(run(&keep).0, Some(0));
    std::fs::remove_dir_all(folder.path().join("runs")).unwrap();
    let (status, told) = run(&study);
    assert_eq!(status, Some(0), "nothing changed: {told}");
    std::fs::remove_dir_all(folder.path().join("runs")).unwrap();
    std::fs::copy(image_of("6.12"), folder.path().join("bzImage")).unwrap();
    let (status, told) = run(&study);
    assert_eq!(status, Some(1), "{told}");
    assert!(told.contains("::error title=quiet/mine::"), "{told}");
    let xml = std::fs::read_to_string(folder.path().join("changes.xml")).unwrap();
    assert!(xml.contains("failures=\"1\""), "{xml}");
}
