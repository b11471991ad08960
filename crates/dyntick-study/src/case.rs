// SPDX-License-Identifier: GPL-2.0-only
//! Reading one case, in one cell of its matrix.
//!
//! A value that is wrong is noted as a problem and read as its default, so that one mistake does
//! not hide the others nor make claims about the case look wrong too.

use super::keys::study::{self as keys, GOVERNORS};
use super::matrix::Cell;
use super::reader::{Section, Source, Value, integer, sections};
use super::{Case, Pick, parts};
use crate::machine::{self, is_path};
use dyntick_guest::names::OWN_NAME;
use dyntick_guest::{Partition, Policy, Script, Task, Work};
use dyntick_model::text::nearest;
use dyntick_model::units::{Bytes, Nanos};
use dyntick_model::{Clock, CommandLine, CpuList, Exit, Machine, Recipe, Spec};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// The workloads that need no tool.
const BUILT_IN: [(&str, Work); 3] = [
    (keys::BUILT_IN[0], Work::Spin),
    (keys::BUILT_IN[1], Work::RcuFree),
    (keys::BUILT_IN[2], Work::SyscallLoop),
];

/// The sources of exit times, by their names in a study file.
const EXITS: [(&str, Exit); 3] =
    [(keys::EXITS[0], Exit::Table), (keys::EXITS[1], Exit::Measured), (keys::EXITS[2], Exit::Distribution)];

/// The name that gives a case no machine if the study has one.
const NO_MACHINE: &str = "none";

/// Reads one case: the cell of the matrix has precedence over the case, the case over the defaults.
pub struct CaseReader<'s, 'v, 't> {
    /// The `[[case]]`.
    pub section: Section<'s, 'v, 't>,
    /// The cell.
    pub cell: &'v Cell<'v, 't>,
    /// `[defaults]`.
    pub defaults: &'v DeTable<'t>,
    /// The settings of the case in full size, if that size is requested; they override all else but the command line.
    pub full_size: Option<&'v DeTable<'t>>,
    /// The settings of the command line for all cases; they override all else.
    pub set: Option<&'v DeTable<'t>>,
    /// `[machine]`: what a case has that says nothing else.
    pub machine: Option<&'v DeTable<'t>>,
    /// `[kernels]`.
    pub recipes: &'v BTreeMap<String, Recipe>,
}

impl<'s, 'v, 't> CaseReader<'s, 'v, 't> {
    /// The case.
    pub fn case(&self) -> Case {
        let name = self.section.required_text("name").unwrap_or_default();
        let variant = self.cell.variant.clone();
        let id = if variant.is_empty() { name.clone() } else { format!("{name}/{variant}") };
        let standard = Case::new(&name, &self.kernel());
        let mut case = Case {
            title: self.section.text("title").unwrap_or(name),
            clock: self.clock().unwrap_or(standard.clock),
            cpus: self.number("cpus").unwrap_or(standard.cpus),
            memory: self.parsed("memory").map_or(standard.memory, |Bytes(bytes)| bytes),
            disk: self.parsed("disk").map(|Bytes(bytes)| bytes),
            append: self.append(),
            sysctl: self.settings("sysctl"),
            write: self.settings("write"),
            read: self.texts("read"),
            settle_ns: self.duration("settle").unwrap_or(standard.settle_ns),
            settle_limit_ns: self.duration("settle-limit").unwrap_or(standard.settle_limit_ns),
            measure_ns: self.duration("measure").unwrap_or(standard.measure_ns),
            profile: self.switch("profile").unwrap_or(standard.profile),
            calls: self.texts("calls"),
            measured_cpus: self.cpus("measured-cpus").unwrap_or(standard.measured_cpus),
            repeat: self.repeat().unwrap_or(standard.repeat),
            perturb: self.perturb().unwrap_or(standard.perturb),
            timeout_ns: self.duration("timeout").unwrap_or(standard.timeout_ns),
            events: self.texts("events"),
            trace_cpus: self.cpus("trace-cpus"),
            trace_buffer: self.parsed("trace-buffer").map_or(standard.trace_buffer, |Bytes(bytes)| bytes),
            tools: self.texts("tools"),
            modules: self.texts("modules"),
            files: self.get("files").map(|value| parts::files(self.source(), value)).unwrap_or_default(),
            figures: self.figures(),
            machine: self.machine(),
            packages: self.packages(),
            governor: self.governor(),
            tasks: self.tasks(),
            script: self.script(),
            recipe: self.recipes.get(&standard.kernel).cloned(),
            id,
            variant,
            ..standard
        };
        add_own_tools(&mut case);
        case
    }

