// SPDX-License-Identifier: GPL-2.0-only
//! From the text of a study file to a [`Study`].

use super::matrix::{Cell, cells};
use super::reader::{Problems, Source, Value, nearest};
use super::units::{Bytes, Nanos};
use super::{Case, Published, PublishedFigure, Study, claims};
use crate::guest::{MAILBOX_BYTES, Script, Task, Work};
use crate::kernels::Spec;
use dyntick_model::{Clock, CommandLine, CpuList};
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};

const STUDY_KEYS: [&str; 8] =
    ["title", "question", "description", "published", "defaults", "matrix", "case", "claim"];
const CASE_KEYS: [&str; 19] = [
    "kernel",
    "clock",
    "cpus",
    "memory",
    "append",
    "sysctl",
    "write",
    "settle",
    "settle-limit",
    "measure",
    "measured-cpus",
    "repeat",
    "timeout",
    "events",
    "trace-buffer",
    "tools",
    "modules",
    "task",
    "script",
];
const OWN_CASE_KEYS: [&str; 3] = ["name", "title", "matrix"];

/// Reads a study; `path` is for messages and for its name.
pub fn study(path: &Path, text: &str) -> Result<Study, Problems> {
    let source = Source::new(path, text);
    let study = match DeTable::parse(text) {
        Ok(root) => Reader { source: &source, root: root.get_ref() }.study(path),
        Err(error) => {
            source.problem(error.span().map_or(0, |span| span.start), error.message());
            None
        }
    };
    source.finish()?;
    study.ok_or_else(|| Problems { path: path.to_owned(), problems: Vec::new() })
}

struct Reader<'a> {
    source: &'a Source<'a>,
    root: &'a DeTable<'a>,
}

impl<'a> Reader<'a> {
    fn study(&self, path: &Path) -> Option<Study> {
        self.source.only(self.root, "a study", &STUDY_KEYS);
        let cases = self.cases();
        self.refuse_duplicates(&cases);
        let claims = self.root.get("claim").map_or(Vec::new(), |value| self.source.tables("claim", value));
        let claims =
            claims.into_iter().filter_map(|table| claims::parse(self.source, table, &cases)).collect();
        Some(Study {
            name: path.file_stem()?.to_string_lossy().into_owned(),
            title: self.required("title"),
            question: self.required("question"),
            description: self.optional("description"),
            published: self.root.get("published").and_then(|value| self.published(value, &cases)),
            cases,
            claims,
        })
    }

    fn optional(&self, key: &str) -> String {
        self.root
            .get(key)
            .and_then(|value| self.source.text(key, value))
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    fn required(&self, key: &str) -> String {
        if self.root.get(key).is_none() {
            self.source.problem(0, format!("a study needs a '{key}'"));
        }
        self.optional(key)
    }

    fn published(&self, value: &Value<'_>, cases: &[Case]) -> Option<Published> {
        let table = self.source.table("published", value)?;
        self.source.only(table, "[published]", &["source", "figures"]);
        let figures = table.get("figures").map_or(Vec::new(), |value| self.source.tables("figures", value));
        Some(Published {
            source: text_of(self.source, table, "source")?,
            figures: figures.into_iter().filter_map(|figure| self.published_figure(figure, cases)).collect(),
        })
    }

    fn published_figure(&self, table: &DeTable<'_>, cases: &[Case]) -> Option<PublishedFigure> {
        self.source.only(table, "[[published.figures]]", &["label", "value", "unit", "case", "figure"]);
        let text = |key: &str| text_of(self.source, table, key);
        claims::check_reference(self.source, table, cases);
        Some(PublishedFigure {
            label: text("label")?,
            value: text("value")?,
            unit: text("unit")?,
            case: text("case")?,
            figure: text("figure")?,
        })
    }

    fn cases(&self) -> Vec<Case> {
        let no_table = DeTable::new();
        let table = |key: &str| self.root.get(key).and_then(|value| self.source.table(key, value));
        let defaults = table("defaults").unwrap_or(&no_table);
        self.source.only(defaults, "[defaults]", &CASE_KEYS);
        let Some(list) = self.root.get("case") else {
            self.source.problem(0, "a study needs at least one [[case]]");
            return Vec::new();
        };
        let mut cases = Vec::new();
        for case in self.source.tables("case", list) {
            let known: Vec<&str> = OWN_CASE_KEYS.into_iter().chain(CASE_KEYS).collect();
            self.source.only(case, "[[case]]", &known);
            let own = case.get("matrix").and_then(|value| self.source.table("matrix", value));
            // A case's own matrix replaces the study's for the keys that both name.
            let shared: DeTable<'_> = table("matrix")
                .into_iter()
                .flat_map(|matrix| matrix.iter())
                .filter(|(key, _)| own.is_none_or(|own| !own.contains_key(key.get_ref().as_ref())))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            for matrix in own.iter().copied().chain([&shared]) {
                self.source.only(matrix, "a matrix", &CASE_KEYS);
            }
            for cell in cells(self.source, &own.into_iter().chain([&shared]).collect::<Vec<_>>()) {
                cases.extend(CaseReader { source: self.source, case, cell: &cell, defaults }.case());
            }
        }
        cases
    }

    fn refuse_duplicates(&self, cases: &[Case]) {
        for (number, case) in cases.iter().enumerate() {
            if cases[..number].iter().any(|earlier| earlier.id == case.id) {
                let message = format!("two cases are called '{}': give one another name or label", case.id);
                self.source.problem(0, message);
            }
        }
    }
}

/// Reads one case in one cell of its matrix: the cell goes before the case, the case before the defaults.
struct CaseReader<'s, 'v, 't> {
    source: &'s Source<'s>,
    case: &'v DeTable<'t>,
    cell: &'v Cell<'v, 't>,
    defaults: &'v DeTable<'t>,
}

