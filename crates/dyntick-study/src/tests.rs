// SPDX-License-Identifier: GPL-2.0-only
//! Complete study files: the shipped ones, wrong ones, and arbitrary text.

mod given;

use super::keys::study::CASE;
use super::{Case, Size, parse};
use dyntick_guest::{Policy, Work};
use dyntick_model::Clock;
use proptest::prelude::*;
use std::path::Path;

const ADAPTIVE_TICKS: &str = include_str!("../../../studies/adaptive-ticks.toml");
const CHAPTER: &str = include_str!("../../../docs/src/studies.md");

fn problems(text: &str) -> String {
    parse::study(Path::new("studies/x.toml"), text, Size::Scaled).expect_err("the study is wrong").to_string()
}

fn cases(text: &str) -> Vec<Case> {
    let head = "title = 't'\nquestion = 'q'\n";
    let study = parse::study(Path::new("x.toml"), &format!("{head}{text}"), Size::Scaled);
    study.unwrap_or_else(|problems| panic!("{problems}")).cases
}

fn ids(text: &str) -> Vec<String> {
    cases(text).into_iter().map(|case| case.id).collect()
}

#[test]
fn figures_of_idle_states_need_a_machine() {
    let study = |machine: &str| {
        format!(
            "title = 't'\nquestion = 'q'\n{machine}[[case]]\nname = 'a'\nkernel = 'debian:6.12'\n[[claim]]\ntext = 'c'\n\
             check = [{{ case = 'a', figure = 'idle:C6:usage', is = '> 0' }}]\n"
        )
    };
    assert!(
        problems(&study("")).contains("'idle:C6:usage' needs idle states, and the case 'a' has no machine")
    );
    let right = study("[machine]\nprofile = 'sapphire-rapids'\n");
    parse::study(Path::new("x.toml"), &right, Size::Scaled).unwrap();
}

#[test]
fn all_mistakes_are_reported_with_their_places() {
    let text = r#"title = "Wrong"
questoin = "?"

[defaults]
kernel = "debian-6.12"
settle = "2 parsecs"
cpus   = "two"

[defaults.sysctl]
"vm.stat_interval" = true
swappiness = 1

[[case]]
name = "a"
isolcpu = "1"
measured-cpus = "1-"
task = [{ cpu = "5", run = "spinn" }, { cpu = "5", policy = "fifo:0", run = "spin" }, { cpu = 7, run = "spin" }]

[[case]]
name = "a"
repeat = 3
memory = "1M"

[[case]]
title = "nameless"
[case.matrix]
kernal = ["debian:6.1"]
cpus = []
clock = [["wall"]]

[[claim]]
text = "One"
check = [
  { case = "aa", figure = "ticks", is = "<= 2" },
  { case = "a", figure = "tiks_per_s", is = "about 2" },
  { case = "a", figure = "script_s", is = "< 1" },
  { case = "a", figure = "ticks" },
]

[[claim]]
text = "Neither checked nor out of reach"

[published]
source = "somebody"
figures = [{ label = "l", value = 12.40, unit = "s", case = "b", figure = "ticks" }]
"#;
    insta::assert_snapshot!(problems(text));
}

#[test]
fn a_case_names_a_kernel_that_the_study_has_made_to_order() {
    let text = r#"
[kernels.full]
source  = "debian:6.12"
config  = ["lab", "./mine.config"]
patches = "tick-stop-fast-path"
[[case]]
name = "a"
[case.matrix]
kernel = ["full", "debian:6.12"]
"#;
    let head = "title = 't'\nquestion = 'q'\n";
    let study = parse::study(Path::new("studies/x.toml"), &format!("{head}{text}"), Size::Scaled).unwrap();
    let recipe = study.kernels["full"].clone();
    assert_eq!(recipe.config, ["lab", "studies/./mine.config"]);
    assert_eq!(recipe.patches, ["tick-stop-fast-path"]);
    let of_cases: Vec<_> = study.cases.into_iter().map(|case| (case.id, case.recipe)).collect();
    assert_eq!(of_cases, [("a/full".into(), Some(recipe)), ("a/debian:6.12".into(), None)]);
}