    /// The file.
    pub fn source(&self) -> &'s Source<'s> {
        self.section.source
    }

    /// The strongest value of a key.
    pub fn get(&self, key: &str) -> Option<&'v Value<'t>> {
        self.layers(key).pop()
    }

    /// The values of a key in all layers, the weakest first.
    fn layers(&self, key: &str) -> Vec<&'v Value<'t>> {
        let in_cell = self.cell.settings.iter().filter(|(name, _)| *name == key).map(|(_, value)| *value);
        let full = self.full_size.and_then(|table| table.get(key));
        let of_file =
            self.defaults.get(key).into_iter().chain(self.section.get(key)).chain(in_cell).chain(full);
        of_file.chain(self.layers_of_flags(key)).collect()
    }

    /// The values that the command line gives a key.
    fn layers_of_flags(&self, key: &str) -> Vec<&'v Value<'t>> {
        let of_axes = self.cell.of_flags.iter().filter(|(name, _)| *name == key).map(|(_, value)| *value);
        self.set.and_then(|table| table.get(key)).into_iter().chain(of_axes).collect()
    }

    fn kernel(&self) -> String {
        let Some(value) = self.get("kernel") else {
            let message = "no kernel: give one here, in [defaults] or in a matrix";
            self.source().problem(self.section.at, message);
            return String::new();
        };
        let text = self.source().text("kernel", value).unwrap_or_default();
        let made_to_order = self.recipes.contains_key(&text);
        if !made_to_order && (!text.is_empty() || value.get_ref().is_str()) {
            self.refuse_unknown_kernel(&text, value);
        }
        text
    }

    fn refuse_unknown_kernel(&self, text: &str, value: &Value<'t>) {
        let Err(error) = text.parse::<Spec>() else { return };
        let names: Vec<&str> = self.recipes.keys().map(String::as_str).collect();
        let hint = match nearest(text, &names) {
            Some(right) => format!("; did you mean '{right}' of [kernels]?"),
            None => String::new(),
        };
        self.source().problem(value.span().start, format!("kernel: {error}{hint}"));
    }

    fn clock(&self) -> Option<Clock> {
        let value = self.get("clock")?;
        match self.source().text("clock", value)?.as_str() {
            "virtual" => Some(Clock::Virtual),
            "wall" => Some(Clock::Wall),
            other => {
                let message = format!("clock: '{other}' is neither \"virtual\" nor \"wall\"");
                self.source().problem(value.span().start, message);
                None
            }
        }
    }

    /// The machine whose idle states the guest has: its name, or a path from the study's folder.
    fn machine(&self) -> Option<Machine> {
        let own = self.get("machine").map(|value| ("machine", value));
        let (key, value) = own.or(self.of_machine("profile").map(|value| ("profile", value)))?;
        let name = self.source().text(key, value)?;
        if name == NO_MACHINE {
            return None;
        }
        let place = if is_path(&name) {
            self.source().folder().join(&name).to_string_lossy().into_owned()
        } else {
            name
        };
        let mut machine = self.source().try_value("machine", value, machine::find(&place))?;
        machine.idle.exit = self.exit(&machine).unwrap_or_default();
        let pre_wake = self.get("pre-wake").or(self.of_machine("pre-wake"));
        machine.idle.pre_wake =
            pre_wake.and_then(|value| self.source().switch("pre-wake", value)).unwrap_or(false);
        Some(machine)
    }

    /// A key of `[machine]`.
    fn of_machine(&self, key: &str) -> Option<&'v Value<'t>> {
        self.machine?.get(key)
    }

    /// The source of the machine's exit times; refused if the machine's file does not have it.
    fn exit(&self, machine: &Machine) -> Option<Exit> {
        let value = self.get("exit").or(self.of_machine("exit"))?;
        let text = self.source().text("exit", value)?;
        let Some((_, exit)) = EXITS.into_iter().find(|(name, _)| *name == text) else {
            let message = format!("exit: '{text}' is none of \"table\", \"measured\" and \"distribution\"");
            self.source().problem(value.span().start, message);
            return None;
        };
        if let Err(lack) = machine::exits::refuse(machine, exit) {
            self.source().problem(value.span().start, format!("exit: {lack}"));
        }
        Some(exit)
    }

