// SPDX-License-Identifier: GPL-2.0-only
//! The settings of the command line for every case of a study: one more table after the text of the file, read by the
//! same rules. Problems in it are reported with the flag.

use crate::Case;
use dyntick_stats::Factor;
use std::collections::{BTreeMap, BTreeSet};
use toml::de::DeTable;

/// The table's key in the text, which no study can have: one that has it is refused for an unknown key.
pub const TABLE: &str = "command line";

/// The keys whose values add up or are tables of settings: one more value takes no other's place.
const ADDING: [&str; 3] = ["append", "sysctl", "write"];

/// The settings, each with its flag. A key that is set more than once becomes an axis of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    settings: Vec<Setting>,
    /// A misspelt boot parameter is not refused.
    any_parameter: bool,
    /// The names and ids of the cases to run; all if empty.
    named: Vec<String>,
    /// The kernels: their position among the settings, and where they are found.
    places: Vec<(usize, String)>,
    /// The positions of kernels without a name.
    unnamed: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    /// The flag, as it was typed.
    flag: String,
    /// A key of a case.
    key: String,
    /// The name of the setting, for a key that is a table of settings.
    name: Option<String>,
    /// The value as TOML.
    value: String,
    /// The label of its cases, if the key has several values.
    label: String,
}

/// A text of `--set` that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--set {0}: write KEY=VALUE with a key of a case, as cpus=4, measure=2s or sysctl.vm.stat_interval=60"
)]
pub struct SetError(String);

impl Given {
    /// Returns true if nothing is set.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// Accepts boot parameters that look misspelt: for a guest whose figures are not judged. Its kernel ignores them,
    /// as that of a real machine does.
    pub fn allow_any_parameter(&mut self) {
        self.any_parameter = true;
    }

    /// Returns true if boot parameters that look misspelt are accepted.
    pub(crate) fn allows_any_parameter(&self) -> bool {
        self.any_parameter
    }

    /// Runs only the cases of these names or ids; the settings are checked in these cases only.
    pub fn only(&mut self, named: &[String]) {
        self.named = named.to_vec();
    }

    /// The names and ids of the cases to run; all if empty.
    pub(crate) fn named(&self) -> &[String] {
        &self.named
    }

    /// Returns true if the case is to be run.
    pub(crate) fn concerns(&self, case: &Case) -> bool {
        self.named.is_empty() || self.named.iter().any(|name| *name == case.name || *name == case.id)
    }

    /// Sets a key of a case to a text, which came by `flag`.
    pub fn text(&mut self, flag: &str, key: &str, text: &str) {
        self.add(flag, key, None, quoted(text), format!("{key}={text}"));
    }

    /// Sets a key of a case to a value that is written as TOML.
    pub fn value(&mut self, flag: &str, key: &str, toml: &str) {
        self.add(flag, key, None, toml.to_owned(), format!("{key}={toml}"));
    }

    /// Sets a key of a case to a list of texts.
    pub fn texts(&mut self, flag: &str, key: &str, texts: &[String]) {
        let list: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
        self.value(flag, key, &format!("[{}]", list.join(", ")));
    }

    /// Runs each case on this kernel: `place` is where it is found, `typed` the option's value, and `name` its name in
    /// reports. Without a name it is that of its file; of two files of one name, that of the folder in which they
    /// differ.
    pub fn kernel(&mut self, typed: &str, place: &str, name: Option<&str>) {
        let label = name.unwrap_or(last(place)).to_owned();
        self.add(&format!("--kernel {typed}"), "kernel", None, quoted(place), label);
        let at = self.settings.len() - 1;
        self.places.push((at, place.to_owned()));
        if name.is_none() {
            self.unnamed.push(at);
            self.name_places_apart(last(place));
        }
    }

    /// The names of the kernels, by where they are found.
    pub fn kernel_names(&self) -> BTreeMap<String, String> {
        self.places.iter().map(|(at, place)| (place.clone(), self.settings[*at].label.clone())).collect()
    }

    /// Names the unnamed kernels whose files have this name by their folders.
    fn name_places_apart(&mut self, file: &str) {
        let is_alike = |(at, place): &&(usize, String)| self.unnamed.contains(at) && last(place) == file;
        let alike: Vec<&(usize, String)> = self.places.iter().filter(is_alike).collect();
        let folder = |depth: usize| {
            let names = alike.iter().map(|(_, place)| place.rsplit('/').nth(depth).unwrap_or_default());
            let names: Vec<&str> = names.collect();
            let differ = names.iter().collect::<BTreeSet<_>>().len() == names.len();
            (differ && names.iter().all(|name| !["", ".", ".."].contains(name))).then_some(names)
        };
        const DEEPEST: usize = 32;
        let numbered = || (1..=alike.len()).map(|number| format!("{file}-{number}")).collect();
        let labels: Vec<String> = match (1..DEEPEST).find_map(folder) {
            _ if alike.len() < 2 => return,
            Some(folders) => folders.into_iter().map(str::to_owned).collect(),
            None => numbered(),
        };
        let labels: Vec<(usize, String)> = alike.iter().map(|(at, _)| *at).zip(labels).collect();
        for (at, label) in labels {
            self.settings[at].label = label;
        }
    }