impl<'v, 't> CaseReader<'_, 'v, 't> {
    fn case(&self) -> Option<Case> {
        let name = text_of(self.source, self.case, "name")?;
        let variant = self.cell.variant.clone();
        let id = if variant.is_empty() { name.clone() } else { format!("{name}/{variant}") };
        let case = Case {
            title: self.case.get("title").and_then(|v| self.source.text("title", v)).unwrap_or(name.clone()),
            kernel: self.kernel()?,
            clock: self.clock()?,
            cpus: self.number("cpus", 2)? as u32,
            memory: self.parsed("memory").unwrap_or(Bytes(512 << 20)).0,
            append: self.append(),
            sysctl: self.settings("sysctl"),
            write: self.settings("write"),
            settle_ns: self.duration("settle", 2_000_000_000),
            settle_limit_ns: self.duration("settle-limit", 10_000_000_000),
            measure_ns: self.duration("measure", 10_000_000_000),
            measured_cpus: self.parsed("measured-cpus").unwrap_or_else(|| [1].into_iter().collect()),
            repeat: self.number("repeat", 1)? as u32,
            timeout_ns: self.duration("timeout", 120_000_000_000),
            events: self.texts("events"),
            trace_buffer: self.parsed("trace-buffer").unwrap_or(Bytes(8 << 20)).0,
            tools: self.texts("tools"),
            modules: self.texts("modules"),
            tasks: self.tasks(),
            script: self.script(),
            id,
            name,
            variant,
        };
        self.refuse_nonsense(&case);
        Some(case)
    }

    fn get(&self, key: &str) -> Option<&'v Value<'t>> {
        let in_cell = self.cell.values.iter().rev().find(|(name, _)| *name == key).map(|(_, value)| *value);
        in_cell.or_else(|| self.case.get(key)).or_else(|| self.defaults.get(key))
    }

    /// The values of a key in all layers, the weakest first.
    fn layers(&self, key: &str) -> Vec<&'v Value<'t>> {
        let in_cell = self.cell.values.iter().filter(|(name, _)| *name == key).map(|(_, value)| *value);
        self.defaults.get(key).into_iter().chain(self.case.get(key)).chain(in_cell).collect()
    }

    fn kernel(&self) -> Option<String> {
        let Some(value) = self.get("kernel") else {
            self.source.problem(0, "no kernel: give one in [defaults], in the case or in a matrix");
            return None;
        };
        let text = self.source.text("kernel", value)?;
        self.source.try_value("kernel", value, text.parse::<Spec>())?;
        Some(text)
    }

    fn clock(&self) -> Option<Clock> {
        let Some(value) = self.get("clock") else { return Some(Clock::Virtual) };
        match self.source.text("clock", value)?.as_str() {
            "virtual" => Some(Clock::Virtual),
            "wall" => Some(Clock::Wall),
            other => {
                let message = format!("clock: '{other}' is neither \"virtual\" nor \"wall\"");
                self.source.problem(value.span().start, message);
                None
            }
        }
    }

    fn number(&self, key: &str, default: u64) -> Option<u64> {
        let Some(value) = self.get(key) else { return Some(default) };
        let number = self.source.number(key, value)?;
        if number == 0 || number > 8192 {
            self.source.problem(value.span().start, format!("{key}: {number} is not from 1 to 8192"));
        }
        Some(number)
    }

    fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(&self, key: &str) -> Option<T> {
        self.source.parse(key, self.get(key)?)
    }

    fn duration(&self, key: &str, default: u64) -> u64 {
        self.parsed::<Nanos>(key).map_or(default, |Nanos(ns)| ns)
    }

    fn texts(&self, key: &str) -> Vec<String> {
        self.get(key).and_then(|value| self.source.texts(key, value)).unwrap_or_default()
    }

    /// Command lines of all layers add up; the kernel lets the last of two parameters win.
    fn append(&self) -> CommandLine {
        let mut line = CommandLine::default();
        for value in self.layers("append") {
            line.extend(&CommandLine::parse(&self.source.text("append", value).unwrap_or_default()));
        }
        line
    }

    /// Settings of all layers, a stronger layer's replacing a weaker one's.
    fn settings(&self, key: &str) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        for table in self.layers(key).into_iter().filter_map(|value| self.source.table(key, value)) {
            for (name, value) in table {
                settings.extend(
                    self.setting(name.get_ref(), value).map(|text| (name.get_ref().to_string(), text)),
                );
            }
        }
        settings
    }

    fn setting(&self, name: &str, value: &Value<'t>) -> Option<String> {
        match value.get_ref() {
            DeValue::Integer(_) => self.source.number(name, value).map(|number| number.to_string()),
            _ => self.source.text(name, value),
        }
    }

    fn tasks(&self) -> Vec<Task> {
        let tables = self.get("task").map_or(Vec::new(), |value| self.source.tables("task", value));
        tables.into_iter().filter_map(|table| self.task(table)).collect()
    }

    fn task(&self, table: &DeTable<'t>) -> Option<Task> {
        self.source.only(table, "[[case.task]]", &["cpu", "policy", "run"]);
        Some(Task { cpus: self.cpus(table)?, fifo: self.policy(table)?, work: self.work(table)? })
    }

    fn cpus(&self, table: &DeTable<'t>) -> Option<CpuList> {
        required(self.source, table, "cpu").and_then(|value| self.source.parse("cpu", value))
    }

    fn policy(&self, table: &DeTable<'t>) -> Option<Option<u32>> {
        let Some(value) = table.get("policy") else { return Some(None) };
        let text = self.source.text("policy", value)?;
        let fifo = text.strip_prefix("fifo:").and_then(|n| n.parse().ok()).filter(|n| (1..=99).contains(n));
        if fifo.is_none() && text != "other" {
            let message = format!("policy: '{text}' is neither \"other\" nor \"fifo:1\" to \"fifo:99\"");
            self.source.problem(value.span().start, message);
            return None;
        }
        Some(fifo)
    }

    fn work(&self, table: &DeTable<'t>) -> Option<Work> {
        let value = required(self.source, table, "run")?;
        if value.get_ref().as_array().is_some() {
            return self.source.texts("run", value).map(Work::Tool);
        }
        let text = self.source.text("run", value)?;
        match text.as_str() {
            "spin" => Some(Work::Spin),
            "rcu-free" => Some(Work::RcuFree),
            "syscall-loop" => Some(Work::SyscallLoop),
            other => {
                let hint = nearest(other, &["spin", "rcu-free", "syscall-loop"]);
                let hint = hint.map_or(String::new(), |right| format!("did you mean \"{right}\"? "));
                let message = format!(
                    "run: '{other}' is no built-in task. {hint}A tool is a list: run = [\"{other}\"]"
                );
                self.source.problem(value.span().start, message);
                None
            }
        }
    }

    fn script(&self) -> Option<Script> {
        let table = self.source.table("script", self.get("script")?)?;
        self.source.only(table, "[case.script]", &["cpu", "run"]);
        let run = required(self.source, table, "run")?;
        Some(Script { cpus: self.cpus(table)?, run: self.source.texts("run", run)? })
    }

    fn refuse_nonsense(&self, case: &Case) {
        let at = |key: &str| self.get(key).map_or(0, |value| value.span().start);
        let guest = CpuList::first(case.cpus);
        let beyond = |what: &str, cpus: &CpuList, at: usize| {
            let outside = cpus.difference(&guest);
            if !outside.is_empty() || cpus.is_empty() {
                let message = format!(
                    "case '{}': {what} '{cpus}', but the guest has the CPUs {guest} (cpus = {})",
                    case.id, case.cpus
                );
                self.source.problem(at, message);
            }
        };
        beyond("measured-cpus is", &case.measured_cpus, at("measured-cpus"));
        for task in &case.tasks {
            beyond("a task has the CPUs", &task.cpus, at("task"));
        }
        if let Some(script) = &case.script {
            beyond("the script has the CPUs", &script.cpus, at("script"));
        }
        if guest.difference(&case.measured_cpus).is_empty() {
            let message =
                format!("case '{}': all CPUs are measured; the agent needs one for itself", case.id);
            self.source.problem(at("measured-cpus"), message);
        }
        if case.memory < 4 * MAILBOX_BYTES {
            self.source.problem(at("memory"), format!("case '{}': a guest needs at least 256M", case.id));
        }
        if case.repeat > 1 && case.clock == Clock::Virtual {
            let message = format!(
                "case '{}': virtual time repeats to the bit, so repeat is for clock = \"wall\"",
                case.id
            );
            self.source.problem(at("repeat"), message);
        }
        for event in case.events.iter().filter(|event| !event.contains(':')) {
            self.source.problem(at("events"), format!("'{event}' is not of the form system:name"));
        }
    }
}

/// A value that must be there.
pub(super) fn required<'v, 't>(
    source: &Source<'_>,
    table: &'v DeTable<'t>,
    key: &str,
) -> Option<&'v Value<'t>> {
    let value = table.get(key);
    if value.is_none() {
        // A table has no place of its own; its first key's is near.
        let at = table.keys().map(|key| key.span().start).min().unwrap_or(0);
        source.problem(at, format!("'{key}' is missing here"));
    }
    value
}

/// A text that must be there.
pub(super) fn text_of(source: &Source<'_>, table: &DeTable<'_>, key: &str) -> Option<String> {
    required(source, table, key).and_then(|value| source.text(key, value))
}