    /// The CPUs of each package, as `0/1-3`.
    fn packages(&self) -> Vec<CpuList> {
        let Some(value) = self.get("packages") else { return Vec::new() };
        let text = self.source().text("packages", value).unwrap_or_default();
        if text.matches('/').count() >= Case::MOST_PACKAGES {
            let message = format!("packages: a machine has at most {}", Case::MOST_PACKAGES);
            self.source().problem(value.span().start, message);
            return Vec::new();
        }
        let lists: Result<Vec<CpuList>, _> = text.split('/').map(str::parse::<CpuList>).collect();
        lists.unwrap_or_else(|error| {
            let message = format!("packages: {error}; write the CPUs of each package, as \"0/1-3\"");
            self.source().problem(value.span().start, message);
            Vec::new()
        })
    }

    /// The idle governor, by the kernel's name for it.
    fn governor(&self) -> Option<String> {
        let value = self.get("governor")?;
        let name = self.source().text("governor", value)?;
        let right = GOVERNORS.contains(&name.as_str());
        if !right {
            let known = GOVERNORS.join(", ");
            let message = format!("governor: the kernel has no idle governor '{name}'; there are {known}");
            self.source().problem(value.span().start, message);
        }
        right.then_some(name)
    }

    fn number(&self, key: &str) -> Option<u32> {
        self.source().number(key, self.get(key)?, 1..=Case::MOST_CPUS)
    }

    fn repeat(&self) -> Option<u32> {
        self.source().number("repeat", self.get("repeat")?, 1..=Case::MOST_REPEATED)
    }

    fn perturb(&self) -> Option<u32> {
        self.source().number("perturb", self.get("perturb")?, 0..=Case::MOST_PERTURBED)
    }

    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(&self, key: &str) -> Option<T> {
        self.source().parse(key, self.get(key)?)
    }

    fn duration(&self, key: &str) -> Option<u64> {
        self.parsed::<Nanos>(key).map(|Nanos(ns)| ns)
    }

    fn switch(&self, key: &str) -> Option<bool> {
        self.source().switch(key, self.get(key)?)
    }

    fn cpus(&self, key: &'static str) -> Option<CpuList> {
        self.source().cpus(key, self.get(key)?)
    }

    fn texts(&self, key: &str) -> Vec<String> {
        self.get(key).and_then(|value| self.source().texts(key, value)).unwrap_or_default()
    }

    /// The command lines of all layers, joined; the kernel lets the last of two parameters win. That of the full size
    /// replaces the others, since its CPU lists do. That of the command line is added to it.
    fn append(&self) -> CommandLine {
        let mut line = CommandLine::default();
        let values = match self.full_size.and_then(|table| table.get("append")) {
            Some(alone) => [alone].into_iter().chain(self.layers_of_flags("append")).collect(),
            None => self.layers("append"),
        };
        for value in values {
            line.extend(&CommandLine::parse(&self.source().text("append", value).unwrap_or_default()));
        }
        line
    }

    /// Settings of all layers, a stronger layer's replacing a weaker one's.
    fn settings(&self, key: &'static str) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        for table in self.layers(key).into_iter().filter_map(|value| self.source().table(key, value)) {
            for (name, value) in table {
                self.refuse_name(key, name.get_ref(), name.span().start);
                settings.extend(
                    self.setting(name.get_ref(), value).map(|text| (name.get_ref().to_string(), text)),
                );
            }
        }
        settings
    }

    fn refuse_name(&self, key: &str, name: &str, at: usize) {
        let well_formed =
            !name.contains("..") && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
        let message = match key {
            "sysctl" if !well_formed || !name.contains(['.', '/']) => {
                format!("'{name}' is not a sysctl; write its full name in quotes: \"vm.stat_interval\" = 60")
            }
            "write" if !name.starts_with('/') => {
                format!("'{name}' is not a path; write the full path, as \"/sys/kernel/mm/ksm/run\" = 0")
            }
            _ => return,
        };
        self.source().problem(at, message);
    }

    fn setting(&self, name: &str, value: &Value<'t>) -> Option<String> {
        let text = match value.get_ref() {
            DeValue::Integer(_) => integer(value).map(|number| number.to_string()),
            other => other.as_str().map(str::to_owned),
        };
        if text.is_none() {
            let message =
                format!("'{name}' must be an integer or a string: what you would write into its file");
            self.source().problem(value.span().start, message);
        }
        text
    }

    fn tasks(&self) -> Vec<Task> {
        let tasks = self
            .get("task")
            .map_or(Vec::new(), |value| sections(self.source(), "[[case.task]]", "task", value));
        tasks.into_iter().filter_map(task).collect()
    }

    fn figures(&self) -> BTreeMap<String, Pick> {
        let section = self
            .get("figures")
            .and_then(|value| Section::of(self.source(), "[case.figures]", "figures", value));
        section.map(parts::figures).unwrap_or_default()
    }

    fn script(&self) -> Option<Script> {
        let section = Section::of(self.source(), "[case.script]", "script", self.get("script")?)?;
        section.only(&keys::SCRIPT);
        let run = section.required("run")?;
        let in_window = section.get("in-window").and_then(|value| section.source.switch("in-window", value));
        Some(Script {
            cpus: cpus_of(section)?,
            run: program(section.source, run)?,
            in_window: in_window.unwrap_or(false),
        })
    }
}