    /// Takes one `KEY=VALUE`. A value that is none in TOML is a text without its quotes.
    ///
    /// # Errors
    /// Where it has another form.
    pub fn set(&mut self, typed: &str) -> Result<(), SetError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let (key, value) = typed.split_once('=').ok_or_else(|| SetError(typed.to_owned()))?;
        let (key, name) = match key.trim().split_once('.') {
            Some((key, name)) => (key, Some(name.to_owned())),
            None => (key.trim(), None),
        };
        if key.is_empty() || !key.chars().all(plain) || name.as_ref().is_some_and(String::is_empty) {
            return Err(SetError(typed.to_owned()));
        }
        let value = value.trim();
        let toml = if is_value(value) { value.to_owned() } else { quoted(value) };
        self.add(&format!("--set {typed}"), key, name, toml, typed.to_owned());
        Ok(())
    }

    fn add(&mut self, flag: &str, key: &str, name: Option<String>, value: String, label: String) {
        let label = label.replace('/', "_");
        self.settings.push(Setting { flag: flag.to_owned(), key: key.to_owned(), name, value, label });
    }

    /// An option with the value or the name of another: it would make two cases of one name.
    pub fn repeated(&self) -> Option<&str> {
        let says_the_same =
            |a: &Setting, b: &Setting| a.axis() == b.axis() && (a.value == b.value || a.label == b.label);
        let mut all = self.settings.iter().enumerate();
        let again =
            all.find(|(at, setting)| self.settings[..*at].iter().any(|other| says_the_same(other, setting)));
        again.map(|(_, setting)| setting.flag.as_str())
    }

    /// The table as TOML, and for each of its lines the flag that it came by.
    pub fn table(&self) -> Vec<(String, Option<&str>)> {
        let mut lines = vec![(format!("[{}]", quoted(TABLE)), None)];
        let single = self.settings.iter().filter(|setting| !self.is_axis(setting));
        lines.extend(single.map(|setting| (setting.line(), Some(setting.flag.as_str()))));
        lines.push((format!("[{}.matrix]", quoted(TABLE)), None));
        for axis in self.axes() {
            lines.push((format!("{} = [", quoted(&axis)), None));
            let choices = self.settings.iter().filter(|setting| setting.axis() == axis);
            lines.extend(choices.map(|setting| (setting.choice(), Some(setting.flag.as_str()))));
            lines.push(("]".to_owned(), None));
        }
        lines
    }

    /// The names of the axes that the flags make, each once.
    pub fn axes(&self) -> Vec<String> {
        let mut axes = Vec::new();
        for axis in self.settings.iter().filter(|setting| self.is_axis(setting)).map(Setting::axis) {
            if !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        axes
    }

    /// Returns true if the setting becomes a label. A kernel always does: claims about another kernel do not hold for
    /// it.
    fn is_axis(&self, setting: &Setting) -> bool {
        let same = self.settings.iter().filter(|other| other.axis() == setting.axis()).count();
        setting.key == "kernel" || same > 1
    }

    /// Returns true if the settings override this key of a study's own matrix.
    pub fn replaces(&self, key: &str) -> bool {
        !ADDING.contains(&key) && self.settings.iter().any(|setting| setting.key == key)
    }

    /// The axis with several values, of which the report sets the first two side by side.
    pub fn compared(&self) -> Option<Factor> {
        let axis = self.axes().into_iter().find(|axis| self.levels(axis).len() > 1)?;
        let levels = self.levels(&axis);
        Some(Factor { name: axis, levels })
    }

    fn levels(&self, axis: &str) -> Vec<String> {
        self.settings
            .iter()
            .filter(|setting| setting.axis() == axis)
            .map(|setting| setting.label.clone())
            .collect()
    }
}

impl Setting {
    /// The name of the axis.
    fn axis(&self) -> String {
        self.name.as_ref().map_or_else(|| self.key.clone(), |name| format!("{}.{name}", self.key))
    }

    fn line(&self) -> String {
        match &self.name {
            Some(name) => format!("{}.{} = {}", quoted(&self.key), quoted(name), self.value),
            None => format!("{} = {}", quoted(&self.key), self.value),
        }
    }

