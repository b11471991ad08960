// SPDX-License-Identifier: GPL-2.0-only
//! The keys of study files, each declared once: the reader refuses others, and the book's tables and the JSON Schema
//! that editors complete by are made of them.

use super::Value::{Any, Cpus, Duration, Inner, Matrix, Named, Number, Settings, Size, Switch, Tables};
use super::Value::{Text, TextOrTexts, Texts, Word, Work};
use super::claims::{CLAIM, COMPARE, EFFECTS, PUBLISHED};
use super::{Key, Table};
use crate::Case;

/// The idle governors of Linux 6.1 to 7.2 (`drivers/cpuidle/governors`).
pub const GOVERNORS: [&str; 4] = ["menu", "teo", "ladder", "haltpoll"];

/// The workloads that need no tool.
pub const BUILT_IN: [&str; 3] = ["spin", "rcu-free", "syscall-loop"];

/// The sources of exit times.
pub const EXITS: [&str; 3] = ["table", "measured", "distribution"];

/// A study.
pub static STUDY: Table = Table::new(
    "study",
    &[&[
        Key::required("title", Text, "its title"),
        Key::required("question", Text, "what it asks"),
        Key::optional("description", Text, "background that is needed to understand the answer"),
        Key::optional("published", Inner(&PUBLISHED), "what others found"),
        Key::optional("kernels", Named(&KERNEL), "custom kernels, see [Custom kernels](kernels.md)"),
        Key::optional(
            "machine",
            Inner(&MACHINE),
            "`profile`: the machine whose idle states every guest has that names no other; `exit` and \
        `pre-wake` as in a case. See [Machines](machines.md)",
        ),
        Key::optional("defaults", Inner(&CASE), "any key of a case; a case overrides it"),
        Key::optional("matrix", Matrix, "expands every case, see [Matrices](#matrices)"),
        Key::required("case", Tables(&OWN_CASE), "the configurations"),
        Key::optional("claim", Tables(&CLAIM), "what is judged"),
        Key::optional(
            "compare",
            Tables(&COMPARE),
            "cases that are compared in detail, see [Comparisons](#comparisons)",
        ),
        Key::optional(
            "effects",
            Tables(&EFFECTS),
            "what each axis of a matrix does, see [Effects](#effects)",
        ),
    ]],
);

/// The settings of a case, of `[defaults]` and of a matrix.
pub static CASE: Table = Table::new("settings", &[&CASE_KEYS]);