#[test]
fn kernel_that_cannot_be_built_is_reported_with_its_place() {
    let text = r#"title = "t"
question = "q"
[kernels.full]
sources = "debian:6.12"
config  = ["lab", "no-hz-ful"]
[kernels.host]
source = "linux"
config = 7
patches = ["fast-path"]
[[case]]
name = "a"
kernel = "ful"
"#;
    insta::assert_snapshot!(problems(text));
}

#[test]
fn syntax_errors_are_reported_together() {
    insta::assert_snapshot!(problems("title = \nquestion = 'q'\n[[case]\nname = 'ä' x\n"), @r"
    studies/x.toml:1:9: string values must be quoted, expected literal string
    studies/x.toml:3:8: unclosed array table, expected `]`
    studies/x.toml:4:12: unexpected key or value, expected newline, `#`
    ");
}

/// Prints problems with their lines, as `lab run` does: every one begins with its position.
#[test]
fn mistakes_are_shown_in_their_lines() {
    let text = "title = \"Wrong\"\nquestion = '?'\n[defaults]\nkernel = \"debian-6.12\"\nsettle = \"2 parsecs\"\n\
        description = \"\"\"\na\"\"\"\n[[case]]\nname = \"a\"\ntask = [{ cpu = 7, run = \"spin\" }]\n[[case]]\ncpus = \"two\" # 2\n";
    let problems = parse::study(Path::new("studies/x.toml"), text, Size::Scaled).unwrap_err();
    insta::assert_snapshot!(problems.annotated());
    let syntax = parse::study(Path::new("x.toml"), "title = \n[[case]\nname = 'ä' x\n", Size::Scaled);
    insta::assert_snapshot!(syntax.unwrap_err().annotated());
}

#[test]
fn matrices_expand_in_the_order_of_the_file() {
    let study = "[matrix]\nkernel = ['debian:6.1', 'debian:6.12']\n\
                 [[case]]\nname = 'a'\n\
                 [[case]]\nname = 'b'\n[case.matrix]\ncpus = [2, 4]\nkernel = ['/boot/vmlinuz-6.1']\n";
    assert_eq!(ids(study), ["a/debian:6.1", "a/debian:6.12", "b/vmlinuz-6.1/2", "b/vmlinuz-6.1/4"]);
}

#[test]
fn an_axis_of_its_own_name_sets_several_keys() {
    let cases = cases(
        "[defaults]\nkernel = 'debian:6.12'\nappend = 'quiet'\nsysctl = { 'vm.stat_interval' = 1, 'vm.swappiness' = 0 }\n\
         [[case]]\nname = 'a'\nappend = 'nohz_full=1'\n\
         [[case.matrix.noise]]\nlabel = 'normal'\n\
         [[case.matrix.noise]]\nlabel = 'low'\nappend = 'nosoftlockup'\nsysctl = { 'vm.stat_interval' = 60 }\n\
         task = [{ cpu = 1, policy = 'fifo:50', run = ['stress-ng', '--cpu', '1'] }]\n",
    );
    let [normal, low] = &cases[..] else { panic!("{cases:?}") };
    assert_eq!((normal.id.as_str(), normal.append.to_string().as_str()), ("a/normal", "quiet nohz_full=1"));
    assert_eq!(
        (low.slug().as_str(), low.append.to_string().as_str()),
        ("a-low", "quiet nohz_full=1 nosoftlockup")
    );
    assert_eq!((&*low.sysctl["vm.stat_interval"], &*low.sysctl["vm.swappiness"]), ("60", "0"));
    assert_eq!(low.tasks[0].policy, Policy::Fifo(50));
    assert!(matches!(&low.tasks[0].work, Work::Tool(words) if words.len() == 3));
    assert_eq!(low.tools, ["stress-ng"], "what a case starts is in its guest");
    assert!(normal.tools.is_empty());
}

#[test]
fn negative_settings_are_settings() {
    let cases = cases("[[case]]\nname='a'\nkernel='host'\nsysctl={ 'kernel.sched_rt_runtime_us' = -1 }\n");
    assert_eq!(cases[0].sysctl["kernel.sched_rt_runtime_us"], "-1");
}

#[test]
fn files_that_a_case_reads() {
    let head = "title='t'\nquestion='q'\n[[case]]\nname='a'\nkernel='host'\n";
    let claim = |figure: &str, rest: &str| {
        format!("[[claim]]\ntext='c'\ncheck=[{{case='a',figure='{figure}',is='< 1'{rest}}}]\n")
    };
    let right = format!("{head}read=['/proc/softirqs']\n{}", claim("file:softirqs:RCU", ""));
    let study = parse::study(Path::new("x.toml"), &right, Size::Scaled)
        .unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(study.cases[0].read, ["/proc/softirqs"]);
    let answer = |text: &str, word: &str| {
        let message = problems(&format!("{head}{text}"));
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains(word), "{message}");
    };
    answer("read=['softirqs']\n", "'softirqs' is not a file of the kernel");
    answer("read=['/proc/../etc/passwd']\n", "not a file of the kernel");
    answer("read=['/proc/']\n", "not a file of the kernel");
    answer("read=['/sys/kernel/tracing/trace_pipe']\n", "never ends");
    answer("read=['/proc/vmstat','/sys/devices/system/node/node0/vmstat']\n", "the same file name");
    answer(&claim("file:softirqs:RCU", ""), "the case 'a' reads no file named 'softirqs'");
    answer("trace-cpus='0'\n", "trace-cpus leaves out CPU 1, which is measured");
    answer("trace-cpus='1-2'\n", "has CPU 2");
    answer(&format!("trace-cpus='1'\n{}", claim("softirq:RCU", ",cpu=0")), "records none of CPU 0");
    answer(
        &claim("window_ns", ",cpu=1"),
        "studies/x.toml:8:50: cpu: 'window_ns' has no value for one CPU: remove cpu",
    );
    let counted = format!("{head}trace-cpus='1'\n{}", claim("interrupts:LOC", ",cpu=0"));
    assert!(
        parse::study(Path::new("x.toml"), &counted, Size::Scaled).is_ok(),
        "the kernel counts on every CPU"
    );
}