/// Adds the programs that the case itself starts: they go into its guest without being named a second time.
fn add_own_tools(case: &mut Case) {
    let of_tasks = case.tasks.iter().filter_map(|task| match &task.work {
        Work::Tool(words) => words.first(),
        _ => None,
    });
    let of_script = case.script.iter().filter_map(|script| script.run.first());
    for tool in of_tasks.chain(of_script) {
        if tool != OWN_NAME && !case.tools.contains(tool) {
            case.tools.push(tool.clone());
        }
    }
}

fn task(section: Section<'_, '_, '_>) -> Option<Task> {
    section.only(&keys::TASK);
    let (policy, work) = (policy(section).unwrap_or_default(), work(section).unwrap_or(Work::Spin));
    let to_its_end = section.get("to-its-end").and_then(|value| section.source.switch("to-its-end", value));
    Some(Task {
        cpus: cpus_of(section)?,
        policy,
        partition: partition(section),
        to_its_end: to_its_end.unwrap_or(false),
        work,
    })
}

fn cpus_of(section: Section<'_, '_, '_>) -> Option<CpuList> {
    section.required("cpu").and_then(|value| section.source.cpus("cpu", value))
}

fn policy(section: Section<'_, '_, '_>) -> Option<Policy> {
    let value = section.get("policy")?;
    let text = section.source.text("policy", value)?;
    let policy = match text.split_once(':') {
        None if text == "other" => Some(Policy::Other),
        Some(("fifo", priority)) => priority.parse().ok().filter(|n| (1..=99).contains(n)).map(Policy::Fifo),
        Some(("deadline", times)) => deadline(times),
        _ => None,
    };
    if policy.is_none() {
        let message = format!(
            "policy: '{text}' is neither \"other\", \"fifo:1\" to \"fifo:99\", nor \"deadline:RUNTIME/PERIOD\", as \"deadline:5ms/10ms\""
        );
        section.source.problem(value.span().start, message);
    }
    policy
}

/// Parses `RUNTIME/PERIOD`, two durations. The kernel wants at least 1 us, and no more than the period
/// (`kernel/sched/deadline.c: __checkparam_dl`).
fn deadline(times: &str) -> Option<Policy> {
    let (runtime, period) = times.split_once('/')?;
    let (Nanos(runtime_ns), Nanos(period_ns)) = (runtime.parse().ok()?, period.parse().ok()?);
    (1024..=period_ns).contains(&runtime_ns).then_some(Policy::Deadline { runtime_ns, period_ns })
}

fn partition(section: Section<'_, '_, '_>) -> Option<Partition> {
    let value = section.get("partition")?;
    match section.source.text("partition", value)?.as_str() {
        "root" => Some(Partition::Root),
        "isolated" => Some(Partition::Isolated),
        other => {
            let message = format!("partition: '{other}' is neither \"root\" nor \"isolated\"");
            section.source.problem(value.span().start, message);
            None
        }
    }
}

fn work(section: Section<'_, '_, '_>) -> Option<Work> {
    let value = section.required("run")?;
    if value.get_ref().is_array() {
        return program(section.source, value).map(Work::Tool);
    }
    let text = section.source.text("run", value)?;
    let built_in = BUILT_IN.into_iter().find(|(name, _)| *name == text);
    if built_in.is_none() {
        let hint = nearest(&text, &BUILT_IN.map(|(name, _)| name))
            .map_or("; a".to_owned(), |right| format!("; did you mean \"{right}\"? A"));
        let message = format!("run: no built-in task '{text}'{hint} tool is a list: run = [\"{text}\"]");
        section.source.problem(value.span().start, message);
    }
    built_in.map(|(_, work)| work)
}

/// A program with its arguments.
fn program(source: &Source<'_>, value: &Value<'_>) -> Option<Vec<String>> {
    let words = source.texts("run", value)?;
    if words.first().is_none_or(String::is_empty) {
        source.problem(value.span().start, "run: names no program");
        return None;
    }
    Some(words)
}