    /// One value of an axis.
    fn choice(&self) -> String {
        let label = quoted(&self.label);
        match (&self.name, self.axis() == self.key) {
            (None, true) => format!("{{ label = {label}, value = {} }},", self.value),
            _ => format!("{{ label = {label}, {} }},", self.line()),
        }
    }
}

/// The last part of a path, or a name itself.
fn last(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or_default()
}

/// A text as a TOML string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Returns true if this is a single TOML value.
fn is_value(text: &str) -> bool {
    let line = format!("key = {text}");
    let (table, errors) = DeTable::parse_recoverable(&line);
    // Each setting is a line, by which its flag is found.
    errors.is_empty() && table.get_ref().len() == 1 && !text.contains('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(given: &Given) -> Vec<String> {
        given.table().into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn one_value_is_set_and_several_are_an_axis() {
        let mut given = Given::default();
        given.kernel("./arch/x86/boot/bzImage", "/src/arch/x86/boot/bzImage", None);
        for word in
            ["cpus=4", "measure=2s", "sysctl.vm.stat_interval=60", "profile=true", "memory=1G", "memory=2G"]
        {
            given.set(word).unwrap();
        }
        let expected = [
            r#"["command line"]"#,
            r#""cpus" = 4"#,
            r#""measure" = "2s""#,
            r#""sysctl"."vm.stat_interval" = 60"#,
            r#""profile" = true"#,
            r#"["command line".matrix]"#,
            r#""kernel" = ["#,
            r#"{ label = "bzImage", value = "/src/arch/x86/boot/bzImage" },"#,
            "]",
            r#""memory" = ["#,
            r#"{ label = "memory=1G", value = "1G" },"#,
            r#"{ label = "memory=2G", value = "2G" },"#,
            "]",
        ];
        assert_eq!(lines(&given), expected);
        assert_eq!(given.compared().unwrap().levels, ["memory=1G", "memory=2G"]);
    }

    #[test]
    fn what_is_typed_stays_one_value() {
        let mut given = Given::default();
        given.set("append=a\nb = 1").unwrap();
        given.text("--append", "append", "x=\"y\\\" [z]");
        let all = lines(&given).join("\n");
        let (table, errors) = DeTable::parse_recoverable(&all);
        assert!(errors.is_empty() && table.get_ref().len() == 1, "{all}");
        for wrong in ["cpus", "=4", "a b=1", "sysctl.=1", ".x=1", "[case]=1"] {
            assert_eq!(Given::default().set(wrong), Err(SetError(wrong.to_owned())));
        }
    }

    #[test]
    fn what_is_said_twice_is_known_by_its_option() {
        let mut given = Given::default();
        given.kernel("debian:6.12", "debian:6.12", None);
        given.set("cpus=4").unwrap();
        given.set("sysctl.vm.swappiness=4").unwrap();
        assert_eq!(given.repeated(), None);
        given.set("cpus = 4").unwrap();
        assert_eq!(given.repeated(), Some("--set cpus = 4"));
        let mut given = Given::default();
        given.kernel("a=debian:6.12", "debian:6.12", Some("a"));
        given.kernel("a=debian:6.1", "debian:6.1", Some("a"));
        assert_eq!(given.repeated(), Some("--kernel a=debian:6.1"));
    }

    #[test]
    fn two_kernels_of_one_file_name_have_two_names() {
        let levels = |places: &[&str]| {
            let mut given = Given::default();
            places.iter().for_each(|place| given.kernel(place, place, None));
            given.compared().unwrap().levels
        };
        let in_trees = ["/home/me/old/arch/x86/boot/bzImage", "/home/me/new/arch/x86/boot/bzImage"];
        assert_eq!(levels(&in_trees), ["old", "new"]);
        assert_eq!(levels(&["debian:6.1", in_trees[0], in_trees[1]]), ["debian:6.1", "old", "new"]);
        assert_eq!(levels(&["/a/vmlinux", "/vmlinux"]), ["vmlinux-1", "vmlinux-2"]);
        assert_eq!(levels(&["/a/vmlinux", "/a/bzImage"]), ["vmlinux", "bzImage"]);
    }

    #[test]
    fn a_kernel_has_the_name_that_it_is_given() {
        let mut given = Given::default();
        given.kernel("before=debian:6.12", "debian:6.12", Some("before"));
        given.kernel("after=./a/bzImage", "/src/a/bzImage", Some("after"));
        given.kernel("./b/bzImage", "/src/b/bzImage", None);
        assert_eq!(given.compared().unwrap().levels, ["before", "after", "bzImage"]);
        assert_eq!(given.kernel_names()["/src/a/bzImage"], "after");
        assert_eq!(lines(&given)[3], r#"{ label = "before", value = "debian:6.12" },"#);
    }
}