#[test]
fn ambiguous_names_are_refused() {
    let answer = |text: &str, word: &str| {
        let message = problems(&format!("title='t'\nquestion='q'\n[defaults]\nkernel='host'\n{text}"));
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains(word), "{message}");
    };
    answer("[[case]]\nname='a'\n[[case]]\nname='a'\n", "two cases are called 'a'");
    answer(
        "[matrix]\nclock=[{label='b:c',value='wall'}, {label='b c',value='virtual'}]\n[[case]]\nname='a'",
        "share the folder",
    );
    answer(
        "[[case]]\nname='a'\n[case.matrix]\ncpus=[2,3]\nrepeat=[{label='3',value=1}]",
        "the label '3' occurs twice",
    );
    answer("[[case]]\nname='a'\n[case.matrix]\nkernel=[{label='x/y',value='host'}]", "cannot be a label");
    for character in ["\\u001b", "\\n", "\\t", "\\u009b", "\\u202e"] {
        let label = format!("label=\"x{character}y\"");
        let text = format!("[[case]]\nname='a'\n[case.matrix]\nkernel=[{{{label},value='host'}}]");
        answer(&text, "another control character");
    }
}

#[test]
fn a_matrix_beyond_all_measure_is_refused_before_it_is_made() {
    let values: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let axes: String = CASE.names().iter().map(|key| format!("{key}=[{}]\n", values.join(","))).collect();
    let message = problems(&format!("title='t'\nquestion='q'\n[[case]]\nname='a'\n[case.matrix]\n{axes}"));
    assert!(message.contains("more than 1000 cases"), "{message}");
}

