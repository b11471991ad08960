// SPDX-License-Identifier: GPL-2.0-only
//! Kernel command lines.

use crate::{CpuList, CpuListError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A kernel command line as a list of parameters, in order. Quotes group words as in
/// `lib/cmdline.c: next_arg`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", from = "String")]
pub struct CommandLine(Vec<String>);

impl CommandLine {
    /// Splits a text into its parameters.
    pub fn parse(text: &str) -> Self {
        let mut parameters = Vec::new();
        let mut current = String::new();
        let mut quoted = false;
        for c in text.chars() {
            quoted ^= c == '"';
            if c.is_whitespace() && !quoted {
                parameters.extend((!current.is_empty()).then(|| std::mem::take(&mut current)));
            } else {
                current.push(c);
            }
        }
        parameters.extend((!current.is_empty()).then_some(current));
        Self(parameters)
    }

    /// The value of the last parameter of this name: `Some("")` for a flag without value.
    /// The kernel takes `-` and `_` in names as the same.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find_map(|parameter| {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            (key.replace('-', "_") == name.replace('-', "_")).then(|| value.trim_matches('"'))
        })
    }

    /// The CPUs that a parameter such as `nohz_full=` names on a machine of so many CPUs; `None`
    /// where it is absent or has no value. In these lists `all` is every CPU and `N` the last one
    /// (`lib/bitmap.c: bitmap_parselist`).
    ///
    /// # Errors
    /// A list that the kernel would refuse.
    pub fn cpus(&self, name: &str, machine: u32) -> Option<Result<CpuList, CpuListError>> {
        self.get(name).filter(|value| !value.is_empty()).map(|value| cpus(value, machine))
    }

    /// What `isolcpus=` isolates on a machine of so many CPUs: nothing where it is absent.
    ///
    /// # Errors
    /// A list that the kernel would refuse.
    pub fn isolation(&self, machine: u32) -> Result<Isolation, CpuListError> {
        self.get("isolcpus").map_or(Ok(Isolation::default()), |value| isolation(value, machine))
    }

    /// The CPUs whose tick may stop while a task runs: those of `nohz_full=` and of
    /// `isolcpus=nohz,` (`kernel/sched/isolation.c: housekeeping_setup`).
    ///
    /// # Errors
    /// A list that the kernel would refuse.
    pub fn adaptive_tick_cpus(&self, machine: u32) -> Result<CpuList, CpuListError> {
        let named = self.cpus("nohz_full", machine).transpose()?.unwrap_or_default();
        Ok(named.union(&self.isolation(machine)?.tick))
    }

    /// Adds the parameters of `other` behind those of `self`.
    pub fn extend(&mut self, other: &CommandLine) {
        self.0.extend(other.0.iter().cloned());
    }

    /// The parameters as written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// What `isolcpus=` keeps away from which CPUs (`kernel/sched/isolation.c:
/// housekeeping_isolcpus_setup`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// The load balancer, by the flag `domain` or by no flag at all.
    pub domain: CpuList,
    /// The tick while a task runs, by the flag `nohz`.
    pub tick: CpuList,
    /// Managed interrupts, by the flag `managed_irq`.
    pub managed_irq: CpuList,
}

fn isolation(value: &str, machine: u32) -> Result<Isolation, CpuListError> {
    const FLAGS: [&str; 3] = ["domain", "nohz", "managed_irq"];
    let (flags, words): (Vec<&str>, Vec<&str>) = value.split(',').partition(|word| FLAGS.contains(word));
    let cpus = cpus(&words.join(","), machine)?;
    let under = |applies: bool| if applies { cpus.clone() } else { CpuList::default() };
    Ok(Isolation {
        domain: under(flags.is_empty() || flags.contains(&"domain")),
        tick: under(flags.contains(&"nohz")),
        managed_irq: under(flags.contains(&"managed_irq")),
    })
}

fn cpus(list: &str, machine: u32) -> Result<CpuList, CpuListError> {
    let last = machine.saturating_sub(1);
    list.replace("all", "0-N").replace('N', &last.to_string()).parse()
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

impl From<CommandLine> for String {
    fn from(line: CommandLine) -> String {
        line.to_string()
    }
}

impl From<String> for CommandLine {
    fn from(text: String) -> Self {
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_one_wins_and_dashes_are_underscores() {
        let line = CommandLine::parse("quiet nohz_full=1 dyndbg=\"a b\" nohz-full=2-3");
        assert_eq!(line.get("nohz_full"), Some("2-3"));
        assert_eq!(line.get("quiet"), Some(""));
        assert_eq!(line.get("dyndbg"), Some("a b"));
        assert_eq!(line.get("isolcpus"), None);
    }

    #[test]
    fn cpus_as_the_kernel_reads_them() {
        let line = CommandLine::parse("nohz_full=1-N rcu_nocbs=all isolcpus=nohz,domain,2 irqaffinity=");
        let cpus = |name: &str| line.cpus(name, 4).map(|cpus| cpus.unwrap().to_string());
        assert_eq!(cpus("nohz_full").as_deref(), Some("1-3"));
        assert_eq!(cpus("rcu_nocbs").as_deref(), Some("0-3"));
        assert_eq!(cpus("irqaffinity"), None);
        assert_eq!(line.adaptive_tick_cpus(4).unwrap().to_string(), "1-3");
    }

    #[test]
    fn isolcpus_with_and_without_flags() {
        let isolation = |text: &str| {
            let isolation = CommandLine::parse(&format!("isolcpus={text}")).isolation(8).unwrap();
            [isolation.domain, isolation.tick, isolation.managed_irq].map(|cpus| cpus.to_string())
        };
        assert_eq!(isolation("1-3"), ["1-3", "", ""]);
        assert_eq!(isolation("domain,managed_irq,2,4-N"), ["2,4-7", "", "2,4-7"]);
        assert_eq!(isolation("nohz,1"), ["", "1", ""], "from the tick, not from the load balancer");
        assert!(CommandLine::parse("isolcpus=domian,1").isolation(2).is_err());
    }
}