const CASE_KEYS: [Key; 32] = [
    Key::optional(
        "kernel",
        Text,
        "`debian:6.1`, `debian:6.12`, `debian:6.12-rt`, `debian:6.12-cloud`: the newest of that \
        series; `debian:5.10`: that of Debian 11; `debian:sid` (also `-rt`, `-cloud`): the newest that Debian's suite unstable \
        has; `debian:RELEASE`: that one (`dyntick lab kernels` lists them); `built:KEY`: one \
        that was built here; `host`: the running one; a path to an image, from the study's \
        folder, with its configuration in it or beside it (`config-RELEASE`, or `config` or `.config` of its \
        version); or the name of one of the study's `[kernels]`",
    )
    .or("none, required"),
    Key::optional("clock", Word(&["virtual", "wall"]), "emulated time that repeats to the bit, or real time")
        .or("`\"virtual\"`"),
    Key::optional("cpus", Number(1, Case::MOST_CPUS), "virtual CPUs").or("`2`"),
    Key::optional(
        "memory",
        Size,
        "memory of the guest, at least 256M; large tools need more, and a run that has too little \
        says how much",
    )
    .or("`\"512M\"`"),
    Key::optional(
        "disk",
        Size,
        "a virtio disk with an empty ext4, which the guest finds mounted on `/mnt/disk`: a \
        multiple of 1M from `\"16M\"` to `\"8G\"`; only with `clock = \"wall\"`. See \
        [Storage](#storage)",
    )
    .or("none"),
    Key::optional(
        "append",
        Text,
        "kernel parameters; those of `[defaults]`, the case and the matrix add up in this order. \
        `memmap`, `console`, `init` and `rdinit` are set by the laboratory",
    )
    .or("empty"),
    Key::optional("sysctl", Settings, "`{ \"vm.stat_interval\" = 60 }`: sysctls by their full names")
        .or("empty"),
    Key::optional(
        "write",
        Settings,
        "`{ \"/sys/…/runtime\" = 0 }`: files of the guest's kernel by their full paths. What the \
        kernel refuses fails the run. Both tables are merged over `[defaults]`, case and matrix",
    )
    .or("empty"),
    Key::optional(
        "read",
        Texts,
        "files of the guest's kernel, by their full paths below `/proc` and `/sys`, that are read \
        before and after the window: see [Files of the kernel](#files-of-the-kernel). One that \
        does not exist fails the run",
    )
    .or("empty"),
    Key::optional(
        "settle",
        Duration,
        "before the window, the other CPUs must have been idle for this long …",
    )
    .or("`\"2s\"`"),
    Key::optional(
        "settle-limit",
        Duration,
        "… for which the guest waits at most this long; the report says if they never were",
    )
    .or("`\"10s\"`"),
    Key::optional("measure", Duration, "length of the window").or("`\"10s\"`"),
    Key::optional(
        "measured-cpus",
        Cpus,
        "the CPUs that the study is about; at least one CPU must be left for the agent",
    )
    .or("`\"1\"`"),
    Key::optional("repeat", Number(1, Case::MOST_REPEATED), "runs of this case; only with `clock = \"wall\"`")
        .or("`1`"),
    Key::optional(
        "perturb",
        Number(0, Case::MOST_PERTURBED),
        "N more runs of this case (at most 100), each with an irrelevant change, which are \
        checked too; only with `clock = \"virtual\"`. See [Perturbed \
        runs](statistics.md#perturbed-runs)",
    )
    .or("`0`"),
    Key::optional("timeout", Duration, "real time after which a guest counts as hung").or("`\"300s\"`"),
    Key::optional(
        "events",
        Texts,
        "trace events (`system:name`) beyond those that every window records; each is counted per \
        CPU, see `event:NAME`. Events that are missing in a kernel are named in the report",
    )
    .or("empty"),
    Key::optional(
        "profile",
        Switch,
        "records every executed block in the window and while the script runs; on the virtual \
        clock only (see [Profiles](profiles.md))",
    )
    .or("`false`"),
    Key::optional(
        "trace-cpus",
        Cpus,
        "the CPUs whose trace events are recorded; the measured ones must be among them. A \
        housekeeping CPU that ticks 250 times a second fills a buffer in minutes, and with long \
        windows it is mostly not of interest. What other CPUs caused is then reported less \
        exactly",
    )
    .or("all"),
    Key::optional("trace-buffer", Size, "trace buffer of each CPU").or("`\"8M\"`"),
    Key::optional(
        "tools",
        Texts,
        "programs that go into the guest with their libraries, by path or by name on this \
        machine's PATH. What a task or a script starts need not be listed",
    )
    .or("empty"),
    Key::optional(
        "modules",
        Texts,
        "kernel modules that are loaded; `append = \"MODULE.PARAMETER=VALUE\"` gives them \
        parameters, as with modprobe",
    )
    .or("empty"),
    Key::optional(
        "calls",
        Texts,
        "with `profile`: functions of the kernel whose calls are listed one by one, as \
        `hrtimer_interrupt`",
    )
    .or("empty"),
    Key::optional(
        "figures",
        Named(&PICK),
        "figures of the study, extracted from what the script, else a task, printed: `figures = { \
        tps = { pattern = 'tps = ([0-9.]+)', unit = \"1/s\", better = \"higher\" } }`, or `json \
        = 'jobs.*.read.iops'`; of a pattern the first match in each line; as a figure \
        `tool:tps`, of several numbers the median",
    )
    .or("empty"),
    Key::optional(
        "files",
        Texts,
        "text files of the study's folder (at most 16, each of 64 KiB) that the guest has under \
        the same paths in `/study`, the working directory of its programs",
    )
    .or("empty"),
    Key::optional(
        "machine",
        Text,
        "the machine whose idle states the guest has, by its name (`dyntick lab machines`) or the \
        path of its file; `\"none\"` for the guest's own. See [Machines](machines.md)",
    )
    .or("that of `[machine]`, else none"),
    Key::optional(
        "exit",
        Word(&EXITS),
        "how long the machine's exits take: `\"table\"`, the latency that the kernel knows, which \
        is the worst case; `\"measured\"`, the median that was measured; `\"distribution\"`, \
        drawn from what was measured. See [How long an exit \
        takes](machines.md#how-long-an-exit-takes)",
    )
    .or("that of `[machine]`, else `\"table\"`"),
    Key::optional(
        "pre-wake",
        Switch,
        "whether a CPU is woken ahead of its own timer, as servers of Intel's can: the exit of a \
        timer's wake-up then overlaps with the wait",
    )
    .or("that of `[machine]`, else `false`"),
    Key::optional(
        "packages",
        Text,
        "the CPUs of each package of the machine, as `\"0/1-3\"`: a package state is reached when \
        all CPUs of the package allow it",
    )
    .or("all in one"),
    Key::optional("governor", Word(&GOVERNORS), "the idle governor").or("the kernel's"),
    Key::optional("task", Tables(&TASK), "what runs during the window").or("empty"),
    Key::optional("script", Inner(&SCRIPT), "a fixed piece of work").or("none"),
];