#[test]
fn many_cases_of_many_words_are_refused_before_they_are_made() {
    let study = |words: usize, cells: usize| {
        let words = "'x',".repeat(words);
        let values: Vec<String> = (0..cells).map(|n| format!("'a{n}'")).collect();
        format!(
            "title='t'\nquestion='q'\n[defaults]\nscript={{run=[{words}]}}\nkernel='host'\n\
             [[case]]\nname='a'\n[case.matrix]\nappend=[{}]\n",
            values.join(",")
        )
    };
    assert!(problems(&study(300_000, 100)).contains("many of many words"));
    assert!(!problems(&study(10, 1000)).contains("many of many words"));
    let label = "l".repeat(300);
    let long = format!("title='t'\nquestion='q'\n[[case]]\nname='a'\n[case.matrix]\nkernel=['{label}']\n");
    assert!(problems(&long).contains("a label has at most 200 bytes"));
}

#[test]
fn a_list_of_thousands_of_tables_is_refused() {
    let study = |claims: usize| {
        // Each is a problem, that it lacks a check.
        let claim = "[[claim]]\ntext='c'\n".repeat(claims);
        problems(&format!("title='t'\nquestion='q'\n[[case]]\nname='a'\nkernel='host'\n{claim}"))
    };
    let answer = "claim: 1001 tables, and a list has at most 1000";
    assert!(study(1001).contains(answer), "{}", study(1001));
    assert!(!study(1000).contains(answer));
}

#[test]
fn first_hundred_problems_are_reported_and_the_rest_counted() {
    let claims = "[[claim]]\ntext='c'\n".repeat(5000);
    let message = problems(&format!("title='t'\nquestion='q'\n[[case]]\nname='a'\nkernel='host'\n{claims}"));
    assert_eq!(message.lines().count(), 101, "{message}");
    assert!(message.ends_with(" more problems"), "{message}");
    let long = problems(&format!("title='t'\nquestion='q'\n{}='x'\n", "k".repeat(1 << 20)));
    assert!(long.lines().all(|line| line.len() < 3000), "{}", long.len());
}

#[test]
fn a_deadline_task_has_a_runtime_within_its_period() {
    let with = |policy: &str| {
        format!(
            "title='t'\nquestion='q'\n[[case]]\nname='a'\nkernel='host'\n\
             task=[{{ cpu=1, run='spin', policy='{policy}' }}]\n"
        )
    };
    let study = parse::study(Path::new("studies/x.toml"), &with("deadline:5ms/10ms"), Size::Scaled).unwrap();
    let policy = Policy::Deadline { runtime_ns: 5_000_000, period_ns: 10_000_000 };
    assert_eq!(study.cases[0].tasks[0].policy, policy);
    for wrong in ["deadline:20ms/10ms", "deadline:5ms", "deadline:", "deadline:10ns/1ms"] {
        assert!(problems(&with(wrong)).contains("nor \"deadline:RUNTIME/PERIOD\""), "{wrong}");
    }
}

#[test]
fn figures_of_two_clocks_are_never_compared() {
    let head = "title='t'\nquestion='q'\n[defaults]\nkernel='host'\n";
    let claim = "[[claim]]\ntext='c'\ncheck=[{case='a',figure='ticks',ratio-to='b',is='< 1'}]\n";
    let apart = format!("{head}[[case]]\nname='a'\n[[case]]\nname='b'\nclock='wall'\n{claim}");
    assert!(
        problems(&apart).contains("'a' is on the virtual clock and 'b' on the wall clock"),
        "{}",
        problems(&apart)
    );
    let paired =
        format!("{head}[matrix]\nclock=['wall','virtual']\n[[case]]\nname='a'\n[[case]]\nname='b'\n{claim}");
    let study = parse::study(Path::new("x.toml"), &paired, Size::Scaled).unwrap();
    assert_eq!(study.cases.iter().filter(|case| case.clock == Clock::Wall).count(), 2);
}

