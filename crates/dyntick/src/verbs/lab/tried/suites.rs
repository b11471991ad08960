// SPDX-License-Identifier: GPL-2.0-only
//! The suites of `dyntick lab try`: cases for what a patch touches. A suite is a file of cases in `suites/`.

use anyhow::{Result, bail};
use dyntick_model::text::known_words;
use std::collections::BTreeSet;

/// The cases of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suite {
    /// Ticks of idle, busy and shared CPUs.
    Tick,
    /// Instructions of kernel entries.
    Entry,
    /// The path and the latency of wake-ups.
    WakeUp,
    /// The decisions of idle governors.
    Idle,
}

use Suite::{Entry, Idle, Tick, WakeUp};

impl Suite {
    /// All suites, in the order in which they run.
    pub const ALL: [Self; 4] = [Tick, Entry, WakeUp, Idle];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Tick => "tick",
            Entry => "entry",
            WakeUp => "wake-up",
            Idle => "idle",
        }
    }

    /// The cases, as a study has them.
    fn cases(self) -> &'static str {
        match self {
            Tick => include_str!("../../../../../../suites/tick.toml"),
            Entry => include_str!("../../../../../../suites/entry.toml"),
            WakeUp => include_str!("../../../../../../suites/wake-up.toml"),
            Idle => include_str!("../../../../../../suites/idle.toml"),
        }
    }

    /// The suites of these names.
    ///
    /// # Errors
    /// A name that no suite has.
    pub fn named(names: &[String]) -> Result<BTreeSet<Self>> {
        let suite = |name: &String| {
            let known = Self::ALL.map(Self::name);
            match Self::ALL.into_iter().find(|suite| suite.name() == name) {
                Some(suite) => Ok(suite),
                None => bail!(
                    "--suite {name}: there are {}; a study of your own is named by its file",
                    known_words(name, &known, "--help")
                ),
            }
        };
        names.iter().map(suite).collect()
    }
}

/// Parts of the kernel's tree, each with the suites that show what a change there does.
const TOUCHES: [(&str, &[Suite]); 22] = [
    ("kernel/time/", &[Tick, Entry, WakeUp]),
    ("kernel/sched/idle.c", &[Tick, WakeUp, Idle]),
    ("kernel/sched/", &[Tick, WakeUp]),
    ("kernel/rcu/", &[Tick, Entry]),
    ("kernel/entry/", &[Entry, WakeUp]),
    ("kernel/context_tracking.c", &[Entry, WakeUp]),
    ("kernel/irq/", &[Entry, WakeUp]),
    ("kernel/irq_work.c", &[Tick, Entry]),
    ("kernel/smp.c", &[Entry]),
    ("kernel/softirq.c", &[Tick, Entry, WakeUp]),
    ("kernel/stop_machine.c", &[Tick]),
    ("kernel/workqueue.c", &[Tick]),
    ("kernel/power/qos.c", &[Idle]),
    ("drivers/cpuidle/", &[Idle, WakeUp]),
    ("drivers/idle/", &[Idle]),
    ("include/linux/cpuidle.h", &[Idle]),
    ("include/linux/context_tracking", &[Entry, WakeUp]),
    ("include/linux/tick.h", &[Tick, Entry, WakeUp]),
    ("include/linux/sched/", &[Tick, WakeUp]),
    ("arch/x86/entry/", &[Entry]),
    ("arch/x86/kernel/process.c", &[Entry, Idle]),
    ("mm/vmstat.c", &[Tick]),
];

/// The suites for a change of these files; all where none of them is known.
pub fn of(files: &BTreeSet<String>) -> BTreeSet<Suite> {
    // A semantic patch names folders, too.
    let touches = |file: &str, part: &str| file.starts_with(part) || format!("{file}/") == part;
    let suites = |file: &String| {
        TOUCHES.iter().find(|(part, _)| touches(file, part)).map_or(&[][..], |(_, suites)| *suites)
    };
    let found: BTreeSet<Suite> = files.iter().flat_map(suites).copied().collect();
    if found.is_empty() { Suite::ALL.into() } else { found }
}

/// The study of these suites. Its kernels come by the command line.
pub fn study(suites: &BTreeSet<Suite>) -> String {
    let head = "# SPDX-License-Identifier: GPL-2.0-only\n\
                title = \"What a patch does\"\nquestion = \"What differs between a kernel without the patch and with it?\"\n\
                [defaults]\nkernel = \"debian:6.12\"\n";
    let bodies = suites.iter().map(|suite| suite.cases());
    [head].into_iter().chain(bodies).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_study::{Given, Size, shipped};

    #[test]
    fn files_choose_their_suites() {
        let of = |files: &[&str]| -> Vec<&str> {
            let files = files.iter().map(|file| (*file).to_owned()).collect();
            of(&files).into_iter().map(Suite::name).collect()
        };
        assert_eq!(of(&["kernel/time/tick-sched.c", "Documentation/x.rst"]), ["tick", "entry", "wake-up"]);
        assert_eq!(of(&["drivers/cpuidle/governors/menu.c"]), ["wake-up", "idle"]);
        assert_eq!(of(&["drivers/cpuidle"]), ["wake-up", "idle"]);
        assert_eq!(of(&["fs/ext4/inode.c"]).len(), 4);
        let error = Suite::named(&["tik".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("there are tick"), "{error}");
    }

    #[test]
    fn suites_are_studies_on_two_kernels() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("study.toml");
        std::fs::write(&file, study(&Suite::ALL.into())).unwrap();
        let mut given = Given::default();
        for name in ["base", "patched"] {
            given.kernel(name, "debian:6.12", Some(name));
        }
        let (study, _) =
            shipped::find_given(&file, Size::Scaled, &given).unwrap_or_else(|error| panic!("{error}"));
        let names: BTreeSet<&str> = study.cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(study.cases.len() % 2, 0);
        for suite in Suite::ALL {
            assert!(names.iter().any(|name| name.starts_with(suite.name())), "{names:?}");
        }
    }
}