/// `[[case]]`.
pub static OWN_CASE: Table = Table::new(
    "case",
    &[
        &[
            Key::required("name", Text, "letters, digits, `.`, `_`, `+`, `-`"),
            Key::optional("title", Text, "shown in the report"),
            Key::optional("matrix", Matrix, "expands the case"),
            Key::optional(
                "full-size",
                Inner(&CASE),
                "keys that apply instead with `dyntick lab run --full-size`",
            ),
        ],
        &CASE_KEYS,
    ],
);

/// A value of a matrix that sets several keys at once.
pub static BUNDLE: Table =
    Table::new("bundle", &[&[Key::required("label", Text, "its part of the ids of cases")], &CASE_KEYS]);

/// A value of a matrix that is not its own label.
pub static LABELLED: Table = Table::new(
    "labelled",
    &[&[
        Key::required("label", Text, "its part of the ids of cases"),
        Key::required("value", Any, "the value of the axis's key"),
    ]],
);

/// The settings of the command line.
pub static FLAGS: Table =
    Table::new("flags", &[&[Key::optional("matrix", Matrix, "expands every case")], &CASE_KEYS]);

/// `[machine]`.
pub static MACHINE: Table = Table::new(
    "machine",
    &[&[
        Key::required("profile", Text, "the machine whose idle states every guest has that names no other"),
        Key::optional("exit", Word(&EXITS), "as in a case").or("`\"table\"`"),
        Key::optional("pre-wake", Switch, "as in a case").or("`false`"),
    ]],
);

/// `[kernels.NAME]`.
pub static KERNEL: Table = Table::new(
    "kernel",
    &[&[
        Key::required(
            "source",
            Text,
            "`debian:6.12`, a tarball, `git:REPOSITORY#REVISION`, or the folder of a source tree",
        ),
        Key::required(
            "config",
            TextOrTexts,
            "fragments by name or path, or one complete configuration by path; later ones win",
        ),
        Key::optional(
            "patches",
            TextOrTexts,
            "patches by name or path, in the order in which they are applied",
        ),
    ]],
);

/// `[[case.task]]`.
pub static TASK: Table = Table::new(
    "task",
    &[&[
        Key::required("cpu", Cpus, "where it may run"),
        Key::optional(
            "policy",
            Text,
            "scheduling policy: `\"other\"`, `\"fifo:1\"` to `\"fifo:99\"` or \
        `\"deadline:RUNTIME/PERIOD\"`; a deadline task must be allowed on every CPU of its root \
        domain, as on a CPU that is isolated alone",
        )
        .or("`\"other\"`"),
        Key::optional(
            "partition",
            Word(&["root", "isolated"]),
            "run it in a cpuset partition of that kind (cgroup v2), not by its affinity alone; where \
        the kernel refuses, the run fails",
        ),
        Key::optional(
            "to-its-end",
            Switch,
            "the task exits by itself after the window, and a status other than 0 fails the run; else \
        it is killed at the end of the window, and what it would print at its end is lost",
        )
        .or("`false`"),
        Key::required("run", Work, "a built-in task, or a list: a program and its arguments"),
    ]],
);

/// `[case.script]`.
pub static SCRIPT: Table = Table::new(
    "script",
    &[&[
        Key::required("cpu", Cpus, "where it runs"),
        Key::required("run", Texts, "a program and its arguments"),
        Key::optional(
            "in-window",
            Switch,
            "it runs at the same time as the tasks, and the window is as long as it runs",
        )
        .or("`false`"),
    ]],
);

/// `[case.figures.NAME]`.
pub static PICK: Table = Table::new(
    "pick",
    &[&[
        Key::optional("pattern", Text, "a regular expression with one group, the number"),
        Key::optional("json", Text, "or a path into JSON, as `jobs.*.read.iops`"),
        Key::optional("unit", Text, "its unit"),
        Key::optional("better", Word(&["lower", "higher"]), "which direction is better"),
    ]],
);