#[test]
fn published_figures_are_divided_by_one_of_them() {
    let text = |base: &str| {
        format!(
            "title = 't'\nquestion = 'q'\n[defaults]\nkernel = 'debian:6.12'\n[[case]]\nname = 'a'\n[[case]]\nname = 'b'\n\
             [[case]]\nname = 'c'\n[published]\nsource = 's'\nfigures = [\n\
             {{ label = 'one', value = 2.5, unit = 's', case = 'a', figure = 'ticks' }},\n\
             {{ label = 'two', value = 5, unit = 's', our-unit = 'ns', case = 'b', figure = 'ticks', ratio-to = '{base}' }},\n]\n"
        )
    };
    let study = parse::study(Path::new("x.toml"), &text("a"), Size::Scaled).unwrap();
    let published = study.published.unwrap();
    let bases =
        published.figures.iter().map(|figure| published.base_of(figure).map(|base| base.label.as_str()));
    assert_eq!(bases.collect::<Vec<_>>(), [None, Some("one")]);
    assert_eq!(
        problems(&text("c")),
        "studies/x.toml:15:99: ratio-to: no figure 'ticks' is published for 'c'"
    );
    let answer = problems(&text("d"));
    assert!(answer.contains("ratio-to: there is no case 'd'") && answer.lines().count() == 1, "{answer}");
}

#[test]
fn a_case_survives_json_and_toml() {
    for case in parse::study(Path::new("adaptive-ticks.toml"), ADAPTIVE_TICKS, Size::Scaled).unwrap().cases {
        let json = serde_json::to_string(&case).unwrap();
        assert_eq!(serde_json::from_str::<Case>(&json).unwrap(), case);
        assert_eq!(toml::from_str::<Case>(&toml::to_string(&case).unwrap()).unwrap(), case);
    }
}

#[test]
fn the_study_that_comes_with_dyntick() {
    let study = parse::study(Path::new("studies/adaptive-ticks.toml"), ADAPTIVE_TICKS, Size::Scaled)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let ids: Vec<&str> = study.cases.iter().map(|case| case.id.as_str()).collect();
    insta::assert_snapshot!(ids.join("\n"));
}

#[test]
fn the_other_studies_that_come_with_dyntick() {
    let others = [
        ("entry-costs.toml", include_str!("../../../studies/entry-costs.toml")),
        ("tick-stop-fast-path.toml", include_str!("../../../studies/tick-stop-fast-path.toml")),
    ];
    for (name, text) in others {
        parse::study(Path::new(name), text, Size::Scaled).unwrap_or_else(|problems| panic!("{problems}"));
    }
}

#[test]
fn a_disk_is_of_a_size_and_of_the_wall_clock() {
    let head = "title = 't'\nquestion = 'q'\n[defaults]\nkernel = 'debian:6.12'\nclock = 'wall'\n";
    let right = cases(
        "[defaults]\nkernel = 'debian:6.12'\nclock = 'wall'\n[[case]]\nname = 'a'\ndisk = '256M'\n[[case]]\nname = 'b'",
    );
    assert_eq!(right.iter().map(|case| case.disk).collect::<Vec<_>>(), [Some(256 << 20), None]);
    insta::assert_snapshot!(
        [
            "disk = '8M'",
            "disk = '1025G'",
            "disk = '100.3M'",
            "disk = '256 MB'",
            "disk = 256",
            "disk = '1G'\nclock = 'virtual'",
            "disk = '1G'\nappend = 'pci=off'",
        ]
        .map(|keys| problems(&format!("{head}[[case]]\nname = 'a'\n{keys}\n")))
        .join("\n")
    );
}

