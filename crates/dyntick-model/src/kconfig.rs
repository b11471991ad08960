// SPDX-License-Identifier: GPL-2.0-only
//! A kernel's configuration, as in `/boot/config-*` or `/proc/config.gz`.

use std::collections::{BTreeMap, BTreeSet};

/// The idle governors with their options (`drivers/cpuidle/governors/Makefile`, 6.1 to 7.2).
pub const GOVERNORS: [(&str, &str); 4] = [
    ("ladder", "CPU_IDLE_GOV_LADDER"),
    ("menu", "CPU_IDLE_GOV_MENU"),
    ("teo", "CPU_IDLE_GOV_TEO"),
    ("haltpoll", "CPU_IDLE_GOV_HALTPOLL"),
];

/// The options of one kernel, without their `CONFIG_` prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelConfig {
    set: BTreeMap<String, String>,
    /// The options that the file lists as not set.
    off: BTreeSet<String>,
    /// True if this is a part of a configuration: an option that it does not name may have any value.
    is_part: bool,
}

impl KernelConfig {
    /// Parses the text of a config file.
    pub fn parse(text: &str) -> Self {
        let option = |line: &str| {
            let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
            Some((name.to_owned(), value.trim_matches('"').to_owned()))
        };
        let off = |line: &str| line.strip_prefix("# CONFIG_")?.strip_suffix(" is not set").map(str::to_owned);
        let (set, off) = (text.lines().filter_map(option).collect(), text.lines().filter_map(off).collect());
        Self { set, off, is_part: false }
    }

    /// A part of a configuration, as values of options; `n` is not set.
    pub fn part<'v>(values: impl IntoIterator<Item = (&'v str, &'v str)>) -> Self {
        let mut part = Self { is_part: true, ..Self::default() };
        for (option, value) in values {
            if value == "n" {
                part.off.insert(option.to_owned());
            } else {
                part.set.insert(option.to_owned(), value.trim_matches('"').to_owned());
            }
        }
        part
    }

    /// The value of an option (`y`, `m`, a number, a string without its quotes).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.set.get(name).map(String::as_str)
    }

    /// Returns true if the kernel has the option and it is not set. An option that is neither set nor off is one that
    /// the kernel does not have, or whose dependencies are not met there.
    pub fn is_off(&self, name: &str) -> bool {
        self.off.contains(name)
    }

    /// Returns true if the file says what is not set, as kconfig writes it; a list of what is set does not.
    pub fn names_what_is_off(&self) -> bool {
        !self.off.is_empty()
    }

    /// Returns true if an option is built in or a module. A part of a configuration has each option that it does not
    /// switch off.
    pub fn is_enabled(&self, name: &str) -> bool {
        match self.get(name) {
            Some(value) => matches!(value, "y" | "m"),
            None => self.is_part && !self.is_off(name),
        }
    }

    /// Ticks per second (`CONFIG_HZ`), where the configuration names it.
    pub fn hz(&self) -> Option<u32> {
        self.get("HZ")?.parse().ok()
    }

    /// All options that are set, in name order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.set.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The options that the file lists as not set, in name order.
    pub fn off(&self) -> impl Iterator<Item = &str> {
        self.off.iter().map(String::as_str)
    }

    /// Returns true if no option is set.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_a_configuration_says_no_only_to_what_it_switches_off() {
        let part = KernelConfig::part([("NO_HZ_FULL", "n"), ("NR_CPUS", "64")]);
        assert!(!part.is_enabled("NO_HZ_FULL") && part.is_off("NO_HZ_FULL") && part.is_enabled("RCU_LAZY"));
        assert_eq!((part.get("NR_CPUS"), part.get("HZ"), part.is_empty()), (Some("64"), None, false));
    }

    #[test]
    fn reads_a_config_file() {
        let config = KernelConfig::parse(
            "# comment\nCONFIG_HZ=250\nCONFIG_NO_HZ_FULL=y\n# CONFIG_PREEMPT_RT is not set\nCONFIG_LOCALVERSION=\"-x\"\n",
        );
        assert_eq!(config.hz(), Some(250));
        assert!(config.is_enabled("NO_HZ_FULL"));
        assert!(!config.is_enabled("PREEMPT_RT"));
        assert!(config.is_off("PREEMPT_RT") && !config.is_off("HZ") && !config.is_off("NO_SUCH"));
        assert!(config.names_what_is_off() && !KernelConfig::parse("CONFIG_HZ=250").names_what_is_off());
        assert_eq!(config.get("LOCALVERSION"), Some("-x"));
    }
}
