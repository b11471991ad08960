// SPDX-License-Identifier: GPL-2.0-only
//! The machine that guests run on: on the wall clock its processor decides the figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine, as far as it decides what a guest on the wall clock measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// The processor, as `/proc/cpuinfo` names it.
    pub processor: String,
    /// The number of online CPUs.
    pub cpus: u32,
    /// The release of its kernel.
    pub release: String,
    /// True if it is a virtual machine itself.
    pub is_virtual: bool,
}

impl Host {
    /// This machine.
    pub fn of_this_machine() -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self::parse(&cpuinfo, &rustix::system::uname().release().to_string_lossy())
    }

    /// Parses the text of `/proc/cpuinfo`; a processor without a name is named so.
    fn parse(cpuinfo: &str, release: &str) -> Self {
        let values = |key: &'static str| {
            let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            pairs.filter(move |(name, _)| name.trim_end() == key).map(|(_, value)| value.trim())
        };
        // Leaf 1 of CPUID, bit 31 of ECX, which processors keep 0 for hypervisors.
        let is_virtual = values("flags").next().is_some_and(|all| all.split(' ').any(|f| f == "hypervisor"));
        Self {
            processor: values("model name").next().unwrap_or("a processor without a name").to_owned(),
            cpus: u32::try_from(values("processor").count()).unwrap_or(u32::MAX),
            release: release.to_owned(),
            is_virtual,
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let itself = if self.is_virtual { ", itself a virtual machine" } else { "" };
        write!(f, "{}, {} CPUs, Linux {}{itself}", self.processor, self.cpus, self.release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_known_by_its_processor() {
        let cpu = |number: u32, flags: &str| {
            format!(
                "processor\t: {number}\nmodel name\t: AMD EPYC 7B12\nflags\t\t: fpu svm{flags}\npower management:\n\n"
            )
        };
        let host = Host::parse(&(cpu(0, "") + &cpu(1, "")), "6.12.95");
        assert_eq!(host.to_string(), "AMD EPYC 7B12, 2 CPUs, Linux 6.12.95");
        let guest = Host::parse(&cpu(0, " hypervisor lm"), "6.12.95");
        assert_eq!((guest.cpus, guest.is_virtual), (1, true));
        assert!(guest.to_string().ends_with("itself a virtual machine"), "{guest}");
        assert!(Host::parse("", "6.12").processor.contains("without a name"));
    }
}