#[test]
fn the_book_documents_every_key() {
    let lacking: Vec<&str> =
        CASE.names().into_iter().filter(|key| !CHAPTER.contains(&format!("`{key}`"))).collect();
    assert_eq!(lacking, [] as [&str; 0]);
}

/// Each block of the chapter that begins with a title is a complete study.
#[test]
fn the_examples_of_the_book_are_studies() {
    let chapters = [CHAPTER, include_str!("../../../docs/src/first-study.md")].concat();
    let blocks = chapters.split("```toml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let studies: Vec<&str> = blocks.filter(|block| block.starts_with("title")).collect();
    assert!(studies.len() >= 2, "each of the two chapters has one");
    for text in studies {
        parse::study(Path::new("book.toml"), text, Size::Scaled)
            .unwrap_or_else(|problems| panic!("{problems}"));
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = parse::study(Path::new("x.toml"), &text, Size::Scaled);
    }

    #[test]
    fn no_text_of_our_words_makes_the_reader_panic(words in prop::collection::vec(
        prop::sample::select(vec![
            "[", "]", "[[", "]]", "{", "}", "=", "\n", "'", "\"", ",", ".", "1", "-1", "9e99", "true",
            "case", "matrix", "defaults", "claim", "check", "kernel", "cpus", "task", "script", "run", "label",
            "value", "sysctl", "name", "'debian:6.1'", "'a'", "'*'", "'<= 2'", "figure", "é", "\u{feff}",
        ]), 0..60,
    )) {
        let _ = parse::study(Path::new("x.toml"), &words.concat(), Size::Scaled);
    }

    /// Cuts a piece out of a real study and puts something else in its place.
    #[test]
    fn no_wounded_study_makes_the_reader_panic(
        at in any::<prop::sample::Index>(), length in 0usize..40, instead in "[\\[\\]{}='\",.0-9a-zé\n-]{0,12}",
    ) {
        let characters: Vec<char> = ADAPTIVE_TICKS.chars().collect();
        let at = at.index(characters.len());
        let end = (at + length).min(characters.len());
        let text: String =
            characters[..at].iter().copied().chain(instead.chars()).chain(characters[end..].iter().copied()).collect();
        if let Err(problems) = parse::study(Path::new("x.toml"), &text, Size::Scaled) {
            prop_assert!(!problems.problems.is_empty());
            let lines = text.lines().count() + 1;
            prop_assert!(problems.problems.iter().all(|p| (1..=lines).contains(&p.line) && p.column >= 1));
        }
    }
}

#[test]
fn all_studies_of_the_project_are_right_in_both_sizes() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies"));
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        for size in [Size::Scaled, Size::Full] {
            super::Study::load_sized(&path, size).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn full_size_replaces_what_a_small_machine_runs() {
    let text = "title='t'\nquestion='q'\n[defaults]\nkernel='debian:6.12'\nappend='quiet'\n[[case]]\nname='a'\n\
                cpus=4\nappend='nohz_full=1-3'\n[case.full-size]\ncpus=32\nappend='nohz_full=1-30'\n";
    let case = |size| parse::study(Path::new("x.toml"), text, size).unwrap().cases.remove(0);
    let (scaled, full) = (case(Size::Scaled), case(Size::Full));
    assert_eq!((scaled.cpus, scaled.append.to_string().as_str()), (4, "quiet nohz_full=1-3"));
    assert_eq!((full.cpus, full.append.to_string().as_str()), (32, "nohz_full=1-30"));
    let wrong = text.replace("cpus=32", "cpu=32");
    assert!(problems(&wrong).contains("unknown key 'cpu' in [case.full-size]"));
}

#[test]
fn effects_are_of_a_matrix_and_of_figures_that_there_are() {
    let head = "title='t'\nquestion='q'\n[defaults]\nkernel='debian:6.12'\n[[case]]\nname='idle'\n\
                [case.matrix]\nhz=[{label='a'},{label='b',append='x'}]\ncpus=[2,4,8]\nmemory=['1G']\n\
                [[case]]\nname='plain'\n";
    let right = format!("{head}[[effects]]\ncase='idle'\nfigures=['ticks_per_s','softirq:RCU']\n");
    let study = parse::study(Path::new("x.toml"), &right, Size::Scaled).unwrap();
    let [effects] = &study.effects[..] else { panic!("{:?}", study.effects) };
    let axes: Vec<(&str, usize)> =
        effects.axes.iter().map(|axis| (axis.name.as_str(), axis.levels.len())).collect();
    assert_eq!(axes, [("hz", 2), ("cpus", 3), ("memory", 1)]);
    assert_eq!(effects.figures, ["ticks_per_s", "softirq:RCU"]);
    let answer = |effects: &str, place: &str, words: &str| {
        let message = problems(&format!("{head}[[effects]]\n{effects}\n"));
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.starts_with(&format!("studies/x.toml:{place}: ")), "{message}");
        assert!(message.contains(words), "{message}");
    };
    answer("case='plain'\nfigures=['ticks']", "14:6", "'plain' has no matrix with two values");
    answer("case='idel'\nfigures=['ticks']", "14:6", "there is no case 'idel'; did you mean 'idle'?");
    answer("case='idle/a'\nfigures=['ticks']", "14:6", "write 'idle', which means all of its matrix");
    answer(
        "case='idle'\nfigures=['ticks','tiks']",
        "15:18",
        "there is no figure 'tiks'; did you mean 'ticks'?",
    );
    answer("case='idle'\nfigures=['power:total']", "15:10", "the case 'idle/a/2/1G' has no machine");
    answer("case='idle'\nfigures=['script_s']", "15:10", "needs a script");
    answer("case='idle'\nfigures=[]", "15:9", "at least one");
    answer("case='idle'", "13:1", "[[effects]] has no 'figures'");
    answer("case='idle'\nfigure=['ticks']\nfigures=['ticks']", "15:1", "did you mean 'figures'?");
    let many = "'ticks',".repeat(17);
    answer(&format!("case='idle'\nfigures=[{many}]"), "15:9", "at most 16");
    let both = "[case.matrix]\nclock=['wall','virtual']\n[[effects]]\ncase='plain'\nfigures=['ticks']\n";
    assert!(problems(&format!("{head}{both}")).contains("'plain' is run on both clocks"));
    let twice = "[[case]]\nname='idle'\n[[effects]]\ncase='idle'\nfigures=['ticks']\n";
    assert!(problems(&format!("{head}{twice}")).contains("two [[case]] are called 'idle'"));
    let often = "[[effects]]\ncase='idle'\nfigures=['ticks']\n".repeat(17);
    assert!(problems(&format!("{head}{often}")).contains("at most 16 [[effects]]"));
}

#[test]
fn perturbed_runs_are_of_virtual_time() {
    let head = "[defaults]\nkernel='host'\nperturb=3\n";
    let cases = cases(&format!("{head}[[case]]\nname='a'\n[[case]]\nname='b'\nperturb=0\n"));
    assert_eq!(cases.iter().map(|case| (case.perturb, case.runs())).collect::<Vec<_>>(), [(3, 4), (0, 1)]);
    let answer = |text: &str, words: &str| {
        let message =
            problems(&format!("title='t'\nquestion='q'\n[[case]]\nname='a'\nkernel='host'\n{text}\n"));
        assert!(message.lines().count() == 1 && message.contains(words), "{message}");
    };
    answer("perturb=2\nclock='wall'", "x.toml:6:9: perturb: runs on the wall clock differ anyway");
    answer("perturb=101", "perturb: 101 is not from 0 to 100");
    answer("perturb='2'", "'perturb' must be an integer");
}
