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
}

impl KernelConfig {
    /// Parses the text of a config file.
    pub fn parse(text: &str) -> Self {
        let option = |line: &str| {
            let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
            Some((name.to_owned(), value.trim_matches('"').to_owned()))
        };
        let off = |line: &str| line.strip_prefix("# CONFIG_")?.strip_suffix(" is not set").map(str::to_owned);
        Self { set: text.lines().filter_map(option).collect(), off: text.lines().filter_map(off).collect() }
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

    /// Returns true if an option is built in or a module.
    pub fn is_enabled(&self, name: &str) -> bool {
        matches!(self.get(name), Some("y" | "m"))
    }

    /// Ticks per second (`CONFIG_HZ`), where the configuration names it.
    pub fn hz(&self) -> Option<u32> {
        self.get("HZ")?.parse().ok()
    }

    /// All options that are set, in name order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.set.iter().map(|(name, value)| (name.as_str(), value.as_str()))
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
